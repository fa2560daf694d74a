package integrations_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations"
)

const (
	keysPath    = "/app/integrations/webhooks/inbound/keys"
	logsPath    = "/app/integrations/webhooks/inbound/logs"
	inboundPath = "/public/webhooks/inbound"
)

// ingest stands for the events service: the first result of a message is kept, and an unknown externalId or component is not
// found.
func (u *upstream) ingest(r *http.Request, organization string) (any, bool) {
	var in topic.InboundMessage
	if json.NewDecoder(r.Body).Decode(&in) != nil || slices.Contains(in.Components, "unknown") {
		return nil, false
	}
	if in.Check {
		u.checks++
		return topic.InboundResult{}, true
	}
	if in.ExternalID == "unknown" || in.ExternalID == u.deleted {
		return nil, false
	}
	if u.former && in.ReceivedAt != nil {
		return peer.Refusal{Kind: fault.Invalid, Message: "receivedAt: is not a field of this request", Field: "receivedAt"}, true
	}
	u.messages = append(u.messages, in)
	key := organization + " " + in.ID
	if _, is := u.applied[key]; !is {
		u.applied[key] = topic.InboundResult{Result: map[string]string{"trigger": "created", "update": "updated", "resolve": "resolved"}[in.Action], EventID: id()}
	}
	return u.applied[key], true
}

// received returns the messages that reached the events service.
func (u *upstream) received() []topic.InboundMessage {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.messages)
}

type inboundKey struct {
	KeyID, Name, Secret   string
	LastUsedAt, RevokedAt *string
}

func (p *platform) key(o organization, more object) inboundKey {
	p.t.Helper()
	body := object{"name": "Alertmanager"}
	maps.Copy(body, more)
	var made struct{ Key inboundKey }
	p.decode(p.call(o, http.StatusCreated, http.MethodPost, keysPath, body).text, &made)
	return made.Key
}

func (p *platform) decode(text string, into any) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
}

// signed is a request of a monitoring tool. at and the headers can be changed before it is sent.
type signed struct {
	key    inboundKey
	id     string
	at     time.Time
	body   string
	query  string
	header http.Header // instead of the right ones
}

func (p *platform) signed(key inboundKey, body string) signed {
	return signed{key: key, id: "msg_" + id(), at: p.now(), body: body, header: http.Header{}}
}

const trigger = `{"action": "trigger", "externalId": "p-1", "title": "Checkout fails", "components": ["checkout"]}`

