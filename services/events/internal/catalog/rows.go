package catalog

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// EventFacts are what the legacy lists of links and updates are filtered by of their
// event (event__type__type=...). They are copied into the rows so that such a filter is
// one indexed query.
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

// Facts are those of the event.
func (e *Event) Facts() EventFacts {
	return EventFacts{
		LegacyID: e.LegacyID, Type: e.Type, Status: e.Status, Severity: e.Severity,
		Description: e.Description.Text, DescriptionMarkdown: e.Description.IsMarkdown(),
		Impact: e.Impact.Text, ImpactMarkdown: e.Impact.IsMarkdown(),
		Coordinator: e.Coordinator.Text, CoordinatorMarkdown: e.Coordinator.IsMarkdown(),
		Start: e.StartAt, End: e.End(), Auto: e.Auto(), HiddenFromDashboard: e.HiddenFromDashboard,
		HiddenFromUptimeReports: e.HiddenFromUptimeReports, Author: e.CreatedBy.LegacyUserID, Published: e.Published,
	}
}

// LinkRow is a link of an event for the list of links. Its key is EventID and ComponentID.
type LinkRow struct {
	LegacyID       int64      `json:"legacyId"`
	OrganizationID string     `json:"organizationId"`
	EventID        string     `json:"eventId"`
	ComponentID    string     `json:"componentId"`
	Version        int64      `json:"version"` // of the event it was written for
	Event          EventFacts `json:"event"`
}

// UpdateRow is an update of an event for the list of updates. Its key is StatusID.
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

func linkRow(e *Event, link Link) LinkRow {
	return LinkRow{
		LegacyID: link.LegacyID, OrganizationID: e.OrganizationID, EventID: e.ID, ComponentID: link.ComponentID,
		Version: e.Version, Event: e.Facts(),
	}
}

func updateRow(e *Event, entry Entry) UpdateRow {
	return UpdateRow{
		StatusID: entry.StatusID, LegacyID: entry.LegacyID, OrganizationID: e.OrganizationID, EventID: e.ID,
		Status: entry.Status, Text: entry.Message.Text, Markdown: entry.Message.IsMarkdown(),
		Date: entry.Timestamp, Author: entry.Author.LegacyUserID, Event: e.Facts(),
	}
}

// EventWritten brings up to date what follows from an event as it is stored now: the pages
// that show it, the rows of its links and updates, and its own links to components that are
// gone. Of several writes of an event at once none is answered before the rows are those of
// the last one, so no later reader sees what an earlier one is about to write.
func (c *Catalog) EventWritten(ctx context.Context, id string) error {
	current, err := c.follow.share(ctx, id, nil, func(ctx context.Context, _ []struct{}) (*Event, error) {
		event, err := c.store.Events.Get(ctx, id)
		switch {
		case fault.Is(err, fault.NotFound):
			return nil, c.settleEvent(ctx, id, nil)
		case err != nil:
			return nil, err
		}
		return &event, c.settleEvent(ctx, id, &event)
	})
	if err != nil || current == nil {
		return err
	}
	return c.unlinkGone(ctx, current)
}

// settleEvent renders the pages and writes the rows. current is nil when the event was deleted.
//
// Pages are rendered before the rows of its links, which say what of the event was shown
// where when they were written; so wherever this breaks off, repeating it completes it. A
// page is left as it is only when the rows are those of the change right before this one
// and it shows nothing new: rows of any other change mean that writers overtook each
// other here, and say nothing sure of the page.
func (c *Catalog) settleEvent(ctx context.Context, id string, current *Event) error {
	links, err := c.linksOf(ctx, id)
	if err != nil {
		return err
	}
	wanted := map[int64]LinkRow{}
	if current != nil {
		for _, link := range current.Links {
			wanted[link.LegacyID] = linkRow(current, link)
		}
	}
	if !follows(current, links) || !maps.EqualFunc(shown(slices.Values(links)), shown(maps.Values(wanted)), showing.same) {
		if err := c.rerender(ctx, links, current); err != nil {
			return err
		}
	}
	return together(
		func() error { return settle(ctx, c.store.Links, id, links, wanted, linkID, LinkRow.same) },
		func() error { return c.settleUpdates(ctx, id, current) },
	)
}

