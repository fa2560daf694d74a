package main

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// object is a YAML mapping whose members keep their order.
type object []entry

type entry struct {
	key   string
	value any
}

// MarshalYAML implements yaml.InterfaceMarshaler.
func (o object) MarshalYAML() (any, error) {
	return yaml.MapSlice(find.Values(o, func(e entry) yaml.MapItem { return yaml.MapItem{Key: e.key, Value: e.value} })), nil
}

// set sets the member key of the object and returns the object. A new member comes last.
func (o object) set(key string, value any) object {
	if at := slices.IndexFunc(o, func(e entry) bool { return e.key == key }); at >= 0 {
		o[at].value = value
		return o
	}
	return append(o, entry{key, value})
}

func (o object) get(key string) any {
	for _, e := range o {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// inboundToken is the name of the security scheme for tokens of inbound keys.
const inboundToken = "inboundToken"

// document collects the parts of an OpenAPI document.
type document struct {
	*schemas
	tags                           []any
	paths                          object
	parameters, headers, responses object // the components that a part of the document refers to
	schemes                        object // security schemes of single operations
}

func newDocument() *document { return &document{schemas: newSchemas()} }

type operation struct {
	path, method, id, tag, summary, description string
	service                                     string // empty: the gateway serves the operation
	access                                      string // value of x-access; empty: a key or a session gives access
	keyless                                     bool   // needs no key, although the rest of the document needs one
	token                                       bool   // accepts a token of an inbound key
	maxBody                                     int64  // limit of the body in bytes; 0: the usual limit
	parameters                                  []any
	body                                        any
	responses                                   object
}

func (d *document) add(o operation) {
	out := object{{"operationId", o.id}, {"tags", []any{o.tag}}, {"summary", o.summary}}
	optional := func(key string, value any, present bool) {
		if present {
			out = append(out, entry{key, value})
		}
	}
	optional("description", o.description, o.description != "")
	optional("x-service", o.service, o.service != "")
	optional("x-access", o.access, o.access != "")
	optional("x-max-body", o.maxBody, o.maxBody > 0)
	optional("security", []any{}, o.keyless)
	optional("security", []any{object{{inboundToken, []any{}}}, object{}}, o.token)
	optional("parameters", o.parameters, len(o.parameters) > 0)
	optional("requestBody", o.body, o.body != nil)
	slices.SortStableFunc(o.responses, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	out = append(out, entry{"responses", o.responses})
	if !slices.ContainsFunc(d.tags, func(tag any) bool { return tag.(object)[0].value == o.tag }) {
		d.tags = append(d.tags, object{{"name", o.tag}})
	}
	item, _ := d.paths.get(o.path).(object)
	d.paths = d.paths.set(o.path, append(item, entry{strings.ToLower(o.method), out}))
}

// write returns the text of the document. A call needs only one of the schemes in security, unless the operation has its
// own member security.
func (d *document) write(title, description string, security object) ([]byte, error) {
	required := []any{}
	components := object{}
	for _, scheme := range security {
		required = append(required, object{{scheme.key, []any{}}})
	}
	if schemes := append(security, d.schemes...); len(schemes) > 0 {
		components = object{{"securitySchemes", schemes}}
	}
	schemas, err := d.schemas.all()
	if err != nil {
		return nil, err
	}
	for _, part := range []entry{{"parameters", d.parameters}, {"headers", d.headers}, {"responses", d.responses}, {"schemas", schemas}} {
		if len(part.value.(object)) > 0 {
			components = append(components, part)
		}
	}
	text, err := yaml.MarshalWithOptions(object{
		{"openapi", "3.1.0"},
		{"info", object{{"title", title}, {"version", "1"}, {"description", strings.ReplaceAll(description, "\n", " ")}}},
		{"servers", []any{object{{"url", "/"}, {"description", "This installation."}}}},
		{"security", required},
		{"tags", d.tags},
		{"paths", d.paths},
		{"components", components},
	}, yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		return nil, err
	}
	return append([]byte("# Written by `make generate` from the operations that the services declare. Do not edit.\n"), text...), nil
}

func ref(kind, name string) object { return object{{"$ref", "#/components/" + kind + "/" + name}} }

// parameter adds a parameter to the components and returns a reference to the parameter.
func (d *document) parameter(name string, of object) object {
	d.parameters = d.parameters.set(name, of)
	return ref("parameters", name)
}

func media(schema any, example any) object {
	out := object{{"schema", schema}}
	if example != nil {
		out = append(out, entry{"example", example})
	}
	return out
}

// response returns a response with the headers, and with X-Request-Id, which every response has. It adds the headers to
// the components.
func (d *document) response(description string, content object, headers ...string) object {
	described := object{}
	for _, name := range append(headers, "X-Request-Id") {
		var of object
		switch name {
		case "Allow":
			of = header("The methods that the path has.", true, "string")
		case "ETag":
			of = header("Changes when the response or the record changes.", true, "string")
		case "Location":
			of = header("The URL of the created object, or of the page that follows.", true, "string")
		case "Retry-After":
			of = header("Seconds to wait before the next attempt.", false, "integer")
		case "Idempotency-Replayed":
			of = header("true if the response is that of an earlier request with the same Idempotency-Key.", false, "boolean")
		case "X-Request-Id":
			of = header("Names the request in the logs.", true, "string")
		}
		key := strings.ReplaceAll(name, "-", "")
		d.headers = d.headers.set(key, of)
		described = append(described, entry{name, ref("headers", key)})
	}
	out := object{{"description", description}, {"headers", described}}
	if content != nil {
		out = append(out, entry{"content", content})
	}
	return out
}

func header(description string, required bool, of string) object {
	out := object{{"description", description}}
	if required {
		out = append(out, entry{"required", true})
	}
	return append(out, entry{"schema", object{{"type", of}}})
}

// failure describes the response for an error status. The name of the response in the components is the status text,
// letters only.
type failure struct {
	description, example string
	headers              []string
	schema               object // nil: {"error": "..."}
}

var notLetters = regexp.MustCompile(`[^A-Za-z]`)

// fails adds the error response for each status to the components, and a reference to the error response to responses. It
// returns responses.
func (d *document) fails(responses object, failures map[int]failure, statuses ...int) object {
	for _, status := range statuses {
		name := notLetters.ReplaceAllString(http.StatusText(status), "")
		of := failures[status]
		if of.schema == nil {
			of.schema = d.errorSchema()
		}
		content := object{{"application/json", media(of.schema, object{{"error", of.example}})}}
		d.responses = d.responses.set(name, d.response(of.description, content, of.headers...))
		responses = responses.set(strconv.Itoa(status), ref("responses", name))
	}
	return responses
}
