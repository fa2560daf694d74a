package catalog

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Dashboard is a page on which components and events are shown to visitors.
type Dashboard struct {
	ID             string      `json:"id" audit:"id"`
	LegacyID       int64       `json:"legacyId" audit:"legacyId"`
	OrganizationID string      `json:"organizationId"`
	Name           string      `json:"name" audit:"name"`
	Slug           string      `json:"slug" audit:"slug"`       // unique on the installation
	Enabled        bool        `json:"enabled" audit:"enabled"` // false: the public dashboard gives 404
	Description    string      `json:"description" audit:"description"`
	Timezone       string      `json:"timezone" audit:"timezone"` // IANA
	Locale         string      `json:"locale" audit:"locale"`
	CustomDomains  []string    `json:"customDomains" audit:"customDomains"` // hosts that show it too
	Components     []Placement `json:"components" audit:"components"`       // in the wanted order
	CreatedAt      time.Time   `json:"createdAt" audit:"createdAt"`
	UpdatedAt      time.Time   `json:"updatedAt" audit:"updatedAt,quiet"`
	Version        int64       `json:"version" audit:"version,quiet"`
}

type Placement struct {
	ComponentID string `json:"componentId" audit:"componentId"`
	GroupName   string `json:"groupName" audit:"groupName,null"` // empty: the component's own group
	Position    int64  `json:"position" audit:"position"`
}

const (
	maxDashboardName = 100
	minSlug, maxSlug = 3, 63
	slugTries        = 100
)

func (d *Dashboard) touch(now time.Time) {
	d.UpdatedAt = now
	d.Version++
}

func (d *Dashboard) nextPosition() int64 {
	var next int64
	for _, placement := range d.Components {
		next = max(next, placement.Position+1)
	}
	return next
}

func (d *Dashboard) ComponentIDs() []string {
	return each(d.Components, func(placement Placement) string { return placement.ComponentID })
}

// CreateDashboard stores the dashboard id with every component of the organization, or returns the dashboard that
// an earlier try stored. A slug that is taken gets a number.
func (c *Catalog) CreateDashboard(ctx context.Context, organization, id, name string) (Dashboard, error) {
	name = strings.TrimSpace(name)
	if name == "" || len([]rune(name)) > maxDashboardName {
		return Dashboard{}, fault.Field("name", "must be 1 to %d characters", maxDashboardName)
	}
	if made, err := c.Dashboard(ctx, organization, id); !fault.Is(err, fault.NotFound) {
		return made, err
	}
	components, err := c.ComponentsWhere(ctx, organization, nil)
	if err != nil {
		return Dashboard{}, err
	}
	now := c.now()
	dashboard := Dashboard{
		ID: id, OrganizationID: organization, Name: name, Enabled: true, Timezone: "UTC", Locale: "en",
		CustomDomains: []string{}, Components: []Placement{}, CreatedAt: now, UpdatedAt: now, Version: 1,
	}
	for i, component := range components {
		dashboard.Components = append(dashboard.Components, Placement{ComponentID: component.ID, Position: int64(i)})
	}
	if dashboard.LegacyID, err = c.store.Next(ctx, dashboardIDs, 1); err != nil {
		return Dashboard{}, err
	}
	base := slugOf(dashboard.Name)
	for try := 1; try <= slugTries; try++ {
		dashboard.Slug = numbered(base, try)
		err := c.store.Dashboards.Insert(ctx, dashboard)
		if !fault.Is(err, fault.Conflict) {
			return dashboard, err
		}
		if _, err := c.store.Dashboards.Get(ctx, id); !fault.Is(err, fault.NotFound) {
			return c.Dashboard(ctx, organization, id) // an earlier try, or a dashboard of another organization
		} // else the slug is taken
	}
	return Dashboard{}, fault.New(fault.Conflict, "No free slug was found for this name. Choose another name.")
}

var notInSlug = regexp.MustCompile("[^a-z0-9]+")

func slugOf(name string) string {
	text := strings.Trim(notInSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
	text = strings.Trim(text[:min(len(text), maxSlug)], "-")
	switch {
	case text == "":
		return "status"
	case len(text) < minSlug:
		return text + "-status"
	}
	return text
}

func numbered(base string, try int) string {
	if try == 1 {
		return base
	}
	suffix := "-" + strconv.Itoa(try)
	return strings.TrimRight(base[:min(len(base), maxSlug-len(suffix))], "-") + suffix
}

// Dashboard returns the organization's dashboard with the id, or NotFound.
func (c *Catalog) Dashboard(ctx context.Context, organization, id string) (Dashboard, error) {
	dashboard, err := c.store.Dashboards.Get(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && dashboard.OrganizationID != organization {
		return Dashboard{}, fault.New(fault.NotFound, "There is no such dashboard.")
	}
	return dashboard, err
}

// DashboardsByID returns the organization's dashboards with the ids, in the order of the ids.
func (c *Catalog) DashboardsByID(ctx context.Context, organization string, ids []string) ([]Dashboard, error) {
	found, err := c.store.Dashboards.GetMany(ctx, ids)
	return slices.DeleteFunc(found, func(d Dashboard) bool { return d.OrganizationID != organization }), err
}

func (c *Catalog) PageOfDashboards(ctx context.Context, organization string, limit int, after string) (find.Page[Dashboard], error) {
	return c.store.Dashboards.Find(ctx, owned(organization, find.Query{Limit: limit, After: after}))
}

// dashboardsShowing returns the organization's dashboards that hold any of the components.
func (c *Catalog) dashboardsShowing(ctx context.Context, organization string, components []string) ([]Dashboard, error) {
	if len(components) == 0 {
		return nil, nil
	}
	page, err := c.store.Dashboards.Find(ctx, owned(organization, find.Query{
		Where: []find.Condition{find.Has(FieldComponents, components...)},
	}))
	return page.Items, err
}

func (c *Catalog) ComponentsOn(ctx context.Context, organization string, dashboards []Dashboard) (map[string]Component, error) {
	var ids []string
	for _, dashboard := range dashboards {
		ids = append(ids, dashboard.ComponentIDs()...)
	}
	return c.componentsOf(ctx, organization, ids)
}

// DashboardsHolding returns the ids of the dashboards that hold each of the components.
func (c *Catalog) DashboardsHolding(ctx context.Context, organization string, components []string) (map[string][]string, error) {
	dashboards, err := c.dashboardsShowing(ctx, organization, components)
	holding := make(map[string][]string, len(components))
	for _, dashboard := range dashboards {
		for _, id := range dashboard.ComponentIDs() {
			holding[id] = append(holding[id], dashboard.ID)
		}
	}
	return holding, err
}
