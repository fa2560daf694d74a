"""slumber: a generic REST client. It knows nothing of the interface but the base URL, so
it shows plain requests and answers; it goes through every resource that can be written."""

import re

import requests
import slumber
from slumber.exceptions import HttpClientError, HttpNotFoundError

from checks import BASE, KEY, SERVICE_FIELDS, USERNAME, equal, pk, query, raises, run, walk


class ApiKey(requests.auth.AuthBase):
    def __init__(self, key):
        self.key = key

    def __call__(self, request):
        request.headers["Authorization"] = f"ApiKey {USERNAME}:{self.key}"
        return request


api = slumber.API(BASE, auth=ApiKey(KEY))


def post(resource, body):
    """The created object, after a look at the status and the location."""
    made = resource.post(body)
    equal(resource._.status_code, 201, "status")
    equal(resource._.headers["Location"].endswith(made["resource_uri"]), True, "Location ends with resource_uri")
    equal(resource(pk(made)).get(), made, "the object read again")
    return made


def put(resource, body):
    changed = resource.put(body)
    equal(resource._.status_code, 200, "status")
    equal(resource.get(), changed, "the object read again")
    return changed


def delete(resource):
    equal(resource.delete(), True, "deleted")
    equal(resource._.status_code, 204, "status")
    equal(resource._.content, b"", "body")
    raises(HttpNotFoundError, resource.get)
    raises(HttpNotFoundError, resource.delete)


def refused(status, call, *args, **kwargs):
    """The JSON body of a refusal."""
    response = raises(HttpClientError, call, *args, **kwargs).response
    equal(response.status_code, status, "status")
    body = response.json()
    equal(isinstance(body["error"], str), True, "error is a string")
    return body


def service(name, **fields):
    return post(api.service, {"service_name": name, **fields})


def incident(*services, **fields):
    return post(api.event.list, {
        "type": "/api/v1/type/1/", "status": "/api/v1/status/2/", "description": "slumber", "start": "2026-01-02T03:04:05",
        "event_service": [{"service": s["resource_uri"]} for s in services], **fields})


def discovery():
    """what there is, without credentials"""
    found = slumber.API(BASE.removesuffix("v1/")).v1.get()
    equal(sorted(found), ["email", "event/list", "event/service", "event/update", "number", "service", "severity", "status",
                          "subscribers/email", "subscribers/sms", "type", "user"], "resources")
    equal(found["event/list"], {"list_endpoint": "/api/v1/event/list/", "schema": "/api/v1/event/list/schema/"}, "event/list")


def lookups():
    """statuses, severities, types and users"""
    equal([row["status"] for row in api.status.get()["objects"]],
          ["planning", "investigating", "resolved", "started", "completed", "inprogress", "verifying", "update", "identified",
           "monitoring"], "statuses")
    equal([row["severity"] for row in api.severity.get()["objects"]],
          ["minor_performance", "major_performance", "minor_outage", "major_outage"], "severities")
    equal(api.type.get()["objects"], [{"resource_uri": "/api/v1/type/1/", "type": "incident"},
                                      {"resource_uri": "/api/v1/type/2/", "type": "maintenance"}], "types")
    users = api.user.get(username=USERNAME)
    equal(users["meta"]["total_count"], 1, "users")
    equal(sorted(users["objects"][0]), ["date_joined", "email", "first_name", "is_active", "last_login", "last_name",
                                        "resource_uri", "username"], "fields of a user")
    equal(refused(405, api.status.post, {"status": "other"})["error"] != "", True, "error")


def service_list():
    """service list"""
    before = api.service.get()
    equal(before["meta"], {"limit": 20, "next": before["meta"]["next"], "offset": 0, "previous": None,
                           "total_count": before["meta"]["total_count"]}, "meta")
    equal([row["service_name"] for row in before["objects"][:3]], ["Website", "API", "Database"], "the seed's services")
    equal(sorted(before["objects"][0]), SERVICE_FIELDS, "fields")
    service("slumber list")
    equal(api.service.get()["meta"]["total_count"], before["meta"]["total_count"] + 1, "total_count after a create")


def service_page():
    """service pages by meta.next, and back"""
    made = [service(f"slumber page {n}", group="slumber & pages") for n in range(5)]
    pages = walk(api.service.get, "/api/v1/service/", group="slumber & pages", limit=2)
    equal([[row["resource_uri"] for row in page["objects"]] for page in pages],
          [[row["resource_uri"] for row in made[at:at + 2]] for at in (0, 2, 4)], "pages")
    equal([page["meta"]["total_count"] for page in pages], [5, 5, 5], "totals")
    equal(pages[0]["meta"]["previous"], None, "previous of the first")
    equal(api.service.get(**query(pages[2]["meta"]["previous"])), pages[1], "previous of the last")
    equal(api.service.get(group="slumber & pages", offset=5)["objects"], [], "past the end")
    refused(400, api.service.get, limit=-1)


