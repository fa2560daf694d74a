package catalog

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Page is what visitors of a dashboard get at present: the public list, and the edition with all other files. It is
// rendered when a record that it shows changes, and when it expires.
type Page struct {
	DashboardID string   `json:"dashboardId"`
	Slug        string   `json:"slug"`
	Hosts       []string `json:"hosts"`
	Enabled     bool     `json:"enabled"`
	Private     bool     `json:"private"` // some visitors must not see the page
	Rows        []Row    `json:"rows"`
	List        string   `json:"list"` // a digest of Rows; empty in a page that was stored before there was one
	// ChangesAt is the next time at which an event reaches its start, so that the list changes without a write.
	ChangesAt *time.Time `json:"changesAt"`

	EditionID string   `json:"editionId"` // empty in a page that was stored before there were editions
	Edition   int64    `json:"edition"`
	Entry     Entrance `json:"entry"`
	// ExpiresAt is when the edition is not right any more without a write.
	ExpiresAt *time.Time `json:"expiresAt"`
	// SweepAt is when editions that are not current are deleted; nil if there are none.
	SweepAt *time.Time `json:"sweepAt"`
	// ClaimedUntil is the time until which a process has taken over what is due.
	ClaimedUntil *time.Time `json:"claimedUntil"`
	Seen         []Seen     `json:"seen"`
	// Removed: the dashboard was deleted. The page stays until SweepAt, so that a rendering which began before conflicts
	// with it, and so that what such a rendering has stored is deleted.
	Removed bool `json:"removed"`
}

// Entrance is what decides who sees a page.
type Entrance struct {
	Mode       AccessMode `json:"mode"`
	AllowedIPs []string   `json:"allowedIps"`
	Password   string     `json:"password"` // the version of the password, signed; empty without a password
	FeedKey    string     `json:"feedKey"`  // Snapshot.FeedKey
}

// Seen is a version of an event that a page follows. Without it, a late rendering of another process could show an
// older version again.
type Seen struct {
	EventID string    `json:"eventId"`
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
}

// seenFor is how long a page remembers the versions of events. A rendering takes seconds.
const seenFor = 10 * time.Minute

// lastSeen returns the version of the event that the page follows, or 0.
func lastSeen(seen []Seen, event string) int64 {
	for _, s := range seen {
		if s.EventID == event {
			return s.Version
		}
	}
	return 0
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

// PublicBySlug returns the page of an enabled dashboard with its current edition, or NotFound. It returns private
// dashboards too: the gateway decides who asks.
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
	page, err := c.enabledPage(ctx, which)
	return c.withEdition(ctx, page, err)
}

// withEdition returns the page with an edition that is right now. A page that was stored before there were editions has
// none.
func (c *Catalog) withEdition(ctx context.Context, page Page, err error) (Page, error) {
	if err != nil || page.EditionID != "" && (page.ChangesAt == nil || c.now().Before(*page.ChangesAt)) {
		return page, err
	}
	return c.render(ctx, page.DashboardID)
}

// DashboardWritten renders a dashboard's page. The page of a deleted dashboard is deleted by the scheduler.
func (c *Catalog) DashboardWritten(ctx context.Context, id string, current *Dashboard) error {
	if current != nil {
		_, err := c.render(ctx, id, cause{dashboard: true})
		return err
	}
	_, err := c.store.Pages.Upsert(ctx, id, func(page *Page, _ bool) ([]topic.Message, error) {
		*page = Page{DashboardID: id, Removed: true, SweepAt: new(c.now().Add(sweepAfter))}
		return nil, nil
	})
	return err
}

// rerender renders the pages that show a component of the event, or showed one by the former rows of its links.
func (c *Catalog) rerender(ctx context.Context, id string, former []LinkRow, current *Event) error {
	var organization string
	var components []string
	written := cause{event: id, current: current}
	for _, link := range former {
		organization, written.former = link.OrganizationID, &link.Event
		components = append(components, link.ComponentID)
	}
	if current != nil {
		organization = current.OrganizationID
		components = append(components, current.ComponentIDs()...)
	}
	slices.Sort(components)
	holding, err := c.DashboardsHolding(ctx, organization, slices.Compact(components))
	if err != nil {
		return err
	}
	var dashboards []string
	for _, ids := range holding {
		dashboards = append(dashboards, ids...)
	}
	slices.Sort(dashboards)
	return c.renderAll(ctx, slices.Compact(dashboards), written)
}

