package channel

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// goldenMessages returns messages that together have every part of a mail. Their times are around the end of daylight
// saving time in the dashboard's zone.
func goldenMessages() map[string]dispatch.Message {
	at := time.Date(2026, 10, 24, 22, 30, 0, 0, time.UTC)
	later := at.Add(4 * time.Hour)
	to := topic.Destination{
		Address: "someone@example.com", Manage: "https://status.test/public/manage?token=a&b=c", Unsubscribe: "https://status.test/public/unsubscribe?token=a&b=c",
		Dashboard: topic.Dashboard{ID: "d", Name: "Acme <Status>", URL: "https://status.test/d/main", Timezone: "Europe/Berlin"},
	}
	prose := func(text string) (string, string) { return text, "<p>" + text + "</p>" }
	event := topic.Event{
		ID: "e", Title: "Logins & payments fail", Status: "identified", Severity: "major_outage", Type: "incident", StartAt: at,
		Components: []topic.Component{{ID: "k", Name: "API", Group: "Core", Impact: "major_outage", Dashboards: []string{"d"}}, {ID: "l", Name: "Web", Impact: "degraded_performance"}},
	}
	event.DescriptionText, event.DescriptionHTML = prose("Nobody can log in.")
	event.ImpactText, event.ImpactHTML = prose("All customers.")
	event.CoordinatorText, event.CoordinatorHTML = prose("Kim")
	entry := &topic.Entry{Status: "identified", Timestamp: later}
	entry.Text, entry.HTML = prose("It is the certificate.")
	maintenance := topic.Event{
		ID: "m", Title: "Move", Status: "planning", Type: "maintenance", ScheduledStartAt: &at, ScheduledEndAt: &later, Hidden: true,
		Components: []topic.Component{{ID: "k", Name: "API", Group: "Core", Impact: "under_maintenance", Dashboards: []string{"d"}}},
	}
	completed := maintenance
	completed.Status, completed.StartAt, completed.EndAt, completed.Hidden = "completed", at, &later, false
	resolved := topic.Event{ID: "r", Title: "Logins fail", Status: "resolved", Type: "incident", StartAt: at, EndAt: &later}
	message := func(kind topic.Kind, event topic.Event, entry *topic.Entry) dispatch.Message {
		destination := to
		var notice *topic.Notice
		if event.ID == "" {
			notice = new(topic.Notice)
		}
		return dispatch.Message{
			DeliveryID: "delivery", At: at, To: &destination, Components: event.Components,
			Change: &dispatch.Snapshot{EventChange: topic.EventChange{ID: "c", Kind: kind, OccurredAt: at, Event: event, Entry: entry}, Notice: notice},
		}
	}
	all := map[string]dispatch.Message{
		"incident":  message(topic.IncidentUpdated, event, entry),
		"reopened":  message(topic.IncidentReopened, event, nil),
		"resolved":  message(topic.IncidentPostMortem, resolved, nil),
		"reminder":  message(topic.MaintenanceReminder, maintenance, nil),
		"completed": message(topic.MaintenanceCompleted, completed, nil),
	}
	for _, kind := range []topic.Kind{topic.EndpointVerify, topic.EndpointManage, topic.EndpointFailing, topic.EndpointSuppressed} {
		about := message(kind, topic.Event{}, nil)
		about.To.Link, about.To.Manage = "https://status.test/public/endpoints/page?token=a&b=c", ""
		about.Change.Notice.Endpoint = &topic.EndpointReport{Channel: topic.GChat, URLDisplay: "chat.test/…", Failures: 5, Since: &at, HTTPStatus: 500, ErrorCode: "http_5xx"}
		all[string(kind)] = about
	}
	silent := message(topic.InboundSilent, topic.Event{}, nil)
	silent.To.Manage, silent.To.Unsubscribe = "", ""
	silent.Change.Notice.Inbound = &topic.InboundReport{KeyName: "Alertmanager <in> Frankfurt", Since: at}
	all[string(topic.InboundSilent)] = silent
	for _, kind := range topic.MemberKinds() {
		about := message(kind, topic.Event{}, nil)
		about.To.Manage, about.To.Unsubscribe, about.To.Names = "", "", []string{"ada"}
		about.To.Link, about.To.Dashboard = "https://status.test/console/welcome?token=a&b=c", topic.Dashboard{Name: "Acme <Ops>", Timezone: "Europe/Berlin"}
		about.Change.Notice.Member = &topic.MemberReport{Name: "Ada's <laptop>", Until: &later}
		all[string(kind)] = about
	}
	for name, components := range map[string][]string{"confirm": {"API", "Web <shop>"}, "confirm_all": nil} {
		confirm := message(topic.SubscriberConfirm, topic.Event{}, nil)
		confirm.To.Link, confirm.To.Names, confirm.To.Unsubscribe, confirm.To.Manage = "https://status.test/public/confirm?token=a&b=c", components, "", ""
		all[name] = confirm
	}
	manage := message(topic.SubscriberManage, topic.Event{}, nil)
	manage.To.Link, manage.To.Names, manage.To.Manage = "https://status.test/public/manage?token=a&b=c", []string{"API", "Web <shop>"}, ""
	all["manage"] = manage
	return all
}

// goldenLocales returns the locales of a mail. A mail to a member is in English only.
func goldenLocales(message dispatch.Message) []string {
	if notice := message.Change.Notice; notice != nil && notice.Member != nil {
		return []string{"en"}
	}
	return []string{"en", "de"}
}

// The whole of each mail in each locale. APITEST_UPDATE=1 writes the files.
func TestMailsEqualTheirGoldenFiles(t *testing.T) {
	for name, message := range goldenMessages() {
		for _, tag := range goldenLocales(message) {
			message.To.Locale = tag
			got, err := mailTo(t, message)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			file := filepath.Join("testdata", "mail", name+"."+tag+".txt")
			whole := got.subject + "\n\n" + got.plain + "\n" + got.html
			if os.Getenv("APITEST_UPDATE") != "" {
				if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil || string(want) != whole {
				t.Errorf("%s (%v): got\n%s\nwant\n%s", file, err, whole, want)
			}
		}
	}
}
