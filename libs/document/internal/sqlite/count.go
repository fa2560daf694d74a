package sqlite

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// A counted index has a table of counts: for each combination of values of its prefix that occurs, the number of
// records with these values. Triggers update the table with each write, so the counts are always exact. For a numbered
// index, the table has one row for each such combination and block of blockSize numbers. A page at an offset then
// begins at a block, and skips at most blockSize entries of the index.

const (
	blockBits = 10
	blockSize = 1 << blockBits // numbers in a block
)

func (s shape) counterTable(ix *plan.Index) string { return s.sqlIndex(ix) + ".count" }

// prefix returns the fields by which a counted index counts records: all but the last.
func prefix(ix *plan.Index) []int { return ix.Fields[:len(ix.Fields)-1] }

// number returns the last field of a numbered index.
func number(ix *plan.Index) int { return ix.Fields[len(ix.Fields)-1] }

// counted returns the table and triggers that count the records of an index. They do not count records that lack a
// field of the prefix.
func (s shape) counted(ix *plan.Index) []object {
	name, prefix, changed := s.counterTable(ix), prefix(ix), prefix(ix)
	counts, columns, rule := quote(name), s.each(prefix, "?", ", "), ""
	values := func(record string) string { return s.each(prefix, record+"?", ", ") }
	if ix.Numbered {
		changed, columns, rule = ix.Fields, columns+", block", ", CHECK (block IS NOT NULL)"
		values = func(record string) string {
			return s.each(prefix, record+"?", ", ") + s.each([]int{number(ix)}, ", "+record+"? >> "+strconv.Itoa(blockBits), "")
		}
	}
	more := `INSERT INTO ` + counts + ` SELECT ` + values("NEW.") + `, 1 WHERE ` + s.each(prefix, "NEW.? IS NOT NULL", " AND ") +
		` ON CONFLICT (` + columns + `) DO UPDATE SET n = n + 1; `
	of := ` WHERE (` + columns + `) = (` + values("OLD.") + `)`
	less := `UPDATE ` + counts + ` SET n = n - 1` + of + `; DELETE FROM ` + counts + of + ` AND n = 0; `
	return []object{
		{name: name, sql: `CREATE TABLE ` + counts + ` (` + columns + `, n INTEGER NOT NULL, UNIQUE (` + columns + `)` + rule + `)`,
			fill: `INSERT INTO ` + counts + ` SELECT ` + values("") + `, COUNT(*) FROM ` + quote(s.Name) + ` WHERE ` + s.each(prefix, "? IS NOT NULL", " AND ") + ` GROUP BY ` + values("")},
		s.trigger(name, "INSERT", "", more),
		s.trigger(name, "DELETE", "", less),
		s.trigger(name, "UPDATE OF "+s.each(changed, "?", ", "), s.each(changed, "OLD.? IS NOT NEW.?", " OR "), less+more),
	}
}

// fromBlock returns the SELECT of a page at an offset of a numbered index. The SELECT begins at a block. fromBlock
// returns false if the index is not numbered, if the offset is less than blockSize, if the page starts after a
// position, if the order is not that of the number, or if the conditions are not equalities with one value on exactly
// the prefix of the index.
func (p *query) fromBlock() (clause, bool) {
	first := p.Order[0]
	if p.Index == nil || !p.Index.Numbered || !p.Sorted || p.After != nil || p.Offset < blockSize ||
		first.Field != number(p.Index) || len(p.Where) != len(prefix(p.Index)) ||
		slices.ContainsFunc(p.Where, func(c plan.Condition) bool { return c.Op != find.OpEq || len(c.Values) > 1 }) {
		return clause{}, false
	}
	direction, bound := "", " >= (SELECT block << "+strconv.Itoa(blockBits)+" FROM start)"
	if first.Descending {
		direction, bound = " DESC", " < (SELECT (block + 1) << "+strconv.Itoa(blockBits)+" FROM start)"
	}
	q := clause{text: "WITH start AS MATERIALIZED (SELECT block, before FROM (SELECT block, n, SUM(n) OVER (ORDER BY block" + direction + ") - n AS before FROM " +
		quote(p.shape().counterTable(p.Index)) + " d"}
	q.where(p.all())
	q.add(") WHERE before + n > ? ORDER BY before LIMIT 1) SELECT "+p.column(plan.KeyField)+", d.version, d.body"+p.from(), p.Offset)
	q.where(p.all().join(" AND ", clause{text: p.column(first.Field) + bound}))
	p.sequence(&q, 0)
	q.add(" LIMIT 0 + ? OFFSET ? - COALESCE((SELECT before FROM start), 0)", cmp.Or(p.Limit, -1), p.Offset)
	return q, true
}

// counter returns a query that reads the stored counts. It returns false unless the conditions are equalities, each with
// one value or several, on exactly the prefix of a counted index.
func (p *query) counter() (clause, bool) {
	for i := range p.Shape.Indexes {
		ix := &p.Shape.Indexes[i]
		if !ix.Counted || len(p.Where) != len(prefix(ix)) {
			continue
		}
		var where clause
		matched := 0
		for _, f := range prefix(ix) {
			at := slices.IndexFunc(p.Where, func(c plan.Condition) bool { return c.Field == f && c.Op == find.OpEq })
			if at >= 0 {
				among := oneOf(scalars(p.Where[at].Values))
				where = where.join(" AND ", clause{quote(column(p.Shape.Fields[f].Name)) + among.text, among.args})
				matched++
			}
		}
		if matched == len(p.Where) {
			q := clause{text: "SELECT COALESCE(SUM(n), 0) FROM " + quote(p.shape().counterTable(ix))}
			q.where(where)
			return q, true
		}
	}
	return clause{}, false
}
