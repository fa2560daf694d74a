package document

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// statement is SQL text with its arguments.
type statement struct {
	builder strings.Builder
	args    []any
}

func newStatement(text string) *statement {
	s := &statement{}
	s.builder.WriteString(text)
	return s
}

func (s *statement) with(args ...any) *statement {
	s.args = append(s.args, args...)
	return s
}

func (s *statement) add(text string, args ...any) {
	s.builder.WriteString(text)
	s.args = append(s.args, args...)
}

func (s *statement) text() string { return s.builder.String() }

// clause is one term of a WHERE.
type clause struct {
	text string
	args []any
}

// maxArms bounds how many ranges of an index are merged; beyond it the matching part is sorted.
const maxArms = 64

func (e *sqliteEngine) find(ctx context.Context, p *plan) ([]*record, error) {
	q, extra := p.outer().selection()
	return e.records(ctx, q, extra)
}

func (e *sqliteEngine) count(ctx context.Context, p *plan) (int64, error) {
	if q, kept := p.counter(); kept {
		return e.number(ctx, q)
	}
	p = p.outer()
	return e.number(ctx, p.counting("COUNT(*)", p.within()))
}

func (e *sqliteEngine) countDistinct(ctx context.Context, p *plan, field int) (int64, error) {
	p = p.outer()
	return e.number(ctx, p.counting("COUNT(DISTINCT "+p.column(field)+")", p.within(field)))
}

func (p *plan) counting(what string, within bool) *statement {
	from := p.from()
	if within {
		from = p.fromSide()
	}
	q := newStatement("SELECT " + what + from)
	q.where(p.clauses())
	return q
}

