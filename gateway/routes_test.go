package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

func TestEveryRowReachesItsService(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	authorization := map[passport.Surface]string{passport.Legacy: m.apiKey(), passport.App: m.bearer(), passport.Operator: "Operator " + operatorToken}
	fill := strings.NewReplacer("{id}", "4", "{statusId}", "5", "{noteId}", "6", "{ids}", "1;3", "{keyId}", "k%2F1",
		"{kind}", "webhook", "{logId}", "7", "{runId}", "8%25b")
	for _, row := range Routes() {
		if row.Service == "" || row.Surface == passport.Public || row.Surface == passport.Console {
			continue
		}
		paths := []string{fill.Replace(row.Path)}
		if row.Surface == passport.Legacy {
			paths = append(paths, strings.TrimSuffix(paths[0], "/"))
		}
		if strings.Contains(row.Path, "{kind}") { // another path has the literal segment "email" here
			paths = append(paths, fill.Replace(strings.Replace(row.Path, "{kind}", "email", 1)))
		}
		for _, method := range row.Methods {
			for _, path := range paths {
				t.Run(method+" "+path, func(t *testing.T) {
					body := ""
					if method != http.MethodGet {
						body = `{"x":1}`
					}
					g := d.do(t, method, path+"?a=b%20c&a=d", body, map[string]string{"Authorization": authorization[row.Surface]})
					wantStatus(t, g, http.StatusOK)
					e := g.echo(t)
					if e.Service != row.Service || e.Method != method || e.URI != path+"?a=b%20c&a=d" || e.Body != body {
						t.Errorf("reached %s with %s %s %q", e.Service, e.Method, e.URI, e.Body)
					}
					if e.Passport.Surface != row.Surface || e.Passport.Audience != row.Service {
						t.Errorf("passport %+v", e.Passport)
					}
					if row.Surface != passport.Operator && (e.Passport.Organization != m.credential.Organization || e.Passport.User != m.credential.User ||
						e.Passport.LegacyUser != 7 || !e.Passport.Has(passport.RoleAdmin) || !e.Passport.Features.API) {
						t.Errorf("passport %+v", e.Passport)
					}
				})
			}
		}
	}
}

func TestLegacyResourcesHaveTheirService(t *testing.T) {
	want := map[string]string{
		"event/list": events, "event/service": events, "event/update": events, "service": events, "status": events,
		"severity": events, "type": events, "user": identity, "email": subscribers, "number": subscribers,
		"subscribers/email": subscribers, "subscribers/sms": subscribers,
	}
	for _, resource := range legacy.Resources() {
		if got := legacyService(resource.Name); got != want[resource.Name] {
			t.Errorf("%s is served by %q, want %q", resource.Name, got, want[resource.Name])
		}
	}
}

