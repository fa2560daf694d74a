package events_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// TestSchedulersStartAndEndAMaintenanceOnce checks that two schedulers start and end a maintenance once, and that they do not
// repeat a step that a person has taken back.
func TestSchedulersStartAndEndAMaintenanceOnce(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	p.run() // a second process on the same records
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	from, to := p.now().Add(time.Hour).Format("2006-01-02T15:04:05"), p.now().Add(2*time.Hour).Format("2006-01-02T15:04:05")
	times := `"start": "` + from + `", "end": "` + to + `", "event_service": ["/api/v1/service/1/"]}`
	p.must(201, "", "POST", "/api/v1/event/list/", `{"type": {"id": 2}, "status": {"id": 1}, "description": "auto", "auto": true, `+times)
	p.must(201, "", "POST", "/api/v1/event/list/", `{"type": {"id": 2}, "status": {"id": 1}, "description": "by hand", `+times)

	status := func() any {
		return p.must(200, "", "GET", "/api/v1/event/list/1/", "")["status"].(map[string]any)["status"]
	}
	if got := status(); got != "planning" {
		t.Errorf("before its time it is %v", got)
	}
	p.ahead.Add(int64(time.Hour + time.Second))
	apitest.Eventually(t, "it starts", func() bool { return status() == "started" })
	apitest.Eventually(t, "visitors see it", func() bool {
		page := p.must(200, "public", "GET", "/public/v1/dashboards/acme-status/list", "")
		return page["objects"].([]any)[0].(map[string]any)["status"] == "active maintenance"
	})
	p.ahead.Add(int64(time.Hour))
	apitest.Eventually(t, "it ends", func() bool { return status() == "completed" })
	p.must(200, "", "PUT", "/api/v1/event/list/1/", `{"status": {"status": "inprogress"}}`)

	// Both schedulers have looked again when they have ended a maintenance that was written later.
	p.must(201, "", "POST", "/api/v1/event/list/", `{"type": {"id": 2}, "status": {"id": 1}, "description": "late", "auto": true, `+times)
	last := heard.of(t, 3, 3)
	if last[2].Kind != topic.MaintenanceCompleted || last[2].Event.EndAt == nil {
		t.Errorf("a maintenance created after its end has the last change %+v", last[2])
	}
	if got := status(); got != "inprogress" {
		t.Errorf("the reopened maintenance is %v", got)
	}
	for i, want := range []topic.Kind{topic.MaintenanceScheduled, topic.MaintenanceStarted, topic.MaintenanceCompleted, topic.MaintenanceReopened} {
		if changes := heard.of(t, 1, 4); changes[i].Kind != want || len(changes[i].Notify) > 0 || changes[i].Sequence != int64(i+1) {
			t.Errorf("change %d is %+v, want %s", i+1, changes[i], want)
		}
	}
	heard.of(t, 2, 1)
}

