package delivery_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/bodytemplate"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/chattest"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// templated gives an endpoint a template.
func (w *world) templated(id string, template topic.Template) {
	w.t.Helper()
	text, err := json.Marshal(template)
	if err != nil {
		w.t.Fatal(err)
	}
	w.peer.set(id, func(d *topic.Destination) { d.Format, d.Template = topic.FormatTemplate, string(text) })
}

// strict answers what the check accepts with 200, and keeps the other errors.
type strict struct {
	check func(*http.Request, []byte) error
	mu    sync.Mutex
	sent  int
	wrong []error
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	err := s.check(r, body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent++; err != nil {
		s.wrong = append(s.wrong, err)
		w.WriteHeader(http.StatusBadRequest)
	}
}

// PagerDuty, ntfy, Zulip and Matrix accept every kind of message from the shipped templates, with all members, with few and
// with hostile ones.
func TestTheShippedTemplatesSuitTheirReceivers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	receivers := map[string]*strict{}
	urls := map[string]string{
		"pagerduty": "https://pagerduty.test/v2/enqueue", "ntfy": "https://ntfy.test/", "zulip": "https://zulip.test/api/v1/external/slack_incoming?api_key=" + chattest.ZulipKey + "&stream=status",
		"matrix": "https://matrix.test/_matrix/client/v3/rooms/!abc:matrix.test/send/m.room.message",
	}
	values := map[string]string{"routing_key": chattest.PagerDutyKey, "topic": chattest.NtfyTopic, "Authorization": "Bearer " + chattest.MatrixToken}
	var names []string
	var fence string
	for _, one := range bodytemplate.AllShipped() {
		names = append(names, one.Name)
		fence += regexp.MustCompile("`{3,}|$").FindString(one.Body)
		receivers[one.Name] = &strict{check: map[string]func(*http.Request, []byte) error{
			"pagerduty": chattest.CheckPagerDuty, "ntfy": chattest.CheckNtfy, "zulip": chattest.CheckZulip, "matrix": chattest.CheckMatrix}[one.Name]}
		w.receiver(one.Name+".test", receivers[one.Name].ServeHTTP)
		w.peer.add(one.Name, urls[one.Name])
		for _, placeholders := range []map[string]string{one.Headers, one.Secrets} {
			for name := range placeholders {
				placeholders[name] = values[name]
			}
		}
		w.templated(one.Name, topic.Template{Method: one.Method, IDInPath: one.IDInPath, Headers: one.Headers, Secrets: one.Secrets, Body: one.Body})
	}
	w.start(w.config(time.Millisecond))
	const hostile = "\"},{\\\" @**all** @room \x00\x01\r\n\u2028 `````````` {{.event}} 😀"
	var sent []topic.EventChange
	for _, kind := range topic.Kinds() {
		for _, shape := range []string{"full", "sparse", "hostile", "fence"} {
			c := change(newEvent(), 1)
			c.Kind = kind
			c.Event.Type, c.Event.Status, c.Event.PreviousStatus = bodytemplate.SampleEvent(kind, bodytemplate.Full)
			c.Event.Severity = "major_outage"
			switch shape {
			case "sparse":
				c.Entry, c.Event.Severity, c.Event.Hidden = nil, "", true
			case "hostile":
				c.Event.Title, c.Entry.Text, c.Entry.HTML = strings.Repeat(hostile, 6), strings.Repeat(hostile, 300), ""
				c.Event.Components[0].Name = strings.Repeat("\x01", 200)
			case "fence": // it tries to leave a block of code
				c.Event.Title = "x\n" + fence + "\n@**all** <!channel>"
				c.Entry.Text, c.Entry.HTML = strings.Repeat("a\n~~~~\n"+fence+" \r"+fence+"\r\n@**all**\n@*ops*\n", 3), ""
			}
			sent = append(sent, c)
			w.publish(c, nil)
		}
	}
	for _, name := range names {
		w.publish(testOf(name, topic.Webhook), nil)
	}
	for _, c := range sent {
		w.ended(c.ID, names...)
	}
	for name, r := range receivers {
		apitest.Eventually(t, "the test message to "+name, func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.sent >= len(sent)+1 || len(r.wrong) > 0
		})
		r.mu.Lock()
		if len(r.wrong) > 0 || r.sent != len(sent)+1 {
			t.Errorf("%s got %d messages, and refused %d: %.3000v", name, r.sent, len(r.wrong), r.wrong)
		}
		r.mu.Unlock()
	}
}

