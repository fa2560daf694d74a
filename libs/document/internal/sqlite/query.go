package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// query is a plan in the form of SQLite.
type query struct {
	*plan.Plan
	inside clause // the condition with a subquery that outer adds; empty if outer adds none
}

func (p *query) shape() shape { return shape{p.Shape} }

// clause is a part of an SQL statement with its arguments.
type clause struct {
	text string
	args []any
}

func (c *clause) add(text string, args ...any) {
	c.text += text
	c.args = append(c.args, args...)
}

// where adds a WHERE with the condition, unless the condition is empty.
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

// maxArms bounds the number of index ranges into which the values of conditions split a query. SQLite merges these ranges.
// With more values it sorts the matching records.
const maxArms = find.MaxMerged

func (e *Engine) Find(ctx context.Context, asked *plan.Plan) ([]*engine.Record, error) {
	p := &query{Plan: asked}
	q, extra := p.outer().selection()
	return e.records(ctx, q, extra, &engine.Page{Limit: p.Bytes})
}

func (e *Engine) Count(ctx context.Context, asked *plan.Plan, distinct int) (int64, error) {
	p := &query{Plan: asked}
	q, kept := p.counter()
	switch {
	case kept && distinct == plan.KeyField:
	case p.Limit > 0:
		q = p.countingSome()
	default:
		q = p.outer().counting(distinct)
	}
	n, err := e.number(ctx, q)
	if p.Limit > 0 {
		n = min(n, int64(p.Limit))
	}
	return n, err
}

// countingSome returns a SELECT that counts at most p.Limit records. The SELECT stops after these records. Therefore it
// does not use outer, whose subquery selects all matching records.
func (p *query) countingSome() clause {
	q := clause{text: "SELECT COUNT(*) FROM (SELECT "}
	if slices.ContainsFunc(p.Where, p.repeats) {
		q.add("DISTINCT s.doc")
	} else {
		q.add("1")
	}
	if p.within() {
		q.add(p.fromSide())
	} else {
		q.add(p.from())
	}
	q.where(p.all())
	q.add(" LIMIT 0 + ?)", p.Limit)
	return q
}

func (e *Engine) Sum(ctx context.Context, asked *plan.Plan, field int) (int64, error) {
	p := (&query{Plan: asked}).outer()
	return e.number(ctx, p.aggregate("COALESCE(SUM("+p.column(field)+"), 0)", p.within(field)))
}

func (p *query) counting(distinct int) clause {
	if distinct != plan.KeyField {
		return p.aggregate("COUNT(DISTINCT "+p.column(distinct)+")", p.within(distinct))
	}
	return p.aggregate("COUNT(*)", p.within())
}

// aggregate returns the SELECT of one value. within means that the index's table contains all fields that the query
// needs. Then the SELECT does not read the records.
func (p *query) aggregate(value string, within bool) clause {
	from := p.from()
	if within {
		from = p.fromSide()
	}
	q := clause{text: "SELECT " + value + from}
	q.where(p.all())
	return q
}

func (e *Engine) DeleteSome(ctx context.Context, asked *plan.Plan, limit int) (int64, error) {
	p := (&query{Plan: asked}).outer()
	q := clause{text: "DELETE FROM " + quote(p.Shape.Name) + " WHERE id IN (SELECT d.id" + p.from()}
	q.where(p.all())
	q.add(" LIMIT 0 + ?)", limit) // see ordered
	var deleted int64
	err := e.write(ctx, p.Shape, func(w *writer) (err error) {
		deleted, err = w.changes(q.text, q.args...)
		return err
	})
	return deleted, err
}

// selection returns the SELECT of a page, and the number of columns after key, version and body. A query may read
// several ranges of its index, for several values of a prefix field or after a position in an order of several
// fields. Then the SELECT is a UNION ALL with one arm per range. SQLite merges ordered arms row by row, so it reads
// no more rows than it returns.
func (p *query) selection() (clause, int) {
	if q, is := p.fromBlock(); is {
		return q, 0
	}
	arms := p.arms()
	extra := 0
	if len(arms) > 1 {
		extra = len(p.Order) - 1 // without the key, which is selected anyway
	} else if p.Offset > 0 && p.Sorted && p.within() {
		return p.skipping(arms[0]), 0
	}
	head := "SELECT " + p.column(plan.KeyField) + ", d.version, d.body"
	for _, t := range p.Order[:extra] {
		head += ", " + p.column(t.Field)
	}
	q := union(head+p.from(), " UNION ALL ", arms)
	first := 0
	if len(arms) > 1 {
		first = 4
	}
	p.ordered(&q, first)
	return q, extra
}

