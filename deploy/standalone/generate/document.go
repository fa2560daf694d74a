package main

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/declared"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/goccy/go-yaml"
)

// documents returns the documents' file names, each with a function that writes its text.
func documents() map[string]func() ([]byte, error) {
	return map[string]func() ([]byte, error){
		"app.yaml": func() ([]byte, error) {
			return document(passport.App, "Bellbuoy App interface", appDescription,
				object{{"bearer", object{{"type", "http"}, {"scheme", "bearer"}, {"description", "<keyId>:<secret>"}}}})
		},
		"operator.yaml": func() ([]byte, error) {
			return document(passport.Operator, "Bellbuoy operator interface", operatorDescription,
				object{{"operatorToken", object{{"type", "apiKey"}, {"in", "header"}, {"name", "Authorization"},
					{"description", "Operator <token>, with the token of BELLBUOY_OPERATOR_TOKEN."}}}})
		},
	}
}

const appDescription = `Everything under /app. Calls are counted per organization and minute. Ids are UUIDs. Times are ISO 8601 in UTC
with milliseconds. A list returns a nextToken, null on its last page: the same request with that token returns the next page. A body is
JSON. An unknown member of a body and an unknown query parameter are errors. A member with the role admin may call every operation.`

const operatorDescription = `Provisioning of organizations, users and keys by whoever operates the installation. The interface exists
only if BELLBUOY_OPERATOR_TOKEN is set. Without it every path gets 404.`

// object is a mapping that is written in its order.
type object []entry

type entry struct {
	key   string
	value any
}

// MarshalYAML implements yaml.InterfaceMarshaler.
func (o object) MarshalYAML() (any, error) {
	mapping := yaml.MapSlice{}
	for _, e := range o {
		mapping = append(mapping, yaml.MapItem{Key: e.key, Value: e.value})
	}
	return mapping, nil
}

func document(surface passport.Surface, title, description string, security object) ([]byte, error) {
	schemas := newSchemas()
	var tags []any
	seen := map[string]bool{}
	var paths, parameters object
	use := func(name string, of object) { // adds a parameter that operations refer to
		if !slices.ContainsFunc(parameters, func(item entry) bool { return item.key == name }) {
			parameters = append(parameters, entry{name, of})
		}
	}
	for _, operation := range declared.Operations() {
		if operation.Surface() != surface {
			continue
		}
		if !seen[operation.Tag] {
			seen[operation.Tag] = true
			tags = append(tags, object{{"name", operation.Tag}})
		}
		described, err := describe(operation, schemas)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", operation.Method, operation.Path, err)
		}
		if operation.Idempotent() {
			use("IdempotencyKey", idempotencyKey)
		}
		if operation.TakesIfMatch() {
			use("IfMatch", ifMatch)
		}
		at := slices.IndexFunc(paths, func(item entry) bool { return item.key == operation.Path })
		if at < 0 {
			at, paths = len(paths), append(paths, entry{operation.Path, object{}})
		}
		paths[at].value = append(paths[at].value.(object), entry{strings.ToLower(operation.Method), described})
	}
	var required []any
	for _, scheme := range security {
		required = append(required, object{{scheme.key, []any{}}})
	}
	components := object{{"securitySchemes", security}}
	if len(parameters) > 0 {
		components = append(components, entry{"parameters", parameters})
	}
	text, err := yaml.MarshalWithOptions(object{
		{"openapi", "3.1.0"},
		{"info", object{{"title", title}, {"version", "1"}, {"description", strings.ReplaceAll(description, "\n", " ")}}},
		{"servers", []any{object{{"url", "/"}, {"description", "This installation."}}}},
		{"security", required},
		{"tags", tags},
		{"paths", paths},
		{"components", append(components, entry{"responses", errorResponses()}, entry{"schemas", schemas.all()})},
	}, yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		return nil, err
	}
	return append([]byte("# Written by `make generate` from the operations that the services declare. Do not edit.\n"), text...), nil
}