func TestLegacyChecksHaveTheirOrder(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	key := map[string]string{"Authorization": m.apiKey()}
	override := func(method string) map[string]string {
		return map[string]string{"Authorization": m.apiKey(), "X-HTTP-Method-Override": method}
	}
	for _, row := range []struct {
		name, method, path string
		header             map[string]string
		status             int
		allow              string
	}{
		{"unknown resource before the key", "GET", "/api/v1/nothing/", nil, 404, ""},
		{"unknown resource with a key", "GET", "/api/v1/nothing/", key, 404, ""},
		{"dashboard list on the legacy base", "GET", "/api/v1/dashboard/", key, 404, ""},
		{"id not numeric", "GET", "/api/v1/service/abc/", nil, 404, ""},
		{"id zero", "GET", "/api/v1/service/0/", nil, 404, ""},
		{"empty segment", "GET", "/api/v1/service//", key, 404, ""},
		{"empty segment, without a key", "OPTIONS", "/api/v1/event/list//", nil, 404, ""},
		{"id beyond 64 bit", "GET", "/api/v1/service/9223372036854775808/", nil, 404, ""},
		{"wrong method before the key", "PATCH", "/api/v1/service/", nil, 405, "GET,POST"},
		{"wrong method on a detail", "POST", "/api/v1/service/4/", nil, 405, "DELETE,GET,PUT"},
		{"wrong method on a lookup", "DELETE", "/api/v1/status/1/", nil, 405, "GET"},
		{"invented method", "FROB", "/api/v1/event/update/1/", nil, 405, "DELETE,GET"},
		{"options without a key", "OPTIONS", "/api/v1/event/list/7/", nil, 200, "DELETE,GET,PUT"},
		{"options on a list", "OPTIONS", "/api/v1/event/list", nil, 200, "GET,POST"},
		{"override to options", "POST", "/api/v1/event/list/", map[string]string{"X-HTTP-Method-Override": "options"}, 200, "GET,POST"},
		{"override to PUT on a detail", "POST", "/api/v1/service/4/", override("put"), 200, ""},
		{"override to PUT on a list", "POST", "/api/v1/service/", override("PUT"), 405, "GET,POST"},
		{"override to PATCH", "POST", "/api/v1/service/4/", override("PATCH"), 405, "DELETE,GET,PUT"},
		{"override on GET is no override", "GET", "/api/v1/service/4/", override("PATCH"), 200, ""},
		{"known, without a key", "GET", "/api/v1/service/", nil, 403, ""},
		{"HEAD", "HEAD", "/api/v1/service/", key, 200, ""},
		{"HEAD without a key", "HEAD", "/api/v1/service/", nil, 403, ""},
		{"discovery without a key", "GET", "/api/v1/", nil, 200, ""},
		{"discovery without the slash", "GET", "/api/v1", nil, 200, ""},
		{"discovery by POST", "POST", "/api/v1/", nil, 405, "GET"},
		{"discovery by OPTIONS", "OPTIONS", "/api/v1/", nil, 200, "GET"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := d.do(t, row.method, row.path, "", plainly(row.header))
			wantStatus(t, g, row.status)
			if g.header.Get("Allow") != row.allow {
				t.Errorf("Allow %q, want %q", g.header.Get("Allow"), row.allow)
			}
			if row.status == 404 {
				wantError(t, g, row.status, noPath)
			}
			if row.status == 405 && !strings.Contains(g.body, row.allow) {
				t.Errorf("%s does not name the methods %s", g.body, row.allow)
			}
			if row.status == 403 {
				wantEmpty403(t, g)
			}
		})
	}
}

func TestDiscoveryListsTheResources(t *testing.T) {
	d := newWorld(t).gateway(t, nil)
	g := d.get(t, "/api/v1/", nil)
	if want := string(legacy.Discovery()); g.body != want || !strings.Contains(want, `"event/list":{"list_endpoint":"/api/v1/event/list/"`) {
		t.Errorf("discovery %s", g.body)
	}
	if g.header.Get("Cache-Control") != "no-cache" || g.header.Get("Vary") != "Accept" {
		t.Errorf("its headers are %v", g.header)
	}
}

func TestAppChecksHaveTheirOrder(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	key := map[string]string{"Authorization": w.keys.member(nil).bearer()}
	for _, row := range []struct {
		method, path string
		header       map[string]string
		status       int
		allow        string
	}{
		{"GET", "/app/users", nil, 403, ""},
		{"GET", "/app/nothing", nil, 403, ""},
		{"GET", "/app", nil, 403, ""},
		{"OPTIONS", "/app/users", nil, 403, ""},
		{"GET", "/app/nothing", key, 404, ""},
		{"GET", "/app", key, 404, ""},
		{"GET", "/app/", key, 404, ""},
		{"GET", "/app/users/", key, 404, ""},
		{"DELETE", "/app/api-keys/%2e%2e", key, 404, ""},
		{"POST", "/app/audit", key, 405, "GET"},
		{"HEAD", "/app/audit", key, 405, "GET"},
		{"PUT", "/app/integrations/webhooks/outbound/endpoints", key, 405, "GET, POST, PATCH, DELETE"},
	} {
		t.Run(row.method+" "+row.path, func(t *testing.T) {
			g := d.do(t, row.method, row.path, "", plainly(row.header))
			if row.status == 403 {
				wantEmpty403(t, g)
				return
			}
			wantStatus(t, g, row.status)
			if row.method != "HEAD" {
				wantError(t, g, row.status, map[int]string{404: noPath, 405: noMethod}[row.status])
			}
			if g.header.Get("Allow") != row.allow {
				t.Errorf("Allow %q, want %q", g.header.Get("Allow"), row.allow)
			}
		})
	}
}