// TestAutoNotifies checks that the scheduler notifies the channels of the last write with
// notifications, without its texts, and once although two schedulers run.
func TestAutoNotifies(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	p.run()
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	from, to := p.now().Add(time.Hour).Format("2006-01-02T15:04:05"), p.now().Add(2*time.Hour).Format("2006-01-02T15:04:05")
	create := func(notifications string) {
		p.must(201, "", "POST", "/api/v1/event/list/", `{"type": {"id": 2}, "status": {"id": 1}, "description": "d", "auto": true, "start": "`+from+`", "end": "`+to+`", "event_service": ["/api/v1/service/1/"], "notifications": `+notifications+`}`)
	}
	create(`{"email": {"enabled": true, "email_subject": "Move"}, "sms": {"enabled": true, "sms_text": "once"}, "teams": {"enabled": true, "details": true, "message": "once", "color": "#abc", "channels": [4]}, "webhook": {"enabled": false}}`)
	p.must(200, "", "PUT", "/api/v1/event/list/1/", `{"impact": "some"}`) // without notifications
	create(`{"email": {"enabled": true}}`)
	p.must(200, "", "PUT", "/api/v1/event/list/2/", `{"notifications": {"email": {"enabled": false}}}`) // no channel any more
	p.ahead.Add(int64(time.Hour + time.Second))
	heard.of(t, 1, 3)
	p.ahead.Add(int64(time.Hour))
	changes := heard.of(t, 1, 4)
	want := topic.Notify{topic.Email: {Subject: "Move"}, topic.SMS: {}, topic.Teams: {Details: true, Color: "#abc", Endpoints: []int64{4}}}
	for i, kind := range []topic.Kind{topic.MaintenanceStarted, topic.MaintenanceCompleted} {
		if change := changes[i+2]; change.Kind != kind || change.Sequence != int64(i+3) || !reflect.DeepEqual(change.Notify, want) {
			t.Errorf("notified %s %+v, want %s %+v", change.Kind, change.Notify, kind, want)
		}
	}
	if first := changes[0].Notify; first[topic.SMS].Text != "once" || first[topic.Teams].Message != "once" || len(changes[1].Notify) > 0 {
		t.Errorf("the changes before notified %+v, %+v", first, changes[1].Notify)
	}
	for _, change := range heard.of(t, 2, 3)[1:] {
		if len(change.Notify) > 0 {
			t.Errorf("%s notifies %+v", change.Kind, change.Notify)
		}
	}
}

// planned creates a maintenance on the App interface, and returns its legacy id.
func (p *platform) planned(start, end time.Time, members string) int64 {
	p.t.Helper()
	component := p.must(200, "app admin a", "GET", "/app/components", "")["components"].([]any)[0].(map[string]any)["id"]
	made := p.must(201, "app admin a", "POST", "/app/events", fmt.Sprintf(`{"type": "maintenance", "title": "Move", "description": "We move.", "affectedComponents": [{"componentId": "%s"}],
		"scheduledStartAt": "%s", "scheduledEndAt": "%s"%s}`, component, start.Format(time.RFC3339Nano), end.Format(time.RFC3339Nano), members))
	return int64(made["event"].(map[string]any)["legacyId"].(float64))
}

// said returns the kinds of the changes, without the type.
func said(changes []topic.EventChange) string {
	var kinds []string
	for _, change := range changes {
		kinds = append(kinds, strings.TrimPrefix(string(change.Kind), "maintenance."))
	}
	return strings.Join(kinds, " ")
}

// TestSchedulersSendEachReminderOnce checks that two schedulers send each reminder once, and that reminders change neither the version nor
// the time of the last update.
func TestSchedulersSendEachReminderOnce(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	p.run() // a second process on the same records
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	begin := p.now().Add(2 * time.Hour)
	id := p.planned(begin, begin.Add(time.Hour), `, "reminderMinutes": [60, 30, 20, 10], "autoStart": true, "notify": {"email": true, "sms": false}`)
	path := fmt.Sprintf("/api/v1/event/list/%d/", id)
	for i, step := range []time.Duration{time.Hour, 45 * time.Minute, 5 * time.Minute} { // two reminders are due at the second step
		p.ahead.Add(int64(step + time.Second))
		heard.of(t, id, i+2)
	}
	p.must(200, "", "PUT", path, `{"impact": "none"}`) // still of the version that the reminders did not change
	p.ahead.Add(int64(10 * time.Minute))
	changes := heard.of(t, id, 6)
	if got := said(changes); got != "scheduled reminder reminder reminder updated started" {
		t.Errorf("the changes are %s", got)
	}
	for i, change := range changes {
		_, mail := change.Notify[topic.Email]
		if byHand := i == 4; mail == byHand || len(change.Notify) > 1 || change.Sequence != int64(i+1) {
			t.Errorf("%s with the sequence %d notifies %v", change.Kind, change.Sequence, change.Notify)
		}
	}
	sent, err := json.Marshal(p.must(200, "", "GET", path, ""))
	if err != nil {
		t.Fatal(err)
	}
	p.must(200, "", "PUT", path, string(sent)) // a legacy client can write back the entry of the scheduler
	shown := p.must(200, "app admin a", "GET", "/app/events/"+changes[0].Event.ID, "")["event"].(map[string]any)
	if shown["version"] != float64(3) {
		t.Errorf("the version is %v", shown["version"])
	}
	entry := shown["timeline"].([]any)[0].(map[string]any)
	if entry["status"] != "started" || entry["previousStatus"] != "planning" || entry["message"] != "Started as scheduled." || entry["notified"] != true || entry["timestamp"] != shown["scheduledStartAt"] ||
		!reflect.DeepEqual(entry["author"], map[string]any{"userId": nil, "name": ""}) {
		t.Errorf("the entry of the scheduler is %v", entry)
	}
}

