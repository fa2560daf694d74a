package delivery_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const (
	smsAccount = "AC0123456789abcdef0123456789abcdef"
	smsToken   = "token-of-the-sms-account"
	smsNumber  = "+4915112345678"
	smsFrom    = "+15550100"
)

// smsAPI is a server that behaves as the API does.
type smsAPI struct {
	t        *testing.T
	requests atomic.Int64

	mu     sync.Mutex
	forms  []url.Values
	answer http.HandlerFunc // nil: the text is queued
}

func newSMSAPI(t *testing.T, answer http.HandlerFunc) *smsAPI { return &smsAPI{t: t, answer: answer} }

func (a *smsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.requests.Add(1)
	account, token, _ := r.BasicAuth()
	switch {
	case r.Method != http.MethodPost || r.URL.RequestURI() != "/2010-04-01/Accounts/"+smsAccount+"/Messages.json":
		a.t.Errorf("%s %s", r.Method, r.URL)
		refuseSMS(http.StatusNotFound, 20404)(w, r)
		return
	case account != smsAccount || token != smsToken:
		refuseSMS(http.StatusUnauthorized, 20003)(w, r)
		return
	case r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.ParseForm() != nil:
		a.t.Errorf("the form is sent as %s", r.Header.Get("Content-Type"))
	}
	a.mu.Lock()
	a.forms = append(a.forms, r.PostForm)
	a.mu.Unlock()
	if a.answer != nil {
		a.answer(w, r)
		return
	}
	acceptSMS(w, r)
}

func (a *smsAPI) got() []url.Values {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]url.Values(nil), a.forms...)
}

func acceptSMS(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"sid": "SM0123456789abcdef0123456789abcdef", "status": "queued"}`)
}

// refuseSMS returns a handler that responds with one of the API's errors.
func refuseSMS(status, code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"code": %d, "message": "refused by the test", "status": %d}`, code, status)
	}
}

// cutOff closes the connection without a response.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

// person adds a subscriber to a subscribers service, which the settings then name.
func (w *world) person(c *delivery.Config, subscriber topic.Destination) *integrations {
	w.t.Helper()
	people := newPeer(w.t, "subscribers")
	people.add(subscriber.ID, "")
	people.set(subscriber.ID, func(d *topic.Destination) {
		subscriber.State, subscriber.Components = topic.RecipientActive, []string{componentID}
		*d = subscriber
	})
	c.SubscribersURL = people.server.URL
	return people
}

// phone returns an SMS subscriber.
func phone() topic.Destination {
	return topic.Destination{ID: "p1", Channel: topic.SMS, Address: smsNumber}
}

func smsURL(base, token, from string) string {
	return strings.Replace(base, "://", "://"+smsAccount+":"+token+"@", 1) + "/?from=" + from
}

func textChange(text string) topic.EventChange {
	c := change(newEvent(), 1)
	c.Notify = topic.Notify{topic.SMS: {Text: text}}
	return c
}

// text sends a text through the service and returns its row and the service's log.
func (w *world) text(c delivery.Config, text string) (deliverylog.Delivery, topic.Outcome, string) {
	w.t.Helper()
	w.person(&c, phone())
	s := w.start(c)
	sent := textChange(text)
	w.publish(sent, nil)
	row := w.ended(sent.ID, "p1")[0]
	outcome := w.outcomes.of(w.t, row.ID)
	logged := fmt.Sprintf("%+v %+v %s", row, outcome, s.logs)
	if strings.Contains(logged, smsToken) || strings.Contains(logged, smsNumber[1:]) {
		w.t.Error("the number or the token is in a row, an outcome or a log")
	}
	return row, outcome, s.logs.String()
}

