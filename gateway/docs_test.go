package gateway

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/goccy/go-yaml"
)

// documents are the documents' paths by the surface they are of.
func documents() map[passport.Surface]string {
	return map[passport.Surface]string{
		passport.Legacy: legacyDocument, passport.App: appDocument, passport.Public: publicDocument,
	}
}

// object is a mapping of a document, as YAML has it.
type object = map[string]any

func readDocument(t *testing.T, path string) (string, object) {
	t.Helper()
	text, err := interfaceFiles.ReadFile(strings.TrimPrefix(path, "/"))
	if err != nil {
		t.Fatal(err)
	}
	var document object
	if err := yaml.UnmarshalWithOptions(text, &document, yaml.Strict()); err != nil { // a key twice is an error
		t.Fatal(err)
	}
	return string(text), document
}

// under walks down a document; nil when there is nothing at the end.
func under(in any, names ...string) any {
	for _, name := range names {
		of, _ := in.(object)
		in = of[name]
	}
	return in
}

func TestDocumentsSayWhatTheRouteTableSays(t *testing.T) {
	want, got := map[string][]string{}, map[string][]string{}
	for _, route := range Routes() {
		document, has := documents()[route.Surface]
		for _, method := range route.Methods {
			if has {
				want[document] = append(want[document], method+" "+route.Path+" "+string(route.Auth))
			}
		}
	}
	auth := map[string]string{"apiKey": string(AuthAPIKey), "key": string(AuthBearer)}
	for _, path := range documents() {
		_, document := readDocument(t, path)
		for template, item := range under(document, "paths").(object) {
			for method, operation := range item.(object) {
				if method == "parameters" {
					continue
				}
				security, own := under(operation, "security").([]any)
				if !own {
					security, _ = document["security"].([]any)
				}
				asked := string(AuthNone)
				for _, one := range security {
					for name := range one.(object) {
						asked = auth[name]
					}
				}
				got[path] = append(got[path], strings.ToUpper(method)+" "+template+" "+asked)
			}
		}
	}
	for path, rows := range want {
		for _, row := range rows {
			if !slices.Contains(got[path], row) {
				t.Errorf("%s does not have the route %s", path, row)
			}
		}
		for _, row := range got[path] {
			if !slices.Contains(rows, row) {
				t.Errorf("%s has %s, which is no route", path, row)
			}
		}
	}
}

// TestDocumentsAreOpenAPI holds the documents to what OpenAPI 3.1 asks for and a
// reader of them relies on: references lead somewhere, path parameters are declared,
// operations have an id of their own and answers, schemas' types exist.
func TestDocumentsAreOpenAPI(t *testing.T) {
	for _, path := range documents() {
		t.Run(path, func(t *testing.T) {
			text, document := readDocument(t, path)
			if document["openapi"] != "3.1.0" || under(document, "info", "title") == nil || under(document, "info", "version") == nil {
				t.Error("the head is incomplete")
			}
			check := checker{t: t, document: document, ids: map[string]bool{}}
			check.references(text)
			check.values(document, "")
			for template, item := range under(document, "paths").(object) {
				check.path(template, item.(object))
			}
		})
	}
}

type checker struct {
	t        *testing.T
	document object
	ids      map[string]bool
}

// references are all followed, and all that is shared is referred to.
func (c checker) references(text string) {
	referred := map[string]bool{}
	for _, match := range regexp.MustCompile(`\$ref: '#/([^']+)'`).FindAllStringSubmatch(text, -1) {
		referred[match[1]] = true
		if under(c.document, strings.Split(match[1], "/")...) == nil {
			c.t.Errorf("%s leads nowhere", match[1])
		}
	}
	if strings.Count(text, "$ref") != strings.Count(text, "$ref: '#/components/") {
		c.t.Error("a reference has another form")
	}
	for kind, shared := range under(c.document, "components").(object) {
		for name := range shared.(object) {
			if kind != "securitySchemes" && !referred["components/"+kind+"/"+name] {
				c.t.Errorf("nothing refers to components/%s/%s", kind, name)
			}
		}
	}
}

func (c checker) path(template string, item object) {
	shared, _ := item["parameters"].([]any)
	for method, operation := range item {
		if method == "parameters" {
			continue
		}
		name := method + " " + template
		id, _ := under(operation, "operationId").(string)
		if id == "" || c.ids[id] {
			c.t.Errorf("%s: its operationId %q is missing or another's too", name, id)
		}
		c.ids[id] = true
		if under(operation, "summary") == nil {
			c.t.Errorf("%s has no summary", name)
		}
		c.tags(name, operation)
		c.responses(name, under(operation, "responses"))
		own, _ := under(operation, "parameters").([]any)
		c.parameters(name, template, slices.Concat(shared, own))
	}
}

func (c checker) tags(name string, operation any) {
	declared, _ := c.document["tags"].([]any)
	used, _ := under(operation, "tags").([]any)
	for _, tag := range used {
		if !slices.ContainsFunc(declared, func(one any) bool { return under(one, "name") == tag }) {
			c.t.Errorf("%s: the tag %v is not declared", name, tag)
		}
	}
	if len(used) != 1 {
		c.t.Errorf("%s has %d tags", name, len(used))
	}
}

