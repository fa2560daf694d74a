package source

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

func statuspageWord(status string) string { return cmp.Or(statuspageStatus[status], status) }

// writeIncident adds the event of an incident or maintenance, with its updates.
func (s *statuspage) writeIncident(i statuspageIncident) {
	key := s.key(i.ID)
	impact := cmp.Or(i.Override, i.Impact)
	e := lines.Event{
		Key: key, Type: "incident", Title: i.Name, Status: statuspageWord(i.Status), Severity: statuspageSeverity[impact],
		CreatedAt: s.when(key, "created_at", i.CreatedAt), PublicID: i.ID, Aliases: []string{"incidents/" + i.ID},
	}
	if i.From != "" {
		e.Type, e.Severity = "maintenance", ""
		e.ScheduledStartAt, e.ScheduledEndAt = s.when(key, "scheduled_for", i.From), s.when(key, "scheduled_until", i.Until)
		e.AutoStart, e.AutoEnd = i.AutoStart, i.AutoEnd
		if i.Remind {
			e.ReminderMinutes = []int{60}
		}
		if i.TellAtStart || i.TellAtEnd {
			e.NotifyLater = true
		}
		if e.ScheduledEndAt == nil && e.ScheduledStartAt != nil {
			later := e.ScheduledStartAt.Add(time.Hour)
			e.ScheduledEndAt = &later
			s.warn(key, "scheduled_until", "is missing; the maintenance is planned for 1 h")
		}
	}
	none := i.From == "" && e.Severity == ""
	s.updates(&e, i, none)
	s.times(&e, i)
	if len(e.Components) == 0 {
		e.DashboardIDs = []string{s.key("page")}
	}
	if i.PostMortem != "" {
		text := markdown(i.PostMortem)
		if strings.HasPrefix(strings.TrimSpace(i.PostMortem), "<") {
			text = markup(i.PostMortem)
		}
		e.PostMortem = s.postMortem(key, text, s.when(key, "postmortem_published_at", i.PublishedAt))
	}
	if note := strings.TrimSpace(string(i.Metadata)); note != "" && note != "null" && note != "{}" {
		note = "metadata: " + note
		if utf8.RuneCountInString(note) > 5000 {
			note = s.cut(key, "metadata", note, 5000)
		}
		e.Notes = []string{note}
	}
	s.event(e)
}

// updates adds the timeline and the components. An impact applies from its update on. none is true for an incident
// without a severity: its impacts become operational.
func (s *statuspage) updates(e *lines.Event, i statuspageIncident, none bool) {
	updates := slices.Clone(i.Updates)
	slices.Reverse(updates) // the interface returns the newest first; the sort leaves updates of equal times oldest first
	slices.SortStableFunc(updates, func(one, other statuspageUpdate) int {
		first, _ := s.at(one.DisplayAt, one.CreatedAt)
		second, _ := s.at(other.DisplayAt, other.CreatedAt)
		return first.Compare(second)
	})
	place := map[string]int{}
	affect := func(id, name, impact string) {
		if _, is := place[id]; is || id == "" {
			return
		}
		if !s.known[id] {
			s.known[id] = true
			s.component(lines.Component{Key: s.key(id), Name: cmp.Or(name, id), Hidden: true, DashboardIDs: []string{s.key("page")}, PublicID: id})
		}
		place[id] = len(e.Components)
		switch {
		case none:
			impact = "operational"
		case e.Type == "maintenance":
			impact = "" // the states of the source before the start say nothing about the maintenance
		}
		e.Components = append(e.Components, lines.Affected{Key: s.key(id), Impact: impact})
	}
	for _, u := range updates {
		at, ok := s.at(u.DisplayAt, u.CreatedAt)
		if !ok || u.ID == "" {
			s.warn(e.Key, "incident_updates", "an update has no id or no display_at; it is left out")
			continue
		}
		entry := lines.Entry{Key: s.key(u.ID), At: at, Status: statuspageWord(u.Status), HTML: markup(u.Body), PublicID: u.ID}
		for _, a := range u.Affected {
			if a.Code == "" {
				continue
			}
			affect(a.Code, a.Name, a.Status)
			if a.Status != "" && !none && entry.Status != "planning" {
				if entry.Impacts == nil {
					entry.Impacts = map[string]string{}
				}
				entry.Impacts[s.key(a.Code)] = a.Status
			}
		}
		s.entry(e, entry)
	}
	for _, c := range i.Components {
		affect(c.ID, c.Name, "")
	}
}

// times sets the start and the end. A maintenance starts when it is in progress, not when it is announced.
func (s *statuspage) times(e *lines.Event, i statuspageIncident) {
	e.StartAt = e.CreatedAt
	if len(e.Timeline) > 0 {
		e.StartAt = copied(e.Timeline[0].At)
	}
	if e.Type == "maintenance" {
		if e.StartAt = e.ScheduledStartAt; e.Status == "planning" {
			e.StartAt = nil // by default the planned start
		}
		if at := slices.IndexFunc(e.Timeline, func(entry lines.Entry) bool { return entry.Status == "inprogress" }); at >= 0 {
			e.StartAt = copied(e.Timeline[at].At)
		}
	}
	if e.Status != "resolved" && e.Status != "completed" {
		return
	}
	e.EndAt = s.when(e.Key, "resolved_at", i.ResolvedAt)
	if e.EndAt == nil {
		if at := slices.IndexFunc(e.Timeline, func(entry lines.Entry) bool { return entry.Status == e.Status }); at >= 0 {
			e.EndAt = copied(e.Timeline[at].At)
		} else {
			e.EndAt = s.when(e.Key, "updated_at", i.UpdatedAt)
		}
	}
}
