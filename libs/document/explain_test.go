package document

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

type parcelled struct {
	ID    string   `json:"id"`
	Owner string   `json:"owner"`
	Kind  string   `json:"kind"`
	Size  *int64   `json:"size"`
	Tags  []string `json:"tags"`
}

// SQLite runs a plan as intended: it searches the chosen index, never a whole table, and sorts nothing unless a Scan
// allows that.
func TestFindIsServedByIndexes(t *testing.T) {
	db, err := Open("sqlite:"+t.TempDir(), "explain", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := Declare(db, Schema[parcelled]{
		Name: "parcels", Key: func(p *parcelled) string { return p.ID },
		Fields: []Field[parcelled]{
			{Name: "owner", Value: func(p *parcelled) any { return p.Owner }},
			{Name: "kind", Value: func(p *parcelled) any { return p.Kind }},
			{Name: "size", Value: func(p *parcelled) any { return p.Size }},
			{Name: "tags", Value: func(p *parcelled) any { return p.Tags }},
		},
		Indexes: []Index{
			{Name: "owner_size", Fields: []string{"owner", "size"}},
			{Name: "owner_kind_size", Fields: []string{"owner", "kind", "size"}},
			{Name: "owner_tags_size", Fields: []string{"owner", "tags", "size"}},
		},
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
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
				p, err := c.shape.plan(test.q)
				if err != nil {
					t.Fatal(err)
				}
				if behind {
					p.after = make([]any, len(p.order))
					for i := range p.after {
						p.after[i] = int64(i)
					}
					p.after[len(p.order)-1] = "k"
				}
				q, _ := p.outer().selection()
				if test.keys {
					q = p.keys([]int{c.shape.field("size")})
				}
				lines := explain(t, db.engine.(*sqliteEngine), q)
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
	db, err := Open("sqlite:"+t.TempDir(), "explain", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := Declare(db, Schema[parcelled]{
		Name: "parcels", Key: func(p *parcelled) string { return p.ID },
		Fields: []Field[parcelled]{
			{Name: "owner", Value: func(p *parcelled) any { return p.Owner }},
			{Name: "size", Value: func(p *parcelled) any { return p.Size }},
		},
		Indexes: []Index{{Name: "owner_size", Fields: []string{"owner", "size"}, Counted: true, Numbered: true}},
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := c.shape.plan(find.Query{Where: []find.Condition{find.In("owner", "a", "b")}})
	if err != nil {
		t.Fatal(err)
	}
	q, kept := p.counter()
	if !kept {
		t.Fatal("the stored count is not used")
	}
	if lines := explain(t, db.engine.(*sqliteEngine), q); len(lines) != 1 || !strings.Contains(lines[0], "SEARCH") || !strings.Contains(lines[0], "parcels.owner_size.count") {
		t.Errorf("the query plan is %v", lines)
	}
	for _, descending := range []bool{false, true} {
		order := []find.Order{{Field: "size", Descending: descending}}
		if p, err = c.shape.plan(find.Query{Where: []find.Condition{find.Eq("owner", "a")}, Order: order, Offset: 5000}); err != nil {
			t.Fatal(err)
		}
		q, _ := p.selection()
		text := strings.Join(explain(t, db.engine.(*sqliteEngine), q), "\n")
		entered := "(f_owner=? AND f_size>?)"
		if descending {
			entered = "(f_owner=? AND f_size<?)"
		}
		if !strings.Contains(text, "SEARCH d USING INDEX parcels.owner_size "+entered) || !strings.Contains(text, "parcels.owner_size.count") || strings.Contains(text, "SCAN parcels") {
			t.Errorf("the query plan of a page at an offset is\n%s", text)
		}
	}
}

func explain(t *testing.T, e *sqliteEngine, q clause) []string {
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
