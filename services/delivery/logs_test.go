package delivery_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// shownLog is a log as the App interface shows it.
type shownLog struct {
	LogID, DeliveryID    string
	SentAt               time.Time
	Kind                 topic.Channel
	DashboardID, URLHash *string
	URLDisplay, EventID  *string
	EventKind            topic.Kind
	Status               deliverylog.Status
	Attempt, MaxAttempts int
	HTTPStatus           *int
	DurationMS           *int64
	ErrorCode            *deliverylog.Code
	NextAttemptAt        *time.Time
	ReplayOf             *string
	Request, Response    *shownMessage
	Attempts             []shownAttempt
}

type shownMessage struct {
	Method, URLDisplay *string
	HTTPStatus         int
	Headers            map[string]string
	Body               string
}

type shownAttempt struct {
	LogID      string
	At         time.Time
	HTTPStatus *int
	ErrorCode  *deliverylog.Code
}

// member returns the passport of a member of the organization.
func member(owner, role string) passport.Passport {
	return passport.Passport{
		Audience: "delivery", Surface: passport.App, Organization: owner, User: newEvent(), Roles: []string{role},
		Features: passport.Features{API: true, Integrations: true},
	}
}

// session returns the passport of a member who uses the console.
func session(owner, role string) passport.Passport {
	p := member(owner, role)
	p.Session, p.Caller = "s1", string(passport.Console)
	return p
}

// sign returns the header value of a passport.
func sign(p passport.Passport) string {
	return passport.NewSigner(platformSecret, time.Now).Sign(p)
}

// app sends a request of a member of the organization and returns the status and the text of the response.
func (s *service) app(t testing.TB, owner, method, path string, body any) (status int, text []byte) {
	t.Helper()
	var in io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		in = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, in)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(passport.Header, sign(member(owner, passport.RoleSubscriber)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, text
}

// list returns a page of logs of the organization.
func (s *service) list(t testing.TB, kind topic.Channel, query url.Values) (logs []shownLog, next string) {
	t.Helper()
	status, text := s.app(t, organization, http.MethodGet, fmt.Sprintf("/app/notifications/%s/logs?%s", kind, query.Encode()), nil)
	var page struct {
		Logs      []shownLog
		NextToken *string
	}
	if err := json.Unmarshal(text, &page); err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %s %v", query.Encode(), status, text, err)
	}
	if page.NextToken != nil {
		next = *page.NextToken
	}
	return page.Logs, next
}

// why returns the status and the code of each result of the organization's messages about the event to an endpoint.
func (s *service) why(t testing.TB, kind topic.Channel, event, hash string) (results []string) {
	t.Helper()
	var out struct {
		Why struct {
			Messages []struct {
				Results []struct{ Status, Code string }
			}
		}
	}
	status, text := s.app(t, organization, http.MethodPost, "/app/notifications/why", map[string]any{"eventId": event, "kind": kind, "urlHash": hash})
	if err := json.Unmarshal(text, &out); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, text, err)
	}
	for _, message := range out.Why.Messages {
		for _, result := range message.Results {
			results = append(results, result.Status+" "+result.Code)
		}
	}
	return results
}

// log returns one log and its text.
func (s *service) log(t testing.TB, of shownLog) (shownLog, string) {
	t.Helper()
	status, text := s.app(t, organization, http.MethodGet, fmt.Sprintf("/app/notifications/%s/logs/%s?sentAt=%s", of.Kind, of.LogID, of.SentAt.Format(time.RFC3339Nano)), nil)
	var one struct{ Log shownLog }
	if err := json.Unmarshal(text, &one); err != nil || status != http.StatusOK {
		t.Fatalf("log %s: %d %s %v", of.LogID, status, text, err)
	}
	return one.Log, string(text)
}

