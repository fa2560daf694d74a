package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/declared"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
)

const legacyDescription = `Services, events, addresses and subscriptions under /api/v1/. The key's user needs the role admin or api.
Calls are counted per user and hour. A path that has GET also has HEAD. Every path has OPTIONS, which returns Allow and needs no key.
Every path also works without its last slash. All times are UTC, yyyy-mm-ddThh:mm:ss. References to other objects are sent as their resource_uri.
Unknown fields of a body are ignored, so a client can send the response of GET back with PUT. Null clears a field that may be null in a response,
and counts as not sent for any other field.`

func writeLegacy() ([]byte, error) {
	d := newDocument()
	discovery := object{{"email", object{{"list_endpoint", "/api/v1/email/"}, {"schema", "/api/v1/email/schema/"}}}}
	d.add(operation{
		path: legacy.Base, method: "GET", id: "discover", tag: "discovery", summary: "List the resources", keyless: true,
		responses: d.fails(object{{"200", d.response("The resources by name.", object{{"application/json", media(d.discovery(), discovery)}})}}, legacyFailures(d), 405),
	})
	resources := legacyDocument{d, declared.Resources()}
	for _, resource := range resources.all {
		if err := resources.describe(resource); err != nil {
			return nil, fmt.Errorf("%s: %w", resource.Resource, err)
		}
	}
	return d.write("Bellbuoy legacy interface", legacyDescription,
		object{{"apiKey", object{{"type", "apiKey"}, {"in", "header"}, {"name", "Authorization"}, {"description", "ApiKey <username>:<API_KEY>"}}}})
}

type legacyDocument struct {
	*document
	all []declared.Resource
}

// describe adds the paths of a resource.
func (d legacyDocument) describe(of declared.Resource) error {
	record, err := ordered(json.RawMessage(of.Record))
	if err != nil {
		return fmt.Errorf("the example of a record: %w", err)
	}
	d.define(of.Name, d.output(of.Fields))
	shown := ref("schemas", of.Name)
	list := legacy.ListURI(of.Resource)
	add := func(o operation, status, description string, content object, headers []string, failures ...int) {
		o.tag, o.service = of.Resource, of.Service
		o.responses = object{{status, d.response(description, content, headers...)}}
		o.responses = d.fails(o.responses, legacyFailures(d.document), append(failures, 403, 405, 503)...)
		d.add(o)
	}
	shows := func(schema, example any) object { return object{{"application/json", media(schema, example)}} }
	writes := func(o operation, schema object, example string, status, description string, headers []string, failures ...int) error {
		body, err := ordered(json.RawMessage(example))
		if err != nil {
			return fmt.Errorf("the example of a body: %w", err)
		}
		o.body = object{{"required", true}, {"content", shows(schema, body)}}
		add(o, status, description, shows(shown, record), headers, append(failures, 400, 413, 415)...)
		return nil
	}

	page := object{{"meta", object{{"limit", 20}, {"next", nil}, {"offset", 0}, {"previous", nil}, {"total_count", 1}}}, {"objects", []any{record}}}
	add(operation{path: list, method: "GET", id: "list" + of.Names, summary: "List " + of.Many, description: of.List, parameters: d.listParameters(of)},
		"200", "A page.", shows(d.page(shown), page), nil, 400)
	methods := slices.IndexFunc(legacy.Resources(), func(row legacy.Row) bool { return row.Name == of.Resource })
	row := legacy.Resources()[methods]
	if slices.Contains(row.List, http.MethodPost) {
		d.define(of.Name+"Input", d.input(of.Fields, true))
		err := writes(operation{path: list, method: "POST", id: "create" + of.Name, summary: "Create " + of.One, description: of.Create, parameters: []any{d.override()}},
			ref("schemas", of.Name+"Input"), of.Body, "201", "Created.", []string{"Location"})
		if err != nil {
			return err
		}
	}
	add(operation{path: list + "schema/", method: "GET", id: "describe" + of.Names, summary: "Describe " + of.Many},
		"200", "The resource's own schema.", shows(d.description(), nil), nil)
	add(operation{path: list + "set/{ids}/", method: "GET", id: "get" + of.Name + "Set", summary: "Get " + of.Many + " by their ids", parameters: []any{d.ids()}},
		"200", "The objects that exist, in the requested order.", shows(d.set(shown), object{{"objects", []any{record}}}), nil, 400, 404)

	one := operation{path: list + "{id}/", method: "GET", id: "get" + of.Name, summary: "Get " + of.One, parameters: []any{d.id()}}
	add(one, "200", "The object.", shows(shown, record), nil, 404)
	if slices.Contains(row.Detail, http.MethodPut) {
		one.method, one.id, one.summary, one.description = "PUT", "change"+of.Name, "Change "+of.One, of.Change
		d.define(of.Name+"Change", d.input(of.Fields, false))
		if err := writes(one, ref("schemas", of.Name+"Change"), of.Body, "200", "Changed.", nil, 404); err != nil {
			return err
		}
	}
	if slices.Contains(row.Detail, http.MethodDelete) {
		one.method, one.id, one.summary, one.description = "DELETE", "delete"+of.Name, "Delete "+of.One, of.Delete
		add(one, "204", "Deleted. No body.", nil, nil, 404)
	}
	return nil
}

