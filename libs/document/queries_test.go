package document_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

func names(items []boat) string {
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = strings.TrimPrefix(items[i].ID, "a/")
	}
	return strings.Join(ids, " ")
}

func sunkAt(b boat, at time.Time) boat     { b.Sunk = &at; return b }
func named(b boat, name string) boat       { b.Name = name; return b }
func harbours(b boat, list ...string) boat { b.Harbours = list; return b }
func unnumbered(b boat) boat               { b.Number = 0; return b }
func sorted(list string) string {
	f := strings.Fields(list)
	slices.Sort(f)
	return strings.Join(f, " ")
}
func at(minutes int) time.Time { return launch.Add(time.Duration(minutes) * time.Minute) }
func eq(conditions ...find.Condition) []find.Condition {
	return append([]find.Condition{find.Eq("owner", "a")}, conditions...)
}

func TestFindEveryOperation(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, c := fleet(t, address)
		seed(t, c,
			harbours(named(vessel("a", 1), "Straße"), "Kiel", "Oslo"),
			harbours(named(vessel("a", 2), "STRASSE"), "Kiel"),
			sunkAt(named(vessel("a", 3), "Ærø 100%_.*"), at(3)),
			sunkAt(harbours(named(unnumbered(vessel("a", 4)), "ærø"), "Oslo", "Bergen"), at(9)),
			named(unnumbered(vessel("a", 5)), "Σίσυφος"),
			named(vessel("a", 6), "ΣΊΣΥΦΟΣ\n"),
			named(vessel("a", 7), "\u212Aelvin"), // the Kelvin sign folds to k
			vessel("b", 1), harbours(vessel("b", 2), "Kiel"))
		built := []find.Order{{Field: "built"}}
		for _, test := range []struct {
			name string
			q    find.Query
			want string
		}{
			{"all", find.Query{}, "0001 0002 0003 0004 0005 0006 0007 b/0001 b/0002"},
			{"eq", find.Query{Where: eq(), Order: built}, "0001 0002 0003 0004 0005 0006 0007"},
			{"eq bool", find.Query{Where: eq(find.Eq("afloat", true)), Order: built}, "0002 0004 0006"},
			{"eq number", find.Query{Where: eq(find.Eq("number", 2))}, "0002"},
			{"eq time below a millisecond", find.Query{Where: eq(find.Eq("built", at(2).Add(999*time.Microsecond)))}, "0002"},
			{"eq float", find.Query{Where: []find.Condition{find.Eq("length", 2.0)}}, "0002 b/0002"},
			{"eq absent", find.Query{Where: eq(find.Eq("number", nil))}, "0004 0005"},
			{"in", find.Query{Where: eq(find.In("number", 1, 6, 99, 1))}, "0001 0006"},
			{"in none", find.Query{Where: eq(find.In[int]("number"))}, ""},
			{"in of the prefix, sorted", find.Query{Where: []find.Condition{find.In("owner", "b", "a")}, Order: []find.Order{{Field: "built", Descending: true}}},
				"0007 0006 0005 0004 0003 b/0002 0002 b/0001 0001"},
			{"in of the sorted field", find.Query{Where: eq(find.In("built", at(6), at(2))), Order: []find.Order{{Field: "built", Descending: true}}}, "0006 0002"},
			{"gt", find.Query{Where: eq(find.Gt("built", at(5))), Order: built}, "0006 0007"},
			{"gte", find.Query{Where: eq(find.Gte("built", at(5))), Order: built}, "0005 0006 0007"},
			{"lt", find.Query{Where: eq(find.Lt("built", at(3))), Order: built}, "0001 0002"},
			{"lte", find.Query{Where: eq(find.Lte("built", at(3))), Order: built}, "0001 0002 0003"},
			{"between", find.Query{Where: eq(find.Gt("built", at(2)), find.Lte("built", at(4))), Order: built}, "0003 0004"},
			{"lt disregards absent values", find.Query{Where: eq(find.Lt("sunk", at(100)))}, "0003 0004"},
			{"absent", find.Query{Where: eq(find.Absent("number"))}, "0004 0005"},
			{"present", find.Query{Where: eq(find.Present("sunk"))}, "0003 0004"},
			{"absent and sorted", find.Query{Where: eq(find.Absent("sunk")), Order: []find.Order{{Field: "length", Descending: true}}}, "0006 0005 0002 0001 0007"},
			{"has", find.Query{Where: eq(find.Has("harbours", "Kiel")), Order: built}, "0001 0002"},
			{"has, descending", find.Query{Where: eq(find.Has("harbours", "Oslo")), Order: []find.Order{{Field: "built", Descending: true}}}, "0004 0001"},
			{"has and several times", find.Query{Where: eq(find.Has("harbours", "Kiel"), find.In("built", at(1), at(2), at(3)))}, "0001 0002"},
			{"has any", find.Query{Where: eq(find.Has("harbours", "Kiel", "Oslo")), Order: built}, "0001 0002 0004"},
			{"has, from an offset", find.Query{Where: eq(find.Has("harbours", "Kiel")), Order: built, Limit: 5, Offset: 1}, "0002"},
			{"has, descending, from an offset", find.Query{Where: eq(find.Has("harbours", "Oslo")), Order: []find.Order{{Field: "built", Descending: true}}, Offset: 1}, "0001"},
			{"absent from the list, from an offset", find.Query{Where: eq(find.Absent("harbours")), Order: []find.Order{{Field: "built", Descending: true}}, Limit: 2, Offset: 1}, "0006 0005"},
			{"has any, descending", find.Query{Where: eq(find.Has("harbours", "Bergen", "Oslo")), Order: []find.Order{{Field: "built", Descending: true}}}, "0004 0001"},
			{"has and after a time", find.Query{Where: eq(find.Has("harbours", "Kiel", "Oslo"), find.Gt("built", at(1))), Order: built}, "0002 0004"},
			{"has both", find.Query{Where: eq(find.Has("harbours", "Kiel", "Bergen"), find.Has("harbours", "Oslo")), Order: built, Scan: "owner_harbours_built"}, "0001 0004"},
			{"has none", find.Query{Where: eq(find.Has[string]("harbours"))}, ""},
			{"has nothing at all", find.Query{Where: eq(find.Absent("harbours")), Order: built}, "0003 0005 0006 0007"},
			{"scan for has", find.Query{Where: eq(find.Has("harbours", "Oslo", "Bergen")), Order: built, Scan: "owner_built"}, "0001 0004"},
			{"scan for a list", find.Query{Where: eq(find.Present("harbours")), Order: built, Scan: "owner_built"}, "0001 0002 0004"},
			{"scan whole", find.Query{Where: eq(find.Text("name", find.Whole, "Straße", false)), Scan: "owner_built"}, "0001"},
			{"whole without folding is an equality", find.Query{Where: eq(find.Text("name", find.Whole, "Straße", false))}, "0001"},
			{"scan whole folded", find.Query{Where: eq(find.Text("name", find.Whole, "strasse", true)), Scan: "owner_built"}, "0002"},
			{"scan whole folded, not ASCII", find.Query{Where: eq(find.Text("name", find.Whole, "ÆRØ", true)), Scan: "owner_built"}, "0004"},
			{"scan whole leaves out a line break", find.Query{Where: eq(find.Text("name", find.Whole, "σίσυφοσ", true)), Scan: "owner_built"}, "0005"},
			{"scan prefix", find.Query{Where: eq(find.Text("name", find.Prefix, "S", false)), Scan: "owner_built"}, "0001 0002"},
			{"scan prefix folded", find.Query{Where: eq(find.Text("name", find.Prefix, "STR", true)), Scan: "owner_built"}, "0001 0002"},
			{"scan prefix folded to ASCII", find.Query{Where: eq(find.Text("name", find.Prefix, "KEL", true)), Scan: "owner_built"}, "0007"},
			{"scan suffix", find.Query{Where: eq(find.Text("name", find.Suffix, "SSE", false)), Scan: "owner_built"}, "0002"},
			{"scan suffix, taken literally", find.Query{Where: eq(find.Text("name", find.Suffix, "%_.*", false)), Scan: "owner_built"}, "0003"},
			{"scan substring folded", find.Query{Where: eq(find.Text("name", find.Substring, "ÍΣΥ", true)), Scan: "owner_built"}, ""},
			{"scan substring folded greek", find.Query{Where: eq(find.Text("name", find.Substring, "ΊσΥ", true)), Scan: "owner_built"}, "0005 0006"},
			{"scan substring", find.Query{Where: eq(find.Text("name", find.Substring, "ø 1", false)), Scan: "owner_built"}, "0003"},
			{"scan with residual conditions and another order", find.Query{Where: eq(find.Eq("afloat", false), find.Gt("length", 0.5)),
				Order: []find.Order{{Field: "name", Descending: true}, {Field: "length"}}, Scan: "owner_built"}, "0005 0003 0001"},
			{"limit and offset", find.Query{Where: eq(), Order: built, Limit: 2, Offset: 3}, "0004 0005"},
			{"offset alone", find.Query{Where: eq(), Order: built, Offset: 5}, "0006 0007"},
			{"offset behind the end", find.Query{Where: eq(), Order: built, Offset: 50, Limit: 2}, ""},
		} {
			t.Run(test.name, func(t *testing.T) {
				page, err := c.Find(t.Context(), test.q)
				must(t, err)
				got, want := names(page.Items), test.want
				if len(test.q.Order) == 0 {
					got, want = sorted(got), sorted(want)
				}
				if got != want {
					t.Errorf("found %q, want %q", got, want)
				}
				counted, err := c.Count(t.Context(), test.q)
				must(t, err)
				if test.q.Limit == 0 && test.q.Offset == 0 && counted != int64(len(page.Items)) {
					t.Errorf("counted %d, found %d", counted, len(page.Items))
				}
			})
		}
	})
}

