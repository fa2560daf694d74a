"""feedparser: a reader of RSS and Atom. The feeds are those of the sample in services/events/internal/site."""

import calendar
import time

import feedparser

from checks import CREDENTIALS, equal, run

BASE = CREDENTIALS["baseUrl"]
SITE = "https://status.example.com"


def sample(n):
    return f"019d0000-0000-7000-8000-{n:012d}"


NEWEST = [sample(n) for n in (23, 22, 21, 40, 50, 52, 53, 33, 32, 31, 55)]


def read(path):
    feed = feedparser.parse(f"{BASE}/{path}")
    equal((feed.bozo, feed.status), (False, 200), "well-formed")
    return feed


def stamp(parsed):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(calendar.timegm(parsed)))


def check(path, version, prefix):
    feed = read(path)
    equal(feed.version, version, "version")
    equal(feed.feed.title, "Acme & Söhne – Incidents and maintenance", "title")
    equal(feed.feed.subtitle, "What works, and what does not.", "subtitle")
    equal(stamp(feed.feed.updated_parsed), "2026-03-29T11:00:01Z", "updated")
    equal([link.href for link in feed.feed.links if link.rel == "self"], [f"{SITE}/{path}"], "self")
    equal(feed.feed.link, SITE + "/", "link")
    equal([entry.id.removeprefix(prefix) for entry in feed.entries], NEWEST, "ids")
    entry = feed.entries[1]
    equal(entry.title, "Identified: Requests to the API fail", "title")
    equal(entry.link, f"{SITE}/events/{sample(20)}#{sample(22)}", "link")
    equal(stamp(entry.published_parsed), "2026-03-29T10:30:00Z", "published")
    equal([tag.term for tag in entry.tags], ["API"], "tags")
    equal('<a href="https://example.com/a?b=c&amp;d"' in html(entry), True, "link in the content")
    for entry in feed.entries:
        equal("<script" in html(entry), False, "script in the content")


def html(entry):
    return entry.content[0].value if "content" in entry else entry.summary


def rss():
    """RSS"""
    check("feed.rss", "rss20", "")


def atom():
    """Atom"""
    check("feed.atom", "atom10", "urn:uuid:")


def hostile():
    """a hostile title is text in Atom"""
    title = read("feed.atom").entries[7].title_detail
    equal(title.type, "text/plain", "type")
    equal(title.value.startswith("Resolved: ]]><script>alert(1)</script> \"quoted\" 'single' & &amp; a,b;c:d \\n \\ END:VEVENT X-EVIL:1"), True, "title")


def component():
    """the feeds of a component"""
    for name in ("feed.rss", "feed.atom"):
        feed = read(f"components/{sample(11)}/{name}")
        equal(feed.feed.title, "Acme & Söhne – API", "title")
        equal([entry.id.removeprefix("urn:uuid:") for entry in feed.entries], NEWEST[:3], "ids")


run("feedparser", [rss, atom, hostile, component])
