package events_test

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/services/events"
)

// read returns the status and the text of a file of the current edition.
func (p *platform) read(name string) (int, string) {
	p.t.Helper()
	edition := p.edition().ID
	response := p.file(edition, name, "identity")
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.edition().ID != edition { // the clock went on
		return p.read(name)
	}
	return response.StatusCode, string(body)
}

// text returns a file of the current edition.
func (p *platform) text(name string) string {
	p.t.Helper()
	status, text := p.read(name)
	if status != 200 {
		p.t.Fatalf("%q: %d %s", name, status, text)
	}
	return text
}

// files returns every file of the current edition about the component, the event and the present month, by name.
func (p *platform) files(component, event string) map[string]string {
	p.t.Helper()
	files := map[string]string{}
	for _, one := range events.Public() {
		name, is := strings.CutPrefix(one.Path, "/d/{slug}/")
		if !is || one.Method != "GET" || strings.HasPrefix(name, "incidents/{id}") || strings.HasPrefix(name, "api/v1/") {
			continue
		}
		id := component
		if strings.HasPrefix(name, "events/") {
			id = event
		}
		name = strings.NewReplacer("{id}", id, "{month}", p.now().Format("2006-01")).Replace(name)
		_, files[name] = p.read(name)
	}
	return files
}

var (
	barPattern  = regexp.MustCompile(`(?s)<svg class="bar".*?</svg>`)
	mainPattern = regexp.MustCompile(`(?s)<main.*</main>`)
	hundred     = regexp.MustCompile(`100(\.0+)?%`)
)

// TestTheBarOfTodayNamesAnEventFromTheMomentItIsShown creates an incident at the beginning of a second and reads the bars at
// once. The incident is also named after its end in the same second. Beside it, no uptime is 100 %.
func TestTheBarOfTodayNamesAnEventFromTheMomentItIsShown(t *testing.T) {
	p := start(t, startBroker(t))
	noon := time.Now().Truncate(24 * time.Hour).Add(36 * time.Hour) // the component and the incident begin on the same day
	p.ahead.Store(int64(time.Until(noon)))
	api := p.component("API")
	p.ahead.Store(int64(time.Until(p.now().Add(time.Hour).Truncate(time.Second))))
	event := p.incident(api, "")
	for _, when := range []string{"open", "closed"} {
		for name, href := range map[string]string{"": "events/" + event, "components/" + api: "../events/" + event} {
			text := p.text(name)
			bar := barPattern.FindString(text)
			if !strings.Contains(bar, `<a href="`+href+`"`) || !strings.Contains(bar, "Major outage") || !strings.Contains(bar, "Down") || strings.Contains(bar, "No events") || hundred.MatchString(bar) {
				t.Errorf("%s: the bar in %q is %s", when, name, bar)
			}
			if name != "" && !strings.Contains(text, `<br><a href="`+href+`">`) {
				t.Errorf("%s: the day in %q lacks the event", when, name)
			}
		}
		for _, name := range []string{"components/" + api, "history/" + p.now().Format("2006-01")} {
			if rows := mainPattern.FindString(p.text(name)); hundred.MatchString(rows) {
				t.Errorf("%s: %q has an uptime of 100 %%: %s", when, name, rows)
			}
		}
		if when == "open" {
			p.must(201, "app admin a", "POST", "/app/events/"+event+"/timeline", `{"message": "Over.", "status": "resolved"}`)
		}
	}
}

