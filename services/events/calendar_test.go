package events_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

var calendarEvent = regexp.MustCompile(`(?s)BEGIN:VEVENT\r\nUID:(\S+)\r\nSEQUENCE:(\d+)\r\n.*?STATUS:(\w+)\r\n.*?END:VEVENT`)

// calendar returns the status and the sequence of each maintenance in the calendar, by id.
func (p *platform) calendar() (statuses map[string]string, sequences map[string]int) {
	p.t.Helper()
	statuses, sequences = map[string]string{}, map[string]int{}
	_, text := p.read("maintenance.ics")
	for _, found := range calendarEvent.FindAllStringSubmatch(text, -1) {
		statuses[found[1]] = found[3]
		sequences[found[1]], _ = strconv.Atoi(found[2])
		if found[3] == "CANCELLED" && strings.Contains(found[0], "Long") {
			p.t.Errorf("a cancelled maintenance has a text: %s", found[0])
		}
	}
	return statuses, sequences
}

// maintenance plans a maintenance after some time, for an hour, and returns its id.
func (p *platform) maintenance(component string, after time.Duration, more string) string {
	p.t.Helper()
	at := p.now().Add(after)
	return created("event", p.must(201, "app admin a", "POST", "/app/events", fmt.Sprintf(
		`{"type": "maintenance", "title": "New disks", "description": "Long", "scheduledStartAt": %q, "scheduledEndAt": %q, "affectedComponents": [{"componentId": %q}]%s}`,
		at.Format(time.RFC3339Nano), at.Add(time.Hour).Format(time.RFC3339Nano), component, more)))
}

// TestAMaintenanceThatVisitorsDoNotSeeAnyMoreIsCancelledInTheCalendar takes maintenances from visitors in every way and
// shows them again. Each step has a greater sequence, so that calendars follow it.
func TestAMaintenanceThatVisitorsDoNotSeeAnyMoreIsCancelledInTheCalendar(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	api, mail := p.component("API"), p.component("Mail")
	id := p.maintenance(api, time.Hour, "")
	other := p.maintenance(mail, time.Hour, "")
	path, last := "/app/events/"+id, 0
	expect := func(when, status string) {
		t.Helper()
		statuses, sequences := p.calendar()
		if statuses[id] != status || sequences[id] <= last || statuses[other] != "CONFIRMED" || len(statuses) != 2 {
			t.Errorf("%s: %v with the sequences %v after %d, want %s", when, statuses, sequences, last, status)
		}
		last = sequences[id]
	}
	expect("planned", "CONFIRMED")
	both, only := fmt.Sprintf(`{"components": [{"componentId": %q}, {"componentId": %q}]}`, api, mail), fmt.Sprintf(`{"components": [{"componentId": %q}]}`, mail)
	on := func(component string) string {
		return fmt.Sprintf(`{"affectedComponents": [{"componentId": %q}]}`, component)
	}
	hidden := p.component("Hidden")
	p.must(200, "app admin a", "PATCH", "/app/components/"+hidden, `{"hidden": true}`)
	for _, step := range []struct{ name, method, path, off, on string }{
		{"component hidden", "PATCH", "/app/components/" + api, `{"hidden": true}`, `{"hidden": false}`},
		{"component off the dashboard", "PUT", "/app/dashboards/" + dashA + "/components", only, both},
		{"component hidden again", "PATCH", "/app/components/" + api, `{"hidden": true}`, `{"hidden": false}`},
		{"hidden", "PATCH", path, `{"hiddenFromDashboard": true}`, `{"hiddenFromDashboard": false}`},
		{"draft", "PATCH", path, `{"publish": false}`, `{"publish": true}`},
		{"of a hidden component", "PATCH", path, on(hidden), on(api)},
	} {
		p.must(200, "app admin a", step.method, step.path, step.off)
		expect(step.name, "CANCELLED")
		p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"timezone": "Asia/Tokyo"}`) // reads all events
		p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"timezone": "UTC"}`)
		p.must(200, "app admin a", step.method, step.path, step.on)
		expect("after "+step.name, "CONFIRMED")
		p.must(200, "app admin a", "PATCH", path, fmt.Sprintf(`{"title": %q}`, step.name))
		expect("another title after "+step.name, "CONFIRMED")
	}
	p.must(204, "app admin a", "DELETE", path, "")
	expect("deleted", "CANCELLED")
	p.must(204, "app admin a", "DELETE", "/app/events/"+other, "")
	far := p.maintenance(api, 60*24*time.Hour, "")
	p.must(204, "app admin a", "DELETE", "/app/events/"+far, "")
	p.ahead.Add(int64(30 * 24 * time.Hour)) // the planned end is in an hour or two
	apitest.Eventually(t, "the next day has begun", func() bool { return p.now().Sub(p.snapshot(records).At) < 24*time.Hour })
	if statuses, _ := p.calendar(); len(statuses) != 3 {
		t.Errorf("30 days later: %v", statuses)
	}
	p.ahead.Add(int64(2 * 24 * time.Hour))
	apitest.Eventually(t, "30 days after the planned end are over", func() bool {
		statuses, _ := p.calendar()
		return len(statuses) == 1 && statuses[far] == "CANCELLED"
	})
}

// A maintenance that is completed out of planning never took place. A calendar keeps its planned times and shows it as
// cancelled, and for clients of /api/v2 no component has recovered.
func TestAMaintenanceThatNeverTookPlaceIsCancelled(t *testing.T) {
	p := start(t, startBroker(t))
	id := p.maintenance(p.component("API"), time.Hour, "")
	times := regexp.MustCompile(`DTSTART:\S+\r\nDTEND:\S+\r\n`)
	_, planned := p.read("maintenance.ics")
	p.must(201, "app admin a", "POST", "/app/events/"+id+"/timeline", `{"status": "completed", "message": "Not now."}`)
	_, text := p.read("maintenance.ics")
	if !strings.Contains(text, "STATUS:CANCELLED\r\n") || times.FindString(planned) == "" || times.FindString(text) != times.FindString(planned) {
		t.Errorf("the calendar was %s and is %s", planned, text)
	}
	_, list := p.read("api/v2/scheduled-maintenances.json")
	if !strings.Contains(list, `"status":"completed"`) || strings.Contains(list, `"new_status":"operational"`) {
		t.Errorf("/api/v2 has %s", list)
	}
}
