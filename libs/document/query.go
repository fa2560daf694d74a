package document

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// plan is a query in the form for an engine: its values are in normal form, its index is chosen, and its order is
// completed, so every record has one place in it.
type plan struct {
	shape  *shape
	index  *index // nil: the key is the index
	where  []condition
	empty  bool   // no record can match
	order  []term // its last term is the key
	sorted bool   // the index has the order, so nothing is sorted
	limit  int
	bytes  int // of the bodies that a page has at its end; 0: no bound
	offset int
	after  []any  // the position after which the page starts: the values of order
	inside clause // on SQLite, see outer
}

type condition struct {
	field  int
	op     find.Op // OpEq also stands for OpIn, with several values
	values []any
	absent bool // of OpAbsent
	match  find.Match
	fold   bool
	// again: an earlier condition is on the same list. One row of an index over the list cannot match both.
	again bool
}

const keyField = -1 // the key in place of a field

type term struct {
	field      int
	descending bool
}

// plan checks a query against the declaration and chooses its index. If no index serves the query, it returns an
// Internal error, because that is a programming error.
func (s *shape) plan(q find.Query) (*plan, error) {
	p := &plan{shape: s, limit: q.Limit, bytes: q.MaxBytes, offset: q.Offset}
	for _, c := range q.Where {
		if err := p.condition(c); err != nil {
			return nil, s.refuse(q, err.Error())
		}
	}
	if q.Limit < 0 || q.Offset < 0 {
		return nil, s.refuse(q, "limit and offset must not be negative")
	}
	var order []term
	for _, o := range q.Order {
		at := s.field(o.Field)
		if at < 0 || s.fields[at].many {
			return nil, s.refuse(q, fmt.Sprintf("%q must be a declared single-valued field to sort by", o.Field))
		}
		order = append(order, term{at, o.Descending})
	}
	if err := p.choose(order, q.Scan); err != nil {
		return nil, s.refuse(q, err.Error())
	}
	if q.After != "" {
		after, err := parsePosition(q.After, p)
		if err != nil {
			return nil, err
		}
		p.after = after
		p.narrow()
	}
	return p, nil
}

// narrow drops a bound of the first field of the order that follows from the position, or the position if it follows
// from a bound. SQLite enters an index at one of two bounds, and not always at the nearer one.
func (p *plan) narrow() {
	first := p.order[0]
	beyond, from := find.OpGt, find.OpGte
	if first.descending {
		beyond, from = find.OpLt, find.OpLte
	}
	for i, c := range p.where {
		if c.field != first.field || p.after == nil || c.op != beyond && c.op != from {
			continue
		}
		order, comparable := compareScalars(scalar(p.after[0]), scalar(c.values[0]))
		if first.descending {
			order = -order
		}
		switch {
		case !comparable:
		case order < 0 || order == 0 && c.op == beyond:
			p.after = nil
		default: // the position does not exclude absent values, which are last in descending order
			p.where[i] = condition{field: c.field, op: find.OpAbsent}
		}
	}
}

func compareScalars(a, b any) (order int, comparable bool) {
	switch a := a.(type) {
	case string:
		b, same := b.(string)
		return cmp.Compare(a, b), same
	case int64:
		b, same := b.(int64)
		return cmp.Compare(a, b), same
	case float64:
		b, same := b.(float64)
		return cmp.Compare(a, b), same
	}
	return 0, false
}

func (s *shape) refuse(q find.Query, reason string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "document: query of %s: %s (where", s.name, reason)
	for _, c := range q.Where {
		fmt.Fprintf(&text, " %s:%s", c.Field, c.Op)
	}
	text.WriteString("; order")
	for _, o := range q.Order {
		fmt.Fprintf(&text, " %s", o.Field)
	}
	text.WriteString("; indexes")
	for _, ix := range s.indexes {
		fmt.Fprintf(&text, " %s(%s)", ix.name, strings.Join(s.names(ix.fields), ","))
	}
	text.WriteString(")")
	return &fault.Error{Kind: fault.Internal, Message: text.String()}
}

func (s *shape) names(fields []int) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = s.fields[f].name
	}
	return names
}

// condition adds a condition in normal form.
func (p *plan) condition(c find.Condition) error {
	at := p.shape.field(c.Field)
	if at < 0 {
		return fmt.Errorf("%q must be a declared field", c.Field)
	}
	out := condition{field: at, op: c.Op, match: c.Match, fold: c.Fold}
	many := p.shape.fields[at].many
	switch c.Op {
	case find.OpEq, find.OpGt, find.OpGte, find.OpLt, find.OpLte, find.OpText:
		value, err := normal(c.Value)
		if err != nil {
			return err
		}
		if value == nil && c.Op == find.OpEq {
			out.op, out.absent = find.OpAbsent, true
			break
		}
		if _, list := value.([]any); value == nil || list {
			return fmt.Errorf("%s of %q must have a value", c.Op, c.Field)
		}
		out.values = []any{value}
	case find.OpIn, find.OpHas:
		list, err := normalList(reflect.ValueOf(c.Values))
		if err != nil {
			return fmt.Errorf("%s of %q: %w", c.Op, c.Field, err)
		}
		out.values, _ = list.([]any)
		p.empty = p.empty || len(out.values) == 0
	case find.OpAbsent:
		absent, ok := c.Value.(bool)
		if !ok {
			return fmt.Errorf("absent of %q must have a bool", c.Field)
		}
		out.absent = absent
	default:
		return fmt.Errorf("%q must be an operation", c.Op)
	}
	if out.op == find.OpIn {
		out.op = find.OpEq
	}
	if out.op == find.OpText {
		if err := out.text(); err != nil {
			return err
		}
	}
	if many != (out.op == find.OpHas) && out.op != find.OpAbsent {
		return fmt.Errorf("%s must not be used with the field %q (multi-valued: %t)", c.Op, c.Field, many)
	}
	out.again = out.op == find.OpHas && p.pinned(at, false)
	p.where = append(p.where, out)
	return nil
}

