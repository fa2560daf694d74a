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

// Templates lists the templates that match the query.
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

// TemplateChange is a change of a template. A member that is nil is not changed.
type TemplateChange struct {
	Name         *string   `json:"name,omitempty"`
	Title        *Nullable `json:"title,omitempty"`
	Status       *Nullable `json:"status,omitempty"`
	Message      *Nullable `json:"message,omitempty"`
	Severity     *Nullable `json:"severity,omitempty"`
	Impact       *Nullable `json:"impact,omitempty"`
	ComponentIDs *[]string `json:"componentIds,omitempty"`
}

// NewTemplate is a template to create.
type NewTemplate struct {
	Kind string `json:"kind"`
	TemplateChange
}

// AddTemplate creates a template.
func (c *Caller) AddTemplate(ctx context.Context, in NewTemplate) (TemplateResult, error) {
	return call[TemplateResult](ctx, c, request{service: events, method: "POST", path: templatesPath, body: in})
}

// ChangeTemplate changes a template that has the version.
func (c *Caller) ChangeTemplate(ctx context.Context, id string, version int64, in TemplateChange) (TemplateResult, error) {
	return call[TemplateResult](ctx, c, request{service: events, method: "PATCH", path: templatesPath + "/" + url.PathEscape(id), version: version, body: in})
}

// DeleteTemplate deletes a template.
func (c *Caller) DeleteTemplate(ctx context.Context, id string) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: events, method: "DELETE", path: templatesPath + "/" + url.PathEscape(id)})
}
