package plan

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Plan is a query in the form for an engine. Its values are in normal form and its index is chosen. Its order ends
// with the key, so no two records are equal in it.
type Plan struct {
	Shape  *Shape
	Index  *Index // nil: the key is the index
	Where  []Condition
	Empty  bool   // no record can match
	Order  []Term // the last term is the key
	Sorted bool   // the index has the order, so nothing is sorted
	Limit  int
	Bytes  int // a page ends when its bodies reach this size; 0: no bound
	Offset int
	After  []any // the position after which the page starts: the values of Order
}

// Condition restricts a field.
type Condition struct {
	Field  int
	Op     find.Op // OpIn is OpEq with several values
	Values []any
	Absent bool // for OpAbsent: true if the record must lack the field, false if it must have the field
	Match  find.Match
	Fold   bool
	// Again: an earlier condition restricts the same multi-valued field. The two conditions may match different
	// values of the field, but an index has one row for each value, so one row need not match both.
	Again bool
}

// KeyField is the value for the key of the record where the position of a field is expected.
const KeyField = -1

// Term is a field by which records are sorted.
type Term struct {
	Field      int
	Descending bool
}

// Plan checks a query against the declaration and chooses its index. If no index serves the query, or the query is
// malformed, Plan returns an Internal error, because that is a programming error. If q.After is not a position in the
// order of the query, Plan returns an Invalid error.
func (s *Shape) Plan(q find.Query) (*Plan, error) {
	p := &Plan{Shape: s, Limit: q.Limit, Bytes: q.MaxBytes, Offset: q.Offset}
	for _, c := range q.Where {
		if err := p.condition(c); err != nil {
			return nil, s.refuse(q, err.Error())
		}
	}
	if q.Limit < 0 || q.Offset < 0 {
		return nil, s.refuse(q, "limit and offset must not be negative")
	}
	var order []Term
	for _, o := range q.Order {
		at := s.Field(o.Field)
		if at < 0 || s.Fields[at].Many {
			return nil, s.refuse(q, fmt.Sprintf("%q must be a declared single-valued field to sort by", o.Field))
		}
		order = append(order, Term{at, o.Descending})
	}
	if err := p.choose(order, q.Scan); err != nil {
		return nil, s.refuse(q, err.Error())
	}
	if err := p.route(); err != nil {
		return nil, s.refuse(q, err.Error())
	}
	if q.After != "" {
		after, err := parsePosition(q.After, p)
		if err != nil {
			return nil, err
		}
		p.After = after
		p.narrow()
	}
	return p, nil
}

