package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// fine is the state of a service that works.
const fine = `{"service": {"version": "(devel)", "database": {"reachable": true, "engine": "sqlite"}, "kafka": {"reachable": true}, "outbox": {"messages": 0, "more": false, "oldestAt": null}, "lastBackupAt": "2026-02-01T01:30:00.000Z"}}`

// arrived is how a request arrives at an installation that is set up right.
func arrived() passport.Arrival {
	return passport.Arrival{
		Scheme: "https", Host: "console.example.com", Client: "203.0.113.9", Peer: "10.0.0.5", Trusted: true, ForwardedFor: true, ForwardedProto: "https", Version: "(devel)",
	}
}

// installation opens the console of an installation in which all is well. Each change makes something else of it.
func installation(t *testing.T) *browser {
	t.Helper()
	b := open(t, "Ada")
	for _, service := range []string{"identity", "events", "subscribers", "integrations", "delivery"} {
		b.app.answer("GET /app/setup/"+service, answer{200, fine, false})
	}
	return b
}

// setup opens the page for a request that arrived like this.
func (b *browser) setup(seen passport.Arrival, path string) response {
	header := http.Header{}
	seen.Set(header)
	var pairs []string
	for name := range header {
		pairs = append(pairs, name, header.Get(name))
	}
	return b.send(get, "/console"+path, nil, pairs...)
}

func TestTheSetupOfAnInstallationThatWorksIsCalm(t *testing.T) {
	b := installation(t)
	got := b.setup(arrived(), "/setup")
	b.expect(got, http.StatusOK, "Everything works.", "https://console.example.com", "203.0.113.9", "10.0.0.5</bdi>, trusted", "Last backup", "8 h ago", "Send a test mail", "port <span class=\"num\">587</span>, encrypted if the server offers it")
	if strings.Contains(got.text, "What to do") {
		t.Errorf("the page finds a problem: %s", got.text)
	}
}

func TestTheSetupNamesTheSettingThatIsWrong(t *testing.T) {
	state := func(change ...string) answer { return answer{200, strings.NewReplacer(change...).Replace(fine), false} }
	for name, x := range map[string]struct {
		service string // whose state changes
		answer  answer
		seen    func(*passport.Arrival)
		texts   []string
	}{
		"a service that is down":   {"delivery", answer{502, "", false}, nil, []string{"Delivery: does not respond."}},
		"a service that starts":    {"events", answer{503, `{"error": "x"}`, false}, nil, []string{"Events: starts, or waits for its database."}},
		"no database":              {"events", state(`"reachable": true, "engine"`, `"reachable": false, "engine"`), nil, []string{"Events cannot reach its database.", "DOCUMENTS_URL"}},
		"no Kafka":                 {"identity", state(`"kafka": {"reachable": true`, `"kafka": {"reachable": false`), nil, []string{"Identity cannot reach Kafka.", "KAFKA_BROKERS"}},
		"messages that wait":       {"events", state(`{"messages": 0, "more": false, "oldestAt": null}`, `{"messages": 1204, "more": false, "oldestAt": "2026-02-01T09:18:00.000Z"}`), nil, []string{"Events: the oldest unsent message has waited for 12 min.", "1,204 unsent"}},
		"another version":          {"events", state("(devel)", "v1.2.3"), nil, []string{"The parts have different versions.", "v1.2.3"}},
		"no backup":                {"identity", state(`"2026-02-01T01:30:00.000Z"`, "null"), nil, []string{"No backup is on record.", "bellbuoy backup"}},
		"an old backup":            {"identity", state("2026-02-01", "2026-01-02"), nil, []string{"The last backup is more than 7 days old."}},
		"MongoDB":                  {"identity", state("sqlite", "mongodb", `"2026-02-01T01:30:00.000Z"`, "null"), nil, []string{"MongoDB is backed up with its own tools"}},
		"no Redis":                 {"", answer{}, func(a *passport.Arrival) { a.RedisDown = true }, []string{"The gateway cannot reach Redis.", "REDIS_URL"}},
		"an untrusted proxy":       {"", answer{}, func(a *passport.Arrival) { a.Trusted, a.Scheme, a.Client = false, "http", a.Peer }, []string{"A proxy at 10.0.0.5 names the client", "BELLBUOY_TRUSTED_PROXIES</bdi></code>: <code><bdi>10.0.0.5/32", "10.0.0.5</bdi>, not trusted"}},
		"a proxy without a scheme": {"", answer{}, func(a *passport.Arrival) { a.Scheme, a.ForwardedProto = "http", "" }, []string{"this request arrived as http.", "X-Forwarded-Proto: https"}},
		"a proxy without headers": {"", answer{}, func(a *passport.Arrival) {
			a.Trusted, a.Scheme, a.ForwardedFor, a.ForwardedProto = false, "http", false, ""
		}, []string{"no proxy is trusted", "BELLBUOY_TRUSTED_PROXIES"}},
		"another port": {"", answer{}, func(a *passport.Arrival) { a.Host = "console.example.com:8443" }, []string{"This request asked for console.example.com:8443", "CONSOLE_BASE_URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := installation(t)
			if x.service != "" {
				b.app.answer("GET /app/setup/"+x.service, x.answer)
			}
			seen := arrived()
			if x.seen != nil {
				x.seen(&seen)
			}
			b.expect(b.setup(seen, "/setup"), http.StatusOK, x.texts...)
		})
	}
}

