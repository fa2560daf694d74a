package catalog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// EventFilter selects the events of a list. A zero field does not filter.
type EventFilter struct {
	Type        EventType
	Status      Status
	Active      *bool
	Publish     *bool      // whether the event is published
	DashboardID string     // only events that affect a component that is on the dashboard now, or whose DashboardIDs have the dashboard
	ComponentID string     // only events that affect the component
	From, To    *time.Time // only events that overlap the time from From (inclusive) to To (exclusive)
	Text        string     // words or parts of words, each of which must be in the title or the plain description; case does not matter
}

func (f *EventFilter) check() error {
	switch {
	case f.From != nil && f.To != nil && !f.From.Before(*f.To):
		return fault.Field("to", "must be after from")
	case len([]rune(f.Text)) > maxSearched:
		return fault.Field("q", "must be at most %d characters", maxSearched)
	}
	return nil
}

const (
	maxSearched = 255
	// maxExamined is how many records one page of a search compares with the text. Then the page ends and has a next page,
	// even if it has fewer records than its limit or none. So a page for a rare word has a bounded cost.
	maxExamined = 1000
	// searchBatch is how many records one query of a search reads.
	searchBatch = 250
)

// Lists find an event by its keys. A key consists of a scope, a selection and a class. The scope is all events, one component,
// or one dashboard of an event without components. The selection is all events, or a type or status together with active,
// inactive or draft. The class is that of the event's length. One index over key and start serves every combination of
// filters, because it has the events of a key in the order of the list. If a filter selects several keys, their events are
// merged.
const (
	keyActive, keyInactive, keyDraft = "+", "-", "~"

	// A list with From also contains events that began before From and ended after it. The class of an event bounds its
	// length, so the query for a class begins this length before From. Every event has keys without a class. Events
	// that are open or longer than lengthShort also have keys with their class.
	classShort, classDays, classYears, classEndless = "", "/days", "/years", "/endless"

	lengthShort = 24 * time.Hour
	lengthDays  = 32 * 24 * time.Hour
	lengthYears = 1024 * 24 * time.Hour
)

// Endless is the end of open events. It is on the last day that times in request bodies can have.
func Endless() time.Time { return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) }

// Until returns the end of the event. It is Endless for an open event, and StartAt for a closed event without any end.
func (e *Event) Until() time.Time {
	end := e.End()
	switch {
	case e.Open():
		return Endless()
	case end == nil:
		return e.StartAt
	}
	return *end
}

// SearchText returns the folded text that a filter with Text searches.
func (e *Event) SearchText() string { return find.Fold(e.Title + "\n" + e.Description.Plain()) }

// ListKeys returns the keys by which lists find the event.
func (e *Event) ListKeys() []string {
	activity := keyInactive
	switch {
	case !e.Published:
		activity = keyDraft
	case e.Status.Underway():
		activity = keyActive
	}
	selections := []string{"", string(e.Type) + activity, string(e.Status) + activity}
	classes := []string{classShort}
	if class := e.lengthClass(); class != classShort {
		classes = append(classes, class)
	}
	return listKeys(slices.Concat(e.ComponentIDs(), e.DashboardIDs, []string{""}), selections, classes...)
}

func (e *Event) lengthClass() string {
	switch length := e.Until().Sub(e.StartAt); {
	case e.Open() || length > lengthYears:
		return classEndless
	case length > lengthDays:
		return classYears
	case length > lengthShort:
		return classDays
	}
	return classShort
}

func listKeys(scopes, selections []string, classes ...string) []string {
	var keys []string
	for _, scope := range scopes {
		for _, selection := range selections {
			for _, class := range classes {
				keys = append(keys, scope+"|"+selection+class)
			}
		}
	}
	return keys
}

// stretch selects the events that have a key with one of the selections and with the class, and whose start is in the
// time between since (inclusive) and before (exclusive). A zero time is no bound.
type stretch struct {
	selections    []string
	class         string
	since, before time.Time
}

