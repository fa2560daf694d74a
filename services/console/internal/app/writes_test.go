package app

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// withoutForm returns why no form of the console sends an operation that writes, or a member of its body: "operation" or
// "operation member".
func withoutForm() map[string]string {
	reasons := map[string]string{
		"createEvent externalId": "the tools that report events set it", "changeEvent externalId": "the tools that report events set it",
		"importEvents": "the page of an import sends it through package transfer", "undoEventImport": "the page of an import sends it through package transfer",
		"createComponent position": "dashboards have the order", "changeComponent position": "dashboards have the order",
	}
	for _, operation := range []string{"createDashboard", "previewDashboard", "replaceDashboardComponents"} {
		reasons[operation+" components.position"] = "the order of the array decides"
	}
	for _, operation := range []string{"setAliases", "deleteAliases"} {
		reasons[operation] = "an import sets aliases"
	}
	for _, channel := range []string{"Email", "SMS", "WhatsApp"} {
		for _, member := range []string{"state", "confirmedAt"} {
			reasons["import"+channel+"Subscribers rows."+member] = "an import of another page sets it"
		}
	}
	for _, kind := range []string{"Webhook", "Teams", "Gchat", "Slack", "Discord"} {
		reasons["delete"+kind+"Endpoint url"] = "urlHash names the endpoint"
		reasons["clear"+kind+"Suppression url"] = "urlHash names the URL"
	}
	return reasons
}

// Whatever the App interface can change, a member can change with a form: each operation that writes is called by a method of
// Caller that a page uses, with each member of its body, from a field that a page sets.
func TestEveryWriteOfTheAppInterfaceHasAForm(t *testing.T) {
	d := readDocument(t)
	missing := map[string]bool{} // operations and members that no call sends
	paths, _ := d["paths"].(map[string]any)
	for _, item := range paths {
		for method, operation := range item.(map[string]any) {
			if !slices.Contains([]string{"post", "put", "patch", "delete"}, method) {
				continue
			}
			id := fmt.Sprint(d.at(operation, "operationId"))
			missing[id] = true
			for _, member := range d.members(d.at(operation, "requestBody", "content", "application/json", "schema"), "") {
				missing[id+" "+member] = true
			}
		}
	}
	if len(missing) < 90 {
		t.Fatalf("the document has only %d writes", len(missing))
	}
	called, set := usedByPages(t)
	for _, sent := range everyCall(t) {
		operation := d.operation(sent.method, sent.path)
		id := fmt.Sprint(d.at(operation, "operationId"))
		if !missing[id] && sent.method == http.MethodGet || operation == nil {
			continue
		}
		if !called[sent.by] {
			t.Errorf("no page calls %s", sent.by)
			continue
		}
		delete(missing, id)
		var body any
		_ = json.Unmarshal(sent.body, &body) // a call without a body sends no member
		for _, member := range sentMembers(body, "") {
			delete(missing, id+" "+member)
		}
		for _, name := range sent.fields {
			if !set[name] {
				t.Errorf("no page sets the field %s, which %s sends", name, sent.by)
			}
		}
	}
	reasons := withoutForm()
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		id, _, _ := strings.Cut(name, " ")
		if reasons[name] == "" && (name == id || !missing[id]) {
			t.Errorf("no form sends %s. Add it to a form, or state in withoutForm why not.", name)
		}
	}
	for name := range reasons {
		if !missing[name] {
			t.Errorf("%s has a form or does not exist: remove it from withoutForm", name)
		}
	}
}

// members returns the members of the bodies that a schema describes, as paths.
func (d document) members(schema any, under string) (all []string) {
	schema = d.narrowed(schema)
	if items := d.at(schema, "items"); items != nil {
		return d.members(items, under)
	}
	for name, property := range d.properties(schema) {
		all = append(append(all, under+name), d.members(property, under+name+".")...)
	}
	return all
}

// sentMembers returns the members of a body, as paths.
func sentMembers(body any, under string) (all []string) {
	switch body := body.(type) {
	case map[string]any:
		for name, value := range body {
			all = append(append(all, under+name), sentMembers(value, under+name+".")...)
		}
	case []any:
		for _, item := range body {
			all = append(all, sentMembers(item, under)...)
		}
	}
	return all
}

// sentCall is a call of a method of Caller, with the fields of its parameters.
type sentCall struct {
	exchange
	by     string
	fields []string
}

// everyCall calls every method of Caller, once for each channel and kind of endpoints.
func everyCall(t *testing.T) (calls []sentCall) {
	t.Helper()
	var sent exchange
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = exchange{r.Method, r.URL.Path, r.URL.Query(), body}
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	caller := reflect.ValueOf(New(map[string]string{identity: server.URL, events: server.URL, delivery: server.URL, subscribers: server.URL, integrations: server.URL},
		passport.NewSigner(strings.Repeat("s", 32), time.Now), boot.Process{Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{}}).For(passport.Passport{}, http.Header{}))
	for i := range caller.NumMethod() {
		method := caller.Type().Method(i)
		for n := range 5 { // at least as many as channels, and as kinds of endpoints
			in := []reflect.Value{reflect.ValueOf(t.Context())}
			var fields []string
			for at := 2; at < method.Type.NumIn(); at++ {
				value := filled(method.Type.In(at))
				switch value.Type() {
				case reflect.TypeFor[Channel]():
					value = reflect.ValueOf(AddressChannels()[min(n, 2)])
				case reflect.TypeFor[EndpointKind]():
					value = reflect.ValueOf([]EndpointKind{Webhook, Teams, GChat, Slack, Discord}[n])
				}
				in, fields = append(in, value), append(fields, fieldsOf(value.Type())...)
			}
			if out := caller.Method(i).Call(in); !out[1].IsNil() {
				t.Fatal(out[1].Interface())
			}
			calls = append(calls, sentCall{sent, method.Name, fields})
		}
	}
	return calls
}

// fieldsOf returns the names of the fields of a structure and of its parts.
func fieldsOf(of reflect.Type) (names []string) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return fieldsOf(of.Elem())
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() || of == reflect.TypeFor[url.Values]() {
			return nil
		}
		for i := range of.NumField() {
			if field := of.Field(i); !field.Anonymous {
				names = append(names, field.Name)
			}
			names = append(names, fieldsOf(of.Field(i).Type)...)
		}
	}
	return names
}

// usedByPages returns the names of methods that pages call, and of fields that pages set.
func usedByPages(t *testing.T) (called, set map[string]bool) {
	t.Helper()
	called, set = map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("../pages/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.SelectorExpr: // v.app.AddEvent(...), also without the call
				called[node.Sel.Name] = true
			case *ast.KeyValueExpr: // app.NewEvent{Title: ...}
				if key, is := node.Key.(*ast.Ident); is {
					set[key.Name] = true
				}
			case *ast.UnaryExpr: // &in.Title
				if field, is := node.X.(*ast.SelectorExpr); is && node.Op == token.AND {
					set[field.Sel.Name] = true
				}
			case *ast.AssignStmt: // in.Title = ...
				for _, left := range node.Lhs {
					if field, is := left.(*ast.SelectorExpr); is {
						set[field.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	return called, set
}

func TestTheConsoleHasEachKindOfEndpoints(t *testing.T) {
	for _, channel := range topic.ChannelsOf(topic.Integrations) {
		if !slices.Contains(EndpointKinds(), EndpointKind(channel)) {
			t.Errorf("EndpointKinds lacks %s", channel)
		}
	}
}