func TestAConsoleWithoutHTTPSIsAProblemUnlessItIsLocal(t *testing.T) {
	for base, texts := range map[string][]string{
		"http://console.example.com": {"The console has no https.", "CONSOLE_BASE_URL</code>: <code>https://console.example.com"},
		"http://localhost:8080":      {"Everything works."},
		"http://127.0.0.1:8080":      {"Everything works."},
		"http://[::1]:8080":          {"Everything works."},
	} {
		page := setupPage{Arrived: true, Arrival: passport.Arrival{Scheme: "http", Host: strings.TrimPrefix(base, "http://"), Client: "127.0.0.1", Peer: "127.0.0.1"}}
		page.Links.ConsoleBaseURL = base
		var all strings.Builder
		for _, f := range page.addressFindings() {
			all.WriteString(f.Text + f.Setting + "</code>: <code>" + f.Value)
		}
		if calm := texts[0] == "Everything works."; calm != (all.Len() == 0) || !calm && (!strings.Contains(all.String(), texts[0]) || !strings.Contains(all.String(), texts[1])) {
			t.Errorf("%s: %s", base, all.String())
		}
	}
	local := setupPage{Arrived: true, Arrival: arrived()}
	local.Links.ConsoleBaseURL, local.Links.DashboardBaseURL, local.Links.AppBaseURL = "https://console.example.com", "http://127.0.0.1:8080", "https://app.example.com"
	if found := local.addressFindings(); len(found) != 1 || found[0].Setting != "DASHBOARD_BASE_URL" {
		t.Errorf("%+v", found)
	}
}

