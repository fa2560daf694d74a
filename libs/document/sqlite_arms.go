package document

import (
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// arms returns conditions that each select one range of the index. The union of their records contains the page.
func (p *plan) arms() []clause {
	arms := []clause{p.inside}
	for _, c := range p.where {
		alternatives := []clause{p.clause(c)}
		if p.sorted && p.splits(c) && len(arms)*len(c.values) <= maxArms && p.leads(c.field) {
			alternatives = alternatives[:0]
			for i := range c.values {
				alternatives = append(alternatives, p.clause(condition{field: c.field, op: c.op, values: c.values[i : i+1]}))
			}
		}
		arms = product(arms, alternatives)
	}
	if p.after == nil {
		return arms
	}
	var behind []clause
	for _, conditions := range p.beyond() {
		var all clause
		for _, c := range conditions {
			all = all.join(" AND ", p.clause(c))
		}
		behind = append(behind, all)
	}
	if !p.sorted || len(arms)*len(behind) > 3*maxArms {
		var either clause
		for _, b := range behind {
			either = either.join(" OR ", clause{"(" + b.text + ")", b.args})
		}
		behind = []clause{{"(" + either.text + ")", either.args}}
	}
	return product(arms, behind)
}

// splits reports whether each value of a condition selects a range of its own. The ranges of a multi-valued field may
// have records in common.
func (p *plan) splits(c condition) bool {
	return len(c.values) > 1 && (c.op == find.OpEq || p.repeats(c))
}

// leads reports whether the query does not sort by field f, so f is in the prefix of the index.
func (p *plan) leads(f int) bool {
	return !slices.ContainsFunc(p.order, func(t term) bool { return t.field == f })
}

// product returns each of arms combined with each of alternatives.
func product(arms, alternatives []clause) []clause {
	out := make([]clause, 0, len(arms)*len(alternatives))
	for _, arm := range arms {
		for _, a := range alternatives {
			out = append(out, arm.join(" AND ", a))
		}
	}
	return out
}
