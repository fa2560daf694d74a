package delivery_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/store"
)

// held starts a receiver that does not respond until release is called.
func (w *world) held(host string) (*receiver, func()) {
	let := make(chan struct{})
	release := sync.OnceFunc(func() { close(let) })
	r := w.receiver(host, func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-let:
		case <-r.Context().Done():
		}
		rw.WriteHeader(http.StatusNoContent)
	})
	w.t.Cleanup(release)
	return r, release
}

// A service that is down delays only its own recipients, in this change and in later ones.
func TestAServiceThatIsDownDelaysOnlyItsOwnRecipients(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	w.peer.add("r1", "https://hooks.test/")
	office := newPostOffice(t, &postOffice{})
	c := w.config()
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	people := w.person(&c, topic.Destination{ID: "p1", Channel: topic.Email, Address: mailAddress, Dashboard: topic.Dashboard{ID: dashboardID}})
	people.setDown(true)
	w.start(c)
	event := newEvent()
	first, second := change(event, 1), change(event, 2)
	for _, sent := range []topic.EventChange{first, second} {
		sent.Notify = topic.Notify{topic.Email: {}, topic.Webhook: {}}
		w.publish(sent, nil)
	}
	w.ended(first.ID, "r1")
	w.ended(second.ID, "r1")
	people.setDown(false)
	w.ended(first.ID, "p1")
	w.ended(second.ID, "p1")
	if mails, _, _ := office.got(); len(mails) != 2 || len(hooks.got()) != 2 {
		t.Errorf("%d mails, %d requests", len(mails), len(hooks.got()))
	}
}

// A repeated plan repeats no delivery, even while the first attempt is in flight. Until the last page of recipients is
// found, the messages to others wait for the plan.
func TestARepeatedPlanRepeatsNoDelivery(t *testing.T) {
	w := newWorld(t)
	hooks, release := w.held("hooks.test")
	first, second := w.peer.add("r1", "https://hooks.test/1").URLHash, w.peer.add("r2", "https://hooks.test/2").URLHash
	w.peer.page = 1
	w.peer.lists(func(string) bool { return false })
	c := w.config()
	c.Timeout = patience
	s := w.start(c)
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	explained := func(when, hash, want string) {
		t.Helper()
		apitest.Eventually(t, when+": "+want, func() bool { return slices.Equal(s.why(t, topic.Webhook, sent.Event.ID, hash), []string{want}) })
	}
	explained("no page is found", first, "waiting planning")
	explained("no page is found", second, "waiting planning")
	w.peer.lists(func(after string) bool { return after == "" })
	apitest.Eventually(t, "the first page to be handed out again and again", func() bool { return w.peer.questions() > 3 })
	if n := len(hooks.got()); n != 1 {
		t.Fatalf("%d requests arrived", n)
	}
	release()
	w.ended(sent.ID, "r1")
	explained("the first page is found", first, "delivered delivered")
	explained("the first page is found", second, "waiting planning")
	w.peer.lists(nil)
	w.ended(sent.ID, "r1", "r2")
	explained("all pages are found", second, "delivered delivered")
	last := change(newEvent(), 1)
	w.publish(last, nil)
	w.ended(last.ID, "r1", "r2")
	if n := len(hooks.got()); n != 4 {
		t.Errorf("%d requests arrived for 4 deliveries", n)
	}
}

// A second process starts while attempts are under way. The first process keeps half of the partitions. It gives the
// others back when the attempts have ended and their results are stored, so no delivery is made twice.
func TestNoAttemptIsRepeatedWhenItsPartitionMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hooks, release := w.held("hooks.test")
	const n = 64 // in so many buckets that some stay and some go
	ids := make([]string, n)
	for i := range n {
		ids[i] = fmt.Sprintf("r%d", i)
		w.peer.add(ids[i], fmt.Sprintf("https://hooks.test/%d", i))
	}
	c := w.config()
	c.Timeout = patience
	w.start(c)
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	apitest.Eventually(t, "all to arrive", func() bool { return len(hooks.got()) == n })
	second := w.start(c)
	apitest.Eventually(t, "the second process to join", func() bool { return w.joined("delivery-send") == 2 })
	next := change(sent.Event.ID, 2) // is made by the owner of each bucket, after the first
	w.publish(next, nil)
	release()
	w.ended(sent.ID, ids...)
	w.ended(next.ID, ids...)
	apitest.Eventually(t, "both processes to share the work", func() bool { return w.members(t.Context(), "delivery-send") == 2 })
	last := change(newEvent(), 1)
	w.publish(last, nil)
	w.ended(last.ID, ids...)
	if len(hooks.got()) != 3*n {
		t.Errorf("%d requests arrived for %d deliveries", len(hooks.got()), 3*n)
	}
	if logs, _ := second.list(t, topic.Webhook, url.Values{"eventId": {sent.Event.ID}, "limit": {"100"}}); len(logs) != 100 {
		t.Errorf("%d logs on the first page", len(logs))
	}
}

