package channel

import (
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// messageOf returns a message about an event with one component.
func messageOf(kind topic.Kind, status string) dispatch.Message {
	at := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	change := topic.EventChange{ID: "c", Kind: kind, OccurredAt: at, Sequence: 1, Event: topic.Event{
		ID: "e", Title: "Move", Status: status, StartAt: at, Components: []topic.Component{{ID: "k", Name: "API"}},
	}}
	change.Event.Type, _, _ = strings.Cut(string(kind), ".")
	if change.Event.Type == "maintenance" {
		change.Event.ScheduledStartAt, change.Event.ScheduledEndAt = &at, &at
	}
	return dispatch.Message{Change: &dispatch.Snapshot{EventChange: change}, To: &topic.Destination{Dashboard: dashboard}, Components: change.Event.Components}
}

// TestKinds checks the words of every kind on every channel.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		kind                  topic.Kind
		status                string
		subject, line, inText string
	}{
		{topic.IncidentCreated, "investigating", "Investigating: Move", "Investigating", "incident investigating"},
		{topic.IncidentUpdated, "identified", "Identified: Move", "Identified", "incident identified"},
		{topic.IncidentUpdated, "monitoring", "Monitoring: Move", "Monitoring", "incident monitoring"},
		{topic.IncidentResolved, "resolved", "Resolved: Move", "Resolved", "incident resolved"},
		{topic.IncidentReopened, "investigating", "Investigating: Move", "Investigating (reopened)", "incident reopened"},
		{topic.IncidentPostMortem, "resolved", "Post-mortem: Move", "Resolved (post-mortem published)", "incident post-mortem published"},
		{topic.MaintenanceScheduled, "planning", "Planned: Move", "Planned", "maintenance planned, starts 2026-03-04 05:06 UTC"},
		{topic.MaintenanceReschedule, "planning", "Planned: Move", "Planned (rescheduled)", "maintenance rescheduled, starts 2026-03-04 05:06 UTC"},
		{topic.MaintenanceReschedule, "started", "Started: Move", "Started (rescheduled)", "maintenance rescheduled"},
		{topic.MaintenanceReminder, "planning", "Reminder: Move starts at 4 March 2026, 05:06 UTC", "Planned (reminder)", "maintenance reminder, starts 2026-03-04 05:06 UTC"},
		{topic.MaintenanceStarted, "started", "Started: Move", "Started", "maintenance started"},
		{topic.MaintenanceUpdated, "inprogress", "In progress: Move", "In progress", "maintenance in progress"},
		{topic.MaintenanceUpdated, "verifying", "Verifying: Move", "Verifying", "maintenance verifying"},
		{topic.MaintenanceCompleted, "completed", "Completed: Move", "Completed", "maintenance completed"},
		{topic.MaintenanceReopened, "inprogress", "In progress: Move", "In progress (reopened)", "maintenance reopened"},
	} {
		message := messageOf(c.kind, c.status)
		times := message.Change.Event.Type == "maintenance"
		if got := mailSubject(message); got != "[Status] "+c.subject {
			t.Errorf("%s: the subject of the mail is %q", c.kind, got)
		}
		plain, page, err := mailParts(message)
		if err != nil || !strings.Contains(plain, "Status: "+c.line+"\n") || !strings.Contains(page, "</strong> "+c.line+"<br>") {
			t.Errorf("%s: the mail is %s %s (%v)", c.kind, plain, page, err)
		}
		if got := textOf(message); got != "Status: "+c.inText+": Move https://status.test/d/main/events/e" {
			t.Errorf("%s: the text is %q", c.kind, got)
		}
		card, err := renderCard(&message.Change.EventChange, dashboard, message.Components)
		if err != nil || !strings.Contains(string(card), `"text":"Status · `+c.line+`"`) {
			t.Errorf("%s: the card is %s (%v)", c.kind, card, err)
		}
		if strings.Contains(string(card), "Scheduled from: 2026-03-04 05:06 UTC") != times {
			t.Errorf("%s: the times of the card are %s", c.kind, card)
		}
		chat, err := renderChat(&message.Change.EventChange, dashboard, message.Components)
		if err != nil || !strings.Contains(string(chat), `"title":"Status","subtitle":"`+c.line+`"`) || !strings.Contains(string(chat), `"fallbackText":"Status · `+c.subject+`"`) ||
			strings.Contains(string(chat), "Scheduled from: 2026-03-04 05:06 UTC") != times {
			t.Errorf("%s: the chat's card is %s (%v)", c.kind, chat, err)
		}
		body, err := render(&message.Change.EventChange, dashboard, message.Components)
		if err != nil || !strings.HasPrefix(string(body), `{"kind":"`+string(c.kind)+`"`) {
			t.Errorf("%s: the payload is %s (%v)", c.kind, body, err)
		}
	}
}

// TestNoLink checks that messages have no link if the dashboard does not show the event or any of the components.
func TestNoLink(t *testing.T) {
	for name, c := range map[string]struct {
		linked bool
		change func(*topic.Event)
	}{
		"shown":             {true, func(*topic.Event) {}},
		"one hidden":        {true, func(e *topic.Event) { e.Components = append(e.Components, topic.Component{ID: "h", Hidden: true}) }},
		"event hidden":      {false, func(e *topic.Event) { e.Hidden = true }},
		"components hidden": {false, func(e *topic.Event) { e.Components[0].Hidden = true }},
	} {
		message := messageOf(topic.IncidentCreated, "investigating")
		c.change(&message.Change.Event)
		message.Components = message.Change.Event.Components
		plain, page, err := mailParts(message)
		card, err2 := renderCard(&message.Change.EventChange, dashboard, message.Components)
		body, err3 := render(&message.Change.EventChange, dashboard, message.Components)
		chat, err4 := renderChat(&message.Change.EventChange, dashboard, message.Components)
		if err != nil || err2 != nil || err3 != nil || err4 != nil {
			t.Fatal(err, err2, err3, err4)
		}
		for where, text := range map[string]string{"plain": plain, "page": page, "card": string(card), "chat": string(chat), "payload": string(body), "text": textOf(message)} {
			if strings.Contains(text, "/events/") != c.linked {
				t.Errorf("%s: the %s is %s", name, where, text)
			}
		}
		if !c.linked && (!strings.Contains(string(body), `"url":null`) || strings.Contains(string(card), `"actions"`) || strings.Contains(string(chat), "buttonList")) {
			t.Errorf("%s: the payload is %s, the cards are %s and %s", name, body, card, chat)
		}
	}
}
