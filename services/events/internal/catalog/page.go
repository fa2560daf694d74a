package catalog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Page is what visitors get of a dashboard, rendered when something it shows changes.
type Page struct {
	DashboardID string   `json:"dashboardId"`
	Slug        string   `json:"slug"`
	Hosts       []string `json:"hosts"`
	Enabled     bool     `json:"enabled"`
	Rows        []Row    `json:"rows"`
	// ChangesAt is when it next changes by itself, because the start of an event is
	// reached; nil when it does not.
	ChangesAt *time.Time `json:"changesAt"`
}

// Row is a component on the public list, in the order it is shown.
type Row struct {
	ComponentID string    `json:"componentId"`
	LegacyID    int64     `json:"legacyId"`
	Name        string    `json:"name"`
	Group       string    `json:"group"`
	Description string    `json:"description"`
	Status      RowStatus `json:"status"`
}

// RowStatus is what a visitor is told of a component (specification, "Public dashboard
// service status").
type RowStatus string

const (
	RowOperational RowStatus = "operational"
	RowMaintenance RowStatus = "active maintenance"
	RowIncident    RowStatus = "active incident" // wins over a maintenance
)

// PublicBySlug is the page of an enabled dashboard, or NotFound.
func (c *Catalog) PublicBySlug(ctx context.Context, slug string) (Page, error) {
	return c.public(ctx, find.Eq("slug", slug))
}

// PublicByHost is the page of the enabled dashboard that is shown under the host, or NotFound.
func (c *Catalog) PublicByHost(ctx context.Context, host string) (Page, error) {
	return c.public(ctx, find.Has("hosts", host))
}

func (c *Catalog) public(ctx context.Context, which find.Condition) (Page, error) {
	found, err := c.store.Pages.Find(ctx, find.Query{Where: []find.Condition{which}, Limit: 1})
	if err != nil {
		return Page{}, err
	}
	if len(found.Items) == 0 || !found.Items[0].Enabled {
		return Page{}, fault.New(fault.NotFound, "There is no such dashboard.")
	}
	page := found.Items[0]
	if page.ChangesAt == nil || c.now().Before(*page.ChangesAt) {
		return page, nil
	}
	return c.render(ctx, page.DashboardID, nil)
}

// DashboardWritten renders a dashboard's page, or removes that of a deleted one.
func (c *Catalog) DashboardWritten(ctx context.Context, id string, current *Dashboard) error {
	if current != nil {
		_, err := c.render(ctx, id, nil)
		return err
	}
	err := c.store.Pages.Delete(ctx, id, nil)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// rerender renders the pages of all dashboards that an event is or was shown on.
func (c *Catalog) rerender(ctx context.Context, former []LinkRow, current *Event) error {
	var organization string
	var components []string
	for _, link := range former {
		organization = link.OrganizationID
		components = append(components, link.ComponentID)
	}
	if current != nil {
		organization = current.OrganizationID
		components = append(components, current.ComponentIDs()...)
	}
	slices.Sort(components)
	dashboards, err := c.dashboardsShowing(ctx, organization, slices.Compact(components))
	if err != nil {
		return err
	}
	return c.renderAll(ctx, dashboards, nil)
}

// renderAll renders the pages of dashboards, after a write of those components or of
// something else.
func (c *Catalog) renderAll(ctx context.Context, dashboards []Dashboard, written []string) error {
	for _, dashboard := range dashboards {
		if _, err := c.render(ctx, dashboard.ID, written); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// render brings a dashboard's page up to date after a write of those components or of
// something else, and stores it. All that it takes up is read inside the guarded write, so
// of two that run at once the later one has seen what the earlier one saw, and more. A page
// that is right is written too: else an older rendering elsewhere could still replace it. Who
// renders the same page at once shares a rendering that begins after their writes.
func (c *Catalog) render(ctx context.Context, dashboardID string, written []string) (Page, error) {
	return c.renders.share(ctx, dashboardID, written, func(ctx context.Context, written []string) (Page, error) {
		return c.store.Pages.Upsert(ctx, dashboardID, func(page *Page, _ bool) ([]topic.Message, error) {
			next, err := c.compose(ctx, page, dashboardID, written)
			if err != nil {
				return nil, err
			}
			*page = next
			return nil, nil
		})
	})
}

// compose makes the page that follows the given one, which may be empty. Statuses are
// always told anew, but the components that have a row are read only if they are among the
// written: whoever writes a component renders the pages that show it, so its row is right,
// or about to be made so by that writer. A page with many rows then costs little more than one
// with few.
func (c *Catalog) compose(ctx context.Context, former *Page, dashboardID string, written []string) (Page, error) {
	dashboard, err := c.store.Dashboards.Get(ctx, dashboardID)
	if err != nil {
		return Page{}, err
	}
	rows, stale := former.kept(dashboard.ComponentIDs(), written)
	fresh, err := c.componentsOf(ctx, dashboard.OrganizationID, stale)
	if err != nil {
		return Page{}, err
	}
	events, err := c.openEvents(ctx, dashboard.OrganizationID)
	if err != nil {
		return Page{}, err
	}
	for _, component := range fresh {
		if !component.Hidden {
			rows = append(rows, Row{
				ComponentID: component.ID, LegacyID: component.LegacyID, Name: component.Name, Group: component.Group,
				Description: component.Description,
			})
		}
	}
	statuses, changesAt := visible(events, c.now())
	for i := range rows {
		rows[i].Status = cmp.Or(statuses[rows[i].ComponentID], RowOperational)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name), cmp.Compare(a.LegacyID, b.LegacyID))
	})
	return Page{
		DashboardID: dashboard.ID, Slug: dashboard.Slug, Hosts: dashboard.CustomDomains, Enabled: dashboard.Enabled,
		Rows: rows, ChangesAt: changesAt,
	}, nil
}

