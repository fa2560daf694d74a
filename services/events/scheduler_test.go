package events_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// TestAuto checks that two schedulers start and end a maintenance once, and that they do not
// repeat a step that a person has taken back.
func TestAuto(t *testing.T) {
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
