package site

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

func frameOf(t *testing.T, snapshot *edition.Snapshot) frame {
	t.Helper()
	return newSite(t).newFrame(renderRequest{Snapshot: snapshot})
}

func TestThePageOfAPreviewHasNoScript(t *testing.T) {
	snapshot := troubledPage()
	html, policy, err := newSite(t).Page(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(html); strings.Contains(text, "<script") || strings.Contains(text, `id="pause"`) || strings.Contains(policy, "script-src") || !strings.Contains(text, "<h1") {
		t.Errorf("%s: %s", policy, text)
	}
}

// The page shows the modules that are on, in the order of the content.
func TestModulesAndTheirOrder(t *testing.T) {
	s, snapshot := newSite(t), troubledPage()
	titles := map[string]string{
		"announcement": "Move of the data centre", "overallStatus": `class="hero`, "activeIncidents": "<h2>Active incidents", "activeMaintenance": "<h2>Active maintenance",
		"components": "<h2>Components", "upcomingMaintenance": "<h2>Upcoming maintenance", "eventHistory": "<h2>History", "subscribe": "<h2>Get notified", "about": "<h2>About this page",
	}
	slices.Reverse(snapshot.Dashboard.Content.Order)
	last := 0
	text := string(render(t, s, snapshot, "").Body)
	for _, name := range snapshot.Dashboard.Content.Order {
		if titles[name] == "" {
			continue
		}
		at := strings.Index(text, titles[name])
		if at < last {
			t.Errorf("%s is at %d, after %d", name, at, last)
		}
		last = at
	}
	for name, title := range titles {
		snapshot := troubledPage()
		reflect.ValueOf(&snapshot.Dashboard.Content.Modules).Elem().FieldByName(strings.ToUpper(name[:1]) + name[1:]).SetBool(false)
		if text := string(render(t, s, snapshot, "").Body); strings.Contains(text, title) {
			t.Errorf("%s is off and shown", name)
		}
	}
}

func TestUptimeHistoryShowsBars(t *testing.T) {
	s, snapshot := newSite(t), troubledPage()
	on := &snapshot.Dashboard.Content.Modules
	for _, one := range []struct {
		components, history bool
		states, bars        int
	}{{true, true, 5, 5}, {true, false, 5, 0}, {false, true, 0, 5}, {false, false, 0, 0}} {
		on.Components, on.UptimeHistory = one.components, one.history
		text := string(render(t, s, snapshot, "").Body)
		if got := strings.Count(text, `<svg class="bar"`); got != one.bars {
			t.Errorf("%+v: %d bars", one, got)
		}
		rows := regexp.MustCompile(`</bdi></a><span class="state`).FindAllString(text, -1)
		if len(rows) != one.states {
			t.Errorf("%+v: %d states", one, len(rows))
		}
	}
	on.UptimeHistory = true
	snapshot.Dashboard.Content.Uptime.ShowPercentage = false
	if text := string(render(t, s, snapshot, "").Body); strings.Contains(text, "% uptime") {
		t.Error("percentages are off and shown")
	}
}

// The sentence states the worst state. It never says that all is well while an incident is open.
func TestTheSentenceStatesTheWorstState(t *testing.T) {
	open := edition.ShownEvent{Type: catalog.Incident, Status: catalog.Monitoring, StartAt: ago(time.Hour)}
	upkeep := edition.ShownEvent{Type: catalog.Maintenance, Status: catalog.InProgress, StartAt: ago(time.Hour)}
	for _, one := range []struct {
		state  catalog.Impact
		events []edition.ShownEvent
		want   stateView
	}{
		{catalog.Operational, nil, stateView{"o", "All systems are operational"}},
		{catalog.Operational, []edition.ShownEvent{open}, stateView{"d", "An incident is open"}},
		{catalog.UnderMaintenance, []edition.ShownEvent{open}, stateView{"d", "An incident is open"}},
		{catalog.Operational, []edition.ShownEvent{upkeep}, stateView{"m", "Maintenance is in progress"}},
		{catalog.Degraded, []edition.ShownEvent{open}, stateView{"d", "Some systems have degraded performance"}},
		{catalog.PartialOutage, nil, stateView{"p", "Some systems have a partial outage"}},
		{catalog.MajorOutage, []edition.ShownEvent{open, upkeep}, stateView{"x", "Some systems have a major outage"}},
	} {
		snapshot := samplePage()
		snapshot.Components[1].State, snapshot.Events = one.state, one.events
		if got := frameOf(t, snapshot).overall(); got != one.want {
			t.Errorf("%s with %d events: %v, want %v", one.state, len(one.events), got, one.want)
		}
	}
}

func TestGroupsOpenWhenSomethingIsWrong(t *testing.T) {
	groups := frameOf(t, troubledPage()).groups(true, true)
	if len(groups) != 3 || groups[0].Name != "Core" || groups[2].Name != "" {
		t.Fatalf("%+v", groups)
	}
	if !groups[0].Open || !groups[1].Open || groups[0].State.Class != "p" {
		t.Errorf("%+v", groups[:2])
	}
	if calm := frameOf(t, samplePage()).groups(true, true); calm[0].Open || calm[1].Open {
		t.Errorf("%+v", calm)
	}
}

func TestABarShowsTheDaysOfAComponent(t *testing.T) {
	snapshot := troubledPage()
	f := frameOf(t, snapshot)
	b := f.newBar(&snapshot.Components[0])
	want := []columns{ // from August 25 to November 22
		{"o", "M0 18h104M108 18h84M196 18h140M340 18h16"}, {"d", "M192 18h4"}, {"p", "M356 18h4"}, {"x", "M104 18h4M336 18h4"},
	}
	if !slices.Equal(b.Columns, want) {
		t.Errorf("the columns are %v", b.Columns)
	}
	if want := "API: last 90 days, 99.97% uptime, events on 4 days"; b.Label != want {
		t.Errorf("the label is %q", b.Label)
	}
	if got, want := b.Links[2], (dayLink{336, "events/" + sampleID("a", 4), "November 17, 2026: Major outage (1\u00a0h 35\u00a0min). Sign-in is not possible"}); got != want {
		t.Errorf("the link is %+v", got)
	}
	if got, want := b.Links[3].Href, "components/"+sampleID("c", 1)+"#d-2026-11-22"; got != want {
		t.Errorf("the link of a day with two events is %q", got)
	}
	young := f.newBar(&snapshot.Components[2])
	if want := []columns{{"n", "M0 18h196"}, {"o", "M196 18h164"}}; !slices.Equal(young.Columns, want) || young.From != 49 {
		t.Errorf("the columns are %v from %d", young.Columns, young.From)
	}
	if want := "Sign-in: last 90 days, 100.00% uptime, no events"; !strings.EqualFold(young.Label, want) {
		t.Errorf("the label is %q", young.Label)
	}
}

// An incident that has just begun has lasted no time yet, but today has its colour and links to it.
func TestBarOfAnIncidentThatHasJustBegun(t *testing.T) {
	s := samplePage()
	s.Components[0].State = catalog.MajorOutage
	s.Components[0].Days = []uptime.AffectedDay{{Date: "2026-11-22", Tally: uptime.Tally{Worst: catalog.MajorOutage}, EventIDs: []string{"new"}}}
	s.Events = []edition.ShownEvent{{ID: "new", Type: catalog.Incident, Status: catalog.Investigating, Title: "Down", StartAt: s.At}}
	f := newSite(t).newFrame(renderRequest{Snapshot: s})
	b := f.newBar(&s.Components[0])
	if want := []dayLink{{356, "events/new", "November 22, 2026: Major outage. Down"}}; !slices.Equal(b.Links, want) || !strings.Contains(b.Label, "events on 1 day") {
		t.Errorf("the bar %q links %+v", b.Label, b.Links)
	}
	s.Components[0].Days[0].EventIDs = nil // a state by hand
	if b := f.newBar(&s.Components[0]); len(b.Links) != 1 || strings.Contains(strings.ToLower(b.Label), "events") {
		t.Errorf("the bar %q of a state by hand links %+v", b.Label, b.Links)
	}
	columns := b.Columns
	if last := columns[len(columns)-1]; last.Class != "x" || last.Path != "M356 18h4" {
		t.Errorf("the last day is %+v", last)
	}
	if months := f.componentMonths(&s.Components[0]); months[0].Days[0].State.Class != "x" || months[0].Days[1].State.Class != "o" {
		t.Errorf("the last days are %+v", months[0].Days[:2])
	}
}

// A day ends in the dashboard's zone.
func TestDaysOfTheZone(t *testing.T) {
	snapshot := samplePage()
	snapshot.At = time.Date(2026, 11, 22, 23, 30, 0, 0, time.UTC)
	for zone, want := range map[string]string{"UTC": "2026-11-22", "Europe/Berlin": "2026-11-23", "America/New_York": "2026-11-22", "Pacific/Kiritimati": "2026-11-23"} {
		snapshot.Dashboard.Timezone = zone
		if got := frameOf(t, snapshot).newBar(&snapshot.Components[0]).Today.String(); got != want {
			t.Errorf("%s: today is %s, want %s", zone, got, want)
		}
	}
}

func TestTheHistoryListsEventsByDay(t *testing.T) {
	rows := frameOf(t, troubledPage()).history(14)
	var got []string
	for _, row := range rows {
		text := row.Last.At
		if !row.Single && row.First.At != "" {
			text = row.First.At + ".." + text
		}
		for _, e := range row.Events {
			text += " " + e.Title
		}
		got = append(got, text)
	}
	want := []string{
		"2026-11-22 Elevated error rates on the API Exchange of disks", "2026-11-18..2026-11-21", "2026-11-17 Sign-in is not possible", "2026-11-09..2026-11-16",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the history is %q", got)
	}
}

// A long event is on each day that it covers, in the window only.
func TestHistoryShowsALongEventEachDay(t *testing.T) {
	snapshot := samplePage()
	snapshot.Events = []edition.ShownEvent{{
		ID: "long", Type: catalog.Incident, Status: catalog.Resolved, StartAt: ago(40 * 24 * time.Hour), EndAt: pointer(ago(11 * 24 * time.Hour)),
	}}
	rows := frameOf(t, snapshot).history(14)
	if len(rows) != 4 || len(rows[0].Events) != 0 || rows[1].Last.At != "2026-11-11" || !rows[1].Events[0].Ending || rows[2].Events[0].Ending || rows[3].Last.At != "2026-11-09" {
		t.Errorf("%+v", rows)
	}
}

// An event that ends at midnight is not on the day that begins then, unless it has no length.
func TestHistoryOfAnEventThatEndsAtMidnight(t *testing.T) {
	midnight := time.Date(2026, 11, 17, 23, 0, 0, 0, time.UTC) // in Berlin
	for length, want := range map[time.Duration]string{time.Hour: "2026-11-17", 0: "2026-11-18", -time.Second: "2026-11-18"} {
		snapshot := samplePage()
		snapshot.Dashboard.Timezone = "Europe/Berlin"
		snapshot.Events = []edition.ShownEvent{{
			ID: "short", Type: catalog.Incident, Status: catalog.Resolved, StartAt: midnight.Add(-max(length, 0)), EndAt: pointer(midnight.Add(min(length, 0) * -1)),
		}}
		for _, row := range frameOf(t, snapshot).history(14) {
			if is := row.Last.At == want; len(row.Events) > 0 != is || is && !row.Events[0].Ending {
				t.Errorf("%s: %s has %d events", length, row.Last.At, len(row.Events))
			}
		}
	}
}

// A day of a change of the clocks has 23 or 25 hours. An hour of outage weighs accordingly.
func TestUptimeOfDaysWith23And25Hours(t *testing.T) {
	for _, one := range []struct {
		zone, date string
		hours      float64
	}{
		{"Europe/Berlin", "2026-03-29", 23}, {"Europe/Berlin", "2025-10-26", 25}, {"Europe/Berlin", "2026-06-01", 24},
		{"America/Havana", "2026-03-08", 23}, {"America/Havana", "2025-11-02", 25}, // at midnight
	} {
		snapshot := samplePage()
		snapshot.Dashboard.Timezone = one.zone
		snapshot.At = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
		c := &snapshot.Components[0]
		c.Since = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		c.Days = []uptime.AffectedDay{{Date: one.date, Tally: uptime.Tally{Major: time.Hour, Worst: catalog.MajorOutage}}}
		parsed, err := time.Parse(time.DateOnly, one.date)
		if err != nil {
			t.Fatal(err)
		}
		want := 100 * (1 - 1/one.hours)
		if got := *frameOf(t, snapshot).uptime(c, day{parsed}, day{parsed}); got < want-1e-5 || got > want+1e-5 {
			t.Errorf("%s in %s: %f, want %f", one.date, one.zone, got, want)
		}
	}
}

// The page of a component has every day of twelve months on which the component existed.
func TestComponentDays(t *testing.T) {
	snapshot := troubledPage()
	f := frameOf(t, snapshot)
	count := func(months []componentMonth) (n int) {
		for _, m := range months {
			n += len(m.Days)
		}
		return n
	}
	all := f.componentMonths(&snapshot.Components[0])
	if n := count(all); n != 365 || all[0].Name != "2026-11" || all[len(all)-1].Name != "2025-11" || !all[0].Open || !all[1].Open || all[3].Open {
		t.Errorf("%d days in %d months", n, len(all))
	}
	if last := all[0].Days[0]; last.ID != "2026-11-22" || last.Lasted != "1\u00a0h 30\u00a0min" || len(last.Events) != 2 || last.State.Class != "p" {
		t.Errorf("%+v", last)
	}
	if n := count(f.componentMonths(&snapshot.Components[2])); n != 41 {
		t.Errorf("the young component has %d days", n)
	}
	if n := count(f.componentMonths(&edition.ShownComponent{ID: "new", Since: snapshot.At})); n != 1 {
		t.Errorf("the new component has %d days", n)
	}
}
