package document_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// wordedBoats has an index of the words in the name of a boat. A boat that is afloat has none.
func wordedBoats() document.Schema[boat] {
	schema := smallBoats()
	schema.Fields = append(schema.Fields,
		document.Field[boat]{Name: "words", Many: true, Value: func(b *boat) any {
			if b.Afloat {
				return nil
			}
			return strings.Fields(strings.ToLower(b.Name))
		}},
		document.Field[boat]{Name: "length", Value: func(b *boat) any { return b.Length }},
		document.Field[boat]{Name: "harbours", Value: func(b *boat) any { return b.Harbours }},
	)
	schema.Indexes = append(schema.Indexes, document.Index{Name: "words", Fields: []string{"words", "length"}, Words: true})
	return schema
}

func moored(owner string, n int, name string) boat {
	b := named(vessel(owner, n), name)
	b.Afloat = false
	return b
}

// withAll returns the boats of owner a that have all words, and checks that Count, Keys and pages find the same.
func withAll(t *testing.T, c *document.Collection[boat], words ...string) string {
	t.Helper()
	q := find.Query{Where: eq(find.All("words", words)), Order: []find.Order{{Field: "length"}}, Scan: "words"}
	page, err := c.Find(t.Context(), q)
	must(t, err)
	if n, err := c.Count(t.Context(), q); err != nil || n != int64(len(page.Items)) {
		t.Errorf("%v: counted %d of %d, %v", words, n, len(page.Items), err)
	}
	if !slices.IsSortedFunc(page.Items, func(a, b boat) int { return compareValues(a.Length, b.Length) }) {
		t.Errorf("%v: not sorted: %s", words, names(page.Items))
	}
	q.Limit = 2
	if some, err := c.Count(t.Context(), q); err != nil || some != int64(min(2, len(page.Items))) {
		t.Errorf("%v: counted %d of at most 2, %v", words, some, err)
	}
	if got := names(pages(t, c, q, func() {})); got != names(page.Items) {
		t.Errorf("%v: pages have %q, want %q", words, got, names(page.Items))
	}
	rows, err := c.Keys(t.Context(), find.Query{Where: q.Where, Order: q.Order, Scan: q.Scan}, "length")
	must(t, err)
	if got := strings.Join(find.Values(rows, func(r find.Row) string { return strings.TrimPrefix(r.Key, "a/") }), " "); got != names(page.Items) {
		t.Errorf("%v: keys are %q, want %q", words, got, names(page.Items))
	}
	return names(page.Items)
}

func TestRecordsAreFoundByAllOfTheirWords(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		c, err := version(t, address, wordedBoats())
		must(t, err)
		afloat := named(vessel("a", 4), "red star")
		seed(t, c, moored("a", 1, "Red Star"), moored("a", 2, "red sun red"), moored("a", 3, ""), afloat, moored("b", 1, "red star"),
			harbours(moored("a", 5, "and or not near 123"), "Kiel"), moored("a", 6, "starred"))
		expect := func(want string, words ...string) {
			t.Helper()
			if got := withAll(t, c, words...); got != want {
				t.Errorf("%v finds %q, want %q", words, got, want)
			}
		}
		expect("0001 0002", "red")
		expect("0001", "star", "red")
		expect("", "star", "sun")
		expect("0005", "or", "and", "not", "near", "123")
		expect("", "kiel")
		var many []string
		for n := range 300 {
			many = append(many, fmt.Sprintf("w%d", n))
		}
		seed(t, c, moored("a", 8, strings.Join(many, " ")))
		expect("0008", many...)
		page, err := c.Find(ctx, find.Query{Where: eq(find.All("words", []string{"and"}), find.Has("harbours", "Kiel", "Oslo")), Scan: "words"})
		if must(t, err); names(page.Items) != "0005" {
			t.Errorf("with another list: %q", names(page.Items))
		}

		_, err = c.Change(ctx, "a/0001", func(b *boat) error { b.Name = "blue star"; return nil })
		must(t, err)
		_, err = c.Change(ctx, "a/0004", func(b *boat) error { b.Afloat = false; return nil })
		must(t, err)
		expect("0002 0004", "red")
		expect("0001 0004", "star")
		must(t, c.UpdateMany(ctx, []string{"a/0002", "a/0004"}, func(items []*boat) (map[string][]topic.Message, error) {
			items[0].Name, items[1].Afloat = "green", true
			return nil, nil
		}))
		expect("", "red")
		expect("0002", "green")
		must(t, c.UpsertMany(ctx, []boat{moored("a", 1, "red"), moored("a", 7, "red")}))
		expect("0007 0001", "red")
		must(t, c.Delete(ctx, "a/0001", nil))
		expect("0007", "red")
		n, err := c.DeleteMany(ctx, find.Query{Where: eq(find.All("words", []string{"red"})), Scan: "words"})
		if must(t, err); n != 1 {
			t.Errorf("deleted %d", n)
		}
		expect("", "red")
		expect("", "star")
	})
}

