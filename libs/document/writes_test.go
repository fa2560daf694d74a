package document_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func TestUpdateLosesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, one := fleet(t, address)
		_, two := fleet(t, address)
		must(t, one.Insert(t.Context(), vessel("a", 1)))
		group, ctx := errgroup.WithContext(t.Context())
		for worker := range 16 {
			c := []*document.Collection[boat]{one, two}[worker%2]
			group.Go(func() error {
				for range 50 {
					if _, err := c.Update(ctx, "a/0001", func(b *boat) ([]topic.Message, error) {
						b.Length++
						return nil, nil
					}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		must(t, group.Wait())
		got, err := two.Get(t.Context(), "a/0001")
		must(t, err)
		if got.Length != 801 {
			t.Errorf("800 increments made 1 to %v", got.Length)
		}
	})
}

func TestUpdateKeepsMessagesInOrder(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, one := fleet(t, address)
		_, two := fleet(t, address)
		must(t, one.Insert(t.Context(), boat{ID: "a", Owner: "a"}))
		group, ctx := errgroup.WithContext(t.Context())
		for worker := range 8 {
			c := []*document.Collection[boat]{one, two}[worker%2]
			group.Go(func() error {
				for range 20 {
					_, err := c.Update(ctx, "a", func(b *boat) ([]topic.Message, error) {
						b.Number++
						return []topic.Message{sailed{"a", int(b.Number)}}, nil
					})
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		must(t, group.Wait())
		trips := tripsOf(t, relayed(t, db, 160), "a")
		if len(trips) != 160 || !slices.IsSorted(trips) {
			t.Errorf("relayed %v", trips)
		}
	})
}

func TestInsertHoldsUniqueKeys(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, one := fleet(t, address)
		_, two := fleet(t, address)
		for number := int64(1); number <= 10; number++ {
			var stored, refused atomic.Int64
			var group errgroup.Group
			for worker := range 8 {
				c := []*document.Collection[boat]{one, two}[worker%2]
				group.Go(func() error {
					err := c.Insert(t.Context(), boat{ID: fmt.Sprintf("%d by %d", number, worker), Owner: "a", Number: number}, sailed{"a", worker})
					switch {
					case err == nil:
						stored.Add(1)
					case fault.Is(err, fault.Conflict) && document.ViolatedIndex(err) == "owner_number":
						refused.Add(1)
					default:
						return err
					}
					return nil
				})
			}
			must(t, group.Wait())
			if stored.Load() != 1 || refused.Load() != 7 {
				t.Errorf("number %d: %d stored, %d refused", number, stored.Load(), refused.Load())
			}
		}
		for n := range 3 { // records without a number never violate the index
			must(t, one.Insert(t.Context(), boat{ID: "unnumbered " + strconv.Itoa(n), Owner: "a"}))
		}
		n, err := one.Count(t.Context(), find.Query{Where: eq()})
		must(t, err)
		if n != 13 {
			t.Errorf("%d records are stored", n)
		}
	})
}

func TestUniqueValuesAreFreedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		_, c := fleet(t, address)
		must(t, c.Insert(ctx, vessel("a", 1), sailed{"a", 1}))
		_, err := c.Update(ctx, "a/0001", func(b *boat) ([]topic.Message, error) { b.Number = 0; return nil, nil })
		must(t, err)
		second := vessel("a", 1)
		second.ID = "second"
		must(t, c.Insert(ctx, second, sailed{"a", 2}))
		must(t, c.Delete(ctx, "second", nil))
		third := vessel("a", 1)
		third.ID = "third"
		must(t, c.Insert(ctx, third))
	})
}

// An index that is unique over a list keeps each value in one record of an owner, also of racing writers.
func TestUniqueValuesOfLists(t *testing.T) {
	schema := boats()
	schema.Indexes = append(schema.Indexes, document.Index{Name: "harbour", Fields: []string{"owner", "harbours"}, Unique: true})
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		before, err := version(t, address, boats())
		must(t, err)
		must(t, before.Insert(ctx, harbours(vessel("a", 1), "Kiel", "Oslo")))
		one, err := version(t, address, schema)
		must(t, err)
		two, err := version(t, address, schema)
		must(t, err)
		refused := func(what string, err error) {
			t.Helper()
			if !fault.Is(err, fault.Conflict) || document.ViolatedIndex(err) != "harbour" {
				t.Errorf("%s: %v, index %q", what, err, document.ViolatedIndex(err))
			}
		}
		refused("a value that a record had before the index", one.Insert(ctx, harbours(vessel("a", 2), "Bergen", "Oslo")))
		must(t, one.Insert(ctx, harbours(vessel("b", 1), "Oslo"))) // a vessel of another owner
		must(t, one.Insert(ctx, vessel("a", 2)))
		must(t, one.Insert(ctx, vessel("a", 3))) // records without values
		set := func(c *document.Collection[boat], id string, names ...string) error {
			_, err := c.Update(ctx, id, func(b *boat) ([]topic.Message, error) { b.Harbours = names; return nil, nil })
			return err
		}
		refused("an update", set(two, "a/0002", "Bergen", "Kiel"))
		must(t, set(one, "a/0001", "Kiel", "Turku")) // it keeps one value and leaves the other
		must(t, set(two, "a/0002", "Oslo"))
		must(t, one.Delete(ctx, "a/0002", nil))
		must(t, set(two, "a/0003", "Oslo"))
		var stored atomic.Int64
		var group errgroup.Group
		for worker := range 8 {
			c := []*document.Collection[boat]{one, two}[worker%2]
			group.Go(func() error {
				err := c.Insert(ctx, harbours(vessel("a", 10+worker), "Riga "+strconv.Itoa(worker), "Visby"))
				if err == nil {
					stored.Add(1)
				} else if document.ViolatedIndex(err) != "harbour" {
					return err
				}
				return nil
			})
		}
		must(t, group.Wait())
		page, err := one.Find(ctx, find.Query{Where: eq(find.Has("harbours", "Visby"))})
		must(t, err)
		if stored.Load() != 1 || len(page.Items) != 1 {
			t.Errorf("%d racing records of one harbour are stored, %d are found", stored.Load(), len(page.Items))
		}
	})
}

