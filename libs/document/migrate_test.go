package document_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// version declares the boats as one version of the program, and migrates.
func version[T any](t *testing.T, address string, schema document.Schema[T]) (*document.Collection[T], error) {
	t.Helper()
	db := open(t, address)
	c := document.Declare(db, schema)
	return c, db.Migrate(t.Context())
}

func smallBoats() document.Schema[boat] {
	return document.Schema[boat]{
		Shard:  document.Whole("a test"),
		Name:   "boats",
		Key:    func(b *boat) string { return b.ID },
		Fields: []document.Field[boat]{{Name: "owner", Value: func(b *boat) any { return b.Owner }}},
		Indexes: []document.Index{
			{Name: "owner", Fields: []string{"owner"}},
		},
	}
}

func TestMigrateFillsInNewFields(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		old, err := version(t, address, smallBoats())
		must(t, err)
		var items []boat
		for n := 1; n <= 1200; n++ {
			items = append(items, mixed("a", n))
		}
		must(t, old.UpsertMany(ctx, items))

		now, err := version(t, address, boats())
		must(t, err)
		for _, test := range []struct {
			q    find.Query
			want int64
		}{
			{find.Query{Where: eq(find.Lte("built", at(100)))}, 504},
			{find.Query{Where: eq(find.Absent("sunk"))}, 300},
			{find.Query{Where: eq(find.Has("harbours", "Oslo"))}, 600},
			{find.Query{Where: eq(find.Absent("harbours"))}, 600},
		} {
			n, err := now.Count(ctx, test.q)
			must(t, err)
			if n != test.want {
				t.Errorf("%v: %d, want %d", test.q.Where, n, test.want)
			}
		}
		taken := vessel("a", 77)
		taken.ID = "taken"
		if err := now.Insert(ctx, taken); document.ViolatedIndex(err) != "owner_number" {
			t.Errorf("the new unique index does not contain the stored records: %v", err)
		}
		// The former version works at the same time.
		must(t, old.Insert(ctx, vessel("b", 1)))
	})
}

func TestMigrateFillsInRevisedFields(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		schema := smallBoats()
		old, err := version(t, address, schema)
		must(t, err)
		must(t, old.Insert(ctx, vessel("a", 1), sailed{"a", 1}))
		schema.Fields = []document.Field[boat]{{Name: "owner", Revision: 1, Value: func(b *boat) any { return strings.ToUpper(b.Owner) }}}
		now, err := version(t, address, schema)
		must(t, err)
		page, err := now.Find(ctx, find.Query{Where: []find.Condition{find.Eq("owner", "A")}})
		must(t, err)
		if len(page.Items) != 1 {
			t.Errorf("found %v under the revised value", page.Items)
		}
		if _, err := now.Update(ctx, "a/0001", func(b *boat) ([]topic.Message, error) { b.Name = "x"; return nil, nil }); err != nil {
			t.Errorf("a record with a computed field cannot be updated: %v", err)
		}
	})
}

func TestMigrateChangesIndexes(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		first := boats()
		old, err := version(t, address, first)
		must(t, err)
		seed(t, old, vessel("a", 1), vessel("a", 2), harbours(vessel("b", 1), "Kiel"))

		second := boats()
		second.Indexes = []document.Index{
			{Name: "owner_number", Fields: []string{"name", "owner"}, Unique: true}, // other fields
			{Name: "owner_built", Fields: []string{"owner", "built", "number"}},     // one more
			{Name: "owner_name", Fields: []string{"owner", "name"}, Unique: true},   // unique now
			{Name: "owner_harbours_built", Fields: []string{"harbours"}},            // an index of a list, changed
		}
		now, err := version(t, address, second)
		must(t, err)
		sameNumber := vessel("a", 1)
		sameNumber.ID, sameNumber.Name = "x", "unheard of"
		must(t, now.Insert(ctx, sameNumber))
		sameName := vessel("a", 9)
		sameName.Name = "Boat 1"
		if err := now.Insert(ctx, sameName); !slices.Contains([]string{"owner_name", "owner_number"}, document.ViolatedIndex(err)) {
			t.Errorf("a taken name: %v", err)
		}
		n, err := now.Count(ctx, find.Query{Where: []find.Condition{find.Has("harbours", "Kiel")}})
		must(t, err)
		if n != 1 {
			t.Errorf("the changed index of a list finds %d", n)
		}
		// A query of the first version by a dropped index fails.
		if _, err := old.Find(ctx, find.Query{Where: eq(find.Eq("afloat", true))}); err == nil && strings.HasPrefix(address, "sqlite") {
			t.Error("a dropped index still serves")
		}

		// Back to the first version: the stored records violate its unique index.
		if _, err = version(t, address, boats()); !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "owner_number") {
			t.Errorf("a violated unique index: %v", err)
		}
		must(t, now.Delete(ctx, "x", nil))
		_, err = version(t, address, boats())
		must(t, err)
	})
}

