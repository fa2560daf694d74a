"""What the Python client programs share: the platform's credentials, comparing, and
running a program's checks one by one, each with its line of result."""

import json
import signal
import sys
import traceback
from urllib.parse import parse_qsl, urlsplit

# Clients wait for a response without a time limit. The program ends them.
signal.alarm(900)

with open(sys.argv[-1], encoding="utf-8") as file:
    CREDENTIALS = json.load(file)

BASE = CREDENTIALS["baseUrl"] + "/api/v1/"
USERNAME = CREDENTIALS.get("username")  # not needed by clients of the public page
KEY = CREDENTIALS.get("legacyKey")

# All members of a service, whatever the client that requests it.
SERVICE_FIELDS = ["description", "group", "hidden", "hidden_notifications", "resource_uri", "service_name"]


def equal(got, want, what="value"):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def raises(kind, call, *args, **kwargs):
    """The exception of the kind that the call must raise."""
    try:
        got = call(*args, **kwargs)
    except kind as exception:
        return exception
    raise AssertionError(f"{kind.__name__} was to be raised, got {got!r}")


def pk(row):
    """The id of an object, which the interface tells in its resource_uri alone."""
    return int(row["resource_uri"].rstrip("/").rsplit("/", 1)[1])


def query(link):
    """The parameters of a meta.next or meta.previous."""
    return dict(parse_qsl(urlsplit(link).query, strict_parsing=True))


def walk(get, path, **parameters):
    """Every page from the first to the one without a next, by meta.next alone."""
    pages = [get(**parameters)]
    while pages[-1]["meta"]["next"] is not None:
        link = pages[-1]["meta"]["next"]
        equal(urlsplit(link).path, path, "path of meta.next")
        pages.append(get(**query(link)))
    return pages


def run(client, checks):
    failed = 0
    for check in checks:
        try:
            check()
        except Exception:  # any exception of a client fails this check only
            failed += 1
            print(f"not ok {client}: {check.__doc__}")
            traceback.print_exc(file=sys.stdout)
        else:
            print(f"ok {client}: {check.__doc__}")
        sys.stdout.flush()
    sys.exit(1 if failed else 0)
