package main_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/engines"
)

// TestSecretsAndURLsStayWhereTheyBelong uses every channel with unique secrets and URLs. Then it searches for each of
// them in everything that the platform wrote, sent and showed.
func TestSecretsAndURLsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	broker, err := engines.StartKafka(t.Context(), engines.Kafka{Addr: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	traces, collector := startTracesReceiver(t)
	servers, env := startReceivers(t, outboundHosts()...)
	for _, server := range servers {
		server.Echo = true
		server.Answer = func(request receiver.Request) int {
			if strings.Contains(string(request.Body), "everything fails") {
				return http.StatusBadRequest
			}
			return http.StatusOK
		}
	}
	data, internal := filepath.Join(t.TempDir(), "data"), apitest.FreeAddress(t)
	p, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_SECRET="+secret, "BELLBUOY_DATA="+data,
		"BELLBUOY_INTERNAL_ADDR="+internal, "BELLBUOY_LOG_LEVEL=debug", "APP_RATE_PER_MINUTE=100000", "KAFKA_BROKERS="+broker.Addr(), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector,
		"DELIVERY_RETRY_SCHEDULE=20ms", "ALERT_AFTER=1", "SUPPRESS_AFTER=2")...)
	w := newWalker(t, base)
	front := httptest.NewServer(w)
	defer front.Close()
	l := &leaks{
		actor: actor{t, provision(t, front.URL, "Acme", "ada", "admin", "api")}, base: base, data: data, servers: servers,
		secrets: map[string]string{"the operator token": operatorToken, "the platform's secret": secret}, tokens: map[string]string{}, metrics: internal,
	}
	l.secrets["the legacy key"], l.secrets["the App key"] = l.LegacyKey, l.app()[strings.Index(l.app(), ":")+1:]
	l.service, l.component = l.actor.service("Checkout")
	l.messages()
	l.endpoints()
	l.visitors()
	l.tools()
	l.members()

	entries := l.reads()
	p.stop()
	places := places{"the log": p.output(), "the metrics": l.metrics}
	texts := joined{}
	for _, s := range allSpans(traces) {
		texts.add("the spans of "+s.service, s.text, "\n")
	}
	places.addRecords(published(t, broker.Addr(), entries))
	places.addFiles(t, data)
	for _, response := range w.responses {
		if response.method == http.MethodGet {
			texts.add("the response to GET "+response.path, response.text)
		}
	}
	places.addTexts(texts)
	l.proves(places)
	expectLines(t, places["the log"])
	for _, secret := range w.secrets {
		l.secrets["the secret of a response "+secret[:4]] = strings.TrimPrefix(secret, "whsec_")
	}
	for what, secret := range l.secrets {
		places.expectWithout(t, what, secret)
		shown := 0
		for _, response := range w.responses {
			if strings.Contains(response.text, secret) {
				shown++
			}
		}
		if shown > 1 {
			t.Errorf("%d responses show %s", shown, what)
		}
	}
	for what, token := range l.tokens {
		places.expectWithout(t, what, token, "the file mail/", "the file sms/", "the response to GET /public/") // a page contains its own link
	}
	if len(w.secrets) < 5 || len(l.tokens) == 0 {
		t.Errorf("only %d secrets and %d tokens were searched", len(w.secrets), len(l.tokens))
	}
}

// leaks uses the channels of the platform and records the secrets.
type leaks struct {
	actor
	base, data         string // address and data folder of the platform behind the walker
	servers            map[string]*receiver.Receiver
	service, component string
	secrets            map[string]string // secret values, which must not appear anywhere
	tokens             map[string]string // tokens of links, which may appear in mails and texts only
	metrics            string            // address of the metrics, later the text of the metrics
}

// planted is a text that is not secret. Each place that contains events must contain it, which proves that the search
// works.
const planted = "everything fails"