// replay replays a log and returns the id of the new delivery.
func (s *service) replay(t testing.TB, of shownLog) string {
	t.Helper()
	status, text := s.app(t, organization, http.MethodPost, fmt.Sprintf("/app/notifications/%s/logs/%s/replay", of.Kind, of.LogID), map[string]any{"sentAt": of.SentAt})
	var got struct{ DeliveryID string }
	if err := json.Unmarshal(text, &got); err != nil || status != http.StatusAccepted {
		t.Fatalf("replay of %s: %d %s %v", of.LogID, status, text, err)
	}
	return got.DeliveryID
}

// Each attempt has a log, which later attempts do not change. One log shows what was sent and received, and all attempts.
func TestEachAttemptHasALogThatNeverChanges(t *testing.T) {
	w := newWorld(t)
	endpoint := w.peer.add("r1", "https://hooks.test/hook")
	hooks := w.receiver("hooks.test", inTurn(status(http.StatusInternalServerError), func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("X-Trace", "7")
		out.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(out, "no such hook")
	}, status(http.StatusNoContent)))
	s := w.start(w.config(50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, time.Second))
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	row := w.ended(sent.ID, "r1")[0]
	if row.Status != deliverylog.StatusFailed {
		t.Fatalf("row %+v", row)
	}
	logs, _ := s.list(t, topic.Webhook, nil)
	if len(logs) != 2 {
		t.Fatalf("%d logs", len(logs))
	}
	second, first := logs[0], logs[1]
	if first.Status != deliverylog.StatusRetrying || first.Attempt != 1 || first.MaxAttempts != 5 || *first.HTTPStatus != 500 || *first.ErrorCode != deliverylog.CodeServerError ||
		first.NextAttemptAt == nil || first.DurationMS == nil || first.ReplayOf != nil || first.DeliveryID != row.ID || *first.EventID != sent.Event.ID ||
		first.EventKind != sent.Kind || *first.DashboardID != dashboardID || *first.URLHash != endpoint.URLHash || *first.URLDisplay != endpoint.URLDisplay {
		t.Errorf("the first: %+v", first)
	}
	if second.Status != deliverylog.StatusFailed || second.Attempt != 2 || second.MaxAttempts != 2 || *second.HTTPStatus != 404 || *second.ErrorCode != deliverylog.CodeClientError ||
		second.NextAttemptAt != nil || second.DeliveryID != row.ID || second.LogID == first.LogID || !second.SentAt.After(first.SentAt) {
		t.Errorf("the second: %+v", second)
	}
	one, _ := s.log(t, second)
	arrived := hooks.got()[1]
	if one.Request == nil || *one.Request.Method != "POST" || *one.Request.URLDisplay != endpoint.URLDisplay || one.Request.Body != string(arrived.body) {
		t.Fatalf("request %+v of %s", one.Request, arrived.body)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Webhook-Id": row.ID, "Webhook-Timestamp": arrived.header.Get("Webhook-Timestamp"),
		"Webhook-Signature": "***", "User-Agent": arrived.header.Get("User-Agent")} {
		if one.Request.Headers[name] != want {
			t.Errorf("%s is %q, not %q", name, one.Request.Headers[name], want)
		}
	}
	if one.Response == nil || one.Response.HTTPStatus != 404 || one.Response.Body != "no such hook" || one.Response.Headers["X-Trace"] != "7" {
		t.Errorf("response %+v", one.Response)
	}
	if len(one.Attempts) != 2 || one.Attempts[0].LogID != first.LogID || one.Attempts[1].LogID != second.LogID || *one.Attempts[0].HTTPStatus != 500 ||
		*one.Attempts[1].ErrorCode != deliverylog.CodeClientError || !one.Attempts[1].At.Equal(second.SentAt) {
		t.Errorf("attempts %+v", one.Attempts)
	}
}

