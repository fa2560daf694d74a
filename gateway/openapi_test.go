package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

const takesKey = "    parameters:\n      - {name: Idempotency-Key, in: header, schema: {type: string}}\n"

// operation returns the text of an operation in a document.
func operation(method, service string, more ...string) string {
	text := "    " + method + ":\n      operationId: x\n      x-service: " + service + "\n"
	for _, lines := range more {
		text += strings.ReplaceAll("  "+strings.TrimSuffix(lines, "\n"), "\n", "\n  ") + "\n"
	}
	return text
}

// withDocuments returns an App document with the paths, together with the other embedded documents.
func withDocuments(t *testing.T, paths string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"openapi/operator.yaml", "openapi/public.yaml"} {
		text, err := documents.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	app := "openapi: 3.1.0\npaths:\n" + paths + "components:\n  parameters:\n    Key: {name: idempotency-key, in: header}\n    Other: {name: Other, in: header}\n"
	files["openapi/app.yaml"] = &fstest.MapFile{Data: []byte(app)}
	return files
}

func TestRowsComeFromTheDocument(t *testing.T) {
	table, err := routes(withDocuments(t, "  /app/a/{id}:\n"+operation("delete", "events", takesKey)+operation("get", "events")+
		"  /app/b:\n"+operation("post", "identity", "    parameters:\n      - {$ref: '#/components/parameters/Other'}\n      - {$ref: '#/components/parameters/Key'}\n")+
		operation("patch", "subscribers", "    parameters:\n      - {$ref: '#/components/parameters/Other'}\n      - {name: Idempotency-Key, in: query}\n")+
		"  /app/c:\n"+takesKey+operation("put", "integrations")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range table {
		if row.Surface == passport.App {
			got = append(got, fmt.Sprint(row.Methods, row.Path, " ", row.Service, " ", row.Surface, " ", row.Idempotent))
		}
	}
	want := "[GET]/app/a/{id} events app false\n[DELETE]/app/a/{id} events app true\n[POST]/app/b identity app true\n" +
		"[PATCH]/app/b subscribers app false\n[PUT]/app/c integrations app true"
	if strings.Join(got, "\n") != want {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

func TestAWrongDocumentIsRefused(t *testing.T) {
	for name, row := range map[string]struct{ paths, message string }{
		"unknown service": {"  /app/a:\n" + operation("get", "billing"),
			`route table: /openapi/app.yaml: GET /app/a: x-service must be one of identity, events, subscribers, integrations, delivery, not "billing"`},
		"no service": {"  /app/a:\n    get: {operationId: x}\n",
			`route table: /openapi/app.yaml: GET /app/a: x-service must be one of identity, events, subscribers, integrations, delivery, not ""`},
		"another surface": {"  /operator/v1/a:\n" + operation("get", "events"),
			"route table: /openapi/app.yaml: the path /operator/v1/a must start with /app/"},
		"no surface": {"  /application:\n" + operation("get", "events"),
			"route table: /openapi/app.yaml: the path /application must start with /app/"},
		"same path": {"  /app/a:\n" + operation("get", "events") + "  /app/a:\n" + operation("post", "events"),
			`route table: /openapi/app.yaml: yaml: unmarshal errors: line 7: mapping key "/app/a" already defined at line 3`},
		"same path with another parameter": {"  /app/a/{id}:\n" + operation("get", "events") + "  /app/a/{name}:\n" + operation("get", "events"),
			"route table: /openapi/app.yaml: the path /app/a/{name} is declared twice, with other names of parameters"},
		"same method": {"  /app/a:\n" + operation("get", "events") + operation("get", "events"),
			`route table: /openapi/app.yaml: yaml: unmarshal errors: line 7: mapping key "get" already defined at line 4`},
		"no YAML": {"  - [\n", "route table: /openapi/app.yaml: yaml: line 2: did not find expected ',' or ']'"},
	} {
		_, err := routes(withDocuments(t, row.paths))
		if err == nil || err.Error() != row.message {
			t.Errorf("%s: %v\nwant %s", name, err, row.message)
		}
	}
	if _, err := routes(fstest.MapFS{}); err == nil || err.Error() != "route table: open openapi/public.yaml: file does not exist" {
		t.Errorf("no document: %v", err)
	}
}

// If an operation does not declare the header Idempotency-Key, it ignores the header.
func TestOnlyOperationsThatDeclareTheHeaderAreIdempotent(t *testing.T) {
	w := newWorld(t)
	c := w.config(t, io.Discard)
	defer c.Listener.Close()
	edge, err := newEdge(c)
	if err != nil {
		t.Fatal(err)
	}
	files := withDocuments(t, "  /app/once:\n"+operation("post", "events", takesKey)+"  /app/often:\n"+operation("post", "events"))
	files["openapi/operator.yaml"].Data = []byte("paths:\n  /operator/v1/once:\n" + operation("post", "events", takesKey) + "  /operator/v1/often:\n" + operation("post", "events"))
	table, err := routes(files)
	if err != nil {
		t.Fatal(err)
	}
	edge.router = newRouter(table, edge.router.isPlatformHost)
	server := httptest.NewServer(edge)
	defer server.Close()
	d := &door{base: server.URL, http: w.client}
	for base, authorization := range map[string]string{"/app/": w.keys.member(nil).bearer(), "/operator/v1/": "Operator " + operatorToken} {
		for name, want := range map[string]int64{"once": 1, "often": 2} {
			done := writes(w.services[events], http.StatusCreated)
			for range 2 {
				wantStatus(t, d.do(t, "POST", base+name, "{}", map[string]string{"Authorization": authorization, "Idempotency-Key": name}), 201)
			}
			if done.Load() != want {
				t.Errorf("%s%s: written %d times, want %d", base, name, done.Load(), want)
			}
		}
	}
}
