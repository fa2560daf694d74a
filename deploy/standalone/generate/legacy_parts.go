package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/declared"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
)

// listParameters returns the query parameters of a list: paging, order and filters.
func (d legacyDocument) listParameters(of declared.Resource) []any {
	var orders []any
	for _, name := range of.Ordering {
		orders = append(orders, name, "-"+name)
	}
	count := func(name string, absent int, text string) object {
		return object{{"name", name}, {"in", "query"}, {"description", text},
			{"schema", object{{"type", "integer"}, {"minimum", 0}, {"maximum", math.MaxInt64}, {"default", absent}}}}
	}
	out := []any{
		d.parameter("Limit", count("limit", 20, "Number of objects. 0 and values above 1000 mean 1000.")),
		d.parameter("Offset", count("offset", 0, "Number of objects to skip.")),
		object{{"name", "order_by"}, {"in", "query"}, {"description", "Fields. A minus before a field means descending. Repeat the parameter for several fields."},
			{"schema", object{{"type", "array"}, {"items", object{{"type", "string"}, {"enum", orders}}}}}},
	}
	for _, field := range append([]legacy.Field{legacy.IDField(nil)}, of.Fields...) {
		if !field.Filters() {
			continue
		}
		out = append(out, d.filter(field.Name, field))
		if field.Relation == nil {
			continue
		}
		for _, inner := range append([]legacy.Field{legacy.IDField(field.Relation)}, field.Relation.Fields...) {
			if inner.Filters() {
				out = append(out, d.filter(field.Name+"__"+inner.Name, inner))
			}
		}
	}
	return append(out, d.parameter("Lookups", object{{"name", "lookups"}, {"in", "query"}, {"style", "form"}, {"explode", true},
		{"description", "A filter with a lookup behind its name (service_name__icontains): exact, iexact, contains, icontains, startswith, istartswith, " +
			"endswith, iendswith, in, gt, gte, lt, lte, range, isnull. Filters reach over several relations (event__status__status). All filters must hold. " +
			"The resource's schema/ lists what can be filtered. A parameter that does not begin with the name of a field is ignored."},
		{"schema", object{{"type", "object"}, {"additionalProperties", object{{"type", "string"}}}}},
	}))
}

// filter returns the query parameter that filters a list by a field, without a lookup such as __gt.
func (d legacyDocument) filter(name string, field legacy.Field) object {
	schema := object{{"type", "string"}}
	var pattern, text string
	switch {
	case field.Relation != nil:
		pattern, text = `[-+]?[0-9]{1,18}|`+strings.Trim(uriPattern(field.Relation.To), "^$"), "Id or resource_uri of "+d.named(field.Relation.To).One+"."
	case field.Type == legacy.Integer:
		schema = object{{"type", "integer"}, {"minimum", math.MinInt64}, {"maximum", math.MaxInt64}}
	case field.Type == legacy.Boolean:
		pattern = `[Tt]([Rr][Uu][Ee])?|[Ff]([Aa][Ll][Ss][Ee])?|0|1`
	case field.Type == legacy.Datetime:
		pattern = timePattern
	}
	if pattern != "" {
		if field.Nullable {
			pattern += "|[Nn]one|nil|null"
		}
		schema = append(schema, entry{"pattern", fmt.Sprintf("^(%s)$", pattern)})
	}
	out := object{{"name", name}, {"in", "query"}}
	if text == "" {
		text = field.Help
	}
	if text != "" {
		out = append(out, entry{"description", text})
	}
	return append(out, entry{"schema", schema})
}

func (d legacyDocument) override() object {
	return d.parameter("MethodOverride", object{
		{"name", legacy.OverrideHeader}, {"in", "header"},
		{"description", "The method that a POST stands for, for clients that can send only GET and POST. A POST to any path may have it."},
		{"schema", object{{"type", "string"}, {"pattern", `^\s*([Pp][Oo][Ss][Tt])?\s*$`}}},
	})
}

func (d legacyDocument) id() object {
	return d.parameter("ID", object{{"name", "id"}, {"in", "path"}, {"required", true},
		{"schema", object{{"type", "integer"}, {"format", "int64"}, {"minimum", 1}, {"maximum", math.MaxInt64}}}})
}

func (d legacyDocument) ids() object {
	return d.parameter("IDs", object{{"name", "ids"}, {"in", "path"}, {"required", true}, {"description", "Ids with semicolons between them, at most 1000."},
		{"schema", object{{"type", "string"}, {"pattern", "^[^/]+$"}}}, {"example", "1;3"}})
}

// timePattern matches a time. The day must exist in its month. February has 29 days in every year.
const timePattern = `(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-((0[1-9]|1[0-2])-(0[1-9]|[12][0-9])|(0[13-9]|1[0-2])-30|(0[13578]|1[02])-31)T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?Z?`