func TestATextIsPostedToTheAccountAndItsRefusalDecidesTheResult(t *testing.T) {
	t.Parallel()
	resting := func(status int) http.HandlerFunc {
		return inTurn(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(status)
		}, acceptSMS)
	}
	for name, x := range map[string]struct {
		answer http.HandlerFunc
		status deliverylog.Status
		code   deliverylog.Code
		times  int
	}{
		"201":                   {acceptSMS, deliverylog.StatusDelivered, "", 1},
		"400, opted out":        {refuseSMS(400, 21610), deliverylog.StatusFailed, deliverylog.CodeOptedOut, 1},
		"400, not a number":     {refuseSMS(400, 21211), deliverylog.StatusFailed, deliverylog.CodeGone, 1},
		"400, not mobile":       {refuseSMS(400, 21614), deliverylog.StatusFailed, deliverylog.CodeGone, 1},
		"400, something else":   {refuseSMS(400, 21606), deliverylog.StatusFailed, deliverylog.CodeClientError, 1},
		"410 is not the number": {refuseSMS(410, 20410), deliverylog.StatusFailed, deliverylog.CodeClientError, 1},
		"302 is not followed":   {status(http.StatusFound), deliverylog.StatusFailed, deliverylog.CodeRedirect, 3},
		"429, then 201":         {resting(http.StatusTooManyRequests), deliverylog.StatusDelivered, "", 2},
		"503, then 201":         {resting(http.StatusServiceUnavailable), deliverylog.StatusDelivered, "", 2},
		"500 is ambiguous":      {inTurn(status(500), acceptSMS), deliverylog.StatusFailed, deliverylog.CodeServerError, 1},
		"502 is ambiguous":      {inTurn(status(502), acceptSMS), deliverylog.StatusFailed, deliverylog.CodeServerError, 1},
		"504 is ambiguous":      {inTurn(status(504), acceptSMS), deliverylog.StatusFailed, deliverylog.CodeServerError, 1},
		"401 is told":           {refuseSMS(401, 20003), deliverylog.StatusFailed, deliverylog.CodeClientError, 1},
		"403 is told":           {refuseSMS(403, 21211), deliverylog.StatusFailed, deliverylog.CodeClientError, 1},
		"404":                   {refuseSMS(404, 20404), deliverylog.StatusFailed, deliverylog.CodeClientError, 1},
		"408":                   {inTurn(status(408), acceptSMS), deliverylog.StatusFailed, deliverylog.CodeClientError, 1},
		"no JSON":               {status(400), deliverylog.StatusFailed, deliverylog.CodeClientError, 1},
		"cut off is ambiguous":  {inTurn(cutOff, acceptSMS), deliverylog.StatusFailed, deliverylog.CodeConnect, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			api := newSMSAPI(t, x.answer)
			server := httptest.NewServer(api)
			t.Cleanup(server.Close)
			c := w.config()
			c.SMSURL = smsURL(server.URL, smsToken, smsFrom)
			row, outcome, logs := w.text(c, "API is down – sorry")
			if row.Status != x.status || row.ErrorCode != x.code || len(row.Attempts) != x.times || outcome.Gone != (x.code == deliverylog.CodeGone || x.code == deliverylog.CodeOptedOut) {
				t.Errorf("row %+v, outcome %+v", row, outcome)
			}
			got := api.got()
			want := url.Values{"To": {smsNumber}, "From": {smsFrom}, "Body": {"API is down - sorry"}}
			if len(got) != x.times || got[0].Encode() != want.Encode() {
				t.Errorf("the API got %v, want %v %d times", got, want, x.times)
			}
			if rested := row.Attempts[len(row.Attempts)-1].At.Sub(row.Attempts[0].At); strings.HasPrefix(name, "429") && rested < time.Second {
				t.Errorf("came again after %v", rested)
			}
			if told := strings.Contains(logs, "refuses the account"); told != strings.HasSuffix(name, "is told") {
				t.Errorf("the operator is told by %q", logs)
			}
		})
	}
}

func TestATextOfARefusedAccountFailsWithoutARetry(t *testing.T) {
	w := newWorld(t)
	api := newSMSAPI(t, nil)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	c := w.config()
	c.SMSURL = smsURL(server.URL, "wrong", "MG0123456789abcdef0123456789abcdef")
	row, outcome, _ := w.text(c, "")
	if row.Status != deliverylog.StatusFailed || len(row.Attempts) != 1 || outcome.Gone || outcome.HTTPStatus != http.StatusUnauthorized {
		t.Errorf("row %+v, outcome %+v", row, outcome)
	}
}

func TestATextWithoutWordsOfThePublisherHasTheDefaultText(t *testing.T) {
	w := newWorld(t)
	const service = "MG0123456789abcdef0123456789abcdef"
	api := newSMSAPI(t, nil)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	c := w.config()
	c.SMSURL = smsURL(server.URL, smsToken, service)
	w.text(c, "")
	want := url.Values{"To": {smsNumber}, "MessagingServiceSid": {service}, "Body": {"incident investigating: Logins fail"}}
	if got := api.got(); len(got) != 1 || got[0].Encode() != want.Encode() {
		t.Errorf("the API got %v, want %v", got, want)
	}
}

func TestTextsHaveADefaultSender(t *testing.T) {
	w := newWorld(t)
	api := newSMSAPI(t, nil)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	c := w.config()
	c.SMSURL = strings.TrimSuffix(smsURL(server.URL, smsToken, ""), "?from=")
	w.text(c, "hello")
	if got := api.got(); len(got) != 1 || got[0].Get("From") != "Bellbuoy" {
		t.Errorf("the API got %v", got)
	}
}

