package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDashboardSettingsTakeEffectAtOnce changes the settings that decide where a dashboard is served. The next visitor
// gets the changed state.
func TestDashboardSettingsTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, api := a.service("API")
	var made struct{ Dashboard struct{ ID, Slug string } }
	send(t, http.MethodPost, base+"/app/dashboards", a.app(), map[string]any{
		"name": "Second", "components": []any{map[string]any{"componentId": api, "groupName": "Shown"}},
	}).expect(t, http.StatusCreated).into(t, &made)
	change := func(member string, value any) {
		t.Helper()
		send(t, http.MethodPatch, base+"/app/dashboards/"+made.Dashboard.ID, a.app(), map[string]any{member: value}).expect(t, http.StatusOK)
	}
	visit := func(slug, host string) answer {
		t.Helper()
		path := "/d/" + slug + "/api/v1/dashboard/"
		if host != "" {
			path = "/api/v1/dashboard/"
		}
		return looker{t: t, base: base, host: host}.visit("GET", path, nil)
	}
	for range 2 { // the second response comes from the gateway's memory
		if got := visit(made.Dashboard.Slug, "").expect(t, http.StatusOK); !strings.Contains(string(got.body), `"group":"Shown"`) {
			t.Errorf("the list is %s", got.body)
		}
	}
	renamed := made.Dashboard.Slug + "-renamed"
	change("slug", renamed)
	visit(made.Dashboard.Slug, "").expect(t, http.StatusNotFound)
	visit(renamed, "").expect(t, http.StatusOK)
	visit("", "settings.acme.example").expect(t, http.StatusNotFound)
	change("customDomains", []string{"settings.acme.example"})
	visit("", "SETTINGS.acme.example:8080").expect(t, http.StatusOK)
	change("access", map[string]any{"mode": "password", "password": "correct horse"})
	for _, got := range []answer{visit(renamed, ""), visit("", "settings.acme.example")} {
		if got.expect(t, http.StatusForbidden); len(got.body) > 0 || got.header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("a private list: %v %s", got.header, got.body)
		}
	}
	change("access", map[string]any{"mode": "public"})
	visit(renamed, "").expect(t, http.StatusOK)
	change("enabled", false)
	visit("", "settings.acme.example").expect(t, http.StatusNotFound)
	change("enabled", true)
	visit("", "settings.acme.example").expect(t, http.StatusOK)
	send(t, http.MethodDelete, base+"/app/dashboards/"+made.Dashboard.ID, a.app(), nil).expect(t, http.StatusNoContent)
	visit(renamed, "").expect(t, http.StatusNotFound)
	visit("", "settings.acme.example").expect(t, http.StatusNotFound)
}

// TestEndpointsFollowDashboardsAndComponents deletes dashboards and components to which endpoints refer.
func TestEndpointsFollowDashboardsAndComponents(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, one := a.service("One")
	_, two := a.service("Two")
	var made struct{ Dashboard struct{ ID string } }
	send(t, http.MethodPost, base+"/app/dashboards", a.app(), map[string]any{
		"name": "Second", "components": []any{map[string]any{"componentId": one}},
	}).expect(t, http.StatusCreated).into(t, &made)
	second := a
	second.DashboardID = made.Dashboard.ID
	second.endpoint("https://hooks.example.com/second", one)
	a.endpoint("https://hooks.example.com/first", one, two)

	remove := func(component string, status int) string {
		t.Helper()
		return string(send(t, http.MethodDelete, base+"/app/components/"+component, a.app(), nil).expect(t, status).body)
	}
	if text := remove(one, http.StatusConflict); !strings.Contains(text, "the only one of an endpoint") {
		t.Error(text)
	}
	send(t, http.MethodDelete, base+"/app/dashboards/"+second.DashboardID, a.app(), nil).expect(t, http.StatusNoContent)
	eventually(t, 30*time.Second, "the endpoints of the dashboard", func() error {
		var list struct {
			Endpoints []struct{ DashboardID string }
			Usage     struct{ UniqueEndpoints int }
		}
		send(t, http.MethodGet, base+"/app/integrations/webhooks/outbound/endpoints", a.app(), nil).expect(t, http.StatusOK).into(t, &list)
		if len(list.Endpoints) != 1 || list.Endpoints[0].DashboardID != a.DashboardID || list.Usage.UniqueEndpoints != 1 {
			return fmt.Errorf("%+v", list)
		}
		return nil
	})
	remove(one, http.StatusNoContent)
	if text := remove(two, http.StatusConflict); !strings.Contains(text, "the only one of an endpoint") {
		t.Error(text)
	}
}