// A delivery that ends without an attempt has one log. A retry that ends as skipped adds one.
func TestADeliveryThatEndsWithoutAnAttemptHasOneLog(t *testing.T) {
	w := newWorld(t)
	w.receiver("hooks.test", func(out http.ResponseWriter, _ *http.Request) {
		w.peer.set("retried", func(d *topic.Destination) { d.State = topic.RecipientPaused })
		out.WriteHeader(http.StatusInternalServerError)
	})
	for id, state := range map[string]topic.RecipientState{"paused": topic.RecipientPaused, "suppressed": topic.RecipientSuppressed, "gone": topic.RecipientGone, "retried": topic.RecipientActive} {
		w.peer.add(id, "https://hooks.test/"+id)
		w.peer.set(id, func(d *topic.Destination) { d.State = state })
	}
	s := w.start(w.config(time.Second, time.Minute))
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, "paused", "suppressed", "gone", "retried")
	logs, _ := s.list(t, topic.Webhook, nil)
	of := map[string][]shownLog{}
	for _, log := range logs {
		of[log.DeliveryID] = append(of[log.DeliveryID], log)
	}
	for id, want := range map[string][]deliverylog.Status{"paused": {deliverylog.StatusSkipped}, "suppressed": {deliverylog.StatusSuppressed}, "gone": {deliverylog.StatusSkipped},
		"retried": {deliverylog.StatusSkipped, deliverylog.StatusRetrying}} {
		found := of[topic.DeliveryID(sent.ID, id)]
		if len(found) != len(want) {
			t.Fatalf("%s has %+v", id, found)
		}
		for i, log := range found {
			attempts := len(want) - 1
			if log.Status != want[i] || log.Attempt != attempts {
				t.Errorf("%s: %+v", id, log)
			}
		}
		end, _ := s.log(t, found[0])
		if end.HTTPStatus != nil || end.DurationMS != nil || end.Request != nil || end.Response != nil || end.NextAttemptAt != nil || len(end.Attempts) != len(want)-1 {
			t.Errorf("%s ended with %+v", id, end)
		}
	}
}

const hiddenToken = "T0kenThatNobodyMaySee"

// A receiver that echoes the whole request, in several spellings, learns nothing that the logs then show.
func TestLogsShowNoSecretThatAReceiverEchoes(t *testing.T) {
	const path, query = "/services/B01/" + hiddenToken + "%2Fpart%20two", "sig=Q%2Bq%2FwErTy123%3D&api-version=2016&key=" + hiddenToken + "2"
	const elsewhere = ` HTTPS://user:password9@other.test/Private/Path9?token=other9 "http:\/\/third.test\/Private8" `
	echo := func(out http.ResponseWriter, r *http.Request) {
		whole := "https://" + r.Host + r.URL.RequestURI()
		out.Header().Set("Location", whole)
		out.Header().Set("Set-Cookie", "session="+hiddenToken+"3")
		out.Header().Set("Set-Cookie2", "cookie9")
		out.Header().Set("X-Signature", r.Header.Get("Webhook-Signature"))
		out.WriteHeader(http.StatusFound)
		told, _ := json.Marshal(map[string]any{"url": whole, "path": r.URL.Path, "query": r.URL.RawQuery, "values": r.URL.Query(), "headers": r.Header,
			"escaped": url.QueryEscape(whole), "slashes": strings.ReplaceAll(whole, "/", `\/`), "segment": hiddenToken + "/part two"})
		_, _ = out.Write(told)
		_, _ = io.WriteString(out, "<a href='"+strings.ReplaceAll(whole, "&", "&amp;")+"'>"+elsewhere+strings.ToUpper(whole)+" ")
		// The first 16 KB of the response end within the token.
		_, _ = io.WriteString(out, strings.Repeat("x", 16<<10-len(told)-2*len(whole)-len(elsewhere)-60))
		for range 20 {
			_, _ = io.WriteString(out, hiddenToken)
		}
	}
	w := newWorld(t)
	w.peer.add("r1", "https://hooks.test"+path+"?"+query)
	hooks := w.receiver("hooks.test", echo)
	s := w.start(w.config())
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, "r1")
	logs, _ := s.list(t, topic.Webhook, nil)
	if len(logs) != 3 {
		t.Fatalf("%d logs", len(logs))
	}
	var texts strings.Builder
	for _, log := range logs {
		one, text := s.log(t, log)
		texts.WriteString(text)
		if one.Response == nil || len(one.Response.Body) < 15<<10 || len(one.Response.Body) > 16<<10 || !strings.Contains(one.Response.Body, "***") ||
			one.Response.Headers["Set-Cookie"] != "***" {
			t.Errorf("response %+v", one.Response)
		}
		for n := len(hiddenToken); n >= 4; n-- {
			if strings.HasSuffix(one.Response.Body, hiddenToken[:n]) {
				t.Errorf("the body ends with %s", hiddenToken[:n])
			}
		}
	}
	secrets := []string{hiddenToken, "part two", "part%20two", "wErTy123", strings.TrimPrefix(signingSecret, "whsec_"),
		strings.ToUpper(hiddenToken), "password9", "Path9", "other9", "Private8", "cookie9"}
	for _, arrival := range hooks.got() {
		_, signature, _ := strings.Cut(arrival.header.Get("Webhook-Signature"), ",")
		secrets = append(secrets, signature)
	}
	for _, secret := range secrets {
		if strings.Contains(texts.String(), secret) {
			t.Errorf("a log shows %s: %s", secret, texts.String()[max(0, strings.Index(texts.String(), secret)-100):strings.Index(texts.String(), secret)+100])
		}
	}
}

