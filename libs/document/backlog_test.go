package document_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/stream"
)

// aging opens the database at address with a function that returns the age of its outbox, in seconds.
func aging(t *testing.T, address string) (*document.Database, *document.Collection[boat], func() float64) {
	registry := prometheus.NewRegistry()
	db, err := document.Open(address, "conformance", document.Options{Metrics: registry})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	c := document.Declare(db, boats())
	migrate(t, db)
	return db, c, func() float64 {
		families, err := registry.Gather()
		must(t, err)
		for _, family := range families {
			if family.GetName() == "bellbuoy_outbox_age_seconds" {
				return family.GetMetric()[0].GetGauge().GetValue()
			}
		}
		t.Fatal("the age of the outbox is not exported")
		return 0
	}
}

// While the broker is down, the age of the outbox grows with its oldest message. Afterwards it is 0.
func TestTheAgeOfTheOutboxGrowsInAnOutage(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, c, age := aging(t, address)
		if got := age(); got != 0 {
			t.Errorf("%v s without a message", got)
		}
		var up atomic.Bool
		var failures atomic.Int64
		b := newBroker()
		run(t, db, func(ctx context.Context, records []stream.Record) error {
			if !up.Load() {
				failures.Add(1)
				return errors.New("no broker")
			}
			return b.publish(ctx, records)
		})
		must(t, c.Insert(t.Context(), vessel("a", 1), trips("a", 1, 1)...))
		eventually(t, "the age to grow", func() bool { return age() > 1 })
		must(t, c.Insert(t.Context(), vessel("a", 2), trips("b", 2, 2)...))
		for before := failures.Load(); failures.Load() < before+2; { // a round has begun and ended
			if got := age(); got < 1 {
				t.Fatalf("%v s beside a younger message", got)
			}
		}
		up.Store(true)
		b.wait(t, 2)
		eventually(t, "the age to be 0", func() bool { return age() == 0 })
	})
}

// A message that cannot be sent counts although the others are published.
func TestAMessageThatCannotBeSentCountsForTheAgeOfTheOutbox(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, c, age := aging(t, address)
		must(t, c.Insert(t.Context(), vessel("a", 1), trips("stuck", 1, 1)...))
		b := newBroker()
		run(t, db, func(ctx context.Context, records []stream.Record) error {
			if slices.ContainsFunc(records, func(r stream.Record) bool { return r.Key == "stuck" }) {
				return errors.New("too large")
			}
			return b.publish(ctx, records)
		})
		for n := 2; ; n++ { // one after the other, so that rounds succeed
			must(t, c.Insert(t.Context(), vessel("a", n), trips("free", n, n)...))
			b.wait(t, n-1)
			if age() > 1 {
				return
			}
		}
	})
}

// The count has the messages of all processes, also of one that does not relay, and the time of the oldest.
func TestWaitingMessagesAreCountedUntilTheyArePublished(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, c := fleet(t, address)
		waiting := func() document.Waiting {
			t.Helper()
			found, err := db.Waiting(t.Context())
			must(t, err)
			return found
		}
		if got := waiting(); got.Messages != 0 || !got.Oldest.IsZero() {
			t.Errorf("%+v without a message", got)
		}
		before := time.Now().Add(-time.Millisecond) // ids of messages have milliseconds
		must(t, c.Insert(t.Context(), vessel("a", 1), trips("a", 1, 3)...))
		after := time.Now()
		apitest.Eventually(t, "the next millisecond", func() bool { return time.Since(after) > 2*time.Millisecond })
		must(t, c.Insert(t.Context(), vessel("a", 2), trips("b", 4, 5)...))
		if got := waiting(); got.Messages != 5 || got.Oldest.Before(before) || got.Oldest.After(after) {
			t.Errorf("%+v, the first was written between %v and %v", got, before, after)
		}
		relayed(t, db, 5)
		if got := waiting(); got.Messages != 0 || !got.Oldest.IsZero() {
			t.Errorf("%+v after the publication", got)
		}
	})
}