// TestSchedulerKilled checks that each step is taken once and published, although the process is killed again and again,
// and on MongoDB two processes.
func TestSchedulerKilled(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	p.ahead.Store(int64(-time.Hour)) // creating them takes time too, and must end before the first step
	const each = 12
	wanted := map[int64]string{}
	for i := range each {
		at := time.Now().UTC().Add(3*time.Second + time.Duration(i)*150*time.Millisecond)
		wanted[p.planned(at, at.Add(2*time.Second), `, "autoStart": true, "autoEnd": true`)] = "scheduled started completed"
		wanted[p.planned(at.Add(5*time.Minute), at.Add(time.Hour), `, "reminderMinutes": [5]`)] = "scheduled reminder"
	}
	p.stop()
	p.ahead.Store(0)
	for round := range 6 {
		kills := []func(){p.spawn()}
		if strings.HasPrefix(p.documents, "mongodb") { // SQLite serves one process
			kills = append(kills, p.spawn())
		}
		moment := time.NewTimer(time.Duration(300+190*round) * time.Millisecond) // somewhere in the steps; any outcome is checked
		<-moment.C
		for _, kill := range kills {
			kill()
		}
	}
	p.run()
	for id, want := range wanted {
		changes := heard.of(t, id, 1+strings.Count(want, " "))
		if got := said(changes); got != want {
			t.Errorf("event %d: %s", id, got)
		}
		for i, change := range changes {
			if change.Sequence != int64(i+1) || len(change.Notify) != len(topic.AppChannels()) {
				t.Errorf("event %d: %s has the sequence %d and notifies %v", id, change.Kind, change.Sequence, change.Notify)
			}
		}
		event := p.must(200, "app admin a", "GET", "/app/events/"+changes[0].Event.ID, "")["event"].(map[string]any)
		if steps := strings.Count(want, "started") + strings.Count(want, "completed"); event["version"] != float64(1+steps) || len(event["timeline"].([]any)) != steps {
			t.Errorf("event %d has the version %v and the timeline %v", id, event["version"], event["timeline"])
		}
	}
}

// TestStepsThatAreDueAtOnceShareEditions plans maintenances that begin at the same moment. An edition for each one would show
// the last of them late.
func TestStepsThatAreDueAtOnceShareEditions(t *testing.T) {
	p := start(t, startBroker(t))
	p.component("API")
	const many = 24
	begin := p.now().Add(time.Hour)
	var group sync.WaitGroup
	for range many {
		group.Go(func() { p.planned(begin, begin.Add(time.Hour), `, "autoStart": true`) })
	}
	group.Wait()
	before := p.edition().Number
	p.ahead.Add(int64(time.Hour))
	apitest.Eventually(t, "all are under way", func() bool {
		return len(p.must(200, "app admin a", "GET", "/app/events?status=started&limit=100", "")["events"].([]any)) == many
	})
	apitest.Eventually(t, "visitors see all under way", func() bool {
		return strings.Count(p.text("api/v2/scheduled-maintenances/active.json"), `"impact":"maintenance"`) == many
	})
	if made := p.edition().Number - before; made > many/2 {
		t.Errorf("%d steps made %d editions", many, made)
	}
}
