package delivery_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

func TestAWebhookGetsTheSignedEventOnce(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	w.peer.add("r1", "https://hooks.test/secret/token?key=abc")
	s := w.start(w.config())
	const trace = "0af7651916cd43dd8448eb211c80319c"
	sent := change(newEvent(), 1)
	w.publish(sent, map[string]string{"traceparent": "00-" + trace + "-b7ad6b7169203331-01"})

	row := w.ended(sent.ID, "r1")[0]
	got := hooks.got()
	if len(got) != 1 {
		t.Fatalf("%d requests arrived", len(got))
	}
	verifier, err := standardwebhooks.NewWebhook(signingSecret)
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Verify(got[0].body, got[0].header); err != nil {
		t.Errorf("the signature does not verify: %v", err)
	}
	id := topic.DeliveryID(sent.ID, "r1")
	if got[0].id() != id || row.ID != id {
		t.Errorf("webhook-id %s, row %s, want %s", got[0].id(), row.ID, id)
	}
	if parent := got[0].header.Get("Traceparent"); !strings.HasPrefix(parent, "00-"+trace+"-") {
		t.Errorf("traceparent %q is not of trace %s", parent, trace)
	}
	checkBody(t, got[0].body, id, sent)
	if row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 1 || row.Attempts[0].HTTPStatus != 204 || row.ErrorCode != "" ||
		row.URLHash == "" || row.DashboardID != dashboardID || row.EventKind != sent.Kind || row.Sequence != 1 || row.MaxAttempts != 3 {
		t.Errorf("row %+v", row)
	}
	outcome := w.outcomes.of(t, id)
	if outcome.Result != topic.Delivered || outcome.Recipient != "r1" || outcome.Organization != organization || outcome.Attempts != 1 || outcome.HTTPStatus != 204 {
		t.Errorf("outcome %+v", outcome)
	}
	if text := fmt.Sprintf("%+v %s", row, s.logs); strings.Contains(text, "token") || strings.Contains(text, "whsec_") {
		t.Error("a URL or secret is in a row or log")
	}
}

// If an endpoint gets another URL while its delivery waits, the retry uses the new URL, and the outcome names it.
func TestARetryUsesTheEndpointsNewURL(t *testing.T) {
	w := newWorld(t)
	w.peer.add("r1", "https://one.test/hook")
	hash := strings.Repeat("2", 64)
	one := w.receiver("one.test", func(out http.ResponseWriter, _ *http.Request) {
		w.peer.set("r1", func(d *topic.Destination) {
			d.URL, d.URLHash, d.URLDisplay = "https://two.test/hook", hash, "two.test/ho…"
		})
		out.WriteHeader(http.StatusInternalServerError)
	})
	two := w.receiver("two.test", nil)
	w.start(w.config())
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	row := w.ended(sent.ID, "r1")[0]
	if len(one.got()) != 1 || len(two.got()) != 1 || row.Status != deliverylog.StatusDelivered || row.MovedTo != hash {
		t.Errorf("%d and %d requests, row %+v", len(one.got()), len(two.got()), row)
	}
	if outcome := w.outcomes.of(t, row.ID); outcome.URLHash != hash {
		t.Errorf("outcome %+v", outcome)
	}
}

// If the endpoint gets its former URL back before the last attempt, the outcome names this URL. Otherwise the success would
// not end the series of failures at this URL.
func TestTheOutcomeNamesTheURLOfTheLastAttempt(t *testing.T) {
	w := newWorld(t)
	w.peer.add("r1", "https://one.test/hook")
	var former string
	one := w.receiver("one.test", func(out http.ResponseWriter, _ *http.Request) {
		w.peer.set("r1", func(d *topic.Destination) {
			if former == "" {
				former = d.URLHash
				d.URL, d.URLHash = "https://two.test/hook", strings.Repeat("2", 64)
				out.WriteHeader(http.StatusInternalServerError)
			}
		})
	})
	two := w.receiver("two.test", func(out http.ResponseWriter, _ *http.Request) {
		w.peer.set("r1", func(d *topic.Destination) { d.URL, d.URLHash = "https://one.test/hook", former })
		out.WriteHeader(http.StatusInternalServerError)
	})
	w.start(w.config())
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	row := w.ended(sent.ID, "r1")[0]
	if len(one.got()) != 2 || len(two.got()) != 1 || row.Status != deliverylog.StatusDelivered {
		t.Fatalf("%d and %d requests, row %+v", len(one.got()), len(two.got()), row)
	}
	if outcome := w.outcomes.of(t, row.ID); former == "" || outcome.URLHash != former {
		t.Errorf("outcome %+v", outcome)
	}
}

