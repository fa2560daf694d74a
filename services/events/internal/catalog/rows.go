package catalog

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// EventFacts is the part of an event by which the legacy lists of links and updates are filtered. Each row holds a
// copy, so that such a filter is one indexed query.
type EventFacts struct {
	LegacyID                int64      `json:"legacyId"`
	Type                    EventType  `json:"type"`
	Status                  Status     `json:"status"`
	Severity                string     `json:"severity"`
	Description             string     `json:"description"`
	DescriptionMarkdown     bool       `json:"descriptionMarkdown"`
	Impact                  string     `json:"impact"`
	ImpactMarkdown          bool       `json:"impactMarkdown"`
	Coordinator             string     `json:"coordinator"`
	CoordinatorMarkdown     bool       `json:"coordinatorMarkdown"`
	Start                   time.Time  `json:"start"`
	End                     *time.Time `json:"end"`
	Auto                    bool       `json:"auto"`
	HiddenFromDashboard     bool       `json:"hiddenFromDashboard"`
	HiddenFromUptimeReports bool       `json:"hiddenFromUptimeReports"`
	Author                  int64      `json:"author"`
	Published               bool       `json:"published"`
}

func (e *Event) Facts() EventFacts {
	return EventFacts{
		LegacyID: e.LegacyID, Type: e.Type, Status: e.Status, Severity: e.Severity,
		Description: e.BriefDescription(), DescriptionMarkdown: e.Description.IsMarkdown(),
		Impact: e.Impact.Brief(BriefExtra), ImpactMarkdown: e.Impact.IsMarkdown(),
		Coordinator: e.Coordinator.Brief(BriefExtra), CoordinatorMarkdown: e.Coordinator.IsMarkdown(),
		Start: e.StartAt, End: e.End(), Auto: e.AutoStart && e.AutoEnd, HiddenFromDashboard: e.HiddenFromDashboard,
		HiddenFromUptimeReports: e.HiddenFromUptimeReports, Author: e.CreatedBy.LegacyUserID, Published: e.Published,
	}
}

// LinkRow is a link of an event for the legacy list of links. Its key is EventID and ComponentID.
type LinkRow struct {
	LegacyID       int64      `json:"legacyId"`
	OrganizationID string     `json:"organizationId"`
	EventID        string     `json:"eventId"`
	ComponentID    string     `json:"componentId"`
	Event          EventFacts `json:"event"`
}

// UpdateRow is a timeline entry of an event for the legacy list of updates. Its key is StatusID.
type UpdateRow struct {
	StatusID       string     `json:"statusId"`
	LegacyID       int64      `json:"legacyId"`
	OrganizationID string     `json:"organizationId"`
	EventID        string     `json:"eventId"`
	Status         Status     `json:"status"`
	Text           string     `json:"text"`
	Markdown       bool       `json:"markdown"`
	Date           time.Time  `json:"date"`
	Author         int64      `json:"author"`
	Event          EventFacts `json:"event"`
}

func UpdateRowOf(e *Event, entry Entry) UpdateRow {
	return UpdateRow{
		StatusID: entry.StatusID, LegacyID: entry.LegacyID, OrganizationID: e.OrganizationID, EventID: e.ID,
		Status: entry.Status, Text: entry.Message.Brief(BriefText), Markdown: entry.Message.IsMarkdown(),
		Date: entry.Timestamp, Author: entry.Author.LegacyUserID, Event: e.Facts(),
	}
}

