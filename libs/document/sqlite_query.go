package document

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// clause is a part of an SQL statement with its arguments.
type clause struct {
	text string
	args []any
}

func (c *clause) add(text string, args ...any) {
	c.text += text
	c.args = append(c.args, args...)
}

// where adds a condition unless that is empty.
func (c *clause) where(condition clause) {
	if condition.text != "" {
		c.add(" WHERE "+condition.text, condition.args...)
	}
}

// join returns c and d with the operator between them, or d if c is empty.
func (c clause) join(operator string, d clause) clause {
	if c.text == "" {
		return d
	}
	return clause{c.text + operator + d.text, slices.Concat(c.args, d.args)}
}

// maxArms bounds the number of index ranges that are merged. With more of them SQLite sorts the matching records.
const maxArms = find.MaxMerged

func (e *sqliteEngine) find(ctx context.Context, p *plan) ([]*record, error) {
	q, extra := p.outer().selection()
	return e.records(ctx, q, extra, &filling{limit: p.bytes})
}

func (e *sqliteEngine) count(ctx context.Context, p *plan, distinct int) (int64, error) {
	q, kept := p.counter()
	if !kept || distinct != keyField {
		q = p.outer().counting(distinct)
	}
	var n int64
	err := e.read(ctx, q, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

func (e *sqliteEngine) sum(ctx context.Context, p *plan, field int) (int64, error) {
	p = p.outer()
	q := p.aggregate("COALESCE(SUM("+p.column(field)+"), 0)", p.within(field))
	var n int64
	err := e.read(ctx, q, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

func (p *plan) counting(distinct int) clause {
	if distinct != keyField {
		return p.aggregate("COUNT(DISTINCT "+p.column(distinct)+")", p.within(distinct))
	}
	return p.aggregate("COUNT(*)", p.within())
}

// aggregate returns the SELECT of one value. If it is within the index's table, it does not read the records.
func (p *plan) aggregate(value string, within bool) clause {
	from := p.from()
	if within {
		from = p.fromSide()
	}
	q := clause{text: "SELECT " + value + from}
	q.where(p.all())
	return q
}

func (e *sqliteEngine) deleteSome(ctx context.Context, p *plan, limit int) (int64, error) {
	var deleted int64
	p = p.outer()
	err := e.write(ctx, p.shape, func(w *sqliteWriter) error {
		q := clause{text: "DELETE FROM " + quote(p.shape.name) + " WHERE id IN (SELECT d.id" + p.from()}
		q.where(p.all())
		q.add(" LIMIT ?)", limit)
		var err error
		deleted, err = w.changes(q.text, q.args...)
		return err
	})
	return deleted, err
}

// selection returns the SELECT of a page, and the number of columns after key, version and body. A query over several
// ranges of its index (several values of a prefix field, or a position within a longer order) has one arm per range.
// SQLite merges ordered arms row by row, so it reads no more rows than it returns.
func (p *plan) selection() (clause, int) {
	if q, is := p.fromBlock(); is {
		return q, 0
	}
	arms := p.arms()
	var q clause
	extra := 0
	if len(arms) > 1 {
		extra = len(p.order) - 1 // the key is there already
	} else if p.offset > 0 && p.sorted && p.within() {
		return p.skipping(arms[0]), 0
	}
	for i, arm := range arms {
		if i > 0 {
			q.add(" UNION ALL ")
		}
		q.add("SELECT " + p.column(keyField) + ", d.version, d.body")
		for _, t := range p.order[:extra] {
			q.add(", " + p.column(t.field))
		}
		q.add(p.from())
		q.where(arm)
	}
	first := 0
	if len(arms) > 1 {
		first = 4
	}
	p.ordered(&q, first)
	return q, extra
}

func (e *sqliteEngine) keys(ctx context.Context, p *plan, fields []int) ([][]any, error) {
	var out [][]any
	err := e.read(ctx, p.keys(fields), func(rows *sql.Rows) error {
		values := make([]any, 1+len(fields))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		out = append(out, values)
		return rows.Scan(into...)
	})
	return out, err
}

// keys returns the SELECT of keys and fields. It has one arm for each range of the index. UNION drops the repetitions of
// a record that has several values of a multi-valued field, while it merges the arms.
func (p *plan) keys(fields []int) clause {
	from := p.from()
	if p.within(fields...) {
		from = p.fromSide()
	}
	arms := p.arms()
	head := clause{text: "SELECT "}
	if len(arms) == 1 && slices.ContainsFunc(p.where, p.repeats) {
		head.add("DISTINCT ")
	}
	head.add(p.column(keyField))
	for _, f := range fields {
		head.add(", " + p.column(f))
	}
	head.add(from)
	texts := make([]string, len(arms))
	var q clause
	for i, arm := range arms {
		one := head
		one.where(arm)
		texts[i], q.args = one.text, append(q.args, one.args...)
	}
	q.text = strings.Join(texts, " UNION ")
	p.ordered(&q, 2)
	return q
}

// ordered adds the order, limit and offset.
func (p *plan) ordered(q *clause, first int) {
	p.sequence(q, first)
	if p.limit > 0 || p.offset > 0 {
		// SQLite prepares a statement with a plain LIMIT ? again at each run, in case the number changes its plan.
		q.add(" LIMIT 0 + ? OFFSET ?", cmp.Or(p.limit, -1), p.offset)
	}
}

// sequence adds the order. If first is not 0, the terms are the columns of that number and behind, and the key is
// column 1.
func (p *plan) sequence(q *clause, first int) {
	separator := " ORDER BY "
	for i, t := range p.order {
		name := p.column(t.field)
		if first > 0 && t.field == keyField {
			name = "1"
		} else if first > 0 {
			name = strconv.Itoa(first + i)
		}
		q.add(separator + name)
		if t.descending {
			q.add(" DESC")
		}
		separator = ", "
	}
}

func (p *plan) side() bool { return p.index != nil && p.index.many >= 0 }

// within reports whether the index's table has the fields and those of all conditions. Then the query need not read
// the records.
func (p *plan) within(fields ...int) bool {
	for _, c := range p.where {
		if c.again {
			return false
		}
		fields = append(fields, c.field)
	}
	return p.side() && !slices.ContainsFunc(fields, func(f int) bool { return !slices.Contains(p.index.fields, f) })
}

// skipping returns the SELECT of a page after an offset, for an index that is implemented by a table. It does not read
// the skipped records.
func (p *plan) skipping(arm clause) clause {
	q := clause{text: "SELECT s.key, d.version, d.body FROM (SELECT *" + p.fromSide()}
	q.where(arm)
	p.ordered(&q, 0)
	q.add(") s CROSS JOIN " + quote(p.shape.name) + " d ON d.id = s.doc")
	all := *p
	all.limit, all.offset = 0, 0
	all.ordered(&q, 0)
	return q
}

// outer returns a plan for a condition with several values of a multi-valued field. A record may have two of the values
// but must be returned once, so a subquery selects the ids of the records from the index's table.
func (p *plan) outer() *plan {
	if !slices.ContainsFunc(p.where, p.repeats) {
		return p
	}
	q := *p
	q.index, q.sorted, q.where = nil, false, nil
	q.inside = clause{text: "d.id IN (SELECT s.doc" + p.fromSide()}
	var within clause
	for _, c := range p.where {
		if slices.Contains(p.index.fields, c.field) && !c.again {
			within = within.join(" AND ", p.clause(c))
		} else {
			q.where = append(q.where, c)
		}
	}
	q.inside.where(within)
	q.inside.add(")")
	return &q
}

// repeats reports whether the index's table may have several rows of a record that match the condition.
func (p *plan) repeats(c condition) bool {
	return p.side() && c.op == find.OpHas && len(c.values) > 1 && c.field == p.index.fields[p.index.many] && !c.again
}

// from returns the FROM with tables and index. With INDEXED BY a query fails if its index cannot be used, and is not
// slow.
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

func (s *shape) sqlIndex(ix *index) string { return s.name + "." + ix.name }

// column returns the column with a field. It is in the index's table if that has the field or the key.
func (p *plan) column(f int) string {
	name := "key"
	if f != keyField {
		name = quote(column(p.shape.fields[f].name))
	}
	if p.side() && (f == keyField || slices.Contains(p.index.fields, f)) {
		return "s." + name
	}
	return "d." + name
}

// all returns the conditions of the query.
func (p *plan) all() clause {
	out := p.inside
	for _, c := range p.where {
		out = out.join(" AND ", p.clause(c))
	}
	return out
}

func (p *plan) clause(c condition) clause {
	name := p.column(c.field)
	args := scalars(c.values)
	switch c.op {
	case find.OpGt:
		return clause{name + " > ?", args}
	case find.OpGte:
		return clause{name + " >= ?", args}
	case find.OpLt:
		return clause{name + " < ?", args}
	case find.OpLte:
		return clause{name + " <= ?", args}
	case find.OpAbsent:
		if c.absent {
			return clause{text: name + " IS NULL"}
		}
		return clause{text: name + " IS NOT NULL"}
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

// maxMarks is the largest number of values of a condition that are separate parameters. More values are one JSON
// parameter, because SQLite accepts at most 32,766 parameters and parses each.
const maxMarks = 200

func oneOf(values []any) clause {
	if len(values) == 1 {
		return clause{" = ?", values}
	}
	if len(values) > maxMarks {
		if list, err := json.Marshal(values); err == nil { // JSON has no invalid UTF-8, and only floats that are numbers
			return clause{" IN (SELECT value FROM json_each(?))", []any{string(list)}}
		}
	}
	return clause{" IN (?" + strings.Repeat(", ?", len(values)-1) + ")", values}
}
