package document_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// ticket is a record with a number that counts up in its queue.
type ticket struct {
	ID     string `json:"id"`
	Queue  string `json:"queue"`
	Number int64  `json:"number"`
}

func tickets(numbered bool) document.Schema[ticket] {
	return document.Schema[ticket]{
		Name: "tickets", Shard: document.Whole("a test"), Key: func(t *ticket) string { return t.ID },
		Fields: []document.Field[ticket]{
			{Name: "queue", Value: func(t *ticket) any { return t.Queue }},
			{Name: "number", Value: func(t *ticket) any { return t.Number }},
		},
		Indexes: []document.Index{{Name: "queue_number", Fields: []string{"queue", "number"}, Counted: true, Numbered: numbered}},
	}
}

// A page at any offset of a numbered index has the records that a slice has there: with gaps, after deletions, after
// numbers that changed, in both directions, and for records that were stored before the index was numbered.
func TestOffsetsOfANumberedIndex(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		random := rand.New(rand.NewPCG(3, 5))
		ctx := t.Context()
		before, err := version(t, address, tickets(false))
		must(t, err)
		stored := map[string]ticket{}
		put := func(c *document.Collection[ticket], n int) {
			var some []ticket
			for range n {
				made := ticket{ID: fmt.Sprintf("t%06d", len(stored)), Queue: []string{"a", "b"}[random.IntN(2)], Number: int64(5*len(stored) + random.IntN(5))}
				stored[made.ID], some = made, append(some, made)
			}
			must(t, c.UpsertMany(ctx, some))
		}
		put(before, 2500)
		c, err := version(t, address, tickets(true))
		must(t, err)
		put(c, 2500)
		for i, id := range sortedKeys(stored) {
			switch {
			case i%7 == 0 || 600 < i && i < 1100: // a block and more is empty
				must(t, c.Delete(ctx, id, nil))
				delete(stored, id)
			case i%11 == 0:
				moved := stored[id]
				moved.Number, moved.Queue = int64(random.IntN(30000)), "a"
				_, err := c.Update(ctx, id, func(old *ticket) ([]topic.Message, error) { *old = moved; return nil, nil })
				must(t, err)
				stored[id] = moved
			}
		}
		for _, queue := range []string{"a", "b", "nobody"} {
			var want []ticket
			for _, id := range sortedKeys(stored) {
				if stored[id].Queue == queue {
					want = append(want, stored[id])
				}
			}
			slices.SortStableFunc(want, func(a, b ticket) int { return int(a.Number - b.Number) })
			n, err := c.Count(ctx, find.Query{Where: []find.Condition{find.Eq("queue", queue)}})
			must(t, err)
			if n != int64(len(want)) {
				t.Fatalf("queue %s: %d records are counted, %d are stored", queue, n, len(want))
			}
			for _, descending := range []bool{false, true} {
				// MongoDB has an offset of 64 bits, and its double in these tests one of 32 bits.
				for _, offset := range []int{0, 1, 1023, 1024, 1025, len(want) / 2, len(want) - 3, len(want), len(want) + 1, 1 << 30, 1024 + random.IntN(1000)} {
					page, err := c.Find(ctx, find.Query{
						Where: []find.Condition{find.Eq("queue", queue)}, Order: []find.Order{{Field: "number", Descending: descending}}, Limit: 5, Offset: max(offset, 0),
					})
					must(t, err)
					from := min(max(offset, 0), len(want))
					part := want[from:min(from+5, len(want))]
					if !slices.Equal(page.Items, part) || (page.Next == "") != (from+5 >= len(want)) {
						t.Errorf("queue %s from %d: %v, next %q; want %v", queue, offset, page.Items, page.Next, part)
					}
				}
				slices.Reverse(want)
			}
		}
	})
}

// Of records that were deleted, no table of SQLite keeps a row: numbers count up, so blocks would become more for ever.
func TestDeletedRecordsAreNotCounted(t *testing.T) {
	folder := t.TempDir()
	c, err := version(t, "sqlite:"+folder, tickets(true))
	must(t, err)
	some := make([]ticket, 3000)
	for i := range some {
		some[i] = ticket{ID: fmt.Sprintf("t%06d", i), Queue: "a", Number: int64(i)}
	}
	must(t, c.UpsertMany(t.Context(), some))
	files, err := filepath.Glob(filepath.Join(folder, "*.db"))
	must(t, err)
	db, err := sql.Open("sqlite", files[0])
	must(t, err)
	defer db.Close()
	counts := func() (n, rows int) {
		must(t, db.QueryRowContext(t.Context(), `SELECT COALESCE(SUM(n), 0), COUNT(*) FROM "tickets.queue_number.count"`).Scan(&n, &rows))
		return n, rows
	}
	if n, rows := counts(); n != len(some) || rows != 3 {
		t.Errorf("%d records are counted in %d rows", n, rows)
	}
	for _, each := range some {
		must(t, c.Delete(t.Context(), each.ID, nil))
	}
	if n, rows := counts(); n != 0 || rows != 0 {
		t.Errorf("%d records are counted in %d rows after all were deleted", n, rows)
	}
}

func sortedKeys(of map[string]ticket) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