// post sends the request as the gateway does, signed by the library of Standard Webhooks.
func (p *platform) post(in signed) (status int, text string, out struct {
	Result, EventID, LogID, Error string
	Duplicate                     bool
}) {
	p.t.Helper()
	signer, err := standardwebhooks.NewWebhook(in.key.Secret)
	if err != nil {
		p.t.Error(err)
		return
	}
	signature, err := signer.Sign(in.id, in.at, []byte(in.body))
	if err != nil {
		p.t.Error(err)
		return
	}
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+inboundPath+in.query, strings.NewReader(in.body))
	if err != nil {
		p.t.Error(err)
		return
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "webhook-key-id": in.key.KeyID, "webhook-id": in.id,
		"webhook-timestamp": strconv.FormatInt(in.at.Unix(), 10), "webhook-signature": signature, "X-Request-Id": "the-request",
		passport.Header: p.signer.Sign(passport.Passport{Audience: "integrations", Surface: passport.Public, IP: "192.0.2.9"}),
	} {
		request.Header.Set(name, value)
	}
	for name, values := range in.header {
		if request.Header.Del(name); values[0] != "" {
			request.Header.Set(name, strings.ReplaceAll(values[0], "SIGNATURE", signature))
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer response.Body.Close()
	var content strings.Builder
	if err := response.Write(&content); err != nil {
		p.t.Error(err)
	}
	_, text, _ = strings.Cut(content.String(), "\r\n\r\n")
	_ = json.Unmarshal([]byte(text), &out) // an empty body is none
	return response.StatusCode, text, out
}

type inboundLog struct {
	LogID, KeyID, RemoteIP                     string
	Action, ExternalID, EventID, Result, Error *string
	Format, Source                             *string
	HTTPStatus                                 int
}

func (p *platform) logRows(o organization) []inboundLog {
	p.t.Helper()
	var all []inboundLog
	for next := ""; ; {
		var page struct {
			Logs      []inboundLog
			NextToken *string
		}
		p.decode(p.call(o, http.StatusOK, http.MethodGet, logsPath+"?limit=7"+next, nil).text, &page)
		all = append(all, page.Logs...)
		if page.NextToken == nil {
			return all
		}
		next = "&nextToken=" + *page.NextToken
	}
}

func TestLogsAreFilteredByKeyAndResult(t *testing.T) {
	p := start(t, nil)
	o, other := p.organization(25), p.organization(26)
	first, second, foreign := p.key(o, nil), p.key(o, nil), p.key(other, nil)
	for _, request := range []signed{p.signed(first, trigger), p.signed(first, "{"), p.signed(second, "{"), p.signed(second, "["), p.signed(foreign, "{")} {
		p.post(request)
	}
	for filter, want := range map[string]int{
		"": 4, "result=refused": 3, "result=created": 1, "result=waiting": 0, "keyId=" + first.KeyID: 2, "keyId=" + foreign.KeyID: 0,
		"result=refused&keyId=" + second.KeyID: 2, "result=created&keyId=" + second.KeyID: 0,
	} {
		var page struct{ Logs []inboundLog }
		p.decode(p.call(o, http.StatusOK, http.MethodGet, logsPath+"?limit=7&"+filter, nil).text, &page)
		if len(page.Logs) != want {
			t.Errorf("%s lists %d requests, not %d", filter, len(page.Logs), want)
		}
	}
	for query, text := range map[string]string{"result=lost": "result: must be one of", "keyId=x": "keyId: must be a UUID"} {
		if got := p.call(o, http.StatusBadRequest, http.MethodGet, logsPath+"?"+query, nil); !strings.Contains(got.text, text) {
			t.Error(got.text)
		}
	}
}

func TestInboundMessagesAreAppliedAndLogged(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, object{"defaults": object{"publish": false, "notify": false, "severity": "minor_outage"}})
	status, text, first := p.post(p.signed(key, trigger))
	if status != http.StatusOK || first.Result != "created" || first.Duplicate {
		t.Fatalf("%d %s", status, text)
	}
	sent := p.upstream.received()[0]
	if sent.KeyID != key.KeyID || sent.KeyName != "Alertmanager" || sent.IP != "192.0.2.9" || sent.RequestID != "the-request" ||
		sent.Publish || sent.DefaultSeverity != "minor_outage" || sent.Severity != nil || sent.Notify == nil || len(*sent.Notify) != 0 {
		t.Errorf("with defaults: %+v", sent)
	}
	whole := p.signed(key, `{"action": "update", "externalId": "p-1", "title": "t", "description": "d", "status": "identified", "severity": null,
		"components": ["a", "b"], "impact": "major_outage", "message": "m", "timestamp": "2026-01-31T10:30:00.1234+01:00", "publish": true, "notify": {"email": true, "sms": false}}`)
	if status, text, out := p.post(whole); status != http.StatusOK || out.Result != "updated" {
		t.Fatalf("%d %s", status, text)
	}
	sent = p.upstream.received()[1]
	at, message, none := time.Date(2026, 1, 31, 9, 30, 0, 123_000_000, time.UTC), "m", ""
	want := topic.InboundMessage{
		ID: whole.id, KeyID: key.KeyID, KeyName: "Alertmanager", IP: "192.0.2.9", RequestID: "the-request", Action: "update", ExternalID: "p-1", Title: "t",
		Description: "d", Message: &message, Status: "identified", Severity: &none, DefaultSeverity: "minor_outage", Components: []string{"a", "b"},
		Impact: "major_outage", Timestamp: &at, Publish: true, Notify: sent.Notify,
	}
	if !reflect.DeepEqual(sent, want) || !(*sent.Notify)["email"] || (*sent.Notify)["sms"] {
		t.Errorf("the events service gets\n%+v\nwant\n%+v", sent, want)
	}
	for name, in := range map[string]struct {
		body, query, text string
		status            int
	}{
		"no JSON":          {"{", "", "The body must be one valid JSON value.", 400},
		"an unknown field": {`{"action": "resolve", "externalId": "p-1", "titel": "x"}`, "", "titel: is not a field of this request", 400},
		"no action":        {`{"externalId": "p-1"}`, "", "action: is required", 400},
		"a wrong action":   {`{"action": "close", "externalId": "p-1"}`, "", "action: must be one of trigger, update, resolve", 400},
		"no externalId":    {`{"action": "resolve"}`, "", "externalId: is required", 400},
		"a wrong status":   {`{"action": "update", "externalId": "p-1", "status": "planning"}`, "", "status: must be one of investigating, identified, monitoring, resolved", 400},
		"a wrong channel":  {`{"action": "update", "externalId": "p-1", "notify": {"pigeon": true}}`, "", "notify.pigeon: must be one of the channels discord, email, gchat, slack, sms, teams, webhook, whatsapp", 400},
		"a wrong format":   {trigger, "?format=zabbix", "format: must be alertmanager or grafana", 400},
		"another query":    {trigger, "?from=x", "from: is not a query parameter of this request", 400},
		"no version":       {`{}`, "?format=alertmanager", `version: must be "4"`, 400},
		"no alerts":        {`[]`, "?format=grafana", "The body must be a JSON object, as the tool sends it.", 400},
		"unknown":          {`{"action": "resolve", "externalId": "unknown"}`, "", "refused by the test", 404},
	} {
		request := p.signed(key, in.body)
		request.query = in.query
		status, text, out := p.post(request)
		if status != in.status || out.Error != in.text {
			t.Errorf("%s: %d %s, want %d %s", name, status, text, in.status, in.text)
		}
		if row := p.logRows(o)[0]; row.HTTPStatus != in.status || row.Error == nil || *row.Error != in.text || row.Result != nil || row.EventID != nil {
			t.Errorf("%s is logged as %+v", name, row)
		}
	}
	large := p.signed(key, strings.Repeat(" ", 65_536-len(trigger))+trigger)
	if status, text, _ := p.post(large); status != http.StatusOK {
		t.Errorf("65,536 bytes: %d %s", status, text)
	}
	large.body += " "
	if status, text, out := p.post(large); status != http.StatusRequestEntityTooLarge || out.Error != "The body must be at most 65536 bytes." {
		t.Errorf("65,537 bytes: %d %s", status, text)
	}
	rows := p.logRows(o)
	last := rows[len(rows)-1]
	if last.LogID != first.LogID || *last.EventID != first.EventID || *last.Result != "created" || *last.Action != "trigger" || *last.ExternalID != "p-1" ||
		last.HTTPStatus != 200 || last.Error != nil || last.KeyID != key.KeyID || last.RemoteIP != "192.0.2.9" {
		t.Errorf("the first message is logged as %+v", last)
	}
	var list struct{ Keys []inboundKey }
	p.decode(p.call(o, http.StatusOK, http.MethodGet, keysPath, nil).text, &list)
	if used := list.Keys[0].LastUsedAt; used == nil || !strings.HasSuffix(*used, ":00.000Z") {
		t.Errorf("the key was last used at %v", used)
	}
	if log := p.logs.String(); strings.Contains(log, "Checkout fails") || strings.Contains(log, key.Secret) {
		t.Error("the service's log holds a body or a secret")
	}
}

