package site

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

type object = map[string]any

// readStatuspage returns a file below api/v2 as a client reads it.
func readStatuspage(t *testing.T, s *edition.Snapshot, name string) object {
	t.Helper()
	file, err := statuspage(s, name, newTexts())
	body := object{}
	if err != nil || json.Unmarshal(file.Body, &body) != nil {
		t.Fatalf("%s: %s (%v)", name, file.Body, err)
	}
	return body
}

// objects returns the objects of a list in a file.
func objects(t *testing.T, body object, key string) []object {
	t.Helper()
	list, is := body[key].([]any)
	if !is {
		t.Fatalf("%s is %v, not a list", key, body[key])
	}
	var found []object
	for _, item := range list {
		found = append(found, item.(object))
	}
	return found
}

// values returns a field of each object, joined.
func values(list []object, key string) string {
	var found []string
	for _, item := range list {
		text, is := item[key].(string)
		if !is {
			text = "-"
		}
		found = append(found, text)
	}
	return strings.Join(found, " ")
}

func ids(numbers ...int) string {
	var found []string
	for _, n := range numbers {
		found = append(found, itemID(n))
	}
	return strings.Join(found, " ")
}

// checkKeys compares the keys of objects with those of a table of page.md.
func checkKeys(t *testing.T, what string, list []object, keys string) {
	t.Helper()
	if len(list) == 0 {
		t.Errorf("%s: no object to check", what)
	}
	want := strings.Fields(strings.ReplaceAll(keys, ",", " "))
	slices.Sort(want)
	for _, item := range list {
		var got []string
		for key := range item {
			got = append(got, key)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: keys %v, want %v", what, got, want)
		}
	}
}

func TestEveryObjectOfStatuspageHasAllItsKeys(t *testing.T) {
	const component = "id, name, status, created_at, updated_at, position, description, showcase, start_date, group_id, page_id, group, only_show_if_degraded"
	const incident = "id, name, status, created_at, updated_at, monitoring_at, resolved_at, impact, shortlink, started_at, page_id, incident_updates, components"
	for _, s := range []*edition.Snapshot{sampleSnapshot(), hostileSnapshot()} {
		for _, name := range statuspageNames() {
			body := readStatuspage(t, s, name)
			checkKeys(t, name, []object{body["page"].(object)}, "id, name, url, time_zone, updated_at")
			if status, there := body["status"].(object); there {
				checkKeys(t, name, []object{status}, "indicator, description")
			}
		}
		for _, c := range objects(t, readStatuspage(t, s, "components.json"), "components") {
			if c["group"] == true {
				checkKeys(t, "group", []object{c}, component+", components")
			} else {
				checkKeys(t, "component", []object{c}, component)
			}
		}
		incidents := objects(t, readStatuspage(t, s, "incidents.json"), "incidents")
		maintenances := objects(t, readStatuspage(t, s, "scheduled-maintenances.json"), "scheduled_maintenances")
		checkKeys(t, "incident", incidents, incident)
		checkKeys(t, "maintenance", maintenances, incident+", scheduled_for, scheduled_until")
		for _, event := range append(incidents, maintenances...) {
			checkKeys(t, "update", objects(t, event, "incident_updates"),
				"id, status, body, incident_id, created_at, updated_at, display_at, affected_components, deliver_notifications, custom_tweet, tweet_id")
			for _, c := range objects(t, event, "components") {
				checkKeys(t, "component of an event", []object{c}, component)
			}
		}
	}
	changes := objects(t, objects(t, objects(t, readStatuspage(t, sampleSnapshot(), "incidents.json"), "incidents")[0], "incident_updates")[1], "affected_components")
	checkKeys(t, "affected component", changes, "code, name, old_status, new_status")
}

