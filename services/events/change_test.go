package events_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	incident    = `{"type": "/api/v1/type/1/", "status": "/api/v1/status/2/", "description": "Down & <out>", "start": "2026-01-02T03:04:05", "event_service": ["/api/v1/service/1/"]`
	maintenance = `{"type": "/api/v1/type/2/", "status": "/api/v1/status/1/", "description": "**Move**", "description_md": true, "start": "2026-01-02T03:00:00", "end": "2026-01-02T04:00:00", "event_service": ["/api/v1/service/1/"]`
)

// TestChangesOfAnIncident checks the message in Kafka after each write of an incident.
func TestChangesOfAnIncident(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	for _, body := range []string{`{"service_name": "API", "group": "Core"}`, `{"service_name": "Quiet", "hidden_notifications": true}`, `{"service_name": "Hidden", "hidden": true}`} {
		p.must(201, "", "POST", "/api/v1/service/", body)
	}
	const event = "/api/v1/event/list/1/"
	p.must(201, "", "POST", "/api/v1/event/list/", `{"type": "/api/v1/type/1/", "status": "/api/v1/status/2/", "description": "Down & <out>", "start": "2026-01-02T03:04:05", "severity": {"id": 4}, "coordinator": "*Ann*", "coordinator_md": true,
		"event_service": ["/api/v1/service/1/", "/api/v1/service/2/", "/api/v1/service/3/"],
		"event_update": [{"update": "older", "date": "2026-01-01T00:00:00"}, {"update": "*newest*", "markdown": true, "date": "2026-01-02T00:00:00"}, {"update": "oldest", "date": "2025-01-01T00:00:00"}],
		"notifications": {"webhook": {"enabled": true}, "email": {"enabled": true, "email_subject": "Trouble"}, "sms": {"enabled": false}, "teams": {"enabled": true, "details": true, "message": "m", "color": "#fff", "channels": [4, "9"]}}}`)
	steps := []struct{ method, path, body string }{
		{"PUT", event, `{"status": {"status": "identified"}, "event_update": [{"update": "found", "status": {"status": "identified"}}]}`},
		{"PUT", event, `{"notifications": {"email": {"enabled": true}}}`},
		{"POST", "/api/v1/event/update/", `{"event": "` + event + `", "update": "still"}`},
		{"PUT", event, `{"status": {"status": "resolved"}, "notifications": {"sms": {"enabled": true, "sms_text": "Over"}}}`},
		{"PUT", event, `{"status": {"status": "monitoring"}}`},
		{"POST", "/api/v1/event/update/", `{"event": "` + event + `", "update": "again"}`},
		{"DELETE", "/api/v1/event/update/1/", ""},
		{"DELETE", "/api/v1/event/service/1/", ""},
		{"DELETE", "/api/v1/event/service/3/", ""},
	}
	for _, step := range steps {
		if a := p.send("", step.method, step.path, step.body); a.status >= 300 {
			t.Fatalf("%s %s %s returned %d %s", step.method, step.path, step.body, a.status, a.body)
		}
	}
	before := p.must(200, "", "GET", event, "")
	sent, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	p.must(200, "", "PUT", event, string(sent))                                        // changes nothing, so nothing is published
	p.must(200, "", "PUT", event, `{"notifications": {"webhook": {"enabled": true}}}`) // nor is it if messages may name no component
	p.must(200, "", "PUT", event, `{"notifications": {"webhook": {"enabled": false}}}`)
	p.send("", "DELETE", event, "")

	changes := heard.of(t, 1, len(steps)+2)
	want := []struct {
		kind   topic.Kind
		status string
		former string
		entry  string
		notify []topic.Channel
		named  int
	}{
		{topic.IncidentCreated, "investigating", "", "newest", []topic.Channel{"email", "teams", "webhook"}, 2},
		{topic.IncidentUpdated, "identified", "investigating", "found", nil, 2},
		{topic.IncidentUpdated, "identified", "", "", []topic.Channel{"email"}, 2},
		{topic.IncidentUpdated, "identified", "", "still", nil, 2},
		{topic.IncidentResolved, "resolved", "identified", "", []topic.Channel{"sms"}, 2},
		{topic.IncidentReopened, "monitoring", "resolved", "", nil, 2},
		{topic.IncidentUpdated, "monitoring", "", "again", nil, 2},
		{topic.IncidentUpdated, "monitoring", "", "", nil, 2},
		{topic.IncidentUpdated, "monitoring", "", "", nil, 1}, // a component that no dashboard holds may be named
		{topic.IncidentUpdated, "monitoring", "", "", nil, 0}, // the component that is left must not be named
		{topic.IncidentUpdated, "monitoring", "", "", nil, 0},
	}
	for i, w := range want {
		c := changes[i]
		entry := ""
		if c.Entry != nil {
			entry = c.Entry.Text
		}
		channels := slices.Sorted(maps.Keys(c.Notify))
		if c.Kind != w.kind || c.Sequence != int64(i+1) || c.Event.Status != w.status || c.Event.PreviousStatus != w.former ||
			entry != w.entry || !slices.Equal(channels, w.notify) || len(c.Event.Components) != w.named || c.Organization != orgA || c.Notify == nil {
			t.Errorf("change %d is %+v, want %+v", i+1, c, w)
		}
	}
	first := changes[0]
	if first.Notify["email"].Subject != "Trouble" || changes[2].Notify["email"].Subject != "Trouble" {
		t.Errorf("the subject is not remembered: %v, %v", first.Notify, changes[2].Notify)
	}
	if teams := first.Notify["teams"]; !teams.Details || teams.Message != "m" || teams.Color != "#fff" || !slices.Equal(teams.Endpoints, []int64{4, 9}) {
		t.Errorf("teams gets %+v", teams)
	}
	if changes[4].Notify["sms"].Text != "Over" {
		t.Errorf("sms gets %+v", changes[4].Notify)
	}
	component := first.Event.Components[0]
	if component.Name != "API" || component.Group != "Core" || component.Impact != "major_outage" || !slices.Equal(component.Dashboards, []string{dashA}) {
		t.Errorf("the component is %+v", component)
	}
	if first.Event.DescriptionHTML != "<p>Down &amp; &lt;out&gt;</p>" || first.Event.DescriptionText != "Down & <out>" || first.Event.CoordinatorText != "Ann" || first.Entry.HTML != "<p><em>newest</em></p>" {
		t.Errorf("texts: %+v, %+v", first.Event, first.Entry)
	}
}