// messages sends mail and texts to subscribers and follows a link in them.
func (l *leaks) messages() {
	l.t.Helper()
	for path, body := range map[string]map[string]any{
		"email": {"email": map[string]any{"email": "ann@example.com"}}, "sms": {"number": map[string]any{"number": "+4915112345671"}},
	} {
		body["service"], body["confirmed"] = l.service, true
		send(l.t, http.MethodPost, l.BaseURL+"/api/v1/subscribers/"+path+"/", l.legacy(), body).expect(l.t, http.StatusCreated)
	}
	event := incident(l.service, planted)
	event["notifications"] = map[string]any{"email": map[string]any{"enabled": true}, "sms": map[string]any{"enabled": true}}
	send(l.t, http.MethodPost, l.BaseURL+"/api/v1/event/list/", l.legacy(), event).expect(l.t, http.StatusCreated)
	var header string
	eventually(l.t, 30*time.Second, "mail and text", func() error {
		for _, letter := range letters(l.t, l.data) {
			header = cmp.Or(letter.header.Get("List-Unsubscribe"), header)
		}
		if texts := len(texts(l.t, l.data)); header == "" || texts == 0 {
			return fmt.Errorf("the header %q and %d texts", header, texts)
		}
		return nil
	})
	unsubscribe(l.t, http.MethodGet, l.BaseURL, header).expect(l.t, http.StatusOK)
	unsubscribe(l.t, http.MethodPost, l.BaseURL, header).expect(l.t, http.StatusOK)
}

// name returns the name of an endpoint and records the secret parts of its URL.
func (l *leaks) name(kind outbound, name string) string {
	if name += "-" + kind.kind + "-0123456789"; kind.kind == "slack" {
		name = strings.ReplaceAll(name, "-", "")
	}
	l.secrets["the path of "+name] = name
	l.secrets["the query of "+name] = "token-of-" + name
	return name
}

// endpoints creates, uses and deletes an endpoint of each kind. It sends the URL in every request that may contain it.
func (l *leaks) endpoints() {
	l.t.Helper()
	for _, kind := range outbounds() {
		h := l.hookFor("ops@example.com", kind, l.servers, l.component, l.name(kind, "first"))
		h.tell("all is well")
		h.got("all is well", 1)
		h.send("POST", "/endpoints/test", map[string]any{"dashboardId": l.DashboardID, "urlHash": h.hash}).expect(l.t, http.StatusAccepted)
		for n := range 2 {
			h.tell(fmt.Sprintf("%s, number %d", planted, n))
			h.until("failure", func(row hookView) bool { return row.ConsecutiveFailures == n+1 })
		}
		h.until("suppression", func(row hookView) bool { return row.Suppressed })
		query := url.Values{"url": {h.url}, "dashboardId": {l.DashboardID}}
		h.send("DELETE", "/suppression?url="+url.QueryEscape(h.url), nil).expect(l.t, http.StatusNoContent)
		if kind.kind == "webhook" {
			h.patch(map[string]any{"rotateSecret": true})
		}
		moved := kind.at(l.name(kind, "moved"))
		h.patch(map[string]any{"url": moved})
		h.send("POST", "/endpoints", map[string]any{"dashboardId": l.DashboardID, "url": moved, "managementEmail": "ops@example.com", "componentIds": []string{l.component}}).
			expect(l.t, http.StatusConflict)
		h.send("DELETE", "/endpoints?"+query.Encode(), nil).expect(l.t, http.StatusNotFound) // the former URL
		h.send("POST", "/endpoints", map[string]any{"dashboardId": l.DashboardID, "url": "http" + moved[5:], "managementEmail": "ops@example.com", "componentIds": []string{l.component}}).
			expect(l.t, http.StatusBadRequest)
	}
}

// visitors creates an endpoint of each kind through the links that visitors get.
func (l *leaks) visitors() {
	l.t.Helper()
	l.invites()
	browser := visitor{t: l.t, base: l.BaseURL}
	for _, kind := range outbounds() {
		address := "visitor-of-" + kind.kind + "@example.com"
		l.asks(kind, l.name(kind, "visitor"), address)
		link := strings.Replace(linkTo(l.t, l.data, address, 1), l.base, l.BaseURL, 1)
		browser.do(http.MethodGet, link, nil).expect(l.t, http.StatusOK)
		page := browser.do(http.MethodPost, link, nil).expect(l.t, http.StatusOK)
		if kind.kind == "webhook" {
			l.secrets["the secret of a visitor"] = strings.TrimPrefix(codeIn(l.t, page), "whsec_")
		}
		token := regexp.MustCompile(`manage\?token=([^"]+)`).FindSubmatch(page.body)
		if token == nil {
			l.t.Fatalf("the page has no link: %s", page.body)
		}
		l.tokens["the link to manage the endpoint of "+address] = string(token[1])
		browser.do(http.MethodPost, link, nil).expect(l.t, http.StatusGone)
		manage := "/public/endpoints/manage?token=" + string(token[1])
		browser.do(http.MethodGet, manage, nil).expect(l.t, http.StatusOK)
		browser.do(http.MethodPost, manage, url.Values{"componentIds": {l.component}, "paused": {"on"}}).expect(l.t, http.StatusOK)
		browser.do(http.MethodPost, manage, url.Values{"action": {"unsubscribe"}}).expect(l.t, http.StatusOK)
		browser.do(http.MethodGet, manage, nil).expect(l.t, http.StatusGone)
	}
}