func TestEachListOfStatuspageHasItsEvents(t *testing.T) {
	s := sampleSnapshot()
	summary := readStatuspage(t, s, "summary.json")
	checkKeys(t, "summary", []object{summary}, "page, components, incidents, scheduled_maintenances, status")
	for _, c := range []struct{ file, key, want string }{
		{"incidents.json", "incidents", ids(20, 30, 40)},
		{"incidents/unresolved.json", "incidents", ids(20, 40)},
		{"summary.json", "incidents", ids(20, 40)},
		{"scheduled-maintenances.json", "scheduled_maintenances", ids(50, 52, 53, 54)},
		{"scheduled-maintenances/active.json", "scheduled_maintenances", ids(52, 53)},
		{"scheduled-maintenances/upcoming.json", "scheduled_maintenances", ids(50)},
		{"summary.json", "scheduled_maintenances", ids(50, 52, 53)},
	} {
		if got := values(objects(t, readStatuspage(t, s, c.file), c.key), "id"); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.file, c.key, got, c.want)
		}
	}
	if page := summary["page"].(object); page["id"] != itemID(1) || page["name"] != "Acme & Söhne" || page["url"] != "https://status.example.com" ||
		page["time_zone"] != "Europe/Berlin" || page["updated_at"] != "2026-03-29T12:00:00.123Z" {
		t.Errorf("page %v", page)
	}
	s.Events, s.Components = nil, nil
	for _, name := range statuspageNames() { // an empty list is no null
		if file, err := statuspage(s, name, newTexts()); err != nil || strings.Contains(string(file.Body), "null") {
			t.Errorf("%s without events: %s (%v)", name, file.Body, err)
		}
	}
}

func TestAListOfStatuspageHasTheNewestEvents(t *testing.T) {
	s := sampleSnapshot()
	incident := s.Events[0]
	s.Events = nil
	for n := range 60 {
		incident.ID = strconv.Itoa(n)
		s.Events = append(s.Events, incident, sampleMaintenance(n, "m", catalog.Planning, nil))
	}
	for name, key := range map[string]string{
		"incidents.json": "incidents", "incidents/unresolved.json": "incidents", "summary.json": "incidents",
		"scheduled-maintenances.json": "scheduled_maintenances", "scheduled-maintenances/upcoming.json": "scheduled_maintenances",
	} {
		last := map[string]any{"incidents": "49", "scheduled_maintenances": itemID(49)}[key]
		if strings.HasSuffix(name, "/upcoming.json") { // the next one first
			last = itemID(10)
		}
		if list := objects(t, readStatuspage(t, s, name), key); len(list) != 50 || list[49]["id"] != last {
			t.Errorf("%s: %d events, and the last is %v", name, len(list), list[len(list)-1]["id"])
		}
	}
}

// The summary has the maintenance in progress and the next ones even if more than 50 are planned.
func TestTheSummaryHasTheNextMaintenances(t *testing.T) {
	s := sampleSnapshot()
	s.Events = nil
	for n := range 60 {
		s.Events = append(s.Events, sampleMaintenance(n, "m", catalog.Planning, nil))
	}
	s.Events = append(s.Events, sampleMaintenance(70, "m", catalog.InProgress, nil), sampleMaintenance(80, "m", catalog.Completed, nil))
	list := objects(t, readStatuspage(t, s, "summary.json"), "scheduled_maintenances")
	if len(list) != 50 || list[0]["id"] != itemID(11) || list[48]["id"] != itemID(59) || list[49]["id"] != itemID(70) {
		t.Errorf("%d maintenances: %s", len(list), values(list, "id"))
	}
}