// A condition may have more values than SQLite accepts parameters.
func TestFindAmongManyValues(t *testing.T) {
	const many = 50_000
	onEach(t, func(t *testing.T, address string) {
		_, c := fleet(t, address)
		seed(t, c, harbours(vessel("a", 1), "Kiel"), harbours(vessel("a", 7), "port 49999", "port 3"), harbours(vessel("a", 600), `port "8"`), vessel("a", 60_000))
		numbers, texts, floats, times := make([]int, 0, 2*many), make([]string, 0, many), make([]float64, 0, many), make([]time.Time, 0, many)
		for n := range many {
			numbers = append(numbers, n, n)
			texts = append(texts, fmt.Sprintf("port %d", n))
			floats = append(floats, 4+float64(n)/2)
			times = append(times, at(n+7))
		}
		texts[8] = `port "8"`
		const some = many / 50 // enough to go as one parameter
		built := []find.Order{{Field: "built"}}
		for _, test := range []struct {
			name string
			q    find.Query
			want string
		}{
			{"in", find.Query{Where: eq(find.In("number", numbers...))}, "0001 0007 0600"},
			{"in, sorted and limited", find.Query{Where: eq(find.In("built", times[:some]...)), Order: built, Limit: 1}, "0007"},
			{"in floats", find.Query{Where: []find.Condition{find.In("length", floats[:some]...)}}, "0600"},
			{"in of the prefix", find.Query{Where: []find.Condition{find.In("owner", append(texts[:some:some], "a")...)}, Order: built}, "0001 0007 0600 60000"},
			{"has", find.Query{Where: eq(find.Has("harbours", texts...)), Order: built, Limit: 5}, "0007 0600"},
			{"has, scanned", find.Query{Where: eq(find.Has("harbours", texts[:some]...)), Order: built, Scan: "owner_built"}, "0007 0600"},
			{"has both", find.Query{Where: eq(find.Has("harbours", texts[:some]...), find.Has("harbours", "port 3")), Order: built, Scan: "owner_harbours_built"}, "0007"},
			{"among texts JSON cannot hold", find.Query{Where: eq(find.In("name", append(texts[:some:some], "a\x00b", "\xff", "Boat 7")...))}, "0007"},
		} {
			t.Run(test.name, func(t *testing.T) {
				page, err := c.Find(t.Context(), test.q)
				must(t, err)
				if got := sorted(names(page.Items)); got != test.want {
					t.Errorf("found %q, want %q", got, test.want)
				}
				if test.q.Limit > 0 {
					return
				}
				if n, err := c.Count(t.Context(), test.q); err != nil || n != int64(len(page.Items)) {
					t.Errorf("counted %d, %v; found %d", n, err, len(page.Items))
				}
			})
		}
		n, err := c.DeleteMany(t.Context(), find.Query{Where: eq(find.In("number", numbers...))})
		if err != nil || n != 3 {
			t.Errorf("deleted %d, %v", n, err)
		}
	})
}