// An endpoint without URL and secret, because its service cannot decrypt them, fails. Others are notified.
func TestAnEndpointWithoutAReadableURLFailsAndOthersAreNotified(t *testing.T) {
	for _, channel := range []topic.Channel{topic.Webhook, topic.Teams} {
		t.Run(string(channel), func(t *testing.T) {
			w := newWorld(t)
			hooks := w.receiver("hooks.test", nil)
			w.peer.add("r1", "").Secrets = nil
			w.peer.add("r2", "https://hooks.test/hook")
			w.start(w.config())
			sent := change(newEvent(), 1)
			sent.Notify = topic.Notify{channel: {}}
			w.publish(sent, nil)
			if row := w.ended(sent.ID, "r1")[0]; row.Status != deliverylog.StatusFailed || row.ErrorCode != "unsendable" || len(row.Attempts) != 3 {
				t.Errorf("row %+v", row)
			}
			if row := w.ended(sent.ID, "r2")[0]; row.Status != deliverylog.StatusDelivered || len(hooks.got()) != 1 {
				t.Errorf("row %+v", row)
			}
		})
	}
}

func checkBody(t *testing.T, body []byte, id string, sent topic.EventChange) {
	t.Helper()
	var got struct {
		ID, Kind, CreatedAt string
		Version             int
		Sequence            int64
		Dashboard           struct{ ID, Name, URL string }
		Event               struct {
			ID, Status, URL                 string
			LegacyID                        int64
			PreviousStatus, Severity, EndAt *string
			AffectedComponents              []struct{ ID, Name, Group, Impact string }
			StartAt                         string
		}
		TimelineEntry struct{ StatusID, MessageText, MessageHTML string }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != id || got.Kind != "incident.created" || got.Version != 1 || got.Sequence != 1 || got.Dashboard.ID != dashboardID ||
		got.Event.ID != sent.Event.ID || got.Event.LegacyID != 7 || got.Event.PreviousStatus != nil || len(got.Event.AffectedComponents) != 1 ||
		got.Event.URL != "https://status.test/d/main/events/"+sent.Event.ID || got.TimelineEntry.MessageText != "We <look> into it." {
		t.Errorf("body %s", body)
	}
	if !strings.Contains(string(body), `"<p>We &lt;look&gt; into it.</p>"`) {
		t.Errorf("HTML is not literal: %s", body)
	}
	if at := sent.OccurredAt.Format("2006-01-02T15:04:05.000Z"); got.CreatedAt != at {
		t.Errorf("createdAt %s, want %s", got.CreatedAt, at)
	}
}

func TestAWebhookIsSignedWithBothSecretsDuringARotation(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	const older = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	w.peer.add("r1", "https://hooks.test/").Secrets = []string{signingSecret, older}
	w.start(w.config())
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, "r1")
	for _, secret := range []string{signingSecret, older} {
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(hooks.got()[0].body, hooks.got()[0].header); err != nil {
			t.Errorf("the signature of one secret does not verify: %v", err)
		}
	}
}

