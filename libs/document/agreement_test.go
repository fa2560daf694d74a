package document_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// fieldOf returns the value of a field without using the schema.
func fieldOf(b boat, name string) any {
	switch name {
	case "owner":
		return b.Owner
	case "name":
		return b.Name
	case "length":
		return b.Length
	case "afloat":
		return b.Afloat
	case "built":
		return b.Built
	case "sunk":
		if b.Sunk != nil {
			return *b.Sunk
		}
	case "number":
		if b.Number != 0 {
			return b.Number
		}
	}
	return nil
}

// compareValues compares in the order that the engines must have: absent first, then by value.
func compareValues(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(map[bool]int{true: 0, false: 1}[a == nil], map[bool]int{true: 0, false: 1}[b == nil])
	}
	switch x := a.(type) {
	case string:
		return cmp.Compare(x, b.(string))
	case int64:
		return cmp.Compare(x, b.(int64))
	case float64:
		return cmp.Compare(x, b.(float64))
	case time.Time:
		return x.Compare(b.(time.Time))
	case bool:
		return cmp.Compare(map[bool]int{false: 0, true: 1}[x], map[bool]int{false: 0, true: 1}[b.(bool)])
	}
	panic("a value of an unknown type")
}

func holds(b boat, c find.Condition) bool {
	value := fieldOf(b, c.Field)
	switch c.Op {
	case find.OpAbsent:
		return (value == nil && (c.Field != "harbours" || len(b.Harbours) == 0)) == c.Value.(bool)
	case find.OpHas:
		return slices.ContainsFunc(c.Values, func(v any) bool { return slices.Contains(b.Harbours, v.(string)) })
	case find.OpIn:
		return slices.ContainsFunc(c.Values, func(v any) bool { return value != nil && compareValues(value, v) == 0 })
	}
	if value == nil {
		return false
	}
	switch c.Op {
	case find.OpText:
		text, part := value.(string), c.Value.(string)
		if c.Fold {
			text, part = strings.ToLower(text), strings.ToLower(part)
		}
		return map[find.Match]bool{find.Whole: text == part, find.Prefix: strings.HasPrefix(text, part),
			find.Suffix: strings.HasSuffix(text, part), find.Substring: strings.Contains(text, part)}[c.Match]
	case find.OpEq:
		return compareValues(value, c.Value) == 0
	case find.OpGt:
		return compareValues(value, c.Value) > 0
	case find.OpGte:
		return compareValues(value, c.Value) >= 0
	case find.OpLt:
		return compareValues(value, c.Value) < 0
	default:
		return compareValues(value, c.Value) <= 0
	}
}

// randomQuery returns a query that an index serves: it has conditions on a prefix of the index and random others.
func randomQuery(r *rand.Rand, items []boat) find.Query {
	q := find.Query{Scan: []string{"owner_built", "owner_sunk", "owner_number", "owner_name", "owner_afloat_built"}[r.IntN(5)]}
	if r.IntN(3) == 0 {
		q.Where = append(q.Where, find.In("owner", "a", "b"))
	} else {
		q.Where = append(q.Where, find.Eq("owner", "a"))
	}
	if r.IntN(4) == 0 {
		q.Scan = "owner_harbours_built"
		q.Where = append(q.Where, find.Has("harbours", []string{"Kiel", "Oslo", "Bergen"}[:1+r.IntN(3)]...))
	}
	some := func() boat { return items[r.IntN(len(items))] }
	for range r.IntN(3) {
		field := []string{"number", "length", "afloat", "built", "sunk", "name"}[r.IntN(6)]
		value := fieldOf(some(), field)
		switch op := []find.Op{find.OpEq, find.OpIn, find.OpGt, find.OpGte, find.OpLt, find.OpLte, find.OpAbsent, find.OpText, find.OpHas}[r.IntN(9)]; {
		case op == find.OpHas:
			q.Where = append(q.Where, find.Has("harbours", "Oslo", "Kiel"))
		case op == find.OpText:
			name := some().Name
			q.Where = append(q.Where, find.Text("name", []find.Match{find.Whole, find.Prefix, find.Suffix, find.Substring}[r.IntN(4)],
				strings.ToUpper(name[r.IntN(3):]), true))
		case op == find.OpAbsent || value == nil:
			q.Where = append(q.Where, find.Condition{Field: field, Op: find.OpAbsent, Value: r.IntN(2) == 0})
		case op == find.OpIn:
			q.Where = append(q.Where, find.Condition{Field: field, Op: op, Values: []any{value, fieldOf(items[0], field)}})
		default:
			q.Where = append(q.Where, find.Condition{Field: field, Op: op, Value: value})
		}
	}
	for _, field := range []string{"length", "sunk", "built", "number", "afloat"} {
		if r.IntN(4) == 0 {
			q.Order = append(q.Order, find.Order{Field: field, Descending: r.IntN(2) == 0})
		}
	}
	return q
}

