package document_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

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
