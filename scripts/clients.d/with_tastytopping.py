"""tastytopping: an object mapper. It finds the resources by discovery, reads each schema
and refuses by itself what the schema does not allow, so this shows that both are true.

It writes changes by PATCH unless the schema leaves PATCH out, as here: then by PUT. Its
bulk operations (create, bulk, and update or delete of a query) need PATCH on a list."""

from concurrent.futures import ThreadPoolExecutor

from tastytopping import (ErrorResponse, FieldNotNullable, FilterNotAllowedForField, HTTPApiKeyAuth, MultipleResourcesReturned,
                          NoResourcesExist, ReadOnlyField, ResourceDeleted, ResourceFactory, RestMethodNotAllowed)

from checks import BASE, KEY, SERVICE_FIELDS, USERNAME, equal, raises, run

factory = ResourceFactory(BASE)
factory.auth = HTTPApiKeyAuth(USERNAME, KEY)


def service(name, **fields):
    return factory.service(service_name=name, **fields).save()


def names(rows, prefix):
    return [row.service_name.removeprefix(prefix) for row in rows]


def discovery():
    """resources found by discovery"""
    equal(len(factory.resources), 12, "resources")
    equal([status.status for status in factory.status.filter(status__contains="ing")],
          ["planning", "investigating", "verifying", "monitoring"], "statuses")


def service_list():
    """service list"""
    before = factory.service.all().count()
    equal(names(factory.service.all()[:3], ""), ["Website", "API", "Database"], "the seed's services")
    service("topping list")
    equal(factory.service.all().count(), before + 1, "count after a create")
    equal(len(list(factory.service.all())), before + 1, "rows")


def service_page():
    """service slices"""
    for n in range(5):
        service(f"topping {n}", group="topping slices")
    rows = factory.service.filter(group="topping slices")
    equal(names(rows[1:3], "topping "), ["1", "2"], "a slice")
    equal(names(rows[4:9], "topping "), ["4"], "a slice past the end")
    equal(rows[-1].service_name, "topping 4", "the last one")
    equal(names(rows.order_by("-service_name")[:2], "topping "), ["4", "3"], "a slice of another order")


def email_pages():
    """emails, more than a page can hold, by meta.next"""
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda n: factory.email(email=f"{n}@pages.topping.example").save().uri(), range(1001)))
    rows = list(factory.email.filter(email__endswith="@pages.topping.example"))
    equal(len(rows), 1001, "rows")
    equal({row.uri() for row in rows}, set(made), "URIs")


def service_create():
    """service create"""
    made = service("topping create", hidden=True)
    equal(sorted(made.fields()), SERVICE_FIELDS, "fields")
    equal((made.service_name, made.description, made.group, made.hidden), ("topping create", "", "default", True), "values")
    made.refresh()
    equal((made.service_name, made.description, made.group, made.hidden), ("topping create", "", "default", True), "values read again")
    error = raises(ErrorResponse, service, "x" * 51)
    equal('"service_name"' in error.args[0], True, "the field at fault is told")


def service_update():
    """service update (PUT)"""
    made = service("topping update", group="topping", description="before")
    made.description = "after"
    made.save()
    made.update(hidden=True)
    made.refresh()
    equal((made.service_name, made.group, made.description, made.hidden), ("topping update", "topping", "after", True), "values")
    raises(ReadOnlyField, made.update, resource_uri="/api/v1/service/1/")
    raises(FieldNotNullable, made.update, service_name=None)
    raises(RestMethodNotAllowed, factory.service.filter(group="topping").update, description="in bulk")


def service_delete():
    """service delete"""
    made = service("topping delete")
    same = factory.service.get(service_name="topping delete")
    equal(same, made, "the service found")
    made.delete()
    raises(ResourceDeleted, made.delete)
    raises(NoResourcesExist, factory.service.get, service_name="topping delete")


def service_filter():
    """service filters and orders"""
    made = [service(f"topping {name}", group="topping filter", hidden=name == "beta") for name in ("beta", "alpha", "gamma")]
    rows = factory.service.filter(group="topping filter")
    equal(names(rows, "topping "), ["beta", "alpha", "gamma"], "exact")
    equal(names(rows.filter(hidden=True), "topping "), ["beta"], "boolean")
    equal(names(rows.filter(service_name__iendswith="MMA"), "topping "), ["gamma"], "iendswith")
    equal(names(rows.filter(service_name__in=["topping gamma", "topping alpha"]), "topping "), ["alpha", "gamma"], "in")
    equal(names(rows.order_by("-hidden", "service_name"), "topping "), ["beta", "alpha", "gamma"], "ordered by two")
    equal(names(rows.order_by("service_name").reverse(), "topping "), ["gamma", "beta", "alpha"], "reversed")
    equal(factory.service.get(group="topping filter", hidden=True), made[0], "the only one")
    equal(rows.filter(service_name="nobody").exists(), False, "exists")
    raises(MultipleResourcesReturned, rows.get)
    raises(FilterNotAllowedForField, list, rows.filter(unheard_of=1))


def subscriptions():
    """email subscriptions: related objects, and filters over them"""
    watched = service("topping watched")
    address = factory.email(email="someone@topping.example").save()
    kind = getattr(factory, "subscribers/email")
    made = kind(email=address, service=watched, confirmed=True).save()
    equal((made.email, made.service, made.confirmed), (address, watched, True), "subscription")
    equal(made.service.service_name, "topping watched", "field of the nested service")
    equal(list(kind.filter(service__service_name="topping watched")), [made], "by service")
    equal(kind.filter(email__email="nobody@topping.example").count(), 0, "by another address")
    made.update(confirmed=False)
    made.refresh()
    equal((made.email, made.service, made.confirmed), (address, watched, False), "subscription changed")
    watched.delete()
    equal(kind.filter(email__email="someone@topping.example").count(), 0, "subscriptions of the deleted service")


run("tastytopping", [discovery, service_list, service_page, email_pages, service_create, service_update, service_delete,
                     service_filter, subscriptions])