// renderAll renders the pages of dashboards.
func (c *Catalog) renderAll(ctx context.Context, dashboards []string, written cause) error {
	for _, id := range dashboards {
		if _, err := c.render(ctx, id, written); fault.UnlessMissing(err) != nil {
			return err
		}
	}
	return nil
}

// render renders and stores the page of a dashboard. It is composed inside the guarded write: of two concurrent
// renderings the later one therefore follows the earlier one. A page that does not change is written too if a record
// was written. Otherwise an older rendering of another process could still replace it.
func (c *Catalog) render(ctx context.Context, dashboardID string, written ...cause) (Page, error) {
	return c.renders.share(ctx, dashboardID, written, func(ctx context.Context, written []cause) (Page, error) {
		var made *issue
		page, err := c.store.Pages.Upsert(ctx, dashboardID, func(page *Page, _ bool) ([]topic.Message, error) {
			made = nil
			next, edition, err := c.compose(ctx, page, dashboardID, written)
			if err != nil {
				return nil, err
			}
			*page, made = next, edition
			return nil, nil
		})
		if err == nil && made != nil {
			c.issues.remember(made)
		}
		return page, err
	})
}

// compose returns the page that follows the former one, and stores its edition if that is a new one. It returns
// fault.ErrUnchanged if the page follows all written records already.
func (c *Catalog) compose(ctx context.Context, former *Page, dashboardID string, written []cause) (Page, *issue, error) {
	now := c.now()
	due := former.ExpiresAt == nil || !now.Before(*former.ExpiresAt)
	var current *issue
	if former.EditionID != "" {
		var err error
		if current, err = c.edition(ctx, former.EditionID); fault.UnlessMissing(err) != nil {
			return Page{}, nil, err
		}
	}
	fresh := func(w cause) bool { return w.event == "" || lastSeen(former.Seen, w.event) < w.version() }
	if current != nil && !due && !slices.ContainsFunc(written, fresh) {
		return Page{}, nil, fault.ErrUnchanged
	}
	m, page, err := c.prepare(ctx, former, current, dashboardID, written, now)
	if err == nil {
		err = m.follow(ctx, written, former.Seen, due)
	}
	if err != nil {
		return Page{}, nil, err
	}
	page.see(written, now)
	if !m.changed {
		page.setStatuses(&current.state)
		return page, nil, nil
	}
	m.finish()
	m.state.Snapshot.Edition = former.Edition + 1
	made, err := c.insertEdition(ctx, &page, m, current)
	if err != nil {
		return Page{}, nil, err
	}
	page.setStatuses(&m.state)
	page.EditionID, page.Edition = made.ID, made.Number
	page.ChangesAt, page.ExpiresAt, page.ClaimedUntil = m.state.nextStart(), new(m.expires()), nil
	page.SweepAt = cmp.Or(page.SweepAt, new(now.Add(sweepAfter)))
	return page, made, nil
}

func (p *Page) setStatuses(of *State) {
	statuses := of.statuses()
	for i := range p.Rows {
		p.Rows[i].Status = cmp.Or(statuses[p.Rows[i].ComponentID], RowOperational)
	}
	p.List = digest(p.Rows)
}

// prepare returns the page and a composition with the dashboard and the components. It loads them only if one of
// them was written: every writer of a dashboard or component renders the pages that show it, so the former ones are
// right or that writer corrects them.
func (c *Catalog) prepare(ctx context.Context, former *Page, current *issue, dashboardID string, written []cause, now time.Time) (*composition, Page, error) {
	page := *former
	page.Rows = slices.Clone(former.Rows)
	ofEvent := func(w cause) bool { return w.event != "" }
	if current != nil && !slices.ContainsFunc(written, func(w cause) bool { return !ofEvent(w) }) {
		was := &current.state
		m := c.begin(was, was.Snapshot.Dashboard, was.OrganizationID, slices.Clone(was.Snapshot.Components), now)
		m.state.Snapshot.URL, m.state.Snapshot.FeedKey = was.Snapshot.URL, was.Snapshot.FeedKey
		return m, page, nil
	}
	dashboard, err := c.store.Dashboards.Get(ctx, dashboardID)
	if err != nil {
		return nil, Page{}, err
	}
	dashboard.complete()
	var was *State
	if current != nil {
		was = &current.state
	}
	rows, components, err := c.rows(ctx, former, was, &dashboard, written)
	if err != nil {
		return nil, Page{}, err
	}
	page.DashboardID, page.Slug, page.Hosts, page.Enabled, page.Private = dashboard.ID, dashboard.Slug, dashboard.CustomDomains, dashboard.Enabled, dashboard.Access.private()
	page.Rows, page.Entry, page.Removed = rows, c.entrance(&dashboard), false
	m := c.begin(was, dashboard, dashboard.OrganizationID, components, now)
	m.loaded = true
	m.state.Snapshot.URL, m.state.Snapshot.FeedKey = c.publication.URL(&dashboard), page.Entry.FeedKey
	return m, page, nil
}

