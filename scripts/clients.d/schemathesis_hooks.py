"""What the documents cannot tell Schemathesis: records that exist, and the empty 403.

A request that is valid by its document names records that exist: those of the
organization at first, and those that earlier requests of the run created."""

import json
import os
import re
import uuid
from itertools import count

import requests
import schemathesis
from schemathesis.core.parameters import ParameterLocation

KNOWN = json.loads(os.environ["KNOWN_RECORDS"])
LIST = re.compile(r"/(app/\w+|api/v1/[\w/]+|operator/v1/\w+)/?$")

# The path parameters of existing records, by path template: {"/app/events/{id}": [{"id": "..."}]}.
records = {}
# Values for members of bodies and queries that refer to records, by the name of the member.
values = {}
turn = count()


def learn(path, parameters, body):
    """Keeps the ids in the response of a create: {"event": {"id": "..."}} or {"resource_uri": "/api/v1/event/list/1/"}."""
    uri = body.get("resource_uri")
    if uri:
        resource, number = uri.rstrip("/").rsplit("/", 1)
        records.setdefault(resource + "/{id}", []).append({"id": int(number)})
        return
    collection = path.rstrip("/").rsplit("/", 1)[-1]
    for record in body.values():
        if not isinstance(record, dict):
            continue
        for name in ("id", "statusId", "noteId"):
            if name in record:
                at = f"/operator/v1/users/{{{name}}}" if path.startswith("/operator/") and collection == "users" else f"{path}/{{{name}}}"
                own = parameters if name != "id" else {}
                records.setdefault(at, []).append({**own, name: record[name]})
                break
        if "urlHash" in record:
            values.setdefault("urlHash", []).append(record["urlHash"])
    values.setdefault({"components": "componentId", "dashboards": "dashboardId"}.get(collection, collection), []).extend(
        record["id"] for record in body.values() if isinstance(record, dict) and "id" in record)


def post(path, body):
    return requests.post(KNOWN["root"] + path, json=body, headers={"Authorization": KNOWN["operator"]}, timeout=30).json()


def begin():
    def get(path, key):
        return requests.get(KNOWN["root"] + path, headers={"Authorization": KNOWN[key]}, timeout=30).json()

    for resource in get("/api/v1/", "legacy"):
        for record in get(f"/api/v1/{resource}/", "legacy")["objects"]:
            learn("", {}, record)
    for name in ("component", "dashboard", "event"):
        for record in get(f"/app/{name}s", "app")[f"{name}s"]:
            learn(f"/app/{name}s", {}, {name: record})
    # A post-mortem and a reopening need an event that is closed.
    records["closed"] = [{"id": event["id"]} for event in get("/app/events?status=resolved", "app")["events"]]
    if KNOWN["document"] == "operator":
        organizations = "/operator/v1/organizations"
        for path, body in ((organizations, {"name": "Known"}), (organizations, {"name": "Changing"})):
            learn(path, {}, post(path, body))
        for name in ("grace", "joan"):
            users = f"{organizations}/{records[organizations + '/{id}'][0]['id']}/users"
            learn(users, {}, post(users, {"username": name, "email": name + "@example.com", "roles": ["admin"]}))


begin()


def one(known):
    """One of the latest records, each in its turn."""
    return known[-1 - next(turn) % min(3, len(known))]


def refer(value, name=""):
    """The value with references to records that exist."""
    if isinstance(value, dict):
        return {member: refer(inner, member) for member, inner in value.items()}
    if isinstance(value, list):
        return [refer(inner, {"componentIds": "componentId"}.get(name, name)) for inner in value]
    if isinstance(value, str) and values.get(name):
        return one(values[name])
    uri = isinstance(value, str) and re.match(r"(?:https?://[^/]+)?(/api/v1/(?:[a-z]+/)+)0*[0-9]+/?$", value)
    if uri and records.get(uri[1] + "{id}"):
        return f"{uri[1]}{one(records[uri[1] + '{id}'])['id']}/"
    return value


@schemathesis.hook
def before_call(context, case, kwargs):
    def valid(location):
        component = case.meta.components.get(location) if case.meta else None
        return component is None or component.mode.is_positive

    if case.path == "/api/v1/dashboard/":
        case.headers["Host"] = KNOWN["host"]
    if "slug" in case.path_parameters and valid(ParameterLocation.PATH):
        case.path_parameters["slug"] = KNOWN["slug"]
    if "}" in case.path and valid(ParameterLocation.PATH):
        known = records.get(case.path[:case.path.rindex("}") + 1].replace("set/{ids}", "{id}"), [])
        if case.path.endswith(("/post-mortem", "/reopen")):
            known = records["closed"]
        if case.method.upper() == "DELETE" and case.path.endswith("}") and len(known) < 2:  # keeps the last record, and the records of other programs
            known = [{name: str(uuid.uuid4()) for name in case.path_parameters}] if case.path.startswith(("/app/", "/operator/")) else []
        if known:
            case.path_parameters = {name: one(known).get(name, value) for name, value in case.path_parameters.items()}
    if isinstance(case.query, dict) and valid(ParameterLocation.QUERY):
        case.query = refer({name: value for name, value in case.query.items() if name != "nextToken"})
        if case.path == "/app/reports/uptime":
            case.query.pop("componentId", None)  # the operation accepts only one of two parameters
    if valid(ParameterLocation.HEADER):
        # Most requests would get 409, because the key was used or the version is outdated.
        case.headers.pop("If-Match", None)
        if "Idempotency-Key" in case.headers:
            case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if isinstance(case.body, (dict, list)) and valid(ParameterLocation.BODY):
        case.body = refer(case.body)


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code == 403 and not response.content:
        # If the key is refused, the response has no body. OpenAPI has no optional response body.
        response.content = b'{"error": ""}'
        response.headers["content-type"] = ["application/json"]
    if response.status_code == 201 and case.method.upper() == "POST":
        learn(case.path, case.path_parameters, response.json())
    if response.status_code == 204 and case.method.upper() == "DELETE":
        known = records.get(case.path, [])
        if case.path_parameters in known:
            known.remove(case.path_parameters)