// A templated request is signed and the same for each attempt. What its receiver echoes, and the log of the request, show
// neither its headers nor its secrets nor its URL.
func TestATemplatedRequestIsRepeatedAndItsLogHidesWhatItsOwnerHid(t *testing.T) {
	t.Parallel()
	const secret, token = "se\"cr<et/Zürich\n{{x}}", "Bearer tok-4711-en"
	w := newWorld(t)
	methods := make(chan string, 10)
	respond := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			methods <- r.Method
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Echo", r.Header.Get("X-Token"))
			w.WriteHeader(code)
			fmt.Fprintf(w, "%s\n%s\n%s\n%s", r.URL, r.Header.Get("X-Token"), r.Header.Get("X-Short"), body)
		}
	}
	hook := w.receiver("hooks.test", inTurn(respond(http.StatusServiceUnavailable), respond(http.StatusOK)))
	w.peer.add("r1", "https://hooks.test/services/T0KEN/?q=qu3ry")
	w.templated("r1", topic.Template{Method: http.MethodPut, IDInPath: true, Headers: map[string]string{"X-Token": token, "X-Short": "abc", "Content-Type": "application/vnd.x+json"},
		Secrets: map[string]string{"key": secret, "pin": "4711"}, Body: `{"id": "{{.id}}", "title": "{{.event.title}}", "key": "{{secret "key"}}", "pin": {{secret "pin"}}, "raw": "{{if eq .kind "x"}}{{end}}"}`})
	s := w.start(w.config(10 * time.Millisecond))
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	row := w.ended(sent.ID, "r1")[0]
	arrivals := hook.got()
	if row.Status != deliverylog.StatusDelivered || len(arrivals) != 2 {
		t.Fatalf("%+v after %d arrivals", row, len(arrivals))
	}
	for _, a := range arrivals {
		var body map[string]any
		if err := json.Unmarshal(a.body, &body); err != nil || body["key"] != secret || body["pin"] != 4711.0 || body["id"] != row.ID || body["title"] != "Logins fail" {
			t.Errorf("%v %s", err, a.body)
		}
		if method := <-methods; method != http.MethodPut || a.path != "/services/T0KEN/"+row.ID || a.query != "q=qu3ry" || a.header.Get("X-Token") != token ||
			!slices.Equal(a.header.Values("Content-Type"), []string{"application/vnd.x+json"}) || a.id() != row.ID {
			t.Errorf("%s %s?%s %v", method, a.path, a.query, a.header)
		}
		verifier, err := standardwebhooks.NewWebhook(signingSecret)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(a.body, a.header); err != nil {
			t.Error(err)
		}
	}
	if string(arrivals[0].body) != string(arrivals[1].body) {
		t.Error("the attempts have different bodies")
	}
	logs, _ := s.list(t, topic.Webhook, nil)
	for _, log := range logs {
		shown, text := s.log(t, log)
		for _, hidden := range []string{"tok-4711", "se\"cr", `se\"cr`, "Zürich", "4711", "T0KEN", "qu3ry", "vnd.x"} {
			if strings.Contains(text, hidden) {
				t.Errorf("the log shows %s: %s", hidden, text)
			}
		}
		if shown.Request.Headers["X-Short"] != "***" || shown.Request.Headers["X-Token"] != "***" || *shown.Request.Method != http.MethodPut || !strings.Contains(shown.Request.Body, `"title": "Logins fail", "key": "***", "pin": ***`) {
			t.Errorf("the log shows %+v", shown.Request)
		}
	}
	s.replay(t, logs[0])
	apitest.Eventually(t, "the replay", func() bool { return len(hook.got()) == 3 })
	if replayed := hook.got()[2]; replayed.id() == row.ID || !strings.HasSuffix(replayed.path, "/"+replayed.id()) || !strings.Contains(string(replayed.body), `"title": "Logins fail"`) {
		t.Errorf("the replay is %s %s", replayed.path, replayed.body)
	}
}

// A body beyond the limits, or that is no JSON, is not sent and not tried again.
func TestABodyBeyondItsLimitsIsNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := w.receiver("hooks.test", nil)
	bodies := map[string]string{
		"long": `["{{.timelineEntry.messageText}}", "{{.timelineEntry.messageText}}", "{{.timelineEntry.messageText}}"]`, "open": `{"a": {{.event.title}}}`, "loop": `{{range 9}}{{end}}`, "old": `{{.event.gone}}`,
		"steps": `[{{range .event.affectedComponents}}{{range $.event.affectedComponents}}` + strings.Repeat(`{{if eq $.timelineEntry.messageText $.timelineEntry.messageText}}{{end}}`, 100) + `{{end}}{{end}}]`,
	}
	for name, body := range bodies {
		w.peer.add(name, "https://hooks.test/"+name)
		w.templated(name, topic.Template{Method: http.MethodPost, Body: body})
	}
	w.peer.add("damaged", "https://hooks.test/damaged")
	w.peer.set("damaged", func(d *topic.Destination) { d.Format, d.Template = topic.FormatTemplate, "{" })
	w.start(w.config(time.Millisecond))
	sent := change(newEvent(), 1)
	sent.Entry.Text, sent.Entry.HTML = strings.Repeat("a", 9_000), ""
	w.publish(sent, nil)
	for _, name := range []string{"long", "open", "loop", "old", "damaged"} {
		row := w.ended(sent.ID, name)[0]
		if row.Status != deliverylog.StatusFailed || row.ErrorCode != "unsendable" || len(row.Attempts) != 1 {
			t.Errorf("%s: %+v", name, row)
		}
	}
	w.ended(sent.ID, "steps")
	for _, a := range hook.got() {
		if a.path != "/steps" {
			t.Errorf("%s was sent: %s", a.path, a.body)
		}
	}
}
