package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"go.yaml.in/yaml/v3"
)

// documentsBySurface returns the paths of the documents.
func documentsBySurface() map[passport.Surface]string {
	return map[passport.Surface]string{
		passport.Legacy: legacyDocument, passport.App: appDocument, passport.Operator: operatorDocument, passport.Public: publicDocument,
	}
}

// object is a mapping in a document.
type object = map[string]any

func readDocument(t *testing.T, path string) object {
	t.Helper()
	text, err := documents.ReadFile(strings.TrimPrefix(path, "/"))
	if err != nil {
		t.Fatal(err)
	}
	var document object
	if err := yaml.Unmarshal(text, &document); err != nil { // a repeated key is an error
		t.Fatal(err)
	}
	return document
}

// under returns the value at a path of names, or nil.
func under(in any, names ...string) any {
	for _, name := range names {
		of, _ := in.(object)
		in = of[name]
	}
	return in
}

func TestDocumentsListTheRoutesOfTheTable(t *testing.T) {
	want, got := map[string][]string{}, map[string][]string{}
	for _, route := range Routes() {
		document, has := documentsBySurface()[route.Surface]
		if !has || strings.HasPrefix(route.Path, docsPath+"/") { // the documents do not list the files of the documentation page
			continue
		}
		key := route.Surface != passport.Public && route.Service != ""
		for _, method := range route.Methods {
			want[document] = append(want[document], fmt.Sprint(method, " ", route.Path, " key: ", key))
		}
	}
	for _, path := range documentsBySurface() {
		document := readDocument(t, path)
		for template, item := range under(document, "paths").(object) {
			for method, operation := range item.(object) {
				if method == "parameters" {
					continue
				}
				security, own := under(operation, "security").([]any)
				if !own {
					security, _ = document["security"].([]any)
				}
				got[path] = append(got[path], fmt.Sprint(strings.ToUpper(method), " ", template, " key: ", needsKey(security)))
			}
		}
	}
	for _, path := range documentsBySurface() {
		slices.Sort(want[path])
		slices.Sort(got[path])
		if !slices.Equal(got[path], want[path]) {
			t.Errorf("%s has\n%s\nthe table has\n%s", path, strings.Join(got[path], "\n"), strings.Join(want[path], "\n"))
		}
	}
}

// needsKey reports whether none of the alternatives is to send no credential.
func needsKey(security []any) bool {
	return len(security) > 0 && !slices.ContainsFunc(security, func(one any) bool { return len(one.(object)) == 0 })
}

