package gateway

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"go.yaml.in/yaml/v3"
)

// documents are the OpenAPI documents, generated from the operations and resources that the services and the gateway
// declare ("make generate").
//
//go:embed openapi
var documents embed.FS

const (
	legacyDocument   = "/openapi/legacy.yaml"
	appDocument      = "/openapi/app.yaml"
	operatorDocument = "/openapi/operator.yaml"
	publicDocument   = "/openapi/public.yaml"
)

// openAPI is the part of a document that the gateway reads. The parser is yaml/v3, because the gateway parses the
// documents when it starts: 8,000 lines take 20 ms, and 67 ms with goccy/go-yaml.
type openAPI struct {
	Paths      map[string]pathItem
	Components struct {
		Parameters map[string]parameterObject
	}
}

type pathItem struct {
	Parameters []parameterObject
	Operations map[string]operationObject `yaml:",inline"` // by method
}

type operationObject struct {
	Service    string `yaml:"x-service"`
	Security   []map[string][]string
	Parameters []parameterObject
}

type parameterObject struct {
	Ref      string `yaml:"$ref"`
	Name, In string
	Schema   struct{ Enum []string }
}

// operations returns a route for each operation of the document at path. It returns an error of one line if a path is
// not below base, if a service is unknown, or if two operations have the same method and path.
func operations(files fs.FS, path, base string, surface passport.Surface) ([]Route, error) {
	text, err := fs.ReadFile(files, strings.TrimPrefix(path, "/"))
	if err != nil {
		return nil, fmt.Errorf("route table: %w", err)
	}
	var document openAPI
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("route table: %s: %s", path, strings.Join(strings.Fields(err.Error()), " "))
	}
	var rows []Route
	taken := map[string]bool{}
	for _, template := range slices.Sorted(maps.Keys(document.Paths)) {
		if !strings.HasPrefix(template, base) {
			return nil, fmt.Errorf("route table: %s: the path %s must start with %s", path, template, base)
		}
		same := parameterNames.ReplaceAllString(template, parameter)
		if taken[same] {
			return nil, fmt.Errorf("route table: %s: the path %s is declared twice, with other names of parameters", path, template)
		}
		taken[same] = true
		item := document.Paths[template]
		for _, name := range []string{"get", "post", "put", "patch", "delete"} {
			operation, has := item.Operations[name]
			if !has {
				continue
			}
			method := strings.ToUpper(name)
			own := surface == passport.Public && operation.Service == "" // the gateway itself serves the operation
			if !own && !slices.Contains(services(), operation.Service) {
				return nil, fmt.Errorf("route table: %s: %s %s: x-service must be one of %s, not %q",
					path, method, template, strings.Join(services(), ", "), operation.Service)
			}
			parameters := slices.Concat(item.Parameters, operation.Parameters)
			row := Route{Methods: []string{method}, Path: template, Service: operation.Service, Surface: surface, Idempotent: document.takesKey(parameters)}
			if surface == passport.Public { // on the other surfaces the service checks the values
				row.values = lastValues(template, parameters)
				row.authorized = len(operation.Security) > 0
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// lastValues returns the values that the last segment of the template can have, if this segment is a parameter that
// lists its values.
func lastValues(template string, parameters []parameterObject) []string {
	for _, p := range parameters {
		if p.In == "path" && strings.HasSuffix(template, "/{"+p.Name+"}") {
			return p.Schema.Enum
		}
	}
	return nil
}

// parameterNames matches the parameters in a path template.
var parameterNames = regexp.MustCompile(`\{[^}]*\}`)

// takesKey reports whether one of the parameters is the header Idempotency-Key.
func (o openAPI) takesKey(parameters []parameterObject) bool {
	return slices.ContainsFunc(parameters, func(p parameterObject) bool {
		if p.Ref != "" {
			p = o.Components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
		}
		return p.In == "header" && http.CanonicalHeaderKey(p.Name) == idempotencyHeader
	})
}