func TestATestMessageShowsItsResult(t *testing.T) {
	const log = `"logId": "` + other + `", "sentAt": "2026-02-01T09:30:01.000Z", "deliveryId": "` + other + `", "eventKind": "member.test", "attempt": 1, "maxAttempts": 7`
	result := func(b *browser, status, code, response string) {
		one := log + `, "status": "` + status + `", "errorCode": "` + code + `"`
		b.app.answer("GET /app/notifications/sms/logs", answer{200, `{"logs": [{"deliveryId": "` + member + `", "attempt": 1}, {` + one + `}], "nextToken": null}`, false})
		b.app.answer("GET /app/notifications/sms/logs/"+other, answer{200, `{"log": {` + one + `, "request": null, "response": ` + response + `, "attempts": []}}`, false})
	}
	b := installation(t)
	b.app.answer("GET /app/notifications/channels", answer{200, `{"channels": {"email": {"configured": true, "server": {"host": "mail.example.com", "port": 465, "security": "tls"}, "from": "a@example.com", "missing": null},
		"sms": {"configured": true, "server": {"host": "sms.example.com", "port": 80, "security": "none"}, "from": "+15550100", "missing": null},
		"whatsapp": {"configured": false, "server": {"host": "sms.example.com", "port": 80, "security": "none"}, "from": "+15550100", "missing": "WHATSAPP_TEMPLATE"}, "webhook": {"configured": true, "server": null, "from": null, "missing": null}}}`, false})
	sent := b.post("/console/setup/sms", "phone", "+49 151 12345678")
	at, err := url.Parse(sent.header.Get("Location"))
	if err != nil || sent.status != http.StatusSeeOther || at.Path != "/console/setup" || at.Fragment != "sms" || b.app.body("POST /app/notifications/sms/test") != `{"phone":"+49 151 12345678"}` {
		t.Fatalf("%d %s %s", sent.status, at, b.app.body("POST /app/notifications/sms/test"))
	}
	page := "/setup?" + at.RawQuery
	for _, x := range []struct{ status, code, response, text string }{
		{"delivered", "", `{"body": "queued"}`, "The server has accepted the test message."},
		{"failed", "http_4xx", `{"httpStatus": 400, "body": "*** is <b>not</b> allowed"}`, "The server refused the test message.</p>\n<p class=\"small soft\">Its answer:</p><pre dir=\"auto\">*** is &lt;b&gt;not&lt;/b&gt; allowed"},
		{"retrying", "connect", `null`, "No connection could be made.</bdi> It is tried again."},
	} {
		result(b, x.status, x.code, x.response)
		b.expect(b.setup(arrived(), page), http.StatusOK, x.text, "Set up in part.", "SMS: the connection to the server is not encrypted.", "/console/deliveries/sms/"+other)
	}
	b.expect(b.post("/console/setup/sms", "phone", ""), http.StatusUnprocessableEntity, "Enter a phone number", `id="sms-phone"`)
	b.app.answer("POST /app/notifications/whatsapp/test", answer{400, `{"error": "phone: must be a possible phone number"}`, false})
	b.expect(b.post("/console/setup/whatsapp", "phone", "12"), http.StatusUnprocessableEntity, "must be a possible phone number", `value="12"`, `id="whatsapp-phone-problem"`)
	b.app.answer("POST /app/notifications/email/test", answer{409, `{"error": "Your account has no email address."}`, false})
	b.expect(b.post("/console/setup/email"), http.StatusUnprocessableEntity, "Your account has no email address.")
	b.app.answer("POST /app/notifications/email/test", answer{429, `{"error": "x"}`, false})
	b.expect(b.post("/console/setup/email"), http.StatusTooManyRequests, "There were too many tries.")
	b.expect(b.post("/console/setup/email", "to", "eve@example.com"), http.StatusBadRequest)
	for _, wrong := range []string{"?sent=x&by=sms&at=1", "?sent=x&by=webhook&at=1", "?sent=x&by=sms&at=x", "?sent=&by=sms&at=1"} {
		if got := b.setup(arrived(), "/setup"+wrong); strings.Contains(got.text, "test message") {
			t.Errorf("%s shows a result: %s", wrong, got.text)
		}
	}
}

func TestTheSetupWithoutDeliveryShowsTheRest(t *testing.T) {
	b := installation(t)
	b.app.answer("GET /app/notifications/channels", answer{503, `{}`, false})
	b.app.answer("GET /app/setup/delivery", answer{502, `{}`, false})
	b.expect(b.setup(arrived(), "/setup"), http.StatusOK, "The channels cannot be shown right now", "Delivery: does not respond.", "Identity</b><span class=\"soft small\">Works, SQLite")
	b.member.Roles = []string{passport.RoleEvent, passport.RoleSubscriber}
	got := b.get("/console/setup")
	b.expect(got, http.StatusForbidden, "Administrator")
	if strings.Contains(got.text, `href="/console/setup"`) {
		t.Error("the navigation has the page")
	}
}
