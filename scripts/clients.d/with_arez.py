"""arez: its StatusPage reads summary.json of Statuspage, and accepts known words and complete objects only."""

import asyncio
from datetime import datetime

from arez.statuspage import StatusPage

from checks import CREDENTIALS, equal, run


async def read():
    async with StatusPage(CREDENTIALS["baseUrl"], loop=asyncio.get_running_loop()) as page:
        return await page.get_status()


def status():
    """the status of the page, its groups and its components"""
    got = asyncio.run(read())
    equal((got.name, got.status, got.impact, got.updated_at),
          ("Acme & Söhne", "Partial System Outage", "Major", datetime(2026, 3, 29, 12, 0)), "page")
    equal([(g.name, g.status, [c.name for c in g.components]) for g in got.groups], [("Core", "Partial Outage", ["API", "Website"])], "groups")
    equal([(c.name, c.status, c.group and c.group.name) for c in got.components],
          [("API", "Partial Outage", "Core"), ("Website", "Operational", "Core"), ("Mail", "Under Maintenance", None)], "components")


def events():
    """open incidents and due maintenances"""
    got = asyncio.run(read())
    equal([(i.name, i.status, i.impact, [c.name for c in i.components], i.last_update.status, i.last_update.description) for i in got.incidents],
          [("Requests to the API fail", "Identified", "Critical", ["API"], "Identified", "One part works again.\nThe rest follows."),
           ("Slow mail", "Monitoring", "None", [], "Monitoring", "Mail is late.")], "incidents")
    equal([(m.status, m.impact, m.scheduled_for, m.scheduled_until) for m in got.maintenances],
          [(name, "Maintenance", datetime(2026, 3, 30, 1, 0), datetime(2026, 3, 30, 3, 30)) for name in ("Scheduled", "In Progress", "Verifying")],
          "maintenances")
    equal(len(got.component("Mail").maintenances), 3, "maintenances of a component")


run("arez", [status, events])
