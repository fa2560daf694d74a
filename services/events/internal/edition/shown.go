package edition

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// shownEvent is everything of an event that dashboards may show, and the times that they count.
type shownEvent struct {
	Event *ShownEvent `json:"event"` // nil: no dashboard shows the event
	Spans []Span      `json:"spans"`
}

// Span is a time in which an event affects a component. To is endless for an open event.
type Span struct {
	ComponentID string         `json:"componentId"`
	From        time.Time      `json:"from"`
	To          time.Time      `json:"to"`
	Impact      catalog.Impact `json:"impact"`
}

// shownOnAll returns what any dashboard shows of the event, to compare it with another state of the event.
func shownOnAll(e *catalog.Event) shownEvent {
	all := make(map[string]string, len(e.Links))
	for _, link := range e.Links {
		all[link.ComponentID] = ""
	}
	out := shownOn(e, all)
	if out.Event != nil {
		out.Event.Version, out.Event.UpdatedAt = 0, time.Time{}
	}
	return out
}

// shownOn returns the event as visitors of a dashboard see it that shows components, by id with their names.
func shownOn(e *catalog.Event, components map[string]string) shownEvent {
	if !e.Published || e.HiddenFromDashboard {
		return shownEvent{}
	}
	impacts := shownImpacts(e, components)
	if len(impacts) == 0 {
		return shownEvent{}
	}
	event := &ShownEvent{
		ID: e.ID, Type: e.Type, Status: e.Status, Title: e.Title, Description: e.Description, Analysis: e.Impact, Impacts: impacts,
		StartAt: e.StartAt, EndAt: e.EndAt, ScheduledStartAt: e.ScheduledStartAt, ScheduledEndAt: e.ScheduledEndAt,
		Entries: shownEntries(e, components), PostMortem: shownPostMortem(e.PostMortem), CreatedAt: e.CreatedAt, UpdatedAt: e.ShownAt,
		Version: e.ShownVersion,
	}
	return shownEvent{event, spansOf(e, components)}
}

func shownImpacts(e *catalog.Event, components map[string]string) []ShownImpact {
	var impacts []ShownImpact
	for _, link := range e.Links {
		name, there := components[link.ComponentID]
		if !there {
			continue
		}
		all := e.ImpactsOn(link)
		worst := all[0].Impact
		for _, one := range all {
			if one.Impact.Worse(worst) {
				worst = one.Impact
			}
		}
		impacts = append(impacts, ShownImpact{ComponentID: link.ComponentID, Name: name, Impact: all[len(all)-1].Impact, Worst: worst})
	}
	return impacts
}

// spansOf returns the times in which the event affects the components.
func spansOf(e *catalog.Event, components map[string]string) []Span {
	from, end, counts := e.Lasted()
	if !counts {
		return nil
	}
	if end == nil {
		end = new(catalog.Endless())
	}
	var spans []Span
	for _, link := range e.Links {
		if _, there := components[link.ComponentID]; !there {
			continue
		}
		for _, s := range e.SpansWithin(link, from, end) {
			spans = append(spans, Span{link.ComponentID, s.From, s.To, s.Impact})
		}
	}
	return spans
}

func shownEntries(e *catalog.Event, components map[string]string) []ShownEntry {
	chronicle := e.Chronicle()
	entries := make([]ShownEntry, len(chronicle))
	inForce := firstStatus(e, chronicle)
	impacts := make(map[string]catalog.Impact, len(e.Links))
	for _, link := range e.Links {
		impacts[link.ComponentID] = e.FirstImpact(link)
	}
	for i, entry := range chronicle {
		if entry.Status != catalog.StatusUpdate {
			inForce = entry.Status
		}
		updated := entry.CreatedAt
		if entry.EditedAt != nil {
			updated = *entry.EditedAt
		}
		entries[len(entries)-1-i] = ShownEntry{
			StatusID: entry.StatusID, Status: entry.Status, InForce: inForce, Message: entry.Message,
			Impacts:  changes(e, &entry, impacts, components),
			Notified: entry.Notified, Timestamp: entry.Timestamp, CreatedAt: entry.CreatedAt, UpdatedAt: updated,
		}
	}
	return entries
}