// text checks a text condition. A comparison of the whole text with case becomes an equality.
func (c *condition) text() error {
	if _, ok := c.values[0].(string); !ok {
		return fmt.Errorf("a text condition must have a string")
	}
	switch c.match {
	case find.Whole, find.Prefix, find.Suffix, find.Substring:
	default:
		return fmt.Errorf("%q must be a part of a text", c.match)
	}
	if c.match == find.Whole && !c.fold {
		c.op = find.OpEq
	}
	return nil
}

// pins reports whether a condition restricts its field to a few values. Such fields can be the first of an index.
func (c *condition) pins() bool {
	return c.op == find.OpEq || c.op == find.OpHas || c.op == find.OpAbsent && c.absent
}

// fixed reports whether a condition restricts its field to one value. Sorting by the field has no effect then.
func (c *condition) fixed() bool {
	return c.pins() && (c.op == find.OpAbsent || len(c.values) == 1)
}

// choose chooses the index with the longest pinned prefix, and of several the shortest.
func (p *plan) choose(order []term, scan string) error {
	if scan != "" {
		ix := p.shape.indexNamed(scan)
		if ix == nil {
			return fmt.Errorf("index %q must be declared", scan)
		}
		f := p.fit(ix, order)
		if !f.usable || f.bound == 0 {
			return fmt.Errorf("the conditions must bound a prefix of index %s", scan)
		}
		p.take(ix, f)
		return nil
	}
	if len(p.where) == 0 && len(order) == 0 {
		p.take(nil, fit{sorted: true})
		return nil
	}
	var best *index
	var bestFit fit
	for i := range p.shape.indexes {
		ix := &p.shape.indexes[i]
		f := p.fit(ix, order)
		if !f.usable || !f.covers || !f.sorted || f.bound == 0 && len(p.where) > 0 {
			continue
		}
		if best == nil || f.bound > bestFit.bound || f.bound == bestFit.bound && len(ix.fields) < len(best.fields) {
			best, bestFit = ix, f
		}
	}
	if best == nil {
		return fmt.Errorf("no declared index serves it; declare one, or name in Scan an index whose prefix to examine")
	}
	p.take(best, bestFit)
	return nil
}

// fit is the result of comparing an index with a query.
type fit struct {
	usable bool   // the index has each record of the result once
	bound  int    // number of its first fields that conditions bound
	covers bool   // all conditions narrow the part of the index that is read
	sorted bool   // the index, read in one direction, has the order
	order  []term // the order, completed by the remaining fields of the index
}

func (p *plan) fit(ix *index, order []term) fit {
	wanted := slices.DeleteFunc(slices.Clone(order), func(t term) bool { return p.pinned(t.field, true) })
	k := 0
	for k < len(ix.fields) && p.pinned(ix.fields[k], len(wanted) > 0 && wanted[0].field == ix.fields[k]) {
		k++
	}
	f := fit{usable: ix.many < 0 || ix.many < k, bound: k, covers: true}
	ranged := false
	for _, c := range p.where {
		at := slices.Index(ix.fields, c.field)
		switch {
		case at >= 0 && at < k && !c.again:
		case at == k && c.op != find.OpText:
			ranged = true
		default:
			f.covers = false
		}
	}
	if ranged {
		f.bound++
	}
	f.sorted, f.order = p.follows(ix.fields[k:], wanted)
	return f
}

// pinned reports whether a condition restricts the field to a few values, or with one to exactly one value.
func (p *plan) pinned(field int, one bool) bool {
	return slices.ContainsFunc(p.where, func(c condition) bool {
		return c.field == field && c.pins() && (!one || c.fixed())
	})
}

// follows reports whether the fields of rest start with the wanted order, in one direction. It returns the order with
// the other fields of rest.
func (p *plan) follows(rest []int, wanted []term) (bool, []term) {
	for i, t := range wanted {
		if i >= len(rest) || rest[i] != t.field || t.descending != wanted[0].descending {
			return false, wanted
		}
	}
	full := slices.Clone(wanted)
	for _, f := range rest[len(wanted):] {
		full = append(full, term{f, len(wanted) > 0 && wanted[0].descending})
	}
	return true, full
}

func (p *plan) take(ix *index, f fit) {
	p.index, p.sorted = ix, f.sorted
	n := len(f.order)
	p.order = append(f.order, term{keyField, n > 0 && f.order[n-1].descending})
}

// beyond returns alternatives of conditions that together match the records after the position, each record once. For
// each term of the order, an alternative has the position's values in the terms before it and a later value in it.
// Absent values sort before all others.
func (p *plan) beyond() [][]condition {
	var out [][]condition
	var equal []condition
	for i, t := range p.order {
		is, value := condition{field: t.field, op: find.OpEq, values: p.after[i : i+1]}, p.after[i]
		absent := condition{field: t.field, op: find.OpAbsent, absent: true}
		later := func(c condition) { out = append(out, append(slices.Clone(equal), c)) }
		switch {
		case value == nil:
			is = absent
			if !t.descending {
				later(condition{field: t.field, op: find.OpAbsent})
			}
		case !t.descending:
			later(condition{field: t.field, op: find.OpGt, values: is.values})
		default:
			later(condition{field: t.field, op: find.OpLt, values: is.values})
			if t.field != keyField {
				later(absent)
			}
		}
		equal = append(equal, is)
	}
	return out
}
