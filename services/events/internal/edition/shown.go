package edition

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// shownEvent is what a dashboard may show of an event, and the spans that count for uptimes.
type shownEvent struct {
	Event *ShownEvent `json:"event"` // nil: the dashboard does not show the event
	Spans []Span      `json:"spans"`
}

// Span is a time in which an event, or a state that a member has set by hand, affects a component. To is catalog.Endless if
// the span has no end yet.
type Span struct {
	ComponentID string         `json:"componentId"`
	From        time.Time      `json:"from"`
	To          time.Time      `json:"to"`
	Impact      catalog.Impact `json:"impact"`
}

// shownOnAll returns the event as a dashboard with all components of the event shows it, with zero Version and
// UpdatedAt. If the event has no components, the dashboard is the first that the event names. Differ compares two of
// these results.
func shownOnAll(e *catalog.Event) shownEvent {
	all := make(map[string]string, len(e.Links))
	for _, link := range e.Links {
		all[link.ComponentID] = ""
	}
	out := shownOn(e, append(e.DashboardIDs, "")[0], all)
	if out.Event != nil {
		out.Event.Version, out.Event.UpdatedAt = 0, time.Time{}
	}
	return out
}

// shownOn returns the event as a dashboard with the given components shows it. components has the names of the
// components by id. An event without components is on the dashboards that it names. If the dashboard does not show the
// event, shownOn returns the zero shownEvent.
func shownOn(e *catalog.Event, dashboard string, components map[string]string) shownEvent {
	if !e.Published || e.HiddenFromDashboard {
		return shownEvent{}
	}
	impacts := shownImpacts(e, components)
	if len(impacts) == 0 && (len(e.Links) > 0 || !slices.Contains(e.DashboardIDs, dashboard)) {
		return shownEvent{}
	}
	event := &ShownEvent{
		ID: e.ID, PublicID: e.PublicID, Type: e.Type, Status: e.Status, Severity: e.Severity, Imported: e.Import != nil, Title: e.Title, Description: e.Description, Analysis: e.Impact, Impacts: impacts,
		StartAt: e.StartAt, EndAt: e.EndAt, ScheduledStartAt: e.ScheduledStartAt, ScheduledEndAt: e.ScheduledEndAt,
		Entries: shownEntries(e, components), PostMortem: shownPostMortem(e.PostMortem), CreatedAt: e.CreatedAt, UpdatedAt: e.ShownAt,
		Version: e.ShownVersion,
	}
	return shownEvent{event, spansOf(e, components)}
}

func shownImpacts(e *catalog.Event, components map[string]string) []ShownImpact {
	impacts := []ShownImpact{}
	for _, link := range e.Links {
		name, there := components[link.ComponentID]
		if !there {
			continue
		}
		impacts = append(impacts, ShownImpact{ComponentID: link.ComponentID, Name: name, Impact: e.ImpactOn(link), Worst: e.WorstImpact(link)})
	}
	return impacts
}

// spansOf returns the spans in which the event affects the components, or nil if the event does not count (see
// Event.Lasted).
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
	changes := e.ImpactChanges(chronicle)
	for i, entry := range chronicle {
		if entry.Status != catalog.StatusUpdate {
			inForce = entry.Status
		}
		updated := entry.CreatedAt
		if entry.EditedAt != nil {
			updated = *entry.EditedAt
		}
		entries[len(entries)-1-i] = ShownEntry{
			StatusID: entry.StatusID, PublicID: entry.PublicID, Status: entry.Status, InForce: inForce, Imported: entry.ImportKey != "", Message: entry.Message,
			Impacts:  shownChanges(changes[i], components),
			Notified: entry.Notified, Timestamp: entry.Timestamp, CreatedAt: entry.CreatedAt, UpdatedAt: updated,
		}
	}
	return entries
}

// shownChanges returns the changes of an entry on the components.
func shownChanges(changes []catalog.ImpactChange, components map[string]string) []ShownChange {
	shown := []ShownChange{}
	for _, change := range changes {
		if _, there := components[change.ComponentID]; there {
			shown = append(shown, ShownChange(change))
		}
	}
	return shown
}

// firstStatus returns the status of the event before the first entry with a status other than StatusUpdate. If
// PreviousStatus of this entry is empty, firstStatus returns its Status. If there is no such entry, it returns the
// present status.
func firstStatus(e *catalog.Event, chronicle []catalog.Entry) catalog.Status {
	for _, entry := range chronicle {
		if entry.Status != catalog.StatusUpdate {
			return cmp.Or(entry.PreviousStatus, entry.Status)
		}
	}
	return e.Status
}

// shownPostMortem returns a post-mortem without its author and the owners of its action items, or nil if it is not
// published.
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

// open reports whether the event is not closed.
func (e *ShownEvent) open() bool { return !e.Status.Closed() }

// active reports whether the event has reached its start and its status is under way.
func (e *ShownEvent) active(at time.Time) bool { return e.Status.Underway() && !e.StartAt.After(at) }

// ahead reports whether the event is an open incident that begins after the time at. Visitors do not see an incident
// before it begins, but they see a maintenance, because it is planned.
func (e *ShownEvent) ahead(at time.Time) bool {
	return e.Type == catalog.Incident && e.open() && e.StartAt.After(at)
}

// recent reports whether the event is open, or began or ended after since.
func (e *ShownEvent) recent(since time.Time) bool {
	return e.open() || e.end().After(since) || e.StartAt.After(since)
}

// end returns the end of a closed event: the actual one, else the planned one, else the start.
func (e *ShownEvent) end() time.Time { return *cmp.Or(e.EndAt, e.ScheduledEndAt, &e.StartAt) }

// shownDashboard returns a copy of the dashboard with the data that visitors may see. Among other fields, it leaves out
// the placements of components that are not shown, and the settings of access except its mode.
func shownDashboard(d catalog.Dashboard, components map[string]string) catalog.Dashboard {
	d.OrganizationID, d.Version, d.UpdatedAt, d.DomainProofs = "", 0, time.Time{}, nil
	d.Access = catalog.Access{Mode: d.Access.Mode, AllowedIPs: []string{}}
	d.Components = slices.DeleteFunc(slices.Clone(d.Components), func(p catalog.Placement) bool {
		_, there := components[p.ComponentID]
		return !there
	})
	return d
}
