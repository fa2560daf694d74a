package edition

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

const (
	// dayEndWait is how long a visitor's request waits for the page of a new day. A gateway waits longer for a response.
	dayEndWait = 250 * time.Millisecond
	// dayEndPause is the time after a failed rendering in which no request renders the page of the dashboard for a new
	// day.
	dayEndPause = 5 * time.Second
	maxDayEnds  = 100_000 // maximum number of dashboards whose pause is in memory
)

var dayEndFailed = failurelog.Cause{Message: "The page of a new day cannot be rendered yet. Visitors see the page of the former day."} // never changes

// current returns page, or renders it again if it is overdue. If only the day has ended and the rendering fails or
// takes longer than dayEndWait, it returns page: yesterday's page is better than none. If err is not nil, it returns
// page and err.
func (e *Editions) current(ctx context.Context, page PublishedPage, err error) (PublishedPage, error) {
	now := e.Now()
	switch until, paused := e.dayEnds.Get(page.DashboardID); {
	case err == nil && paused && !page.overdue(now):
		e.dayEnds.Remove(page.DashboardID)
		e.outages.Over(ctx, dayEndFailed)
		return page, nil
	case err != nil || !page.overdue(now):
		return page, err
	case passed(page.ChangesAt, now):
		return e.render(ctx, page.DashboardID)
	case paused && now.Before(until):
		return page, nil
	}
	waiting, cancel := context.WithTimeout(ctx, dayEndWait)
	defer cancel()
	next, err := e.render(waiting, page.DashboardID) // the rendering continues after waiting has ended
	if fault.UnlessMissing(err) == nil {
		e.outages.Over(ctx, dayEndFailed)
		return next, err
	}
	if ctx.Err() == nil {
		e.outages.Failed(ctx, dayEndFailed, err, "dashboard", page.DashboardID)
		e.dayEnds.Add(page.DashboardID, now.Add(dayEndPause))
	}
	return page, nil
}

// render renders and stores the page of a dashboard. The page is composed inside the guarded write, so each rendering
// starts from the result of the previous one. The function of the write also inserts the parts of the edition, although
// such a function should have no other effect. This does no harm: if the page is not written, no page names these
// parts, and sweep deletes them. If a record was written, render writes the page even if nothing differs, unless Seen
// already has the version of the record. Otherwise an older rendering of another process could still replace the page.
func (e *Editions) render(ctx context.Context, dashboardID string, written ...catalog.Written) (PublishedPage, error) {
	return catalog.Share(ctx, &e.renders, dashboardID, written, func(ctx context.Context, written []catalog.Written) (PublishedPage, error) {
		var made *decodedEdition
		page, err := e.store.Pages.Upsert(ctx, dashboardID, func(page *PublishedPage, _ bool) ([]topic.Message, error) {
			made = nil
			next, edition, err := e.compose(ctx, page, dashboardID, written)
			if err != nil {
				return nil, err
			}
			*page, made = next, edition
			return nil, nil
		})
		if err == nil && made != nil {
			e.decoded.add(made)
		}
		return page, err
	})
}

