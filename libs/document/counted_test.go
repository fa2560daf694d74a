package document_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Count by a counted prefix equals the number of records that Find returns: after all kinds of concurrent writes over two
// handles, and for records that were stored before the index was counted.
func TestCountIsExact(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		uncounted := boats()
		for i := range uncounted.Indexes {
			uncounted.Indexes[i].Counted = false
		}
		before, err := version(t, address, uncounted)
		must(t, err)
		for n := range 60 {
			seed(t, before, mixed("a", n+1), mixed("b", n+1))
		}
		one, err := version(t, address, boats())
		must(t, err)
		agree(t, one)
		other, err := version(t, address, boats())
		must(t, err)
		var group sync.WaitGroup
		for worker, c := range []*document.Collection[boat]{one, other, one, before} {
			group.Go(func() { scramble(t, c, rand.New(rand.NewPCG(7, uint64(worker)))) })
		}
		group.Wait()
		agree(t, one)
		_, err = version(t, address, uncounted)
		must(t, err)
		scramble(t, before, rand.New(rand.NewPCG(8, 8)))
		again, err := version(t, address, boats())
		must(t, err)
		agree(t, again)
	})
}

func scramble(t *testing.T, c *document.Collection[boat], random *rand.Rand) {
	ctx := t.Context()
	owner := func() string { return []string{"a", "b", "c"}[random.IntN(3)] }
	for range 80 {
		b := mixed(owner(), random.IntN(90)+1)
		var err error
		switch random.IntN(7) {
		case 0:
			err = c.Insert(ctx, b)
		case 1:
			err = c.Delete(ctx, b.ID, nil)
		case 2:
			_, err = c.Update(ctx, b.ID, func(old *boat) ([]topic.Message, error) {
				old.Afloat, old.Sunk, old.Owner = !old.Afloat, nil, owner()
				return nil, nil
			})
		case 3:
			_, err = c.Upsert(ctx, b.ID, func(old *boat, _ bool) ([]topic.Message, error) { *old = b; return nil, nil })
		case 4:
			err = c.UpsertMany(ctx, []boat{b, mixed(owner(), random.IntN(90)+1)})
		case 5:
			_, err = c.InsertMany(ctx, []boat{b, mixed(owner(), random.IntN(90)+1)})
		case 6:
			_, err = c.DeleteMany(ctx, find.Query{Where: []find.Condition{find.Eq("owner", b.Owner), find.Eq("afloat", b.Afloat), find.Eq("built", b.Built)}})
		}
		if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
			t.Error(err)
		}
	}
}

func agree(t *testing.T, c *document.Collection[boat]) {
	t.Helper()
	for _, where := range [][]find.Condition{
		{find.Eq("owner", "a")}, {find.In("owner", "a", "c")}, {find.Eq("owner", "nobody")},
		{find.Eq("owner", "b"), find.Eq("afloat", true)}, {find.In("afloat", true, false), find.Eq("owner", "a")},
		{find.Eq("owner", "a"), find.Absent("sunk")}, {find.Eq("owner", "a"), find.Eq("sunk", at(3))},
		{find.Eq("owner", "a"), find.Eq("owner", "b")},
	} {
		page, err := c.Find(t.Context(), find.Query{Where: where})
		must(t, err)
		n, err := c.Count(t.Context(), find.Query{Where: where})
		must(t, err)
		if n != int64(len(page.Items)) {
			t.Errorf("%v: counted %d, found %d", where, n, len(page.Items))
		}
	}
}