// byActivity returns the stretches that the filter selects by type, status, activity and publication.
func (f *EventFilter) byActivity(now time.Time) []stretch {
	kinds := []string{string(Incident), string(Maintenance)}
	switch {
	case f.Status != "" && f.Type != "" && !f.Type.allows(f.Status):
		return nil
	case f.Status != "":
		kinds = []string{string(f.Status)}
	case f.Type != "":
		kinds = []string{string(f.Type)}
	case f.Active == nil && f.Publish == nil:
		return []stretch{{selections: []string{""}}}
	}
	inactive, onlyDrafts := []string{keyInactive, keyDraft}, f.Publish != nil && !*f.Publish
	switch {
	case onlyDrafts:
		inactive = []string{keyDraft}
	case f.Publish != nil:
		inactive = []string{keyInactive}
	}
	with := func(activities ...string) (selections []string) {
		for _, kind := range kinds {
			for _, activity := range activities {
				selections = append(selections, kind+activity)
			}
		}
		return selections
	}
	begun := now.Add(time.Millisecond)
	switch {
	case onlyDrafts && f.Active != nil && *f.Active:
		return nil
	case onlyDrafts:
		return []stretch{{selections: with(inactive...)}}
	case f.Active == nil:
		return []stretch{{selections: with(append(inactive, keyActive)...)}}
	case *f.Active:
		return []stretch{{selections: with(keyActive), before: begun}}
	}
	return []stretch{{selections: with(inactive...)}, {selections: with(keyActive), since: begun}}
}

// byTime returns the stretches that contain the events that overlap the time between From and To. The stretches also
// contain some events that ended before From.
func (f *EventFilter) byTime() []stretch {
	var before time.Time
	if f.To != nil {
		before = *f.To
	}
	if f.From == nil {
		return []stretch{{before: before}}
	}
	ago := func(length time.Duration) time.Time { return f.From.Add(-length) }
	return []stretch{
		{since: ago(lengthShort), before: before},
		{class: classDays, since: ago(lengthDays), before: ago(lengthShort)},
		{class: classYears, since: ago(lengthYears), before: ago(lengthShort)},
		{class: classEndless, before: ago(lengthShort)},
	}
}

func (s stretch) within(other stretch) stretch {
	s.class = other.class
	s.since = uptime.Later(s.since, other.since)
	if s.before.IsZero() || !other.before.IsZero() && other.before.Before(s.before) {
		s.before = other.before
	}
	return s
}

// queries returns queries that together find the events of the list. The result of each query has the order of the
// list. also is further conditions that each event must satisfy.
func (f *EventFilter) queries(organization string, scopes []string, now time.Time, also ...find.Condition) []find.Query {
	var queries []find.Query
	for _, byActivity := range f.byActivity(now) {
		for _, byTime := range f.byTime() {
			part := byActivity.within(byTime)
			for keys := range slices.Chunk(listKeys(scopes, part.selections, part.class), find.MaxMerged) {
				queries = append(queries, owned(organization, find.Query{
					Where: append(part.conditions(keys, f.From), also...), Order: []find.Order{{Field: FieldStart, Descending: true}},
					// The query skips events that it finds in the index but that ended before From or violate a condition
					// in also.
					Scan: IndexListed,
				}))
			}
		}
	}
	return queries
}

func (s stretch) conditions(keys []string, from *time.Time) []find.Condition {
	where := []find.Condition{find.Has(FieldListed, keys...)}
	if !s.since.IsZero() {
		where = append(where, find.Gte(FieldStart, s.since))
	}
	if !s.before.IsZero() {
		where = append(where, find.Lt(FieldStart, s.before))
	}
	if from != nil {
		where = append(where, find.Gt(FieldUntil, *from))
	}
	return where
}

// PageOfEvents returns a page of events, the newest start first. after is Next of the previous page, or empty.
func (c *Catalog) PageOfEvents(ctx context.Context, organization string, filter EventFilter, limit int, after string) (find.Page[EventDetail], error) {
	var page find.Page[EventDetail]
	if err := filter.check(); err != nil {
		return page, err
	}
	scopes, also, err := c.scopes(ctx, organization, filter)
	if err != nil {
		return page, err
	}
	list := eventList{read: c.store.Events.Keys, batch: limit + 1, after: after}
	text := soughtIn(filter.Text)
	if len(text) > 0 {
		list.fields, list.batch = []string{FieldSearch}, searchBatch
	}
	for _, query := range filter.queries(organization, scopes, c.now(), also...) {
		list.parts = append(list.parts, &eventPart{query: query})
	}
	keys, next, err := list.page(ctx, text, limit)
	if err != nil {
		return page, err
	}
	events, err := c.store.Events.GetMany(ctx, keys)
	if filter.ComponentID != "" && slices.ContainsFunc(events, func(e Event) bool { return slices.Contains(e.DashboardIDs, filter.ComponentID) }) {
		return page, err // ComponentID is the id of a dashboard, so the events are events without components on this dashboard
	}
	page.Next = next
	if err == nil {
		page.Items, err = c.details(ctx, organization, events)
	}
	return page, err
}

