package document_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// berth is a row derived from each harbour of a boat.
type berth struct {
	Boat    string `json:"boat"`
	Harbour string `json:"harbour"`
	Name    string `json:"name"`
}

func berths(db *document.Database) *document.Collection[berth] {
	return document.Declare(db, document.Schema[berth]{
		Name: "berths", Shard: document.Whole("a test"),
		Key: func(b *berth) string { return b.Boat + "@" + b.Harbour },
		Fields: []document.Field[berth]{
			{Name: "boat", Value: func(b *berth) any { return b.Boat }},
			{Name: "harbour", Value: func(b *berth) any { return b.Harbour }},
		},
		Indexes: []document.Index{{Name: "boat", Fields: []string{"boat"}}, {Name: "harbour", Fields: []string{"harbour"}}},
	})
}

// derivedFleet derives the berths of every boat. broken makes Derive fail.
func derivedFleet(t testing.TB, address string, broken *atomic.Bool) (*document.Database, *document.Collection[boat], *document.Collection[berth]) {
	t.Helper()
	db := open(t, address)
	rows := berths(db)
	schema := boats()
	schema.Derive = func(ctx context.Context, key string, current *boat) error {
		if broken != nil && broken.Load() {
			return errors.New("out of order")
		}
		if _, err := rows.DeleteMany(ctx, find.Query{Where: []find.Condition{find.Eq("boat", key)}}); err != nil || current == nil {
			return err
		}
		var items []berth
		for _, harbour := range current.Harbours {
			items = append(items, berth{key, harbour, current.Name})
		}
		return rows.UpsertMany(ctx, items)
	}
	c := document.Declare(db, schema)
	migrate(t, db)
	return db, c, rows
}

func berthsOf(t testing.TB, rows *document.Collection[berth], boat string) string {
	t.Helper()
	page, err := rows.Find(context.Background(), find.Query{Where: []find.Condition{find.Eq("boat", boat)}})
	must(t, err)
	var list []string
	for _, b := range page.Items {
		list = append(list, b.Harbour+":"+b.Name)
	}
	return sorted(strings.Join(list, " "))
}

func TestDeriveFollowsEachWrite(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		_, c, rows := derivedFleet(t, address, nil)
		must(t, c.Insert(ctx, boat{ID: "a", Name: "x", Harbours: []string{"Kiel", "Oslo"}}))
		if got := berthsOf(t, rows, "a"); got != "Kiel:x Oslo:x" {
			t.Errorf("after an insert: %s", got)
		}
		_, err := c.Update(ctx, "a", func(b *boat) ([]topic.Message, error) { b.Name, b.Harbours = "y", b.Harbours[1:]; return nil, nil })
		must(t, err)
		if got := berthsOf(t, rows, "a"); got != "Oslo:y" {
			t.Errorf("after an update: %s", got)
		}
		_, err = c.Upsert(ctx, "a", func(b *boat, _ bool) ([]topic.Message, error) { b.Name = "z"; return nil, nil })
		must(t, err)
		if got := berthsOf(t, rows, "a"); got != "Oslo:z" {
			t.Errorf("after an upsert: %s", got)
		}
		must(t, c.Delete(ctx, "a", nil))
		if got := berthsOf(t, rows, "a"); got != "" {
			t.Errorf("after a delete: %s", got)
		}
	})
}

func TestDeriveOfRacingWritersEndsWithTheLast(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, one, rows := derivedFleet(t, address, nil)
		_, two, _ := derivedFleet(t, address, nil)
		must(t, one.Insert(t.Context(), boat{ID: "a", Name: "0", Harbours: []string{"Kiel"}}))
		var writers sync.WaitGroup
		for n := range 8 {
			c := []*document.Collection[boat]{one, two}[n%2]
			writers.Go(func() {
				for k := range 10 {
					if _, err := c.Update(t.Context(), "a", func(b *boat) ([]topic.Message, error) {
						b.Name = fmt.Sprintf("%d.%d", n, k)
						return nil, nil
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		last, err := one.Get(t.Context(), "a")
		must(t, err)
		if got := berthsOf(t, rows, "a"); got != "Kiel:"+last.Name {
			t.Errorf("the record says %s, its row %s", last.Name, got)
		}
	})
}

func TestDeriveIsRepeatedByTheRelay(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		var broken atomic.Bool
		_, c, _ := derivedFleet(t, address, &broken)
		broken.Store(true) // as if the process had been killed between the write and Derive
		must(t, c.Insert(ctx, boat{ID: "silent", Name: "x", Harbours: []string{"Kiel"}}))
		must(t, c.Insert(ctx, boat{ID: "gone", Harbours: []string{"Kiel"}}))
		must(t, c.Delete(ctx, "gone", nil))
		must(t, c.Insert(ctx, boat{ID: "loud", Name: "x", Harbours: []string{"Kiel"}}, sailed{"loud", 1}))

		successor, _, rows := derivedFleet(t, address, nil)
		b := newBroker()
		stop := run(t, successor, func(ctx context.Context, records []stream.Record) error {
			for _, key := range []string{"silent", "loud"} {
				if got := berthsOf(t, rows, key); got != "Kiel:x" {
					t.Errorf("%s was published before it was derived: %s", key, got)
				}
			}
			return b.publish(ctx, records)
		})
		records := b.wait(t, 1)
		stop()
		if len(records) != 1 || berthsOf(t, rows, "gone") != "" {
			t.Errorf("relayed %v, a deleted record has rows %q", records, berthsOf(t, rows, "gone"))
		}
		assertNothingWaits(t, successor)
	})
}

// A process is killed in the middle of Derive, after the relay of another process has run Derive and cleared the
// outbox. The relay repeats Derive later.
func TestDeriveOfAKilledProcessIsMadeGood(t *testing.T) {
	t.Parallel()
	onShared(t, func(t *testing.T, address string) {
		survivor, _, rows := derivedFleet(t, address, nil)
		dying := open(t, address)
		its := berths(dying)
		published := make(chan struct{})
		schema := boats()
		schema.Derive = func(ctx context.Context, key string, _ *boat) error {
			<-published
			if _, err := its.DeleteMany(ctx, find.Query{Where: []find.Condition{find.Eq("boat", key)}}); err != nil {
				return err
			}
			return errors.New("killed")
		}
		c := document.Declare(dying, schema)
		migrate(t, dying)
		b := newBroker()
		run(t, survivor, func(ctx context.Context, records []stream.Record) error { return b.publish(ctx, records) })
		written := make(chan error, 1)
		go func() {
			written <- c.Insert(t.Context(), boat{ID: "a", Name: "x", Harbours: []string{"Kiel"}}, sailed{"a", 1})
		}()
		b.wait(t, 1)
		close(published)
		must(t, <-written)
		eventually(t, "the rows are there again", func() bool { return berthsOf(t, rows, "a") == "Kiel:x" })
	})
}

func TestDeriveThatFailsHoldsUpNobody(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		var broken atomic.Bool
		broken.Store(true)
		db, c, _ := derivedFleet(t, address, &broken)
		must(t, c.Insert(t.Context(), boat{ID: "a"}, sailed{"a", 1}))
		plain := document.Declare(db, document.Schema[boat]{Name: "plain", Shard: document.ByKey(), Key: func(b *boat) string { return b.ID }})
		migrate(t, db)
		must(t, plain.Insert(t.Context(), boat{ID: "b"}, sailed{"b", 1}))
		b := newBroker()
		run(t, db, b.publish)
		b.wait(t, 1)
		broken.Store(false)
		b.wait(t, 2)
	})
}

