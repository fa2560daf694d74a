package main_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestVisitorsSeeTheSchedulersSteps measures at the gateway when visitors see that maintenances start and end and that
// incidents begin by themselves. Most of these steps are visible within 3 s. (On a machine that runs other tests, one
// may be late.) Nobody sees an incident before it begins.
func TestVisitorsSeeTheSchedulersSteps(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	service, component := a.service("Checkout")
	l := looker{t: t, base: a.DashboardURL}
	var late []time.Duration
	see := func(what string, at time.Time, path string, is func(string) bool) {
		t.Helper()
		eventually(t, 30*time.Second, what, func() error {
			if got := l.visit("GET", path, nil); !is(string(got.body)) {
				return fmt.Errorf("%d %s", got.status, got.body)
			}
			return nil
		})
		late = append(late, time.Since(at))
		if time.Now().Before(at) {
			t.Errorf("%s: visible %s too early", what, time.Until(at))
		}
	}
	for round := range 2 {
		begin := time.Now().Add(8 * time.Second).UTC().Truncate(time.Second)
		end := begin.Add(3 * time.Second)
		send(t, http.MethodPost, base+"/app/events", a.app(), map[string]any{
			"type": "maintenance", "title": fmt.Sprintf("Move %d", round), "affectedComponents": []any{map[string]any{"componentId": component}},
			"scheduledStartAt": begin.Format(time.RFC3339), "scheduledEndAt": end.Format(time.RFC3339), "autoStart": true, "autoEnd": true,
		}).expect(t, http.StatusCreated)
		title := fmt.Sprintf("Not yet known %d", round)
		ahead := incident(service, title)
		ahead["start"] = begin.Format("2006-01-02T15:04:05")
		send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), ahead).expect(t, http.StatusCreated)
		see("the incident begins", begin, "/feed.rss", func(text string) bool { return strings.Contains(text, title) })
		said := func(words string) func(string) bool {
			return func(text string) bool { return strings.Count(text, words) == round+1 }
		}
		see("the maintenance starts", begin, "/api/v2/scheduled-maintenances.json", said("Started as scheduled."))
		see("the maintenance ends", end, "/api/v2/scheduled-maintenances.json", said("Completed as scheduled."))
	}
	slices.Sort(late)
	if t.Logf("visible after %v", late); late[len(late)/2] > 3*time.Second {
		t.Errorf("visible after %v", late)
	}
}

// TestAPageShowsWhatVisitorsMayKnowOfAnIncident reads at the gateway what visitors see of an incident in its first second, of its
// impact, and of a maintenance that was published and then withdrawn.
func TestAPageShowsWhatVisitorsMayKnowOfAnIncident(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, component := a.service("Checkout")
	l := looker{t: t, base: a.DashboardURL}
	text := func(path string) string {
		t.Helper()
		return string(l.visit("GET", path, nil).expect(t, http.StatusOK).body)
	}
	if feed := text("/feed.atom"); !strings.Contains(feed, "</subtitle><updated>"+time.Now().UTC().Format("2006-")) {
		t.Errorf("the feed without items: %s", feed)
	}
	create := func(members map[string]any) string {
		t.Helper()
		members["affectedComponents"] = []any{map[string]any{"componentId": component}}
		var made struct{ Event struct{ ID string } }
		send(t, http.MethodPost, base+"/app/events", a.app(), members).expect(t, http.StatusCreated).into(t, &made)
		return made.Event.ID
	}
	id := create(map[string]any{"type": "incident", "title": "Down", "impactAnalysis": "<p>No <b>payment</b></p>", "coordinator": "Ann", "initialTimelineMessage": "We look."})
	if bar := regexp.MustCompile(`(?s)<svg class="bar".*?</svg>`).FindString(text("/")); !strings.Contains(bar, `href="events/`+id+`"`) || !strings.Contains(bar, "Down") {
		t.Errorf("the bar is %s", bar)
	}
	if page := text("/events/" + id); !strings.Contains(page, "<strong>payment</strong>") || strings.Contains(page, "Ann") {
		t.Errorf("the page of the incident is %s", page)
	}
	send(t, http.MethodPost, base+"/app/events/"+id+"/timeline", a.app(), map[string]any{"message": "Over.", "status": "resolved"}).expect(t, http.StatusCreated)
	if list := text("/api/v2/incidents.json"); !strings.Contains(list, `"old_status":"degraded_performance","new_status":"operational"`) {
		t.Errorf("the incidents are %s", list)
	}
	plan := func(title string, after time.Duration) {
		t.Helper()
		at := time.Now().UTC().Add(after)
		create(map[string]any{"type": "maintenance", "title": title, "scheduledStartAt": at.Format(time.RFC3339), "scheduledEndAt": at.Add(time.Hour).Format(time.RFC3339)})
	}
	plan("Second", 2*time.Hour)
	plan("First", time.Hour)
	if list := text("/api/v2/scheduled-maintenances/upcoming.json"); strings.Index(list, `"First"`) > strings.Index(list, `"Second"`) {
		t.Errorf("upcoming are %s", list)
	}
	send(t, http.MethodPatch, base+"/app/components/"+component, a.app(), map[string]any{"hidden": true}).expect(t, http.StatusOK)
	if calendar := text("/maintenance.ics"); strings.Count(calendar, "STATUS:CANCELLED\r\n") != 2 || strings.Contains(calendar, "CONFIRMED") {
		t.Errorf("the calendar is %s", calendar)
	}
}
