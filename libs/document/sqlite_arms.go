package document

import (
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// arms are the conjunctions whose union is the page's candidates, each one range of the index.
func (p *plan) arms() [][]clause {
	arms := [][]clause{nil}
	if p.inside != nil {
		arms[0] = []clause{*p.inside}
	}
	for _, c := range p.where {
		if p.sorted && c.op == find.OpEq && len(c.values) > 1 && len(arms)*len(c.values) <= maxArms && p.leads(c.field) {
			arms = product(arms, p.each(c))
			continue
		}
		arms = product(arms, []clause{p.clause(c)})
	}
	if p.after == nil {
		return arms
	}
	behind := p.behind()
	if !p.sorted || len(arms)*len(behind) > 2*maxArms {
		return product(arms, []clause{either(behind)})
	}
	return product(arms, conjunctions(behind))
}

// leads: the field stands in the index's prefix, before what is sorted by.
func (p *plan) leads(f int) bool {
	return !slices.ContainsFunc(p.order, func(t term) bool { return t.field == f })
}

func (p *plan) each(c condition) []clause {
	out := make([]clause, len(c.values))
	for i, v := range c.values {
		out[i] = clause{p.column(c.field) + " = ?", []any{scalar(v)}}
	}
	return out
}

func product(arms [][]clause, alternatives []clause) [][]clause {
	out := make([][]clause, 0, len(arms)*len(alternatives))
	for _, arm := range arms {
		for _, a := range alternatives {
			out = append(out, append(slices.Clone(arm), a))
		}
	}
	return out
}

// behind are the disjoint ranges that make up what follows the position: equal in the first fields of
// the order and beyond in the next, for each of them, the key last. Absent values sort before all others.
func (p *plan) behind() [][]clause {
	var out [][]clause
	var equal []clause
	for i, t := range p.order {
		name, value := p.column(t.field), p.after.values[i]
		beyond := func(c clause) { out = append(out, append(slices.Clone(equal), c)) }
		switch {
		case value == nil && !t.descending:
			beyond(clause{text: name + " IS NOT NULL"})
		case value != nil && !t.descending:
			beyond(clause{name + " > ?", []any{scalar(value)}})
		case value != nil:
			beyond(clause{name + " < ?", []any{scalar(value)}})
			beyond(clause{text: name + " IS NULL"})
		}
		if value == nil {
			equal = append(equal, clause{text: name + " IS NULL"})
		} else {
			equal = append(equal, clause{name + " = ?", []any{scalar(value)}})
		}
	}
	compare := " > ?"
	if p.last {
		compare = " < ?"
	}
	return append(out, append(equal, clause{p.key() + compare, []any{p.after.key}}))
}

// conjunctions joins each list of clauses into one.
func conjunctions(lists [][]clause) []clause {
	out := make([]clause, len(lists))
	for i, list := range lists {
		texts := make([]string, len(list))
		for j, c := range list {
			texts[j] = c.text
			out[i].args = append(out[i].args, c.args...)
		}
		out[i].text = strings.Join(texts, " AND ")
	}
	return out
}

func either(lists [][]clause) clause {
	var out clause
	texts := make([]string, len(lists))
	for i, c := range conjunctions(lists) {
		texts[i] = "(" + c.text + ")"
		out.args = append(out.args, c.args...)
	}
	out.text = "(" + strings.Join(texts, " OR ") + ")"
	return out
}