func TestFindRefusesWhatNoIndexServes(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, c := fleet(t, address)
		for _, test := range []struct {
			name string
			q    find.Query
		}{
			{"no such field", find.Query{Where: eq(find.Eq("colour", "red"))}},
			{"no prefix", find.Query{Where: []find.Condition{find.Eq("built", launch)}}},
			{"a residual condition", find.Query{Where: eq(find.Eq("afloat", true), find.Eq("name", "x"))}},
			{"two ranges", find.Query{Where: eq(find.Gt("sunk", launch), find.Gt("length", 1.0))}},
			{"an order beside the index", find.Query{Where: eq(find.Eq("afloat", true)), Order: []find.Order{{Field: "name"}}}},
			{"an order of two directions", find.Query{Where: eq(), Order: []find.Order{{Field: "sunk"}, {Field: "length", Descending: true}}}},
			{"a range before the order", find.Query{Where: eq(find.Gt("sunk", launch)), Order: []find.Order{{Field: "length"}}}},
			{"text without scan", find.Query{Where: eq(find.Text("name", find.Prefix, "a", false))}},
			{"scan outside its prefix", find.Query{Where: []find.Condition{find.Eq("name", "x")}, Scan: "owner_built"}},
			{"scan of no index", find.Query{Where: eq(), Scan: "owner"}},
			{"eq of a list", find.Query{Where: eq(find.Eq("harbours", "Kiel"))}},
			{"has of no list", find.Query{Where: eq(find.Has("name", "Kiel"))}},
			{"an order by a list", find.Query{Where: eq(), Order: []find.Order{{Field: "harbours"}}}},
			{"the index of a list without the list", find.Query{Where: eq(), Scan: "owner_harbours_built"}},
			{"a negative limit", find.Query{Limit: -1}},
			{"a value of no kind", find.Query{Where: eq(find.Eq("name", struct{}{}))}},
			{"an absent value in a list", find.Query{Where: eq(find.In[any]("number", 1, nil))}},
			{"nothing to compare with", find.Query{Where: eq(find.Gt("built", nil))}},
		} {
			t.Run(test.name, func(t *testing.T) {
				_, err := c.Find(t.Context(), test.q)
				if !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "query of boats") {
					t.Errorf("got %v", err)
				}
			})
		}
	})
}

