package sqlite

import (
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// arms returns conditions that each select one range of the index. The records of the page are in the union of these
// ranges.
func (p *query) arms() []clause {
	arms := []clause{p.inside}
	for _, c := range p.Where {
		alternatives := []clause{p.clause(c)}
		if p.Sorted && p.splits(c) && len(arms)*len(c.Values) <= maxArms && p.leads(c.Field) {
			alternatives = alternatives[:0]
			for i := range c.Values {
				alternatives = append(alternatives, p.clause(plan.Condition{Field: c.Field, Op: c.Op, Values: c.Values[i : i+1]}))
			}
		}
		arms = product(arms, alternatives)
	}
	if p.After == nil {
		return arms
	}
	var behind []clause
	for _, conditions := range p.Beyond() {
		var all clause
		for _, c := range conditions {
			all = all.join(" AND ", p.clause(c))
		}
		behind = append(behind, all)
	}
	if !p.Sorted || len(arms)*len(behind) > 3*maxArms {
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
func (p *query) splits(c plan.Condition) bool {
	return len(c.Values) > 1 && (c.Op == find.OpEq || p.repeats(c))
}

// leads reports whether the query does not sort by field f. Such a field is in the prefix of the index.
func (p *query) leads(f int) bool {
	return !slices.ContainsFunc(p.Order, func(t plan.Term) bool { return t.Field == f })
}

// product returns one condition for each pair of an arm and an alternative: the two joined by AND.
func product(arms, alternatives []clause) []clause {
	out := make([]clause, 0, len(arms)*len(alternatives))
	for _, arm := range arms {
		for _, a := range alternatives {
			out = append(out, arm.join(" AND ", a))
		}
	}
	return out
}