// A process may be killed after it has stored a block, and before it has published the outcome. When the shard comes
// again, its stored members are not sent again, and their outcomes are published.
func TestTheOutcomesOfAStoredBlockArePublishedAfterAKill(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	for _, id := range []string{"r1", "r2", "r3"} {
		w.peer.add(id, "https://hooks.test/"+id)
	}
	w.start(w.config())
	first := change(newEvent(), 1)
	w.publish(first, nil)
	w.ended(first.ID, "r1", "r2", "r3") // the database is there
	before := len(hooks.got())
	sent := change(newEvent(), 1)
	w.outside(func(s *store.Store) error {
		if err := s.SaveContent(t.Context(), dispatch.Content{EventChange: &sent}); err != nil {
			return err
		}
		return s.InsertBlocks(t.Context(), deliverylog.BlocksOf([]*deliverylog.Delivery{success(sent, "r1"), success(sent, "r2")}))
	})
	w.shard(sent, topic.Webhook, "r1", "r3")
	w.ended(sent.ID, "r1", "r3")
	for _, id := range deliveries(sent.ID, []string{"r1", "r3"}) {
		if outcome := w.outcomes.of(t, id); outcome.Result != topic.Delivered || outcome.Attempts != 1 || outcome.HTTPStatus/100 != 2 {
			t.Errorf("outcome %+v", outcome)
		}
	}
	if got := hooks.got()[before:]; len(got) != 1 || got[0].path != "/r3" {
		t.Errorf("requests %+v", got)
	}
}

// success returns a delivery of the change that succeeded quickly at the first attempt.
func success(sent topic.EventChange, recipient string) *deliverylog.Delivery {
	at := sent.OccurredAt
	return &deliverylog.Delivery{
		ID: topic.DeliveryID(sent.ID, recipient), Organization: organization, Channel: topic.Webhook, Recipient: recipient,
		EventID: sent.Event.ID, EventKind: sent.Kind, ChangeID: sent.ID, Sequence: sent.Sequence, Status: deliverylog.StatusDelivered,
		Logged: deliverylog.Logged{SentAt: at, MaxAttempts: 3}, EndedAt: &at, Attempts: []deliverylog.Attempt{{At: at, DurationMS: 1, HTTPStatus: 200}},
	}
}

// outside writes into the service's database like another process.
func (w *world) outside(write func(*store.Store) error) {
	w.t.Helper()
	db, err := document.Open(w.documents, "delivery", document.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if err := write(store.New(db)); err != nil {
		w.t.Fatal(err)
	}
}

// waitingRow returns the row of a delivery that waits for a retry at a time.
func waitingRow(sent topic.EventChange, channel topic.Channel, recipient string, at time.Time) deliverylog.Delivery {
	return deliverylog.Delivery{
		ID: topic.DeliveryID(sent.ID, recipient), Organization: organization, Channel: channel, Recipient: recipient,
		EventID: sent.Event.ID, EventKind: sent.Kind, ChangeID: sent.ID, Sequence: sent.Sequence, Status: deliverylog.StatusRetrying,
		Logged: deliverylog.Logged{SentAt: sent.OccurredAt, MaxAttempts: 3}, NextAttemptAt: &at,
		Attempts: []deliverylog.Attempt{{At: sent.OccurredAt, HTTPStatus: 500, ErrorCode: deliverylog.CodeServerError}},
	}
}

// shard publishes a shard of the change like a planner.
func (w *world) shard(sent topic.EventChange, channel topic.Channel, recipients ...string) {
	w.t.Helper()
	shard := topic.Shard{ID: newEvent(), ChangeID: sent.ID, Organization: organization, Channel: channel, Recipients: recipients}
	value, err := json.Marshal(shard)
	if err != nil {
		w.t.Fatal(err)
	}
	record := stream.Record{Topic: topic.Deliveries, Key: shard.Key(), Value: value, Partition: &shard.Bucket}
	if err := w.kafka.Publish(w.t.Context(), record); err != nil {
		w.t.Fatal(err)
	}
}

// The former owner of a partition may store a waiting row after the new owner has loaded the waiting rows.
func TestAWaitingRowThatIsStoredAfterItsPartitionMovedIsRetried(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	w.peer.add("r1", "https://hooks.test/")
	w.start(w.config())
	before := change(newEvent(), 1)
	w.publish(before, nil)
	w.ended(before.ID, "r1") // the waiting rows are loaded
	sent := change(newEvent(), 1)
	w.known(sent)
	w.outside(func(s *store.Store) error {
		if err := s.SaveContent(t.Context(), dispatch.Content{EventChange: &sent}); err != nil {
			return err
		}
		_, err := s.Insert(t.Context(), []deliverylog.Delivery{waitingRow(sent, topic.Webhook, "r1", time.Now().Add(time.Second))})
		return err
	})
	w.shard(sent, topic.Webhook, "r1")
	if row := w.ended(sent.ID, "r1")[0]; row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 2 || len(hooks.got()) != 2 {
		t.Errorf("row %+v", row)
	}
}

// Rows of a channel that this build lacks fail, shards of it become rows that wait, and both delay nothing.
func TestShardsAndRowsOfAnUnknownChannelDelayNothing(t *testing.T) {
	w := newWorld(t)
	w.receiver("hooks.test", nil)
	w.peer.add("r1", "https://hooks.test/")
	s := w.start(w.config())
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, "r1") // the database is there
	s.stop()
	const channel = "pigeon"
	w.outside(func(s *store.Store) error {
		_, err := s.Insert(t.Context(), []deliverylog.Delivery{waitingRow(sent, channel, "r2", time.Now())})
		return err
	})
	w.start(w.config())
	if row := w.ended(sent.ID, "r2")[0]; row.Status != deliverylog.StatusFailed || row.ErrorCode != deliverylog.CodeUnavailable {
		t.Errorf("row %+v", row)
	}
	w.shard(sent, channel, "r3")
	next := change(newEvent(), 1)
	w.publish(next, nil)
	w.ended(next.ID, "r1")
	apitest.Eventually(t, "the delivery without a row to wait", func() bool {
		rows := w.rows(topic.DeliveryID(sent.ID, "r3"))
		return len(rows) == 1 && rows[0].Status == deliverylog.StatusRetrying && rows[0].ErrorCode == deliverylog.CodeUnavailable
	})
}
