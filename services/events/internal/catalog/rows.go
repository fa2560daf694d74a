package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

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
}

// Facts are those of the event.
func (e *Event) Facts() EventFacts {
	return EventFacts{
		LegacyID: e.LegacyID, Type: e.Type, Status: e.Status, Severity: e.Severity,
		Description: e.Description.Text, DescriptionMarkdown: e.Description.IsMarkdown(),
		Impact: e.Impact.Text, ImpactMarkdown: e.Impact.IsMarkdown(),
		Coordinator: e.Coordinator.Text, CoordinatorMarkdown: e.Coordinator.IsMarkdown(),
		Start: e.StartAt, End: e.End(), Auto: e.Auto(), HiddenFromDashboard: e.HiddenFromDashboard,
		HiddenFromUptimeReports: e.HiddenFromUptimeReports, Author: e.CreatedBy.LegacyUserID,
	}
}

// LinkRow is a link of an event for the list of links. Its key is EventID and ComponentID.
type LinkRow struct {
	LegacyID       int64      `json:"legacyId"`
	OrganizationID string     `json:"organizationId"`
	EventID        string     `json:"eventId"`
	ComponentID    string     `json:"componentId"`
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
		LegacyID: link.LegacyID, OrganizationID: e.OrganizationID, EventID: e.ID, ComponentID: link.ComponentID, Event: e.Facts(),
	}
}

func updateRow(e *Event, entry Entry) UpdateRow {
	return UpdateRow{
		StatusID: entry.StatusID, LegacyID: entry.LegacyID, OrganizationID: e.OrganizationID, EventID: e.ID,
		Status: entry.Status, Text: entry.Message.Text, Markdown: entry.Message.IsMarkdown(),
		Date: entry.Timestamp, Author: entry.Author.LegacyUserID, Event: e.Facts(),
	}
}

// EventWritten brings up to date what follows from an event: the pages that show it, the
// rows of its links and updates, and its own links to components that are gone. current
// is nil when the event was deleted. Repeating it does no harm: the pages come before the
// rows, which say where the event was shown before.
func (c *Catalog) EventWritten(ctx context.Context, id string, current *Event) error {
	links, err := c.linksOf(ctx, id)
	if err != nil {
		return err
	}
	if err := c.rerender(ctx, links, current); err != nil {
		return err
	}
	wantedLinks, wantedUpdates := map[int64]LinkRow{}, map[int64]UpdateRow{}
	if current != nil {
		for _, link := range current.Links {
			wantedLinks[link.LegacyID] = linkRow(current, link)
		}
		for _, entry := range current.Timeline {
			wantedUpdates[entry.LegacyID] = updateRow(current, entry)
		}
	}
	updates, err := c.updatesOf(ctx, id)
	if err != nil {
		return err
	}
	if err := errors.Join(
		settle(ctx, c.store.Links, id, links, wantedLinks, func(row LinkRow) int64 { return row.LegacyID }, LinkRow.same),
		settle(ctx, c.store.Updates, id, updates, wantedUpdates, func(row UpdateRow) int64 { return row.LegacyID }, UpdateRow.same),
	); err != nil || current == nil {
		return err
	}
	return c.unlinkGone(ctx, current)
}

func (r LinkRow) same(other LinkRow) bool {
	return r.LegacyID == other.LegacyID && r.ComponentID == other.ComponentID && r.Event.same(other.Event)
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