// changes returns the impacts on components from an entry on: those that the entry states, and the ends of all if the entry
// closes the event. An event that never took place changes nothing. impacts is the impacts before the entry, by component; changes makes it those after the entry.
func changes(e *catalog.Event, entry *catalog.Entry, impacts map[string]catalog.Impact, components map[string]string) []ShownChange {
	changes := []ShownChange{}
	_, _, tookPlace := e.Lasted()
	closes := tookPlace && entry.Status.Closed() && (entry.PreviousStatus != "" || entry.StatusID == e.StatusEntry)
	interrupted := closedBefore(e, entry.Timestamp)
	for i := range e.Links {
		link := &e.Links[i]
		change := ShownChange{ComponentID: link.ComponentID, Before: impacts[link.ComponentID], Impact: catalog.Operational}
		at := slices.IndexFunc(entry.Impacts, func(stated catalog.ComponentImpact) bool { return stated.ComponentID == link.ComponentID })
		if at >= 0 && !link.Overrides(entry) {
			impacts[link.ComponentID] = entry.Impacts[at].Impact
		}
		if at >= 0 && !closes {
			change.Impact = entry.Impacts[at].Impact
			if interrupted {
				change.Before = catalog.Operational
			}
		}
		_, there := components[link.ComponentID]
		if there && (at >= 0 || closes && change.Before != catalog.Operational) {
			changes = append(changes, change)
		}
	}
	return changes
}

// closedBefore reports whether the event was closed right before a time.
func closedBefore(e *catalog.Event, at time.Time) bool {
	end := e.End()
	return !e.Open() && end != nil && end.Before(at) ||
		slices.ContainsFunc(e.Pauses, func(p catalog.Pause) bool { return p.From.Before(at) && !at.After(p.To) })
}

// firstStatus returns the status before the first entry that has a status of its own.
func firstStatus(e *catalog.Event, chronicle []catalog.Entry) catalog.Status {
	for _, entry := range chronicle {
		if entry.Status != catalog.StatusUpdate {
			return cmp.Or(entry.PreviousStatus, entry.Status)
		}
	}
	return e.Status
}

// shownPostMortem returns a published post-mortem without its author and the owners of its action items; nil for none.
func shownPostMortem(p *catalog.PostMortem) *ShownPostMortem {
	if p == nil || !p.Published || p.PublishedAt == nil {
		return nil
	}
	items := slices.Clone(p.ActionItems)
	for i := range items {
		items[i].Owner = nil
	}
	return &ShownPostMortem{
		Summary: p.Summary, RootCause: p.RootCause, Impact: p.Impact, Resolution: p.Resolution, LessonsLearned: p.LessonsLearned,
		ActionItems: items, PublishedAt: *p.PublishedAt,
	}
}

// open reports whether the event is planned or goes on.
func (e *ShownEvent) open() bool { return !e.Status.Closed() }

// active reports whether the event has reached its start and goes on.
func (e *ShownEvent) active(at time.Time) bool { return e.Status.Underway() && !e.StartAt.After(at) }

// ahead reports whether the event is an open incident that begins later. Visitors see a maintenance before it begins, because
// it is planned, and no incident.
func (e *ShownEvent) ahead(at time.Time) bool {
	return e.Type == catalog.Incident && e.open() && e.StartAt.After(at)
}

// recent reports whether the event is open, or began or ended after since.
func (e *ShownEvent) recent(since time.Time) bool {
	return e.open() || e.end().After(since) || e.StartAt.After(since)
}

// end returns the end of a closed event.
func (e *ShownEvent) end() time.Time { return *cmp.Or(e.EndAt, e.ScheduledEndAt, &e.StartAt) }

// shownDashboard returns the dashboard as visitors see it. Placements of other components than shown, and what decides the
// access, are left out.
func shownDashboard(d catalog.Dashboard, components map[string]string) catalog.Dashboard {
	d.OrganizationID, d.Version, d.UpdatedAt = "", 0, time.Time{}
	d.Access = catalog.Access{Mode: d.Access.Mode, AllowedIPs: []string{}}
	d.Components = slices.DeleteFunc(slices.Clone(d.Components), func(p catalog.Placement) bool {
		_, there := components[p.ComponentID]
		return !there
	})
	return d
}