// TestAFeedWithoutItemsIsDatedByItsLastChange checks that a feed has the time of the edition that changed it, and that other
// editions leave its bytes.
func TestAFeedWithoutItemsIsDatedByItsLastChange(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	api, mail := p.component("API"), p.component("Mail")
	feeds := map[string]string{"dashboard": "feed.atom", "API": "components/" + api + "/feed.atom"}
	former := map[string]string{}
	check := func(when, changed string) {
		t.Helper()
		at := p.snapshot(records).At.Format(time.RFC3339)
		for of, name := range feeds {
			text := p.text(name)
			if strings.Contains(text, "<entry>") {
				former[of] = text
				continue
			}
			if anew := strings.Contains(changed, of); anew && !strings.Contains(text, "</subtitle><updated>"+at+"</updated>") || !anew && text != former[of] {
				t.Errorf("%s at %s: the feed of the %s was\n%s\nand is\n%s", when, at, of, former[of], text)
			}
			former[of] = text
		}
		p.ahead.Add(int64(10 * time.Second))
	}
	write := func(status int, method, path, body string) { p.must(status, "app admin a", method, path, body) }
	dashboard := "/app/dashboards/" + dashA
	write(200, "PATCH", dashboard, `{"name": "Acme"}`)
	check("at first", "dashboard API")
	write(200, "PATCH", dashboard, `{"branding": {"primaryColor": "#aa0000"}}`)
	check("with another colour", "")
	write(200, "PATCH", dashboard, `{"timezone": "Asia/Tokyo"}`)
	check("in another zone", "")
	p.must(201, "", "POST", "/api/v1/event/list/", p.future("Not yet", time.Hour))
	check("with an incident that begins later", "")
	write(200, "PATCH", "/app/components/"+mail, `{"name": "Post"}`)
	check("after a change of another component", "")
	write(200, "PATCH", "/app/components/"+api, `{"name": "The API"}`)
	check("after a change of the component", "API")
	event := p.incident(mail, "")
	write(204, "DELETE", "/app/events/"+event, "")
	check("after the deletion of an incident of another component", "dashboard")
	event = p.incident(api, "")
	check("with an incident", "")
	write(200, "PATCH", "/app/events/"+event, fmt.Sprintf(`{"affectedComponents": [{"componentId": %q}]}`, mail))
	check("with an incident of another component", "API")
	write(200, "PATCH", "/app/components/"+mail, `{"hidden": true}`)
	check("after the component of an incident was hidden", "dashboard")
	if text := p.text("components/" + api + "/feed.rss"); !strings.Contains(text, "<lastBuildDate>") || strings.Contains(text, "0001") {
		t.Errorf("RSS: %s", text)
	}
	write(200, "PATCH", dashboard, `{"locale": "de"}`)
	check("in another language", "dashboard API")
}

// future returns an incident on the first service that begins later, as the legacy interface takes it.
func (p *platform) future(description string, after time.Duration) string {
	return fmt.Sprintf(`{"type": {"id": 1}, "status": {"status": "identified"}, "description": %q, "start": %q, "event_service": ["/api/v1/service/1/"]}`,
		description, p.now().Add(after).Format("2006-01-02T15:04:05"))
}

// TestAnIncidentIsInNoFileBeforeItBegins checks every file before and after the start, and that the scheduler makes the
// edition although nobody asks.
func TestAnIncidentIsInNoFileBeforeItBegins(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	api := p.component("API")
	event := p.must(201, "", "POST", "/api/v1/event/list/", p.future("Not yet known", 10*time.Minute))["resource_uri"].(string)
	list := p.must(200, "app admin a", "GET", "/app/events", "")["events"].([]any)
	id := list[0].(map[string]any)["id"].(string)
	p.must(200, "", "PUT", event, `{"impact": "Not yet analysed"}`)
	row := func() any {
		return p.must(200, "public", "GET", acme+"/list", "")["objects"].([]any)[0].(map[string]any)["status"]
	}
	for name, text := range p.files(api, id) {
		if strings.Contains(text, "Not yet") || strings.Contains(text, id) {
			t.Errorf("%q has the incident before its start: %s", name, text)
		}
	}
	if status, _ := p.read("events/" + id); status != 404 || row() != "operational" {
		t.Errorf("before its start the page of the incident is %d, and the component is %v", status, row())
	}
	before, err := records.Pages.Get(t.Context(), dashA)
	if err != nil {
		t.Fatal(err)
	}
	p.ahead.Add(int64(10 * time.Minute))
	apitest.Eventually(t, "the scheduler makes an edition", func() bool {
		page, err := records.Pages.Get(t.Context(), dashA)
		return err == nil && page.Edition > before.Edition
	})
	silent := []string{"history", "subscribe", "subscribe/sent", "robots.txt", "embed.js", "maintenance.ics", "api/v2/components.json", "api/v2/status.json", "embed"}
	for name, text := range p.files(api, id) {
		if shows := strings.Contains(text, "Not yet known"); !shows && !slices.Contains(silent, name) && !strings.HasSuffix(name, "badge.svg") && !strings.Contains(name, "maintenances") {
			t.Errorf("%q lacks the incident after its start: %s", name, text)
		}
	}
	if row() != "active incident" || !strings.Contains(p.text("api/v2/status.json"), `"minor"`) {
		t.Errorf("after its start the component is %v", row())
	}
	p.must(200, "", "PUT", event, fmt.Sprintf(`{"start": %q}`, p.now().Add(time.Hour).Format("2006-01-02T15:04:05")))
	for name, text := range p.files(api, id) {
		if strings.Contains(text, "Not yet") {
			t.Errorf("%q has the incident after its start was put off: %s", name, text)
		}
	}
}