func TestInboundRequestsThatAreNotAdmittedGetAnEmpty403(t *testing.T) {
	p := start(t, nil)
	o, other, plain := p.organization(25), p.organization(25), p.organization(25)
	key, others := p.key(o, nil), p.key(other, nil)
	withoutPlan, revoked := p.key(plain, nil), p.key(o, nil)
	p.upstream.mu.Lock()
	p.upstream.without[plain.id] = true
	p.upstream.mu.Unlock()
	p.call(o, http.StatusNoContent, http.MethodDelete, keysPath+"/"+revoked.KeyID, nil)

	const noID = "The header webhook-id must be 1 to 255 visible ASCII characters."
	const noTime = "The header webhook-timestamp must be the seconds since 1970."
	const age = "The header webhook-timestamp must be within 300 s of the present time."
	const unsigned = "No signature in the header webhook-signature is right."
	header := func(name, value string) func(*signed) {
		return func(in *signed) { in.header.Set(name, value) }
	}
	shift := func(by time.Duration) func(*signed) { return func(in *signed) { in.at = in.at.Add(by) } }
	for name, of := range map[string]struct {
		set   func(*signed)
		error string
	}{
		"no id":                 {header("webhook-id", ""), noID},
		"a space in the id":     {header("webhook-id", "a b"), noID},
		"a long id":             {header("webhook-id", strings.Repeat("x", 256)), noID},
		"another id":            {header("webhook-id", "other"), unsigned},
		"no timestamp":          {header("webhook-timestamp", ""), noTime},
		"a signed timestamp":    {header("webhook-timestamp", "+1"), noTime},
		"a timestamp of a date": {header("webhook-timestamp", "2026-01-31T09:30:00Z"), noTime},
		"a huge timestamp":      {header("webhook-timestamp", "99999999999999999999"), noTime},
		"too old":               {shift(-302 * time.Second), age},
		"too new":               {shift(330 * time.Second), age},
		"no signature":          {header("webhook-signature", ""), unsigned},
		"no version":            {header("webhook-signature", "c2lnbmF0dXJl"), unsigned},
		"another version":       {header("webhook-signature", "v2,c2lnbmF0dXJl v1a,c2lnbmF0dXJl"), unsigned},
		"no base64":             {header("webhook-signature", "v1,???"), unsigned},
		"a short signature":     {header("webhook-signature", "v1,"), unsigned},
		"another body": {func(in *signed) {
			in.header.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
		}, unsigned},
		"another key's signature": {func(in *signed) { in.key.Secret = others.Secret }, unsigned},
		"a revoked key":           {func(in *signed) { in.key = revoked }, "The signing key is revoked."},
	} {
		in := p.signed(key, trigger)
		of.set(&in)
		if status, text, _ := p.post(in); status != http.StatusForbidden || text != "" {
			t.Errorf("%s: %d %q", name, status, text)
		}
		if row := p.logRows(o)[0]; row.HTTPStatus != 403 || row.Error == nil || *row.Error != of.error || row.Action != nil || row.KeyID != in.key.KeyID {
			t.Errorf("%s is logged as %+v", name, row)
		}
		p.ahead.Add(int64(10 * time.Second)) // so that all are logged, see the limit
	}
	rows := len(p.logRows(o))
	for name, keyID := range map[string]string{"unknown": id(), "no uuid": "x", "none": ""} {
		in := p.signed(key, trigger)
		in.header.Set("webhook-key-id", keyID)
		if status, text, _ := p.post(in); status != http.StatusForbidden || text != "" {
			t.Errorf("a key id that is %s: %d %q", name, status, text)
		}
	}
	if now := len(p.logRows(o)); now != rows {
		t.Error("an unknown key is logged in an organization")
	}
	if !strings.Contains(p.logs.String(), "inbound webhook with an unknown key") {
		t.Error("the service's log does not mention the unknown key")
	}
	if status, text, _ := p.post(p.signed(withoutPlan, trigger)); status != http.StatusForbidden || text != "" {
		t.Errorf("without the entitlement: %d %q", status, text)
	}
	member := plain.member(passport.RoleAdmin)
	member.Features.Integrations = false
	if got := p.send(p.signer.Sign(member), http.MethodGet, logsPath, nil); got.status != 200 || !strings.Contains(got.text, "The plan of the organization does not include integrations.") {
		t.Errorf("the log without the entitlement: %d %s", got.status, got.text)
	}
	if len(p.upstream.received()) != 0 {
		t.Error("a refused message reached the events service")
	}
	// What is right although it looks unusual.
	for name, set := range map[string]func(*signed){
		"270 s old":          shift(-270 * time.Second),
		"299 s new":          shift(299 * time.Second),
		"several signatures": header("webhook-signature", "v1,AAAA v1a,BBBB v9 SIGNATURE  v1,CCCC"),
		"dots in the id":     func(in *signed) { in.id = "a.1.b" },
		"a key in capitals":  header("webhook-key-id", strings.ToUpper(key.KeyID)),
	} {
		in := p.signed(key, trigger)
		set(&in)
		if status, text, _ := p.post(in); status != http.StatusOK {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

// The id of a key is no secret. A flood of requests with it must not fill the log, and not keep the tool out.
func TestAFloodOfBadSignaturesIsBounded(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, nil)
	p.ahead.Store(int64(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))) // all within one minute
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 25 {
				in := p.signed(key, trigger)
				in.header.Set("webhook-signature", "v1,AAAA")
				if status, _, _ := p.post(in); status != http.StatusForbidden {
					t.Errorf("a bad signature: %d", status)
				}
			}
		})
	}
	group.Wait()
	if rows := len(p.logRows(o)); rows != 20 {
		t.Errorf("200 bad signatures left %d logs", rows)
	}
	if status, text, _ := p.post(p.signed(key, trigger)); status != http.StatusOK {
		t.Errorf("the tool itself: %d %s", status, text)
	}
	p.ahead.Add(int64(time.Minute))
	in := p.signed(key, trigger)
	in.header.Set("webhook-signature", "v1,AAAA")
	p.post(in)
	if rows := len(p.logRows(o)); rows != 22 {
		t.Errorf("%d logs after one more in the next minute", rows)
	}
}