// The results of responses, each with its own receiver.
func TestTheResponseOfAReceiverDecidesTheResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 4096)); err != nil {
				return
			}
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // a return would send 200, which may arrive before a slow sender closes
	}
	elsewhere := w.receiver("elsewhere.test", nil)
	cases := []struct {
		name     string
		answer   http.HandlerFunc
		arrivals int
		status   deliverylog.Status
		code     deliverylog.Code
		gone     bool
	}{
		{"then-fine", inTurn(status(500), status(502), status(202)), 3, deliverylog.StatusDelivered, "", false},
		{"server-error", status(503), 3, deliverylog.StatusFailed, deliverylog.CodeServerError, false},
		{"client-error", status(404), 2, deliverylog.StatusFailed, deliverylog.CodeClientError, false},
		{"timeout-408", status(408), 2, deliverylog.StatusFailed, deliverylog.CodeClientError, false},
		{"too-early-425", status(425), 2, deliverylog.StatusFailed, deliverylog.CodeClientError, false},
		{"too-many-429", status(429), 3, deliverylog.StatusFailed, deliverylog.CodeRateLimited, false},
		{"gone-410", status(410), 1, deliverylog.StatusFailed, deliverylog.CodeGone, true},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.test/", http.StatusTemporaryRedirect)
		}, 3, deliverylog.StatusFailed, deliverylog.CodeRedirect, false},
		{"oversized", endless, 1, deliverylog.StatusDelivered, "", false},
		{"hanging", hang, 3, deliverylog.StatusFailed, deliverylog.CodeTimeout, false},
	}
	receivers := make([]*receiver, len(cases))
	ids := make([]string, len(cases))
	for i, c := range cases {
		receivers[i] = w.receiver(c.name+".test", c.answer)
		ids[i] = c.name
		w.peer.add(c.name, "https://"+c.name+".test/")
	}
	config := w.config()
	config.Timeout = 6 * time.Second // only the receiver that hangs takes so long
	w.start(config)
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	rows := w.ended(sent.ID, ids...)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			row, got := rows[i], receivers[i].got()
			if row.Status != c.status || row.ErrorCode != c.code || len(row.Attempts) != c.arrivals || row.NextAttemptAt != nil {
				t.Errorf("row %+v", row)
			}
			if len(got) != c.arrivals {
				t.Fatalf("%d requests arrived, not %d", len(got), c.arrivals)
			}
			for _, a := range got {
				if a.id() != got[0].id() || string(a.body) != string(got[0].body) {
					t.Errorf("a retry differs: %s, %s", a.id(), got[0].id())
				}
			}
			for n := 1; n < len(got); n++ {
				if pause := got[n].at.Sub(got[n-1].at); pause < config.RetrySchedule[n-1] {
					t.Errorf("attempt %d came after %v", n+1, pause)
				}
			}
			outcome := w.outcomes.of(t, row.ID)
			if outcome.Gone != c.gone || outcome.Attempts != c.arrivals || outcome.ErrorCode != string(c.code) {
				t.Errorf("outcome %+v", outcome)
			}
		})
	}
	if n := len(elsewhere.got()); n != 0 {
		t.Errorf("a redirect was followed %d times", n)
	}
}

func TestRetryAfterOfAReceiverDelaysItsNextAttempt(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", inTurn(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}, status(200)))
	w.peer.add("r1", "https://hooks.test/")
	w.start(w.config())
	sent := change(newEvent(), 1)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-"
	w.publish(sent, map[string]string{"traceparent": trace + "b7ad6b7169203331-01"})
	row := w.ended(sent.ID, "r1")[0]
	got := hooks.got()
	if row.Status != deliverylog.StatusDelivered || len(got) != 2 {
		t.Fatalf("%d requests, row %+v", len(got), row)
	}
	if parent := got[1].header.Get("Traceparent"); !strings.HasPrefix(parent, trace) || parent == got[0].header.Get("Traceparent") {
		t.Errorf("the retry's traceparent is %q", parent)
	}
	if pause := got[1].at.Sub(got[0].at); pause < 900*time.Millisecond {
		t.Errorf("the receiver asked for 1 s and got %v", pause)
	}
	asked := row.Attempts[0]
	if pause := asked.NextAttemptAt.Sub(asked.At.Add(time.Duration(asked.DurationMS) * time.Millisecond)); pause > 3*time.Second {
		t.Errorf("the receiver asked for 1 s, and the retry was due after %v", pause)
	}
}