// The log of a text shows the text and the response, but not the number and nothing of the operator's account.
func TestTheLogOfATextHidesTheNumberAndTheAccount(t *testing.T) {
	w := newWorld(t)
	api := newSMSAPI(t, func(out http.ResponseWriter, r *http.Request) {
		out.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(out, `{"to": %q, "uri": %q, "account_sid": %q, "auth": %q}`, r.PostForm.Get("To"), r.URL.Path, smsAccount, r.Header.Get("Authorization"))
	})
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	c := w.config()
	c.SMSURL = smsURL(server.URL, smsToken, smsFrom)
	w.person(&c, phone())
	s := w.start(c)
	sent := textChange("API is down")
	w.publish(sent, nil)
	w.ended(sent.ID, "p1")
	logs, _ := s.list(t, topic.SMS, nil)
	if len(logs) != 1 || logs[0].URLHash != nil || logs[0].URLDisplay != nil || logs[0].Kind != topic.SMS {
		t.Fatalf("logs %+v", logs)
	}
	one, text := s.log(t, logs[0])
	if one.Request == nil || one.Request.Body != "API is down" || one.Request.Headers["Authorization"] != "***" || one.Response == nil || one.Response.HTTPStatus != 201 {
		t.Errorf("%s", text)
	}
	for _, secret := range []string{smsNumber, smsNumber[1:], smsToken, smsAccount} {
		if strings.Contains(text, secret) {
			t.Errorf("the log shows %s: %s", secret, text)
		}
	}
}

// The log of a mail shows the header and the text, but not the address and the links of the recipient. Two recipients share
// a stored request. Each log has its own id and date.
func TestTheLogOfAMailHidesTheAddressAndTheLinks(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	c.Data = t.TempDir()
	people := w.person(&c, reader("m1"))
	people.add("m2", "")
	people.set("m2", func(d *topic.Destination) {
		*d = reader("m2")
		d.State, d.Address = topic.RecipientActive, "other-"+mailAddress
	})
	s := w.start(c)
	sent := change(newEvent(), 1)
	sent.Notify = topic.Notify{topic.Email: {Subject: "Störung"}}
	w.publish(sent, nil)
	w.ended(sent.ID, "m1", "m2")
	logs, _ := s.list(t, topic.Email, nil)
	if len(logs) != 2 {
		t.Fatalf("logs %+v", logs)
	}
	for _, log := range logs {
		one, text := s.log(t, log)
		if one.Request == nil || !strings.Contains(one.Request.Body, "We <look> into it.") || one.Request.Method != nil || one.Response != nil {
			t.Fatalf("%s", text)
		}
		for name, want := range map[string]string{
			"Date": log.SentAt.UTC().Format(time.RFC1123Z), "From": "\"Bellbuoy\" <status@localhost>", "To": "<***>", "Subject": "Störung",
			"Message-Id": "<" + log.DeliveryID + "@localhost>", "Auto-Submitted": "auto-generated",
			"List-Unsubscribe": "<***>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		} {
			if got := one.Request.Headers[name]; got != want {
				t.Errorf("%s is %q, not %q", name, got, want)
			}
		}
		for _, secret := range []string{mailAddress, "of-the-recipient"} {
			if strings.Contains(text, secret) {
				t.Errorf("the log shows %s: %s", secret, text)
			}
		}
	}
}

