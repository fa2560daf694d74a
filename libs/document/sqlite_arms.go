package document

import (
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// arms returns conjunctions of conditions, each of one range of the index. The union of their records contains the
// page.
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
	var behind [][]clause
	for _, conditions := range p.beyond() {
		var clauses []clause
		for _, c := range conditions {
			clauses = append(clauses, p.clause(c))
		}
		behind = append(behind, clauses)
	}
	if !p.sorted || len(arms)*len(behind) > 2*maxArms {
		return product(arms, []clause{either(behind)})
	}
	return product(arms, conjunctions(behind))
}

// leads reports whether the query does not sort by field f, so f is in the prefix of the index.
func (p *plan) leads(f int) bool {
	return !slices.ContainsFunc(p.order, func(t term) bool { return t.field == f })
}

// each returns an equality for each value of c.
func (p *plan) each(c condition) []clause {
	out := make([]clause, len(c.values))
	for i, v := range c.values {
		out[i] = clause{p.column(c.field) + " = ?", []any{scalar(v)}}
	}
	return out
}

// product returns each of arms combined with each of alternatives.
func product(arms [][]clause, alternatives []clause) [][]clause {
	out := make([][]clause, 0, len(arms)*len(alternatives))
	for _, arm := range arms {
		for _, a := range alternatives {
			out = append(out, append(slices.Clone(arm), a))
		}
	}
	return out
}

// conjunctions joins each list of clauses with AND.
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

// either joins the conjunctions of lists with OR.
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
