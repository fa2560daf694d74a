package subscribers_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// 250 random subscribers and 25 random changes, also of events without components: the list of recipients of a change has
// exactly those subscribers for which the explanation has no rule, and their count is the same.
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
		if i%5 == 0 { // an event without components
			changes[i].Components, changes[i].Dashboards, changes[i].AllOf = nil, nil, append(some(dashboards[1:]), dashboards[0])
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
		if count, err := people.Count(t.Context(), o, change); err != nil || count.Recipients != len(listed) || count.More {
			t.Errorf("change %d: %d are listed, counted are %+v, %v", i, len(listed), count, err)
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

// A subscriber of Zürich chooses API an hour later. The explanation of a change of API has the time of the choice, not as
// the time at which the subscriber was created.
func TestALaterChoiceOfComponentsIsNotALaterSubscriber(t *testing.T) {
	p := start(t)
	o := p.organization()
	api, other := o.services[0].ID, o.services[2].ID
	change := topic.RecipientQuery{Kind: topic.IncidentCreated, Channel: topic.Email, Components: []string{api}, Dashboards: map[string][]string{api: {o.dashboard}}}
	verdict := func(email string) topic.Verdict {
		t.Helper()
		found, err := p.recipients().Explain(t.Context(), o.id, topic.ExplainQuery{Channel: topic.Email, Address: email, Changes: []topic.RecipientQuery{change}})
		if err != nil || len(found.Recipients) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		return found.Recipients[0].Verdicts[0]
	}
	choices := map[string]func(email, id string){
		"all": func(_, id string) {
			p.app(o, http.StatusOK, http.MethodPatch, "email/"+id, object{"componentIds": nil})
		},
		"both": func(_, id string) {
			p.app(o, http.StatusOK, http.MethodPatch, "email/"+id, object{"componentIds": []string{other, api}})
		},
		"imported": func(email, _ string) {
			p.app(o, http.StatusOK, http.MethodPost, "email/import", object{"dashboardId": o.dashboard, "rows": []object{{"email": email, "componentIds": []string{api}}}})
		},
		"legacy": func(email, _ string) { p.subscribe(o, email, 0) },
	}
	created, ids := p.now(), map[string]string{}
	for name := range choices {
		body := object{"dashboardId": o.dashboard, "email": name + "@example.com", "confirmed": true, "componentIds": []string{other}}
		ids[name] = p.app(o, http.StatusCreated, http.MethodPost, "email", body).Subscriber.ID
	}
	late := p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": o.dashboard, "email": "late@example.com", "confirmed": false}).Subscriber.ID
	p.ahead.Add(int64(time.Hour))
	chosen := p.now()
	for name, choose := range choices {
		email := name + "@example.com"
		if v := verdict(email); v.Rule != topic.RuleComponents {
			t.Errorf("%s before: %+v", name, v)
		}
		choose(email, ids[name])
		if v := verdict(email); v.Rule != "" || v.CreatedAt.Before(created) || !v.CreatedAt.Before(chosen) || v.ChosenAt.Before(chosen) || v.ConfirmedAt.Before(chosen) {
			t.Errorf("%s: %+v, created at %s, chosen at %s", name, v, created, chosen)
		}
	}
	p.app(o, http.StatusOK, http.MethodPatch, "email/"+late, object{"confirmed": true})
	if v := verdict("late@example.com"); v.Rule != "" || !v.CreatedAt.Before(chosen) || !v.ChosenAt.Before(chosen) || v.ConfirmedAt.Before(chosen) {
		t.Errorf("confirmed later: %+v, at %s", v, chosen)
	}
}