// compose returns the next page, and stores its edition if the edition is new. It returns fault.ErrUnchanged if the
// former page is not due and shows all written records already.
func (e *Editions) compose(ctx context.Context, former *PublishedPage, dashboardID string, written []catalog.Written) (PublishedPage, *decodedEdition, error) {
	now := e.Now()
	var current *decodedEdition
	if former.EditionID != "" {
		var err error
		if current, err = e.edition(ctx, former.EditionID); fault.UnlessMissing(err) != nil {
			return PublishedPage{}, nil, err
		}
		now = notBefore(current, now)
	}
	due := former.ExpiresAt == nil || passed(former.ExpiresAt, now) || former.overdue(now)
	fresh := func(w catalog.Written) bool { return w.Event == "" || lastSeen(former.Seen, w.Event) < w.Version() }
	if current != nil && !due && !slices.ContainsFunc(written, fresh) {
		return PublishedPage{}, nil, fault.ErrUnchanged
	}
	m, page, err := e.prepare(ctx, former, current, dashboardID, written, now)
	if err != nil {
		return PublishedPage{}, nil, err
	}
	for _, w := range written {
		page.Aliases = max(page.Aliases, w.Aliases)
	}
	m.aliased = page.Aliases > former.Aliases
	if err := m.follow(ctx, written, former.Seen, due); err != nil {
		return PublishedPage{}, nil, err
	}
	page.see(written, now)
	if !m.changed {
		page.setStatuses(&current.state)
		return page, nil, nil
	}
	m.finish()
	m.state.Snapshot.Edition = former.Edition + 1
	made, err := e.insertEdition(ctx, &page, m, current)
	if err != nil {
		return PublishedPage{}, nil, err
	}
	page.setStatuses(&m.state)
	page.EditionID, page.Edition = made.ID, made.Number
	page.Indicator = overallOf(m.state.Snapshot.Components, m.state.active()).Indicator()
	page.ChangesAt, page.DayEndsAt, page.ExpiresAt, page.ClaimedUntil = m.state.nextChange(), new(m.calendar.Today().To), new(m.expires()), nil
	page.SweepAt = cmp.Or(page.SweepAt, new(now.Add(sweepAfter)))
	return page, made, nil
}

// notBefore returns now, or the time of the current edition if this time is less than a minute later. Then the process
// that made the edition has a fast clock. Without notBefore, an event that has just begun by this fast clock would not
// be on the page.
func notBefore(current *decodedEdition, now time.Time) time.Time {
	const ahead = time.Minute // a clock that is further ahead is wrong, and must not stop the time of pages
	if current != nil && current.state.Snapshot.At.After(now) && current.state.Snapshot.At.Sub(now) < ahead {
		return current.state.Snapshot.At
	}
	return now
}

func (p *PublishedPage) setStatuses(of *State) {
	statuses := of.statuses()
	for i := range p.Rows {
		p.Rows[i].Status = cmp.Or(statuses[p.Rows[i].ComponentID], ListedOperational)
	}
	p.List = digest(p.Rows)
}

// prepare returns the page and a composition with the dashboard and the components. It loads the dashboard and the
// components only if there is no current edition, if the state is outdated, or if a record other than an event was
// written. Every writer of a dashboard or component renders the pages that show it, so the former values are right or
// that writer corrects them.
func (e *Editions) prepare(ctx context.Context, former *PublishedPage, current *decodedEdition, dashboardID string, written []catalog.Written, now time.Time) (*composition, PublishedPage, error) {
	page := *former
	page.Rows = slices.Clone(former.Rows)
	ofEvent := func(w catalog.Written) bool { return w.Event != "" }
	if current != nil && !current.state.outdated() && !slices.ContainsFunc(written, func(w catalog.Written) bool { return !ofEvent(w) }) {
		was := &current.state
		m := e.begin(was, was.Snapshot.Dashboard, was.OrganizationID, slices.Clone(was.Snapshot.Components), now)
		m.state.Snapshot.URL, m.state.Snapshot.FeedKey = was.Snapshot.URL, was.Snapshot.FeedKey
		return m, page, nil
	}
	dashboard, err := e.records.Dashboards.Get(ctx, dashboardID)
	if err != nil {
		return nil, PublishedPage{}, err
	}
	return e.prepareFrom(ctx, former, current, dashboard, written, now)
}

// prepareFrom is like prepare, with a dashboard that the caller has loaded. See rows for the components that it loads.
func (e *Editions) prepareFrom(ctx context.Context, former *PublishedPage, current *decodedEdition, dashboard catalog.Dashboard, written []catalog.Written, now time.Time) (*composition, PublishedPage, error) {
	page := *former
	var was *State
	if current != nil {
		was = &current.state
	}
	rows, components, err := e.rows(ctx, former, was, &dashboard, written)
	if err != nil {
		return nil, PublishedPage{}, err
	}
	page.DashboardID, page.Slug, page.Hosts, page.Enabled, page.Private = dashboard.ID, dashboard.Slug, e.Addresses.Hosts(&dashboard), dashboard.Enabled, dashboard.Access.Private()
	page.Rows, page.Access, page.Removed = rows, e.accessOf(&dashboard), false
	m := e.begin(was, dashboard, dashboard.OrganizationID, components, now)
	m.loaded = true
	m.state.Snapshot.URL, m.state.Snapshot.FeedKey = e.Addresses.URL(&dashboard), page.Access.FeedKey
	return m, page, nil
}