// tools sends messages of a monitoring tool with right and with wrong signatures.
func (l *leaks) tools() {
	l.t.Helper()
	key := l.signer("tool")
	say := func(key signer, id string, at time.Time, message any, status int) {
		l.t.Helper()
		got, err := key.try(l.t.Context(), id, at, message)
		if err != nil || got.status != status {
			l.t.Fatalf("%d %s instead of %d: %v", got.status, got.body, status, err)
		}
	}
	message := map[string]any{"action": "trigger", "externalId": "checkout", "title": "Checkout is slow", "components": []string{l.component}, "message": planted}
	say(key, "one", time.Now(), message, http.StatusOK)
	say(key, "one", time.Now(), message, http.StatusOK)
	say(key, "old", time.Now().Add(-301*time.Second), message, http.StatusForbidden)
	say(key, "wrong", time.Now(), map[string]any{"action": "trigger"}, http.StatusBadRequest)
	other := signer{key.base, key.keyID, "whsec_c2VjcmV0LXRoYXQtbm9ib2R5LWdhdmUtb3V0LTAwMDAwMQ=="}
	say(other, "forged", time.Now(), message, http.StatusForbidden)
	send(l.t, http.MethodDelete, l.BaseURL+"/app/integrations/webhooks/inbound/keys/"+key.keyID, l.app(), nil).expect(l.t, http.StatusNoContent)
	say(key, "revoked", time.Now(), message, http.StatusForbidden)
}

// members signs members in to the console, with right and with wrong passwords and codes. They set up an app, create keys,
// invite a colleague and forget the password.
func (l *leaks) members() {
	l.t.Helper()
	const wrong = "wrong-password-of-a-member"
	l.secrets["the password"], l.secrets["a wrong password"] = memberPassword, wrong
	var invitation struct{ URL string }
	send(l.t, http.MethodPost, l.BaseURL+"/operator/v1/users/"+l.UserID+"/invitation", l.operator(), nil).expect(l.t, http.StatusCreated).into(l.t, &invitation)
	ada := newConsoleUser(l.t, l.base)
	ada.open(invitation.URL, http.StatusOK).fill("/welcome", typed("password", "short"), http.StatusUnprocessableEntity)
	ada.fill("/welcome", typed("password", memberPassword), http.StatusOK)
	l.secrets["a session"] = ada.session()
	ada.open("/profile/security/app", http.StatusOK).fill("/profile/security/app", nil, http.StatusOK)
	phone := app{secret: strings.ReplaceAll(ada.byID("secret"), " ", "")}
	l.secrets["the app's secret"] = phone.secret
	ada.fill("/profile/security/app/confirm", typed("code", phone.code(l.t)), http.StatusOK)
	codes := strings.Fields(ada.byID("codes"))
	for n, code := range codes {
		l.secrets[fmt.Sprint("recovery code ", n)] = code
	}
	_, l.secrets["a key of the console"], _ = strings.Cut(ada.open("/profile/keys", http.StatusOK).fill("/profile/keys", typed("name", "deploy"), http.StatusOK).byID("key"), ":")
	_, l.secrets["a legacy key of the console"], _ = strings.Cut(ada.open("/profile/keys", http.StatusOK).fill("/profile/legacy-key", nil, http.StatusOK).byID("key"), ":")
	l.LegacyKey = l.secrets["a legacy key of the console"]
	ada.open("/users/new", http.StatusOK).fill("/users/new", typed("username", "grace", "email", "grace@example.com", "roles", "event"), http.StatusOK)
	_, l.tokens["the link of a colleague"], _ = strings.Cut(ada.byID("link"), "token=")
	ada.open("/sign-out", http.StatusOK).fill("/sign-out", nil, http.StatusOK)
	ada.fill("/sign-in", typed("username", l.Username, "password", wrong), http.StatusUnprocessableEntity)
	ada.fill("/sign-in", typed("username", l.Username, "password", memberPassword), http.StatusOK)
	ada.fill("/sign-in/code", typed("code", "wrong-recovery-code"), http.StatusUnprocessableEntity)
	ada.fill("/sign-in/code", typed("code", codes[0]), http.StatusOK)
	l.secrets["another session"] = ada.session()
	ada.open("/forgotten", http.StatusOK).fill("/forgotten", typed("username", l.Username), http.StatusOK)
	eventually(l.t, 30*time.Second, "the mails to members", func() error {
		links := 0
		for _, letter := range letters(l.t, l.data) {
			links += strings.Count(letter.text, "/console/")
		}
		if links < 2 {
			return fmt.Errorf("%d links to the console", links)
		}
		return nil
	})
}