def service_create():
    """service create"""
    made = service("slumber create")
    equal(made, {"description": "", "group": "default", "hidden": False, "hidden_notifications": False,
                 "resource_uri": f"/api/v1/service/{pk(made)}/", "service_name": "slumber create"}, "defaults")
    name = "Größe <&> \U0001f6a2"
    equal(service(name, description=name, group=name, hidden=True)["service_name"], name, "text")
    errors = refused(400, api.service.post, {"group": "without a name"})
    equal(list(errors["service"]), ["service_name"], "fields at fault")
    refused(400, api.service.post, {"service_name": "x" * 51})


def service_update():
    """service update (PUT)"""
    made = service("slumber update", group="slumber", description="before")
    one = api.service(pk(made))
    equal(put(one, {**made, "description": "after"}), {**made, "description": "after"}, "after a PUT of the whole")
    equal(put(one, {"hidden": True}), {**made, "description": "after", "hidden": True, "group": "default"},
          "after a PUT without a group")
    equal(refused(405, one.patch, {"hidden": False})["error"] != "", True, "error of a PATCH")
    equal(one.get()["hidden"], True, "hidden after the refusal")
    refused(404, api.service(9999999).put, {"service_name": "nobody"})


def service_delete():
    """service delete"""
    made = service("slumber delete", group="slumber delete")
    delete(api.service(pk(made)))
    equal(api.service.get(group="slumber delete")["meta"]["total_count"], 0, "total_count")


def service_filter():
    """service filters and orders"""
    made = [service(f"slumber {name}", group="slumber filter", hidden=name == "Beta") for name in ("Beta", "alpha", "gamma")]

    def names(**parameters):
        found = api.service.get(group="slumber filter", **parameters)
        equal(found["meta"]["total_count"], len(found["objects"]), "total_count")
        return [row["service_name"].removeprefix("slumber ") for row in found["objects"]]

    equal(names(), ["Beta", "alpha", "gamma"], "exact")
    equal(names(service_name__iexact="SLUMBER BETA"), ["Beta"], "iexact")
    equal(names(service_name__endswith="mma"), ["gamma"], "endswith")
    equal(names(service_name__icontains="ALPH"), ["alpha"], "icontains")
    equal(names(hidden="true"), ["Beta"], "boolean")
    equal(names(id__in=f"{pk(made[2])},{pk(made[0])}"), ["Beta", "gamma"], "id__in")
    equal(names(id__gt=pk(made[0]), id__lt=pk(made[2])), ["alpha"], "a range of ids")
    equal(names(order_by="-id"), ["gamma", "alpha", "Beta"], "descending")
    equal(names(unheard_of="1"), ["Beta", "alpha", "gamma"], "unknown filter")
    refused(400, api.service.get, service_name__unheard_of="1")
    refused(400, api.service.get, order_by="unheard_of")
    some = api.service.set(f"{pk(made[1])};9999999;{pk(made[0])}").get()
    equal(some, {"objects": [made[1], made[0]], "not_found": ["9999999"]}, "a set")


def wrong_key():
    """a wrong key and no key are 403 without a body"""
    for auth in (ApiKey("wrong"), None):
        response = raises(HttpClientError, slumber.API(BASE, auth=auth).service.get).response
        equal((response.status_code, response.content), (403, b""), "answer")
        equal("WWW-Authenticate" in response.headers, False, "WWW-Authenticate")