// keys returns the records of a query by its keys, page by page, with the values that Keys returns. items are the stored
// records.
func keys(t *testing.T, c *document.Collection[boat], items []boat, q find.Query) []boat {
	t.Helper()
	stored := find.Index(items, func(b boat) string { return b.ID })
	var all []boat
	for {
		rows, err := c.Keys(t.Context(), q, "built", "name")
		must(t, err)
		for _, row := range rows {
			b, known := stored[row.Key]
			if !known {
				t.Fatalf("Keys returned %q", row.Key)
			}
			if row.Values[0] != b.Built.UnixMilli() || row.Values[1] != b.Name {
				t.Errorf("Keys returned %v of %+v", row.Values, b)
			}
			all = append(all, b)
		}
		if len(rows) < q.Limit {
			return all
		}
		q.After = rows[len(rows)-1].Position
	}
}

// Random queries return the same records as a filter and a sort in Go.
func TestFindAgreesWithPlainGo(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, c := fleet(t, address)
		var items []boat
		for n := 1; n <= 120; n++ {
			b := mixed([]string{"a", "a", "b"}[n%3], n)
			if n%9 == 0 {
				b.Number = 0
			}
			b.Harbours = [][]string{{}, {"Kiel"}, {"Kiel", "Oslo"}, {"Bergen", "Oslo"}}[n%4]
			items = append(items, b)
		}
		items[0].Number, items[0].Sunk = 1, &items[0].Built // no field of the first is absent
		seed(t, c, items...)
		seedOfRun := rand.Uint64()
		r := rand.New(rand.NewPCG(seedOfRun, 0))
		for range 120 {
			q := randomQuery(r, items)
			want := slices.DeleteFunc(slices.Clone(items), func(b boat) bool {
				return slices.ContainsFunc(q.Where, func(c find.Condition) bool { return !holds(b, c) })
			})
			n, err := c.Count(t.Context(), q)
			must(t, err)
			total, err := c.Sum(t.Context(), "number", q)
			must(t, err)
			for _, b := range want {
				total -= int64(b.Number)
			}
			if total != 0 {
				t.Fatalf("seed %d: %+v\nthe sum is %d too large", seedOfRun, q, total)
			}
			q.Limit = 3 + r.IntN(20)
			if some, err := c.Count(t.Context(), q); err != nil || some != min(n, int64(q.Limit)) {
				t.Fatalf("seed %d: %+v\ncounted %d of %d, %v", seedOfRun, q, some, n, err)
			}
			got := pages(t, c, q, func() {})
			inOrder := slices.IsSortedFunc(got, func(a, b boat) int {
				for _, o := range q.Order {
					if by := compareValues(fieldOf(a, o.Field), fieldOf(b, o.Field)); by != 0 {
						return map[bool]int{true: -by, false: by}[o.Descending]
					}
				}
				return 0
			})
			if sorted(names(got)) != sorted(names(want)) || n != int64(len(want)) || !inOrder {
				t.Fatalf("seed %d: %+v\nfound   %s\ncounted %d, want\n        %s\nin order: %t", seedOfRun, q, names(got), n, names(want), inOrder)
			}
			if found := keys(t, c, items, q); names(found) != names(got) {
				t.Fatalf("seed %d: %+v\nfound      %s\nby its keys %s", seedOfRun, q, names(got), names(found))
			}
		}
	})
}