func TestTheOperatorNeedsTheToken(t *testing.T) {
	w := newWorld(t)
	with, without := w.gateway(t, nil), w.gateway(t, func(c *Config) { c.OperatorToken = "" })
	right := map[string]string{"Authorization": "operator  " + operatorToken}
	wantStatus(t, with.get(t, "/operator/v1/organizations", right), 200)
	wantError(t, with.get(t, "/operator/v2/organizations", right), 404, noPath)
	wantError(t, with.get(t, "/operator", right), 404, noPath)
	wantError(t, with.get(t, "/operator/v1/nothing", right), 404, noPath)
	wantError(t, with.get(t, "/operator/v1/organizations/", right), 404, noPath)
	for path, allow := range map[string]string{
		"/operator/v1/organizations": "GET, POST", "/operator/v1/organizations/x": "GET, PATCH", "/operator/v1/users/x": "PATCH, DELETE",
	} {
		g := with.do(t, "PUT", path, "{}", right)
		wantError(t, g, 405, noMethod)
		if g.header.Get("Allow") != allow {
			t.Errorf("%s: Allow %q, want %q", path, g.header.Get("Allow"), allow)
		}
	}
	for _, authorization := range []string{"", "Operator", "Operator ", "Operator wrong", "Bearer " + operatorToken, operatorToken} {
		wantEmpty403(t, with.get(t, "/operator/v1/organizations", map[string]string{"Authorization": authorization}))
		wantEmpty403(t, with.get(t, "/operator/nothing", map[string]string{"Authorization": authorization}))
		wantEmpty403(t, with.do(t, "PUT", "/operator/v1/organizations", "", map[string]string{"Authorization": authorization}))
	}
	for _, path := range []string{"/operator/v1/organizations", "/operator/v1/nothing", "/operator", "/operator/x"} {
		wantError(t, without.get(t, path, right), 404, noPath)
		wantError(t, without.get(t, path, map[string]string{"Authorization": "Operator "}), 404, noPath)
	}
}

// After ten wrong operator tokens, an address is refused for some time, even with the right token. Other addresses are
// not affected. Right tokens and requests without a token do not count.
func TestWrongOperatorTokensAreThrottled(t *testing.T) {
	w := newWorld(t)
	for name, url := range map[string]string{"redis": apitest.Patient(w.redisURL), "memory": "redis://" + apitest.FreeAddress(t)} {
		t.Run(name, func(t *testing.T) {
			d := w.gateway(t, func(c *Config) { c.TrustedProxies, c.Redis.RedisURL = []string{"127.0.0.1/32"}, url })
			try := func(ip, token string) got {
				t.Helper()
				header := map[string]string{"X-Forwarded-For": ip}
				if token != "" {
					header["Authorization"] = "Operator " + token
				}
				return d.get(t, "/operator/v1/organizations", header)
			}
			for range 30 {
				wantStatus(t, try("192.0.2.1", operatorToken), 200)
				wantEmpty403(t, try("192.0.2.1", ""))
			}
			for i := range 15 {
				g := try("192.0.2.1", fmt.Sprint("wrong", i))
				wantEmpty403(t, g)
				if late := g.header.Get("Retry-After"); (late != "") != (i >= 10) {
					t.Errorf("wrong token %d: Retry-After %q", i, late)
				}
			}
			g := try("192.0.2.1", operatorToken)
			wantEmpty403(t, g)
			if late, _ := strconv.Atoi(g.header.Get("Retry-After")); late < 800 || late > 900 {
				t.Errorf("the right token waits for %d seconds", late)
			}
			wantStatus(t, try("192.0.2.2", operatorToken), 200)
		})
	}
}

func TestAPathOutsideTheTableDoesNotExist(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	for _, path := range []string{
		"/internal/v1/keys/lookup", "/public/v1/dashboards/x/list", "/metrics", "/debug/pprof/", "/api/v2/", "/api",
		"/d/UPPER/api/v1/dashboard/", "/d/a%2Fb/api/v1/dashboard/", "/application", "/operators",
	} {
		wantError(t, d.get(t, path, map[string]string{"Authorization": w.keys.member(nil).bearer()}), 404, noPath)
	}
	for name, service := range w.services {
		if n := service.calls.Load(); n != 0 {
			t.Errorf("%s was called %d times", name, n)
		}
	}
}

