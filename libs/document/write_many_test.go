package document_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// shipyard is a collection whose DeriveMany keeps a berth for each boat.
type shipyard struct {
	db     *document.Database
	boats  *document.Collection[boat]
	berths *document.Collection[berth]
	many   *atomic.Int64 // calls of DeriveMany
	broken *atomic.Bool  // DeriveMany fails
}

func newShipyard(t testing.TB, address string, observe func(string)) shipyard {
	t.Helper()
	db, err := document.Open(address, "conformance", document.Options{Log: slog.New(slog.DiscardHandler), Observe: observe})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	y := shipyard{db: db, berths: berths(db), many: &atomic.Int64{}, broken: &atomic.Bool{}}
	schema := boats()
	derive := func(ctx context.Context, current map[string]*boat) error {
		for key, b := range current {
			if _, err := y.berths.DeleteMany(ctx, find.Query{Where: []find.Condition{find.Eq("boat", key)}}); err != nil {
				return err
			}
			if b != nil {
				if err := y.berths.UpsertMany(ctx, []berth{{key, "home", b.Name}}); err != nil {
					return err
				}
			}
		}
		return nil
	}
	schema.Derive = func(ctx context.Context, key string, current *boat) error {
		return derive(ctx, map[string]*boat{key: current})
	}
	schema.DeriveMany = func(ctx context.Context, current map[string]*boat) error {
		if y.many.Add(1); y.broken.Load() {
			return errors.New("out of order")
		}
		return derive(ctx, current)
	}
	y.boats = document.Declare(db, schema)
	migrate(t, db)
	return y
}

// put returns the write of a boat with a message.
func put(b boat, trip int) find.Write[boat] {
	return find.Write[boat]{Key: b.ID, Item: &b, Messages: []topic.Message{sailed{b.ID, trip}}}
}

// A call inserts, replaces and deletes records with their messages, and derives once.
func TestWriteManyInsertsReplacesAndDeletes(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		y := newShipyard(t, address, nil)
		for n := 1; n <= 2; n++ {
			must(t, y.boats.Insert(t.Context(), vessel("a", n)))
		}
		named := vessel("a", 3)
		named.Name = "new"
		must(t, y.boats.WriteMany(t.Context(), []string{"a/0001", "a/0002", "a/0003"}, func(stored map[string]*boat) ([]find.Write[boat], error) {
			if len(stored) != 2 || stored["a/0001"].Name != "Boat 1" || stored["a/0003"] != nil {
				t.Errorf("stored are %v", stored)
			}
			stored["a/0001"].Name = "renamed"
			return []find.Write[boat]{put(*stored["a/0001"], 1), {Key: "a/0002", Messages: []topic.Message{sailed{"a/0002", 2}}}, put(named, 3)}, nil
		}))
		if n := y.many.Load(); n != 1 {
			t.Errorf("%d calls of DeriveMany", n)
		}
		for key, want := range map[string]string{"a/0001": "home:renamed", "a/0002": "", "a/0003": "home:new"} {
			if got := berthsOf(t, y.berths, key); got != want {
				t.Errorf("the berths of %s are %q, want %q", key, got, want)
			}
		}
		if b, err := y.boats.Get(t.Context(), "a/0001"); err != nil || b.Name != "renamed" {
			t.Errorf("%+v %v", b, err)
		}
		if _, err := y.boats.Get(t.Context(), "a/0002"); !fault.Is(err, fault.NotFound) {
			t.Errorf("the deleted record: %v", err)
		}
		page, err := y.boats.Find(t.Context(), find.Query{Where: []find.Condition{find.Eq("owner", "a")}, Order: []find.Order{{Field: "number"}}})
		must(t, err)
		if len(page.Items) != 2 || page.Items[1].ID != "a/0003" {
			t.Errorf("a query finds %+v", page.Items)
		}
		records := relayed(t, y.db, 3)
		for n := 1; n <= 3; n++ {
			if got := tripsOf(t, records, fmt.Sprintf("a/%04d", n)); !slices.Equal(got, []int{n}) {
				t.Errorf("boat %d has the messages %v", n, got)
			}
		}
	})
}

