package site

import (
	"fmt"
	"strings"
	"testing"
)

// TestStatuspageShowsPublicIDsInPlaceOfIDs gives each record of the sample a public id. No file has an id of the platform
// then, except in the addresses of events, and for a component that the dashboard does not show any more.
func TestStatuspageShowsPublicIDsInPlaceOfIDs(t *testing.T) {
	s := sampleSnapshot()
	s.Dashboard.PublicID, s.Dashboard.GroupPublicIDs = "page", map[string]string{"Core": "core", "Former": "former"}
	for i := range s.Components {
		s.Components[i].PublicID = fmt.Sprint("component_", i)
	}
	for i := range s.Events {
		event := &s.Events[i]
		event.PublicID = fmt.Sprint("event-", i)
		for j := range event.Entries {
			event.Entries[j].PublicID = fmt.Sprintf("entry%d%d", i, j)
		}
	}
	for _, name := range statuspageNames() {
		file, err := statuspage(s, name, newTexts())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body := strings.ReplaceAll(string(file.Body), s.URL+"/events/019d0000", "")
		if body = strings.ReplaceAll(body, itemID(98), ""); strings.Contains(body, "019d0000") {
			t.Errorf("%s has an id of the platform: %s", name, body)
		}
	}
	components := objects(t, readStatuspage(t, s, "components.json"), "components")
	if got, want := values(components, "id"), "core component_0 component_2 component_1"; got != want {
		t.Errorf("the components have the ids %s, want %s", got, want)
	}
	if got, want := values(components, "group_id"), "- core core -"; got != want {
		t.Errorf("the components have the groups %s, want %s", got, want)
	}
	incidents := objects(t, readStatuspage(t, s, "incidents.json"), "incidents")
	if got, want := values(incidents, "id"), "event-0 event-1 event-2"; got != want {
		t.Errorf("the incidents have the ids %s, want %s", got, want)
	}
	updates := objects(t, incidents[0], "incident_updates")
	if got, want := values(updates, "id"), "entry00 entry01 entry02"; got != want {
		t.Errorf("the updates have the ids %s, want %s", got, want)
	}
	if got := values(objects(t, updates[1], "affected_components"), "code"); got != "component_0" {
		t.Errorf("the affected component has the code %s", got)
	}
	if got := values(objects(t, incidents[0], "components"), "name"); got != "API" {
		t.Errorf("the incident has the components %s", got)
	}
}
