package channel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// messagesWithoutComponents are messages about events that name dashboards instead of components, as the scheduler and people
// cause them.
func messagesWithoutComponents() []dispatch.Message {
	at := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	later := at.Add(time.Hour)
	incident := topic.Event{ID: "e", Type: "incident", Title: "Mails are late", Status: "identified", Severity: "minor_performance", StartAt: at}
	incident.DescriptionText, incident.DescriptionHTML = "We look into it.", "<p>We look into it.</p>"
	works := topic.Event{ID: "m", Type: "maintenance", Title: "Move", Status: "planning", StartAt: at, ScheduledStartAt: &at, ScheduledEndAt: &later}
	begun, over := works, works
	begun.Status, over.Status, over.EndAt = "inprogress", "completed", &later
	entry := func(status, text string) *topic.Entry {
		return &topic.Entry{StatusID: "s", Status: status, Timestamp: at, Text: text, HTML: "<p>" + text + "</p>"}
	}
	var all []dispatch.Message
	for _, one := range []struct {
		kind  topic.Kind
		event topic.Event
		entry *topic.Entry
	}{
		{topic.IncidentCreated, incident, nil}, {topic.IncidentUpdated, incident, entry("identified", "It is the relay.")}, {topic.MaintenanceReminder, works, nil},
		{topic.MaintenanceStarted, begun, entry("inprogress", "The maintenance has started.")}, {topic.MaintenanceCompleted, over, entry("completed", "The maintenance is completed.")},
	} {
		to := topic.Destination{
			Address: "ada@example.com", Manage: "https://status.test/manage", Unsubscribe: "https://status.test/unsubscribe", Dashboard: dashboard,
		}
		change := topic.EventChange{ID: "c", Kind: one.kind, OccurredAt: at, Sequence: 1, Event: one.event, Entry: one.entry}
		all = append(all, dispatch.Message{DeliveryID: "delivery", At: at, To: &to, Change: &dispatch.Snapshot{EventChange: change}})
	}
	return all
}

// No channel has a heading, a list or a sentence about components that the event does not have. Read the file after a change.
func TestTheTextsOfAnEventWithoutComponentsEqualTheirGoldenFile(t *testing.T) {
	var out strings.Builder
	show := func(channel, text string) { fmt.Fprintf(&out, "## %s\n%s\n\n", channel, strings.TrimSpace(text)) }
	for _, message := range messagesWithoutComponents() {
		change := &message.Change.EventChange
		fmt.Fprintf(&out, "# %s\n\n", change.Kind)
		mail, err := mailTo(t, message)
		if err != nil {
			t.Fatal(err)
		}
		show("mail", mail.subject+"\n\n"+mail.plain+"\n"+mail.html)
		show("sms", textTo(t, message))
		words := texts{locales: locales(t)}
		chat, err := words.message(t.Context(), message, "template")
		if err != nil {
			t.Fatal(err)
		}
		show("whatsapp", chat.Body+"\n"+chat.ContentVariables)
		show("teams", rendered(t, renderCard, message))
		show("gchat", rendered(t, renderChat, message))
		show("slack", rendered(t, renderSlack, message))
		show("discord", rendered(t, renderDiscord, message))
		show("webhook, format slack", rendered(t, renderCompatible, message))
		payload, err := render(change, dashboard, nil)
		if err != nil {
			t.Fatal(err)
		}
		show("webhook", string(bodyOf("delivery", payload)))
		body, _ := bodyAsStatuspage(t, *change, nil, unanswered)
		show("webhook, format statuspage", string(body))
		composed, _, err := renderTemplate(message, &topic.Template{Body: `{"text": "{{.event.title}}: {{.event.status}}{{range .event.affectedComponents}}, {{.name}}{{end}}"}`}, payload)
		if err != nil {
			t.Fatal(err)
		}
		show("webhook, format template", string(composed))
	}
	file := filepath.Join("testdata", "without_components.txt")
	if os.Getenv(apitest.Update) != "" {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != out.String() {
		t.Errorf("%s (%v): got\n%s", file, err, out.String())
	}
}

// rendered returns the body for a chat program with its members on lines of their own.
func rendered(t *testing.T, render renderer, message dispatch.Message) string {
	t.Helper()
	body, err := render(in(t, "en"), &message.Change.EventChange, dashboard, nil)
	var indented bytes.Buffer
	if err != nil || json.Indent(&indented, body, "", " ") != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return indented.String()
}