// TestTheEventsPageShowsTheImpactAnalysis checks that the page of an event has the analysis as safe HTML, that no other file
// has it, and that none has the coordinator.
func TestTheEventsPageShowsTheImpactAnalysis(t *testing.T) {
	p := start(t, startBroker(t))
	api := p.component("API")
	body := `{"type": {"id": 1}, "status": {"status": "identified"}, "description": "d", "start": "2026-01-02T03:04:05", "event_service": ["/api/v1/service/1/"],
		"impact": "# All\n**Every** request <script>alert(7)</script>", "impact_md": true, "coordinator": "Ann of the night shift"}`
	p.must(201, "", "POST", "/api/v1/event/list/", body)
	legacy := p.must(200, "app admin a", "GET", "/app/events", "")["events"].([]any)[0].(map[string]any)["id"].(string)
	event := p.incident(api, `, "impactAnalysis": "<p>No <b>payment</b> works</p><script>alert(7)</script>", "coordinator": "Ann of the night shift"`)
	for id, want := range map[string]string{legacy: "<strong>Every</strong> request", event: "<strong>payment</strong> works"} {
		for name, text := range p.files(api, id) {
			has := strings.Contains(text, want)
			if has != (name == "events/"+id) || has && !strings.Contains(text, "<h2>Impact</h2>") || strings.Contains(text, "alert(7)</script>") || strings.Contains(text, "night shift") {
				t.Errorf("%q has the analysis: %v: %s", name, has, text)
			}
		}
	}
	if text := p.text("events/" + p.incident(api, "")); strings.Contains(text, "<h2>Impact</h2>") {
		t.Error("an event without an analysis has the heading")
	}
}

// changes returns what the updates of an incident in /api/v2 change, the oldest first: for each one, the component with its
// old and its new status.
func (p *platform) changes(file, key, event string) (changes []string) {
	p.t.Helper()
	var body map[string]json.RawMessage
	var listed []struct {
		ID      string
		Updates []struct {
			Status     string
			Components []struct {
				Name string
				Old  *string `json:"old_status"`
				New  string  `json:"new_status"`
			} `json:"affected_components"`
		} `json:"incident_updates"`
	}
	if err := json.Unmarshal([]byte(p.text(file)), &body); err != nil {
		p.t.Fatal(err)
	}
	if err := json.Unmarshal(body[key], &listed); err != nil {
		p.t.Fatal(err)
	}
	for _, one := range listed {
		if one.ID != event {
			continue
		}
		for _, update := range slices.Backward(one.Updates) {
			text := update.Status
			for _, c := range update.Components {
				old := "null"
				if c.Old != nil {
					old = *c.Old
				}
				text += " " + c.Name + " " + old + ">" + c.New
			}
			changes = append(changes, text)
		}
	}
	return changes
}

