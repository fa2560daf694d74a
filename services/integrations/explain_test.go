package integrations_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// 60 random endpoints and 40 random changes, also of events without components: the list of recipients of a change has exactly those endpoints for which the
// explanation has no rule.
func TestTheRulesOfOneEndpointSelectAsTheIndexDoes(t *testing.T) {
	p := start(t, nil)
	o := p.organization(200)
	random := rand.New(rand.NewPCG(1, 2))
	var hashes []string
	var numbers []int64
	for i := range 60 {
		more := object{"componentIds": [][]string{{o.one}, {o.two}, {o.one, o.two}}[random.IntN(3)]}
		if random.IntN(2) == 0 {
			more["eventKinds"] = []topic.Kind{topic.Kinds()[random.IntN(4)]}
		}
		made := p.create(o, fmt.Sprintf("https://hooks.example.com/%d", i), more)
		if random.IntN(4) == 0 {
			p.call(o, http.StatusOK, http.MethodPatch, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash, "paused": true})
		}
		hashes, numbers = append(hashes, made.URLHash), append(numbers, made.LegacyID)
	}
	changes := make([]topic.RecipientQuery, 40)
	for i := range changes {
		changes[i] = topic.RecipientQuery{
			Kind: topic.Kinds()[random.IntN(5)], Channel: topic.Webhook, Limit: topic.MaxPage,
			Components: [][]string{{o.one}, {o.two}, {o.one, o.two}, {o.elsewhere}}[random.IntN(4)],
		}
		if i%5 == 0 { // an event without components
			changes[i].Components, changes[i].AllOf = nil, [][]string{{o.dashboard}, {o.second}, {o.second, o.dashboard}}[random.IntN(3)]
		}
		if random.IntN(3) == 0 {
			changes[i].Endpoints = numbers[:1+random.IntN(len(numbers))]
		}
	}
	explained, rules := make([][]string, len(changes)), map[topic.Rule]int{}
	for _, hash := range hashes {
		found, err := p.recipients().Explain(t.Context(), o.id, topic.ExplainQuery{Channel: topic.Webhook, URLHash: hash, Changes: changes})
		if err != nil || len(found.Recipients) != 1 || found.Recipients[0].DashboardID != o.dashboard {
			t.Fatal(found, err)
		}
		for change, verdict := range found.Recipients[0].Verdicts {
			rules[verdict.Rule]++
			if verdict.Rule == "" {
				explained[change] = append(explained[change], found.Recipients[0].ID)
			}
		}
	}
	for i, change := range changes {
		slices.Sort(explained[i])
		page, err := p.recipients().Concerned(t.Context(), o.id, change)
		var listed []string
		for _, to := range page.Recipients {
			listed = append(listed, to.ID)
		}
		if err != nil || !slices.Equal(listed, explained[i]) {
			t.Errorf("change %d: %d are listed, %d are explained as listed, %v", i, len(listed), len(explained[i]), err)
		}
	}
	for _, rule := range []topic.Rule{"", topic.RulePaused, topic.RuleOtherDashboard, topic.RuleComponents, topic.RuleKind, topic.RuleEndpoint} {
		if rules[rule] == 0 {
			t.Errorf("no endpoint has the rule %q: %v", rule, rules)
		}
	}
	other := p.organization(5)
	found, err := p.recipients().Explain(t.Context(), other.id, topic.ExplainQuery{Channel: topic.Webhook, URLHash: hashes[0], Changes: changes})
	if err != nil || len(found.Recipients) != 0 {
		t.Errorf("another organization sees %+v, %v", found, err)
	}
}
