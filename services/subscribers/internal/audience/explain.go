package audience

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Explain returns the subscribers with the address of the query, and for each change whether Concerned returns them
// now. For each other dashboard of the changes, it returns, as Missing, the subscriber that the address had or would
// have there. The dashboards of a change show one of its components, or its event without components. Explain returns
// at most topic.MaxExplainedRecipients, and no subscribers if the organization does not have the address.
func (a *Audience) Explain(ctx context.Context, organization string, query topic.ExplainQuery) (topic.Explanation, error) {
	out := topic.Explanation{Recipients: []topic.ExplainedRecipient{}}
	if query.Channel.RecipientService() != topic.Subscribers {
		return out, fault.Field("channel", "must be a channel of subscribers")
	}
	normal, ok := Normal(query.Channel, query.Address)
	if !ok {
		return out, fault.Field(kindOf(query.Channel).field, "%s", kindOf(query.Channel).needed)
	}
	addresses, err := a.Store.Addresses.Find(ctx, find.Query{Where: of(organization, query.Channel, find.Eq(FieldNormal, normal)), Limit: 1})
	if err != nil || len(addresses.Items) == 0 {
		return out, err
	}
	address := addresses.Items[0]
	stored, err := a.Store.Subscribers.Find(ctx, find.Query{Where: []find.Condition{find.Eq(FieldAddress, address.ID)}, Limit: topic.MaxExplainedRecipients})
	if err != nil {
		return out, err
	}
	wanted, dashboards := make([][]string, len(query.Changes)), []string(nil)
	for i, change := range query.Changes {
		values, err := a.concerning(ctx, organization, change)
		if err != nil {
			return out, err
		}
		wanted[i] = slices.Concat(values...)
		dashboards = append(dashboards, change.AllOf...)
		for _, on := range change.Dashboards {
			dashboards = append(dashboards, on...)
		}
	}
	known := make(map[string]bool)
	for _, s := range stored.Items {
		if s.OrganizationID == organization && !s.Gone() && !s.Address.Removed {
			known[s.DashboardID] = true
			out.Recipients = append(out.Recipients, s.explained(wanted))
		}
	}
	for _, dashboard := range distinct(dashboards) {
		if !known[dashboard] && len(out.Recipients) < topic.MaxExplainedRecipients {
			missing := topic.ExplainedRecipient{Recipient: recipient(query.Channel, SubscriberID(dashboard, address.ID), address.ID), DashboardID: dashboard, Missing: true}
			for range wanted {
				missing.Verdicts = append(missing.Verdicts, topic.Verdict{Rule: topic.RuleNotSubscribed})
			}
			out.Recipients = append(out.Recipients, missing)
		}
	}
	return out, nil
}

// explained returns the subscriber with a verdict for each change. wanted has the values of FieldConcerned of each
// change.
func (s Subscriber) explained(wanted [][]string) topic.ExplainedRecipient {
	out := topic.ExplainedRecipient{
		Recipient: recipient(s.Channel, s.ID, s.AddressID), DashboardID: s.DashboardID, UpdatedAt: s.UpdatedAt,
		Verdicts: find.Values(wanted, s.verdict),
	}
	if suppressed := s.Address.Suppression; suppressed != nil {
		out.Suppression = &topic.Suppression{Reason: string(suppressed.Reason), Since: suppressed.At}
	}
	return out
}

// verdict returns whether Audience.Concerned returns the subscriber for a change with the values wanted. It compares them
// with Subscriber.Concerned, whose values are in the index. If none is equal, verdict returns the rule: the fact about
// the subscriber that would have to differ.
func (s Subscriber) verdict(wanted []string) topic.Verdict {
	concerns := func(s Subscriber) bool {
		return slices.ContainsFunc(s.Concerned(), func(value string) bool { return slices.Contains(wanted, value) })
	}
	if concerns(s) {
		chosen, confirmed := s.since(concerns)
		return topic.Verdict{CreatedAt: s.CreatedAt, ChosenAt: chosen, ConfirmedAt: confirmed}
	}
	resumed, confirmed := s, s
	resumed.Paused, confirmed.Paused = false, false
	confirmed.confirm(true, s.UpdatedAt)
	switch {
	case concerns(resumed):
		return topic.Verdict{Rule: topic.RulePaused}
	case concerns(confirmed):
		return topic.Verdict{Rule: topic.RuleUnconfirmed}
	case !slices.Contains(wanted, allOf(s.DashboardID)):
		return topic.Verdict{Rule: topic.RuleOtherDashboard}
	}
	return topic.Verdict{Rule: topic.RuleComponents}
}

// since returns the earliest CreatedAt and the earliest ConfirmedAt of the entries that concern a change and have a
// ConfirmedAt. The change may have concerned the subscriber earlier, by entries that were removed.
func (s Subscriber) since(concerns func(Subscriber) bool) (chosen, confirmed time.Time) {
	for _, e := range s.Entries {
		one := s
		one.Entries = []Entry{e}
		if e.ConfirmedAt == nil || !concerns(one) {
			continue
		}
		if chosen.IsZero() || e.CreatedAt.Before(chosen) {
			chosen = e.CreatedAt
		}
		if confirmed.IsZero() || e.ConfirmedAt.Before(confirmed) {
			confirmed = *e.ConfirmedAt
		}
	}
	return chosen, confirmed
}

func recipient(channel topic.Channel, id, address string) topic.Recipient {
	return topic.Recipient{ID: id, Destination: digest(channel, address)}
}