// TestUpdatesHaveTheImpactBeforeThem follows an incident through changes of its impact, a correction, its end and a reopening.
func TestUpdatesHaveTheImpactBeforeThem(t *testing.T) {
	p := start(t, startBroker(t))
	api, mail := p.component("API"), p.component("Mail")
	event := created("event", p.must(201, "app admin a", "POST", "/app/events", fmt.Sprintf(
		`{"type": "incident", "title": "Down", "initialTimelineMessage": "We look.", "affectedComponents": [{"componentId": %q, "impact": "major_outage"}, {"componentId": %q}]}`, api, mail)))
	path := "/app/events/" + event
	post := func(way, status, impacts string) {
		t.Helper()
		p.ahead.Add(int64(time.Minute))
		p.must(201, "app admin a", "POST", path+way, fmt.Sprintf(`{"message": "m", "status": %q%s}`, status, impacts))
	}
	on := func(component, impact string) string {
		return fmt.Sprintf(`, "componentImpacts": [{"componentId": %q, "impact": %q}]`, component, impact)
	}
	post("/timeline", "identified", on(api, "partial_outage"))
	post("/timeline", "update", on(mail, "operational"))
	post("/timeline", "monitoring", on(mail, "operational"))
	p.must(200, "app admin a", "PATCH", path, fmt.Sprintf(`{"affectedComponents": [{"componentId": %q, "impact": "major_outage"}, {"componentId": %q, "impact": "operational"}]}`, api, mail))
	post("/timeline", "identified", on(api, "degraded_performance"))
	post("/timeline", "resolved", "")
	post("/timeline", "update", "")
	p.ahead.Add(int64(time.Minute))
	p.must(201, "app admin a", "POST", path+"/reopen", `{"message": "Again.", "status": "identified"}`)
	post("/timeline", "monitoring", on(api, "partial_outage"))
	post("/timeline", "resolved", on(api, "operational"))
	want := []string{
		"investigating", "identified API major_outage>partial_outage", "identified Mail degraded_performance>operational", "monitoring Mail operational>operational",
		"identified API major_outage>degraded_performance", "resolved API degraded_performance>operational", "resolved",
		"identified", "monitoring API degraded_performance>partial_outage", "resolved API partial_outage>operational",
	}
	if got := p.changes("api/v2/incidents.json", "incidents", event); !slices.Equal(got, want) {
		t.Errorf("the changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	id := p.maintenance(api, time.Second, `, "autoStart": true, "autoEnd": true`)
	p.ahead.Add(int64(2 * time.Hour))
	apitest.Eventually(t, "the maintenance ends", func() bool {
		return slices.Equal(p.changes("api/v2/scheduled-maintenances.json", "scheduled_maintenances", id), []string{"in_progress", "completed API under_maintenance>operational"})
	})
}

// TestTheNextMaintenanceIsTheFirstUpcomingOne plans maintenances in another order than that of their times.
func TestTheNextMaintenanceIsTheFirstUpcomingOne(t *testing.T) {
	p := start(t, startBroker(t))
	api := p.component("API")
	third, first, second := p.maintenance(api, 3*time.Hour, ""), p.maintenance(api, time.Hour, ""), p.maintenance(api, 2*time.Hour, "")
	var upcoming struct {
		Maintenances []struct{ ID string } `json:"scheduled_maintenances"`
	}
	if err := json.Unmarshal([]byte(p.text("api/v2/scheduled-maintenances/upcoming.json")), &upcoming); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range upcoming.Maintenances {
		got = append(got, one.ID)
	}
	if !slices.Equal(got, []string{first, second, third}) {
		t.Errorf("upcoming are %v, want %v", got, []string{first, second, third})
	}
}

// TestOnlyATimeWithoutAnOutageHasAnUptimeOf100 counts a second of a partial outage with a small weight, which is less than the
// smallest percentage that is shown.
func TestOnlyATimeWithoutAnOutageHasAnUptimeOf100(t *testing.T) {
	p := start(t, startBroker(t))
	content := p.must(200, "app admin a", "GET", "/app/dashboards/"+dashA+"/content", "")["content"].(map[string]any)
	content["uptime"].(map[string]any)["partialOutageWeight"] = 0.01
	content["uptime"].(map[string]any)["precision"] = 3
	body, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	p.must(200, "app admin a", "PUT", "/app/dashboards/"+dashA+"/content", string(body))
	month := time.Date(p.now().Year(), p.now().Month()-1, 1, 0, 0, 0, 0, time.UTC)
	since := month.AddDate(0, -2, 0).Format(time.RFC3339)
	var ids []string
	for _, name := range []string{"API", "Mail"} {
		ids = append(ids, created("component", p.must(201, "app admin a", "POST", "/app/components", fmt.Sprintf(`{"name": %q, "startAt": %q}`, name, since))))
	}
	at := month.AddDate(0, 0, 14)
	p.must(201, "app admin a", "POST", "/app/events", fmt.Sprintf(
		`{"type": "incident", "status": "resolved", "title": "Short", "startAt": %q, "endAt": %q, "affectedComponents": [{"componentId": %q, "impact": "partial_outage"}]}`,
		at.Format(time.RFC3339), at.Add(time.Second).Format(time.RFC3339), ids[0]))
	report := p.must(200, "app admin uptime a", "GET", "/app/reports/uptime?dashboardId="+dashA+"&month="+month.Format("2006-01"), "")["report"].(map[string]any)
	of := func(at int) map[string]any { return report["components"].([]any)[at].(map[string]any) }
	if report["overallUptimePercent"] != 99.999999 || of(0)["uptimePercent"] != 99.999999 || of(1)["uptimePercent"] != 100.0 || of(0)["days"].([]any)[14].(map[string]any)["uptimePercent"] != 99.999988 {
		t.Errorf("the report is %v", report)
	}
	bars := barPattern.FindAllString(p.text(""), -1)
	if len(bars) != 2 || !strings.Contains(bars[0], "99.999% uptime") || !strings.Contains(bars[1], "100.000% uptime") {
		t.Errorf("the bars are %s", bars)
	}
	for _, name := range []string{"history/" + month.Format("2006-01"), "components/" + ids[0]} {
		if text := p.text(name); !strings.Contains(text, `<span class="num">99.999%</span>`) {
			t.Errorf("%q: %s", name, text)
		}
	}
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"locale": "de"}`)
	if bar := barPattern.FindString(p.text("")); !strings.Contains(bar, "99,999") {
		t.Errorf("in German: %s", bar)
	}
}