// pages reads a query page by page. It calls between after each page.
func pages(t *testing.T, c *document.Collection[boat], q find.Query, between func()) []boat {
	t.Helper()
	var all []boat
	for {
		page, err := c.Find(context.Background(), q)
		must(t, err)
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		if len(all) > 1000 {
			t.Fatalf("pages go round in circles: %+v", q)
		}
		if len(page.Items) != q.Limit {
			t.Fatalf("a page of %d with a next one, limit %d", len(page.Items), q.Limit)
		}
		q.After = page.Next
		between()
	}
}

// mixed returns a record. Among several, the fields to sort by have equal and absent values.
func mixed(owner string, n int) boat {
	b := vessel(owner, n)
	b.Built = at(n / 5)
	b.Length = float64(n % 3)
	if n%4 != 0 {
		b = sunkAt(b, at(n%5))
	}
	if n%2 == 0 {
		b = harbours(b, "Kiel", "Oslo")
	}
	return b
}

func sunk(b boat) int64 {
	if b.Sunk == nil {
		return -1
	}
	return b.Sunk.UnixMilli()
}

func TestFindPagesAreStable(t *testing.T) {
	orders := []struct {
		name    string
		q       find.Query
		compare func(a, b boat) int
	}{
		{"equal values", find.Query{Where: eq(), Order: []find.Order{{Field: "built"}}},
			func(a, b boat) int { return cmp.Or(a.Built.Compare(b.Built), cmp.Compare(a.ID, b.ID)) }},
		{"equal values descending", find.Query{Where: eq(), Order: []find.Order{{Field: "built", Descending: true}}},
			func(a, b boat) int { return cmp.Or(b.Built.Compare(a.Built), cmp.Compare(b.ID, a.ID)) }},
		{"absent values", find.Query{Where: eq(), Order: []find.Order{{Field: "sunk"}, {Field: "length"}}},
			func(a, b boat) int {
				return cmp.Or(cmp.Compare(sunk(a), sunk(b)), cmp.Compare(a.Length, b.Length), cmp.Compare(a.ID, b.ID))
			}},
		{"absent values descending", find.Query{Where: eq(), Order: []find.Order{{Field: "sunk", Descending: true}}},
			func(a, b boat) int {
				return cmp.Or(cmp.Compare(sunk(b), sunk(a)), cmp.Compare(b.Length, a.Length), cmp.Compare(b.ID, a.ID))
			}},
		{"absent values descending, below a bound", find.Query{Where: eq(find.Lt("sunk", at(1000))), Order: []find.Order{{Field: "sunk", Descending: true}}},
			func(a, b boat) int {
				return cmp.Or(cmp.Compare(sunk(b), sunk(a)), cmp.Compare(b.Length, a.Length), cmp.Compare(b.ID, a.ID))
			}},
		{"several ranges", find.Query{Where: eq(find.In("afloat", true, false)), Order: []find.Order{{Field: "built", Descending: true}}},
			func(a, b boat) int { return cmp.Or(b.Built.Compare(a.Built), cmp.Compare(b.ID, a.ID)) }},
		{"a list", find.Query{Where: eq(find.Has("harbours", "Kiel")), Order: []find.Order{{Field: "built"}}},
			func(a, b boat) int { return cmp.Or(a.Built.Compare(b.Built), cmp.Compare(a.ID, b.ID)) }},
		{"several of a list", find.Query{Where: eq(find.Has("harbours", "Kiel", "Oslo")), Order: []find.Order{{Field: "built", Descending: true}}},
			func(a, b boat) int { return cmp.Or(b.Built.Compare(a.Built), cmp.Compare(b.ID, a.ID)) }},
		{"sorted within a scan", find.Query{Where: eq(), Order: []find.Order{{Field: "length"}, {Field: "sunk", Descending: true}}, Scan: "owner_built"},
			func(a, b boat) int {
				return cmp.Or(cmp.Compare(a.Length, b.Length), cmp.Compare(sunk(b), sunk(a)), cmp.Compare(b.ID, a.ID))
			}},
		{"by key", find.Query{}, func(a, b boat) int { return cmp.Compare(a.ID, b.ID) }},
		{"in the order of the index", find.Query{Where: eq(), Scan: "owner_sunk"}, func(a, b boat) int {
			return cmp.Or(cmp.Compare(sunk(a), sunk(b)), cmp.Compare(a.Length, b.Length), cmp.Compare(a.ID, b.ID))
		}},
	}
	onEach(t, func(t *testing.T, address string) {
		for _, order := range orders {
			t.Run(order.name, func(t *testing.T) {
				ctx := t.Context()
				_, c := fleet(t, address)
				_, err := c.DeleteMany(ctx, find.Query{})
				must(t, err)
				var stay []boat
				for n := 1; n <= 60; n++ {
					stay = append(stay, mixed("a", n))
				}
				seed(t, c, stay...)
				// Between the pages records are added everywhere, and removed again.
				round, extra := 0, ""
				between := func() {
					round++
					if extra != "" {
						must(t, c.Delete(ctx, extra, nil))
					}
					for k := range 3 {
						n := 1000 + 17*round + 5*k
						b := mixed("a", n)
						b.Built, b.ID = at(n%13), fmt.Sprintf("a/%02d+%d", n%60, n)
						must(t, c.Insert(ctx, b))
						extra = b.ID
					}
				}
				q := order.q
				q.Limit = 7
				seen := pages(t, c, q, between)
				if !slices.IsSortedFunc(seen, order.compare) {
					t.Errorf("not sorted: %s", names(seen))
				}
				times := map[string]int{}
				for _, b := range seen {
					times[b.ID]++
				}
				for id, n := range times {
					if n != 1 {
						t.Errorf("%s was returned %d times", id, n)
					}
				}
				for _, b := range stay {
					want := 1
					if slices.ContainsFunc(q.Where, func(c find.Condition) bool { return c.Op == find.OpHas }) && len(b.Harbours) == 0 {
						want = 0
					}
					if order.name == "absent values descending, below a bound" && b.Sunk == nil {
						want = 0
					}
					if times[b.ID] != want {
						t.Errorf("%s existed all the time and was returned %d times, want %d", b.ID, times[b.ID], want)
					}
				}
			})
		}
	})
}

