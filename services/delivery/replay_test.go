package delivery_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/chattest"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// A replay is a new delivery of the same message. Any log can be replayed, and a replay too. Its result counts.
func TestAReplayIsANewDeliveryOfTheSameMessage(t *testing.T) {
	w := newWorld(t)
	w.peer.add("r1", "https://hooks.test/hook")
	hooks := w.receiver("hooks.test", inTurn(status(http.StatusInternalServerError), status(http.StatusInternalServerError), status(http.StatusNoContent),
		status(http.StatusInternalServerError), status(http.StatusNoContent), func(out http.ResponseWriter, _ *http.Request) {
			w.peer.set("r1", func(d *topic.Destination) { d.Format = topic.FormatBellbuoy })
			out.WriteHeader(http.StatusInternalServerError)
		}, status(http.StatusNoContent)))
	s := w.start(w.config(50 * time.Millisecond))
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, "r1")
	failed, _ := s.list(t, topic.Webhook, nil)
	id := s.replay(t, failed[0])
	if outcome := w.outcomes.of(t, id); outcome.Result != topic.Delivered || outcome.Recipient != "r1" || outcome.EventID != sent.Event.ID || outcome.EventKind != sent.Kind {
		t.Errorf("outcome %+v", outcome)
	}
	logs, _ := s.list(t, topic.Webhook, nil)
	if len(logs) != 3 || logs[0].DeliveryID != id || *logs[0].ReplayOf != failed[0].LogID || logs[0].Status != deliverylog.StatusDelivered || logs[0].Attempt != 1 {
		t.Fatalf("logs %+v", logs)
	}
	arrivals := hooks.got()
	body := func(i int) string { return strings.Replace(string(arrivals[i].body), arrivals[i].id(), "", 1) }
	if arrivals[2].id() != id || body(2) != body(0) {
		t.Errorf("replayed as %s: %s", arrivals[2].id(), arrivals[2].body)
	}
	again := s.replay(t, logs[0]) // the replay of a delivered replay; it is retried as others are
	w.outcomes.of(t, again)
	logs, _ = s.list(t, topic.Webhook, nil)
	if len(logs) != 5 || *logs[0].ReplayOf != id || *logs[1].ReplayOf != id || logs[0].DeliveryID != again || logs[0].Attempt != 2 || logs[1].Status != deliverylog.StatusRetrying {
		t.Errorf("logs %+v", logs)
	}
	if one, text := s.log(t, logs[0]); one.Request == nil || !strings.Contains(one.Request.Body, again) || len(one.Attempts) != 2 {
		t.Errorf("%s", text)
	}

	// A replay has the format that the endpoint has at the attempt. Here the format changes between two attempts.
	w.peer.set("r1", func(d *topic.Destination) { d.Format = topic.FormatSlack })
	last := s.replay(t, logs[0])
	w.outcomes.of(t, last)
	arrivals = hooks.got()
	if chat, own := string(arrivals[5].body), string(arrivals[6].body); chattest.CheckSlackCompatible(arrivals[5].body) != nil || arrivals[5].id() != last || strings.Contains(chat, last) || body(6) != body(0) {
		t.Errorf("%v: %s, then %s", chattest.CheckSlackCompatible(arrivals[5].body), chat, own)
	}
	logs, _ = s.list(t, topic.Webhook, nil)
	if one, text := s.log(t, logs[0]); len(one.Attempts) != 2 || !strings.Contains(one.Request.Body, last) {
		t.Errorf("%s", text)
	}
}

// A replay neither replaces a waiting delivery of its event nor is replaced.
func TestAReplayReplacesNoDeliveryAndIsReplacedByNone(t *testing.T) {
	w := newWorld(t)
	w.peer.add("r1", "https://hooks.test/hook")
	var healthy atomic.Bool
	healthy.Store(true)
	w.receiver("hooks.test", func(out http.ResponseWriter, _ *http.Request) {
		out.WriteHeader(map[bool]int{true: http.StatusNoContent, false: http.StatusInternalServerError}[healthy.Load()])
	})
	s := w.start(w.config(time.Hour))
	first, second := change(newEvent(), 1), change(newEvent(), 2)
	second.Event = first.Event
	w.publish(first, nil)
	w.ended(first.ID, "r1")
	old, _ := s.list(t, topic.Webhook, nil)
	healthy.Store(false)
	w.publish(second, nil)
	waits := topic.DeliveryID(second.ID, "r1")
	apitest.Eventually(t, "the newer to wait", func() bool { return len(w.rows(waits)) == 1 })
	waiting := s.replay(t, old[0])
	apitest.Eventually(t, "the replay to wait", func() bool { r := w.rows(waiting); return len(r) == 1 && len(r[0].Attempts) == 1 })
	healthy.Store(true)
	w.outcomes.of(t, s.replay(t, old[0]))
	third := change(newEvent(), 3)
	third.Event = first.Event
	w.publish(third, nil)
	w.ended(third.ID, "r1")
	if row := w.rows(waits)[0]; row.Status != deliverylog.StatusSkipped || row.ErrorCode != deliverylog.CodeReplaced {
		t.Errorf("the waiting delivery, which the third replaces: %+v", row)
	}
	if row := w.rows(waiting)[0]; row.Status != deliverylog.StatusRetrying {
		t.Errorf("the waiting replay: %+v", row)
	}
}