// TestDocumentsAreOpenAPI checks rules of OpenAPI 3.1 on which readers of the documents rely: references have targets,
// path parameters are declared, operations have unique ids and have responses, and the types of schemas exist.
func TestDocumentsAreOpenAPI(t *testing.T) {
	for _, path := range documentsBySurface() {
		t.Run(path, func(t *testing.T) {
			document := readDocument(t, path)
			if document["openapi"] != "3.1.0" || under(document, "info", "title") == nil || under(document, "info", "version") == nil {
				t.Error("the head is incomplete")
			}
			check := checker{t: t, document: document, ids: map[string]bool{}}
			check.references()
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

// references checks that each reference has a target in components, and that each component is used.
func (c checker) references() {
	referred := map[string]bool{}
	eachReference(c.document, func(ref string) {
		referred[ref] = true
		if !strings.HasPrefix(ref, "#/components/") || c.followed(object{"$ref": ref}) == nil {
			c.t.Errorf("%s has no target in components", ref)
		}
	})
	for kind, shared := range under(c.document, "components").(object) {
		for name := range shared.(object) {
			if kind != "securitySchemes" && !referred["#/components/"+kind+"/"+name] {
				c.t.Errorf("nothing refers to components/%s/%s", kind, name)
			}
		}
	}
}

// eachReference calls visit for each $ref whose value is a string.
func eachReference(in any, visit func(ref string)) {
	switch in := in.(type) {
	case []any:
		for _, one := range in {
			eachReference(one, visit)
		}
	case object:
		if ref, ok := in["$ref"].(string); ok {
			visit(ref)
		}
		for _, one := range in {
			eachReference(one, visit)
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
			c.t.Errorf("%s: its operationId %q is missing or used twice", name, id)
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
	success, redirects := 0, all["302"] != nil || all["303"] != nil || all["308"] != nil
	for status, response := range all {
		if under(c.followed(response), "description") == nil {
			c.t.Errorf("%s: %s has no description", name, status)
		}
		if strings.HasPrefix(status, "2") {
			success++
		}
	}
	if success > 1 || success == 0 && !redirects || all["405"] == nil {
		c.t.Errorf("%s has the responses %v", name, slices.Sorted(maps.Keys(all)))
	}
}

// parameters checks that exactly the parameters in the path template are declared, each once.
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

// values checks each schema: its type exists, and it has each property that it requires.
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
			c.t.Errorf("%s requires %v, but does not have it", at, name)
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

// This policy proves that the documentation page makes no request to another host: the page may load files only from
// the gateway, and call only the gateway.
const wantDocsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' '%s'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docsStyleHash returns the hash for the policy: that of the only style element that the scripts of the page insert.
func docsStyleHash(t *testing.T, d *door) string {
	t.Helper()
	var styles []string
	for _, name := range []string{"/swagger-ui-bundle.js", "/swagger-ui-standalone-preset.js"} {
		for _, match := range regexp.MustCompile(`createElement\("style",null,"([^"\\]*)"`).FindAllStringSubmatch(d.get(t, docsPath+name, nil).body, -1) {
			styles = append(styles, match[1])
		}
	}
	if len(styles) != 1 {
		t.Fatalf("the scripts insert the styles %q", styles)
	}
	sum := sha256.Sum256([]byte(styles[0]))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func TestDocumentsAndTheirPageAreServed(t *testing.T) {
	d := newWorld(t).gateway(t, nil)
	rows, policy := map[string][2]string{}, fmt.Sprintf(wantDocsPolicy, docsStyleHash(t, d))
	for _, path := range documentsBySurface() {
		rows[path] = [2]string{"application/yaml", "default-src 'none'"}
	}
	rows[docsPath] = [2]string{"text/html; charset=utf-8", policy}
	for _, asset := range pageAssets(t, d.get(t, docsPath, nil).body) {
		mediaType := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".png": "image/png"}
		rows[asset] = [2]string{mediaType[filepath.Ext(asset)], policy}
	}
	if len(rows) != len(docsFiles()) {
		t.Errorf("the page names other files than are served: %v", rows)
	}
	for path, want := range rows {
		t.Run(path, func(t *testing.T) {
			g := d.get(t, path, map[string]string{"Accept-Encoding": "gzip"})
			wantStatus(t, g, http.StatusOK)
			etag := g.header.Get("ETag")
			if g.header.Get("Content-Type") != want[0] || g.header.Get("Content-Security-Policy") != want[1] || !strings.HasPrefix(etag, `"`) ||
				g.header.Get("Cache-Control") == "" || g.header.Get("X-Content-Type-Options") != "nosniff" || g.body == "" {
				t.Errorf("header %v", g.header)
			}
			wantStatus(t, d.do(t, http.MethodGet, path, "", map[string]string{"If-None-Match": etag, "Accept-Encoding": "gzip"}), http.StatusNotModified)
			if head := d.do(t, http.MethodHead, path, "", map[string]string{"Accept-Encoding": "gzip"}); head.status != http.StatusOK || len(head.body) != 0 || head.header.Get("ETag") != etag {
				t.Errorf("HEAD: %d %v", head.status, head.header)
			}
			post := d.do(t, http.MethodPost, path, "{}", nil)
			wantError(t, post, http.StatusMethodNotAllowed, noMethod)
			if post.header.Get("Allow") != "GET" {
				t.Errorf("Allow %q", post.header.Get("Allow"))
			}
		})
	}
}

// pageAssets returns the addresses in the HTML of the documentation page.
func pageAssets(t *testing.T, html string) []string {
	t.Helper()
	var assets []string
	for _, match := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if !strings.HasPrefix(match[1], docsPath+"/") {
			t.Errorf("the page refers to %s", match[1])
		}
		assets = append(assets, match[1])
	}
	return assets
}

// TestThePageNamesNoOtherHost does not check the scripts of Swagger UI. They contain addresses of XML namespaces and of
// projects, but the policy prevents requests to them.
func TestThePageNamesNoOtherHost(t *testing.T) {
	d := newWorld(t).gateway(t, nil)
	for _, path := range []string{docsPath, docsPath + "/start.js", docsPath + "/swagger-ui.css"} {
		g := d.get(t, path, nil) // the client decompresses the response
		wantStatus(t, g, http.StatusOK)
		for _, address := range regexp.MustCompile(`(?:https?:)?//[a-z0-9.-]+\.[a-z]+`).FindAllString(g.body, -1) {
			if !strings.HasSuffix(address, "//www.w3.org") { // the namespace of SVG
				t.Errorf("%s contains %s", path, address)
			}
		}
	}
	start := d.get(t, docsPath+"/start.js", nil).body
	for _, path := range documentsBySurface() {
		if strings.Count(start, fmt.Sprintf("url: %q", path)) != 1 {
			t.Errorf("the page does not offer %s", path)
		}
	}
}
