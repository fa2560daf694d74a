package delivery_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// counts are the numbers of deliveries by status, as the App interface shows them.
type counts struct{ Planned, Delivered, Retrying, Failed, Skipped, Suppressed int }

func (c counts) begun() int { return c.Delivered + c.Retrying + c.Failed + c.Skipped + c.Suppressed }

// progress returns the progress of an event.
func (s *service) progress(t *testing.T, event string) (all counts, channels map[topic.Channel]counts) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/app/events/"+event+"/deliveries", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(passport.Header, sign(member(organization, passport.RoleEvent)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var out struct {
		Deliveries struct {
			counts
			Channels map[topic.Channel]counts
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", response.StatusCode, err)
	}
	return out.Deliveries.counts, out.Deliveries.Channels
}

// While a fan-out runs, the progress of its event never has more deliveries than are planned, and never loses one. At the
// end each delivery is counted by its status, over all changes of the event and all processes. A restart and a repeated
// plan count nothing twice. A replay counts once, by its result.
func TestProgressDuringAFanOutNeverLosesADeliveryOrCountsItTwice(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path[:2] {
		case "/f": // wrong: it gets two attempts
			rw.WriteHeader(http.StatusBadRequest)
		case "/w": // waits for a retry
			rw.Header().Set("Retry-After", "600")
			rw.WriteHeader(http.StatusServiceUnavailable)
		default:
			rw.WriteHeader(http.StatusNoContent)
		}
	})
	add := func(kind string, n int, state topic.RecipientState) {
		for i := range n {
			w.peer.add(fmt.Sprintf("%s%d", kind, i), fmt.Sprintf("https://hooks.test/%s%d", kind, i)).State = state
		}
	}
	add("d", 500, topic.RecipientActive)
	add("f", 40, topic.RecipientActive)
	add("w", 3, topic.RecipientActive)
	add("p", 20, topic.RecipientPaused)
	add("s", 10, topic.RecipientSuppressed)
	w.peer.page = 100
	s := w.start(w.config(50*time.Millisecond, 50*time.Millisecond))
	event := newEvent()
	settled := func(s *service, want counts) {
		t.Helper()
		var last counts
		apitest.Eventually(t, "the deliveries to be counted", func() bool {
			all, channels := s.progress(t, event)
			if all.begun() > all.Planned || all.Planned < last.Planned || all.Delivered < last.Delivered || all.Failed < last.Failed || all.Planned > want.Planned {
				t.Fatalf("%+v after %+v", all, last)
			}
			last = all
			if all != want {
				return false
			}
			if channels[topic.Webhook] != want || len(channels) != 1 {
				t.Fatalf("channels %+v", channels)
			}
			return true
		})
	}
	first := change(event, 1)
	w.publish(first, nil)
	want := counts{Planned: 573, Delivered: 500, Retrying: 3, Failed: 40, Skipped: 20, Suppressed: 10}
	settled(s, want)
	logs, _ := s.list(t, topic.Webhook, map[string][]string{"eventId": {event}, "status": {"delivered"}, "limit": {"1"}})
	again := s.replay(t, logs[0])
	apitest.Eventually(t, "the replay", func() bool { rows := w.rows(again); return len(rows) == 1 && rows[0].EndedAt != nil })
	want.Planned, want.Delivered = want.Planned+1, want.Delivered+1
	settled(s, want)
	s.stop()
	s = w.start(w.config(50*time.Millisecond, 50*time.Millisecond))
	w.publish(first, nil) // again
	other := change(newEvent(), 1)
	w.publish(other, nil)
	w.ended(other.ID, "d0")
	settled(s, want)
	if n := len(hooks.got()); n < 500 {
		t.Errorf("%d requests", n)
	}
}

// The counts add up at all times: planned is the sum of the others when nothing is left to be sent, through retries, a
// replacement by a newer update, a pause during a retry, and replays with each result. The list of logs has as many
// deliveries.
func TestTheCountsOfProgressAddUpAtAllTimes(t *testing.T) {
	w := newWorld(t)
	var broken sync.Map // paths
	var refused atomic.Int64
	w.receiver("hooks.test", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/paused" {
			w.peer.set("paused", func(d *topic.Destination) { d.State = topic.RecipientPaused })
		}
		if code, found := broken.Load(r.URL.Path); found {
			rw.WriteHeader(code.(int))
			if r.URL.Path == "/replaced" {
				refused.Add(1)
			}
			return
		}
		rw.WriteHeader(http.StatusNoContent)
	})
	for id, code := range map[string]int{"ok": 204, "wrong": 400, "replaced": 500, "paused": 500, "waits": 500} {
		w.peer.add(id, "https://hooks.test/"+id)
		broken.Store("/"+id, code)
	}
	s := w.start(w.config(50*time.Millisecond, time.Hour))
	event := newEvent()
	settled := func(want counts) {
		t.Helper()
		if want.begun() != want.Planned {
			t.Errorf("%+v does not add up", want)
		}
		apitest.Eventually(t, fmt.Sprintf("%+v", want), func() bool {
			all, _ := s.progress(t, event)
			if all.begun() > all.Planned {
				t.Fatalf("%+v", all)
			}
			logs, _ := s.list(t, topic.Webhook, map[string][]string{"eventId": {event}, "limit": {"100"}})
			logged := map[string]bool{}
			for _, log := range logs {
				logged[log.DeliveryID] = true
			}
			return all == want && len(logged) == want.Planned
		})
	}
	w.publish(change(event, 1), nil)
	settled(counts{Planned: 5, Delivered: 1, Retrying: 2, Failed: 1, Skipped: 1})
	apitest.Eventually(t, "the delivery that waits for an hour", func() bool { return refused.Load() == 2 })
	broken.Delete("/replaced")
	w.publish(change(event, 2), nil)
	settled(counts{Planned: 10, Delivered: 3, Retrying: 1, Failed: 2, Skipped: 4})
	logs, _ := s.list(t, topic.Webhook, map[string][]string{"status": {"failed"}})
	s.replay(t, logs[0]) // fails again
	settled(counts{Planned: 11, Delivered: 3, Retrying: 1, Failed: 3, Skipped: 4})
	broken.Delete("/wrong")
	s.replay(t, logs[0])
	settled(counts{Planned: 12, Delivered: 4, Retrying: 1, Failed: 3, Skipped: 4})
	s.stop()
	s = w.start(w.config(50*time.Millisecond, time.Hour))
	settled(counts{Planned: 12, Delivered: 4, Retrying: 1, Failed: 3, Skipped: 4})
}

// The counts of a deleted event are those of its logs, which remain. They do not need the events service. An event of
// another organization is unknown.
func TestTheCountsOfADeletedEventRemain(t *testing.T) {
	w := newWorld(t)
	w.receiver("hooks.test", nil)
	w.peer.add("r1", "https://hooks.test/hook")
	s := w.start(w.config())
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, "r1")
	w.incidents.remove(organization, sent.Event.ID)
	want := counts{Planned: 1, Delivered: 1}
	if all, _ := s.progress(t, sent.Event.ID); all != want {
		t.Errorf("deleted: %+v", all)
	}
	w.incidents.server.Close()
	if all, _ := s.progress(t, sent.Event.ID); all != want {
		t.Errorf("without the events service: %+v", all)
	}
}