// A replay to a recipient that is gone, paused, suppressed or not confirmed is refused, and so is one of a message that is no longer
// stored.
func TestAReplayToNoActiveRecipientOrWithoutItsMessageIsRefused(t *testing.T) {
	w := newWorld(t)
	w.receiver("hooks.test", nil)
	w.peer.add("r1", "https://hooks.test/hook")
	s := w.start(w.config())
	sent := change(newEvent(), 1)
	sent.OccurredAt = time.Now().Add(-31 * 24 * time.Hour)
	w.publish(sent, nil)
	w.ended(sent.ID, "r1")
	logs, _ := s.list(t, topic.Webhook, nil)
	replay := func(owner string, kind topic.Channel, at time.Time) (int, string) {
		code, text := s.app(t, owner, http.MethodPost, fmt.Sprintf("/app/notifications/%s/logs/%s/replay", kind, logs[0].LogID), map[string]any{"sentAt": at})
		return code, string(text)
	}
	for state, want := range map[topic.RecipientState]struct {
		status int
		text   string
	}{
		topic.RecipientGone: {404, "no longer exists"}, topic.RecipientPaused: {409, "is paused"}, topic.RecipientUnconfirmed: {409, "is not confirmed"}, topic.RecipientSuppressed: {409, "is suppressed"},
	} {
		w.peer.set("r1", func(d *topic.Destination) { d.State = state })
		if code, text := replay(organization, topic.Webhook, logs[0].SentAt); code != want.status || !strings.Contains(text, want.text) {
			t.Errorf("%s: %d %s", state, code, text)
		}
	}
	w.peer.set("r1", func(d *topic.Destination) { d.State = topic.RecipientActive })
	for name, code := range map[string]int{
		"another organization": first(replay(newEvent(), topic.Webhook, logs[0].SentAt)), "another kind": first(replay(organization, topic.Teams, logs[0].SentAt)),
		"another time": first(replay(organization, topic.Webhook, logs[0].SentAt.Add(time.Millisecond))),
	} {
		if code != http.StatusNotFound {
			t.Errorf("%s: %d", name, code)
		}
	}
	month := time.Now().Add(-30 * 24 * time.Hour)
	if _, err := w.kept().Prune(t.Context(), month, month, 10); err != nil {
		t.Fatal(err)
	}
	if code, text := replay(organization, topic.Webhook, logs[0].SentAt); code != http.StatusNotFound || !strings.Contains(text, "no longer stored") {
		t.Errorf("%d %s", code, text)
	}
}

func first(status int, _ string) int { return status }

// A delivery that waits for its next attempt cannot be replayed: the recipient would get it twice. Each of its logs can be
// when it has ended.
func TestADeliveryThatWaitsForItsNextAttemptCannotBeReplayed(t *testing.T) {
	w := newWorld(t)
	w.peer.add("r1", "https://hooks.test/hook")
	var refused atomic.Bool // the replay
	hooks := w.receiver("hooks.test", func(out http.ResponseWriter, _ *http.Request) {
		out.WriteHeader(map[bool]int{true: http.StatusNoContent, false: http.StatusInternalServerError}[refused.Load()])
	})
	s := w.start(w.config(slices.Repeat([]time.Duration{time.Second}, 60)...))
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	var logs []shownLog
	apitest.Eventually(t, "the log", func() bool { logs, _ = s.list(t, topic.Webhook, nil); return len(logs) > 0 })
	code, text := s.app(t, organization, http.MethodPost, fmt.Sprintf("/app/notifications/webhook/logs/%s/replay", logs[0].LogID), map[string]any{"sentAt": logs[0].SentAt})
	if code != http.StatusConflict || !strings.Contains(string(text), "waits for its next attempt") {
		t.Errorf("%d %s", code, text)
	}
	refused.Store(true)
	row := w.ended(sent.ID, "r1")[0]
	if got := hooks.got(); len(got) < 2 || len(got) != len(row.Attempts) || slices.ContainsFunc(got, func(a arrival) bool { return a.id() != row.ID }) {
		t.Errorf("%d requests of %d attempts", len(got), len(row.Attempts))
	}
	w.outcomes.of(t, s.replay(t, logs[0]))
}

// A replay that was accepted survives kill -9.
func TestAnAcceptedReplaySurvivesAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	w.peer.add("r1", "https://hooks.test/hook")
	s := w.start(w.config())
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, "r1")
	logs, _ := s.list(t, topic.Webhook, nil)
	s.stop()

	address := apitest.FreeAddress(t)
	c := w.child("BELLBUOY_ADDR=" + address)
	apitest.Ready(t, "http://"+address)
	var calls atomic.Int64
	killed := make(chan struct{})
	w.peer.mu.Lock()
	w.peer.resolved = func([]string) { // the operation resolves the recipient; the attempt cannot before the kill
		if calls.Add(1) > 1 {
			<-killed
		}
	}
	w.peer.mu.Unlock()
	id := (&service{url: "http://" + address}).replay(t, logs[0])
	c.kill()
	close(killed)
	if len(hooks.got()) != 1 {
		t.Fatalf("%d requests before the kill", len(hooks.got()))
	}
	s = w.start(w.config())
	if outcome := w.outcomes.of(t, id); outcome.Result != topic.Delivered {
		t.Errorf("outcome %+v", outcome)
	}
	if got := hooks.got(); len(got) != 2 || got[1].id() != id {
		t.Errorf("%d requests", len(got))
	}
	var body struct{ ID string }
	if err := json.Unmarshal(hooks.got()[1].body, &body); err != nil || body.ID != id {
		t.Errorf("%s", hooks.got()[1].body)
	}
}