// EventWritten updates what follows from an event: the pages that show it, the rows of its links and timeline
// entries, and its own links to components that were removed while the event was being written, too late for the
// removal to find them. current is nil for a deleted event.
//
// Pages are rendered before the link rows are written, because the former rows say which pages showed the event. A page
// knows the version of the event that it follows (Seen), so repeating an interrupted call completes it.
func (c *Catalog) EventWritten(ctx context.Context, id string, current *Event) error {
	var links find.Page[LinkRow]
	var updates find.Page[UpdateRow]
	ofEvent := find.Query{Where: []find.Condition{find.Eq(FieldEvent, id)}}
	if err := together(
		func() (err error) { links, err = c.store.Links.Find(ctx, ofEvent); return err },
		func() (err error) { updates, err = c.store.Updates.Find(ctx, ofEvent); return err },
	); err != nil {
		return err
	}
	var gone []string
	wantedLinks, wantedUpdates := map[int64]LinkRow{}, map[int64]UpdateRow{}
	if current != nil {
		for _, link := range current.Links {
			wantedLinks[link.LegacyID] = LinkRow{
				LegacyID: link.LegacyID, OrganizationID: current.OrganizationID, EventID: id, ComponentID: link.ComponentID,
				Event: current.Facts(),
			}
		}
		for _, entry := range current.Timeline {
			wantedUpdates[entry.LegacyID] = UpdateRowOf(current, entry)
		}
		var err error
		if gone, err = c.dropGone(ctx, current.OrganizationID, links.Items, wantedLinks); err != nil {
			return err
		}
	}
	if err := c.publishEvent(ctx, id, links.Items, current); err != nil {
		return err
	}
	err := together(
		func() error {
			return replaceRows(ctx, c.store.Links, id, links.Items, wantedLinks, func(row LinkRow) int64 { return row.LegacyID })
		},
		func() error {
			return replaceRows(ctx, c.store.Updates, id, updates.Items, wantedUpdates, func(row UpdateRow) int64 { return row.LegacyID })
		},
	)
	if err != nil || len(gone) == 0 {
		return err
	}
	return c.unlink(ctx, current.OrganizationID, id, gone...)
}

