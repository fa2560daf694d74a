package document_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Benchmarks run over 100,000 records, on SQLite in a temporary folder.
const benchRecords = 100_000

func benchFleet(b *testing.B) *document.Collection[boat] {
	b.Helper()
	_, c := fleet(b, "sqlite:"+b.TempDir())
	items := make([]boat, 0, 10_000)
	for n := 1; n <= benchRecords; n++ {
		items = append(items, harbours(vessel("a", n), "Kiel"))
		if len(items) == cap(items) {
			seed(b, c, items...)
			items = items[:0]
		}
	}
	return c
}

func BenchmarkOperations(b *testing.B) {
	c := benchFleet(b)
	var next atomic.Int64
	next.Store(benchRecords)
	fresh := func() boat { return harbours(vessel("a", int(next.Add(1))), "Kiel") }
	key := func(n int) string { return fmt.Sprintf("a/%04d", n%benchRecords+1) }
	message := func(b *boat) ([]topic.Message, error) {
		b.Length++
		return []topic.Message{sailed{b.ID, 1}}, nil
	}
	newest := find.Query{Where: eq(), Order: []find.Order{{Field: "built", Descending: true}}, Limit: 50}
	deep := newest
	deep.Offset = 50_000
	behind := newest
	if page, err := c.Find(b.Context(), find.Query{Where: newest.Where, Order: newest.Order, Limit: 50_000}); err != nil {
		b.Fatal(err)
	} else {
		behind.After = page.Next
	}
	for _, bench := range []struct {
		name string
		run  func(n int) error
	}{
		{"get", func(n int) error { _, err := c.Get(b.Context(), key(n)); return err }},
		{"insert", func(int) error { return c.Insert(b.Context(), fresh()) }},
		{"insert with a message", func(int) error { return c.Insert(b.Context(), fresh(), sailed{"a", 1}) }},
		{"update with a message", func(n int) error { _, err := c.Update(b.Context(), key(n), message); return err }},
		{"insert 500 at once", func(int) error {
			items := make([]boat, 500)
			for i := range items {
				items[i] = fresh()
			}
			_, err := c.InsertMany(b.Context(), items)
			return err
		}},
		{"upsert 500 at once", func(n int) error {
			items := make([]boat, 500)
			for i := range items {
				items[i] = harbours(vessel("a", n*500%benchRecords+i+1), "Kiel")
			}
			return c.UpsertMany(b.Context(), items)
		}},
		{"find first page of 50", func(int) error { _, err := c.Find(b.Context(), newest); return err }},
		{"find 50 at offset 50000", func(int) error { _, err := c.Find(b.Context(), deep); return err }},
		{"find 50 behind position 50000", func(int) error { _, err := c.Find(b.Context(), behind); return err }},
		{"find 50 of a list", func(int) error {
			_, err := c.Find(b.Context(), find.Query{Where: eq(find.Has("harbours", "Kiel")), Order: newest.Order, Limit: 50})
			return err
		}},
		{"count 100000", func(int) error { _, err := c.Count(b.Context(), find.Query{Where: eq()}); return err }},
		{"scan 100000 for a text", func(int) error {
			_, err := c.Find(b.Context(), find.Query{Where: eq(find.Text("name", find.Substring, "NO SUCH", true)), Scan: "owner_name", Limit: 50})
			return err
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				must(b, bench.run(n))
			}
		})
	}
	b.Run("insert by 32 at once", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := c.Insert(b.Context(), fresh()); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// A record with 750 values in a list. Each update replaces one.
func BenchmarkManyValues(b *testing.B) {
	_, c := fleet(b, "sqlite:"+b.TempDir())
	many := vessel("a", 1)
	for n := range 750 {
		many.Harbours = append(many.Harbours, fmt.Sprintf("harbour %d", n))
	}
	must(b, c.Insert(b.Context(), many))
	for n := 0; b.Loop(); n++ {
		_, err := c.Update(b.Context(), many.ID, func(v *boat) ([]topic.Message, error) {
			v.Harbours = append(v.Harbours[1:], fmt.Sprintf("another %d", n))
			return nil, nil
		})
		must(b, err)
	}
}

// A collection without unique indexes and lists, such as a log.
func BenchmarkLog(b *testing.B) {
	db := open(b, "sqlite:"+b.TempDir())
	rows := document.Declare(db, document.Schema[berth]{
		Name: "berths", Shard: document.Whole("a test"), Key: func(r *berth) string { return r.Boat },
		Fields:  []document.Field[berth]{{Name: "harbour", Value: func(r *berth) any { return r.Harbour }}},
		Indexes: []document.Index{{Name: "harbour", Fields: []string{"harbour"}}},
	})
	migrate(b, db)
	n := 0
	for b.Loop() {
		items := make([]berth, 500)
		for i := range items {
			n++
			items[i] = berth{Boat: fmt.Sprint(n), Harbour: "Kiel"}
		}
		_, err := rows.InsertMany(b.Context(), items)
		must(b, err)
	}
}