// rawBoats returns the collections of the boats and of the declarations in MongoDB.
func rawBoats(t *testing.T, address string) (boats, declared *mongo.Collection) {
	t.Helper()
	at := strings.LastIndex(address, "/")
	client, err := mongo.Connect(options.Client().ApplyURI(address[:at]))
	must(t, err)
	t.Cleanup(func() { must(t, client.Disconnect(context.Background())) })
	db := client.Database(address[at+1:] + "_conformance")
	return db.Collection("boats"), db.Collection("_declared")
}

// TestAnUpgradeWithProcessesOfTheFormerVersion writes records with a former declaration after the migration. A process of a
// version before the stamps writes none.
func TestAnUpgradeWithProcessesOfTheFormerVersion(t *testing.T) {
	onShared(t, func(t *testing.T, address string) {
		ctx := t.Context()
		start := func(schema document.Schema[boat], settleAfter ...time.Duration) (*document.Database, *document.Collection[boat]) {
			t.Helper()
			db, err := document.Open(address, "conformance", document.Options{SettleAfter: append([]time.Duration{}, settleAfter...)})
			must(t, err)
			t.Cleanup(func() { must(t, db.Close()) })
			c := document.Declare(db, schema)
			migrate(t, db)
			return db, c
		}
		raw, declared := rawBoats(t, address)
		indexes := func() (names []string) {
			t.Helper()
			cursor, err := raw.Indexes().List(ctx)
			must(t, err)
			var found []struct{ Name string }
			must(t, cursor.All(ctx, &found))
			return find.Values(found, func(ix struct{ Name string }) string { return ix.Name })
		}
		oldDB, old := start(smallBoats(), 0, 10*time.Millisecond, time.Second)
		for n := 1; n <= 4; n++ {
			must(t, old.Insert(ctx, vessel("a", n)))
		}
		schema := smallBoats()
		schema.Fields[0] = document.Field[boat]{Name: "owner", Revision: 1, Value: func(b *boat) any { return strings.ToUpper(b.Owner) }}
		schema.Fields = append(schema.Fields, document.Field[boat]{Name: "length", Value: func(b *boat) any { return b.Length }})
		schema.Indexes = []document.Index{{Name: "owner_length", Fields: []string{"owner", "length"}}}
		newDB, now := start(schema, 0)
		if got := indexes(); !slices.Contains(got, "owner") || !slices.Contains(got, "owner_length") {
			t.Errorf("the indexes are %v", got)
		}
		must(t, old.Insert(ctx, vessel("b", 1)))
		_, err := old.Update(ctx, "a/0001", func(b *boat) ([]topic.Message, error) { b.Length = 77; return nil, nil })
		must(t, err)
		must(t, old.UpsertMany(ctx, []boat{vessel("a", 2)}))
		_, err = raw.UpdateByID(ctx, "a/0003", bson.D{{Key: "$set", Value: bson.D{{Key: "f", Value: bson.D{{Key: "owner", Value: "a"}}}}}})
		must(t, err)
		count := func(conditions ...find.Condition) int64 {
			t.Helper()
			n, err := now.Count(ctx, find.Query{Where: conditions})
			must(t, err)
			return n
		}
		if n := count(find.Eq("owner", "A")); n != 1 {
			t.Fatalf("%d records have the present fields before", n)
		}
		nobody := func(context.Context, []stream.Record) error { return nil }
		run(t, newDB, nobody)
		eventually(t, "all records have the present fields", func() bool { return count(find.Eq("owner", "A")) == 4 && count(find.Eq("owner", "B")) == 1 })
		if n := count(find.Eq("owner", "A"), find.Eq("length", 77.0)); n != 1 {
			t.Errorf("%d records have the length of the last write", n)
		}
		run(t, oldDB, nobody) // a former process does not bring its fields back
		must(t, old.Insert(ctx, vessel("b", 2)))
		start(schema)
		if n := count(find.Eq("owner", "A")); n != 4 {
			t.Errorf("%d records have the present fields after", n)
		}

		_, err = declared.UpdateByID(ctx, "boats", bson.D{{Key: "$set", Value: bson.D{{Key: "unused.0.since", Value: time.Now().Add(-25 * time.Hour)}}}})
		must(t, err)
		start(schema)
		if got := indexes(); slices.Contains(got, "owner") || !slices.Contains(got, "owner_length") {
			t.Errorf("a day later the indexes are %v", got)
		}
		schema.Indexes[0].Name = "renamed" // MongoDB has no two indexes of the same fields
		start(schema)
		if got := indexes(); slices.Contains(got, "owner_length") || !slices.Contains(got, "renamed") {
			t.Errorf("with another name the indexes are %v", got)
		}
	})
}