// A page ends with the record with which its records reach MaxBytes. The pages together have every record once.
func TestFindPagesAreBoundedInBytes(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, c := fleet(t, address)
		var want []string
		for i := range 9 {
			b := boat{ID: fmt.Sprint("b", i), Owner: "ann", Name: strings.Repeat("n", 1000), Built: time.UnixMilli(int64(i)).UTC()}
			if i == 4 {
				b.Log = []logLine{{Tags: map[string]string{"text": strings.Repeat("x", 100_000)}}}
			}
			if err := c.Insert(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			want = append(want, b.ID)
		}
		q := find.Query{Where: []find.Condition{find.Eq("owner", "ann")}, Order: []find.Order{{Field: "built"}}, MaxBytes: 3000}
		for limit, sizes := range map[int][]int{0: {3, 2, 3, 1}, 100: {3, 2, 3, 1}, 2: {2, 2, 1, 2, 2}} {
			var got []string
			var pages []int
			q.After, q.Limit = "", limit
			for more := true; more; more = q.After != "" {
				page, err := c.Find(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range page.Items {
					got = append(got, b.ID)
				}
				pages, q.After = append(pages, len(page.Items)), page.Next
			}
			if !slices.Equal(got, want) || !slices.Equal(pages, sizes) {
				t.Errorf("limit %d: pages of %v with %v", limit, pages, got)
			}
		}
	})
}

