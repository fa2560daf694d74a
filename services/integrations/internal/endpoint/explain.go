package endpoint

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// rule is a rule of Concerned: the condition that selects endpoints by an index, and fulfilled, which is the same condition
// for one endpoint. TestTheRulesOfOneEndpointSelectAsTheIndexDoes compares the two.
type rule struct {
	name      topic.Rule
	condition *find.Condition // nil: the condition of another rule implies this rule
	fulfilled func(*Endpoint) bool
}

// rules returns the rules for a change. An endpoint is a recipient if it fulfils all of them.
func rules(query topic.RecipientQuery) []rule {
	must := func(condition find.Condition) *find.Condition { return &condition }
	concerned := query.Components
	if len(query.AllOf) > 0 {
		concerned = find.Values(query.AllOf, allOf)
	}
	all := []rule{
		{topic.RuleUnverified, nil, func(e *Endpoint) bool { return e.VerifiedAt != nil }},
		{topic.RulePaused, must(find.Eq(FieldPaused, false)), func(e *Endpoint) bool { return !e.Paused }},
		{topic.RuleOtherDashboard, nil, func(e *Endpoint) bool {
			return len(query.AllOf) == 0 || slices.Contains(query.AllOf, e.DashboardID)
		}},
		{topic.RuleComponents, must(find.Has(FieldComponents, concerned...)), func(e *Endpoint) bool {
			return slices.ContainsFunc(e.Concerned(), func(value string) bool { return slices.Contains(concerned, value) })
		}},
		{topic.RuleKind, must(find.Has(FieldKinds, AllKinds, string(query.Kind))), func(e *Endpoint) bool {
			return slices.ContainsFunc(e.SentKinds(), func(kind topic.Kind) bool { return kind == AllKinds || kind == query.Kind })
		}},
	}
	if len(query.Endpoints) > 0 {
		all = append(all, rule{topic.RuleEndpoint, must(find.In(FieldLegacyID, query.Endpoints...)), func(e *Endpoint) bool {
			return slices.Contains(query.Endpoints, e.LegacyID)
		}})
	}
	return all
}

// allOf returns the value of FieldComponents that all endpoints with components on a dashboard have.
func allOf(dashboard string) string { return "*" + dashboard }

// Concerned returns the values of FieldComponents: the components of the endpoint, and allOf for its dashboard. An
// endpoint without components has no values.
func (e *Endpoint) Concerned() []string {
	if len(e.ComponentIDs) == 0 {
		return nil
	}
	return append(slices.Clone(e.ComponentIDs), allOf(e.DashboardID))
}

// SentKinds returns the values of FieldKinds, and nil if the endpoint is not verified.
func (e *Endpoint) SentKinds() []topic.Kind {
	switch {
	case e.VerifiedAt == nil:
		return nil
	case e.EventKinds == nil:
		return []topic.Kind{AllKinds}
	}
	return e.EventKinds
}

// Explain returns at most topic.MaxExplainedRecipients endpoints with the URL of the query. For each endpoint and
// change, it returns the verdict: whether Concerned would return the endpoint now, or else the rule that excludes it.
func (s *Endpoints) Explain(ctx context.Context, organization string, query topic.ExplainQuery) (topic.Explanation, error) {
	out := topic.Explanation{Recipients: []topic.ExplainedRecipient{}}
	if query.Channel.RecipientService() != topic.Integrations {
		return out, fault.Field("channel", "must be a channel of endpoints")
	}
	found, err := s.Store.Endpoints.Find(ctx, find.Query{
		Where: ofKind(organization, query.Channel, find.Eq(FieldURLHash, query.URLHash)), Limit: topic.MaxExplainedRecipients,
	})
	if err != nil || len(found.Items) == 0 {
		return out, err
	}
	suppressions, err := s.suppressions(ctx, found.Items...)
	if err != nil {
		return out, err
	}
	for _, e := range found.Items {
		one := topic.ExplainedRecipient{
			Recipient: topic.Recipient{ID: e.ID, Destination: e.Limit()}, DashboardID: e.DashboardID, UpdatedAt: e.UpdatedAt,
			Verdicts: find.Values(query.Changes, e.verdict),
		}
		if suppressed, is := suppressions[e.suppressionKey()]; is && e.VerifiedAt != nil {
			one.Suppression = &topic.Suppression{Reason: string(suppressed.Reason), Since: suppressed.SuppressedAt}
		}
		out.Recipients = append(out.Recipients, one)
	}
	return out, nil
}

// verdict returns the first rule that the endpoint does not fulfil for the change. If the endpoint fulfils all rules,
// so that Concerned returns it, the Verdict has no rule.
func (e Endpoint) verdict(query topic.RecipientQuery) topic.Verdict {
	for _, rule := range rules(query) {
		if !rule.fulfilled(&e) {
			return topic.Verdict{Rule: rule.name}
		}
	}
	return topic.Verdict{CreatedAt: e.CreatedAt, ConfirmedAt: *e.VerifiedAt}
}
