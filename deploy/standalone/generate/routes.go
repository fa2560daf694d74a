package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/bellbuoy/bellbuoy/gateway"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// writeRoutes returns the gateway's rows for the operations of the public, the App and the operator document as JSON, one row
// in a line.
func writeRoutes(documents map[string][]byte) ([]byte, error) {
	out := []byte("[\n")
	for _, of := range []struct {
		name, base string
		surface    passport.Surface
	}{
		{"public.yaml", "/", passport.Public}, {"app.yaml", "/app/", passport.App}, {"operator.yaml", "/operator/v1/", passport.Operator},
	} {
		rows, err := routesOf(documents[of.name], of.base, of.surface)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			line, err := json.Marshal(row)
			if err != nil {
				return nil, err
			}
			out = append(append(out, line...), ",\n"...)
		}
	}
	return append(bytes.TrimSuffix(out, []byte(",\n")), "\n]\n"...), nil
}

// openAPI is the part of a document that routesOf reads.
type openAPI struct {
	Paths      map[string]map[string]operationObject // by path and method
	Components struct {
		Parameters map[string]parameterObject
	}
}

type operationObject struct {
	Service    string `json:"x-service"`
	MaxBody    int64  `json:"x-max-body"`
	Security   []map[string][]string
	Parameters []parameterObject
}

type parameterObject struct {
	Ref      string `json:"$ref"`
	Name, In string
	Schema   struct{ Enum []string }
}

// parameterNames matches the parameters in a path template.
var parameterNames = regexp.MustCompile(`\{[^}]*\}`)

// routesOf returns a row for each operation of a document. It returns an error if a path is not below base, or if two paths
// differ only in the names of parameters.
func routesOf(text []byte, base string, surface passport.Surface) ([]gateway.Route, error) {
	converted, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	var document openAPI
	if err := json.Unmarshal(converted, &document); err != nil {
		return nil, err
	}
	var rows []gateway.Route
	taken := map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		if !strings.HasPrefix(path, base) {
			return nil, fmt.Errorf("the path %s must start with %s", path, base)
		}
		same := parameterNames.ReplaceAllString(path, "{}")
		if other, is := taken[same]; is {
			return nil, fmt.Errorf("the paths %s and %s differ only in the names of parameters", other, path)
		}
		taken[same] = path
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			operation, has := document.Paths[path][strings.ToLower(method)]
			if !has {
				continue
			}
			row := gateway.Route{Methods: []string{method}, Path: path, Service: operation.Service, Surface: surface, MaxBody: operation.MaxBody}
			for _, p := range operation.Parameters {
				if p.Ref != "" {
					p = document.Components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
				}
				if p.In == "header" && p.Name == idempotencyKey.get("name") {
					row.Idempotent = true
				}
				if surface == passport.Public && p.In == "path" && strings.HasSuffix(path, "/{"+p.Name+"}") { // on the other surfaces the service checks the values
					row.Values = p.Schema.Enum
				}
			}
			row.Authorized = surface == passport.Public && len(operation.Security) > 0
			rows = append(rows, row)
		}
	}
	return rows, nil
}