// dropGone removes wanted rows whose component does not exist, and returns these components. It examines new links
// only: when a link has a row, a removal of the component finds it.
func (c *Catalog) dropGone(ctx context.Context, organization string, there []LinkRow, wanted map[int64]LinkRow) (gone []string, err error) {
	fresh := maps.Clone(wanted)
	for _, row := range there {
		delete(fresh, row.LegacyID)
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	var ids []string
	for _, row := range fresh {
		ids = append(ids, row.ComponentID)
	}
	components, err := c.store.ComponentsOf(ctx, organization, ids)
	for id, row := range fresh {
		if _, exists := components[row.ComponentID]; !exists && err == nil {
			gone = append(gone, row.ComponentID)
			delete(wanted, id)
		}
	}
	return gone, err
}

// replaceRows makes the rows of an event the wanted ones. It writes only those that differ.
func replaceRows[R any](ctx context.Context, rows Rows[R], event string, there []R, wanted map[int64]R, id func(R) int64) error {
	var gone []int64
	for _, row := range there {
		if want, stays := wanted[id(row)]; !stays {
			gone = append(gone, id(row))
		} else if reflect.DeepEqual(row, want) {
			delete(wanted, id(row))
		}
	}
	if len(gone) > 0 {
		where := []find.Condition{find.Eq(FieldEvent, event), find.In(FieldLegacyID, gone...)}
		if _, err := rows.DeleteMany(ctx, find.Query{Where: where}); err != nil {
			return err
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return rows.UpsertMany(ctx, slices.SortedFunc(maps.Values(wanted), func(a, b R) int { return int(id(a) - id(b)) }))
}

// EventID returns the id of the organization's event with the legacy id, or NotFound.
func (c *Catalog) EventID(ctx context.Context, organization string, legacyID int64) (string, error) {
	event, err := byLegacyID[Event](ctx, c.store.Events, organization, legacyID)
	return event.ID, err
}

// Event returns the organization's event with the id, or NotFound.
func (c *Catalog) Event(ctx context.Context, organization, id string) (EventDetail, error) {
	event, err := c.store.EventOf(ctx, organization, id)
	if err != nil {
		return EventDetail{}, err
	}
	var near affected
	err = near.read(ctx, c, &event)
	return near.detail(event), err
}

// EventByLegacyID returns the organization's event with the legacy id, or NotFound.
func (c *Catalog) EventByLegacyID(ctx context.Context, organization string, legacyID int64) (EventDetail, error) {
	event, err := byLegacyID[Event](ctx, c.store.Events, organization, legacyID)
	if err != nil {
		return EventDetail{}, err
	}
	components, err := c.store.ComponentsOf(ctx, organization, event.ComponentIDs())
	return EventDetail{Event: event, Components: components}, err
}

// ListEvents returns the events that the query finds, page by page, and their number before its Limit and Offset.
func (c *Catalog) ListEvents(ctx context.Context, organization string, query find.Query) (Pages[EventDetail], int64, error) {
	query.Scan = eventsIndex(query)
	return listed(ctx, c.store.Events, organization, query, func(e *Event) int64 { return e.LegacyID }, func(events []Event) ([]EventDetail, error) {
		var ids []string
		for i := range events {
			ids = append(ids, events[i].ComponentIDs()...)
		}
		components, err := c.store.ComponentsOf(ctx, organization, ids)
		return each(events, func(event Event) EventDetail { return EventDetail{Event: event, Components: components} }), err
	})
}

// eventsIndex returns the index of a condition on ids or children, which few events satisfy, else the query's own.
func eventsIndex(query find.Query) string {
	best := query.Scan
	for _, condition := range query.Where {
		switch {
		case condition.Field == FieldID && (condition.Op == find.OpEq || condition.Op == find.OpIn):
			return IndexID
		case condition.Field == FieldLinks && condition.Op == find.OpHas:
			best = IndexLink
		case condition.Field == FieldComponents && condition.Op == find.OpHas && best != IndexLink:
			best = IndexComponent
		}
	}
	return best
}

// EventsWithUpdate returns the ids of the events that have a timeline entry which satisfies all conditions.
func (c *Catalog) EventsWithUpdate(ctx context.Context, organization string, where []find.Condition) ([]string, error) {
	return eventsOf(ctx, c.store.Updates, organization, where, func(row UpdateRow) string { return row.EventID })
}

// EventsWithLink returns the ids of the events that have a link which satisfies all conditions.
func (c *Catalog) EventsWithLink(ctx context.Context, organization string, where []find.Condition) ([]string, error) {
	return eventsOf(ctx, c.store.Links, organization, where, func(row LinkRow) string { return row.EventID })
}

func eventsOf[R any](ctx context.Context, rows Rows[R], organization string, where []find.Condition, event func(R) string) ([]string, error) {
	var ids []string
	query := owned(organization, find.Query{Where: where, Order: []find.Order{{Field: FieldLegacyID}}, Scan: IndexLegacyID})
	err := rows.Each(ctx, query, func(row R) error {
		ids = append(ids, event(row))
		return nil
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

type LinkDetail struct {
	LinkRow
	Component Component
}

// Link returns the organization's link with the legacy id, or NotFound.
func (c *Catalog) Link(ctx context.Context, organization string, legacyID int64) (LinkRow, error) {
	return byLegacyID[LinkRow](ctx, c.store.Links, organization, legacyID)
}

// Update returns the organization's timeline entry with the legacy id, or NotFound.
func (c *Catalog) Update(ctx context.Context, organization string, legacyID int64) (UpdateRow, error) {
	return byLegacyID[UpdateRow](ctx, c.store.Updates, organization, legacyID)
}

// ListLinks is like ListEvents.
func (c *Catalog) ListLinks(ctx context.Context, organization string, query find.Query) (Pages[LinkDetail], int64, error) {
	return listed(ctx, c.store.Links, organization, query, func(l *LinkRow) int64 { return l.LegacyID }, func(rows []LinkRow) ([]LinkDetail, error) {
		components, err := c.store.ComponentsOf(ctx, organization, each(rows, func(row LinkRow) string { return row.ComponentID }))
		details := make([]LinkDetail, 0, len(rows))
		for _, row := range rows {
			if component, there := components[row.ComponentID]; there { // else it is being removed
				details = append(details, LinkDetail{LinkRow: row, Component: component})
			}
		}
		return details, err
	})
}

// ListUpdates is like ListEvents.
func (c *Catalog) ListUpdates(ctx context.Context, organization string, query find.Query) (Pages[UpdateRow], int64, error) {
	return listed(ctx, c.store.Updates, organization, query, func(u *UpdateRow) int64 { return u.LegacyID }, whole[UpdateRow])
}