// Deliveries without an attempt, and channels without an implementation.
func TestRecipientsThatAreNotNotifiedAndMissingChannelsAreLogged(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	for id, change := range map[string]func(*topic.Destination){
		"paused":        func(d *topic.Destination) { d.State = topic.RecipientPaused },
		"suppressed":    func(d *topic.Destination) { d.State = topic.RecipientSuppressed },
		"gone":          func(d *topic.Destination) { d.State = topic.RecipientGone },
		"not-concerned": func(d *topic.Destination) { d.Components = []string{"another"} },
		"all":           func(d *topic.Destination) { d.Components = nil },
	} {
		change(w.peer.add(id, "https://hooks.test/"+id))
	}
	w.start(w.config())
	sent := change(newEvent(), 1)
	sent.Notify[topic.Chatroom], sent.Notify["pigeon"] = topic.Wording{}, topic.Wording{}
	w.publish(sent, nil)
	want := map[string]deliverylog.Delivery{
		"paused":        {Status: deliverylog.StatusSkipped, ErrorCode: deliverylog.CodePaused},
		"suppressed":    {Status: deliverylog.StatusSuppressed, ErrorCode: deliverylog.CodeSuppressed},
		"gone":          {Status: deliverylog.StatusSkipped, ErrorCode: deliverylog.CodeNoRecipient},
		"not-concerned": {Status: deliverylog.StatusSkipped, ErrorCode: deliverylog.CodeNotConcerned},
		"all":           {Status: deliverylog.StatusDelivered},
	}
	for id, expected := range want {
		row := w.ended(sent.ID, id)[0]
		if row.Status != expected.Status || row.ErrorCode != expected.ErrorCode {
			t.Errorf("%s: %+v", id, row)
		}
		if outcome := w.outcomes.of(t, row.ID); string(outcome.Result) != string(expected.Status) {
			t.Errorf("%s: outcome %+v", id, outcome)
		}
	}
	if got := hooks.got(); len(got) != 1 || got[0].path != "/all" {
		t.Errorf("%d requests arrived", len(got))
	}
	for channel, code := range map[topic.Channel]deliverylog.Code{
		topic.Chatroom: deliverylog.CodeNoService, "pigeon": deliverylog.CodeUnavailable,
	} {
		rows := w.rows(topic.ChannelDeliveryID(sent.ID, channel))
		if len(rows) != 1 || rows[0].Status != deliverylog.StatusSkipped || rows[0].ErrorCode != code {
			t.Errorf("%s: %+v", channel, rows)
		}
	}
}

// A message that notifies nobody or is invalid is finished and delays nothing.
func TestAMessageThatNotifiesNobodyOrIsInvalidDelaysNothing(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	w.peer.add("r1", "https://hooks.test/")
	w.start(w.config())
	event := newEvent()
	for _, topicName := range []string{topic.EventChanges, topic.Deliveries} {
		for _, value := range []string{"", "{", "[]", "null", "{}"} {
			if err := w.kafka.Publish(t.Context(), stream.Record{Topic: topicName, Key: event, Value: []byte(value)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	silent := change(event, 1)
	silent.Notify = nil
	w.publish(silent, nil)
	loud := change(event, 2)
	w.publish(loud, nil)
	w.ended(loud.ID, "r1")
	if got := hooks.got(); len(got) != 1 || got[0].id() != topic.DeliveryID(loud.ID, "r1") {
		t.Errorf("%d requests arrived", len(got))
	}
}

// A peer that is down delays deliveries and loses none.
func TestAServiceThatIsDownLosesNoDelivery(t *testing.T) {
	w := newWorld(t)
	before := make(chan int64, 1) // questions that the peer refused before the retry
	w.receiver("hooks.test", inTurn(func(out http.ResponseWriter, _ *http.Request) {
		w.peer.setDown(true)
		before <- w.peer.refused()
		out.WriteHeader(http.StatusInternalServerError)
	}, status(200)))
	w.peer.add("r1", "https://hooks.test/")
	w.peer.setDown(true)
	s := w.start(w.config(300 * time.Millisecond))
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	apitest.Eventually(t, "the plan to fail", func() bool { return w.peer.refused() > 1 })
	w.peer.setDown(false)
	planned := <-before
	apitest.Eventually(t, "the retry to fail to resolve", func() bool { return w.peer.refused() > planned })
	w.peer.setDown(false)
	if row := w.ended(sent.ID, "r1")[0]; row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 2 {
		t.Errorf("row %+v", row)
	}
	s.stop()
}