// A write that another writer has overtaken, or whose unique value is taken, is a Conflict and leaves no message.
func TestWriteManySaysThatAnotherWriterWasFaster(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		y := newShipyard(t, address, nil)
		must(t, y.boats.Insert(t.Context(), vessel("a", 1)))
		rival := vessel("a", 2)
		rival.ID = "a/rival"
		for name, meanwhile := range map[string]func() error{
			"changed": func() error {
				_, err := y.boats.Update(t.Context(), "a/0001", func(b *boat) ([]topic.Message, error) { b.Length++; return nil, nil })
				return err
			},
			"inserted": func() error { return y.boats.Insert(t.Context(), rival) },
			"deleted":  func() error { return y.boats.Delete(t.Context(), "a/0001", nil) },
		} {
			must(t, y.boats.UpsertMany(t.Context(), []boat{vessel("a", 1)}))
			if err := y.boats.Delete(t.Context(), rival.ID, nil); fault.UnlessMissing(err) != nil {
				t.Fatal(err)
			}
			err := y.boats.WriteMany(t.Context(), []string{"a/0001"}, func(stored map[string]*boat) ([]find.Write[boat], error) {
				must(t, meanwhile())
				if name == "inserted" {
					return []find.Write[boat]{put(vessel("a", 2), 1)}, nil // the number of rival
				}
				stored["a/0001"].Name = "overtaken"
				return []find.Write[boat]{put(*stored["a/0001"], 1)}, nil
			})
			if !fault.Is(err, fault.Conflict) {
				t.Errorf("%s meanwhile: %v", name, err)
			}
			if b, err := y.boats.Get(t.Context(), "a/0001"); (name == "deleted") != fault.Is(err, fault.NotFound) || b.Name == "overtaken" {
				t.Errorf("%s meanwhile: %+v %v", name, b, err)
			}
			if _, err := y.boats.Get(t.Context(), "a/0002"); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s meanwhile: %v", name, err)
			}
		}
		must(t, y.boats.WriteMany(t.Context(), nil, func(map[string]*boat) ([]find.Write[boat], error) {
			return []find.Write[boat]{put(vessel("b", 1), 9)}, nil
		}))
		for _, r := range relayed(t, y.db, 1) {
			if string(r.Key) != "b/0001" {
				t.Errorf("a message of %s is published", r.Key)
			}
		}
	})
}

// If the first write fails, none is made. If another one fails, the error says whether the first one is made.
func TestTheFirstWriteOfAWriteManyIsMadeFirst(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		y := newShipyard(t, address, nil)
		for overtaken := 1; overtaken <= 3; overtaken++ {
			owner := fmt.Sprint("owner", overtaken)
			var keys []string
			for n := 1; n <= 3; n++ {
				must(t, y.boats.Insert(t.Context(), vessel(owner, n)))
				keys = append(keys, vessel(owner, n).ID)
			}
			err := y.boats.WriteMany(t.Context(), keys, func(stored map[string]*boat) (writes []find.Write[boat], err error) {
				for _, key := range keys {
					writes = append(writes, find.Write[boat]{Key: key})
				}
				_, err = y.boats.Update(t.Context(), keys[overtaken-1], func(b *boat) ([]topic.Message, error) { b.Length++; return nil, nil })
				return writes, err
			})
			left, failed := y.boats.GetMany(t.Context(), keys)
			must(t, failed)
			partly, want := errors.Is(err, find.ErrPartlyWritten), 3
			if partly {
				want = 1
			}
			if !fault.Is(err, fault.Conflict) || len(left) != want || partly != (shared(address) && overtaken > 1) {
				t.Errorf("write %d is overtaken: %d records are left, %v", overtaken, len(left), err)
			}
		}
	})
}

