package main_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestTwoOrganizationsWithTheSameNamesNeverSeeEachOther(t *testing.T) {
	t.Parallel()
	r, env := startReceiver(t)
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)...)
	ours := actor{t, provision(t, base, "Acme", "ours", "admin", "api")}
	theirs := actor{t, provision(t, base, "Acme", "theirs", "admin", "api")}
	if ours.DashboardSlug == theirs.DashboardSlug {
		t.Fatal("two dashboards have one slug")
	}
	service, component := ours.service("Checkout")
	_, theirComponent := theirs.service("Checkout")
	ours.endpoint("https://"+receiverHost+"/hooks/ours", component)
	theirs.endpoint("https://"+receiverHost+"/hooks/theirs", theirComponent)
	var event struct {
		URI     string `json:"resource_uri"`
		Service []struct {
			URI string `json:"resource_uri"`
		} `json:"event_service"`
		Update []struct {
			URI string `json:"resource_uri"`
		} `json:"event_update"`
	}
	body := incident(service, "only ours")
	body["event_update"] = []any{map[string]any{"update": "we are on it"}}
	send(t, http.MethodPost, base+"/api/v1/event/list/", ours.legacy(), body).expect(t, http.StatusCreated).into(t, &event)
	for _, request := range arrived(t, r, 1) {
		if request.Path != "/hooks/ours" {
			t.Errorf("their receiver was notified of our incident: %s", request.Body)
		}
	}
	theirs.expectRow("Checkout", "operational")
	ours.expectRow("Checkout", "active incident")

	t.Run("by id", func(t *testing.T) {
		for _, uri := range []string{service, event.URI, event.Service[0].URI, event.Update[0].URI} {
			send(t, http.MethodGet, base+uri, ours.legacy(), nil).expect(t, http.StatusOK)
			send(t, http.MethodGet, base+uri, theirs.legacy(), nil).expect(t, http.StatusNotFound)
			send(t, http.MethodDelete, base+uri, theirs.legacy(), nil).expect(t, http.StatusNotFound)
		}
		send(t, http.MethodPut, base+event.URI, theirs.legacy(), resolved).expect(t, http.StatusNotFound)
		send(t, http.MethodPut, base+service, theirs.legacy(), map[string]any{"service_name": "taken"}).expect(t, http.StatusNotFound)
	})
	t.Run("as a related object", func(t *testing.T) {
		send(t, http.MethodPost, base+"/api/v1/event/list/", theirs.legacy(), incident(service, "on ours")).expect(t, http.StatusBadRequest)
		send(t, http.MethodPost, base+"/api/v1/event/update/", theirs.legacy(), map[string]any{"event": event.URI, "update": "x"}).expect(t, http.StatusBadRequest)
		send(t, http.MethodPost, base+"/app/integrations/webhooks/outbound/endpoints", theirs.app(), map[string]any{
			"dashboardId": ours.DashboardID, "url": "https://" + receiverHost + "/x", "managementEmail": "a@example.com", "componentIds": []string{component},
		}).expect(t, http.StatusNotFound)
		send(t, http.MethodPost, base+"/app/integrations/webhooks/outbound/endpoints", theirs.app(), map[string]any{
			"dashboardId": theirs.DashboardID, "url": "https://" + receiverHost + "/x", "managementEmail": "a@example.com", "componentIds": []string{component},
		}).expect(t, http.StatusBadRequest)
	})
	t.Run("in lists, filters and counts", func(t *testing.T) {
		for path, count := range map[string]int{
			"/api/v1/service/":                                  1,
			"/api/v1/service/?service_name=Checkout":            1,
			"/api/v1/event/list/":                               0,
			"/api/v1/event/list/?status__status=investigating":  0,
			"/api/v1/event/service/":                            0,
			"/api/v1/event/update/":                             0,
			"/api/v1/event/update/?event__type__type=incident":  0,
			"/api/v1/user/":                                     1,
			"/api/v1/user/?username=ours":                       0,
			"/api/v1/event/list/set/" + number(event.URI) + "/": 0,
		} {
			var list page
			send(t, http.MethodGet, base+path, theirs.legacy(), nil).expect(t, http.StatusOK).into(t, &list)
			if len(list.Objects) != count || list.Meta.Total != count && !strings.Contains(path, "/set/") {
				t.Errorf("%s: they see %d of %d: %v", path, len(list.Objects), list.Meta.Total, list.Objects)
			}
		}
		var users struct{ Users []struct{ Email string } }
		send(t, http.MethodGet, base+"/app/users", theirs.app(), nil).expect(t, http.StatusOK).into(t, &users)
		if len(users.Users) != 1 || users.Users[0].Email != "theirs@example.com" {
			t.Errorf("they see the members %v", users.Users)
		}
		var endpoints struct {
			Endpoints []struct{ DashboardID string }
		}
		send(t, http.MethodGet, base+"/app/integrations/webhooks/outbound/endpoints", theirs.app(), nil).expect(t, http.StatusOK).into(t, &endpoints)
		if len(endpoints.Endpoints) != 1 || endpoints.Endpoints[0].DashboardID != theirs.DashboardID {
			t.Errorf("they see the endpoints %v", endpoints.Endpoints)
		}
		send(t, http.MethodGet, base+"/app/integrations/webhooks/outbound/endpoints?dashboardId="+ours.DashboardID, theirs.app(), nil).expect(t, http.StatusNotFound)
	})
	t.Run("by the hash of a URL", func(t *testing.T) {
		const path = "/app/integrations/webhooks/outbound"
		var list struct{ Endpoints []hookView }
		send(t, http.MethodGet, base+path+"/endpoints", ours.app(), nil).expect(t, http.StatusOK).into(t, &list)
		hash, foreign := list.Endpoints[0].URLHash, func(method, route string, members map[string]any) {
			t.Helper()
			send(t, method, base+path+route, theirs.app(), members).expect(t, http.StatusNotFound)
		}
		for _, dashboard := range []string{ours.DashboardID, theirs.DashboardID} {
			foreign(http.MethodPatch, "/endpoints", map[string]any{"dashboardId": dashboard, "urlHash": hash, "paused": true})
			foreign(http.MethodPost, "/endpoints/test", map[string]any{"dashboardId": dashboard, "urlHash": hash})
			foreign(http.MethodDelete, "/endpoints", map[string]any{"dashboardId": dashboard, "urlHash": hash})
			foreign(http.MethodDelete, "/endpoints", map[string]any{"dashboardId": dashboard, "url": "https://" + receiverHost + "/hooks/ours"})
		}
		foreign(http.MethodDelete, "/suppression", map[string]any{"urlHash": hash})
		var logs struct{ Logs []any }
		for _, filter := range []string{"", "?urlHash=" + hash, "?dashboardId=" + ours.DashboardID} {
			send(t, http.MethodGet, base+"/app/notifications/webhook/logs"+filter, theirs.app(), nil).expect(t, http.StatusOK).into(t, &logs)
			if len(logs.Logs) != 0 {
				t.Errorf("they see the logs %v", logs.Logs)
			}
		}
		send(t, http.MethodGet, base+path+"/endpoints", ours.app(), nil).expect(t, http.StatusOK).into(t, &list)
		if len(list.Endpoints) != 1 || list.Endpoints[0].Paused || len(arrived(t, r, 1)) != 1 {
			t.Errorf("our endpoints are %+v", list.Endpoints)
		}
	})
	t.Run("keys", func(t *testing.T) {
		id, _, _ := strings.Cut(ours.AppKey, ":")
		send(t, http.MethodDelete, base+"/app/api-keys/"+id, theirs.app(), nil).expect(t, http.StatusNotFound)
		send(t, http.MethodGet, base+"/app/users", ours.app(), nil).expect(t, http.StatusOK)
	})
	t.Run("a page token", func(t *testing.T) {
		ours.service("Second")
		var list struct{ NextToken string }
		send(t, http.MethodGet, base+"/app/components?limit=1", ours.app(), nil).expect(t, http.StatusOK).into(t, &list)
		send(t, http.MethodGet, base+"/app/components?limit=1&nextToken="+list.NextToken, ours.app(), nil).expect(t, http.StatusOK)
		send(t, http.MethodGet, base+"/app/components?limit=1&nextToken="+list.NextToken, theirs.app(), nil).expect(t, http.StatusBadRequest)
	})
}

// number returns the id in a resource_uri.
func number(uri string) string {
	parts := strings.Split(strings.Trim(uri, "/"), "/")
	return parts[len(parts)-1]
}