// scopes returns the scopes of the events that the filter selects, or no scope if no event can match. It also returns
// further conditions for the events of these scopes. An event belongs to a dashboard if it affects a component that is on
// the dashboard, or if it has no components and names the dashboard.
func (c *Catalog) scopes(ctx context.Context, organization string, filter EventFilter) ([]string, []find.Condition, error) {
	if filter.DashboardID == "" {
		return []string{filter.ComponentID}, nil, nil
	}
	dashboard, err := c.Dashboard(ctx, organization, filter.DashboardID)
	components := dashboard.ComponentIDs()
	switch {
	case err != nil:
		return nil, nil, fault.UnlessMissing(err)
	case filter.ComponentID == "":
		return append(components, dashboard.ID), nil, nil
	case len(components) == 0:
		return nil, nil, nil
	case slices.Contains(components, filter.ComponentID):
		return []string{filter.ComponentID}, nil, nil
	}
	return []string{filter.ComponentID}, []find.Condition{find.Has(FieldComponents, components...)}, nil
}

// details returns the events with their components and the dashboards on which the components are placed.
func (c *Catalog) details(ctx context.Context, organization string, events []Event) ([]EventDetail, error) {
	var ids []string
	for i := range events {
		ids = append(ids, events[i].ComponentIDs()...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var near affected
	err := cmp.Or(near.read(ctx, c, organization, ids), near.readDashboards(ctx, c, organization, events...))
	return find.Values(events, near.detail), err
}

// eventList merges the results of several queries into one list.
type eventList struct {
	read   func(ctx context.Context, query find.Query, fields ...string) ([]find.Row, error)
	parts  []*eventPart
	fields []string // fields to read besides the start
	batch  int
	after  string // the list begins after this position
}

type eventPart struct {
	query find.Query
	rows  []find.Row // rows that were read and that take has not returned yet
	ended bool       // the query has no further rows
}

// page returns the keys of at most limit next events whose SearchText contains the words of text. next is the position
// after which the next page begins, or empty if the list ends.
func (l *eventList) page(ctx context.Context, text sought, limit int) (keys []string, next string, err error) {
	position, examined := "", 0
	for {
		row, more, err := l.take(ctx)
		if err != nil || !more {
			return keys, "", err
		}
		matches := true
		if len(text) > 0 {
			if examined == maxExamined {
				return keys, position, nil
			}
			examined++
			matches = text.in(row.Values[1].(string))
		}
		if matches && len(keys) == limit {
			return keys, next, nil
		}
		position = row.Position
		if matches {
			keys, next = append(keys, row.Key), position
		}
	}
}

// take returns the next row of the list and removes the row from all parts that have it. more is false if there is no row.
func (l *eventList) take(ctx context.Context) (first find.Row, more bool, err error) {
	if err := l.fill(ctx); err != nil {
		return first, false, err
	}
	for _, part := range l.parts {
		if len(part.rows) > 0 && (!more || compareRows(part.rows[0], first) < 0) {
			first, more = part.rows[0], true
		}
	}
	for _, part := range l.parts {
		if len(part.rows) > 0 && part.rows[0].Key == first.Key {
			part.rows = part.rows[1:]
		}
	}
	return first, more, nil
}

// fill reads the next rows of each part that has no unreturned rows and has not ended.
func (l *eventList) fill(ctx context.Context) error {
	var reads []func() error
	for _, part := range l.parts {
		if len(part.rows) == 0 && !part.ended {
			reads = append(reads, func() (err error) {
				part.query.Limit, part.query.After = l.batch, cmp.Or(part.query.After, l.after)
				part.rows, err = l.read(ctx, part.query, append([]string{FieldStart}, l.fields...)...)
				if part.ended = len(part.rows) < l.batch; !part.ended {
					part.query.After = part.rows[len(part.rows)-1].Position
				}
				return err
			})
		}
	}
	if len(reads) == 0 {
		return nil
	}
	return together(reads...)
}

// compareRows orders rows as the list does: the newest start first, and for equal starts the greatest key first.
func compareRows(a, b find.Row) int {
	return -cmp.Or(cmp.Compare(a.Values[0].(int64), b.Values[0].(int64)), cmp.Compare(a.Key, b.Key))
}
