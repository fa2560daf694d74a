package channel

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// openLocales parses the words and templates once for all tests.
var openLocales = sync.OnceValues(func() (*locale.Locales, error) { return locale.Open("", slog.New(slog.DiscardHandler)) })

// locales returns the shipped words and templates.
func locales(t testing.TB) *locale.Locales {
	t.Helper()
	shipped, err := openLocales()
	if err != nil {
		t.Fatal(err)
	}
	return shipped
}

// in returns a shipped locale.
func in(t testing.TB, tag string) *locale.Locale { return locales(t).For(tag) }

// mailTo returns the text of the mail for a message.
func mailTo(t testing.TB, message dispatch.Message) (mailText, error) {
	e := email{locales: locales(t), confirmWithin: 48 * time.Hour}
	l := localeOf(e.locales, message)
	if ofEvent(message) {
		return eventText(t.Context(), l, message, mailLinks{message.To.Manage, message.To.Unsubscribe})
	}
	return e.noticeText(t.Context(), l, message)
}

// textTo returns the text for a message.
func textTo(t testing.TB, message dispatch.Message) string {
	t.Helper()
	text, err := textOf(t.Context(), locales(t), 48*time.Hour, message)
	if err != nil {
		t.Error(err)
	}
	return text
}

// messageOf returns a message about an event with one component.
func messageOf(kind topic.Kind, status string) dispatch.Message {
	at := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	change := topic.EventChange{ID: "c", Kind: kind, OccurredAt: at, Sequence: 1, Event: topic.Event{
		ID: "e", Title: "Move", Status: status, StartAt: at, Components: []topic.Component{{ID: "k", Name: "API", Dashboards: []string{"d"}}},
	}}
	change.Event.Type, _, _ = strings.Cut(string(kind), ".")
	if change.Event.Type == "maintenance" {
		change.Event.ScheduledStartAt, change.Event.ScheduledEndAt = &at, &at
	}
	return dispatch.Message{Change: &dispatch.Snapshot{EventChange: change}, To: &topic.Destination{Dashboard: dashboard}, Components: change.Event.Components}
}

// TestEveryKindHasItsWordsOnEveryChannel checks the words of every kind on every channel.
func TestEveryKindHasItsWordsOnEveryChannel(t *testing.T) {
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
		{topic.MaintenanceReminder, "planning", "Reminder: Move starts on 4 March 2026, 05:06 UTC", "Planned (reminder)", "maintenance reminder, starts 2026-03-04 05:06 UTC"},
		{topic.MaintenanceStarted, "started", "Started: Move", "Started", "maintenance started"},
		{topic.MaintenanceUpdated, "inprogress", "In progress: Move", "In progress", "maintenance in progress"},
		{topic.MaintenanceUpdated, "verifying", "Verifying: Move", "Verifying", "maintenance verifying"},
		{topic.MaintenanceCompleted, "completed", "Completed: Move", "Completed", "maintenance completed"},
		{topic.MaintenanceReopened, "inprogress", "In progress: Move", "In progress (reopened)", "maintenance reopened"},
	} {
		message := messageOf(c.kind, c.status)
		times := message.Change.Event.Type == "maintenance"
		mail, err := mailTo(t, message)
		if err != nil || mail.subject != "[Status] "+c.subject || !strings.Contains(mail.plain, "Status: "+c.line+"\n") || !strings.Contains(mail.html, "</strong> "+c.line+"<br>") {
			t.Errorf("%s: the mail is %+v (%v)", c.kind, mail, err)
		}
		if got := textTo(t, message); got != "Status: "+c.inText+": Move https://status.test/d/main/events/e" {
			t.Errorf("%s: the text is %q", c.kind, got)
		}
		card, err := renderCard(in(t, "en"), &message.Change.EventChange, dashboard, message.Components)
		if err != nil || !strings.Contains(string(card), `"text":"Status · `+c.line+`"`) {
			t.Errorf("%s: the card is %s (%v)", c.kind, card, err)
		}
		if strings.Contains(string(card), "Scheduled from: 2026-03-04 05:06 UTC") != times {
			t.Errorf("%s: the times of the card are %s", c.kind, card)
		}
		chat, err := renderChat(in(t, "en"), &message.Change.EventChange, dashboard, message.Components)
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

// TestMessagesHaveNoLinkToWhatADashboardDoesNotShow checks that messages have no link if the dashboard does not show the event or any of the components.
func TestMessagesHaveNoLinkToWhatADashboardDoesNotShow(t *testing.T) {
	for name, c := range map[string]struct {
		linked bool
		change func(*topic.Event)
	}{
		"shown":             {true, func(*topic.Event) {}},
		"one hidden":        {true, func(e *topic.Event) { e.Components = append(e.Components, topic.Component{ID: "h", Hidden: true}) }},
		"event hidden":      {false, func(e *topic.Event) { e.Hidden = true }},
		"components hidden": {false, func(e *topic.Event) { e.Components[0].Hidden = true }},
		"elsewhere":         {false, func(e *topic.Event) { e.Components[0].Dashboards = []string{"other"} }},
		"nowhere":           {false, func(e *topic.Event) { e.Components[0].Dashboards = nil }},
	} {
		message := messageOf(topic.IncidentCreated, "investigating")
		c.change(&message.Change.Event)
		message.Components = message.Change.Event.Components
		mail, err := mailTo(t, message)
		card, err2 := renderCard(in(t, "en"), &message.Change.EventChange, dashboard, message.Components)
		body, err3 := render(&message.Change.EventChange, dashboard, message.Components)
		chat, err4 := renderChat(in(t, "en"), &message.Change.EventChange, dashboard, message.Components)
		if err != nil || err2 != nil || err3 != nil || err4 != nil {
			t.Fatal(err, err2, err3, err4)
		}
		for where, text := range map[string]string{"plain": mail.plain, "page": mail.html, "card": string(card), "chat": string(chat), "payload": string(body), "text": textTo(t, message)} {
			if strings.Contains(text, "/events/") != c.linked || strings.Contains(text, strings.TrimSuffix(dashboard.URL, "/")) != c.linked {
				t.Errorf("%s: the %s is %s", name, where, text)
			}
		}
		if !c.linked && (!strings.Contains(string(body), `"url":null`) || strings.Contains(string(card), `"actions"`) || strings.Contains(string(chat), "buttonList")) {
			t.Errorf("%s: the payload is %s, the cards are %s and %s", name, body, card, chat)
		}
	}
}
