package app

import (
	"context"
	"net/url"
)

const componentsPath = "/app/components"

// Components is a page of a list of components.
type Components struct {
	Components []Component `json:"components"`
	NextToken  *string     `json:"nextToken"`
}

// Component is a part of what a dashboard shows.
type Component struct {
	ID             string   `json:"id"`
	Name           string   `json:"name"`
	GroupName      string   `json:"groupName"`
	Status         string   `json:"status"`
	ActiveEventIDs []string `json:"activeEventIds"`
}

// Components lists the components of a filter.
func (c *Caller) Components(ctx context.Context, query url.Values) (Components, error) {
	return call[Components](ctx, c, request{service: events, method: "GET", path: componentsPath, query: query})
}

// ComponentCountsResult counts the components by status.
type ComponentCountsResult struct {
	Counts ComponentCounts `json:"counts"`
}

// ComponentCounts counts the components by status.
type ComponentCounts struct {
	Total               int `json:"total"`
	Operational         int `json:"operational"`
	UnderMaintenance    int `json:"underMaintenance"`
	DegradedPerformance int `json:"degradedPerformance"`
	PartialOutage       int `json:"partialOutage"`
	MajorOutage         int `json:"majorOutage"`
}

// ComponentCounts counts the components by status.
func (c *Caller) ComponentCounts(ctx context.Context) (ComponentCountsResult, error) {
	return call[ComponentCountsResult](ctx, c, request{service: events, method: "GET", path: componentsPath + "/counts"})
}

// ComponentResult is one component.
type ComponentResult struct {
	Component Component `json:"component"`
}

// Component returns a component.
func (c *Caller) Component(ctx context.Context, id string) (ComponentResult, error) {
	return call[ComponentResult](ctx, c, request{service: events, method: "GET", path: componentsPath + "/" + url.PathEscape(id)})
}