// narrow drops one of two bounds of the first field of the order: a condition, or the position. It drops the bound
// that follows from the other. SQLite starts in an index at one of two bounds, and not always at the nearer one.
func (p *Plan) narrow() {
	first := p.Order[0]
	beyond, from := find.OpGt, find.OpGte
	if first.Descending {
		beyond, from = find.OpLt, find.OpLte
	}
	for i, c := range p.Where {
		if c.Field != first.Field || p.After == nil || c.Op != beyond && c.Op != from {
			continue
		}
		order, comparable := compareScalars(Scalar(p.After[0]), Scalar(c.Values[0]))
		if first.Descending {
			order = -order
		}
		switch {
		case !comparable:
		case order < 0 || order == 0 && c.Op == beyond:
			p.After = nil
		default: // keep a condition that excludes absent values: they are last in descending order, so they are after the position
			p.Where[i] = Condition{Field: c.Field, Op: find.OpAbsent}
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

func (s *Shape) refuse(q find.Query, reason string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "document: query of %s: %s (where", s.Name, reason)
	for _, c := range q.Where {
		fmt.Fprintf(&text, " %s:%s", c.Field, c.Op)
	}
	text.WriteString("; order")
	for _, o := range q.Order {
		fmt.Fprintf(&text, " %s", o.Field)
	}
	text.WriteString("; indexes")
	for _, ix := range s.Indexes {
		fmt.Fprintf(&text, " %s(%s)", ix.Name, strings.Join(s.Names(ix.Fields), ","))
	}
	text.WriteString(")")
	return &fault.Error{Kind: fault.Internal, Message: text.String()}
}

// condition checks a condition and appends it to p.Where in normal form.
func (p *Plan) condition(c find.Condition) error {
	at := p.Shape.Field(c.Field)
	if at < 0 {
		return fmt.Errorf("%q must be a declared field", c.Field)
	}
	out := Condition{Field: at, Op: c.Op, Match: c.Match, Fold: c.Fold}
	many := p.Shape.Fields[at].Many
	switch c.Op {
	case find.OpEq, find.OpGt, find.OpGte, find.OpLt, find.OpLte, find.OpText:
		value, err := Normal(c.Value)
		if err != nil {
			return err
		}
		if value == nil && c.Op == find.OpEq {
			out.Op, out.Absent = find.OpAbsent, true
			break
		}
		if _, list := value.([]any); value == nil || list {
			return fmt.Errorf("%s of %q must have a value", c.Op, c.Field)
		}
		out.Values = []any{value}
	case find.OpIn, find.OpHas, find.OpAll:
		list, err := normalList(reflect.ValueOf(c.Values))
		if err != nil {
			return fmt.Errorf("%s of %q: %w", c.Op, c.Field, err)
		}
		out.Values, _ = list.([]any)
		p.Empty = p.Empty || len(out.Values) == 0
	case find.OpAbsent:
		absent, ok := c.Value.(bool)
		if !ok {
			return fmt.Errorf("absent of %q must have a bool", c.Field)
		}
		out.Absent = absent
	default:
		return fmt.Errorf("%q must be an operation", c.Op)
	}
	if out.Op == find.OpIn {
		out.Op = find.OpEq
	}
	if out.Op == find.OpText {
		if err := out.text(); err != nil {
			return err
		}
	}
	if many != (out.Op == find.OpHas || out.Op == find.OpAll) && out.Op != find.OpAbsent {
		return fmt.Errorf("%s must not be used with the field %q (multi-valued: %t)", c.Op, c.Field, many)
	}
	out.Again = out.Op == find.OpHas && p.pinned(at, false)
	p.Where = append(p.Where, out)
	return nil
}

// text checks a text condition. A case-sensitive comparison of the whole text becomes an equality.
func (c *Condition) text() error {
	if _, ok := c.Values[0].(string); !ok {
		return fmt.Errorf("a text condition must have a string")
	}
	switch c.Match {
	case find.Whole, find.Prefix, find.Suffix, find.Substring:
	default:
		return fmt.Errorf("%q must be a part of a text", c.Match)
	}
	if c.Match == find.Whole && !c.Fold {
		c.Op = find.OpEq
	}
	return nil
}

// pins reports whether a condition restricts its field to a few values. Such fields can be the leading fields of an
// index.
func (c *Condition) pins() bool {
	return c.Op == find.OpEq || c.Op == find.OpHas || c.Op == find.OpAll || c.Op == find.OpAbsent && c.Absent
}

// fixed reports whether a condition restricts its field to one value. Sorting by the field has no effect then.
func (c *Condition) fixed() bool {
	return c.pins() && (c.Op == find.OpAbsent || len(c.Values) == 1)
}

// choose chooses the index with the name scan. It returns an error if the conditions do not bound a prefix of this
// index. If scan is empty, choose chooses the index that serves the query and has the most bound fields, and among
// several such indexes one with the fewest fields. It returns an error if no index serves the query. A query without
// conditions and order is served by the key.
func (p *Plan) choose(order []Term, scan string) error {
	ix := p.Shape.indexNamed(scan)
	if err := p.words(ix); err != nil {
		return err
	}
	if scan != "" {
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
	if len(p.Where) == 0 && len(order) == 0 {
		p.take(nil, fit{sorted: true})
		return nil
	}
	var best *Index
	var bestFit fit
	for i := range p.Shape.Indexes {
		ix := &p.Shape.Indexes[i]
		f := p.fit(ix, order)
		if !f.usable || ix.Words || !f.covers || !f.sorted || f.bound == 0 && len(p.Where) > 0 {
			continue
		}
		if best == nil || f.bound > bestFit.bound || f.bound == bestFit.bound && len(ix.Fields) < len(best.Fields) {
			best, bestFit = ix, f
		}
	}
	if best == nil {
		return fmt.Errorf("no declared index serves it; declare one, or name in Scan an index whose prefix to examine")
	}
	p.take(best, bestFit)
	return nil
}

// route returns an error if the query asks every shard, unless the index declares the reason in Scatter. A query without
// conditions and order reads the whole collection, so it may ask every shard.
func (p *Plan) route() error {
	s := p.Shape.Shard
	if p.Index == nil || p.Index.Scatter != "" || s.Whole != "" || s.ByField && p.pinned(s.Field, false) {
		return nil
	}
	return fmt.Errorf("it asks every shard; add an equality on %q, or declare the reason in Scatter of index %s", p.Shape.Fields[s.Field].Name, p.Index.Name)
}

// words checks the conditions All of the query. With an index of words there must be one such condition, on the first
// field of ix and with valid words. With another index there must be none. Otherwise words returns an error.
func (p *Plan) words(ix *Index) error {
	all := 0
	for _, c := range p.Where {
		if c.Op != find.OpAll {
			continue
		}
		if all++; ix == nil || !ix.Words || ix.Fields[0] != c.Field {
			return fmt.Errorf("all of %q needs an index of words in Scan", p.Shape.Fields[c.Field].Name)
		}
		for _, value := range c.Values {
			if text, _ := value.(string); !word.MatchString(text) {
				return fmt.Errorf("all of %q must name words", p.Shape.Fields[c.Field].Name)
			}
		}
	}
	if ix != nil && ix.Words && all != 1 {
		return fmt.Errorf("index %s needs one condition all", ix.Name)
	}
	return nil
}

// fit is the result of comparing an index with a query.
type fit struct {
	usable bool   // the index has no multi-valued field, or conditions bound this field
	bound  int    // number of leading fields of the index that conditions bound
	covers bool   // every condition narrows the range of the index that is read
	sorted bool   // the index, read in one direction, has the order
	order  []Term // the order, completed by the remaining fields of the index
}

func (p *Plan) fit(ix *Index, order []Term) fit {
	wanted := slices.DeleteFunc(slices.Clone(order), func(t Term) bool { return p.pinned(t.Field, true) })
	k := 0
	for k < len(ix.Fields) && p.pinned(ix.Fields[k], len(wanted) > 0 && wanted[0].Field == ix.Fields[k]) {
		k++
	}
	f := fit{usable: ix.Many < 0 || ix.Many < k, bound: k, covers: true}
	ranged := false
	for _, c := range p.Where {
		at := slices.Index(ix.Fields, c.Field)
		switch {
		case at >= 0 && at < k && !c.Again:
		case at == k && c.Op != find.OpText:
			ranged = true
		default:
			f.covers = false
		}
	}
	if ranged {
		f.bound++
	}
	f.sorted, f.order = p.follows(ix.Fields[k:], wanted)
	f.sorted = f.sorted && !ix.Words
	return f
}

// pinned reports whether a condition restricts the field to a few values, or, if one is true, to exactly one value.
func (p *Plan) pinned(field int, one bool) bool {
	return slices.ContainsFunc(p.Where, func(c Condition) bool {
		return c.Field == field && c.pins() && (!one || c.fixed())
	})
}

// follows reports whether rest, the remaining fields of an index, starts with the wanted order in one direction. It
// returns the wanted order followed by the other fields of rest.
func (p *Plan) follows(rest []int, wanted []Term) (bool, []Term) {
	for i, t := range wanted {
		if i >= len(rest) || rest[i] != t.Field || t.Descending != wanted[0].Descending {
			return false, wanted
		}
	}
	full := slices.Clone(wanted)
	for _, f := range rest[len(wanted):] {
		full = append(full, Term{f, len(wanted) > 0 && wanted[0].Descending})
	}
	return true, full
}

func (p *Plan) take(ix *Index, f fit) {
	p.Index, p.Sorted = ix, f.sorted
	n := len(f.order)
	p.Order = append(f.order, Term{KeyField, n > 0 && f.order[n-1].Descending})
}

// Beyond returns alternatives of conditions that together match the records after the position. Each of these records
// matches exactly one alternative. In an alternative, some first terms of the order equal the position, and the next
// term has a later value. Absent values sort before all others.
func (p *Plan) Beyond() [][]Condition {
	var out [][]Condition
	var equal []Condition
	for i, t := range p.Order {
		is, value := Condition{Field: t.Field, Op: find.OpEq, Values: p.After[i : i+1]}, p.After[i]
		absent := Condition{Field: t.Field, Op: find.OpAbsent, Absent: true}
		later := func(c Condition) { out = append(out, append(slices.Clone(equal), c)) }
		switch {
		case value == nil:
			is = absent
			if !t.Descending {
				later(Condition{Field: t.Field, Op: find.OpAbsent})
			}
		case !t.Descending:
			later(Condition{Field: t.Field, Op: find.OpGt, Values: is.Values})
		default:
			later(Condition{Field: t.Field, Op: find.OpLt, Values: is.Values})
			if t.Field != KeyField {
				later(absent)
			}
		}
		equal = append(equal, is)
	}
	return out
}
