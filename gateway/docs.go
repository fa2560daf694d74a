package gateway

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// interfaceFiles are the OpenAPI documents, and what makes a page of them.
//
//go:embed openapi
var interfaceFiles embed.FS

// The paths of the documents, and of the page on which people read them.
const (
	legacyDocument = "/openapi/legacy.yaml"
	appDocument    = "/openapi/app.yaml"
	publicDocument = "/openapi/public.yaml"
	docsPath       = "/docs"
)

// newDocs makes the answers of the documents' paths. The page is made here, at the
// start, from the documents themselves: it needs no script, and cannot say anything
// else than they do.
func newDocs() (map[string]*page, error) {
	docs := map[string]*page{}
	var interfaces []*description
	for _, path := range []string{legacyDocument, appDocument, publicDocument} {
		text, err := interfaceFiles.ReadFile(strings.TrimPrefix(path, "/"))
		if err != nil {
			return nil, fmt.Errorf("documents: %w", err)
		}
		docs[path] = staticPage("application/yaml", "default-src 'none'", text)
		one, err := readDescription(path, text)
		if err != nil {
			return nil, fmt.Errorf("documents: %w", err)
		}
		interfaces = append(interfaces, one)
	}
	style, err := interfaceFiles.ReadFile("openapi/docs.css")
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	look, err := template.ParseFS(interfaceFiles, "openapi/docs.html")
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	var html bytes.Buffer
	if err := look.Execute(&html, map[string]any{"Style": template.CSS(style), "Interfaces": interfaces}); err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	sum := sha256.Sum256(style)
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	docs[docsPath] = staticPage("text/html; charset=utf-8", policy, html.Bytes())
	return docs, nil
}

// staticPage is an answer that is the same until the next version of the platform.
func staticPage(mediaType, policy string, body []byte) *page {
	return newPage(&http.Response{StatusCode: http.StatusOK, Header: http.Header{
		"Content-Type":            {mediaType},
		"Content-Security-Policy": {policy},
		"X-Content-Type-Options":  {"nosniff"},
		"Cache-Control":           {"public, max-age=300"},
	}}, body)
}

// description is as much of an OpenAPI document as the page shows.
type description struct {
	Path string `yaml:"-"` // of the document
	Name string `yaml:"-"` // makes anchors unique on the page
	Info struct {
		Title       string
		Description string
	}
	Tags       []struct{ Name string }
	Paths      map[string]pathItem
	Components struct {
		SecuritySchemes map[string]struct{ Description string } `yaml:"securitySchemes"`
		Parameters      map[string]parameter
		RequestBodies   map[string]content `yaml:"requestBodies"`
		Responses       map[string]content
		Schemas         map[string]*schema
	}
}

type pathItem struct {
	Parameters                    []parameter
	Get, Post, Put, Patch, Delete *operation
}

type operation struct {
	Method, Path         string `yaml:"-"`
	Summary, Description string
	OperationID          string `yaml:"operationId"`
	Tags                 []string
	Parameters           []parameter
	RequestBody          *content `yaml:"requestBody"`
	Responses            map[string]content
}