// TestChangesOfAMaintenance checks the kind of each change of a maintenance.
func TestChangesOfAMaintenance(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	p.must(201, "", "POST", "/api/v1/event/list/", maintenance+`}`)
	for _, body := range []string{
		`{"end": "2026-01-02T05:00:00"}`, `{"impact": "some"}`, `{"status": {"status": "started"}}`, `{"status": {"status": "verifying"}}`,
		`{"status": {"status": "completed"}}`, `{"status": {"status": "inprogress"}}`, `{"type": {"type": "incident"}, "status": {"status": "resolved"}}`,
	} {
		p.must(200, "", "PUT", "/api/v1/event/list/1/", body)
	}
	p.must(201, "", "POST", "/api/v1/event/list/", `{"type": {"type": "maintenance"}, "status": {"status": "started"}, "description": "d", "start": "2026-01-02T03:00:00", "end": "2026-01-02T04:00:00", "event_service": ["/api/v1/service/1/"]}`)
	changes := heard.of(t, 1, 8)
	want := []topic.Kind{
		topic.MaintenanceScheduled, topic.MaintenanceReschedule, topic.MaintenanceUpdated, topic.MaintenanceStarted, topic.MaintenanceUpdated,
		topic.MaintenanceCompleted, topic.MaintenanceReopened, topic.IncidentResolved,
	}
	for i, kind := range want {
		if changes[i].Kind != kind || changes[i].Sequence != int64(i+1) {
			t.Errorf("change %d is %s with sequence %d, want %s", i+1, changes[i].Kind, changes[i].Sequence, kind)
		}
	}
	if end := changes[1].Event.ScheduledEndAt; end == nil || end.Hour() != 5 || changes[1].Event.EndAt != nil {
		t.Errorf("the rescheduled event is %+v", changes[1].Event)
	}
	if changes[5].Event.EndAt == nil || changes[6].Event.EndAt != nil || changes[0].Event.DescriptionHTML != "<p><strong>Move</strong></p>" {
		t.Errorf("ends and texts are wrong: %+v", changes)
	}
	if second := heard.of(t, 2, 1); second[0].Kind != topic.MaintenanceStarted {
		t.Errorf("a maintenance created as started has the kind %s", second[0].Kind)
	}
}

// TestComponentGone checks that the deletion of a service is published, and that each event with a link to it changes.
func TestComponentGone(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	p.must(201, "", "POST", "/api/v1/event/list/", incident+`}`)
	p.must(204, "", "DELETE", "/api/v1/service/1/", "")
	changes := heard.of(t, 1, 2)
	if len(changes[1].Event.Components) != 0 || changes[1].Sequence != 2 {
		t.Errorf("the event changed to %+v", changes[1])
	}
	apitest.Eventually(t, "the deletion is published", func() bool {
		gone := heard.gone()
		return len(gone) == 1 && gone[0].LegacyID == 1 && gone[0].Organization == orgA && gone[0].ComponentID == changes[0].Event.Components[0].ID
	})
}

// TestConcurrentUpdates checks that no concurrent write of one event is lost, and that the page of
// the dashboard shows the last write.
func TestConcurrentUpdates(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	p.must(201, "", "POST", "/api/v1/event/list/", incident+`}`)
	const writers, each = 6, 5
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for i := range each {
				a := p.send("", "PUT", "/api/v1/event/list/1/", fmt.Sprintf(`{"status": {"status": "%s"}, "event_update": [{"update": "x"}]}`, []string{"resolved", "monitoring"}[i%2]))
				if a.status != 200 {
					t.Errorf("PUT returned %d %s", a.status, a.body)
				}
			}
		})
	}
	group.Wait()
	changes := heard.of(t, 1, 1+writers*each)
	for i, change := range changes {
		if change.Sequence != int64(i+1) {
			t.Fatalf("change %d has the sequence %d", i+1, change.Sequence)
		}
	}
	list := p.must(200, "", "GET", "/api/v1/event/update/?limit=0", "")
	if total := list["meta"].(map[string]any)["total_count"]; total != float64(writers*each) {
		t.Errorf("%v updates, want %d", total, writers*each)
	}
	want := map[bool]string{true: "operational", false: "active incident"}[changes[len(changes)-1].Event.Status == "resolved"]
	page := p.must(200, "public", "GET", "/public/v1/dashboards/acme-status/list", "")
	if got := page["objects"].([]any)[0].(map[string]any)["status"]; got != want {
		t.Errorf("the page shows %v, want %s", got, want)
	}
}
