package sqlite

import (
	"database/sql"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// explained returns an engine with the collection "parcels".
func explained(t *testing.T, fields []plan.Field, indexes map[string][]string, ix plan.Index) (*Engine, *plan.Shape) {
	t.Helper()
	s := &plan.Shape{Name: "parcels", Fields: fields}
	for _, name := range slices.Sorted(maps.Keys(indexes)) {
		ix.Name = name
		if err := s.AddIndex(ix, indexes[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetShard(false, "", "the test has one shard"); err != nil {
		t.Fatal(err)
	}
	e, err := New(t.TempDir(), "explain", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	if err := e.Migrate(t.Context(), []*plan.Shape{s}); err != nil {
		t.Fatal(err)
	}
	return e, s
}

// SQLite runs a plan as intended: it searches the chosen index, never a whole table, and sorts nothing unless a Scan
// allows that.
func TestFindIsServedByIndexes(t *testing.T) {
	e, shape := explained(t, []plan.Field{{Name: "owner"}, {Name: "kind"}, {Name: "size"}, {Name: "tags", Many: true}}, map[string][]string{
		"owner_size": {"owner", "size"}, "owner_kind_size": {"owner", "kind", "size"}, "owner_tags_size": {"owner", "tags", "size"},
	}, plan.Index{})
	owner := find.Eq("owner", "a")
	size := []find.Order{{Field: "size", Descending: true}}
	hundreds := make([]int, 500)
	for i := range hundreds {
		hundreds[i] = i
	}
	for _, test := range []struct {
		name, index string
		q           find.Query
		sorts       bool
		keys        bool
	}{
		{"by key", "sqlite_autoindex_parcels_1", find.Query{Limit: 5}, false, false},
		{"equality", "parcels.owner_size", find.Query{Where: []find.Condition{owner}, Limit: 5}, false, false},
		{"order", "parcels.owner_size", find.Query{Where: []find.Condition{owner}, Order: size, Limit: 5}, false, false},
		{"order, from an offset", "parcels.owner_size", find.Query{Where: []find.Condition{owner}, Order: size, Limit: 5, Offset: 9}, false, false},
		{"range", "parcels.owner_size", find.Query{Where: []find.Condition{owner, find.Gt("size", 3), find.Lt("size", 9)}, Order: size, Limit: 5}, false, false},
		{"absent", "parcels.owner_size", find.Query{Where: []find.Condition{owner, find.Absent("size")}, Limit: 5}, false, false},
		{"present", "parcels.owner_size", find.Query{Where: []find.Condition{owner, find.Present("size")}, Order: size, Limit: 5}, false, false},
		{"several values", "parcels.owner_kind_size", find.Query{Where: []find.Condition{owner, find.In("kind", "x", "y", "z")}, Order: size, Limit: 5}, false, false},
		{"a list's value", "parcels.owner_tags_size", find.Query{Where: []find.Condition{owner, find.Has("tags", "x")}, Order: size, Limit: 5}, false, false},
		{"several of a list", "parcels.owner_tags_size", find.Query{Where: []find.Condition{owner, find.Has("tags", "x", "y")}, Order: size, Limit: 5}, true, false},
		{"a list's value, from an offset", "parcels.owner_tags_size", find.Query{Where: []find.Condition{owner, find.Has("tags", "x")}, Order: size, Limit: 5, Offset: 9}, false, false},
		{"very many values", "parcels.owner_size", find.Query{Where: []find.Condition{owner, find.In("size", hundreds...)}, Limit: 5}, true, false},
		{"very many of a list", "parcels.owner_tags_size", find.Query{Where: []find.Condition{owner, find.Has("tags", hundreds...)}, Order: size, Limit: 5}, true, false},
		{"scan", "parcels.owner_kind_size", find.Query{Where: []find.Condition{owner, find.Eq("kind", "x"), find.Text("owner", find.Prefix, "A", true)}, Order: size, Limit: 5, Scan: "owner_kind_size"}, false, false},
		{"scan, sorted", "parcels.owner_size", find.Query{Where: []find.Condition{owner}, Order: []find.Order{{Field: "kind"}}, Limit: 5, Scan: "owner_size"}, true, false},
		{"keys of several of a list", "parcels.owner_tags_size", find.Query{Where: []find.Condition{owner, find.Has("tags", hundreds[:find.MaxMerged]...)}, Order: size, Limit: 5}, false, true},
		{"keys of a list's value", "parcels.owner_tags_size", find.Query{Where: []find.Condition{owner, find.Has("tags", "x")}, Order: size, Limit: 5}, false, true},
		{"keys of several of a list, by another field too", "parcels.owner_tags_size", find.Query{Where: []find.Condition{owner, find.Has("tags", "x", "y"), find.Eq("kind", "z")},
			Order: size, Limit: 5, Scan: "owner_tags_size"}, false, true},
		{"keys of very many of a list", "parcels.owner_tags_size", find.Query{Where: []find.Condition{owner, find.Has("tags", hundreds...)}, Order: size, Limit: 5}, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, behind := range []bool{false, true} {
				p, err := shape.Plan(test.q)
				if err != nil {
					t.Fatal(err)
				}
				if behind {
					p.After = make([]any, len(p.Order))
					for i := range p.After {
						p.After[i] = int64(i)
					}
					p.After[len(p.Order)-1] = "k"
				}
				q, _ := (&query{Plan: p}).outer().selection()
				if test.keys {
					q = (&query{Plan: p}).keys([]int{shape.Field("size")})
				}
				lines := explain(t, e, q)
				text := strings.Join(lines, "\n")
				used := 0
				for _, line := range lines {
					used += strings.Count(line, "USING INDEX "+test.index) + strings.Count(line, "USING COVERING INDEX "+test.index)
					given := line == "SCAN s" || strings.HasPrefix(line, "SCAN json_each") // rows of an index, or a parameter
					if strings.HasPrefix(line, "SCAN") && !given && test.q.Where != nil {
						t.Errorf("a table is scanned:\n%s", text)
					}
				}
				if test.keys && !test.sorts && behind && !strings.Contains(text, "f_size<?") {
					t.Errorf("ranges are entered at their beginning:\n%s", text)
				}
				if used == 0 {
					t.Errorf("index %s is not used:\n%s", test.index, text)
				}
				if sorts := strings.Contains(text, "TEMP B-TREE"); sorts != test.sorts {
					t.Errorf("sorts: %t\n%s\n%s", sorts, q.text, text)
				}
			}
		})
	}
}

// Count by a counted prefix reads the stored count. A page at an offset begins at a stored block.
func TestCountIsKept(t *testing.T) {
	e, shape := explained(t, []plan.Field{{Name: "owner"}, {Name: "size"}}, map[string][]string{"owner_size": {"owner", "size"}}, plan.Index{Counted: true, Numbered: true})
	p, err := shape.Plan(find.Query{Where: []find.Condition{find.In("owner", "a", "b")}})
	if err != nil {
		t.Fatal(err)
	}
	q, kept := (&query{Plan: p}).counter()
	if !kept {
		t.Fatal("the stored count is not used")
	}
	if lines := explain(t, e, q); len(lines) != 1 || !strings.Contains(lines[0], "SEARCH") || !strings.Contains(lines[0], "parcels.owner_size.count") {
		t.Errorf("the query plan is %v", lines)
	}
	for _, descending := range []bool{false, true} {
		order := []find.Order{{Field: "size", Descending: descending}}
		if p, err = shape.Plan(find.Query{Where: []find.Condition{find.Eq("owner", "a")}, Order: order, Offset: 5000}); err != nil {
			t.Fatal(err)
		}
		q, _ := (&query{Plan: p}).selection()
		text := strings.Join(explain(t, e, q), "\n")
		entered := "(f_owner=? AND f_size>?)"
		if descending {
			entered = "(f_owner=? AND f_size<?)"
		}
		if !strings.Contains(text, "SEARCH d USING INDEX parcels.owner_size "+entered) || !strings.Contains(text, "parcels.owner_size.count") || strings.Contains(text, "SCAN parcels") {
			t.Errorf("the query plan of a page at an offset is\n%s", text)
		}
	}
}

func explain(t *testing.T, e *Engine, q clause) []string {
	t.Helper()
	var lines []string
	asked := clause{"EXPLAIN QUERY PLAN " + q.text, q.args}
	err := e.read(t.Context(), asked, func(rows *sql.Rows) error {
		var id, parent, unused int
		var detail string
		err := rows.Scan(&id, &parent, &unused, &detail)
		lines = append(lines, detail)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
