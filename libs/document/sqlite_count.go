package document

import (
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// A counted index has a table with the number of records for each value of its prefix. Triggers update the table with
// each write, so it is as exact as the index.

func (s *shape) counterTable(ix *index) string { return s.sqlIndex(ix) + ".count" }

// prefix returns the fields by which the records of an index are counted: all but the last.
func (ix *index) prefix() []int { return ix.fields[:len(ix.fields)-1] }

// sqlCounter returns the table and triggers that count an index. They do not count records that lack a field of the
// prefix.
func (s *shape) sqlCounter(ix *index) []sqlObject {
	each := func(text, separator string) string { return s.each(ix.prefix(), text, separator) }
	name := s.counterTable(ix)
	table, counts := quote(s.name), quote(name)
	more := `INSERT INTO ` + counts + ` SELECT ` + each("NEW.?", ", ") + `, 1 WHERE ` + each("NEW.? IS NOT NULL", " AND ") +
		` ON CONFLICT (` + each("?", ", ") + `) DO UPDATE SET n = n + 1; `
	less := `UPDATE ` + counts + ` SET n = n - 1 WHERE ` + each("? = OLD.?", " AND ") + `; `
	return []sqlObject{
		{name: name, kind: "table", sql: `CREATE TABLE ` + counts + ` (` + each("?", ", ") + `, n INTEGER NOT NULL, UNIQUE (` + each("?", ", ") + `))`,
			fill: `INSERT INTO ` + counts + ` SELECT ` + each("?", ", ") + `, COUNT(*) FROM ` + table + ` WHERE ` + each("? IS NOT NULL", " AND ") + ` GROUP BY ` + each("?", ", ")},
		s.trigger(name, "INSERT", "", more),
		s.trigger(name, "DELETE", "", less),
		s.trigger(name, "UPDATE OF "+each("?", ", "), each("OLD.? IS NOT NEW.?", " OR "), less+more),
	}
}

// counter returns a query of stored counts. It returns false unless the conditions are equalities on exactly the
// prefix of a counted index.
func (p *plan) counter() (clause, bool) {
	for i := range p.shape.indexes {
		ix := &p.shape.indexes[i]
		if !ix.counted || len(p.where) != len(ix.prefix()) {
			continue
		}
		var where clause
		matched := 0
		for _, f := range ix.prefix() {
			at := slices.IndexFunc(p.where, func(c condition) bool { return c.field == f && c.op == find.OpEq })
			if at >= 0 {
				among := oneOf(scalars(p.where[at].values))
				where = where.join(" AND ", clause{quote(column(p.shape.fields[f].name)) + among.text, among.args})
				matched++
			}
		}
		if matched == len(p.where) {
			q := clause{text: "SELECT COALESCE(SUM(n), 0) FROM " + quote(p.shape.counterTable(ix))}
			q.where(where)
			return q, true
		}
	}
	return clause{}, false
}