def events():
    """events: create, read, filter, update, delete"""
    first, second = service("slumber events 1"), service("slumber events 2")
    made = incident(first, event_update=[{"update": "looking"}], severity="/api/v1/severity/3/",
                    notifications={"email": {"enabled": True, "email_subject": "slumber"}, "sms": {"enabled": False}})
    equal(made["type"], {"resource_uri": "/api/v1/type/1/", "type": "incident"}, "type")
    equal(made["status"], {"resource_uri": "/api/v1/status/2/", "status": "investigating"}, "status")
    equal(made["severity"], {"resource_uri": "/api/v1/severity/3/", "severity": "minor_outage"}, "severity")
    equal((made["start"], made["end"]), ("2026-01-02T03:04:05", None), "times")
    equal(re.fullmatch(r"/api/v1/user/\d+/", made["user"]) is not None, True, "user")
    equal("notifications" in made, False, "notifications in the output")
    equal([(link["event"], link["service"]) for link in made["event_service"]], [(made["resource_uri"], first)], "links")
    equal([(u["update"], u["status"]["status"]) for u in made["event_update"]], [("looking", "update")], "updates")

    found = api.event.list.get(event_service__service__service_name="slumber events 1", type__type="incident")
    equal((found["meta"]["total_count"], found["objects"]), (1, [made]), "found over relations")
    equal(api.event.list.get(id=pk(made), status__status="resolved")["meta"]["total_count"], 0, "none resolved")

    one = api.event.list(pk(made))
    equal(put(one, made), made, "after its own body is sent back")
    changed = put(one, {"status": "/api/v1/status/3/", "event_service": [{"service": second["resource_uri"]}],
                        "event_update": [{"update": "done", "status": "/api/v1/status/3/", "date": "2026-01-02T04:00:00"}]})
    equal(changed["status"]["status"], "resolved", "status")
    equal(changed["end"] is not None, True, "a resolved incident has an end")
    equal([link["service"]["service_name"] for link in changed["event_service"]], ["slumber events 1", "slumber events 2"], "links")
    equal(sorted(u["update"] for u in changed["event_update"]), ["done", "looking"], "updates")

    refused(400, one.put, {"status": "/api/v1/status/5/"})  # only a maintenance can be completed
    equal(one.get(), changed, "the event after the refusal")
    total = api.event.list.get(limit=1)["meta"]["total_count"]
    equal("event/list" in refused(400, api.event.list.post, {"type": "/api/v1/type/2/", "status": "/api/v1/status/1/",
          "description": "no end", "start": "2026-01-02T03:04:05", "event_service": [{"service": first["resource_uri"]}]}), True,
          "a maintenance without an end")
    equal(api.event.list.get(limit=1)["meta"]["total_count"], total, "total_count after the refusal")

    delete(one)
    equal(api.event.update.get(event=pk(made))["meta"]["total_count"], 0, "updates of the deleted event")
    equal(api.event.service.get(event=pk(made))["meta"]["total_count"], 0, "links of the deleted event")


def event_pages():
    """events: pages by meta.next over a relation"""
    affected = service("slumber event pages")
    made = [incident(affected, description=f"page {n}") for n in range(3)]
    pages = walk(api.event.list.get, "/api/v1/event/list/", event_service__service=pk(affected), order_by="-id", limit=2)
    equal([[row["resource_uri"] for row in page["objects"]] for page in pages],
          [[made[2]["resource_uri"], made[1]["resource_uri"]], [made[0]["resource_uri"]]], "pages")


def event_updates():
    """event updates: create, read, filter, delete"""
    event = incident(service("slumber updates"))
    plain = post(api.event.update, {"event": event["resource_uri"], "update": "still looking"})
    equal(sorted(plain), ["date", "event", "markdown", "resource_uri", "status", "update", "user"], "fields")
    equal((plain["event"], plain["status"]), (event["resource_uri"], {"resource_uri": "/api/v1/status/8/", "status": "update"}), "defaults")
    full = post(api.event.update, {"event": event["resource_uri"], "update": "**found**", "markdown": True,
                                   "status": "/api/v1/status/9/", "date": "2026-01-02T05:06:07"})
    equal((full["status"]["status"], full["date"], full["markdown"]), ("identified", "2026-01-02T05:06:07", True), "as sent")
    equal(api.event.list(pk(event)).get()["status"]["status"], "investigating", "the event's own status")
    pages = walk(api.event.update.get, "/api/v1/event/update/", event=event["resource_uri"], limit=1)
    equal([page["objects"] for page in pages], [[plain], [full]], "pages")
    equal(api.event.update.get(event=pk(event), status__status="identified")["objects"], [full], "filtered")
    refused(405, api.event.update(pk(plain)).put, {"update": "changed"})
    refused(400, api.event.update.post, {"event": event["resource_uri"]})
    refused(400, api.event.update.post, {"event": "/api/v1/event/list/9999999/", "update": "of nothing"})
    delete(api.event.update(pk(plain)))
    equal(api.event.list(pk(event)).get()["event_update"], [full], "what the event has left")