func TestFindByWordsAgreesWithPlainGo(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		c, err := version(t, address, wordedBoats())
		must(t, err)
		seedOfRun := rand.Uint64()
		r := rand.New(rand.NewPCG(seedOfRun, 0))
		some := func(n int) (words []string) {
			for range n {
				words = append(words, fmt.Sprintf("w%d", r.IntN(6)))
			}
			return words
		}
		stored := map[string]boat{}
		for range 60 {
			for range 1 + r.IntN(4) {
				b := moored("a", 1+r.IntN(30), strings.Join(some(r.IntN(5)), " "))
				b.Afloat = r.IntN(9) == 0
				if _, is := stored[b.ID]; is && r.IntN(4) == 0 {
					must(t, c.Delete(t.Context(), b.ID, nil))
					delete(stored, b.ID)
					continue
				}
				seed(t, c, b)
				stored[b.ID] = b
			}
			words := some(1 + r.IntN(3))
			var want []string
			for id, b := range stored {
				has := strings.Fields(b.Name)
				if !b.Afloat && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) }) {
					want = append(want, strings.TrimPrefix(id, "a/"))
				}
			}
			if got := sorted(withAll(t, c, words...)); got != sorted(strings.Join(want, " ")) {
				t.Fatalf("seed %d: %v finds %q, want %q", seedOfRun, words, got, sorted(strings.Join(want, " ")))
			}
		}
	})
}

func TestMigrateFillsAndDropsAnIndexOfWords(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		old, err := version(t, address, smallBoats())
		must(t, err)
		seed(t, old, moored("a", 1, "red star"), moored("a", 2, "red"))
		now, err := version(t, address, wordedBoats())
		must(t, err)
		if got := withAll(t, now, "red"); got != "0001 0002" {
			t.Errorf("after the migration: %q", got)
		}
		again, err := version(t, address, wordedBoats())
		must(t, err)
		if got := withAll(t, again, "star"); got != "0001" {
			t.Errorf("after a second migration: %q", got)
		}
		former, err := version(t, address, smallBoats())
		must(t, err)
		seed(t, former, moored("a", 2, "blue"), moored("a", 3, "red"))
		must(t, former.Delete(t.Context(), "a/0001", nil))
		again, err = version(t, address, wordedBoats())
		must(t, err)
		if got := withAll(t, again, "red"); got != "0003" {
			t.Errorf("after a former program has written: %q", got)
		}
	})
}

func TestAnIndexOfWordsNeedsAllOfSomeWords(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		c, err := version(t, address, wordedBoats())
		must(t, err)
		red := find.All("words", []string{"red"})
		for name, q := range map[string]find.Query{
			"no scan":         {Where: []find.Condition{red}},
			"another index":   {Where: eq(red), Scan: "owner"},
			"two conditions":  {Where: eq(red, red), Scan: "words"},
			"no condition":    {Where: eq(), Scan: "words"},
			"one of them":     {Where: eq(find.Has("words", "red")), Scan: "words"},
			"one, unscanned":  {Where: []find.Condition{find.Has("words", "red")}},
			"not a word":      {Where: eq(find.All("words", []string{`red" OR "star`})), Scan: "words"},
			"not a text":      {Where: eq(find.Condition{Field: "words", Op: find.OpAll, Values: []any{1}}), Scan: "words"},
			"another field":   {Where: eq(find.All("harbours", []string{"kiel"})), Scan: "words"},
			"not of a list":   {Where: eq(find.All("length", []string{"red"})), Scan: "words"},
			"sorted by words": {Where: eq(red), Scan: "words", Order: []find.Order{{Field: "words"}}},
		} {
			t.Run(name, func(t *testing.T) {
				if _, err := c.Find(t.Context(), q); !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "query of boats") {
					t.Errorf("got %v", err)
				}
			})
		}
		none, err := c.Find(t.Context(), find.Query{Where: eq(find.All("words", nil)), Scan: "words"})
		if err != nil || len(none.Items) > 0 {
			t.Errorf("without words: %v, %v", none.Items, err)
		}
	})
}
