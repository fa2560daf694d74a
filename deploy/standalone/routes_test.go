package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/gateway"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// A service responds with these sentences if it has no such route. Every other 404 is about a missing record.
var noRoute = []string{"There is nothing at this path.", "The path does not have this method."}

func TestEveryRowOfTheRouteTableIsAnsweredByItsService(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	c := provision(t, base, "Acme", "acme-admin", "admin", "api")
	authorizations := map[passport.Surface]string{passport.Legacy: c.legacy(), passport.App: c.app(), passport.Operator: c.operator()}
	values := strings.NewReplacer("{slug}", c.DashboardSlug, "{id}", "1", "{ids}", "1;2", "{keyId}", "unknown", "{channel}", "email", "{format}", "gatus")
	for _, route := range gateway.Routes() {
		if route.Surface == passport.Console {
			continue // its responses are pages; the tests of the console request them
		}
		for _, method := range route.Methods {
			t.Run(method+" "+route.Path, func(t *testing.T) {
				request, err := http.NewRequestWithContext(t.Context(), method, base+values.Replace(route.Path), strings.NewReader(""))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Authorization", authorizations[route.Surface])
				if strings.HasPrefix(route.Path, "/api/v1/dashboard/") || strings.HasPrefix(route.Path, "/subscribe") {
					request.Host = "no-dashboard.example.com" // no dashboard has this host: the route exists, but the dashboard does not
				}
				got := exchange(t, request)
				var refusal struct{ Error string }
				_ = json.Unmarshal(got.body, &refusal) // some responses are no JSON object with an error
				if got.status >= 500 || got.status == http.StatusMethodNotAllowed || slices.Contains(noRoute, refusal.Error) {
					t.Errorf("%d %s", got.status, got.body)
				}
				signed := strings.HasPrefix(route.Path, "/public/webhooks/inbound") // this path refuses every message without a signature
				if got.status == http.StatusForbidden && !signed && forKeys(method, route.Path) {
					t.Errorf("refused: %s", got.body)
				}
				if got.header.Get("X-Request-Id") == "" {
					t.Error("the answer has no X-Request-Id")
				}
				if control := got.header.Get("Cache-Control"); control == "" || strings.HasPrefix(control, "public") && !mayBeStored(method, route) {
					t.Errorf("Cache-Control %q", control)
				}
			})
		}
	}
}

// mayBeStored reports whether a cache may store a response of the route: a document, or a file of a public dashboard.
func mayBeStored(method string, route gateway.Route) bool {
	isOf := func(prefix string) bool { return strings.HasPrefix(route.Path, prefix) }
	return route.Surface == passport.Public && (method == http.MethodGet && (isOf("/d/{slug}") || isOf("/docs") || isOf("/openapi/")) ||
		isOf("/api/v1/dashboard/") || isOf("/subscribe") || // an unknown host has a 404
		route.Path == "/" || route.Path == "/d") // the test follows these to the only dashboard
}

