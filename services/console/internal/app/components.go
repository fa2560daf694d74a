package app

import (
	"context"
	"net/url"
	"time"
)

const componentsPath = "/app/components"

// Components is a page of a list of components.
type Components struct {
	Components []Component `json:"components"`
	NextToken  *string     `json:"nextToken"`
}

// Component is a part of a product whose status dashboards show.
type Component struct {
	ID                      string    `json:"id"`
	Name                    string    `json:"name"`
	Description             string    `json:"description"`
	GroupName               string    `json:"groupName"`
	Hidden                  bool      `json:"hidden"`
	HiddenFromNotifications bool      `json:"hiddenFromNotifications"`
	Status                  string    `json:"status"`
	StatusOverride          *Override `json:"statusOverride"`
	ActiveEventIDs          []string  `json:"activeEventIds"`
	DashboardIDs            []string  `json:"dashboardIds"`
	ExternalRefs            []string  `json:"externalRefs"`
	CheckURL                Nullable  `json:"checkUrl"`
	PublicID                Nullable  `json:"publicId"`
	StartAt                 time.Time `json:"startAt"`
	Version                 int64     `json:"version"`
}

// Override is a state that a member has set by hand.
type Override struct {
	Status        string     `json:"status"`
	Until         *time.Time `json:"until"`
	CountInUptime bool       `json:"countInUptime"`
	Since         time.Time  `json:"since"`
	SetBy         Author     `json:"setBy"`
}

// Components lists the components that match the query.
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

// ComponentFields are the members of a new component and of a change. In a change, a member that is nil keeps its value.
type ComponentFields struct {
	Name                    *string    `json:"name,omitempty"`
	Description             *string    `json:"description,omitempty"`
	GroupName               *string    `json:"groupName,omitempty"`
	Hidden                  *bool      `json:"hidden,omitempty"`
	HiddenFromNotifications *bool      `json:"hiddenFromNotifications,omitempty"`
	ExternalRefs            *[]string  `json:"externalRefs,omitempty"`
	CheckURL                *Nullable  `json:"checkUrl,omitempty"`
	PublicID                *Nullable  `json:"publicId,omitempty"`
	StartAt                 *time.Time `json:"startAt,omitempty"`
}

// ComponentChange is a change of a component.
type ComponentChange struct {
	ComponentFields
	StatusOverride *NewOverride `json:"statusOverride,omitempty"`
}

// NewOverride is a state to set by hand. The status operational ends the present override.
type NewOverride struct {
	Status        string     `json:"status"`
	Until         *time.Time `json:"until"`
	CountInUptime bool       `json:"countInUptime"`
}

// NewComponent is a component to create. If DashboardIDs is nil, the first dashboard shows the component.
type NewComponent struct {
	ComponentFields
	DashboardIDs *[]string `json:"dashboardIds,omitempty"`
}

// AddComponent creates a component.
func (c *Caller) AddComponent(ctx context.Context, in NewComponent) (ComponentResult, error) {
	return call[ComponentResult](ctx, c, request{service: events, method: "POST", path: componentsPath, body: in})
}

// ChangeComponent changes a component that has the version. With version 0, the component may have any version.
func (c *Caller) ChangeComponent(ctx context.Context, id string, version int64, in ComponentChange) (ComponentResult, error) {
	return call[ComponentResult](ctx, c, request{service: events, method: "PATCH", path: componentsPath + "/" + url.PathEscape(id), version: version, body: in})
}

// DeleteComponent deletes a component.
func (c *Caller) DeleteComponent(ctx context.Context, id string) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: events, method: "DELETE", path: componentsPath + "/" + url.PathEscape(id)})
}