func (d legacyDocument) time() object {
	return d.define("Time", object{
		{"type", "string"}, {"description", "UTC, yyyy-mm-ddThh:mm:ss. A response has no Z, and a fraction only if it is not zero."},
		{"pattern", "^" + timePattern + "$"}, {"example", "2026-01-31T09:30:00"},
	})
}

func (d legacyDocument) flag() object {
	return d.define("Flag", object{{"description", "true or false, also as text in any case, 1 or 0."}, {"anyOf", []any{
		object{{"type", "boolean"}},
		object{{"type", "integer"}, {"enum", []any{0, 1}}},
		object{{"type", "string"}, {"pattern", "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$"}},
	}}})
}

// closed returns the schema of an object with these members, which are all required.
func closed(properties ...entry) object {
	required := find.Values(properties, func(property entry) any { return property.key })
	return object{{"type", "object"}, {"required", required}, {"properties", object(properties)}}
}

func typed(name string) object { return object{{"type", name}} }

func listOf(items object) object { return object{{"type", "array"}, {"items", items}} }

func mapOf(values object) object { return object{{"type", "object"}, {"additionalProperties", values}} }

func (d *document) discovery() object {
	d.define("Resource", closed(entry{"list_endpoint", typed("string")}, entry{"schema", typed("string")}))
	return mapOf(ref("schemas", "Resource"))
}

func (d *document) page(record object) object {
	link := object{{"type", []any{"string", "null"}}, {"description", "Path and query of that page."}}
	d.define("Meta", closed(
		entry{"limit", object{{"type", "integer"}, {"description", "The limit that was applied."}}}, entry{"next", link}, entry{"offset", typed("integer")},
		entry{"previous", link}, entry{"total_count", object{{"type", "integer"}, {"description", "The number of objects after filters."}}}))
	return closed(entry{"meta", ref("schemas", "Meta")}, entry{"objects", listOf(record)})
}

func (d *document) set(record object) object {
	missing := append(listOf(typed("string")), entry{"description", "The ids that do not exist, if any."})
	return object{{"type", "object"}, {"required", []any{"objects"}}, {"properties", object{{"objects", listOf(record)}, {"not_found", missing}}}}
}

func (d *document) description() object {
	field := closed(entry{"blank", typed("boolean")}, entry{"default", object{{"description", "Any value, or the text No default provided."}}},
		entry{"help_text", typed("string")}, entry{"nullable", typed("boolean")}, entry{"primary_key", typed("boolean")}, entry{"readonly", typed("boolean")},
		entry{"type", typed("string")}, entry{"unique", typed("boolean")}, entry{"verbose_name", typed("string")})
	field[2].value = append(field[2].value.(object), entry{"related_schema", typed("string")},
		entry{"related_type", object{{"type", "string"}, {"enum", []any{"to_one", "to_many"}}}})
	d.define("Field", field)
	methods := listOf(typed("string"))
	return d.define("Description", closed(entry{"allowed_list_http_methods", methods}, entry{"allowed_detail_http_methods", methods},
		entry{"default_format", typed("string")}, entry{"default_limit", typed("integer")}, entry{"fields", mapOf(ref("schemas", "Field"))},
		entry{"filtering", append(mapOf(typed("integer")), entry{"description", "1: all lookups; 2: those of the related fields too."})},
		entry{"ordering", listOf(typed("string"))}))
}

func legacyFailures(d *document) map[int]failure {
	invalid := d.define("Invalid", object{{"type", "object"}, {"required", []any{"error"}}, {"properties", object{{"error", typed("string")}}},
		{"additionalProperties", append(mapOf(listOf(typed("string"))), entry{"description", "The messages by field, under the name of the resource."})}})
	failed := d.define("Failure", object{{"type", "object"}, {"required", []any{"error"}},
		{"properties", object{{"error", typed("string")}, {"error_message", typed("string")}}}})
	return map[int]failure{
		400: {description: "The query or the body is wrong. A failed validation also names the fields, under the resource's name.",
			schema: invalid, example: "service_name: is required"},
		403: {description: "No valid key, or too many calls (then with Retry-After): no body. A role or a plan that does not allow it: with an error.",
			headers: []string{"Retry-After"}, example: "Your role does not allow this request. Use a user with the role administrator or API."},
		404: {description: "There is no such object.", example: "There is no such service."},
		405: {description: "The path does not have the method that was sent, or that X-HTTP-Method-Override names.",
			headers: []string{"Allow"}, example: "The method PATCH is not allowed here. Use GET,POST."},
		413: {description: "The body is larger than 1 MiB.", example: "The body must be at most 1048576 bytes."},
		415: {description: "The body is not JSON by its Content-Type.", example: "The Content-Type must be application/json."},
		503: {description: "A part of the platform cannot be reached.", headers: []string{"Retry-After"}, schema: failed, example: "The platform is not available at the moment."},
	}
}