// reads requests every list and every single delivery log. It waits for all audit entries and returns their number.
func (l *leaks) reads() int {
	l.t.Helper()
	for _, kind := range outbounds() {
		h := &hook{actor: l.actor, outbound: kind}
		h.send("GET", "/endpoints?limit=100", nil).expect(l.t, http.StatusOK)
		h.suppressions()
		logs := h.logs(url.Values{})
		if len(logs) < 4 {
			l.t.Errorf("only %d logs of %s", len(logs), kind.kind)
		}
		for _, log := range logs {
			send(l.t, http.MethodGet, l.BaseURL+"/app/notifications/"+kind.kind+"/logs/"+log.LogID+"?sentAt="+url.QueryEscape(log.SentAt), l.app(), nil).
				expect(l.t, http.StatusOK)
		}
	}
	for _, path := range []string{
		"/app/integrations/webhooks/inbound/keys", "/app/integrations/webhooks/inbound/logs", "/app/notifications/email/logs", "/app/notifications/sms/logs",
		"/app/events", "/app/dashboards", "/app/components", "/app/users", "/app/api-keys", "/app/profile",
	} {
		send(l.t, http.MethodGet, l.BaseURL+path, l.app(), nil).expect(l.t, http.StatusOK)
	}
	for _, letter := range letters(l.t, l.data) {
		for n, found := range regexp.MustCompile(`token=([^\s"'&<>]+)`).FindAllStringSubmatch(letter.text, -1) {
			l.tokens[fmt.Sprintf("link %d of the mail to %s", n, letter.to)] = found[1]
		}
	}
	l.metrics = string(send(l.t, http.MethodGet, "http://"+l.metrics+"/metrics", "", nil).expect(l.t, http.StatusOK).body)
	entries, err := auditLog(l.BaseURL, l.app(), "")
	if err != nil {
		l.t.Fatal(err)
	}
	return len(entries)
}

// proves fails the test unless the search finds a text in each place that must contain it.
func (l *leaks) proves(places places) {
	l.t.Helper()
	for place, text := range map[string]string{
		"the log": `"service":"delivery"`, "the metrics": `service="delivery"`, "the spans of delivery": "name:", "a message to event-changes": planted,
		"a message to audit": planted, "a message to notices": "endpoint.failing", "a message to delivery-outcomes": "incident.created",
		"the response to GET /app/audit": planted, "the response to GET /app/integrations/gchat/endpoints": "chat.googleapis.com",
	} {
		if !slices.Contains(places.with(text), place) {
			l.t.Errorf("%s does not hold %q: the search proves nothing. It has %d bytes.", place, text, len(places[place]))
		}
	}
	for _, prefix := range []string{"the file documents/", "the file mail/", "the file sms/", "the response to GET /app/notifications/webhook/logs/"} {
		if !slices.ContainsFunc(places.with(planted), func(place string) bool { return strings.HasPrefix(place, prefix) }) {
			l.t.Errorf("no place %s… holds %q: the search proves nothing", prefix, planted)
		}
	}
}

// expectLines fails the test unless each line of the log is JSON, and each line about a request has a trace id.
func expectLines(t *testing.T, log string) {
	t.Helper()
	traced := 0
	for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
		if strings.HasPrefix(line, "{") && !json.Valid([]byte(line)) {
			t.Errorf("a log line is not JSON: %s", line)
		}
		if strings.Contains(line, `"msg":"request"`) && strings.Contains(line, `"trace_id":"`) {
			traced++
		}
	}
	if traced == 0 {
		t.Error("no log line of a request carries its trace's id")
	}
}