func TestStatuspageListsComponentsBelowTheirGroups(t *testing.T) {
	list := objects(t, readStatuspage(t, sampleSnapshot(), "components.json"), "components")
	if got, want := values(list, "name"), "Core API Website Mail"; got != want {
		t.Fatalf("components %s, want %s", got, want)
	}
	group, api, website, mail := list[0], list[1], list[2], list[3]
	if members, _ := json.Marshal(group["components"]); group["group"] != true || group["status"] != "partial_outage" || group["group_id"] != nil ||
		string(members) != `["`+itemID(11)+`","`+itemID(12)+`"]` {
		t.Errorf("group %v", group)
	}
	if group["created_at"] != website["created_at"] || group["updated_at"] != website["updated_at"] {
		t.Errorf("group %v exists since its oldest component, and changed with the newest change", group)
	}
	if api["group_id"] != group["id"] || website["group_id"] != group["id"] || mail["group_id"] != nil {
		t.Errorf("group ids %v %v %v, want that of %v", api["group_id"], website["group_id"], mail["group_id"], group["id"])
	}
	if api["description"] != "Everything under /api" || mail["description"] != nil || mail["status"] != "under_maintenance" {
		t.Errorf("components %v %v", api, mail)
	}
	if api["start_date"] != "2026-03-02" { // 23:30 UTC is the next day in Berlin
		t.Errorf("start_date %v", api["start_date"])
	}
	for i, want := range []float64{1, 1, 2, 2} {
		if list[i]["position"] != want {
			t.Errorf("position of %v: %v, want %v", list[i]["name"], list[i]["position"], want)
		}
	}
}

func TestStatuspageShowsAnIncidentInItsWords(t *testing.T) {
	s := sampleSnapshot()
	s.Events[0].Status = catalog.Monitoring
	list := objects(t, readStatuspage(t, s, "incidents.json"), "incidents")
	if got, want := values(list, "status"), "monitoring postmortem monitoring"; got != want {
		t.Errorf("statuses %s, want %s", got, want)
	}
	if got, want := values(list, "impact"), "critical minor none"; got != want {
		t.Errorf("impacts %s, want %s", got, want)
	}
	if got, want := values(list, "monitoring_at"), "- 2026-03-20T11:00:00.123Z -"; got != want {
		t.Errorf("monitoring_at %s, want %s", got, want)
	}
	if got, want := values(list, "resolved_at"), "- 2026-03-20T11:30:00.123Z -"; got != want {
		t.Errorf("resolved_at %s, want %s", got, want)
	}
	if list[0]["shortlink"] != "https://status.example.com/events/"+itemID(20) || list[0]["started_at"] != "2026-03-29T10:00:00.123Z" {
		t.Errorf("incident %v", list[0])
	}
	updates := objects(t, list[0], "incident_updates")
	if got, want := values(updates, "id"), ids(23, 22, 21); got != want {
		t.Errorf("updates %s, want the newest first %s", got, want)
	}
	// An entry without a transition has the status in force. A component without a name is not shown.
	if got, want := values(updates, "status"), "identified identified investigating"; got != want {
		t.Errorf("statuses of updates %s, want %s", got, want)
	}
	second, first := objects(t, updates[1], "affected_components"), objects(t, updates[2], "affected_components")
	if updates[0]["affected_components"] != nil || len(second) != 1 || second[0]["old_status"] != "major_outage" || second[0]["new_status"] != "partial_outage" ||
		first[0]["old_status"] != "degraded_performance" || first[0]["code"] != itemID(11) || first[0]["name"] != "API" {
		t.Errorf("affected components %v %v %v", updates[0]["affected_components"], second, first)
	}
	if updates[2]["deliver_notifications"] != true || updates[1]["body"] != "It is the certificate (https://example.com/a?b=c&d)." || updates[1]["display_at"] != "2026-03-29T10:30:00.123Z" {
		t.Errorf("updates %v", updates)
	}
	if only := objects(t, list[2], "incident_updates"); len(only) != 1 || only[0]["body"] != "Mail is late." || only[0]["status"] != "monitoring" || only[0]["id"] != itemID(40) {
		t.Errorf("updates of an incident without entries: %v", only)
	}
	if gone := objects(t, list[1], "components")[1]; gone["id"] != itemID(98) || gone["created_at"] != nil || gone["position"] != nil {
		t.Errorf("a component that has left the dashboard: %v", gone)
	}
}