func TestUpsertRaces(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, one := fleet(t, address)
		_, two := fleet(t, address)
		group, ctx := errgroup.WithContext(t.Context())
		for worker := range 16 {
			c := []*document.Collection[boat]{one, two}[worker%2]
			group.Go(func() error {
				for n := range 10 {
					id := "a/" + strconv.Itoa(n)
					_, err := c.Upsert(ctx, id, func(b *boat, exists bool) ([]topic.Message, error) {
						if exists != (b.ID != "") {
							return nil, errors.New("a record exists when it does not, or the reverse")
						}
						b.ID, b.Owner = id, "a"
						b.Length++
						return []topic.Message{sailed{id, int(b.Length)}}, nil
					})
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		must(t, group.Wait())
		records := relayed(t, db, 160)
		for n := range 10 {
			id := "a/" + strconv.Itoa(n)
			b, err := one.Get(t.Context(), id)
			must(t, err)
			if trips := tripsOf(t, records, id); b.Length != 16 || len(trips) != 16 || !slices.IsSorted(trips) {
				t.Errorf("%s: %v upserts counted, messages %v", id, b.Length, trips)
			}
		}
		_, err := one.Upsert(t.Context(), "a/right", func(b *boat, _ bool) ([]topic.Message, error) { b.ID = "a/wrong"; return nil, nil })
		if !fault.Is(err, fault.Internal) {
			t.Errorf("an Upsert under another key: %v", err)
		}
	})
}

// Of racing Upserts of one key the first creates the record and the others find it, although its unique values
// are taken by then as well as its key.
func TestUpsertRacesWithUniqueValues(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, one := fleet(t, address)
		_, two := fleet(t, address)
		group, ctx := errgroup.WithContext(t.Context())
		for worker := range 16 {
			c := []*document.Collection[boat]{one, two}[worker%2]
			group.Go(func() error {
				for n := 1; n <= 10; n++ {
					want := vessel("a", n)
					if _, err := c.Upsert(ctx, want.ID, func(b *boat, exists bool) ([]topic.Message, error) {
						length := b.Length
						*b = want
						b.Length = length + 1
						return nil, nil
					}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		must(t, group.Wait())
		for n := 1; n <= 10; n++ {
			b, err := one.Get(t.Context(), vessel("a", n).ID)
			must(t, err)
			if b.Length != 16 {
				t.Errorf("%s: %v of 16 upserts are in it", b.ID, b.Length)
			}
		}
		taken := vessel("a", 1)
		if _, err := one.Upsert(t.Context(), "a/other", func(b *boat, _ bool) ([]topic.Message, error) {
			*b = taken
			b.ID = "a/other"
			return nil, nil
		}); document.ViolatedIndex(err) != "owner_number" {
			t.Errorf("an Upsert of a number that another record has: %v", err)
		}
	})
}

func TestNextNeverRepeats(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		one, _ := fleet(t, address)
		two, _ := fleet(t, address)
		var mu sync.Mutex
		seen := map[int64]bool{}
		var group errgroup.Group
		for worker := range 8 {
			db := []*document.Database{one, two}[worker%2]
			group.Go(func() error {
				for range 25 {
					n, err := db.Next(t.Context(), "boat")
					if err != nil {
						return err
					}
					mu.Lock()
					seen[n] = true
					mu.Unlock()
				}
				return nil
			})
		}
		must(t, group.Wait())
		for n := int64(1); n <= 200; n++ {
			if !seen[n] {
				t.Fatalf("number %d was not given", n)
			}
		}
		first, err := one.NextN(t.Context(), "boat", 10)
		must(t, err)
		after, err := two.Next(t.Context(), "boat")
		must(t, err)
		other, err := two.Next(t.Context(), "buoy")
		must(t, err)
		if first != 201 || after != 211 || other != 1 {
			t.Errorf("a block starts at %d, then comes %d; another counter starts at %d", first, after, other)
		}
		for counter, want := range map[string]int64{"boat": 211, "buoy": 1, "raft": 0} {
			if last, err := one.Last(t.Context(), counter); err != nil || last != want {
				t.Errorf("the last value of %s is %d instead of %d: %v", counter, last, want, err)
			}
		}
	})
}

// A multi-valued field need not be in an index: it may serve conditions within the prefix of another.
func TestManyAtOnceWithAListInNoIndex(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		schema := boats()
		schema.Indexes = []document.Index{{Name: "owner_built", Fields: []string{"owner", "built"}}}
		c, err := version(t, address, schema)
		must(t, err)
		fresh, err := c.InsertMany(ctx, []boat{harbours(vessel("a", 1), "Kiel"), harbours(vessel("a", 2), "Oslo"), vessel("a", 3)})
		must(t, err)
		n, err := c.Count(ctx, find.Query{Where: eq(find.Has("harbours", "Kiel")), Scan: "owner_built"})
		must(t, err)
		if len(fresh) != 3 || n != 1 {
			t.Errorf("%d were new, %d in Kiel", len(fresh), n)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		db, c := fleet(t, address)
		must(t, c.Insert(ctx, vessel("a", 3), sailed{"a/0003", 1}))
		must(t, c.Delete(ctx, "a/0003", func(*boat) ([]topic.Message, error) { return []topic.Message{sailed{"a/0003", 2}}, nil }))
		must(t, c.Insert(ctx, vessel("a", 1), sailed{"a/0001", 1}))
		var items []boat
		for n := 1; n <= 1100; n++ {
			items = append(items, harbours(vessel("a", n), "Kiel"))
		}
		fresh, err := c.InsertMany(ctx, items)
		must(t, err)
		if len(fresh) != 1099 || fresh[0].ID != "a/0002" || fresh[1].ID != "a/0003" {
			t.Errorf("%d of 1100 were new, first %s", len(fresh), fresh[0].ID)
		}
		if b, err := c.Get(ctx, "a/0001"); err != nil || len(b.Harbours) != 0 {
			t.Errorf("a record that was there is now %+v, %v", b, err)
		}
		for i := range items {
			items[i].Harbours = []string{"Oslo"}
		}
		must(t, c.UpsertMany(ctx, append(items, vessel("a", 2000), items[0])))
		for harbour, want := range map[string]int64{"Oslo": 1100, "Kiel": 0} {
			n, err := c.Count(ctx, find.Query{Where: eq(find.Has("harbours", harbour))})
			must(t, err)
			if n != want {
				t.Errorf("%d boats in %s, want %d", n, harbour, want)
			}
		}
		taken := vessel("a", 5)
		taken.ID = "another"
		if err := c.UpsertMany(ctx, []boat{taken}); document.ViolatedIndex(err) != "owner_number" {
			t.Errorf("UpsertMany of a taken number: %v", err)
		}
		if _, err := c.InsertMany(ctx, []boat{taken}); document.ViolatedIndex(err) != "owner_number" {
			t.Errorf("InsertMany of a taken number: %v", err)
		}
		n, err := c.DeleteMany(ctx, find.Query{Where: eq(find.Lt("built", at(700))), Limit: 600})
		must(t, err)
		more, err := c.DeleteMany(ctx, find.Query{Where: eq(find.Lt("built", at(700)))})
		must(t, err)
		if n != 600 || more != 99 {
			t.Errorf("deleted %d, then %d", n, more)
		}
		n, err = c.DeleteMany(ctx, find.Query{Where: eq(find.Has("harbours", "Oslo", "Kiel"))})
		must(t, err)
		left, err := c.Count(ctx, find.Query{})
		must(t, err)
		if n != 401 || left != 1 {
			t.Errorf("deleted %d, %d are left", n, left)
		}
		// What was written with messages and then deleted in bulk is relayed all the same.
		records := relayed(t, db, 3)
		if a, b := tripsOf(t, records, "a/0003"), tripsOf(t, records, "a/0001"); !slices.Equal(a, []int{1, 2}) || !slices.Equal(b, []int{1}) {
			t.Errorf("relayed %v and %v", a, b)
		}
	})
}

// If an item violates a unique index, other items of its batch may be stored. InsertMany returns exactly those that are stored.
func TestInsertManyReturnsWhatItHasStoredBesideAViolation(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		_, c := fleet(t, address)
		seed(t, c, vessel("a", 1), vessel("a", 2))
		taken := vessel("a", 1)
		taken.ID = "another"
		var items []boat
		var keys []string
		for n := range 600 { // two batches
			items = append(items, vessel("b", n+1))
			keys = append(keys, vessel("b", n+1).ID)
		}
		items = append(items, taken, vessel("a", 2), vessel("c", 1))
		keys = append(keys, taken.ID, vessel("c", 1).ID)
		fresh, err := c.InsertMany(ctx, items)
		if document.ViolatedIndex(err) != "owner_number" {
			t.Errorf("InsertMany of a taken number: %v", err)
		}
		stored, err := c.GetMany(ctx, keys)
		must(t, err)
		if len(stored) < 500 || !slices.EqualFunc(fresh, stored, func(a, b boat) bool { return a.ID == b.ID }) {
			t.Errorf("%d items are returned, and %d are stored", len(fresh), len(stored))
		}
	})
}