func (e *Engine) Keys(ctx context.Context, asked *plan.Plan, fields []int) ([][]any, error) {
	p := &query{Plan: asked}
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

// keys returns the SELECT of keys and fields. It has one arm for each range of the index. A record with several
// values of a multi-valued field may be in several arms. UNION returns it once, while it merges the arms.
func (p *query) keys(fields []int) clause {
	from := p.from()
	if p.within(fields...) {
		from = p.fromSide()
	}
	arms := p.arms()
	head := "SELECT "
	if len(arms) == 1 && slices.ContainsFunc(p.Where, p.repeats) {
		head += "DISTINCT "
	}
	head += p.column(plan.KeyField)
	for _, f := range fields {
		head += ", " + p.column(f)
	}
	q := union(head+from, " UNION ", arms)
	p.ordered(&q, 2)
	return q
}

// union returns one SELECT for each arm, joined by the operator. The arm is the condition of its SELECT. The text of 64
// arms is long, so union joins the texts once.
func union(head, operator string, arms []clause) clause {
	texts := make([]string, len(arms))
	var q clause
	for i, arm := range arms {
		one := clause{text: head}
		one.where(arm)
		texts[i], q.args = one.text, append(q.args, one.args...)
	}
	q.text = strings.Join(texts, operator)
	return q
}

// ordered adds ORDER BY, LIMIT and OFFSET. See sequence for first.
func (p *query) ordered(q *clause, first int) {
	var end clause
	p.sequence(&end, first)
	if p.Limit > 0 || p.Offset > 0 {
		// LIMIT 0 + ? and not LIMIT ?: SQLite prepares a statement with a plain parameter again at each run, because
		// its plan may depend on the number.
		end.add(" LIMIT 0 + ? OFFSET ?", cmp.Or(p.Limit, -1), p.Offset)
	}
	q.add(end.text, end.args...)
}

// sequence adds the ORDER BY. If first is 0, it names the columns. Otherwise it uses the numbers of the columns: the
// key is column 1, and the other terms are the columns from first on.
func (p *query) sequence(q *clause, first int) {
	separator := " ORDER BY "
	for i, t := range p.Order {
		name := p.column(t.Field)
		if first > 0 && t.Field == plan.KeyField {
			name = "1"
		} else if first > 0 {
			name = strconv.Itoa(first + i)
		}
		q.add(separator + name)
		if t.Descending {
			q.add(" DESC")
		}
		separator = ", "
	}
}

// side reports whether a table with a row for each value implements the index. words reports whether Index.Words is set.
func (p *query) side() bool  { return p.Index != nil && p.Index.Many >= 0 && !p.Index.Words }
func (p *query) words() bool { return p.Index != nil && p.Index.Words }

// within reports whether the index's table contains the given fields and the fields of all conditions. Then the query
// need not read the records.
func (p *query) within(fields ...int) bool {
	for _, c := range p.Where {
		if c.Again {
			return false
		}
		fields = append(fields, c.Field)
	}
	return p.side() && !slices.ContainsFunc(fields, func(f int) bool { return !slices.Contains(p.Index.Fields, f) })
}

// skipping returns the SELECT of a page at an offset, for an index that is implemented by a table. The SELECT does
// not read the records before the offset.
func (p *query) skipping(arm clause) clause {
	q := clause{text: "SELECT s.key, d.version, d.body FROM (SELECT *" + p.fromSide()}
	q.where(arm)
	p.ordered(&q, 0)
	q.add(") s CROSS JOIN " + quote(p.Shape.Name) + " d ON d.id = s.doc")
	whole := *p.Plan
	whole.Limit, whole.Offset = 0, 0
	all := &query{Plan: &whole}
	all.ordered(&q, 0)
	return q
}

// outer returns a plan for a query whose condition has several values of a multi-valued field. A record may have two
// of the values but must be returned once. So the plan selects the ids of the records from the index's table in a
// subquery. For other queries outer returns p.
func (p *query) outer() *query {
	if !slices.ContainsFunc(p.Where, p.repeats) {
		return p
	}
	inner := *p.Plan
	q := &query{Plan: &inner}
	q.Index, q.Sorted, q.Where = nil, false, nil
	q.inside = clause{text: "d.id IN (SELECT s.doc" + p.fromSide()}
	var within clause
	for _, c := range p.Where {
		if slices.Contains(p.Index.Fields, c.Field) && !c.Again {
			within = within.join(" AND ", p.clause(c))
		} else {
			q.Where = append(q.Where, c)
		}
	}
	q.inside.where(within)
	q.inside.add(")")
	return q
}

// repeats reports whether a record with several values may match the condition in several rows of a side table.
func (p *query) repeats(c plan.Condition) bool {
	return p.side() && c.Op == find.OpHas && len(c.Values) > 1 && c.Field == p.Index.Fields[p.Index.Many] && !c.Again
}

// from returns the FROM clause with tables and index. INDEXED BY makes a query fail if its index cannot be used. Without
// INDEXED BY such a query would be slow.
func (p *query) from() string {
	table := quote(p.Shape.Name)
	switch {
	case p.Index == nil:
		return " FROM " + table + " d"
	case p.words():
		return " FROM " + quote(p.shape().sideTable(p.Index)) + " s CROSS JOIN " + table + " d ON d.id = s.rowid"
	case p.side():
		return p.fromSide() + " CROSS JOIN " + table + " d ON d.id = s.doc"
	}
	return " FROM " + table + " d INDEXED BY " + quote(p.shape().sqlIndex(p.Index))
}

func (p *query) fromSide() string {
	return " FROM " + quote(p.shape().sideTable(p.Index)) + " s INDEXED BY " + quote(p.shape().sqlIndex(p.Index))
}

func (s shape) sqlIndex(ix *plan.Index) string { return s.Name + "." + ix.Name }

// column returns the column of field f. If the index has a table, and it has the field or f is the key, the column is of this
// table. Otherwise it is of the table of the documents.
func (p *query) column(f int) string {
	name := "key"
	if f != plan.KeyField {
		name = quote(column(p.Shape.Fields[f].Name))
	}
	if p.side() && (f == plan.KeyField || slices.Contains(p.Index.Fields, f)) {
		return "s." + name
	}
	return "d." + name
}

// all returns inside and the conditions of the query, joined by AND.
func (p *query) all() clause {
	out := p.inside
	for _, c := range p.Where {
		out = out.join(" AND ", p.clause(c))
	}
	return out
}

func (p *query) clause(c plan.Condition) clause {
	name := p.column(c.Field)
	args := scalars(c.Values)
	switch c.Op {
	case find.OpGt:
		return clause{name + " > ?", args}
	case find.OpGte:
		return clause{name + " >= ?", args}
	case find.OpLt:
		return clause{name + " < ?", args}
	case find.OpLte:
		return clause{name + " <= ?", args}
	case find.OpAbsent:
		if c.Absent {
			return clause{text: name + " IS NULL"}
		}
		return clause{text: name + " IS NOT NULL"}
	case find.OpText:
		return clause{textFunction + "(" + name + ", ?, ?, ?)", []any{string(c.Match), c.Values[0], plan.Scalar(c.Fold)}}
	case find.OpAll:
		return clause{"s." + quote(p.shape().sideTable(p.Index)) + " MATCH ?", []any{allOf(c.Values)}}
	case find.OpHas:
		if c.Again || strings.HasPrefix(name, "d.") {
			name = "d." + quote(column(p.Shape.Fields[c.Field].Name))
			among := oneOf(args)
			return clause{"EXISTS (SELECT 1 FROM json_each(" + name + ") WHERE value" + among.text + ")", among.args}
		}
	}
	among := oneOf(args)
	return clause{name + among.text, among.args}
}

func scalars(values []any) []any {
	return find.Values(values, plan.Scalar)
}

// maxMarks is the largest number of values in a condition for which each value is a parameter of its own. More values
// are passed as one JSON parameter, because SQLite accepts at most 32,766 parameters and parses each.
const maxMarks = 200

func oneOf(values []any) clause {
	if len(values) == 1 {
		return clause{" = ?", values}
	}
	if len(values) > maxMarks {
		if list, err := json.Marshal(values); err == nil { // an error means invalid UTF-8, or a float that is not a number
			return clause{" IN (SELECT value FROM json_each(?))", []any{string(list)}}
		}
	}
	return clause{" IN (?" + strings.Repeat(", ?", len(values)-1) + ")", values}
}
