package main_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestDeletedServiceIsGoneEverywhereAtOnce(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	service, component := a.service("Checkout")
	kept, keptComponent := a.service("Search")
	a.endpoint("https://hooks.example.com/a", component, keptComponent)
	for _, to := range []string{service, kept} {
		for path, body := range map[string]map[string]any{
			"/api/v1/subscribers/email/": {"email": map[string]any{"email": "a@example.com"}, "service": to, "confirmed": true},
			"/api/v1/subscribers/sms/":   {"number": map[string]any{"number": "+4915112345678"}, "service": to, "confirmed": true},
		} {
			send(t, http.MethodPost, base+path, a.legacy(), body).expect(t, http.StatusCreated)
		}
	}
	both := incident(service, "both")
	both["event_service"] = []any{service, kept}
	send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), both).expect(t, http.StatusCreated)

	send(t, http.MethodDelete, base+service, a.legacy(), nil).expect(t, http.StatusNoContent)
	for path, count := range map[string]int{
		"/api/v1/service/": 1, "/api/v1/event/service/": 1, "/api/v1/subscribers/email/": 1, "/api/v1/subscribers/sms/": 1,
		"/api/v1/email/": 1, "/api/v1/number/": 1, "/api/v1/event/list/": 1,
	} {
		var list page
		send(t, http.MethodGet, base+path, a.legacy(), nil).expect(t, http.StatusOK).into(t, &list)
		if list.Meta.Total != count || len(list.Objects) != count {
			t.Errorf("%s lists %d of %d instead of %d", path, len(list.Objects), list.Meta.Total, count)
		}
	}
	endpoints := string(send(t, http.MethodGet, base+"/app/integrations/webhooks/outbound/endpoints", a.app(), nil).expect(t, http.StatusOK).body)
	if strings.Contains(endpoints, component) || !strings.Contains(endpoints, keptComponent) {
		t.Errorf("the endpoint's components: %s", endpoints)
	}
	if _, err := a.row("Checkout"); err == nil {
		t.Error("the dashboard still has a row of the deleted service")
	}
}
