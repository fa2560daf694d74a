package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// together sends the requests of n clients at the same time. It returns the number of responses with each status.
func together(t *testing.T, n int, request func(client int) (answer, error)) map[int]int {
	t.Helper()
	start, counts := make(chan struct{}), map[int]int{}
	var mu sync.Mutex
	var clients sync.WaitGroup
	for client := range n {
		clients.Go(func() {
			<-start
			got, err := request(client)
			if err != nil {
				t.Error(err)
				return
			}
			if got.status >= http.StatusBadRequest && !strings.Contains(string(got.body), `"error"`) {
				t.Errorf("%d without an error: %s", got.status, got.body)
			}
			mu.Lock()
			defer mu.Unlock()
			counts[got.status]++
		})
	}
	close(start)
	clients.Wait()
	return counts
}

// TestLimitOfEndpointsIsExactUnderConcurrentWrites writes concurrently close to the limit of unique URLs. The number of
// endpoints never exceeds the limit, and always reaches it.
func TestLimitOfEndpointsIsExactUnderConcurrentWrites(t *testing.T) {
	t.Parallel()
	const clients, limit = 64, 20
	_, env := startReceivers(t, receiverHost)
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "APP_RATE_PER_MINUTE=1000000")...)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	send(t, http.MethodPatch, base+"/operator/v1/organizations/"+a.OrganizationID, a.operator(),
		map[string]any{"plan": "enterprise", "limits": map[string]any{"uniqueEndpoints": limit}}).expect(t, http.StatusOK)
	_, component := a.service("Checkout")
	endpoints := func(kind outbound) string { return base + kind.path + "/endpoints" }
	write := func(method, url string, members map[string]any) (answer, error) {
		return try(t.Context(), method, url, a.app(), members)
	}
	create := func(kind outbound, dashboard, component, name string) (answer, error) {
		return write(http.MethodPost, endpoints(kind), map[string]any{
			"dashboardId": dashboard, "url": kind.at(name), "managementEmail": "ops@example.com", "componentIds": []string{component},
		})
	}
	expect := func(what string, got, want map[int]int) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v responses by status instead of %v", what, got, want)
		}
	}
	used := func(kind outbound, want int) (rows []hookView) {
		t.Helper()
		var list struct {
			Endpoints []hookView
			Usage     struct{ UniqueEndpoints, Limit int }
		}
		send(t, http.MethodGet, endpoints(kind)+"?limit=100", a.app(), nil).expect(t, http.StatusOK).into(t, &list)
		if list.Usage.UniqueEndpoints != want || list.Usage.Limit != limit {
			t.Errorf("usage of %s is %+v, want %d of %d", kind.kind, list.Usage, want, limit)
		}
		return list.Endpoints
	}
	// drop deletes the rows concurrently.
	drop := func(kind outbound, rows []hookView) {
		t.Helper()
		expect("deletes", together(t, len(rows), func(n int) (answer, error) {
			return write(http.MethodDelete, endpoints(kind), map[string]any{"dashboardId": rows[n].DashboardID, "urlHash": rows[n].URLHash})
		}), map[int]int{204: len(rows)})
	}

	for _, kind := range outbounds() {
		expect("different URLs of "+kind.kind, together(t, clients, func(n int) (answer, error) {
			return create(kind, a.DashboardID, component, fmt.Sprintf("url-%d", n))
		}), map[int]int{201: limit, 403: clients - limit})
		rows := used(kind, limit)
		if len(rows) != limit {
			t.Errorf("%d endpoints of %s", len(rows), kind.kind)
		}
		expect("moves at the limit", together(t, len(rows), func(n int) (answer, error) {
			return write(http.MethodPatch, endpoints(kind), map[string]any{
				"dashboardId": a.DashboardID, "urlHash": rows[n].URLHash, "url": kind.at(fmt.Sprintf("moved-%d", n)),
			})
		}), map[int]int{200: limit})
		drop(kind, used(kind, limit))
		used(kind, 0)

		expect("one URL of "+kind.kind, together(t, clients, func(int) (answer, error) { return create(kind, a.DashboardID, component, "one") }),
			map[int]int{201: 1, 409: clients - 1})
		expect("the other slots", together(t, clients, func(n int) (answer, error) {
			return create(kind, a.DashboardID, component, fmt.Sprintf("next-%d", n))
		}), map[int]int{201: limit - 1, 403: clients - limit + 1})
		drop(kind, used(kind, limit))
		used(kind, 0)
	}

	// If many dashboards use the same URL, it counts once, until its last record is deleted.
	kind, dashboards := outbounds()[0], make([]string, clients/2)
	for n := range dashboards {
		var made struct{ Dashboard struct{ ID string } }
		send(t, http.MethodPost, base+"/app/dashboards", a.app(), map[string]any{"name": fmt.Sprintf("Dashboard %d", n)}).
			expect(t, http.StatusCreated).into(t, &made)
		dashboards[n] = made.Dashboard.ID
		send(t, http.MethodPut, base+"/app/dashboards/"+dashboards[n]+"/components", a.app(),
			map[string]any{"components": []any{map[string]any{"componentId": component}}}).expect(t, http.StatusOK)
	}
	expect("one URL on many dashboards", together(t, clients, func(n int) (answer, error) {
		return create(kind, dashboards[n%len(dashboards)], component, "shared")
	}), map[int]int{201: len(dashboards), 409: clients - len(dashboards)})
	rows := used(kind, 1)
	if len(rows) != len(dashboards) {
		t.Fatalf("%d endpoints on %d dashboards", len(rows), len(dashboards))
	}
	drop(kind, rows[1:])
	used(kind, 1)
	drop(kind, rows[:1])
	used(kind, 0)
}