// The URL of an endpoint changes while a delivery waits for its retry. Each attempt is found by the URL to which it was made,
// and so are the deliveries before and after, also together with other filters.
func TestEachAttemptIsFoundByTheURLToWhichItWasMade(t *testing.T) {
	w := newWorld(t)
	old := w.peer.add("r1", "https://hooks.test/old").URLHash
	moved := strings.Repeat("ab", 32)
	hooks := w.receiver("hooks.test", nil)
	s := w.start(w.config())
	before, during, after := change(newEvent(), 1), change(newEvent(), 1), change(newEvent(), 1)
	w.publish(before, nil)
	w.ended(before.ID, "r1")
	hooks.answers(inTurn(func(rw http.ResponseWriter, _ *http.Request) {
		w.peer.set("r1", func(d *topic.Destination) {
			d.URL, d.URLHash, d.URLDisplay = "https://hooks.test/new", moved, "hooks.test/new"
		})
		rw.WriteHeader(http.StatusInternalServerError)
	}, status(http.StatusNoContent)))
	w.publish(during, nil)
	w.ended(during.ID, "r1")
	w.publish(after, nil)
	w.ended(after.ID, "r1")
	for hash, want := range map[string][]string{ // events, the newest log first, and the status of the second change's log
		old: {during.Event.ID, before.Event.ID, "retrying"}, moved: {after.Event.ID, during.Event.ID, "delivered"},
	} {
		logs, _ := s.list(t, topic.Webhook, url.Values{"urlHash": {hash}})
		if len(logs) != 2 || *logs[0].EventID != want[0] || *logs[1].EventID != want[1] || *logs[0].URLHash != hash || *logs[1].URLHash != hash {
			t.Errorf("%s: %+v", hash, logs)
		}
		for _, more := range []url.Values{
			{"urlHash": {hash}, "eventId": {during.Event.ID}}, {"urlHash": {hash}, "eventId": {during.Event.ID}, "status": {want[2]}, "dashboardId": {dashboardID}},
		} {
			logs, _ = s.list(t, topic.Webhook, more)
			if len(logs) != 1 || string(logs[0].Status) != want[2] || *logs[0].URLHash != hash {
				t.Errorf("%v: %+v", more, logs)
			}
		}
	}
}

// A response that is not HTTP has the code connect, because the contract has no other. It is retried.
func TestAResponseThatIsNotHTTPIsRetriedAsConnect(t *testing.T) {
	w := newWorld(t)
	w.peer.add("r1", "https://hooks.test/hook")
	w.receiver("hooks.test", inTurn(func(rw http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "220 mail.test ESMTP\r\n")
	}, status(http.StatusNoContent)))
	s := w.start(w.config())
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, "r1")
	logs, _ := s.list(t, topic.Webhook, nil)
	if len(logs) != 2 || logs[0].Status != deliverylog.StatusDelivered || *logs[1].ErrorCode != deliverylog.CodeConnect || logs[1].HTTPStatus != nil {
		t.Errorf("logs %+v", logs)
	}
}