func TestStatuspageShowsAMaintenanceWithItsPlannedTimes(t *testing.T) {
	s := sampleSnapshot()
	s.Events[6].ScheduledStartAt, s.Events[6].ScheduledEndAt = nil, nil
	list := objects(t, readStatuspage(t, s, "scheduled-maintenances.json"), "scheduled_maintenances")
	if got, want := values(list, "status"), "scheduled in_progress verifying completed"; got != want {
		t.Errorf("statuses %s, want %s", got, want)
	}
	if got, want := values(list, "impact"), "maintenance maintenance maintenance maintenance"; got != want {
		t.Errorf("impacts %s, want %s", got, want)
	}
	for i, want := range map[int][2]string{0: {"2026-03-30T01:00:00.123Z", "2026-03-30T03:30:00.123Z"}, 3: {"2026-03-10T02:00:00.123Z", "2026-03-10T03:00:00.123Z"}} {
		if list[i]["scheduled_for"] != want[0] || list[i]["scheduled_until"] != want[1] {
			t.Errorf("planned from %v to %v, want %v", list[i]["scheduled_for"], list[i]["scheduled_until"], want)
		}
	}
	s.Events[3].Status, s.Events[3].ScheduledEndAt = catalog.Started, nil
	started := objects(t, readStatuspage(t, s, "scheduled-maintenances/active.json"), "scheduled_maintenances")[0]
	if started["status"] != "in_progress" || started["scheduled_until"] != nil {
		t.Errorf("a maintenance without a planned end: %v", started)
	}
}

func TestStatuspageShowsTheWorstStateAsTheStatus(t *testing.T) {
	maintenance := sampleMaintenance(50, "m", catalog.InProgress, nil)
	maintenance.StartAt = sampleTime(29, 11, 0)
	later := maintenance
	later.StartAt = sampleTime(29, 13, 0)
	planned := sampleMaintenance(51, "p", catalog.Planning, nil)
	incident := sampleSnapshot().Events[2]
	resolved := sampleSnapshot().Events[1]
	future := incident
	future.StartAt = sampleSnapshot().At.Add(time.Second)
	for _, c := range []struct {
		state       catalog.Impact
		events      []edition.ShownEvent
		indicator   string
		description string
	}{
		{catalog.Operational, nil, "none", "All Systems Operational"},
		{catalog.Operational, []edition.ShownEvent{resolved, planned, later, future}, "none", "All Systems Operational"},
		{catalog.Operational, []edition.ShownEvent{incident}, "minor", "Minor Service Outage"},
		{catalog.Operational, []edition.ShownEvent{maintenance}, "maintenance", "Service Under Maintenance"},
		{catalog.UnderMaintenance, nil, "maintenance", "Service Under Maintenance"},
		{catalog.UnderMaintenance, []edition.ShownEvent{incident}, "minor", "Minor Service Outage"},
		{catalog.Degraded, []edition.ShownEvent{incident, maintenance}, "minor", "Partially Degraded Service"},
		{catalog.PartialOutage, []edition.ShownEvent{incident}, "major", "Partial System Outage"},
		{catalog.MajorOutage, []edition.ShownEvent{maintenance}, "critical", "Major System Outage"},
	} {
		s := sampleSnapshot()
		for i := range s.Components {
			s.Components[i].State = catalog.Operational
		}
		s.Components[2].State, s.Events = c.state, c.events
		status := readStatuspage(t, s, "status.json")["status"].(object)
		if status["indicator"] != c.indicator || status["description"] != c.description {
			t.Errorf("%s with %d events: %v, want %s %s", c.state, len(c.events), status, c.indicator, c.description)
		}
	}
}

// statuspageNames returns the names of the files below api/v2.
func statuspageNames() (names []string) {
	for _, file := range peer.DashboardFiles() {
		if name, below := strings.CutPrefix(file.Path, "/api/v2/"); below {
			names = append(names, name)
		}
	}
	return names
}