// named returns the declared resource with this name.
func (d legacyDocument) named(resource string) declared.Resource {
	at := slices.IndexFunc(d.all, func(of declared.Resource) bool { return of.Resource == resource })
	return d.all[at]
}

// output returns the schema of a record in a response.
func (d legacyDocument) output(fields []legacy.Field) object {
	properties := object{{"resource_uri", object{{"type", "string"}}}}
	required := []any{"resource_uri"}
	for _, field := range fields {
		if field.InputOnly {
			continue
		}
		schema := d.shown(field)
		if field.Nullable {
			schema = nullableOf(schema)
		}
		schema = explained(schema, field)
		required = append(required, field.Name)
		properties = append(properties, entry{field.Name, schema})
	}
	return object{{"type", "object"}, {"required", required}, {"properties", properties}}
}

// shown returns the schema of the field's value in a response, without null.
func (d legacyDocument) shown(field legacy.Field) object {
	switch {
	case field.Type == legacy.Boolean:
		return object{{"type", "boolean"}}
	case field.Type == legacy.Datetime:
		return d.time()
	case field.Relation == nil || field.Relation.URI:
		schema := object{{"type", "string"}}
		if enum, is := field.Keywords["enum"]; is {
			schema = append(schema, entry{"enum", enum})
		}
		return schema
	}
	related := ref("schemas", d.named(field.Relation.To).Name)
	if field.Relation.Many {
		return object{{"type", "array"}, {"items", related}}
	}
	return related
}

// explained returns schema with the description of the field.
func explained(schema object, field legacy.Field) object {
	text, is := field.Keywords["description"].(string)
	if !is {
		text = field.Help
	}
	if field.Unique && !is {
		text = strings.TrimSuffix(text, ".") + "; unique."
	}
	if text == "" {
		return schema
	}
	return append(slices.Clone(schema), entry{"description", text})
}

// nullableOf returns a schema that accepts null and each value that schema accepts.
func nullableOf(schema object) object {
	switch of := schema.get("type").(type) {
	case string:
		return slices.Clone(schema).set("type", []any{of, "null"})
	case []any:
		return slices.Clone(schema).set("type", append(slices.Clone(of), "null"))
	}
	return object{{"anyOf", []any{schema, object{{"type", "null"}}}}}
}

// input returns the schema of a request body, or of an object in a request body. If create is false, no field is
// required.
func (d legacyDocument) input(fields []legacy.Field, create bool) object {
	properties, required := object{}, []any{}
	for _, field := range fields {
		if field.Readonly {
			continue
		}
		schema := d.sent(field, create)
		toOne := field.Relation != nil && !field.Relation.Many
		if !(field.Required && (create || toOne)) {
			schema = nullableOf(schema)
		}
		if field.Default != nil {
			schema = append(slices.Clone(schema), entry{"default", field.Default})
		}
		if create && field.Required {
			required = append(required, field.Name)
		}
		properties = append(properties, entry{field.Name, explained(schema, field)})
	}
	out := object{{"type", "object"}}
	if len(required) > 0 {
		out = append(out, entry{"required", required})
	}
	return append(out, entry{"properties", properties})
}

