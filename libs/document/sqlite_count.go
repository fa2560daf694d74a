package document

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// A counted index has a table with the number of records for each value of its prefix that has records. Triggers update
// the table with each write, so it is as exact as the index. For a numbered index it has a row for each block of numbers,
// so that a page at an offset begins at a block: it reads at most blockSize entries of the index that it does not return.

const (
	blockBits = 10
	blockSize = 1 << blockBits // numbers in a block
)

func (s *shape) counterTable(ix *index) string { return s.sqlIndex(ix) + ".count" }

// prefix returns the fields by which the records of an index are counted: all but the last.
func (ix *index) prefix() []int { return ix.fields[:len(ix.fields)-1] }

// number returns the last field of a numbered index.
func (ix *index) number() int { return ix.fields[len(ix.fields)-1] }

// sqlCounter returns the table and triggers that count an index. They do not count records that lack a field of the
// prefix.
func (s *shape) sqlCounter(ix *index) []sqlObject {
	name, prefix, changed := s.counterTable(ix), ix.prefix(), ix.prefix()
	counts, columns, rule := quote(name), s.each(prefix, "?", ", "), ""
	values := func(record string) string { return s.each(prefix, record+"?", ", ") }
	if ix.numbered {
		changed, columns, rule = ix.fields, columns+", block", ", CHECK (block IS NOT NULL)"
		values = func(record string) string {
			return s.each(prefix, record+"?", ", ") + s.each([]int{ix.number()}, ", "+record+"? >> "+strconv.Itoa(blockBits), "")
		}
	}
	more := `INSERT INTO ` + counts + ` SELECT ` + values("NEW.") + `, 1 WHERE ` + s.each(prefix, "NEW.? IS NOT NULL", " AND ") +
		` ON CONFLICT (` + columns + `) DO UPDATE SET n = n + 1; `
	of := ` WHERE (` + columns + `) = (` + values("OLD.") + `)`
	less := `UPDATE ` + counts + ` SET n = n - 1` + of + `; DELETE FROM ` + counts + of + ` AND n = 0; `
	return []sqlObject{
		{name: name, kind: "table", sql: `CREATE TABLE ` + counts + ` (` + columns + `, n INTEGER NOT NULL, UNIQUE (` + columns + `)` + rule + `)`,
			fill: `INSERT INTO ` + counts + ` SELECT ` + values("") + `, COUNT(*) FROM ` + quote(s.name) + ` WHERE ` + s.each(prefix, "? IS NOT NULL", " AND ") + ` GROUP BY ` + values("")},
		s.trigger(name, "INSERT", "", more),
		s.trigger(name, "DELETE", "", less),
		s.trigger(name, "UPDATE OF "+s.each(changed, "?", ", "), s.each(changed, "OLD.? IS NOT NEW.?", " OR "), less+more),
	}
}

// fromBlock returns the SELECT of a page at an offset, which begins at a block of a numbered index. It returns false unless
// the conditions are equalities on exactly the prefix of the index.
func (p *plan) fromBlock() (clause, bool) {
	number := p.order[0]
	if p.index == nil || !p.index.numbered || !p.sorted || p.after != nil || p.offset < blockSize ||
		number.field != p.index.number() || len(p.where) != len(p.index.prefix()) ||
		slices.ContainsFunc(p.where, func(c condition) bool { return c.op != find.OpEq || len(c.values) > 1 }) {
		return clause{}, false
	}
	direction, bound := "", " >= (SELECT block << "+strconv.Itoa(blockBits)+" FROM start)"
	if number.descending {
		direction, bound = " DESC", " < (SELECT (block + 1) << "+strconv.Itoa(blockBits)+" FROM start)"
	}
	q := clause{text: "WITH start AS MATERIALIZED (SELECT block, before FROM (SELECT block, n, SUM(n) OVER (ORDER BY block" + direction + ") - n AS before FROM " +
		quote(p.shape.counterTable(p.index)) + " d"}
	q.where(p.all())
	q.add(") WHERE before + n > ? ORDER BY before LIMIT 1) SELECT "+p.column(keyField)+", d.version, d.body"+p.from(), p.offset)
	q.where(p.all().join(" AND ", clause{text: p.column(number.field) + bound}))
	p.sequence(&q, 0)
	q.add(" LIMIT 0 + ? OFFSET ? - COALESCE((SELECT before FROM start), 0)", cmp.Or(p.limit, -1), p.offset)
	return q, true
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
