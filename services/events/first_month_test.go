package events_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestTheHistoryBeginsWithTheOldestEvent checks the list of months after the oldest event is imported and undone, deleted,
// moved, hidden, and removed with its component.
func TestTheHistoryBeginsWithTheOldestEvent(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	first, second := p.component("API"), p.component("Mail")
	older := fmt.Sprintf(`, "status": "resolved", "startAt": %q, "endAt": %q`, p.now().AddDate(-1, 0, 0).Format("2006-01-02T15:04:05Z"), p.now().AddDate(-1, 0, 1).Format("2006-01-02T15:04:05Z"))
	p.incident(first, older)
	months := func() []string { return p.snapshot(records).Months }
	before := months()
	if len(before) != 13 {
		t.Fatalf("the months are %v", before)
	}
	const mistyped = `, "status": "resolved", "startAt": "2011-03-01T10:00:00Z", "endAt": "2011-03-01T11:00:00Z"`
	change := func(id, member string) {
		t.Helper()
		p.must(200, "app admin a", "PATCH", "/app/events/"+id, `{`+member+`}`)
	}
	for name, undo := range map[string]func(id string){
		"deleted":   func(id string) { p.must(204, "app admin a", "DELETE", "/app/events/"+id, "") },
		"moved":     func(id string) { change(id, older[len(`, "status": "resolved", `):]) },
		"hidden":    func(id string) { change(id, `"hiddenFromDashboard": true`) },
		"withdrawn": func(id string) { change(id, `"publish": false`) },
		"without the component": func(string) {
			p.must(200, "app admin a", "PUT", "/app/dashboards/"+dashA+"/components", fmt.Sprintf(`{"components": [{"componentId": %q}]}`, first))
		},
	} {
		id := p.incident(second, mistyped)
		if got := months(); got[len(got)-1] != "2011-03" {
			t.Errorf("%s: the months begin with %s", name, got[len(got)-1])
		}
		if undo(id); !slices.Equal(months(), before) {
			t.Errorf("%s: the months were %v and are %v", name, before, months())
		}
		p.must(200, "app admin a", "PUT", "/app/dashboards/"+dashA+"/components", fmt.Sprintf(`{"components": [{"componentId": %q}, {"componentId": %q}]}`, first, second))
		p.send("app admin a", "DELETE", "/app/events/"+id, "")
	}
	p.imports("", `{"key": "old", "type": "incident", "title": "Old", "status": "resolved", "severity": "major_outage", "startAt": "2015-03-01T10:00:00Z", "endAt": "2015-03-02T10:00:00Z"}`)
	if got := months(); got[len(got)-1] != "2015-03" {
		t.Errorf("the months begin with %s", got[len(got)-1])
	}
	p.must(200, "app admin a", "DELETE", "/app/events/import/"+importRun, "")
	if got := months(); !slices.Equal(got, before) {
		t.Errorf("after an undo the months are %v", got)
	}
}