// sent returns the schema of the field's value in a request body.
func (d legacyDocument) sent(field legacy.Field, create bool) object {
	var schema object
	switch field.Type {
	case legacy.Boolean:
		return d.flag()
	case legacy.Datetime:
		return d.time()
	case legacy.List:
		schema = object{{"type", "array"}, {"items", object{{"type", []any{"string", "number"}}}}}
	case legacy.Object:
		return d.input(field.Fields, true)
	case legacy.Related:
		if !field.Relation.Many {
			return d.reference(field.Relation)
		}
		schema = object{{"type", "array"}, {"items", d.item(field.Relation)}}
		if create && field.Required {
			schema = append(schema, entry{"minItems", 1})
		}
	default:
		schema = object{{"type", []any{"string", "number"}}}
		if field.Required {
			schema = append(schema, entry{"pattern", `\S`})
		}
		if field.Max > 0 {
			schema = append(schema, entry{"maxLength", field.Max})
		}
	}
	for _, keyword := range []string{"format", "pattern", "maxItems"} {
		if value, is := field.Keywords[keyword]; is {
			schema = schema.set(keyword, value)
		}
	}
	return schema
}

// item returns the schema of an element of a to-many field. The element is an object that names an existing child, an object
// with the fields of a new child, or a URI, the value of a new child's field relation.Bare.
func (d legacyDocument) item(relation *legacy.Relation) object {
	existing := d.input(relation.Items, false)
	existing = append(existing, entry{"anyOf", d.names(relation.To)})
	forms := []any{existing, d.input(relation.Items, true)}
	for _, field := range relation.Items {
		if field.Name == relation.Bare {
			forms = append(forms, object{{"type", "string"}, {"pattern", uriPattern(field.Relation.To)}})
		}
	}
	return object{{"anyOf", forms}}
}

// reference defines the schema of a to-one field's value, which names a record or has the fields of a new record. It
// returns a reference to the definition.
func (d legacyDocument) reference(relation *legacy.Relation) object {
	forms := d.names(relation.To)
	if len(relation.New) > 0 {
		forms = append(forms, d.input(relation.New, true))
	}
	if relation.Named != nil {
		name := relation.To
		forms = append(forms, object{{"required", []any{name}}, {"properties", object{{name, ref("schemas", d.named(name).Name+"Name")}}}})
		d.define(d.named(name).Name+"Name", object{{"type", "string"}, {"enum", d.named(name).Fields[0].Keywords["enum"]}})
	}
	return d.define(d.named(relation.To).Name+"Reference", object{
		{"description", "A resource_uri, or an object with a resource_uri, an id or a pk."},
		{"anyOf", []any{
			object{{"type", "string"}, {"pattern", uriPattern(relation.To)}},
			object{{"type", "object"}, {"anyOf", forms}},
		}},
	})
}

// names returns one schema for each member by which an object can identify a record of the resource.
func (d legacyDocument) names(resource string) []any {
	id := object{{"anyOf", []any{
		object{{"type", "integer"}, {"minimum", 1}},
		object{{"type", "string"}, {"pattern", uriPattern(resource) + "|^0*[1-9][0-9]{0,18}$"}},
	}}}
	uri := object{{"type", "string"}, {"pattern", uriPattern(resource)}}
	var forms []any
	for _, member := range []entry{{"resource_uri", uri}, {"id", id}, {"pk", id}} {
		forms = append(forms, object{{"required", []any{member.key}}, {"properties", object{member}}})
	}
	return forms
}

// uriPattern returns a pattern that matches the resource_uri of the resource's records, also as an absolute URL.
func uriPattern(resource string) string {
	return `^(https?://[^/]+)?` + legacy.ListURI(resource) + `0*[1-9][0-9]{0,18}/?$`
}
