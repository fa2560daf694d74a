package document

import (
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// A counted index has a table of how many records share each value of its prefix. Triggers keep it, so
// that it is as exact as the index itself, whoever writes.

// counterTable holds the counts of an index.
func (s *shape) counterTable(ix *index) string { return s.sqlIndex(ix) + ".count" }

// prefix is what an index's records are counted by: all its fields but the last.
func (ix *index) prefix() []int { return ix.fields[:len(ix.fields)-1] }

// sqlCounter lists what counting an index needs. Records that lack a field of the prefix are not counted.
func (s *shape) sqlCounter(ix *index) []sqlObject {
	each := func(text, separator string) string {
		parts := make([]string, len(ix.prefix()))
		for i, f := range ix.prefix() {
			parts[i] = strings.ReplaceAll(text, "?", quote(column(s.fields[f].name)))
		}
		return strings.Join(parts, separator)
	}
	name := s.counterTable(ix)
	table, counts := quote(s.name), quote(name)
	more := `INSERT INTO ` + counts + ` SELECT ` + each("NEW.?", ", ") + `, 1 WHERE ` + each("NEW.? IS NOT NULL", " AND ") +
		` ON CONFLICT (` + each("?", ", ") + `) DO UPDATE SET n = n + 1; `
	less := `UPDATE ` + counts + ` SET n = n - 1 WHERE ` + each("? = OLD.?", " AND ") + `; `
	trigger := func(event, when, body string) sqlObject {
		called := name + "." + strings.ToLower(strings.Fields(event)[0])
		return sqlObject{name: called, kind: "trigger", sql: `CREATE TRIGGER ` + quote(called) + ` AFTER ` + event + ` ON ` + table + when + ` BEGIN ` + body + `END`}
	}
	return []sqlObject{
		{name: name, kind: "table", sql: `CREATE TABLE ` + counts + ` (` + each("?", ", ") + `, n INTEGER NOT NULL, UNIQUE (` + each("?", ", ") + `))`,
			fill: `INSERT INTO ` + counts + ` SELECT ` + each("?", ", ") + `, COUNT(*) FROM ` + table + ` WHERE ` + each("? IS NOT NULL", " AND ") + ` GROUP BY ` + each("?", ", ")},
		trigger("INSERT", "", more),
		trigger("DELETE", "", less),
		trigger("UPDATE OF "+each("?", ", "), ` WHEN `+each("OLD.? IS NOT NEW.?", " OR "), less+more),
	}
}

// counter asks for the kept counts, if the conditions give each field of a counted prefix its values and say no more.
func (p *plan) counter() (*statement, bool) {
	for i := range p.shape.indexes {
		ix := &p.shape.indexes[i]
		if !ix.counted || len(p.where) != len(ix.prefix()) {
			continue
		}
		q := newStatement("SELECT COALESCE(SUM(n), 0) FROM " + quote(p.shape.counterTable(ix)) + " d")
		var clauses []clause
		for _, f := range ix.prefix() {
			at := slices.IndexFunc(p.where, func(c condition) bool { return c.field == f && c.op == find.OpEq })
			if at >= 0 {
				among := oneOf(scalars(p.where[at].values))
				clauses = append(clauses, clause{"d." + quote(column(p.shape.fields[f].name)) + among.text, among.args})
			}
		}
		if len(clauses) == len(p.where) {
			q.where(clauses)
			return q, true
		}
	}
	return nil, false
}