// TestTheLimitOfDashboardsHoldsForClientsAtOnce lets 64 clients create dashboards concurrently. A limit that the
// operator sets applies to the next request. After the operator removes it, the limit of the plan applies again.
func TestTheLimitOfDashboardsHoldsForClientsAtOnce(t *testing.T) {
	t.Parallel()
	const clients, plan = 64, 50
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin")}
	limit := func(value any, want int) {
		t.Helper()
		var changed struct {
			Organization struct{ Limits struct{ MaxDashboards int } }
		}
		send(t, http.MethodPatch, base+"/operator/v1/organizations/"+a.OrganizationID, a.operator(),
			map[string]any{"limits": map[string]any{"maxDashboards": value}}).expect(t, http.StatusOK).into(t, &changed)
		if changed.Organization.Limits.MaxDashboards != want {
			t.Errorf("%v became %+v", value, changed)
		}
	}
	create := func(when string, made int) {
		t.Helper()
		counts := together(t, clients, func(n int) (answer, error) {
			return try(t.Context(), http.MethodPost, base+"/app/dashboards", a.app(), map[string]any{"name": fmt.Sprintf("Dashboard %d", n)})
		})
		if counts[http.StatusCreated] != made || counts[http.StatusConflict] != clients-made {
			t.Errorf("%s: %v responses by status, want %d of 201", when, counts, made)
		}
	}
	limit(12, 12)
	create("in an organization with one", 11)
	limit(3, 3)
	create("at a lowered limit", 0)
	var list struct{ Dashboards []struct{ ID string } }
	send(t, http.MethodGet, base+"/app/dashboards?limit=100", a.app(), nil).expect(t, http.StatusOK).into(t, &list)
	if len(list.Dashboards) != 12 {
		t.Errorf("%d dashboards", len(list.Dashboards))
	}
	for _, dashboard := range list.Dashboards[:10] {
		send(t, http.MethodDelete, base+"/app/dashboards/"+dashboard.ID, a.app(), nil).expect(t, http.StatusNoContent)
	}
	create("below the lowered limit", 1)
	limit(nil, plan)
	create("at the plan's limit", plan-3)
}

