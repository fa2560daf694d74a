"""drest: a REST client with a Tastypie flavour. Its automatic detection takes no resource
name with a slash, so the resources are named here, as its documentation has it."""

from drest.api import TastyPieAPI
from drest.exc import dRestRequestError

from checks import BASE, KEY, SERVICE_FIELDS, USERNAME, equal, pk, raises, run, walk

api = TastyPieAPI(BASE, auto_detect_resources=False)
api.auth(USERNAME, KEY)
api.add_resource("service")
api.add_resource("events", path="/event/list/")


def service(name, **fields):
    response = api.service.post({"service_name": name, **fields})
    equal(response.status, 201, "status")
    equal(response.headers["location"].endswith(response.data["resource_uri"]), True, "Location ends with resource_uri")
    return response.data


def get(**parameters):
    response = api.service.get(params=parameters)
    equal(response.status, 200, "status")
    return response.data


def refused(status, call, *args):
    response = raises(dRestRequestError, call, *args).response
    equal(response.status, status, "status")
    equal(isinstance(response.data["error"], str), True, "error is a string")
    return response.data


def schema():
    """service schema"""
    told = api.service.schema
    equal(sorted(told["fields"]), SERVICE_FIELDS, "fields")
    equal((told["allowed_list_http_methods"], told["allowed_detail_http_methods"]), (["get", "post"], ["delete", "get", "put"]), "methods")


def service_list():
    """service list"""
    before = get()
    equal([row["service_name"] for row in before["objects"][:3]], ["Website", "API", "Database"], "the seed's services")
    equal(sorted(before["objects"][0]), SERVICE_FIELDS, "fields")
    equal((before["meta"]["limit"], before["meta"]["offset"], before["meta"]["previous"]), (20, 0, None), "meta")
    service("drest list")
    equal(get()["meta"]["total_count"], before["meta"]["total_count"] + 1, "total_count after a create")


def service_page():
    """service pages by meta.next"""
    made = [service(f"drest page {n}", group="drest pages") for n in range(5)]
    pages = walk(get, "/api/v1/service/", group="drest pages", limit=2)
    equal([page["objects"] for page in pages], [made[0:2], made[2:4], made[4:5]], "pages")
    equal([page["meta"]["total_count"] for page in pages], [5, 5, 5], "totals")


def service_create():
    """service create"""
    made = service("drest create", hidden_notifications=True)
    equal(made, {"description": "", "group": "default", "hidden": False, "hidden_notifications": True,
                 "resource_uri": f"/api/v1/service/{pk(made)}/", "service_name": "drest create"}, "service")
    equal(api.service.get_by_uri(made["resource_uri"]).data, made, "service read by its URI")
    equal(list(refused(400, api.service.post, {"service_name": " "})["service"]), ["service_name"], "fields at fault")


def service_update():
    """service update (PUT)"""
    made = service("drest update", group="drest", description="before")
    response = api.service.put(pk(made), {**made, "description": "after"})
    equal((response.status, response.data), (200, {**made, "description": "after"}), "answer")
    response = api.service.update(pk(made), {"service_name": "drest updated"})
    equal(response.data, {**made, "service_name": "drest updated", "description": "after", "group": "default"}, "answer")
    equal(api.service.get(pk(made)).data, response.data, "service read again")
    refused(405, api.service.patch, pk(made), {"hidden": True})


def service_delete():
    """service delete (with a body, as drest always sends one)"""
    made = service("drest delete", group="drest delete")
    equal(api.service.delete(pk(made)).status, 204, "status")
    refused(404, api.service.get, pk(made))
    refused(404, api.service.delete, pk(made))
    equal(get(group="drest delete")["meta"]["total_count"], 0, "total_count")


def service_filter():
    """service filters and orders"""
    made = [service(f"drest {name}", group="drest filter") for name in ("beta", "alpha", "gamma")]
    equal(get(group="drest filter", order_by="service_name")["objects"], [made[1], made[0], made[2]], "ordered")
    equal(get(group="drest filter", service_name__startswith="drest a")["objects"], [made[1]], "startswith")
    equal(get(group__iexact="DREST FILTER", service_name__range="drest b,drest h")["objects"], [made[0], made[2]], "range")
    refused(400, api.service.get, None, {"service_name__unheard_of": "1"})


def events():
    """a resource whose name has a slash"""
    affected = service("drest events")
    response = api.events.post({"type": {"type": "incident"}, "status": {"status": "identified"}, "description": "drest",
                                "start": "2026-01-02T03:04:05", "event_service": [{"service": affected["resource_uri"]}]})
    equal((response.status, response.data["status"]["status"]), (201, "identified"), "answer")
    found = api.events.get(params={"event_service__service": pk(affected)}).data
    equal((found["meta"]["total_count"], found["objects"]), (1, [response.data]), "found by its service")
    equal(api.events.delete(pk(response.data)).status, 204, "status")


def wrong_key():
    """a wrong key is 403 without a body"""
    wrong = TastyPieAPI(BASE, auto_detect_resources=False)
    wrong.auth(USERNAME, "wrong")
    wrong.add_resource("service")
    response = raises(dRestRequestError, wrong.service.get).response
    equal((response.status, response.headers.get("content-length")), (403, "0"), "answer")


run("drest", [schema, service_list, service_page, service_create, service_update, service_delete, service_filter, events, wrong_key])
