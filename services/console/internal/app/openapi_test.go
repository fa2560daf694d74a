package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// document is the OpenAPI document of the App interface.
type document map[string]any

func readDocument(t *testing.T) document {
	t.Helper()
	text, err := os.ReadFile("../../../../gateway/openapi/app.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// at returns the value at a path of keys, or nil. It follows references.
func (d document) at(from any, keys ...string) any {
	for _, key := range keys {
		object, _ := d.resolve(from).(map[string]any)
		from = object[key]
	}
	return d.resolve(from)
}

func (d document) resolve(value any) any {
	object, is := value.(map[string]any)
	if !is {
		return value
	}
	if to, is := object["$ref"].(string); is {
		return d.at(map[string]any(d), strings.Split(strings.TrimPrefix(to, "#/"), "/")...)
	}
	return object
}

// operation returns the operation for a request, or nil.
func (d document) operation(method, path string) any {
	paths, _ := d["paths"].(map[string]any)
	if exact, is := paths[path]; is {
		return d.at(exact, strings.ToLower(method))
	}
	for pattern, item := range paths {
		form := regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(pattern), `[^/]+`)
		if regexp.MustCompile("^" + form + "$").MatchString(path) {
			return d.at(item, strings.ToLower(method))
		}
	}
	return nil
}

// exchange is a call of a method of Caller.
type exchange struct {
	method, path string
	query        url.Values
	body         []byte
}

// Every method of Caller is a declared operation. The members of its body and of its result have the types of the
// document.
func TestEveryCallIsADeclaredOperation(t *testing.T) {
	d := readDocument(t)
	var sent exchange
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = exchange{r.Method, r.URL.Path, r.URL.Query(), body}
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	signer := passport.NewSigner(strings.Repeat("s", 32), time.Now)
	caller := reflect.ValueOf(New(map[string]string{identity: server.URL, events: server.URL, delivery: server.URL, subscribers: server.URL, integrations: server.URL}, signer, boot.Process{
		Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{},
	}).For(passport.Passport{}, http.Header{}))
	called := map[string]bool{}
	for i := range caller.NumMethod() {
		method := caller.Type().Method(i)
		t.Run(method.Name, func(t *testing.T) {
			in := []reflect.Value{reflect.ValueOf(t.Context())}
			for at := 2; at < method.Type.NumIn(); at++ {
				value := filled(method.Type.In(at))
				if value.Type() == reflect.TypeFor[url.Values]() {
					value = reflect.ValueOf(queryOf(method.Name))
				}
				in = append(in, value)
			}
			out := caller.Method(i).Call(in)
			if !out[1].IsNil() {
				t.Fatal(out[1].Interface())
			}
			operation := d.operation(sent.method, sent.path)
			if operation == nil {
				t.Fatalf("%s %s is not declared", sent.method, sent.path)
			}
			called[fmt.Sprint(d.at(operation, "operationId"))] = true
			d.checkQuery(t, operation, sent.query)
			if len(sent.body) > 0 {
				var body any
				if err := json.Unmarshal(sent.body, &body); err != nil {
					t.Fatal(err)
				}
				schema := d.at(operation, "requestBody", "content", "application/json", "schema")
				d.checkValue(t, "body", schema, body)
			}
			result := out[0].Type()
			if result.NumField() == 0 {
				return
			}
			d.checkType(t, "response", d.responseSchema(operation), result)
		})
	}
	for _, id := range d.reads("users", "api-keys", "sign-in", "sessions", "second-factors", "organization", "sign-on", "audit", "reports", "events", "components", "templates", "dashboards", "email subscribers", "webhook endpoints", "inbound webhook") {
		if !called[id] && leftOut(id) == "" {
			t.Errorf("no page calls %s", id)
		}
	}
}

// queryOf returns a query with every parameter that pages send to the list.
func queryOf(method string) url.Values {
	query := url.Values{}
	for _, name := range append([]string{"limit", "nextToken"}, map[string][]string{
		"AuditEntries": {"entityType", "action", "from", "to", "entityId", "actorId"},
		"Events":       {"from", "type", "status", "active", "publish", "componentId", "dashboardId", "to", "q", "legacyId"},
		"Components":   {"status", "q", "legacyId"},
		"Dashboards":   {"q", "legacyId"},
		"Templates":    {"kind"},
		"DeliveryLogs": {"eventId", "status", "urlHash", "dashboardId", "from", "to"},
		"Subscribers":  {"dashboardId", "q", "state"},
		"Endpoints":    {"dashboardId", "urlHash", "state"},
	}[method]...) {
		query.Set(name, "x")
	}
	return query
}

// leftOut returns why no page calls an operation that reads, or nothing.
func leftOut(operation string) string {
	return map[string]string{
		"listNotes": "an event has its notes", "getPostMortem": "an event has its post-mortem", "listAliases": "the page of an import sends it through package transfer",
		"exportEvents": "the command export sends it",
	}[operation]
}

// reads returns the ids of the operations with one of the tags that read.
func (d document) reads(tags ...string) (ids []string) {
	paths, _ := d["paths"].(map[string]any)
	for _, item := range paths {
		operation := d.at(item, "get")
		if own, _ := d.at(operation, "tags").([]any); len(own) > 0 && slices.Contains(tags, fmt.Sprint(own[0])) {
			ids = append(ids, fmt.Sprint(d.at(operation, "operationId")))
		}
	}
	return ids
}

func (d document) responseSchema(operation any) any {
	for _, status := range []string{"200", "201", "202"} {
		if schema := d.at(operation, "responses", status, "content", "application/json", "schema"); schema != nil {
			return schema
		}
	}
	return nil
}

// filled returns a value of the type with something in every field.
func filled(of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	switch of {
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{}`))
		return v
	case reflect.TypeFor[url.Values]():
		return v
	case reflect.TypeFor[Channel]():
		v.SetString(string(Email)) // the operations of the other channels have the same declarations
		return v
	case reflect.TypeFor[EndpointKind]():
		v.SetString(string(Webhook)) // as for Channel
		return v
	case reflect.TypeFor[Service]():
		v.SetString(identity) // as for Channel
		return v
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
		return v
	}
	switch of.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(filled(of.Elem()).Addr())
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(of.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(reflect.ValueOf("x"), filled(of.Elem()))
	case reflect.Struct:
		for i := range of.NumField() {
			v.Field(i).Set(filled(of.Field(i).Type))
		}
	default:
		panic("no value for " + of.String())
	}
	return v
}

func (d document) checkQuery(t *testing.T, operation any, query url.Values) {
	t.Helper()
	var declared []string
	list, _ := d.at(operation, "parameters").([]any)
	for _, parameter := range list {
		if d.at(parameter, "in") == "query" {
			declared = append(declared, d.at(parameter, "name").(string))
		}
	}
	for name := range query {
		if !slices.Contains(declared, name) {
			t.Errorf("the query parameter %s is not declared", name)
		}
	}
}

// properties returns the properties of an object's schema, also those of the parts of allOf.
func (d document) properties(schema any) map[string]any {
	all := map[string]any{}
	parts, _ := d.at(schema, "allOf").([]any)
	for _, part := range parts {
		for name, property := range d.properties(part) {
			all[name] = property
		}
	}
	own, _ := d.at(schema, "properties").(map[string]any)
	for name, property := range own {
		all[name] = property
	}
	return all
}

// kinds returns the JSON types that a schema allows. A schema that allows everything has none.
func (d document) kinds(schema any) []string {
	var kinds []string
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		parts, _ := d.at(schema, key).([]any)
		for _, part := range parts {
			kinds = append(kinds, d.kinds(part)...)
		}
	}
	switch declared := d.at(schema, "type").(type) {
	case string:
		kinds = append(kinds, declared)
	case []any:
		for _, one := range declared {
			kinds = append(kinds, fmt.Sprint(one))
		}
	}
	return kinds
}

// narrowed returns the alternative of a schema that is not null. If there are several, it prefers an object.
func (d document) narrowed(schema any) any {
	for _, key := range []string{"anyOf", "oneOf"} {
		parts, _ := d.at(schema, key).([]any)
		for _, part := range slices.SortedStableFunc(slices.Values(parts), func(a, b any) int {
			return len(d.properties(b)) - len(d.properties(a))
		}) {
			if kinds := d.kinds(part); !slices.Equal(kinds, []string{"null"}) {
				return d.narrowed(part)
			}
		}
	}
	return d.resolve(schema)
}

// checkValue compares a body with its schema.
func (d document) checkValue(t *testing.T, path string, schema, value any) {
	t.Helper()
	schema = d.narrowed(schema)
	kind := ""
	switch value := value.(type) {
	case map[string]any:
		kind = "object"
		properties := d.properties(schema)
		if len(properties) == 0 && d.at(schema, "additionalProperties") != nil {
			break
		}
		for name, member := range value {
			property, declared := properties[name]
			if !declared && (len(properties) > 0 || !isFree(d, schema)) {
				t.Errorf("%s.%s is not declared", path, name)
			} else if declared {
				d.checkValue(t, path+"."+name, property, member)
			}
		}
		required, _ := d.at(schema, "required").([]any)
		for _, name := range required {
			if _, has := value[fmt.Sprint(name)]; !has {
				t.Errorf("%s.%s is required", path, name)
			}
		}
	case []any:
		kind = "array"
		for _, item := range value {
			d.checkValue(t, path+"[]", d.at(schema, "items"), item)
		}
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	case float64:
		if kind = "integer"; value != math.Trunc(value) {
			kind = "number"
		}
	}
	if kinds := d.kinds(schema); len(kinds) > 0 && !slices.Contains(kinds, kind) {
		t.Errorf("%s is %s, and declared as %v", path, kind, kinds)
	}
}

// isFree reports whether a schema says nothing of the members of an object.
func isFree(d document, schema any) bool {
	object, _ := d.resolve(schema).(map[string]any)
	_, closed := object["additionalProperties"]
	return !closed
}

// checkType compares a type that decodes a response with its schema.
func (d document) checkType(t *testing.T, path string, schema any, of reflect.Type) {
	t.Helper()
	nullable := slices.Contains(d.kinds(schema), "null")
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
		nullable = false
	}
	if zeroIsNull := of.Kind() == reflect.String || of.Kind() == reflect.Slice || of.Kind() == reflect.Map; nullable && !zeroIsNull && of != reflect.TypeFor[json.RawMessage]() {
		t.Errorf("%s may be null, and %s cannot", path, of)
	}
	schema = d.narrowed(schema)
	want := ""
	switch {
	case of == reflect.TypeFor[json.RawMessage](), of.Kind() == reflect.Interface:
		return
	case of == reflect.TypeFor[time.Time](), of.Kind() == reflect.String:
		want = "string"
	case of.Kind() == reflect.Bool:
		want = "boolean"
	case of.Kind() == reflect.Int, of.Kind() == reflect.Int64:
		want = "integer"
	case of.Kind() == reflect.Float64:
		want = "number"
	case of.Kind() == reflect.Slice:
		want = "array"
		d.checkType(t, path+"[]", d.at(schema, "items"), of.Elem())
	case of.Kind() == reflect.Map:
		want = "object"
	case of.Kind() == reflect.Struct:
		want = "object"
		properties := d.properties(schema)
		for i := range of.NumField() {
			if of.Field(i).Anonymous {
				d.checkType(t, path, schema, of.Field(i).Type)
				continue
			}
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			property, declared := properties[name]
			if !declared {
				t.Errorf("%s.%s is not declared", path, name)
				continue
			}
			d.checkType(t, path+"."+name, property, of.Field(i).Type)
		}
	}
	if kinds := d.kinds(schema); len(kinds) > 0 && !slices.Contains(kinds, want) {
		t.Errorf("%s is read as %s, and declared as %v", path, want, kinds)
	}
}

func TestACallCarriesThePassportOfTheMember(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	signer := passport.NewSigner(strings.Repeat("s", 32), func() time.Time { return now })
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	client := New(map[string]string{identity: server.URL}, signer, boot.Process{Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{}})
	member := passport.Passport{Audience: "console", Surface: passport.Console, Organization: "o", User: "u", Session: "s", IP: "192.0.2.1", Roles: []string{"admin"}, Expires: now.Add(5 * time.Second).UnixMilli()}
	if _, err := client.For(member, http.Header{"X-Request-Id": {"r-1"}, "User-Agent": {"browser"}}).ChangeUser(t.Context(), "a/b", 7, UserChange{}); err != nil {
		t.Fatal(err)
	}
	got, err := signer.Verify(header.Get(passport.Header), identity)
	want := member
	want.Audience, want.Surface, want.Caller = identity, passport.App, "console"
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the passport is %+v, %v", got, err)
	}
	if header.Get("X-Request-Id") != "r-1" || header.Get("User-Agent") != "browser" || header.Get("If-Match") != `"7"` {
		t.Errorf("the headers are %v", header)
	}
}

// answers returns a Caller whose service sends these responses, one after the other, and the number of its requests.
func answers(t *testing.T, statuses ...int) (*Caller, *int) {
	t.Helper()
	count := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := statuses[min(count, len(statuses)-1)]
		count++
		switch status {
		case http.StatusForbidden:
			w.Header().Set("Bellbuoy-Sign-In", "again")
		case http.StatusTooManyRequests:
			w.Header().Set("Retry-After", "90")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, map[bool]string{true: `{}`, false: `{"error": "preferences.timeZone: must be a time zone."}`}[status < 400])
	}))
	t.Cleanup(server.Close)
	signer := passport.NewSigner(strings.Repeat("s", 32), time.Now)
	client := New(map[string]string{identity: server.URL}, signer, boot.Process{Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{}})
	return client.For(passport.Passport{}, http.Header{}), &count
}

func TestOnlyAGetIsRepeatedAndOnlyOnce(t *testing.T) {
	read := func(c *Caller, ctx context.Context) error { _, err := c.Profile(ctx); return err }
	write := func(c *Caller, ctx context.Context) error { _, err := c.NewTOTP(ctx); return err }
	for _, row := range []struct {
		name     string
		call     func(*Caller, context.Context) error
		statuses []int
		want     int
		fails    bool
	}{
		{"a GET that fails once", read, []int{503, 200}, 2, false},
		{"a GET that fails always", read, []int{503}, 2, true},
		{"a GET that is refused", read, []int{404}, 1, true},
		{"a POST that fails", write, []int{503, 200}, 1, true},
	} {
		caller, count := answers(t, row.statuses...)
		if err := row.call(caller, t.Context()); *count != row.want || (err != nil) != row.fails {
			t.Errorf("%s: %d requests, %v", row.name, *count, err)
		}
	}
}

func TestAnErrorNamesNoAddress(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	client := New(map[string]string{subscribers: server.URL}, passport.NewSigner(strings.Repeat("s", 32), time.Now), boot.Process{Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{}})
	_, err := client.For(passport.Passport{}, http.Header{}).Subscribers(t.Context(), Email, url.Values{"q": {"ann@example.com"}, "nextToken": {"token"}})
	if !As(err).Unavailable() || !strings.Contains(err.Error(), "connect") {
		t.Errorf("the error is %v", err)
	}
	for _, text := range []string{"@", "token", "/app/"} {
		if strings.Contains(err.Error(), text) {
			t.Errorf("the error contains %q: %v", text, err)
		}
	}
}

func TestAnErrorNamesMemberAgainAndWait(t *testing.T) {
	for status, want := range map[int]Error{
		400: {Status: 400, Service: identity, Field: "preferences.timeZone", Message: "must be a time zone."},
		403: {Status: 403, Service: identity, Field: "preferences.timeZone", Message: "must be a time zone.", Again: true},
		429: {Status: 429, Service: identity, Field: "preferences.timeZone", Message: "must be a time zone.", Wait: 90 * time.Second},
	} {
		caller, _ := answers(t, status)
		if _, err := caller.Profile(t.Context()); As(err) == nil || *As(err) != want {
			t.Errorf("%d: %+v", status, err)
		}
	}
}
