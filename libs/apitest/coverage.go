package apitest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/bellbuoy/bellbuoy/libs/legacy"
)

// Operation is a documented operation.
type Operation struct {
	Document, Method, Path string
	Statuses               []string // documented statuses
	Methods                []string // methods of the path
	HasInput               bool     // takes a body or query parameters
}

// Operations returns all operations of the documents, in the order of their paths and methods.
func (o *OpenAPI) Operations() []Operation {
	var all []Operation
	for _, path := range o.paths {
		var methods []string
		for method := range path.operations {
			methods = append(methods, strings.ToUpper(method))
		}
		slices.Sort(methods)
		for _, method := range methods {
			of := Operation{Document: path.document, Method: method, Path: path.template, Methods: methods}
			declared := path.operations[strings.ToLower(method)]
			for status := range declared.Responses {
				of.Statuses = append(of.Statuses, status)
			}
			of.HasInput = declared.RequestBody != nil || slices.ContainsFunc(declared.Parameters, func(p parameter) bool { return p.In == "query" })
			slices.Sort(of.Statuses)
			all = append(all, of)
		}
	}
	return all
}

// Unplayed returns the documented statuses that no step of the scripts expects, each with its operation: "GET
// /app/users 400".
func (o *OpenAPI) Unplayed(scripts ...*txtar.Archive) ([]string, error) {
	played := map[string]bool{}
	for _, script := range scripts {
		blocks, err := parse(script)
		if err != nil {
			return nil, err
		}
		for _, b := range blocks {
			for _, s := range b.steps {
				o.play(s, played)
			}
		}
	}
	var unplayed []string
	for _, of := range o.Operations() {
		for _, status := range of.Statuses {
			if name := of.Method + " " + of.Path + " " + status; !played[name] {
				unplayed = append(unplayed, name)
			}
		}
	}
	return unplayed, nil
}

// play marks the status that a step expects as played. A variable in a path stands for one segment. If the step expects
// 405, play marks this status for all operations of the path.
func (o *OpenAPI) play(s *step, played map[string]bool) {
	written, err := parsePart(placeholder.ReplaceAllString(s.request, "variable"))
	if err != nil {
		return
	}
	method, target, _ := strings.Cut(written.first, " ")
	address, err := url.Parse(target)
	if err != nil {
		return
	}
	found, known := o.find(address)
	if !known {
		return
	}
	methods := []string{strings.ToLower(legacy.Method(&http.Request{Method: method, Header: written.header}))}
	if s.want.status == http.StatusMethodNotAllowed {
		for method := range found.operations {
			methods = append(methods, method)
		}
	}
	for _, method := range methods {
		played[fmt.Sprintf("%s %s %d", strings.ToUpper(method), found.template, s.want.status)] = true
	}
}