func TestARepeatedWebhookIDGetsTheFirstResponse(t *testing.T) {
	p := start(t, nil)
	o, other := p.organization(25), p.organization(25)
	key, second, others := p.key(o, nil), p.key(o, nil), p.key(other, nil)
	in := p.signed(key, trigger)
	_, _, first := p.post(in)
	in.body = `{"action": "resolve", "externalId": "unknown"}`
	in.key = second
	in.at = in.at.Add(time.Minute)
	if _, text, again := p.post(in); !again.Duplicate || again.EventID != first.EventID || again.LogID != first.LogID || again.Result != "created" {
		t.Errorf("repeated: %s", text)
	}
	if n := len(p.logRows(o)); n != 1 {
		t.Errorf("%d logs", n)
	}
	in.key = others
	in.body = trigger
	if _, text, elsewhere := p.post(in); elsewhere.Duplicate || elsewhere.EventID == first.EventID {
		t.Errorf("in another organization: %s", text)
	}
	// An error is not kept.
	failed := p.signed(key, `{"action": "resolve", "externalId": "unknown"}`)
	p.post(failed)
	failed.body = trigger
	if status, text, out := p.post(failed); status != http.StatusOK || out.Duplicate {
		t.Errorf("after an error: %d %s", status, text)
	}
	// A day later the id is free again.
	p.ahead.Add(int64(24 * time.Hour))
	in.key, in.at = key, p.now()
	p.upstream.mu.Lock()
	clear(p.upstream.applied) // as the events forget it
	p.upstream.mu.Unlock()
	_, text, later := p.post(in)
	if later.Duplicate || later.EventID == first.EventID {
		t.Errorf("a day later: %s", text)
	}
	if _, text, again := p.post(in); !again.Duplicate || again.LogID != later.LogID {
		t.Errorf("repeated a day later: %s", text)
	}
}

