package events_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
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
	p.must(204, "app admin a", "DELETE", "/app/events/"+p.incident(second, mistyped), "")
	if got := months(); got[len(got)-1] != "2015-03" {
		t.Errorf("the months begin with %s", got[len(got)-1])
	}
	p.must(200, "app admin a", "DELETE", "/app/events/import/"+importRun, "")
	if got := months(); !slices.Equal(got, before) {
		t.Errorf("after an undo the months are %v", got)
	}
}

// readEvents counts the events that lists return.
type readEvents struct {
	catalog.Collection[catalog.Event]
	n *atomic.Int64
}

func (r readEvents) GetMany(ctx context.Context, keys []string) ([]catalog.Event, error) {
	found, err := r.Collection.GetMany(ctx, keys)
	r.n.Add(int64(len(found)))
	return found, err
}

func (r readEvents) Each(ctx context.Context, query find.Query, visit func(catalog.Event) error) error {
	return r.Collection.Each(ctx, query, func(event catalog.Event) error {
		r.n.Add(1)
		return visit(event)
	})
}

// TestTheHistoryReadsNoOlderEventsOfOtherDashboards deletes the oldest event of a dashboard in an organization with many
// older events that the dashboard does not show.
func TestTheHistoryReadsNoOlderEventsOfOtherDashboards(t *testing.T) {
	var n atomic.Int64
	p, _ := startCounted(t, func(records *store.Store) { records.Events = readEvents{records.Events, &n} })
	first, elsewhere := p.component("API"), p.component("Mail")
	p.must(200, "app admin a", "PUT", "/app/dashboards/"+dashA+"/components", fmt.Sprintf(`{"components": [{"componentId": %q}]}`, first))
	closed := func(component string, year int) string {
		return p.incident(component, fmt.Sprintf(`, "status": "resolved", "startAt": "%d-03-01T10:00:00Z", "endAt": "%d-03-01T11:00:00Z"`, year, year))
	}
	const others = 60
	for range others {
		closed(elsewhere, 2010)
	}
	oldest := closed(first, 2011)
	closed(first, 2015)
	n.Store(0)
	p.must(204, "app admin a", "DELETE", "/app/events/"+oldest, "")
	if n.Load() >= others {
		t.Errorf("the write has read %d events", n.Load())
	}
	if months := p.snapshot(p.records()).Months; months[len(months)-1] != "2015-03" {
		t.Errorf("the months begin with %s", months[len(months)-1])
	}
}