// see notes the versions of written events.
func (p *Page) see(written []cause, now time.Time) {
	versions := map[string]int64{}
	for _, w := range written {
		if w.event != "" {
			versions[w.event] = max(versions[w.event], w.version(), lastSeen(p.Seen, w.event))
		}
	}
	p.Seen = slices.DeleteFunc(slices.Clone(p.Seen), func(s Seen) bool {
		return versions[s.EventID] > 0 || s.At.Before(now.Add(-seenFor))
	})
	for id, version := range versions {
		p.Seen = append(p.Seen, Seen{id, version, now})
	}
}

// entrance returns what decides who sees the page of a dashboard.
func (c *Catalog) entrance(d *Dashboard) Entrance {
	entry := Entrance{Mode: d.Access.Mode, AllowedIPs: d.Access.AllowedIPs}
	if !d.Access.private() {
		return entry
	}
	version := d.ID + "/" + string(d.Access.Mode) + "/" + strings.Join(d.Access.AllowedIPs, ",")
	if d.Access.PasswordSetAt != nil {
		version += "/" + d.Access.PasswordSetAt.Format(time.RFC3339Nano)
	}
	if d.Access.Mode == AccessPassword {
		entry.Password = c.publication.Sign("page password", version)
	}
	entry.FeedKey = c.publication.Sign("page feeds", version)
	return entry
}

// rows returns the rows and the components of a page. It loads a component that both have only if it is in written. A
// page with many rows then costs little more than a page with few.
func (c *Catalog) rows(ctx context.Context, former *Page, was *State, dashboard *Dashboard, written []cause) ([]Row, []ShownComponent, error) {
	kept := &Page{}
	shown := map[string]ShownComponent{}
	if was != nil {
		kept = former
		for _, component := range was.Snapshot.Components {
			shown[component.ID] = component
		}
	}
	rows, stale := kept.kept(dashboard.ComponentIDs(), each(written, func(w cause) string { return w.component }))
	fresh, err := c.componentsOf(ctx, dashboard.OrganizationID, stale)
	if err != nil {
		return nil, nil, err
	}
	for _, component := range fresh {
		if component.Hidden {
			continue
		}
		rows = append(rows, Row{
			ComponentID: component.ID, LegacyID: component.LegacyID, Name: component.Name, OwnGroup: component.Group,
			Description: component.Description, Status: RowOperational,
		})
		one := shown[component.ID]
		one.ID, one.LegacyID, one.Name, one.Description = component.ID, component.LegacyID, component.Name, component.Description
		one.Since, one.UpdatedAt = component.Since(), component.UpdatedAt
		shown[component.ID] = one
	}
	byID := make(map[string]*Row, len(rows))
	for i := range rows {
		rows[i].OwnGroup = cmp.Or(rows[i].OwnGroup, rows[i].Group)
		byID[rows[i].ComponentID] = &rows[i]
	}
	var components []ShownComponent
	for _, placement := range dashboard.Components {
		if row := byID[placement.ComponentID]; row != nil {
			row.Group = cmp.Or(placement.GroupName, row.OwnGroup)
			one := shown[row.ComponentID]
			one.Group = row.Group
			components = append(components, one)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name), cmp.Compare(a.LegacyID, b.LegacyID))
	})
	return rows, components, nil
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
			if impact := events[i].ImpactOn(link); impact.Worse(health.Status) {
				health.Status = impact
			}
			health.EventIDs = append(health.EventIDs, events[i].ID)
			healths[link.ComponentID] = health
		}
	}
	return healths, err
}
