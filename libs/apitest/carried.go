package apitest

import (
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// notCarried returns patterns of the members whose sent value the response need not show, each with the reason. A
// pattern matches the location of an operation in its document, a space, and the path of a member.
func notCarried() map[string]string {
	return map[string]string{
		`^legacy\.yaml.* (resource_uri|user|blocked)$`: "a client sends what it read; the service decides these members",
		`^legacy\.yaml.*~1event~1list~1/post auto$`:    "an incident ignores it",
		`^legacy\.yaml.* service\.service_name$`:       "the id decides which service it is",
		`^app\.yaml.*endpoints/patch urlHash$`:         "it names the endpoint before its URL changes",
		`^app\.yaml.*~1invitations~1.* token$`:         "the token of a link is not that of the session",
		`^app\.yaml.*(sign-in|invitations).* browser$`: "a sign-in replaces the ticket of the browser",
		`^app\.yaml.*sign-on/put clientSecret$`:        "the secret of a client is never shown",
	}
}

// carry checks that the response to a successful write shows the values that the request sent. It compares each scalar
// member of the request's body with the member of the same name in the response, also inside nested objects. It skips
// the members of notCarried.
func (c *check) carry(r *http.Request, sent string, got exchange) {
	media, _, _ := mime.ParseMediaType(got.header.Get("Content-Type"))
	if !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, r.Method) || media != "application/json" {
		return
	}
	body, err := decode([]byte(sent))
	if err != nil {
		return
	}
	response, err := decode(got.body)
	if err != nil {
		return
	}
	c.carried("", body, record(body, response))
}

// record returns the record in a response. Of the response and its members, it returns the value that has the most member
// names of the request. If the response has only one member, one such name in this member is enough.
func record(sent, response any) any {
	body, _ := sent.(map[string]any)
	object, _ := response.(map[string]any)
	shared := func(in any) (n int) {
		record, _ := in.(map[string]any)
		for name := range body {
			if _, has := record[name]; has {
				n++
			}
		}
		return n
	}
	found := response
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if n := shared(object[name]); n > shared(found) || n > 0 && len(object) == 1 {
			found = object[name]
		}
	}
	return found
}

func (c *check) carried(path string, sent, got any) {
	for pattern := range notCarried() {
		if regexp.MustCompile(pattern).MatchString(c.at + " " + path) {
			return
		}
	}
	if shown, ok := link(got); ok && path != "" { // the legacy interface accepts a link and shows the record
		if wanted, ok := link(sent); ok {
			sent, got = wanted, shown
		} else if text, ok := sent.(string); ok {
			sent, got = text, shown
		}
	}
	switch sent := sent.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(sent)) {
			if value, has := object[name]; has {
				c.carried(strings.TrimPrefix(path+"."+name, "."), sent[name], value)
			}
		}
	case []any: // the response may sort the list, and write its elements in another form
		if list, ok := got.([]any); len(sent) > 0 && (!ok || len(list) == 0) {
			c.differ("the request sent %s %s, and the response shows %s", path, text(sent), text(got))
		}
	default:
		if want := form(sent); want != "" && want != form(got) && (want != "1" || got != true) {
			c.differ("the request sent %s %s, and the response shows %s", path, text(sent), text(got))
		}
	}
}

// link returns the resource_uri of a record of the legacy interface. has is false for any other value.
func link(record any) (uri any, has bool) {
	object, _ := record.(map[string]any)
	uri, has = object["resource_uri"]
	return uri, has
}

// form returns a scalar value in the form in which two values are compared. It returns "" for null and for an empty
// text, which ask for the default value.
func form(value any) string {
	s, ok := value.(string)
	switch {
	case value == nil:
		return ""
	case !ok:
		return text(value)
	}
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} { // the legacy interface writes no zone
		if at, err := time.Parse(layout, s); err == nil {
			return at.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
		}
	}
	s = strings.ToLower(s) // emails, locales and hosts
	if strings.HasPrefix(s, "+") {
		return strings.NewReplacer(" ", "", "-", "", "(", "", ")", "").Replace(s)
	}
	if _, path, ok := strings.Cut(s, "/api/v1/"); ok {
		return strings.TrimSuffix(path, "/")
	}
	if strings.HasPrefix(s, "https://") {
		s, _, _ = strings.Cut(s, "#")
		return strings.Replace(s, ":443/", "/", 1)
	}
	return s
}

// members collects the query parameters and the members of the request bodies of the played operations.
type members struct {
	mutex     sync.Mutex
	asked     map[string]bool // "app.yaml#/paths/…/get?limit"; whether a successful request sent the parameter
	sent      map[string]bool // "app.yaml#/paths/…/post:position", sent with a value by a successful request
	operation map[string]any  // schema of the request's body of each played operation, by location
}

// ask stores whether a successful request sent a query parameter. It ignores the legacy interface, whose parameters follow
// from the fields of the resources.
func (m *members) ask(at, name string, sent bool) {
	if strings.HasPrefix(at, "legacy.yaml") {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.asked == nil {
		m.asked = map[string]bool{}
	}
	at += "?" + name
	m.asked[at] = m.asked[at] || sent
}

// send stores the members that the body of a successful request has with a value other than zero, and the schema of the
// body.
func (m *members) send(at string, schema, body any) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.sent == nil {
		m.sent, m.operation = map[string]bool{}, map[string]any{}
	}
	m.operation[at] = schema
	m.walk(at+":", body)
}

func (m *members) walk(path string, body any) {
	switch body := body.(type) {
	case map[string]any:
		for name, value := range body {
			if !slices.Contains([]string{`null`, `""`, `0`, `false`, `[]`, `{}`}, text(value)) {
				m.sent[path+name] = true
			}
			m.walk(path+name+".", value)
		}
	case []any:
		for _, one := range body {
			m.walk(path, one)
		}
	}
}

// Unsent returns the query parameters of the played operations that no successful request sent, and the members of their
// request bodies that none sent with a value other than zero: "app.yaml#/paths/~1app~1components/post:position".
func (o *OpenAPI) Unsent() []string {
	var unsent []string
	for parameter, sent := range o.members.asked {
		if !sent {
			unsent = append(unsent, parameter)
		}
	}
	for at, schema := range o.members.operation {
		for _, member := range o.declared(at+":", schema) {
			if !o.members.sent[member] {
				unsent = append(unsent, member)
			}
		}
	}
	slices.Sort(unsent)
	return slices.Compact(unsent)
}

// declared returns the members in a schema, also in nested objects and in the elements of lists.
func (o *OpenAPI) declared(path string, in any) (all []string) {
	schema, _ := in.(map[string]any)
	document, _, _ := strings.Cut(path, "#")
	if ref, _ := schema["$ref"].(string); ref != "" {
		return o.declared(path, o.schemas[document][strings.TrimPrefix(ref, "#/components/schemas/")])
	}
	for _, list := range []string{"allOf", "oneOf", "anyOf"} {
		parts, _ := schema[list].([]any)
		for _, part := range parts {
			all = append(all, o.declared(path, part)...)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		all = append(append(all, path+name), o.declared(path+name+".", property)...)
	}
	if items, has := schema["items"]; has {
		all = append(all, o.declared(path, items)...)
	}
	return all
}