// A record of one collection whose fields cannot be computed does not keep those of another collection from being computed.
func TestAnUpgradeGoesOnAfterAWrongRecord(t *testing.T) {
	onShared(t, func(t *testing.T, address string) {
		start := func(owner func(b *boat) any, revision int) (db *document.Database, first, second *document.Collection[boat]) {
			t.Helper()
			db, err := document.Open(address, "conformance", document.Options{SettleAfter: []time.Duration{0, time.Hour}})
			must(t, err)
			t.Cleanup(func() { must(t, db.Close()) })
			schema := smallBoats()
			schema.Fields = []document.Field[boat]{{Name: "owner", Revision: revision, Value: owner}}
			first = document.Declare(db, schema)
			schema.Name = "ferries"
			second = document.Declare(db, schema)
			migrate(t, db)
			return db, first, second
		}
		_, oldBoats, oldFerries := start(func(b *boat) any { return b.Owner }, 0)
		must(t, oldBoats.Insert(t.Context(), vessel("a", 1))) // else there is no former version
		db, _, ferries := start(func(b *boat) any { return strings.ToUpper(b.Owner) }, 1)
		must(t, oldBoats.Insert(t.Context(), vessel("a", 2)))
		must(t, oldFerries.Insert(t.Context(), vessel("a", 3)))
		raw, _ := rawBoats(t, address)
		_, err := raw.UpdateByID(t.Context(), "a/0002", bson.D{{Key: "$set", Value: bson.D{{Key: "b", Value: []byte("{")}}}})
		must(t, err)
		run(t, db, func(context.Context, []stream.Record) error { return nil })
		eventually(t, "the other collection has the present fields", func() bool {
			n, err := ferries.Count(t.Context(), find.Query{Where: []find.Condition{find.Eq("owner", "A")}})
			return err == nil && n == 1
		})
	})
}

// MongoDB refuses a record with two multi-valued fields in one index. A former index of two fields that are multi-valued now
// does not stay.
func TestMigrateDropsAnIndexThatRefusesRecordsAtOnce(t *testing.T) {
	onShared(t, func(t *testing.T, address string) {
		schema := smallBoats()
		schema.Fields = append(schema.Fields, document.Field[boat]{Name: "name", Value: func(b *boat) any { return b.Name }})
		schema.Indexes = []document.Index{{Name: "pair", Fields: []string{"owner", "name"}}}
		old, err := version(t, address, schema)
		must(t, err)
		must(t, old.Insert(t.Context(), vessel("a", 1)))
		schema.Fields = []document.Field[boat]{
			{Name: "owner", Revision: 1, Value: func(b *boat) any { return []string{b.Owner, "all"} }},
			{Name: "name", Revision: 1, Value: func(b *boat) any { return []string{b.Name, "all"} }},
		}
		schema.Indexes = []document.Index{{Name: "owners", Fields: []string{"owner"}}}
		now, err := version(t, address, schema)
		must(t, err)
		must(t, now.Insert(t.Context(), vessel("a", 2)))
		raw, _ := rawBoats(t, address)
		list, err := raw.Indexes().ListSpecifications(t.Context())
		must(t, err)
		if slices.ContainsFunc(list, func(ix mongo.IndexSpecification) bool { return ix.Name == "pair" }) {
			t.Error("the index is there")
		}
	})
}

func TestMigrateOfSeveralProcesses(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		old, err := version(t, address, smallBoats())
		must(t, err)
		for n := 1; n <= 300; n++ {
			seed(t, old, vessel("a", n))
		}
		var processes sync.WaitGroup
		for n := range 4 {
			db := open(t, address)
			c := document.Declare(db, boats())
			processes.Go(func() {
				if err := db.Migrate(t.Context()); err != nil {
					t.Errorf("process %d: %v", n, err)
					return
				}
				count, err := c.Count(t.Context(), find.Query{Where: eq(find.Lte("built", at(300)))})
				if err != nil || count != 300 {
					t.Errorf("process %d finds %d, %v", n, count, err)
				}
			})
		}
		processes.Wait()
	})
}