// A text without a response may have been sent. It is not sent again.
func TestATextWithoutAResponseIsNotSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	end := make(chan struct{})
	api := newSMSAPI(t, func(http.ResponseWriter, *http.Request) { <-end })
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(end) })
	c := w.config()
	c.Timeout = 8 * time.Second // longer than it takes until the request arrives
	c.SMSURL = smsURL(server.URL, smsToken, smsFrom)
	row, outcome, _ := w.text(c, "API is down")
	if row.Status != deliverylog.StatusFailed || row.ErrorCode != deliverylog.CodeTimeout || len(row.Attempts) != 1 || api.requests.Load() != 1 || outcome.Gone {
		t.Errorf("%d requests, row %+v", api.requests.Load(), row)
	}
}

// The service closes an idle connection before the server does. Otherwise the server could close the connection at the
// moment in which a text is sent, and the text would fail without a retry.
func TestTheConnectionToTheTextServerIsClosedWhenIdle(t *testing.T) {
	w := newWorld(t)
	closed := make(chan struct{}, 10)
	server := httptest.NewUnstartedServer(newSMSAPI(t, nil))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := w.config()
	c.SMSURL = smsURL(server.URL, smsToken, smsFrom)
	if row, _, _ := w.text(c, "API is down"); row.Status != deliverylog.StatusDelivered {
		t.Fatalf("row %+v", row)
	}
	select {
	case <-closed:
	case <-time.After(20 * time.Second): // shorter than the 30 s of a connection to an endpoint
		t.Error("the connection is still open")
	}
}

// A text is retried if the server could not be reached.
func TestATextIsRetriedIfTheServerCouldNotBeReached(t *testing.T) {
	w := newWorld(t)
	address := apitest.FreeAddress(t)
	c := w.config(slices.Repeat([]time.Duration{time.Second}, 60)...) // more than pass until the server listens
	c.SMSURL = smsURL("http://"+address, smsToken, smsFrom)
	w.person(&c, phone())
	w.start(c)
	sent := textChange("API is down")
	w.publish(sent, nil)
	id := topic.DeliveryID(sent.ID, "p1")
	apitest.Eventually(t, "the first attempt", func() bool { rows := w.rows(id); return len(rows) == 1 && len(rows[0].Attempts) > 0 })
	if row := w.rows(id)[0]; row.Attempts[0].ErrorCode != deliverylog.CodeConnect {
		t.Errorf("row %+v", row)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	api := newSMSAPI(t, nil)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: api}}
	server.Start()
	t.Cleanup(server.Close)
	if row := w.ended(sent.ID, "p1")[0]; row.Status != deliverylog.StatusDelivered || len(api.got()) != 1 {
		t.Errorf("%d texts, row %+v", len(api.got()), row)
	}
}

func TestWithoutATextServerTextsAreFiles(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	c.Data = filepath.Join(w.dir, "data")
	row, _, _ := w.text(c, "API is down")
	if row.Status != deliverylog.StatusDelivered {
		t.Errorf("row %+v", row)
	}
	folder := filepath.Join(c.Data, "sms")
	content, err := os.ReadFile(filepath.Join(folder, row.ID+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 6 || got["channel"] != "sms" || got["to"] != smsNumber || got["from"] != "" || got["body"] != "API is down" || got["deliveryId"] != row.ID || got["eventId"] != row.EventID {
		t.Errorf("%s", content)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v %v", entries, err)
	}
	file, err := entries[0].Info()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := os.Stat(folder)
	if err != nil || file.Mode().Perm() != 0o600 || parent.Mode().Perm() != 0o700 {
		t.Errorf("%v %v %v", file.Mode(), parent.Mode(), err)
	}
}

// HTTPS to the API requires a certificate of the operator's authorities.
func TestHTTPSToTheTextServerNeedsACertificateOfAKnownAuthority(t *testing.T) {
	for name, x := range map[string]struct {
		strange bool
		code    deliverylog.Code
		texts   int
	}{
		"an authority of the operator's": {false, "", 1},
		"another authority":              {true, deliverylog.CodeTLS, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if x.strange {
				w.authorities = newAuthority(t)
			}
			api := newSMSAPI(t, nil)
			server := httptest.NewUnstartedServer(api)
			server.TLS = &tls.Config{Certificates: []tls.Certificate{w.authorities.issue(t, "localhost")}}
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			server.StartTLS()
			t.Cleanup(server.Close)
			c := w.config()
			c.SMSURL = smsURL(strings.Replace(server.URL, "127.0.0.1", "localhost", 1), smsToken, smsFrom)
			row, _, _ := w.text(c, "API is down")
			if row.ErrorCode != x.code || len(api.got()) != x.texts || x.texts == 0 && (row.Status != deliverylog.StatusFailed || len(row.Attempts) != 3) {
				t.Errorf("%d texts, row %+v", len(api.got()), row)
			}
		})
	}
}