func TestBadInputGetsAClearErrorAndWritesNothing(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	c := provision(t, base, "Acme", "acme-admin", "admin", "api")
	a := actor{t, c}
	service, component := a.service("Checkout")
	a.endpoint("https://hooks.example.com/a", component)
	send(t, http.MethodPost, base+"/api/v1/event/list/", c.legacy(), incident(service, "the one")).expect(t, http.StatusCreated)
	send(t, http.MethodPost, base+"/api/v1/email/", c.legacy(), map[string]any{"email": "a@example.com"}).expect(t, http.StatusCreated)
	before := state(t, c)

	deep := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	bodies := map[string]string{
		"nothing": "", "no JSON": "{", "a text": `"text"`, "a list": `[1]`, "null": `null`, "a number": `12`,
		"binary": "\x00\xff\xfe", "deep": deep, "every field an object": `{"service_name": {}, "type": {}, "status": {}, "event": {}, "email": {}, "number": {}, "service": {}, "name": {}, "username": {}, "dashboardId": {}, "url": {}}`,
		"every field a list":  `{"service_name": [], "type": [], "status": [], "event": [], "email": [], "number": [], "service": [], "name": [], "username": [], "dashboardId": [], "url": []}`,
		"two objects":         `{} {}`,
		"no UTF-8":            strings.ReplaceAll(`{"service_name": "?", "description": "?", "update": "?", "email": "?", "number": "?", "name": "?", "username": "?", "url": "?"}`, "?", "\xff"),
		"a wrong related URI": `{"type": "/api/v1/type/99/", "status": "/api/v1/status/99/", "event": "/api/v1/event/list/99999/", "service": "/api/v1/service/99999/", "email": "/api/v1/email/99999/", "number": "/api/v1/number/99999/", "update": "x", "start": "2026-01-01T00:00:00", "event_service": []}`,
	}
	for _, route := range gateway.Routes() {
		for _, method := range route.Methods {
			if method != http.MethodPost && method != http.MethodPut && method != http.MethodPatch || route.Surface == passport.Console {
				continue
			}
			if strings.HasPrefix(route.Path, "/public/webhooks/inbound") {
				continue // this path refuses every message without a signature; TestInboundScriptsPass sends wrong bodies
			}
			if route.Path == "/d/{slug}/enter" {
				continue // the errors of this path are pages; TestAPrivateDashboardOpensWithItsPassword sends wrong passwords
			}
			if !forKeys(method, route.Path) {
				continue // keys cannot call the operations of the console
			}
			if strings.HasPrefix(route.Path, "/subscribe") {
				continue // exists only on a dashboard's own host; its handler is that of /d/{slug}/subscribe
			}
			authorization := map[passport.Surface]string{passport.Legacy: c.legacy(), passport.App: c.app(), passport.Operator: c.operator()}[route.Surface]
			path := strings.NewReplacer("{id}", "1", "{slug}", c.DashboardSlug, "{channel}", "email").Replace(route.Path)
			for _, name := range slices.Sorted(maps.Keys(bodies)) {
				if method == http.MethodPut && strings.HasPrefix(name, "every field") && !strings.Contains(path, "service/1") {
					continue // a PUT ignores unknown fields, because clients send the whole response back
				}
				t.Run(method+" "+path+" "+name, func(t *testing.T) {
					got := send(t, method, base+path, authorization, bodies[name])
					if got.status < 400 || got.status >= 500 || got.status == http.StatusForbidden {
						if method != http.MethodPut || got.status >= 500 { // a PUT without known fields changes nothing
							t.Fatalf("%d %s", got.status, got.body)
						}
						return
					}
					var refusal struct{ Error string }
					if err := json.Unmarshal(got.body, &refusal); err != nil || refusal.Error == "" {
						t.Errorf("%d without an error: %s", got.status, got.body)
					}
				})
			}
			t.Run(method+" "+path+" too large", func(t *testing.T) {
				size := 2 << 20
				if path == "/app/events/import" { // this operation alone takes 8 MiB
					size = 9 << 20
				}
				got := send(t, method, base+path, authorization, `{"description": "`+strings.Repeat("x", size)+`"}`)
				if got.status != http.StatusRequestEntityTooLarge || !strings.Contains(string(got.body), `"error"`) {
					t.Errorf("%d %.200s", got.status, got.body)
				}
			})
		}
	}
	for path, authorization := range map[string]string{
		"/api/v1/service/?limit=-1": c.legacy(), "/api/v1/service/?offset=x": c.legacy(), "/api/v1/event/list/?status__nothing=1": c.legacy(),
		"/api/v1/event/list/?order_by=nothing": c.legacy(), "/api/v1/event/list/?start__gt=yesterday": c.legacy(),
		"/app/components?limit=0": c.app(), "/app/components?limit=101": c.app(), "/app/components?nextToken=x": c.app(), "/app/dashboards?limit=many": c.app(),
		"/app/components?limit=1;x=2": c.app(), "/app/users?%zz": c.app(),
		"/app/integrations/webhooks/outbound/endpoints?dashboardId=x": c.app(), "/app/integrations/webhooks/outbound/endpoints?urlHash=x": c.app(),
	} {
		t.Run("GET "+path, func(t *testing.T) {
			send(t, http.MethodGet, base+path, authorization, nil).expect(t, http.StatusBadRequest)
		})
	}
	if after := state(t, c); after != before {
		t.Errorf("something was written:\nbefore %s\nafter  %s", before, after)
	}
}

// state returns the number of records of each kind that the organization has.
func state(t *testing.T, c credentials) string {
	t.Helper()
	var counts []string
	for _, resource := range []string{"service", "event/list", "event/service", "event/update", "email", "number", "subscribers/email", "subscribers/sms", "user"} {
		var list page
		send(t, http.MethodGet, c.BaseURL+"/api/v1/"+resource+"/", c.legacy(), nil).expect(t, http.StatusOK).into(t, &list)
		content, err := json.Marshal(list.Objects)
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, fmt.Sprintf("%s %d %s", resource, list.Meta.Total, content))
	}
	got := send(t, http.MethodGet, c.BaseURL+"/app/integrations/webhooks/outbound/endpoints", c.app(), nil).expect(t, http.StatusOK)
	return strings.Join(append(counts, string(got.body)), "\n")
}