// accessOf returns the PageAccess of a dashboard.
func (e *Editions) accessOf(d *catalog.Dashboard) PageAccess {
	entry := PageAccess{Mode: d.Access.Mode, AllowedIPs: d.Access.AllowedIPs}
	if !d.Access.Private() {
		return entry
	}
	version := d.ID + "/" + string(d.Access.Mode) + "/" + strings.Join(d.Access.AllowedIPs, ",")
	if d.Access.PasswordSetAt != nil {
		version += "/" + d.Access.PasswordSetAt.Format(time.RFC3339Nano)
	}
	if d.Access.Mode == catalog.AccessPassword {
		entry.Password = seal.Sign(e.Secret, "page password", version)
	}
	entry.FeedKey = seal.Sign(e.Secret, "page feeds", version)
	return entry
}

// rows returns the rows and the components of a page. It loads a component only if it is in written, if the former page
// has no row for it, or if there is no state or the state is outdated. So a page with many rows costs little more than
// a page with few.
func (e *Editions) rows(ctx context.Context, former *PublishedPage, was *State, dashboard *catalog.Dashboard, written []catalog.Written) ([]ListedComponent, []ShownComponent, error) {
	kept := &PublishedPage{}
	shown := map[string]ShownComponent{}
	if was != nil {
		if !was.outdated() {
			kept = former
		}
		for _, component := range was.Snapshot.Components {
			shown[component.ID] = component
		}
	}
	rows, stale := kept.kept(dashboard.ComponentIDs(), written)
	fresh, err := e.records.ComponentsOf(ctx, dashboard.OrganizationID, stale)
	if err != nil {
		return nil, nil, err
	}
	for _, component := range fresh {
		if component.Hidden {
			continue
		}
		rows = append(rows, ListedComponent{
			ComponentID: component.ID, LegacyID: component.LegacyID, Name: component.Name, OwnGroup: component.Group,
			Description: component.Description, Status: ListedOperational,
		})
		shown[component.ID] = shown[component.ID].of(&component)
	}
	byID := make(map[string]*ListedComponent, len(rows))
	for i := range rows {
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
	slices.SortFunc(rows, func(a, b ListedComponent) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name), cmp.Compare(a.LegacyID, b.LegacyID))
	})
	return rows, components, nil
}

// of adds to s what visitors see of the component's record, and returns s.
func (s ShownComponent) of(component *catalog.Component) ShownComponent {
	s.ID, s.LegacyID, s.PublicID, s.Name, s.Description = component.ID, component.LegacyID, component.PublicID, component.Name, component.Description
	s.Since, s.UpdatedAt = component.Since(), component.UpdatedAt
	s.byHand(component)
	return s
}

// Follow renders the pages of dashboards after records were written.
func (e *Editions) Follow(ctx context.Context, dashboards []string, written ...catalog.Written) error {
	for _, id := range dashboards {
		if _, err := e.render(ctx, id, written...); fault.UnlessMissing(err) != nil {
			return err
		}
	}
	return nil
}

// Withdraw marks the page of a deleted dashboard as removed. The scheduler deletes the page.
func (e *Editions) Withdraw(ctx context.Context, dashboard string) error {
	_, err := e.store.Pages.Upsert(ctx, dashboard, func(page *PublishedPage, _ bool) ([]topic.Message, error) {
		*page = PublishedPage{DashboardID: dashboard, Removed: true, SweepAt: new(e.Now().Add(sweepAfter))}
		return nil, nil
	})
	return err
}

// Differ reports whether visitors of any dashboard see a difference between two states of an event.
func (e *Editions) Differ(before, after *catalog.Event) bool {
	return !reflect.DeepEqual(shownOnAll(before), shownOnAll(after)) || !slices.Equal(before.DashboardIDs, after.DashboardIDs)
}