// kept are a page's rows of the components placed that were not written, and the ids of
// the other components placed.
func (p *Page) kept(placed, written []string) (rows []Row, stale []string) {
	byID := make(map[string]Row, len(p.Rows))
	for _, row := range p.Rows {
		byID[row.ComponentID] = row
	}
	for _, id := range written {
		delete(byID, id)
	}
	rows = []Row{}
	for _, id := range placed {
		if row, there := byID[id]; there {
			rows = append(rows, row)
		} else {
			stale = append(stale, id)
		}
	}
	return rows, stale
}

// visible is what visitors are told of components at a time, and when that changes because
// the next of the events that are under way reaches its start.
func visible(events []Event, now time.Time) (statuses map[string]RowStatus, changesAt *time.Time) {
	statuses = map[string]RowStatus{}
	for i := range events {
		event := &events[i]
		if event.HiddenFromDashboard || !event.Published || !event.Status.underway() {
			continue
		}
		if event.StartAt.After(now) {
			if changesAt == nil || event.StartAt.Before(*changesAt) {
				changesAt = &event.StartAt
			}
			continue
		}
		for _, id := range event.ComponentIDs() {
			if event.Type == Incident {
				statuses[id] = RowIncident
			} else {
				statuses[id] = cmp.Or(statuses[id], RowMaintenance)
			}
		}
	}
	return statuses, changesAt
}

// openEvents are the organization's events that are not resolved or completed.
func (c *Catalog) openEvents(ctx context.Context, organization string) ([]Event, error) {
	var events []Event
	err := c.store.Events.Each(ctx, owned(organization, find.Query{Where: []find.Condition{find.Eq("open", true)}}), func(event Event) error {
		events = append(events, event)
		return nil
	})
	return events, err
}

// Health is the state of a component: the worst impact of its active events, and which they are.
type Health struct {
	Status   Impact
	EventIDs []string
}

// Healths are the states of the organization's components that active events affect, by
// id; every other one is operational.
func (c *Catalog) Healths(ctx context.Context, organization string) (map[string]Health, error) {
	events, err := c.openEvents(ctx, organization)
	healths := map[string]Health{}
	now := c.now()
	for i := range events {
		if !events[i].ActiveAt(now) {
			continue
		}
		for _, link := range events[i].Links {
			health := healths[link.ComponentID]
			if impact := events[i].ImpactOn(link); impact.worse(health.Status) {
				health.Status = impact
			}
			health.EventIDs = append(health.EventIDs, events[i].ID)
			healths[link.ComponentID] = health
		}
	}
	return healths, err
}
