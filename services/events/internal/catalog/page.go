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

// Page is the rendered list of a dashboard for visitors. It is rendered when a record that it shows changes.
type Page struct {
	DashboardID string   `json:"dashboardId"`
	Slug        string   `json:"slug"`
	Hosts       []string `json:"hosts"`
	Enabled     bool     `json:"enabled"`
	Private     bool     `json:"private"` // some visitors must not see the page
	Rows        []Row    `json:"rows"`
	// ChangesAt is the next time at which an event reaches its start, so that the page changes without a write.
	ChangesAt *time.Time `json:"changesAt"`
}

type Row struct {
	ComponentID string    `json:"componentId"`
	LegacyID    int64     `json:"legacyId"`
	Name        string    `json:"name"`
	Group       string    `json:"group"`
	OwnGroup    string    `json:"ownGroup"` // the component's, where Group is the dashboard's; empty in an old row
	Description string    `json:"description"`
	Status      RowStatus `json:"status"`
}

// RowStatus is the status of a component on the public list (specification, "Public dashboard service status").
type RowStatus string

const (
	RowOperational RowStatus = "operational"
	RowMaintenance RowStatus = "active maintenance"
	RowIncident    RowStatus = "active incident" // wins over a maintenance
)

// PublicBySlug returns the page of an enabled dashboard, or NotFound. It returns Denied for a private dashboard.
func (c *Catalog) PublicBySlug(ctx context.Context, slug string) (Page, error) {
	return c.public(ctx, find.Eq(FieldSlug, slug))
}

// PublicByHost is PublicBySlug by a custom domain of the dashboard.
func (c *Catalog) PublicByHost(ctx context.Context, host string) (Page, error) {
	return c.public(ctx, find.Has(FieldHosts, host))
}

// PublicDashboard returns the dashboard with the slug, or with the host if slug is empty, under the conditions of
// PublicBySlug.
func (c *Catalog) PublicDashboard(ctx context.Context, slug, host string) (Dashboard, error) {
	which := find.Eq(FieldSlug, slug)
	if slug == "" {
		which = find.Has(FieldHosts, host)
	}
	page, err := c.public(ctx, which)
	if err != nil {
		return Dashboard{}, err
	}
	dashboard, err := c.store.Dashboards.Get(ctx, page.DashboardID)
	if fault.Is(err, fault.NotFound) {
		return Dashboard{}, noDashboard()
	}
	dashboard.complete()
	return dashboard, err
}

func (c *Catalog) public(ctx context.Context, which find.Condition) (Page, error) {
	found, err := c.store.Pages.Find(ctx, find.Query{Where: []find.Condition{which}, Limit: 1})
	if err != nil {
		return Page{}, err
	}
	if len(found.Items) == 0 || !found.Items[0].Enabled {
		return Page{}, noDashboard()
	}
	page := found.Items[0]
	if page.Private {
		return Page{}, fault.New(fault.Denied, "The dashboard is private.")
	}
	if page.ChangesAt == nil || c.now().Before(*page.ChangesAt) {
		return page, nil
	}
	return c.render(ctx, page.DashboardID, nil)
}

// DashboardWritten renders a dashboard's page, or deletes it.
func (c *Catalog) DashboardWritten(ctx context.Context, id string, current *Dashboard) error {
	if current != nil {
		_, err := c.render(ctx, id, nil)
		return err
	}
	return unlessMissing(c.store.Pages.Delete(ctx, id, nil))
}

// rerender renders the pages that show a component of the event, or showed one by the former rows of its links.
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

// renderAll renders the pages of dashboards. written is the components that were written, if any.
func (c *Catalog) renderAll(ctx context.Context, dashboards []Dashboard, written []string) error {
	for _, dashboard := range dashboards {
		if _, err := c.render(ctx, dashboard.ID, written); unlessMissing(err) != nil {
			return err
		}
	}
	return nil
}

// render renders and stores the page of a dashboard. The records are read inside the guarded write: of two
// concurrent renderings the later one has therefore seen everything that the earlier one saw. A page that does not
// change is written too. Otherwise an older rendering of another process could still replace it.
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

// compose returns the page that follows the former one. It loads a component that has a row only if it is in
// written: every writer of a component renders the pages that show it, so the row is right or that writer corrects
// it. A page with many rows then costs little more than a page with few.
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
				ComponentID: component.ID, LegacyID: component.LegacyID, Name: component.Name, OwnGroup: component.Group,
				Description: component.Description,
			})
		}
	}
	groups := make(map[string]string, len(dashboard.Components))
	for _, placement := range dashboard.Components {
		groups[placement.ComponentID] = placement.GroupName
	}
	statuses, changesAt := statusesAt(events, c.now())
	for i := range rows {
		rows[i].OwnGroup = cmp.Or(rows[i].OwnGroup, rows[i].Group)
		rows[i].Group = cmp.Or(groups[rows[i].ComponentID], rows[i].OwnGroup)
		rows[i].Status = cmp.Or(statuses[rows[i].ComponentID], RowOperational)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name), cmp.Compare(a.LegacyID, b.LegacyID))
	})
	return Page{
		DashboardID: dashboard.ID, Slug: dashboard.Slug, Hosts: dashboard.CustomDomains, Enabled: dashboard.Enabled,
		Private: dashboard.Access.private(), Rows: rows, ChangesAt: changesAt,
	}, nil
}

// kept returns the rows of placed components that were not written, and the ids of the other placed components.
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

// statusesAt returns the statuses of components at a time, and the next time at which an event reaches its start.
func statusesAt(events []Event, now time.Time) (statuses map[string]RowStatus, changesAt *time.Time) {
	statuses = map[string]RowStatus{}
	for i := range events {
		event := &events[i]
		if !event.Alerts() {
			continue
		}
		if !event.Active(now) {
			if changesAt == nil || event.StartAt.Before(*changesAt) {
				changesAt = &event.StartAt
			}
			continue
		}
		for _, id := range event.affected() {
			if event.Type == Incident {
				statuses[id] = RowIncident
			} else {
				statuses[id] = cmp.Or(statuses[id], RowMaintenance)
			}
		}
	}
	return statuses, changesAt
}

func (c *Catalog) openEvents(ctx context.Context, organization string) ([]Event, error) {
	var events []Event
	err := c.store.Events.Each(ctx, owned(organization, find.Query{Where: []find.Condition{find.Eq(FieldOpen, true)}}), func(event Event) error {
		events = append(events, event)
		return nil
	})
	return events, err
}

// Health is the worst impact of the active events of a component, and the ids of these events.
type Health struct {
	Status   Impact
	EventIDs []string
}

// Healths returns the health of the components that active events affect, by id.
func (c *Catalog) Healths(ctx context.Context, organization string) (map[string]Health, error) {
	events, err := c.openEvents(ctx, organization)
	healths := map[string]Health{}
	now := c.now()
	for i := range events {
		if !events[i].Active(now) {
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
