package delivery_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/store"
)

// kept opens the service's store until the test ends.
func (w *world) kept() *store.Store {
	w.t.Helper()
	db, kept := w.openStore()
	w.t.Cleanup(func() { db.Close() })
	return kept
}

// openStore opens the service's store and creates its collections.
func (w *world) openStore() (*document.Database, *store.Store) {
	w.t.Helper()
	db, err := document.Open(w.documents, "delivery", document.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	kept := store.New(db)
	if err := db.Migrate(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return db, kept
}

// journal makes logs of an organization with few dashboards, URLs and events.
type journal struct {
	random             *rand.Rand
	dashboards, events []string
	changes            []string // one for each event
	urls, made         int
}

func newJournal(seed uint64, dashboards, urls, events int) *journal {
	j := &journal{random: rand.New(rand.NewPCG(seed, seed)), urls: urls}
	for range dashboards {
		j.dashboards = append(j.dashboards, newEvent())
	}
	for range events {
		j.events, j.changes = append(j.events, newEvent()), append(j.changes, newEvent())
	}
	return j
}

func urlHash(i int) string { return fmt.Sprintf("%064x", i*2654435761) }

// entry returns a stored log with the status.
func (j *journal) entry(owner string, channel topic.Channel, status deliverylog.Status, at time.Time) deliverylog.Delivery {
	j.made++
	event, recipient := j.random.IntN(len(j.events)), "r"+strconv.Itoa(j.made)
	change := topic.DeriveID(j.changes[event], owner, string(channel))
	id := topic.DeliveryID(change, recipient)
	d := deliverylog.Delivery{
		ID: id, Organization: owner, Channel: channel, Recipient: recipient, EventID: j.events[event], EventKind: topic.IncidentCreated,
		ChangeID: change, Status: status, EndedAt: &at, Logged: deliverylog.Logged{
			DashboardID: j.dashboards[j.random.IntN(len(j.dashboards))], URLHash: urlHash(j.random.IntN(j.urls)), URLDisplay: "hooks.test/…",
			MaxAttempts: 3, SentAt: at,
		},
	}
	attempt := deliverylog.Attempt{At: at, DurationMS: 3, HTTPStatus: 204}
	switch status {
	case deliverylog.StatusSkipped, deliverylog.StatusSuppressed:
		d.ErrorCode = "paused"
		return d
	case deliverylog.StatusRetrying:
		due := time.Now().Add(time.Hour)
		attempt.NextAttemptAt, d.NextAttemptAt, d.EndedAt = &due, &due, nil
		fallthrough
	case deliverylog.StatusFailed:
		attempt.HTTPStatus, attempt.ErrorCode, d.ErrorCode = 500, deliverylog.CodeServerError, deliverylog.CodeServerError
	}
	d.Attempts = []deliverylog.Attempt{attempt}
	if j.random.IntN(10) == 0 { // a later log
		d.ID, d.Log, d.Attempts = topic.LogID(id, 1), 1, []deliverylog.Attempt{attempt, attempt}
	}
	return d
}

// store stores logs: of the deliveries that can be in blocks half in blocks, and half as rows, as the version of the program
// before blocks did.
func (j *journal) store(t testing.TB, kept *store.Store, all ...deliverylog.Delivery) {
	t.Helper()
	var rows []deliverylog.Delivery
	var quick []*deliverylog.Delivery
	for i := range all {
		if d := &all[i]; j.random.IntN(2) == 0 && d.Status == deliverylog.StatusDelivered && d.Log == 0 {
			quick = append(quick, d)
		} else {
			rows = append(rows, *d)
		}
	}
	if err := kept.InsertBlocks(t.Context(), deliverylog.BlocksOf(quick)); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Insert(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
}

// Every filter and combination of filters finds what a loop over all logs finds, newest first, page by page, while other
// logs arrive, in blocks and as rows. Logs of another organization or kind never appear.
func TestEveryCombinationOfLogFiltersFindsWhatALoopOverAllLogsFinds(t *testing.T) {
	w := newWorld(t)
	kept, j := w.kept(), newJournal(7, 3, 5, 3)
	const span = 3000
	now := time.Now().UTC().Truncate(time.Millisecond)
	statuses := deliverylog.Statuses()
	var all []deliverylog.Delivery
	for i := range 2000 {
		owner, channel := organization, topic.Webhook
		if i%7 == 0 {
			owner = newEvent()
		}
		if i%5 == 0 {
			channel = topic.Teams
		}
		at := now.Add(-time.Duration(j.random.IntN(span)) * time.Millisecond)
		all = append(all, j.entry(owner, channel, statuses[max(0, j.random.IntN(12)-7)], at))
	}
	held := j.entry(organization, topic.Webhook, deliverylog.StatusRetrying, now) // it waits for its first attempt
	held.ID, held.Log, held.Attempts = topic.DeliveryID(newEvent(), "held"), 0, nil
	expired := j.entry(organization, topic.Webhook, deliverylog.StatusDelivered, now.Add(-31*24*time.Hour))
	j.store(t, kept, append(slices.Clone(all), held)...)
	s := w.start(w.config())
	if _, err := kept.Insert(t.Context(), []deliverylog.Delivery{expired}); err != nil { // after the first deletion of old logs
		t.Fatal(err)
	}
	maybe := func(name, value string, q url.Values) {
		if j.random.IntN(3) == 0 {
			q.Set(name, value)
		}
	}
	newest := 0
	for round := range setting(t, "LOG_ROUNDS", 200, 500) {
		q := url.Values{}
		maybe("dashboardId", j.dashboards[j.random.IntN(3)], q)
		maybe("urlHash", urlHash(j.random.IntN(6)), q) // one of them is unknown
		maybe("eventId", j.events[j.random.IntN(3)], q)
		maybe("status", string(statuses[round%len(statuses)]), q)
		earlier, later := j.random.IntN(span), j.random.IntN(span)
		maybe("from", now.Add(-time.Duration(max(earlier, later)+1)*time.Millisecond).Format(time.RFC3339Nano), q)
		maybe("to", now.Add(-time.Duration(min(earlier, later))*time.Millisecond).Format(time.RFC3339Nano), q)
		var want []string
		for i := range all {
			if log := &all[i]; log.Organization == organization && log.Channel == topic.Webhook && selects(q, log) {
				want = append(want, log.ID)
			}
		}
		q.Set("limit", strconv.Itoa(5+j.random.IntN(96)))
		var got []string
		var last time.Time
		for {
			page, next := s.list(t, topic.Webhook, q)
			for _, log := range page {
				if len(got) > 0 && log.SentAt.After(last) {
					t.Fatalf("%v: %s is newer than the log before it", q, log.LogID)
				}
				last = log.SentAt
				got = append(got, log.LogID)
			}
			if next == "" {
				break
			}
			q.Set("nextToken", next)
			if newest++; newest > 300 {
				continue
			}
			newer := j.entry(organization, topic.Webhook, deliverylog.StatusDelivered, time.Now().UTC().Add(time.Hour))
			j.store(t, kept, newer)
		}
		seen := map[string]int{}
		for _, id := range got {
			seen[id]++
		}
		for _, id := range want {
			if seen[id] != 1 {
				t.Fatalf("%v: %s is listed %d times", q, id, seen[id])
			}
			delete(seen, id)
		}
		for id := range seen {
			if slices.ContainsFunc(all, func(d deliverylog.Delivery) bool { return d.ID == id }) || id == held.ID || id == expired.ID {
				t.Fatalf("%v: %s does not match", q, id)
			}
		}
	}
	for _, d := range all[:300] { // each can be read alone
		if d.Log > 0 { // the journal has no rows of these
			continue
		}
		want := http.StatusOK
		if d.Organization != organization {
			want = http.StatusNotFound
		}
		path := "/app/notifications/" + string(d.Channel) + "/logs/" + d.ID + "?sentAt=" + d.SentAt.Format(time.RFC3339Nano)
		if status, text := s.app(t, organization, http.MethodGet, path, nil); status != want {
			t.Errorf("%+v: %d %s", d, status, text)
		}
	}
	if status, text := s.app(t, organization, http.MethodGet, "/app/notifications/webhook/logs/"+expired.ID+"?sentAt="+expired.SentAt.Format(time.RFC3339Nano), nil); status != http.StatusNotFound {
		t.Errorf("the expired log: %d %s", status, text)
	}
}

// selects is the filter of the list in plain Go.
func selects(q url.Values, log *deliverylog.Delivery) bool {
	status, _ := log.LogStatus()
	is := func(name, value string) bool { return !q.Has(name) || q.Get(name) == value }
	after := func(name string, otherwise bool) bool {
		limit, err := time.Parse(time.RFC3339, q.Get(name))
		return err != nil && otherwise || err == nil && !log.SentAt.Before(limit)
	}
	return is("dashboardId", log.DashboardID) && is("urlHash", log.URLHash) && is("eventId", log.EventID) && is("status", string(status)) &&
		after("from", true) && !after("to", false)
}

// Around every kill -9, each attempt that a delivery has made has one log, and no log is stored twice or missing.
func TestEachAttemptHasOneLogAroundEveryKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n, kills = 120, 3
	hooks := w.receiver("hooks.test", func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader([]int{http.StatusInternalServerError, http.StatusNoContent}[rand.IntN(2)])
	})
	ids := make([]string, n)
	for i := range n {
		ids[i] = fmt.Sprintf("r%d", i)
		w.peer.add(ids[i], fmt.Sprintf("https://hooks.test/%d", i))
	}
	const schedule = "DELIVERY_RETRY_SCHEDULE=30ms,30ms,30ms,30ms,30ms,30ms"
	sent := change(newEvent(), 1)
	for kill := range kills {
		c := w.child(schedule)
		w.publish(sent, nil) // the same each time: a repeated plan adds nothing
		target := kill*n/kills + rand.IntN(n/kills)
		apitest.Eventually(t, "some to arrive", func() bool { return len(hooks.got()) > target })
		c.kill()
		w.forgetMembers()
	}
	s := w.start(w.config(30*time.Millisecond, 30*time.Millisecond, 30*time.Millisecond, 30*time.Millisecond, 30*time.Millisecond, 30*time.Millisecond))
	rows := w.ended(sent.ID, ids...)
	logs := map[string][]shownLog{}
	for q := (url.Values{"limit": {"100"}, "eventId": {sent.Event.ID}}); ; {
		page, next := s.list(t, topic.Webhook, q)
		for _, log := range page {
			logs[log.DeliveryID] = append(logs[log.DeliveryID], log)
		}
		if next == "" {
			break
		}
		q.Set("nextToken", next)
	}
	for _, row := range rows {
		found := logs[row.ID]
		slices.SortFunc(found, func(a, b shownLog) int { return cmp.Compare(a.Attempt, b.Attempt) })
		if len(found) != len(row.Attempts) {
			t.Fatalf("%s has %d attempts and %d logs", row.ID, len(row.Attempts), len(found))
		}
		for i, log := range found {
			want := deliverylog.StatusRetrying
			if i == len(found)-1 {
				want = row.Status
			}
			if log.LogID != topic.LogID(row.ID, uint8(i)) || log.Status != want || !log.SentAt.Equal(row.Attempts[i].At) || *log.HTTPStatus != row.Attempts[i].HTTPStatus {
				t.Errorf("log %d of %+v is %+v", i, row, log)
			}
		}
	}
}
