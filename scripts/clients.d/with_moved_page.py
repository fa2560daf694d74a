"""Moves a page of Statuspage here, and reads it with arez and statuspage-prometheus-exporter: they find the former ids."""

import asyncio
import json
import os
import subprocess
import tempfile
import urllib.request

from arez.statuspage import StatusPage

from checks import CREDENTIALS, equal, run
from with_statuspage_exporter import scrape

BASE = CREDENTIALS["baseUrl"]
PAGE = BASE + "/d/moved"
COMPONENTS = [("Storage", "cmp1"), ("Storage", "cmp2"), ("Console", "cmp3")]


def request(method, path, body=None):
    call = urllib.request.Request(BASE + path, method=method, data=body and json.dumps(body).encode(),
                                  headers={"Authorization": "Bearer " + CREDENTIALS["appKey"], "Content-Type": "application/json"})
    with urllib.request.urlopen(call, timeout=60) as response:
        return json.load(response)


def moved():
    """bellbuoy import"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.environ["BELLBUOY_COMMAND"], "import", "statuspage", os.environ["BELLBUOY_SOURCE"], "--dashboard", "moved"], cwd=folder,
                              env={"PATH": os.environ["PATH"], "HOME": folder, "BELLBUOY_URL": BASE, "BELLBUOY_APP_KEY": CREDENTIALS["appKey"]},
                              capture_output=True, text=True, timeout=120, check=False)
    equal(done.returncode, 2, done.stdout + done.stderr)  # complete, with warnings about what Bellbuoy does not have
    found = [d for d in request("GET", "/app/dashboards?limit=100")["dashboards"] if d["slug"] == "moved"]
    request("PATCH", "/app/dashboards/" + found[0]["id"], {"enabled": True})
    with open(os.environ["BELLBUOY_MOVED"], "w", encoding="utf-8") as file:
        json.dump({"baseUrl": PAGE}, file)


async def read():
    async with StatusPage(PAGE, loop=asyncio.get_running_loop()) as page:
        return await page.get_status()


def arez():
    """arez"""
    got = asyncio.run(read())
    equal((got.id, got.name), ("pg7kz", "Harbour Cloud"), "page")
    equal([(g.id, g.name) for g in got.groups if g.name != "default"], [("grp1", "Europe")], "groups")
    equal([(c.name, c.id) for c in got.components], COMPONENTS, "components")
    equal([(i.id, i.name) for i in got.incidents], [("inc3", "Storage is down")], "incidents")


def exporter():
    """statuspage-prometheus-exporter"""
    samples = scrape(PAGE)
    equal(sorted((s.labels["incident_id"], s.labels["incident_name"]) for s in samples if s.name == "statuspage_incident_info"), [("inc3", "Storage is down")], "incidents")


run("moved page", [moved, arez, exporter])
