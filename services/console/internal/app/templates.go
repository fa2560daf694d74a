package app

import (
	"context"
	"net/url"
)

const templatesPath = "/app/templates"

// Templates is a page of a list of templates.
type Templates struct {
	Templates []Template `json:"templates"`
	NextToken *string    `json:"nextToken"`
}

// Template is a prepared incident, maintenance or update.
type Template struct {
	ID           string   `json:"id"`
	Kind         string   `json:"kind"`
	Name         string   `json:"name"`
	Title        string   `json:"title"`
	Status       string   `json:"status"`
	Message      string   `json:"message"`
	Severity     string   `json:"severity"`
	Impact       string   `json:"impact"`
	ComponentIDs []string `json:"componentIds"`
	Version      int64    `json:"version"`
}

// Templates lists the templates of a filter.
func (c *Caller) Templates(ctx context.Context, query url.Values) (Templates, error) {
	return call[Templates](ctx, c, request{service: events, method: "GET", path: templatesPath, query: query})
}

// TemplateResult is one template.
type TemplateResult struct {
	Template Template `json:"template"`
}

// Template returns a template.
func (c *Caller) Template(ctx context.Context, id string) (TemplateResult, error) {
	return call[TemplateResult](ctx, c, request{service: events, method: "GET", path: templatesPath + "/" + url.PathEscape(id)})
}
