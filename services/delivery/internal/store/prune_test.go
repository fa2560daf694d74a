package store

import (
	"strconv"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// Prune deletes what is older than its times from every collection, in slices, and nothing else: a retry that still waits
// stays. Among many records a slice costs at most four operations for each collection: their number
// does not depend on the number of records, and the database refuses a query that no index serves.
func TestPruneDeletesWhatIsOldInSlicesAndNothingElse(t *testing.T) {
	const old, fresh, slice = 600, 2000, 250
	operations := 0
	db, err := document.Open(apitest.Documents(t), "delivery", document.Options{Observe: func(string) { operations++ }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := New(db)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	before, requestsBefore := now.Add(-time.Hour), now.Add(-2*time.Hour)
	var deliveries []deliverylog.Delivery
	var blocks []deliverylog.Block
	var pages []deliverylog.PlannedPage
	var changes []dispatch.Content
	var requests []deliverylog.Request
	for i := range old + fresh {
		id, at, sent := strconv.Itoa(i), before, requestsBefore
		if i < old {
			at, sent = before.Add(-time.Second), requestsBefore.Add(-time.Second)
		}
		deliveries = append(deliveries, deliverylog.Delivery{ID: id, Logged: deliverylog.Logged{SentAt: at}, Status: deliverylog.StatusFailed, EndedAt: &at})
		blocks = append(blocks, deliverylog.Block{ID: id, Last: at})
		pages = append(pages, deliverylog.PlannedPage{ID: id, PlannedAt: at})
		changes = append(changes, dispatch.Content{EventChange: &topic.EventChange{ID: id, OccurredAt: at}})
		requests = append(requests, deliverylog.Request{ID: id, StoredAt: sent})
	}
	long := before.Add(-time.Hour)
	deliveries = append(deliveries, deliverylog.Delivery{ID: "waits", Logged: deliverylog.Logged{SentAt: long}, Status: deliverylog.StatusRetrying, NextAttemptAt: &long})
	for _, insert := range []func() error{
		func() error { _, err := s.deliveries.InsertMany(t.Context(), deliveries); return err },
		func() error { _, err := s.blocks.InsertMany(t.Context(), blocks); return err },
		func() error { _, err := s.pages.InsertMany(t.Context(), pages); return err },
		func() error { _, err := s.changes.InsertMany(t.Context(), changes); return err },
		func() error { _, err := s.requests.InsertMany(t.Context(), requests); return err },
	} {
		if err := insert(); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int64{5 * slice, 5 * slice, 5 * (old - 2*slice), 0} {
		operations = 0
		n, err := s.Prune(t.Context(), before, requestsBefore, slice)
		if err != nil || n != want {
			t.Fatalf("slice %d: %d records, %v; want %d", i, n, err, want)
		}
		if operations > 4*5 {
			t.Errorf("slice %d: %d operations", i, operations)
		}
	}
	for name, count := range map[string]func() (int64, error){
		"deliveries": func() (int64, error) { n, err := s.deliveries.Count(t.Context(), find.Query{}); return n - 1, err },
		"blocks":     func() (int64, error) { return s.blocks.Count(t.Context(), find.Query{}) },
		"pages":      func() (int64, error) { return s.pages.Count(t.Context(), find.Query{}) },
		"changes":    func() (int64, error) { return s.changes.Count(t.Context(), find.Query{}) },
		"requests":   func() (int64, error) { return s.requests.Count(t.Context(), find.Query{}) },
	} {
		if n, err := count(); n != fresh || err != nil {
			t.Errorf("%s: %d are left, %v; want %d", name, n, err, fresh)
		}
	}
	if _, err := s.deliveries.Get(t.Context(), "waits"); err != nil {
		t.Errorf("the delivery that waits: %v", err)
	}
}
