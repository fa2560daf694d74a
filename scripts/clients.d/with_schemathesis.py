"""Schemathesis: requests made of the four documents, with keys and records of a running
platform. Each document has an organization of its own. Both the valid and the invalid
requests are made of the schemas, and every response is held against its document.

BELLBUOY_SEED sets the seed of the requests, which the program prints."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import requests

from checks import CREDENTIALS

HERE = Path(__file__).parent
ROOT = CREDENTIALS["baseUrl"]
SEED = os.environ.get("BELLBUOY_SEED", "20260122")
OPERATOR = "Operator " + CREDENTIALS["operatorToken"]
# The number of examples per operation in the fuzzing phase. In the coverage phase, the schemas decide the number.
EXAMPLES = {"app": 4, "legacy": 2, "operator": 8, "public": 8}
UNCOVERED = ("app", "legacy") if "--short" in sys.argv else ()


def call(method, path, authorization, body=None):
    response = requests.request(method, ROOT + path, json=body, headers={"Authorization": authorization}, timeout=30)
    response.raise_for_status()
    return response.json() if response.content else {}


def organization(name):
    """A new organization with an administrator: its dashboard and the values of Authorization."""
    made = call("POST", "/operator/v1/organizations", OPERATOR, {"name": name})
    user = call("POST", f"/operator/v1/organizations/{made['organization']['id']}/users", OPERATOR,
                {"username": f"schemathesis-{name}", "email": f"{name}@example.com", "roles": ["admin"]})["user"]["id"]
    key = call("POST", f"/operator/v1/users/{user}/api-keys", OPERATOR, {})["apiKey"]
    legacy = call("POST", f"/operator/v1/users/{user}/legacy-key", OPERATOR)
    return made["dashboard"], f"Bearer {key}", f"ApiKey {legacy['username']}:{legacy['key']}"


def start(document, folder):
    """Starts Schemathesis against a document, in an organization with a service and an event."""
    dashboard, app, legacy = organization(document)
    service = call("POST", "/api/v1/service/", legacy, {"service_name": "API"})["resource_uri"]
    for status in ("resolved", "resolved", "investigating"):
        call("POST", "/api/v1/event/list/", legacy, {
            "type": {"type": "incident"}, "status": {"status": status}, "description": "Slow",
            "start": "2026-01-01T00:00:00", "event_service": [service], "event_update": [{"update": "Seen."}]})
    call("POST", "/api/v1/subscribers/email/", legacy, {"email": {"email": "ada@example.com"}, "service": service})
    call("POST", "/api/v1/subscribers/sms/", legacy, {"number": {"number": "+4915112345678"}, "service": service})
    call("PATCH", "/app/dashboards/" + dashboard["id"], app, {"customDomains": [f"{document}.example.com"]})
    authorization = {"app": app, "legacy": legacy, "operator": OPERATOR}.get(document)
    environment = {
        **os.environ, "SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(HERE), "NO_COLOR": "1",
        "KNOWN_RECORDS": json.dumps({
            "document": document, "app": app, "legacy": legacy, "operator": OPERATOR, "root": ROOT,
            "host": f"{document}.example.com", "slug": dashboard["slug"]}),
    }
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis.toml"), "run",
               str(HERE.parent.parent / "gateway" / "openapi" / f"{document}.yaml"), "--url", ROOT, "--seed", SEED,
               "--max-examples", str(EXAMPLES[document]), "--warnings", "off"]
    if document in UNCOVERED:
        command += ["--phases", "examples,fuzzing"]
    if authorization:
        command += ["--header", f"Authorization: {authorization}"]
    output = open(folder / document, "w+", encoding="utf-8")
    return subprocess.Popen(command, env=environment, cwd=folder, stdout=output, stderr=subprocess.STDOUT), output


def main():
    print(f"Schemathesis runs with the seed {SEED}.", flush=True)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        running = {document: start(document, Path(folder)) for document in EXAMPLES}
        for document, (process, output) in running.items():
            ended = process.wait()
            failed = failed or ended != 0
            print(f"{'not ok' if ended else 'ok'} schemathesis: {document}.yaml and the platform agree")
            output.seek(0)
            lines = output.read().splitlines()
            print("\n".join(lines if ended else [line for line in lines if "generated" in line]), flush=True)
    sys.exit(failed)


main()