func TestDeclareRefusesContradictions(t *testing.T) {
	for name, change := range map[string]func(*document.Schema[boat]){
		"no name":          func(s *document.Schema[boat]) { s.Name = "" },
		"no key":           func(s *document.Schema[boat]) { s.Key = nil },
		"a field twice":    func(s *document.Schema[boat]) { s.Fields = append(s.Fields, s.Fields[0]) },
		"an unknown field": func(s *document.Schema[boat]) { s.Indexes[0].Fields = []string{"colour"} },
		"an empty index":   func(s *document.Schema[boat]) { s.Indexes[0].Fields = nil },
		"an index twice":   func(s *document.Schema[boat]) { s.Indexes = append(s.Indexes, s.Indexes[0]) },
		"the same fields": func(s *document.Schema[boat]) {
			s.Indexes = append(s.Indexes, document.Index{Name: "again", Fields: s.Indexes[1].Fields, Unique: true})
		},
		"a counted list":    func(s *document.Schema[boat]) { s.Indexes[5].Counted = true },
		"nothing to count":  func(s *document.Schema[boat]) { s.Indexes[6].Counted = true },
		"numbers uncounted": func(s *document.Schema[boat]) { s.Indexes[1].Numbered = true },
		"words of no list":  func(s *document.Schema[boat]) { s.Indexes[1].Words = true },
		"unique words": func(s *document.Schema[boat]) {
			s.Indexes = append(s.Indexes, document.Index{Name: "words", Fields: []string{"harbours"}, Words: true, Unique: true})
		},
		"no shard key":            func(s *document.Schema[boat]) { s.Shard = document.Shard{} },
		"an unknown shard key":    func(s *document.Schema[boat]) { s.Shard = document.By("colour") },
		"a shard key of a list":   func(s *document.Schema[boat]) { s.Shard = document.By("harbours") },
		"unique beside the key":   func(s *document.Schema[boat]) { s.Shard, s.Indexes = document.ByKey(), s.Indexes[:1] },
		"unique in another order": func(s *document.Schema[boat]) { s.Shard, s.Indexes = document.By("number"), s.Indexes[:1] },
		"an index of all shards":  func(s *document.Schema[boat]) { s.Shard = document.By("owner") }, // its index "length" has no Scatter
		"a reason for one shard":  func(s *document.Schema[boat]) { s.Indexes[6].Scatter = "a test" },
		"a reason without need": func(s *document.Schema[boat]) {
			s.Shard, s.Indexes = document.By("owner"), s.Indexes[:6]
			s.Indexes[1].Scatter = "a test"
		},
		"a malformed field": func(s *document.Schema[boat]) { s.Fields[0].Name = `x"; --` },
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, "sqlite:"+t.TempDir())
			schema := boats()
			change(&schema)
			defer func() {
				if recover() == nil {
					t.Error("it was accepted")
				}
			}()
			document.Declare(db, schema)
		})
	}
}

// A query of a sharded collection has an equality on the shard key, or an index that declares why it asks every shard.
func TestQueriesOfAShardedCollection(t *testing.T) {
	where := func(conditions ...find.Condition) []find.Condition { return conditions }
	onEach(t, func(t *testing.T, address string) {
		db := open(t, address)
		schema := boats()
		schema.Shard = document.By("owner")
		schema.Indexes[1].Fields = []string{"built", "owner"}
		schema.Indexes[6].Scatter = "a test"
		c := document.Declare(db, schema)
		migrate(t, db)
		must(t, c.Insert(t.Context(), vessel("a", 1)))
		for name, test := range map[string]struct {
			q      find.Query
			served bool
		}{
			"one owner":              {find.Query{Where: where(find.Eq("owner", "a"))}, true},
			"several owners":         {find.Query{Where: where(find.In("owner", "a", "b"))}, true},
			"owner of another index": {find.Query{Where: where(find.Eq("built", vessel("a", 1).Built), find.Eq("owner", "a"))}, true},
			"declared":               {find.Query{Where: where(find.Gte("length", 0.0))}, true},
			"all":                    {find.Query{}, true},
			"range of owners":        {find.Query{Where: where(find.Gte("owner", "a"))}, false},
			"without owner":          {find.Query{Where: where(find.Eq("built", vessel("a", 1).Built))}, false},
			"examined":               {find.Query{Where: where(find.Gte("length", 0.0), find.Eq("built", vessel("a", 1).Built)), Scan: "owner_built"}, false},
		} {
			page, err := c.Find(t.Context(), test.q)
			if test.served && (err != nil || len(page.Items) != 1) || !test.served && (err == nil || !strings.Contains(err.Error(), "every shard")) {
				t.Errorf("%s: %d, %v", name, len(page.Items), err)
			}
		}
	})
}
