package subscribers_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// 250 random subscribers and 25 random changes: the list of recipients of a change has exactly those subscribers for which
// the explanation has no rule.
func TestTheExplanationAgreesWithTheListOfRecipients(t *testing.T) {
	people := surround(t).direct(nil)
	random := rand.New(rand.NewPCG(1, 2))
	o, dashboards, components := id(), []string{id(), id(), id()}, []string{id(), id(), id(), id()}
	some := func(of []string) []string {
		return slices.DeleteFunc(slices.Clone(of), func(string) bool { return random.IntN(2) == 0 })
	}
	changes := make([]topic.RecipientQuery, 25)
	for i := range changes {
		changes[i] = topic.RecipientQuery{Kind: topic.IncidentCreated, Channel: topic.Email, Components: append(some(components), components[i%4]), Dashboards: map[string][]string{}, Limit: topic.MaxPage}
		for _, component := range changes[i].Components {
			changes[i].Dashboards[component] = some(dashboards)
		}
	}
	now := people.Now()
	for i := range 100 {
		address := audience.Address{ID: id(), OrganizationID: o, Channel: topic.Email, LegacyID: int64(i), Text: fmt.Sprintf("a%d@example.com", i), Normal: fmt.Sprintf("a%d@example.com", i)}
		if err := people.Store.Addresses.Insert(t.Context(), address); err != nil {
			t.Fatal(err)
		}
		for n, dashboard := range some(dashboards) {
			s := audience.Subscriber{
				ID: audience.SubscriberID(dashboard, address.ID), OrganizationID: o, Channel: topic.Email, DashboardID: dashboard, AddressID: address.ID,
				Address: audience.AddressCopy{Text: address.Text, Normal: address.Normal}, Paused: random.IntN(4) == 0, CreatedAt: now, UpdatedAt: now,
			}
			wanted := some(components)
			if len(wanted) == 0 {
				wanted = []string{""}
			}
			for at, component := range wanted {
				entry := audience.Entry{ID: id(), LegacyID: int64(i*100 + n*10 + at), ComponentID: component, CreatedAt: now, Anywhere: component != "" && random.IntN(3) == 0, Deleted: random.IntN(9) == 0}
				if entry.Confirmed = random.IntN(3) > 0; entry.Confirmed {
					entry.ConfirmedAt = &now
				}
				s.Entries = append(s.Entries, entry)
			}
			if err := people.Store.Subscribers.Insert(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	explained, rules := make([][]string, len(changes)), map[topic.Rule]int{}
	for i := range 100 {
		found, err := people.Explain(t.Context(), o, topic.ExplainQuery{Channel: topic.Email, Address: fmt.Sprintf("A%d@example.com", i), Changes: changes})
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range found.Recipients {
			for change, verdict := range to.Verdicts {
				rules[verdict.Rule]++
				if verdict.Rule == "" {
					explained[change] = append(explained[change], to.ID)
				}
				if (verdict.Rule == "") != verdict.CreatedAt.Equal(now) || (verdict.Rule == topic.RuleNotSubscribed) != to.Missing {
					t.Errorf("%+v of %+v", verdict, to)
				}
			}
		}
	}
	for i, change := range changes {
		page, err := people.Concerned(t.Context(), o, change)
		var listed []string
		for _, to := range page.Recipients {
			listed = append(listed, to.ID)
		}
		slices.Sort(explained[i])
		if err != nil || !slices.Equal(listed, explained[i]) {
			t.Errorf("change %d: %d are listed, %d are explained as listed, %v", i, len(listed), len(explained[i]), err)
		}
	}
	for _, rule := range []topic.Rule{"", topic.RuleNotSubscribed, topic.RuleOtherDashboard, topic.RuleUnconfirmed, topic.RulePaused, topic.RuleComponents} {
		if rules[rule] == 0 {
			t.Errorf("no subscriber has the rule %q: %v", rule, rules)
		}
	}
	if found, err := people.Explain(t.Context(), id(), topic.ExplainQuery{Channel: topic.Email, Address: "a1@example.com", Changes: changes}); err != nil || len(found.Recipients) != 0 {
		t.Errorf("another organization sees %+v, %v", found, err)
	}
}
