package document_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Each of concurrent calls over two handles changes each record once, and each change has one message.
func TestUpdateManyLosesAndRepeatsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, one := fleet(t, address)
		_, two := fleet(t, address)
		var keys []string
		var items []boat
		for n := range 600 { // two batches
			items = append(items, vessel("a", n+1))
			keys = append(keys, vessel("a", n+1).ID)
		}
		seed(t, one, items...)
		contested := append([]string{"nobody"}, keys[490:510]...)
		group, ctx := errgroup.WithContext(t.Context())
		const calls = 8
		for trip := range calls {
			c, keys := []*document.Collection[boat]{one, two}[trip%2], contested
			if trip == 0 {
				keys = append(keys, vessel("a", 1).ID)
			}
			group.Go(func() error {
				return c.UpdateMany(ctx, keys, func(boats []*boat) (map[string][]topic.Message, error) {
					messages := map[string][]topic.Message{}
					for _, b := range boats {
						if harbour := fmt.Sprint(trip); !slices.Contains(b.Harbours, harbour) {
							b.Harbours = append(b.Harbours, harbour)
							messages[b.ID] = []topic.Message{sailed{b.ID, trip}}
						}
					}
					return messages, nil
				})
			})
			group.Go(func() error { // a writer of single records
				_, err := c.Update(ctx, keys[len(keys)-1], func(b *boat) ([]topic.Message, error) { b.Length++; return nil, nil })
				return err
			})
		}
		must(t, group.Wait())
		records := relayed(t, db, 20*calls+1)
		if len(records) != 20*calls+1 {
			t.Errorf("%d messages of %d changes", len(records), 20*calls+1)
		}
		for _, key := range contested[1:] {
			b, err := two.Get(t.Context(), key)
			must(t, err)
			if trips := tripsOf(t, records, key); len(trips) != calls || len(b.Harbours) != calls {
				t.Errorf("%s has %d changes and %d messages, want %d", key, len(b.Harbours), len(trips), calls)
			}
		}
		if _, err := one.Get(t.Context(), "nobody"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a record that did not exist: %v", err)
		}
	})
}

func TestUpdateManyDoesNotBringBackADeletedRecord(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, c := fleet(t, address)
		seed(t, c, vessel("a", 1), vessel("a", 2))
		calls := 0
		err := c.UpdateMany(t.Context(), []string{"a/0001", "a/0002"}, func(boats []*boat) (map[string][]topic.Message, error) {
			if calls++; calls == 1 {
				must(t, c.Delete(t.Context(), "a/0001", nil))
			}
			for _, b := range boats {
				b.Name = "renamed"
			}
			return nil, nil
		})
		must(t, err)
		if _, err := c.Get(t.Context(), "a/0001"); calls != 2 || !fault.Is(err, fault.NotFound) {
			t.Errorf("after %d calls: %v", calls, err)
		}
		if b, err := c.Get(t.Context(), "a/0002"); err != nil || b.Name != "renamed" {
			t.Errorf("%+v %v", b, err)
		}
	})
}

// A call reads once and writes once. It does not write what change leaves as it was.
func TestUpdateManyCostsOneReadAndOneWrite(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		var operations atomic.Int64
		db, err := document.Open(address, "conformance", document.Options{
			Log: slog.New(slog.DiscardHandler), Observe: func(string) { operations.Add(1) },
		})
		must(t, err)
		t.Cleanup(func() { must(t, db.Close()) })
		c := document.Declare(db, boats())
		migrate(t, db)
		var keys []string
		var items []boat
		for n := range 400 {
			items = append(items, vessel("a", n+1))
			keys = append(keys, vessel("a", n+1).ID)
		}
		seed(t, c, items...)
		rename := func(boats []*boat) (map[string][]topic.Message, error) {
			for _, b := range boats {
				b.Name = "renamed"
			}
			return nil, nil
		}
		for _, want := range []int64{2, 1} {
			operations.Store(0)
			must(t, c.UpdateMany(t.Context(), keys, rename))
			if n := operations.Load(); n != want {
				t.Errorf("%d operations, want %d", n, want)
			}
		}
		wrong := fault.New(fault.Invalid, "wrong")
		err = c.UpdateMany(t.Context(), keys, func([]*boat) (map[string][]topic.Message, error) { return nil, wrong })
		if err != error(wrong) {
			t.Errorf("an error of change became %v", err)
		}
		operations.Store(0)
		must(t, c.UpdateMany(t.Context(), keys, func(boats []*boat) (map[string][]topic.Message, error) {
			boats[0].Name = "unwanted"
			return nil, fault.ErrUnchanged
		}))
		if n := operations.Load(); n != 1 {
			t.Errorf("%d operations for ErrUnchanged, want 1", n)
		}
	})
}

func TestUpdateManyRefusesACollectionWithDerive(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, schema := open(t, address), boats()
		schema.Derive = func(context.Context, string, *boat) error { return nil }
		c := document.Declare(db, schema)
		migrate(t, db)
		if err := c.UpdateMany(t.Context(), []string{"a"}, nil); !fault.Is(err, fault.Internal) {
			t.Error(err)
		}
	})
}
