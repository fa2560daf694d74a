package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/declared"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestDocumentsAreCurrent(t *testing.T) {
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		if !bytes.Equal(current(t, name), want) {
			t.Errorf("%s/%s is not what the services declare; run make generate and commit the result", folder, name)
		}
	}
}

// current returns a document of the repository. TestDocumentsAreCurrent compares each with the generated one.
func current(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The rows have the service of the operation, whether it takes an Idempotency-Key or a token, and the values of the last
// segment of a public path. A document whose rows would contradict each other, or belong to another surface, is refused.
func TestRoutesComeFromTheDocument(t *testing.T) {
	d := newDocument()
	d.add(operation{path: "/app/b/{id}", method: "PATCH", service: "events", parameters: []any{d.parameter("Key", idempotencyKey)}})
	d.add(operation{path: "/app/b/{id}", method: "GET", service: "events", parameters: []any{object{{"name", "Idempotency-Key"}, {"in", "query"}}}})
	d.add(operation{path: "/app/a/{kind}", method: "POST", service: "identity", token: true,
		parameters: []any{object{{"name", "kind"}, {"in", "path"}, {"schema", object{{"enum", []string{"x", "y"}}}}}}})
	rows := func(base string, surface passport.Surface) string {
		text, err := d.write("", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := routesOf(text, base, surface)
		if err != nil {
			return err.Error()
		}
		return strings.Trim(fmt.Sprint(rows), "[]")
	}
	is := func(base string, surface passport.Surface, want string) {
		t.Helper()
		if got := rows(base, surface); !strings.Contains(got, want) {
			t.Errorf("%s %s: %s, want %s", base, surface, got, want)
		}
	}
	is("/app/", passport.App, "{[POST] /app/a/{kind} identity app false false 0 [] <nil>} {[GET] /app/b/{id} events app false false 0 [] <nil>} {[PATCH] /app/b/{id} events app true false 0 [] <nil>}")
	is("/", passport.Public, "{[POST] /app/a/{kind} identity public false true 0 [x y] <nil>}")
	is("/operator/v1/", passport.Operator, "the path /app/a/{kind} must start with /operator/v1/")
	d.add(operation{path: "/app/b/{name}", method: "GET", service: "events"})
	is("/app/", passport.App, "the paths /app/b/{id} and /app/b/{name} differ only in the names of parameters")
}

// Every example in a served document is valid for its schema.
func TestExamplesFitTheirSchemas(t *testing.T) {
	checked := 0
	for _, name := range []string{"app.yaml", "operator.yaml", "legacy.yaml", "public.yaml"} {
		converted, err := yaml.YAMLToJSON(current(t, name))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(converted))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		compiler.DefaultDraft(jsonschema.Draft2020)
		compiler.AssertFormat()
		if err := compiler.AddResource(name, document); err != nil {
			t.Fatal(err)
		}
		walk(document, "", func(pointer string, media map[string]any) {
			example, has := media["example"]
			if !has {
				return
			}
			checked++
			schema, err := compiler.Compile(name + "#" + pointer + "/schema")
			if err != nil {
				t.Fatalf("%s%s: %v", name, pointer, err)
			}
			if err := schema.Validate(example); err != nil {
				t.Errorf("%s%s: %v", name, pointer, err)
			}
		})
	}
	if checked == 0 {
		t.Error("no document has an example")
	}
}

// walk calls visit for each media type of every request body and response.
func walk(value any, pointer string, visit func(pointer string, media map[string]any)) {
	object, is := value.(map[string]any)
	if !is {
		return
	}
	if _, is := object["schema"].(map[string]any); is && strings.HasSuffix(pointer, "application~1json") {
		visit(pointer, object)
	}
	for name, inner := range object {
		walk(inner, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), visit)
	}
}

// Every read has an example of its response.
func TestOperationsHaveExamples(t *testing.T) {
	for _, operation := range declared.Operations() {
		if operation.Status != http.StatusNoContent && operation.Example.Response == "" {
			t.Errorf("%s %s has no example of a response", operation.Method, operation.Path)
		}
		if (operation.Method == "PATCH" || operation.Method == "PUT" || operation.Method == "POST" && !operation.BodyOptional) &&
			operation.Example.Request == "" && operation.Body.Name() != "None" {
			t.Errorf("%s %s has no example of a request", operation.Method, operation.Path)
		}
	}
}

// In the App and the operator interface, a list in a request may not be null, and no response has null for a list. The
// only exception is the components of a subscriber, where null means all components.
func TestListsAreNeverNull(t *testing.T) {
	for _, name := range []string{"app.yaml", "operator.yaml"} {
		var document any
		if err := yaml.Unmarshal(current(t, name), &document); err != nil {
			t.Fatal(err)
		}
		var check func(path string, value any)
		check = func(path string, value any) {
			object, _ := value.(map[string]any)
			for member, inner := range object {
				check(path+"/"+member, inner)
			}
			if types, is := object["type"].([]any); is && slices.Contains(types, any("array")) && !strings.HasSuffix(path, "/componentIds") {
				t.Errorf("%s%s: the type is %v", name, path, types)
			}
		}
		check("", document)
	}
}