// Callers over two handles repeat a Conflict. Each change is made once and has one message, also where one call was made in
// part.
func TestWriteManyLosesAndRepeatsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		one, two := newShipyard(t, address, nil), newShipyard(t, address, nil)
		const calls, many = 6, 20
		var keys []string
		for n := range many {
			keys = append(keys, vessel("a", n+1).ID)
			must(t, one.boats.Insert(t.Context(), vessel("a", n+1)))
		}
		group, ctx := errgroup.WithContext(t.Context())
		for trip := range calls {
			c := []shipyard{one, two}[trip%2].boats
			group.Go(func() error {
				for {
					err := c.WriteMany(ctx, keys, func(stored map[string]*boat) (writes []find.Write[boat], err error) {
						for _, key := range keys {
							b := stored[key]
							if harbour := fmt.Sprint(trip); !slices.Contains(b.Harbours, harbour) {
								b.Harbours = append(b.Harbours, harbour)
								writes = append(writes, put(*b, trip))
							}
						}
						return writes, nil
					})
					if !fault.Is(err, fault.Conflict) {
						return err
					}
				}
			})
		}
		must(t, group.Wait())
		records := relayed(t, one.db, calls*many)
		for _, key := range keys {
			b, err := two.boats.Get(t.Context(), key)
			must(t, err)
			if len(b.Harbours) != calls || len(tripsOf(t, records, key)) != calls {
				t.Errorf("%s has %d changes and %d messages, want %d", key, len(b.Harbours), len(tripsOf(t, records, key)), calls)
			}
		}
	})
}

// The relay derives what DeriveMany has not.
func TestTheRelayDerivesAfterAWriteManyWhoseDeriveManyFails(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		y := newShipyard(t, address, nil)
		y.broken.Store(true)
		must(t, y.boats.WriteMany(t.Context(), nil, func(map[string]*boat) ([]find.Write[boat], error) {
			return []find.Write[boat]{put(vessel("a", 1), 1), {Key: "a/0002", Item: new(vessel("a", 2))}}, nil
		}))
		if got := berthsOf(t, y.berths, "a/0001"); got != "" {
			t.Errorf("derived is %s", got)
		}
		relayed(t, y.db, 1)
		for n := 1; n <= 2; n++ {
			key := vessel("a", n).ID
			eventually(t, "the berth of "+key, func() bool { return berthsOf(t, y.berths, key) != "" })
		}
	})
}

// A call reads once and writes once, on MongoDB twice. DeriveMany, which fails here, costs more. Without writes a call only reads.
func TestWriteManyCostsOneReadAndAtMostTwoWrites(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		var operations atomic.Int64
		written := int64(2)
		if shared(address) {
			written = 3
		}
		y := newShipyard(t, address, func(string) { operations.Add(1) })
		y.broken.Store(true)
		wrong := fault.New(fault.Invalid, "wrong")
		for name, c := range map[string]struct {
			writes int
			err    error
			cost   int64
		}{"400 writes": {400, nil, written}, "one write": {1, nil, 2}, "no write": {0, nil, 1}, "an error": {0, wrong, 1}} {
			operations.Store(0)
			err := y.boats.WriteMany(t.Context(), []string{"x"}, func(map[string]*boat) (writes []find.Write[boat], err error) {
				for n := range c.writes {
					writes = append(writes, find.Write[boat]{Key: vessel(name, n+1).ID, Item: new(vessel(name, n+1))})
				}
				return writes, c.err
			})
			if n := operations.Load(); !errors.Is(err, c.err) || n != c.cost {
				t.Errorf("%s: %d operations, want %d; %v", name, n, c.cost, err)
			}
		}
		var tooMany []string
		for n := range 501 {
			tooMany = append(tooMany, vessel("b", n).ID)
		}
		err := y.boats.WriteMany(t.Context(), tooMany, func(map[string]*boat) ([]find.Write[boat], error) {
			return []find.Write[boat]{put(vessel("b", 1), 1)}, nil
		})
		if !fault.Is(err, fault.Internal) {
			t.Errorf("501 keys: %v", err)
		}
		_, plain := fleet(t, address)
		if err := plain.WriteMany(t.Context(), nil, nil); !fault.Is(err, fault.Internal) {
			t.Errorf("a collection without Derive: %v", err)
		}
	})
}