// TestHostileURLsAreRefusedAtCreation sends some URLs of each sort through the gateway. The tests of the integrations
// service have many more. The error for a classic Teams connector says that such connectors are refused.
func TestHostileURLsAreRefusedAtCreation(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, component := a.service("Checkout")
	anywhere := []string{
		"", "http://hooks.example.com/", "ftp://hooks.example.com/", "javascript:alert(1)", "https:///hook", "https://hooks.example.com:8443/",
		"https://user:password@hooks.example.com/", "https://hooks.example.com@127.0.0.1/", " https://hooks.example.com/", "https://hooks.example.com/\r\nX: y",
		"https://hooks.example.com./", "https://h\u00f6oks.example.com/", "https://%31%32%37.0.0.1/", "https://localhost/", "https://metadata.google.internal/",
		"https://127.0.0.1/", "https://169.254.169.254/", "https://8.8.8.8/", "https://2130706433/", "https://0x7f.1/", "https://0177.0.0.1/", "https://[::1]/",
		"https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://[2606:4700::1111]/", "https://hooks.example.com/" + strings.Repeat("x", 2048),
	}
	only := map[string][]string{
		"webhook": {"https://hooks.slack.com/services/T/B/x", "https://discord.com/api/webhooks/1/x/slack"},
		"teams": {
			"https://hooks.example.com/workflows/1", "https://logic.azure.com/workflows/1", "https://prod.logic.azure.com.example.com/workflows/1", "https://prod.logic.azure.com/other/1",
			"https://evil-logic.azure.com/workflows/1", "https://acme.webhook.office.com/webhookb2/1", "https://outlook.office.com/webhook/1", "https://hooks.example.com/#.logic.azure.com/workflows/1",
		},
		"gchat": {
			"https://hooks.example.com/v1/spaces/A/messages?key=k&token=t", "https://chat.googleapis.com.example.com/v1/spaces/A/messages?key=k&token=t",
			"https://chat.googleapis.com/v2/spaces/A/messages?key=k&token=t", "https://www.googleapis.com/v1/spaces/A/messages?key=k&token=t",
		},
		"slack": {
			"https://hooks.example.com/services/T/B/x", "https://hooks.slack.com.example.com/services/T/B/x", "https://slack.com/services/T/B/x", "https://hooks.slack.com/services/T/B",
			"https://hooks.slack.com/services/T/B/x?a=b", "https://hooks.slack.com/services/T/B/..", "https://hooks.slack.com/services/T/B/x/../../../api",
		},
		"discord": {
			"https://hooks.example.com/api/webhooks/1/x", "https://evil-discord.com/api/webhooks/1/x", "https://discord.com.example.com/api/webhooks/1/x", "https://discord.com/api/webhooks/x/x",
			"https://discord.com/api/webhooks/1/x?wait=true", "https://discord.com/api/webhooks/1/x/slack",
		},
	}
	for _, kind := range outbounds() {
		for _, url := range append(only[kind.kind], anywhere...) {
			var refusal struct{ Error string }
			send(t, http.MethodPost, base+kind.path+"/endpoints", a.app(), map[string]any{
				"dashboardId": a.DashboardID, "url": url, "managementEmail": "ops@example.com", "componentIds": []string{component},
			}).expect(t, http.StatusBadRequest).into(t, &refusal)
			if !strings.HasPrefix(refusal.Error, "url: ") || strings.Contains(refusal.Error, "classic connector") != strings.Contains(url, "office.com/") {
				t.Errorf("%s %.60q: %q", kind.kind, url, refusal.Error)
			}
		}
		var list struct{ Endpoints []any }
		send(t, http.MethodGet, base+kind.path+"/endpoints", a.app(), nil).expect(t, http.StatusOK).into(t, &list)
		if len(list.Endpoints) != 0 {
			t.Errorf("a refused endpoint is there: %v", list.Endpoints)
		}
	}
}