type parameter struct {
	Ref                   string `yaml:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                *schema
}

// content is a request's body or an answer.
type content struct {
	Ref         string `yaml:"$ref"`
	Description string
	Content     map[string]struct{ Schema *schema }
}

type schema struct {
	Ref                 string `yaml:"$ref"`
	Type                any    // a text or several
	Format, Description string
	Properties          map[string]*schema
	Required            []string
	Items               *schema
	AllOf               []*schema `yaml:"allOf"`
	AnyOf               []*schema `yaml:"anyOf"`
	Enum                []string
	MaxLength           int `yaml:"maxLength"`
	Minimum, Maximum    *int
	Default             any
}

func readDescription(path string, text []byte) (*description, error) {
	d := &description{Path: path, Name: strings.TrimSuffix(strings.TrimPrefix(path, "/openapi/"), ".yaml")}
	if err := yaml.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// group is the operations of a tag.
type group struct {
	Name       string
	Operations []operation
}

// Groups are the operations by tag, in the document's order of tags, with what they
// share put in its place.
func (d *description) Groups() []group {
	groups := make([]group, len(d.Tags))
	for i, tag := range d.Tags {
		groups[i].Name = tag.Name
	}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		item := d.Paths[path]
		for _, one := range item.operations() {
			full := *one.operation
			full.Method, full.Path = one.method, path
			full.Parameters = d.parameters(append(slices.Clone(item.Parameters), full.Parameters...))
			full.RequestBody = d.body(full.RequestBody)
			full.Responses = d.responses(full.Responses)
			for i := range groups {
				if slices.Contains(full.Tags, groups[i].Name) {
					groups[i].Operations = append(groups[i].Operations, full)
				}
			}
		}
	}
	return groups
}

type methodOf struct {
	method    string
	operation *operation
}

func (p pathItem) operations() []methodOf {
	all := []methodOf{
		{http.MethodGet, p.Get}, {http.MethodPost, p.Post}, {http.MethodPut, p.Put},
		{http.MethodPatch, p.Patch}, {http.MethodDelete, p.Delete},
	}
	return slices.DeleteFunc(all, func(one methodOf) bool { return one.operation == nil })
}

func (d *description) parameters(all []parameter) []parameter {
	for i, one := range all {
		if one.Ref != "" {
			all[i] = d.Components.Parameters[referred(one.Ref)]
		}
	}
	return all
}

func (d *description) body(body *content) *content {
	if body == nil || body.Ref == "" {
		return body
	}
	shared := d.Components.RequestBodies[referred(body.Ref)]
	return &shared
}

func (d *description) responses(all map[string]content) map[string]content {
	out := maps.Clone(all)
	for status, one := range all {
		if one.Ref != "" {
			out[status] = d.Components.Responses[referred(one.Ref)]
		}
	}
	return out
}

// referred is the name at the end of a $ref.
func referred(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// field is a property of a schema.
type field struct {
	Name     string
	Required bool
	*schema
}

// Fields are the schema's properties, with those of the schemas it builds on.
func (d *description) Fields(s *schema) []field {
	properties, required := map[string]*schema{}, map[string]bool{}
	d.gather(s, properties, required)
	var out []field
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		out = append(out, field{name, required[name], properties[name]})
	}
	return out
}

func (d *description) gather(s *schema, properties map[string]*schema, required map[string]bool) {
	if s.Ref != "" {
		d.gather(d.Components.Schemas[referred(s.Ref)], properties, required)
	}
	for _, part := range s.AllOf {
		d.gather(part, properties, required)
	}
	maps.Copy(properties, s.Properties)
	for _, name := range s.Required {
		required[name] = true
	}
}

// Anchor is where on the page a schema is, when this is a reference to one.
func (d *description) Anchor(name string) string { return d.Name + "-" + name }

// Link is the schema's name that is worth a link: its own, or its items'.
func (s *schema) Link() string {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		return referred(s.Ref)
	case s.Items != nil:
		return s.Items.Link()
	case len(s.AllOf)+len(s.AnyOf) > 0:
		return slices.Concat(s.AllOf, s.AnyOf)[0].Link()
	}
	return ""
}

// Text says in words what a value is.
func (s *schema) Text() string {
	if s == nil {
		return ""
	}
	var parts []string
	for _, part := range s.AnyOf {
		parts = append(parts, part.Text())
	}
	text := strings.Join(parts, " or ")
	switch {
	case s.Ref != "":
		return referred(s.Ref)
	case len(s.AnyOf) > 0:
	case len(s.AllOf) > 0:
		text = s.AllOf[0].Text()
	case s.Items != nil:
		text = "array of " + s.Items.Text()
	default:
		text = cmp.Or(s.Format, typeText(s.Type))
	}
	if strings.Contains(typeText(s.Type), "null") && s.Format != "" {
		text += " or null"
	}
	if len(s.Enum) > 0 {
		text += ": " + strings.Join(s.Enum, ", ")
	}
	return text + s.bounds()
}

func (s *schema) bounds() string {
	text := ""
	if s.MaxLength > 0 {
		text += fmt.Sprintf(", at most %d characters", s.MaxLength)
	}
	if s.Minimum != nil {
		text += fmt.Sprintf(", from %d", *s.Minimum)
	}
	if s.Maximum != nil {
		text += fmt.Sprintf(", to %d", *s.Maximum)
	}
	if s.Default != nil && s.Default != "" {
		text += fmt.Sprintf(", default %v", s.Default)
	}
	return text
}

func typeText(of any) string {
	switch of := of.(type) {
	case string:
		return of
	case []any:
		names := make([]string, len(of))
		for i, one := range of {
			names[i] = fmt.Sprint(one)
		}
		return strings.Join(names, " or ")
	}
	return "any value"
}