// A process that dies between the events service and the log leaves no log. The next attempt completes it.
func TestALostResponseIsCompletedByTheNextAttempt(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, nil)
	in := p.signed(key, trigger)
	p.upstream.down.Store(true) // identity does not answer
	if status, text, _ := p.post(in); status != http.StatusServiceUnavailable {
		t.Errorf("without identity: %d %s", status, text)
	}
	p.upstream.down.Store(false)
	lose := func() { p.upstream.down.Store(true) }
	second := func() { p.upstream.meanwhile.Store(&lose) }
	p.upstream.meanwhile.Store(&second) // the message is applied, and the response is lost
	if status, text, _ := p.post(in); status != http.StatusServiceUnavailable {
		t.Errorf("with a lost response: %d %s", status, text)
	}
	p.upstream.down.Store(false)
	status, text, out := p.post(in)
	if status != http.StatusOK || out.Duplicate || out.Result != "created" {
		t.Errorf("the next attempt: %d %s", status, text)
	}
	if n := len(p.upstream.received()); n != 2 {
		t.Errorf("the events service got %d messages", n)
	}
	rows := p.logRows(o)
	if len(rows) != 2 || *rows[0].Result != "created" || rows[1].HTTPStatus != 503 {
		t.Errorf("logs: %+v", rows)
	}
}

// beside starts a second process of the service on the same records.
func (p *platform) beside() *platform {
	first, stop := p.url, p.stop
	p.run(nil)
	second := &platform{t: p.t, signer: p.signer, url: p.url}
	p.url, p.stop = first, stop
	return second
}

func TestCopiesOfAMessageAtTwoProcessesGetOneResponse(t *testing.T) {
	p := start(t, nil)
	processes := []*platform{p, p.beside()}
	o := p.organization(25)
	key := p.key(o, nil)
	in := p.signed(key, trigger)
	const copies = 32
	var mu sync.Mutex
	logs, duplicates := map[string]int{}, 0
	var group sync.WaitGroup
	for i := range copies {
		group.Go(func() {
			status, text, out := processes[i%2].post(in)
			mu.Lock()
			defer mu.Unlock()
			if status != http.StatusOK || out.Result != "created" {
				t.Errorf("%d %s", status, text)
			}
			if logs[out.LogID]++; out.Duplicate {
				duplicates++
			}
		})
	}
	group.Wait()
	if len(logs) != 1 || duplicates != copies-1 || len(p.logRows(o)) != 1 {
		t.Errorf("%d copies: %d duplicates, logs %v", copies, duplicates, logs)
	}
}