var idempotencyKey = object{
	{"name", "Idempotency-Key"}, {"in", "header"},
	{"description", "The same key and body within 24 h returns the first response again. The same key with another body gets 409."},
	{"schema", object{{"type", "string"}, {"maxLength", 255}}},
}

var ifMatch = object{
	{"name", "If-Match"}, {"in", "header"},
	{"description", "The ETag of the record that the client has read. The operation gets 409 if the record has changed since."},
	{"schema", object{{"type", "string"}}},
}

func describe(operation declared.Operation, schemas *schemas) (object, error) {
	out := object{
		{"operationId", operation.ID}, {"tags", []any{operation.Tag}}, {"summary", operation.Summary},
	}
	if text := strings.TrimSpace(operation.Description + " " + admission(operation)); text != "" {
		out = append(out, entry{"description", text})
	}
	out = append(out, entry{"x-service", operation.Service})
	parameters, err := schemas.parameters(operation.Parameters)
	if err != nil {
		return nil, err
	}
	if operation.Idempotent() {
		parameters = append(parameters, ref("parameters", "IdempotencyKey"))
	}
	if operation.TakesIfMatch() {
		parameters = append(parameters, ref("parameters", "IfMatch"))
	}
	if len(parameters) > 0 {
		out = append(out, entry{"parameters", parameters})
	}
	if operation.Body != reflect.TypeFor[web.None]() {
		content, err := schemas.content(operation.Body, true, operation.Example.Request)
		if err != nil {
			return nil, err
		}
		out = append(out, entry{"requestBody", object{{"required", !operation.BodyOptional}, {"content", content}}})
	}
	responses := object{}
	for _, status := range operation.Statuses() {
		response := ref("responses", responseName(status))
		if status == operation.Status {
			response = object{{"description", http.StatusText(status) + "."}}
			if operation.Response.Implements(reflect.TypeFor[web.Versioned]()) {
				response = append(response, entry{"headers", object{{"ETag", object{
					{"description", "The version of the record, for If-Match."}, {"required", true}, {"schema", object{{"type", "string"}}}}}}})
			}
			if status != http.StatusNoContent {
				content, err := schemas.content(operation.Response, false, operation.Example.Response)
				if err != nil {
					return nil, err
				}
				response = append(response, entry{"content", content})
			}
		}
		responses = append(responses, entry{strconv.Itoa(status), response})
	}
	return append(out, entry{"responses", responses}), nil
}

// admission says which role and entitlement a call needs.
func admission(operation declared.Operation) string {
	var out []string
	if len(operation.Roles) > 0 {
		out = append(out, "Role: "+strings.Join(operation.Roles, " or ")+".")
	}
	if operation.Entitlement != web.NoEntitlement {
		out = append(out, "Entitlement: "+string(operation.Entitlement)+".")
	}
	return strings.Join(out, " ")
}

func ref(kind, name string) object { return object{{"$ref", "#/components/" + kind + "/" + name}} }

var notLetters = regexp.MustCompile(`[^A-Za-z]`)

func responseName(status int) string {
	return notLetters.ReplaceAllString(http.StatusText(status), "")
}

func errorResponses() object {
	out := object{}
	for _, response := range []struct {
		status      int
		description string
		header      string
	}{
		{400, "A parameter or the body is wrong. The error names the field.", ""},
		{403, "Without a body: there is no valid key, or there were too many calls (then with Retry-After). With an error: the role or the plan does not allow the call.", "Retry-After"},
		{404, "There is no such record.", ""},
		{405, "The path does not have this method.", "Allow"},
		{409, "The request conflicts with a stored record or with its version, or its Idempotency-Key was used for another request.", ""},
		{413, "The body is larger than 1 MiB.", ""},
		{503, "A part of the platform cannot be reached. A repetition may succeed.", "Retry-After"},
	} {
		described := object{{"description", response.description}}
		if response.header != "" {
			described = append(described, entry{"headers", object{{response.header, object{{"schema", object{{"type", "string"}}}}}}})
		}
		described = append(described, entry{"content", object{{"application/json", object{{"schema", ref("schemas", "Error")}}}}})
		out = append(out, entry{responseName(response.status), described})
	}
	return out
}