func TestFindRefusesForeignPositions(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, c := fleet(t, address)
		seed(t, c, vessel("a", 1), vessel("a", 2))
		q := find.Query{Where: eq(), Order: []find.Order{{Field: "built"}}, Limit: 1}
		page, err := c.Find(t.Context(), q)
		must(t, err)
		for _, position := range []string{"x", "!!", page.Next + "x", "e30"} {
			q.After = position
			if _, err := c.Find(t.Context(), q); !fault.Is(err, fault.Invalid) {
				t.Errorf("position %q: %v", position, err)
			}
		}
		q.After, q.Order[0].Descending = page.Next, true
		if _, err := c.Find(t.Context(), q); !fault.Is(err, fault.Invalid) {
			t.Errorf("a position of another order: %v", err)
		}
	})
}

func TestEachVisitsAll(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, c := fleet(t, address)
		var items []boat
		for n := range 1203 {
			items = append(items, mixed("a", n+1))
		}
		seed(t, c, items...)
		for _, test := range []struct{ limit, offset, want int }{{0, 0, 1203}, {0, 1000, 203}, {700, 0, 700}, {501, 1000, 203}, {3, 1, 3}} {
			seen := map[string]bool{}
			err := c.Each(t.Context(), find.Query{Where: eq(), Order: []find.Order{{Field: "built", Descending: true}}, Limit: test.limit, Offset: test.offset},
				func(b boat) error { seen[b.ID] = true; return nil })
			must(t, err)
			if len(seen) != test.want {
				t.Errorf("limit %d, offset %d: visited %d, want %d", test.limit, test.offset, len(seen), test.want)
			}
		}
	})
}

func TestCountDistinct(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, c := fleet(t, address)
		for n := range 40 {
			seed(t, c, mixed("a", n+1))
		}
		for _, test := range []struct {
			field string
			q     find.Query
			want  int64
		}{
			{"built", find.Query{Where: eq()}, 9},
			{"sunk", find.Query{Where: eq()}, 5},
			{"sunk", find.Query{Where: eq(find.Absent("sunk"))}, 0},
			{"length", find.Query{}, 3},
			{"built", find.Query{Where: eq(find.Has("harbours", "Kiel", "Oslo"))}, 9},
			{"name", find.Query{Where: eq(find.In[int]("number"))}, 0},
		} {
			got, err := c.CountDistinct(t.Context(), test.field, test.q)
			must(t, err)
			if got != test.want {
				t.Errorf("%s: %d different, want %d", test.field, got, test.want)
			}
		}
		if _, err := c.Sum(t.Context(), "harbours", find.Query{Where: eq()}); !fault.Is(err, fault.Internal) {
			t.Errorf("a sum of lists: %v", err)
		}
		if _, err := c.CountDistinct(t.Context(), "harbours", find.Query{Where: eq()}); !fault.Is(err, fault.Internal) {
			t.Errorf("a list: %v", err)
		}
	})
}