func TestTwentyActiveKeysAreExact(t *testing.T) {
	p := start(t, nil)
	processes := []*platform{p, p.beside()}
	o, other := p.organization(25), p.organization(25)
	token := p.signer.Sign(o.member(passport.RoleAdmin))
	round := func(creates int) (made []string, refused int) {
		var mu sync.Mutex
		var group sync.WaitGroup
		for i := range creates {
			group.Go(func() {
				got, err := processes[i%2].try(token, http.MethodPost, keysPath, object{"name": "Alertmanager"})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && got.status == http.StatusCreated:
					var out struct{ Key inboundKey }
					p.decode(got.text, &out)
					made = append(made, out.Key.KeyID)
				case err == nil && got.status == http.StatusConflict && strings.Contains(got.text, "The organization already has 20 active signing keys. Revoke one first."):
					refused++
				default:
					t.Errorf("%d %s %v", got.status, got.text, err)
				}
			})
		}
		group.Wait()
		return made, refused
	}
	made, refused := round(64)
	if len(made) != 20 || refused != 44 {
		t.Errorf("of 64 creates %d succeeded, and %d were refused", len(made), refused)
	}
	for _, id := range made[:3] {
		p.call(o, http.StatusNoContent, http.MethodDelete, keysPath+"/"+id, nil)
	}
	if made, refused := round(16); len(made) != 3 || refused != 13 {
		t.Errorf("of 16 creates %d succeeded, and %d were refused, with room for 3", len(made), refused)
	}
	p.key(other, nil)
	var list struct{ Keys []inboundKey }
	p.decode(p.call(o, http.StatusOK, http.MethodGet, keysPath+"?limit=100", nil).text, &list)
	if len(list.Keys) != 23 || !slices.IsSortedFunc(list.Keys, func(a, b inboundKey) int { return strings.Compare(a.KeyID, b.KeyID) }) {
		t.Errorf("%d keys are listed", len(list.Keys))
	}
	revoked := 0
	for _, key := range list.Keys {
		if key.Secret != "" {
			t.Error("the list shows a secret")
		}
		if key.RevokedAt != nil {
			revoked++
		}
	}
	if revoked != 3 {
		t.Errorf("%d keys are listed as revoked", revoked)
	}
}

func TestLogsOfInboundMessagesAreKeptForThirtyDays(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, nil)
	p.post(p.signed(key, trigger))
	p.ahead.Add(int64(30*24*time.Hour - time.Hour))
	in := p.signed(key, trigger)
	_, _, kept := p.post(in)
	p.ahead.Add(int64(2 * time.Hour))
	p.stop()
	p.run(nil)
	apitest.Eventually(t, "the old log is deleted", func() bool { return len(p.logRows(o)) == 1 })
	if row := p.logRows(o)[0]; row.LogID != kept.LogID {
		t.Errorf("kept: %+v", row)
	}
	in.at = p.now()
	if _, text, again := p.post(in); !again.Duplicate {
		t.Errorf("repeated after the start: %s", text)
	}
}

// The database holds no signing secret, and nothing of a message but its action and its externalId.
func TestSigningSecretsRestSealedAndBodiesAreNotKept(t *testing.T) {
	folder := t.TempDir()
	p := start(t, func(c *integrations.Config) { c.DocumentsURL = "sqlite:" + folder })
	o := p.organization(25)
	key := p.key(o, nil)
	in := p.signed(key, `{"action": "trigger", "externalId": "p-1", "title": "T0 title", "components": ["checkout"], "message": "M0 message"}`)
	signature := ""
	if status, text, _ := p.post(in); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	signer, err := standardwebhooks.NewWebhook(key.Secret)
	if err == nil {
		signature, err = signer.Sign(in.id, in.at, []byte(in.body))
	}
	if err != nil {
		t.Fatal(err)
	}
	hidden := []string{strings.TrimPrefix(key.Secret, "whsec_"), "T0 title", "M0 message", strings.TrimPrefix(signature, "v1,")}
	holdsNone(t, folder, hidden)
	for _, text := range hidden {
		if strings.Contains(p.logs.String(), text) {
			t.Errorf("the service's log holds %s", text)
		}
	}
}
