"""icalendar: a parser of iCalendar. The calendar is that of the sample in services/events/internal/site."""

from datetime import datetime, timezone

import icalendar
import requests

from checks import CREDENTIALS, equal, run


def sample(n):
    return f"019d0000-0000-7000-8000-{n:012d}"


def events():
    response = requests.get(CREDENTIALS["baseUrl"] + "/maintenance.ics", timeout=10)
    equal(response.status_code, 200, "status")
    calendar = icalendar.Calendar.from_ical(response.content)
    equal(calendar.errors, [], "errors of the calendar")
    equal((str(calendar["VERSION"]), str(calendar["METHOD"]), str(calendar["X-WR-CALNAME"])),
          ("2.0", "PUBLISH", "Acme & Söhne – Planned maintenance"), "calendar")
    found = calendar.walk("VEVENT")
    for event in found:
        equal(event.errors, [], "errors of an event")
    return {str(event["UID"]): event for event in found}


def maintenances():
    """maintenances"""
    found = events()
    equal(list(found), [sample(n) for n in (50, 52, 53, 54, 60)], "events")
    planned = found[sample(50)]
    equal((str(planned["SUMMARY"]), planned["SEQUENCE"], str(planned["STATUS"])),
          ("Move of the mail servers, part 2; at night", 5, "CONFIRMED"), "planned")
    equal((planned.decoded("DTSTART"), planned.decoded("DTEND")),
          (datetime(2026, 3, 30, 1, 0, tzinfo=timezone.utc), datetime(2026, 3, 30, 3, 30, tzinfo=timezone.utc)), "times")
    equal(str(planned["DESCRIPTION"]), "Planned\n\nAffected components: Mail\n\nMail may arrive late.\nNothing is lost.", "description")
    equal(str(planned["URL"]), f"https://status.example.com/events/{sample(50)}", "url")
    equal(str(found[sample(53)]["SUMMARY"]), "Größe日本\U0001f6a2" * 40, "a long word")


def withdrawn():
    """a withdrawn maintenance is cancelled"""
    event = events()[sample(60)]
    equal((str(event["STATUS"]), event["SEQUENCE"], str(event["SUMMARY"])), ("CANCELLED", 15, "Cancelled move"), "withdrawn")


def hostile():
    """a hostile text adds no line"""
    event = events()[sample(52)]
    equal([name for name in event if name.startswith("X-")], [], "properties")
    equal("END:VEVENT\nX-EVIL:1\nBEGIN:VEVENT" in str(event["DESCRIPTION"]), True, "text in the description")
    equal(str(event["SUMMARY"]).startswith("]]><script>alert(1)</script> \"quoted\" 'single' & &amp; a,b;c:d \\n \\ END:VEVENT X-EVIL:1"), True, "summary")


run("icalendar", [maintenances, withdrawn, hostile])