func (c checker) responses(name string, responses any) {
	all, _ := responses.(object)
	success := 0
	for status, answer := range all {
		if under(c.followed(answer), "description") == nil {
			c.t.Errorf("%s: %s has no description", name, status)
		}
		if strings.HasPrefix(status, "2") {
			success++
		}
	}
	if success != 1 || all["405"] == nil {
		c.t.Errorf("%s answers %v", name, slices.Sorted(maps.Keys(all)))
	}
}

// parameters in the path are declared once, and only those it has.
func (c checker) parameters(name, template string, parameters []any) {
	var declared []string
	for _, parameter := range parameters {
		parameter = c.followed(parameter)
		in := fmt.Sprint(under(parameter, "in"))
		if !slices.Contains([]string{"path", "query", "header"}, in) || under(parameter, "schema") == nil {
			c.t.Errorf("%s: a parameter is incomplete: %v", name, parameter)
		}
		if in == "path" {
			declared = append(declared, fmt.Sprintf("{%s}", under(parameter, "name")))
			if under(parameter, "required") != true {
				c.t.Errorf("%s: %v must be required", name, under(parameter, "name"))
			}
		}
	}
	if has := regexp.MustCompile(`\{[^}]+\}`).FindAllString(template, -1); !slices.Equal(has, declared) {
		c.t.Errorf("%s declares %v", name, declared)
	}
}

func (c checker) followed(of any) any {
	if ref, ok := under(of, "$ref").(string); ok {
		return under(c.document, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return of
}

// values are checked wherever a schema is: its types exist, and what it requires it has.
func (c checker) values(in any, at string) {
	switch in := in.(type) {
	case []any:
		for _, one := range in {
			c.values(one, at)
		}
	case object:
		if strings.HasSuffix(at, "/schema") || strings.HasPrefix(at, "/components/schemas/") && strings.Count(at, "/") == 3 {
			c.schema(in, at)
		}
		for name, one := range in {
			c.values(one, at+"/"+name)
		}
	}
}

func (c checker) schema(schema object, at string) {
	if at == "/components/schemas/Resource/properties/schema" {
		return
	}
	types, many := schema["type"].([]any)
	if !many && schema["type"] != nil {
		types = []any{schema["type"]}
	}
	for _, name := range types {
		if !slices.Contains([]any{"object", "array", "string", "integer", "number", "boolean", "null"}, name) {
			c.t.Errorf("%s: there is no type %v", at, name)
		}
	}
	properties, required := object{}, []any{}
	c.gather(schema, properties, &required)
	for _, name := range required {
		if properties[name.(string)] == nil {
			c.t.Errorf("%s requires %v, which it does not have", at, name)
		}
	}
	for name, one := range properties {
		c.schema(one.(object), at+"."+name)
	}
}

func (c checker) gather(schema object, properties object, required *[]any) {
	parts, _ := schema["allOf"].([]any)
	for _, part := range parts {
		c.gather(c.followed(part).(object), properties, required)
	}
	own, _ := schema["properties"].(object)
	maps.Copy(properties, own)
	names, _ := schema["required"].([]any)
	*required = append(*required, names...)
}

func TestDocumentsAreServed(t *testing.T) {
	d := newWorld(t).gateway(t, nil)
	for path, mediaType := range map[string]string{
		legacyDocument: "application/yaml", appDocument: "application/yaml", publicDocument: "application/yaml",
		docsPath: "text/html; charset=utf-8",
	} {
		t.Run(path, func(t *testing.T) {
			g := d.do(t, http.MethodGet, path, "", nil)
			wantStatus(t, g, http.StatusOK)
			etag := g.header.Get("ETag")
			if g.header.Get("Content-Type") != mediaType || !strings.HasPrefix(etag, `"`) || g.header.Get("Cache-Control") == "" ||
				!strings.HasPrefix(g.header.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("header %v", g.header)
			}
			wantStatus(t, d.do(t, http.MethodGet, path, "", map[string]string{"If-None-Match": etag}), http.StatusNotModified)
			if head := d.do(t, http.MethodHead, path, "", nil); head.status != http.StatusOK || len(head.body) != 0 || head.header.Get("ETag") != etag {
				t.Errorf("HEAD: %d %v", head.status, head.header)
			}
			if post := d.do(t, http.MethodPost, path, "{}", nil); post.status != http.StatusMethodNotAllowed || post.header.Get("Allow") != "GET" {
				t.Errorf("POST: %d %v", post.status, post.header)
			}
		})
	}
}

func TestThePageShowsEveryOperationAndItsLinksLeadSomewhere(t *testing.T) {
	docs, err := newDocs()
	if err != nil {
		t.Fatal(err)
	}
	page := string(docs[docsPath].body)
	for _, route := range Routes() {
		if _, shown := documents()[route.Surface]; !shown {
			continue
		}
		for _, method := range route.Methods {
			if !strings.Contains(page, fmt.Sprintf(`<span class="method">%s</span> <code>%s</code>`, method, route.Path)) {
				t.Errorf("%s %s is not shown", method, route.Path)
			}
		}
	}
	for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if strings.Count(page, `id="`+link[1]+`"`) != 1 {
			t.Errorf("the link #%s leads to %d places", link[1], strings.Count(page, `id="`+link[1]+`"`))
		}
	}
	if regexp.MustCompile(`<script|<link|src=|@import|ZgotmplZ`).MatchString(page) {
		t.Error("the page is not self-contained")
	}
}
