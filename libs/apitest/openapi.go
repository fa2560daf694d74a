package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// OpenAPI holds OpenAPI documents. ReadOpenAPI creates it.
type OpenAPI struct {
	paths    []path
	compile  *sync.Mutex // a compiler is not safe for concurrent use
	requests *jsonschema.Compiler
	// responses compiles copies of the documents in which objects may have documented members only.
	responses *jsonschema.Compiler
	schemas   map[string]map[string]any // by document and name
	members   members
}

type path struct {
	document, template string
	segments           []string
	operations         map[string]operation // by method in lower case
}

// operation contains what is needed to check the requests and responses of an operation.
type operation struct {
	at          string // location in the compilers: app.yaml#/paths/~1app~1users/get
	Parameters  []parameter
	RequestBody *struct {
		Required bool
		Content  map[string]any
	}
	Responses map[string]documented
}

type parameter struct {
	Name, In string
	Required bool
}

type documented struct {
	Headers map[string]struct{ Required bool } // by canonical name
	Content map[string]any
}

// ReadOpenAPI reads the documents in a folder.
func ReadOpenAPI(t testing.TB, folder string) *OpenAPI {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no OpenAPI document in %s (%v)", folder, err)
	}
	o := &OpenAPI{compile: &sync.Mutex{}, requests: newCompiler(), responses: newCompiler(), schemas: map[string]map[string]any{}}
	for _, file := range files {
		if err := o.read(file); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	// A literal segment has priority over a parameter. Letters sort before the brace that begins a parameter.
	slices.SortFunc(o.paths, func(a, b path) int { return slices.Compare(a.segments, b.segments) })
	return o
}

func newCompiler() *jsonschema.Compiler {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	return compiler
}

func (o *OpenAPI) read(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return err
	}
	name := filepath.Base(file)
	for _, compiler := range []*jsonschema.Compiler{o.requests, o.responses} {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		resolve(document, document.(map[string]any))
		if compiler == o.responses {
			closeObjects(document)
		}
		if err := compiler.AddResource(name, document); err != nil {
			return err
		}
		if text, err = json.Marshal(document); err != nil {
			return err
		}
	}
	var document struct {
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	o.schemas[name] = document.Components.Schemas
	for template, operations := range document.Paths {
		for method, operation := range operations {
			operation.at = name + "#/paths/" + escape(template) + "/" + method
			operations[method] = operation
		}
		o.paths = append(o.paths, path{name, template, segmentsOf(template), operations})
	}
	return nil
}

// resolve replaces each reference by its target, except references to schemas.
func resolve(in any, document map[string]any) {
	switch in := in.(type) {
	case []any:
		for _, one := range in {
			resolve(one, document)
		}
	case map[string]any:
		if ref, _ := in["$ref"].(string); ref != "" && !strings.HasPrefix(ref, "#/components/schemas/") {
			kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
			delete(in, "$ref")
			target, _ := document["components"].(map[string]any)[kind].(map[string]any)[name].(map[string]any)
			maps.Copy(in, target)
		}
		for _, one := range in {
			resolve(one, document)
		}
	}
}

// closeObjects makes the schemas of objects without additionalProperties refuse members that are not documented.
func closeObjects(in any) {
	switch in := in.(type) {
	case []any:
		for _, one := range in {
			closeObjects(one)
		}
	case map[string]any:
		_, has := in["properties"].(map[string]any)
		_, open := in["additionalProperties"]
		if has && !open {
			in["additionalProperties"] = false
		}
		for _, one := range in {
			closeObjects(one)
		}
	}
}

// escape returns a name as a part of a JSON pointer in a URL.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}

func segmentsOf(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// find returns the documented path that matches the escaped path of a URL.
func (o *OpenAPI) find(url *url.URL) (path, bool) {
	asked := segmentsOf(url.EscapedPath())
	i := slices.IndexFunc(o.paths, func(p path) bool {
		return slices.EqualFunc(p.segments, asked, func(segment, value string) bool {
			return segment == value || strings.HasPrefix(segment, "{") && value != ""
		})
	})
	if i < 0 {
		return path{}, false
	}
	return o.paths[i], true
}

// validate returns an error if the schema at the location refuses the value.
func (o *OpenAPI) validate(compiler *jsonschema.Compiler, location string, value any) error {
	o.compile.Lock()
	defer o.compile.Unlock()
	schema, err := compiler.Compile(location)
	if err != nil {
		return fmt.Errorf("the document is wrong: %w", err)
	}
	return schema.Validate(value)
}