// A committed write returns no error when Derive is slow, and the relay completes the rows.
func TestSlowDeriveFailsNoWrite(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, address string) {
		t.Parallel()
		db := open(t, address)
		rows := berths(db)
		var calls atomic.Int64
		schema := boats()
		schema.Derive = func(ctx context.Context, key string, current *boat) error {
			if calls.Add(1) == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return rows.UpsertMany(ctx, []berth{{key, "Kiel", current.Name}})
		}
		c := document.Declare(db, schema)
		migrate(t, db)
		b := newBroker()
		run(t, db, b.publish)
		request, cancel := context.WithTimeout(t.Context(), 20*time.Second) // as a service limits a request
		defer cancel()
		must(t, c.Insert(request, boat{ID: "a", Name: "x"}, sailed{"a", 1}))
		must(t, request.Err())
		if got := berthsOf(t, rows, "a"); got != "" {
			t.Errorf("there are rows before Derive has run: %s", got)
		}
		b.wait(t, 1)
		if got := berthsOf(t, rows, "a"); got != "Kiel:x" {
			t.Errorf("the message was published with the rows %q", got)
		}
	})
}

// Writers of one record in one process wait for each other, and share runs of Derive.
func TestWritersOfOneRecordShareTheWork(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		var operations atomic.Int64
		db, err := document.Open(address, "conformance", document.Options{Observe: func(string) { operations.Add(1) }})
		must(t, err)
		t.Cleanup(func() { must(t, db.Close()) })
		rows := berths(db)
		schema := boats()
		schema.Derive = func(ctx context.Context, key string, current *boat) error {
			return rows.UpsertMany(ctx, []berth{{key, "Kiel", current.Name}})
		}
		c := document.Declare(db, schema)
		migrate(t, db)
		must(t, c.Insert(t.Context(), boat{ID: "a"}))
		operations.Store(0)
		const writers, each = 32, 10
		var group sync.WaitGroup
		for range writers {
			group.Go(func() {
				for range each {
					_, err := c.Update(t.Context(), "a", func(b *boat) ([]topic.Message, error) { b.Length++; return nil, nil })
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		// Alone, an update loads, replaces, derives and loads again.
		t.Logf("%d updates: %d operations", writers*each, operations.Load())
		if operations.Load() > 5*writers*each {
			t.Errorf("%d updates took %d operations", writers*each, operations.Load())
		}
	})
}

// A record that its own Derive writes and deletes does not make the writer wait, and Derive sees the last state.
func TestDeriveWritesItsRecord(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		var c *document.Collection[boat]
		var ends atomic.Int64
		db := open(t, address)
		schema := boats()
		schema.Derive = func(ctx context.Context, key string, current *boat) error {
			switch {
			case current == nil:
				ends.Add(1)
				return nil
			case current.Number == 1:
				_, err := c.Update(ctx, key, func(b *boat) ([]topic.Message, error) { b.Number = 2; return nil, nil })
				return err
			}
			return c.Delete(ctx, key, nil)
		}
		c = document.Declare(db, schema)
		migrate(t, db)
		started := time.Now()
		must(t, c.Insert(t.Context(), vessel("a", 1)))
		eventually(t, "Derive has seen the deletion", func() bool { return ends.Load() > 0 })
		if took := time.Since(started); took > 4*time.Second {
			t.Errorf("the write and the two that follow took %v", took)
		}
		n, err := c.Count(t.Context(), find.Query{Where: eq()})
		must(t, err)
		if n != 0 {
			t.Errorf("%d records are left", n)
		}
	})
}