// The forms of visitors exist below /d/{slug} and on the dashboard's own host. Other sites may not read the responses.
func TestFormsOfVisitorsReachTheServiceOfTheChannel(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	newPublication(w)
	own := map[string]string{"Host": "Status.Acme.test:8443", "Origin": "https://other.example"}
	for _, row := range []struct {
		method, path string
		header       map[string]string
		status       int
		service      string
	}{
		{"POST", "/d/main/subscribe/email", nil, 200, subscribers}, {"POST", "/d/main/subscribe/sms/", nil, 200, subscribers},
		{"POST", "/d/main/subscribe/whatsapp", nil, 200, subscribers}, {"POST", "/d/main/subscribe/webhook", nil, 200, integrations},
		{"POST", "/d/main/subscribe/other", nil, 404, ""}, {"GET", "/d/main/subscribe/email", nil, 405, ""},
		{"GET", "/d/main/subscribe/teams", nil, 405, ""}, {"POST", "/d/none/subscribe/email", nil, 404, ""}, {"POST", "/d/UPPER/subscribe/email", nil, 404, ""},
		{"POST", "/subscribe/email", own, 200, subscribers}, {"POST", "/subscribe/webhook", own, 200, integrations},
		{"GET", "/subscribe/webhook", own, 405, ""}, {"POST", "/subscribe/email", map[string]string{"Host": "other.test"}, 404, ""},
		{"GET", "/public/endpoints/verify?token=x", nil, 200, integrations}, {"POST", "/public/endpoints/manage?token=x", nil, 200, integrations},
		{"GET", "/public/confirm?token=x", nil, 200, subscribers}, {"POST", "/public/confirm", nil, 200, subscribers},
		{"POST", "/public/manage?token=x", nil, 200, subscribers}, {"POST", "/public/unsubscribe?token=x", nil, 200, subscribers},
		{"GET", "/subscribe", nil, 404, ""}, {"POST", "/subscribe/webhook", nil, 404, ""}, {"POST", "/subscribe/email", nil, 404, ""},
		{"GET", "/subscribe/sent", nil, 404, ""}, {"GET", "/subscribe/x/y", own, 404, ""},
		{"POST", "/d/main/subscribe/sent", nil, 405, ""}, {"OPTIONS", "/subscribe/webhook", own, 405, ""}, {"PUT", "/public/endpoints/manage", nil, 405, ""},
		{"DELETE", "/public/manage", nil, 405, ""},
	} {
		g := d.do(t, row.method, row.path, "", plainly(row.header))
		if g.status != row.status || g.header.Get("Access-Control-Allow-Origin") != "" || (row.status == 405) != (g.header.Get("Allow") != "") {
			t.Errorf("%s %s: %d %v", row.method, row.path, g.status, g.header)
		}
		if row.status == 404 && row.method == "POST" {
			want := noPath
			if strings.HasPrefix(row.path, "/d/none/") || row.header["Host"] == "other.test" {
				want = noBoard
			}
			wantError(t, g, 404, want)
		}
		if row.status != 200 {
			continue
		}
		e := g.echo(t)
		if e.Service != row.service || e.URI != row.path || e.Passport.Surface != passport.Public || e.Passport.IP != "127.0.0.1" ||
			row.header != nil && e.Header.Get("X-Forwarded-Host") != row.header["Host"] {
			t.Errorf("%s %s reached %+v", row.method, row.path, e)
		}
	}
}

// /readyz names each engine and service that does not respond. The gateway is ready even if delivery does not respond.
func TestReadinessNamesWhatIsMissing(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	wantStatus(t, d.get(t, "/healthz", nil), 204)
	lines := "gateway: ready\n"
	for _, name := range []string{"", delivery, console, subscribers, identity, integrations, events} {
		if name != "" {
			w.services[name].server.Close()
			lines += "gateway: " + name + " is not ready\n"
		}
		status := 200
		if name != "" && name != delivery && name != console {
			status, lines = 503, strings.TrimPrefix(lines, "gateway: ready\n")
		}
		want := strings.SplitAfter(lines, "\n")
		slices.Sort(want)
		// On a slow machine, a service may not respond in time.
		eventually(t, fmt.Sprintf("without %q: %d %q", name, status, want), func() bool {
			g := d.get(t, "/readyz", nil)
			return g.status == status && slices.Equal(slices.Sorted(strings.SplitAfterSeq(g.body, "\n")), want)
		})
	}
	wantStatus(t, d.get(t, "/healthz", nil), 204)
}