// follows reports whether the rows are those of the change right before current.
func follows(current *Event, rows []LinkRow) bool {
	return current != nil && len(rows) > 0 &&
		!slices.ContainsFunc(rows, func(row LinkRow) bool { return row.Version != current.Version-1 })
}

// showing is what visitors are told of an event on one of its components.
type showing struct {
	eventType EventType
	from      time.Time
}

func (s showing) same(other showing) bool {
	return s.eventType == other.eventType && s.from.Equal(other.from)
}

// shown is what rows of links say that visitors are told, by component.
func shown(rows iter.Seq[LinkRow]) map[string]showing {
	told := map[string]showing{}
	for row := range rows {
		if row.Event.Published && !row.Event.HiddenFromDashboard && row.Event.Status.underway() {
			told[row.ComponentID] = showing{row.Event.Type, row.Event.Start}
		}
	}
	return told
}

func (c *Catalog) settleUpdates(ctx context.Context, id string, current *Event) error {
	there, err := c.updatesOf(ctx, id)
	if err != nil {
		return err
	}
	wanted := map[int64]UpdateRow{}
	if current != nil {
		for _, entry := range current.Timeline {
			wanted[entry.LegacyID] = updateRow(current, entry)
		}
	}
	return settle(ctx, c.store.Updates, id, there, wanted, updateID, UpdateRow.same)
}

func linkID(row LinkRow) int64 { return row.LegacyID }

func updateID(row UpdateRow) int64 { return row.LegacyID }

func (r LinkRow) same(other LinkRow) bool {
	return r.LegacyID == other.LegacyID && r.ComponentID == other.ComponentID && r.Version == other.Version && r.Event.same(other.Event)
}

func (r UpdateRow) same(other UpdateRow) bool {
	return r.StatusID == other.StatusID && r.Status == other.Status && r.Text == other.Text && r.Markdown == other.Markdown &&
		r.Date.Equal(other.Date) && r.Author == other.Author && r.Event.same(other.Event)
}

func (f EventFacts) same(other EventFacts) bool {
	if !f.Start.Equal(other.Start) || !sameTime(f.End, other.End) {
		return false
	}
	f.Start, f.End, other.Start, other.End = time.Time{}, nil, time.Time{}, nil
	return f == other
}

func (c *Catalog) linksOf(ctx context.Context, event string) ([]LinkRow, error) {
	page, err := c.store.Links.Find(ctx, find.Query{Where: []find.Condition{find.Eq("event", event)}})
	return page.Items, err
}

func (c *Catalog) updatesOf(ctx context.Context, event string) ([]UpdateRow, error) {
	page, err := c.store.Updates.Find(ctx, find.Query{Where: []find.Condition{find.Eq("event", event)}})
	return page.Items, err
}

// settle makes the rows of an event what is wanted, writing only those that differ.
func settle[R any](ctx context.Context, rows Rows[R], event string, there []R, wanted map[int64]R, id func(R) int64, same func(R, R) bool) error {
	var gone []int64
	for _, row := range there {
		want, stays := wanted[id(row)]
		switch {
		case !stays:
			gone = append(gone, id(row))
		case same(row, want):
			delete(wanted, id(row))
		}
	}
	if len(gone) > 0 {
		where := []find.Condition{find.Eq("event", event), find.In("legacyId", gone...)}
		if _, err := rows.DeleteMany(ctx, find.Query{Where: where}); err != nil {
			return err
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	fresh := make([]R, 0, len(wanted))
	for _, row := range wanted {
		fresh = append(fresh, row)
	}
	slices.SortFunc(fresh, func(a, b R) int { return int(id(a) - id(b)) })
	return rows.UpsertMany(ctx, fresh)
}

// unlinkGone takes links from an event whose component was removed while the event was
// being written, too late for the removal to see it.
func (c *Catalog) unlinkGone(ctx context.Context, event *Event) error {
	ids := event.ComponentIDs()
	there, err := c.componentsOf(ctx, event.OrganizationID, ids)
	if err != nil || len(there) == len(ids) {
		return err
	}
	return c.unlink(ctx, event.OrganizationID, event.ID, func(componentID string) bool {
		_, stays := there[componentID]
		return !stays
	})
}

// FactField names the find field of one of an event's facts: as it is called on events
// (no prefix), or as it is called on rows of an event's children.
func FactField(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + strings.ToUpper(name[:1]) + name[1:]
}