func (e *sqliteEngine) number(ctx context.Context, q *statement) (int64, error) {
	var n int64
	err := e.read(ctx, q, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

func (e *sqliteEngine) deleteSome(ctx context.Context, p *plan, limit int) (int64, error) {
	var deleted int64
	p = p.outer()
	err := e.write(ctx, p.shape, func(w *sqliteWriter) error {
		q := newStatement("SELECT d.id" + p.from())
		q.where(p.clauses())
		q.add(" LIMIT ?", limit)
		var ids []int64
		err := w.rows(q.text(), q.args, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := w.exec("DELETE FROM "+quote(p.shape.name)+" WHERE id = ?", id); err != nil {
				return err
			}
			if err := w.unside(p.shape, id); err != nil {
				return err
			}
		}
		deleted = int64(len(ids))
		return nil
	})
	return deleted, err
}

func (q *statement) where(clauses []clause) {
	for i, c := range clauses {
		if i == 0 {
			q.add(" WHERE ")
		} else {
			q.add(" AND ")
		}
		q.add(c.text, c.args...)
	}
}

// selection writes the SELECT of a page. A query that spans several ranges of its index (several values of
// a prefix field, or a position within a longer order) becomes one arm a range; SQLite merges
// ordered arms row by row, so that no more is read than is returned. It returns how many columns
// follow key, version and body.
func (p *plan) selection() (*statement, int) {
	arms := p.arms()
	q := &statement{}
	extra := 0
	if len(arms) > 1 {
		extra = len(p.order)
	} else if p.offset > 0 && p.sorted && p.within() {
		return p.skipping(arms[0]), 0
	}
	for i, arm := range arms {
		if i > 0 {
			q.add(" UNION ALL ")
		}
		q.add("SELECT " + p.key() + ", d.version, d.body")
		if extra > 0 {
			for _, t := range p.order {
				q.add(", " + p.column(t.field))
			}
		}
		q.add(p.from())
		q.where(arm)
	}
	p.ordered(q, len(arms) > 1)
	return q, extra
}

// ordered adds the order, limit and offset. What is merged of arms is ordered by its columns' positions.
func (p *plan) ordered(q *statement, merged bool) {
	q.add(" ORDER BY ")
	for i, t := range p.order {
		name := p.column(t.field)
		if merged {
			name = strconv.Itoa(4 + i)
		}
		q.add(name + direction(t.descending) + ", ")
	}
	key := p.key()
	if merged {
		key = "1"
	}
	q.add(key + direction(p.last))
	if p.limit > 0 || p.offset > 0 {
		limit := p.limit
		if limit == 0 {
			limit = -1
		}
		q.add(" LIMIT ? OFFSET ?", limit, p.offset)
	}
}

func direction(descending bool) string {
	if descending {
		return " DESC"
	}
	return ""
}

// side: the index is a table of its own.
func (p *plan) side() bool { return p.index != nil && p.index.many >= 0 }

// within: that table has the fields and all that the conditions name, so that the records themselves need not be looked at.
func (p *plan) within(fields ...int) bool {
	for _, c := range p.where {
		if c.again {
			return false
		}
		fields = append(fields, c.field)
	}
	return p.side() && !slices.ContainsFunc(fields, func(f int) bool { return !slices.Contains(p.index.fields, f) })
}

// skipping writes the SELECT of a page behind an offset in an index that is a table of its own: what is skipped is
// skipped there, without looking at its records.
func (p *plan) skipping(arm []clause) *statement {
	q := newStatement("SELECT s.key, d.version, d.body FROM (SELECT *" + p.fromSide())
	q.where(arm)
	p.ordered(q, false)
	q.add(") s CROSS JOIN " + quote(p.shape.name) + " d ON d.id = s.doc")
	all := *p
	all.limit, all.offset = 0, 0
	all.ordered(q, false)
	return q
}

// outer handles several values of a multi-valued field, of which a record may have two and yet is one row: the
// index's table is only asked for the records' ids.
func (p *plan) outer() *plan {
	repeats := func(c condition) bool {
		return c.op == find.OpHas && len(c.values) > 1 && c.field == p.index.fields[p.index.many] && !c.again
	}
	if !p.side() || !slices.ContainsFunc(p.where, repeats) {
		return p
	}
	q := *p
	q.index, q.sorted, q.where = nil, false, nil
	ids := newStatement("d.id IN (SELECT s.doc" + p.fromSide())
	var within []clause
	for _, c := range p.where {
		if slices.Contains(p.index.fields, c.field) && !c.again {
			within = append(within, p.clause(c))
		} else {
			q.where = append(q.where, c)
		}
	}
	ids.where(within)
	ids.add(")")
	q.inside = &clause{ids.text(), ids.args}
	return &q
}

// from names the tables and the index. INDEXED BY makes a query whose index cannot be used an error
// instead of a slow one.
func (p *plan) from() string {
	table := quote(p.shape.name)
	switch {
	case p.index == nil:
		return " FROM " + table + " d"
	case p.side():
		return p.fromSide() + " CROSS JOIN " + table + " d ON d.id = s.doc"
	}
	return " FROM " + table + " d INDEXED BY " + quote(p.shape.sqlIndex(p.index))
}

func (p *plan) fromSide() string {
	return " FROM " + quote(p.shape.sideTable(p.index)) + " s INDEXED BY " + quote(p.shape.sqlIndex(p.index))
}

// sqlIndex is the index's name in the file.
func (s *shape) sqlIndex(ix *index) string { return s.name + "." + ix.name }

// key is where the key is read: as the last part of the index.
func (p *plan) key() string {
	if p.side() {
		return "s.key"
	}
	return "d.key"
}

// column is where a field is read: in the index's own table if it has one with the field.
func (p *plan) column(f int) string {
	name := quote(column(p.shape.fields[f].name))
	if p.side() && slices.Contains(p.index.fields, f) {
		return "s." + name
	}
	return "d." + name
}

// clauses are the conditions as one conjunction.
func (p *plan) clauses() []clause {
	out := make([]clause, 0, len(p.where)+1)
	if p.inside != nil {
		out = append(out, *p.inside)
	}
	for _, c := range p.where {
		out = append(out, p.clause(c))
	}
	return out
}

func (p *plan) clause(c condition) clause {
	name := p.column(c.field)
	args := scalars(c.values)
	switch c.op {
	case find.OpAbsent:
		if c.absent {
			return clause{text: name + " IS NULL"}
		}
		return clause{text: name + " IS NOT NULL"}
	case find.OpGt:
		return clause{name + " > ?", args}
	case find.OpGte:
		return clause{name + " >= ?", args}
	case find.OpLt:
		return clause{name + " < ?", args}
	case find.OpLte:
		return clause{name + " <= ?", args}
	case find.OpText:
		return clause{textFunction + "(" + name + ", ?, ?, ?)", []any{string(c.match), c.values[0], scalar(c.fold)}}
	case find.OpHas:
		if c.again || strings.HasPrefix(name, "d.") {
			name = "d." + quote(column(p.shape.fields[c.field].name))
			among := oneOf(args)
			return clause{"EXISTS (SELECT 1 FROM json_each(" + name + ") WHERE value" + among.text + ")", among.args}
		}
	}
	among := oneOf(args)
	return clause{name + among.text, among.args}
}

func scalars(values []any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = scalar(v)
	}
	return out
}

// maxMarks is how many values of a condition are parameters of their own. More of them go as one, for SQLite takes
// 32,766 at the most and parses each.
const maxMarks = 200

func oneOf(values []any) clause {
	if len(values) == 1 {
		return clause{" = ?", values}
	}
	if len(values) > maxMarks {
		if list, ok := jsonList(values); ok {
			return clause{" IN (SELECT value FROM json_each(?))", []any{list}}
		}
	}
	return clause{" IN (?" + strings.Repeat(", ?", len(values)-1) + ")", values}
}

// jsonList writes scalars as a JSON list, if each reads from it as what it is.
func jsonList(values []any) (string, bool) {
	for _, v := range values {
		if text, ok := v.(string); ok && (!utf8.ValidString(text) || strings.ContainsRune(text, 0)) {
			return "", false
		}
	}
	list, err := json.Marshal(values)
	return string(list), err == nil // a float may be no number
}
