package main_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The present platform starts with a data folder that an older commit has written (scripts/old-data). Keys are valid,
// records can be read and changed, and pages show them. A delivery that waited for its next attempt is sent.
func TestThePlatformStartsOnDataOfAnOlderCommit(t *testing.T) {
	t.Parallel()
	backups, err := filepath.Glob("testdata/data-*.zip")
	if err != nil || len(backups) == 0 {
		t.Fatalf("no data of an older commit: %v", err)
	}
	for _, file := range backups {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".zip"), func(t *testing.T) { upgrade(t, file) })
	}
}

func upgrade(t *testing.T, file string) {
	const later = "later.example" // refused connections when the folder was written
	servers, env := startReceivers(t, later)
	p, base := standalone(t, env...)
	data := dataFolder(p)
	succeed(t, []string{"BELLBUOY_DATA=" + data}, "restore", file)
	p.start()
	eventually(t, 30*time.Second, "ready", ready(base))
	c := seeded(t, p)
	c.BaseURL, c.DashboardURL = base, base+"/d/"+c.DashboardSlug
	a := actor{t, c}
	send(t, http.MethodGet, base+"/app/profile", c.app(), nil).expect(t, http.StatusOK)

	waited := arrived(t, servers[later], 1)[0]
	if read(t, waited).Event.Title != "Checkout is slow" {
		t.Errorf("another delivery arrived: %s", waited.Body)
	}
	for _, list := range []struct{ path, member, name, value string }{
		{"/app/components", "components", "name", "Checkout"},
		{"/app/events", "events", "title", "Checkout is slow"},
		{"/app/events", "events", "title", "Search was down"},
		{"/app/integrations/webhooks/outbound/endpoints", "endpoints", "managementEmail", "ops@example.com"},
		{"/app/subscribers/email", "subscribers", "email", "ann@example.com"},
		{"/app/dashboards", "dashboards", "slug", c.DashboardSlug},
	} {
		if !members(a.everything(list.path, list.member), list.name)[list.value] {
			t.Errorf("%s does not show %s", list.path, list.value)
		}
	}
	// A dashboard that the older commit created counts for the limit.
	send(t, http.MethodPatch, base+"/operator/v1/organizations/"+a.OrganizationID, a.operator(),
		map[string]any{"limits": map[string]any{"maxDashboards": len(a.everything("/app/dashboards", "dashboards")) + 1}}).expect(t, http.StatusOK)
	for _, status := range []int{http.StatusCreated, http.StatusConflict} {
		send(t, http.MethodPost, base+"/app/dashboards", a.app(), map[string]any{"name": "New"}).expect(t, status)
	}
	a.expectRow("Checkout", "active incident")
	for _, path := range []string{"/", "/events/" + read(t, waited).Event.ID, "/api/v2/summary.json"} {
		page := send(t, http.MethodGet, c.DashboardURL+path, "", nil).expect(t, http.StatusOK)
		if !strings.Contains(string(page.body), "Checkout is slow") {
			t.Errorf("%s does not show the open incident", path)
		}
	}

	// A new incident reaches the old endpoint and the old subscriber.
	var services page
	send(t, http.MethodGet, base+"/api/v1/service/?service_name=Checkout", c.legacy(), nil).expect(t, http.StatusOK).into(t, &services)
	event := incident(services.Objects[0]["resource_uri"].(string), "Checkout fails")
	event["notifications"].(map[string]any)["email"] = map[string]any{"enabled": true}
	send(t, http.MethodPost, base+"/api/v1/event/list/", c.legacy(), event).expect(t, http.StatusCreated)
	expectEveryPosted(t, servers[later], []string{"Checkout fails"})
	eventually(t, 30*time.Second, "the mail of the new incident", func() error {
		for _, letter := range letters(t, data) {
			if strings.Contains(letter.subject, "Checkout fails") && letter.to == "ann@example.com" {
				return nil
			}
		}
		return errors.New("no mail to ann@example.com")
	})
}