def event_services():
    """event service links: create, read, filter, delete"""
    first, second = service("slumber links 1"), service("slumber links 2")
    event = incident(first)
    made = post(api.event.service, {"event": event["resource_uri"], "service": second["resource_uri"]})
    equal(made, {"event": event["resource_uri"], "resource_uri": made["resource_uri"], "service": second}, "link")
    refused(400, api.event.service.post, {"event": event["resource_uri"], "service": second["resource_uri"]})
    refused(405, api.event.service(pk(made)).put, {"service": first["resource_uri"]})
    equal(api.event.service.get(event=pk(event))["meta"]["total_count"], 2, "links of the event")
    equal(api.event.service.get(service__service_name="slumber links 2")["objects"], [made], "filtered")
    delete(api.event.service(pk(made)))
    equal(api.event.list(pk(event)).get()["event_service"], event["event_service"], "what the event has left")


def emails():
    """emails: create, read, filter, update, delete"""
    made = post(api.email, {"email": "one@slumber.example"})
    equal(made, {"email": "one@slumber.example", "resource_uri": made["resource_uri"]}, "email")
    equal(list(refused(400, api.email.post, {"email": "one@slumber.example"})["email"]), ["email"], "a duplicate")
    refused(400, api.email.post, {"email": "nobody"})
    equal(put(api.email(pk(made)), {"email": "two@slumber.example"}), {**made, "email": "two@slumber.example"}, "changed")
    equal(api.email.get(email__endswith="@slumber.example")["meta"]["total_count"], 1, "filtered")
    delete(api.email(pk(made)))


def numbers():
    """numbers: create, read, filter, update, delete"""
    made = post(api.number, {"number": "+4930123456"})
    equal(made, {"blocked": False, "number": "+4930123456", "resource_uri": made["resource_uri"]}, "number")
    refused(400, api.number.post, {"number": "+4930123456"})
    refused(400, api.number.post, {"number": "030 123456"})
    equal(put(api.number(pk(made)), {"number": "+4930654321"}), {**made, "number": "+4930654321"}, "changed")
    equal(api.number.get(number="+4930654321")["objects"], [{**made, "number": "+4930654321"}], "filtered")
    delete(api.number(pk(made)))


def subscriptions(resource, addresses, field, known, fresh):
    """Both kinds are alike but for the field of their address."""
    watched, other = service(f"slumber {field} 1"), service(f"slumber {field} 2")
    address = post(addresses, {field: known})
    made = post(resource, {field: address["resource_uri"], "service": watched["resource_uri"]})
    equal(made, {"confirmed": False, field: address, "resource_uri": made["resource_uri"], "service": watched}, "subscription")
    refused(400, resource.post, {field: address["resource_uri"], "service": watched["resource_uri"]})
    refused(400, resource.post, {field: "/api/v1/type/1/", "service": watched["resource_uri"]})

    one = resource(pk(made))
    equal(put(one, {"confirmed": True}), {**made, "confirmed": True}, "confirmed")
    byvalue = post(resource, {field: {field: fresh}, "service": watched["resource_uri"], "confirmed": True})
    equal(addresses.get(**{field: fresh})["objects"], [byvalue[field]], "the address that was made by the way")

    pages = walk(resource.get, resource.url().removeprefix(BASE.removesuffix("/api/v1/")), service=pk(watched), limit=1)
    equal([page["objects"] for page in pages], [[{**made, "confirmed": True}], [byvalue]], "pages")
    equal(resource.get(**{f"{field}__{field}": fresh})["objects"], [byvalue], "filtered by address")
    equal(resource.get(service__service_name=other["service_name"])["meta"]["total_count"], 0, "of the other service")

    delete(one)
    delete(addresses(pk(byvalue[field])))
    equal(resource.get(service=pk(watched))["meta"]["total_count"], 0, "subscriptions of a deleted address")
    last = post(resource, {field: address["resource_uri"], "service": other["resource_uri"]})
    delete(api.service(pk(other)))
    left = resource.get(**{f"{field}__{field}": known})
    equal((left["meta"]["total_count"], left["objects"]), (0, []), "subscriptions of a deleted service")
    raises(HttpNotFoundError, resource(pk(last)).get)


def email_subscriptions():
    """email subscriptions: create, read, filter, update, delete"""
    subscriptions(api.subscribers.email, api.email, "email", "known@slumber.example", "fresh@slumber.example")


def sms_subscriptions():
    """sms subscriptions: create, read, filter, update, delete"""
    subscriptions(api.subscribers.sms, api.number, "number", "+4930111111", "+4930222222")


run("slumber", [discovery, lookups, service_list, service_page, service_create, service_update, service_delete, service_filter,
                wrong_key, events, event_pages, event_updates, event_services, emails, numbers, email_subscriptions,
                sms_subscriptions])
