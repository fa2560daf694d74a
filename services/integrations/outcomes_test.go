package integrations_test

import (
	"net/http"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations"
)

func TestOutcomesAreCountedOnceAndResetBySuccess(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	made := p.create(o, "https://hooks.example.com/hook", nil)
	recipient := p.only(o, o.one)
	failures := func(want int) func() bool {
		return func() bool { return p.shown(o, made.URLHash).ConsecutiveFailures == want }
	}

	first, second := p.outcome(o, recipient, topic.Failed), p.outcome(o, recipient, topic.Failed)
	p.publish(first, first, second, p.outcome(o, recipient, topic.Skipped), p.outcome(o, recipient, topic.Suppressed))
	apitest.Eventually(p.t, "two failures", failures(2))
	// Repeated, with a third one that shows that they were read, and with a message that is no outcome.
	third := p.outcome(o, recipient, topic.Failed)
	if err := p.bus.Publish(t.Context(), stream.Record{Topic: topic.DeliveryOutcomes, Key: recipient, Value: []byte("{not json")}); err != nil {
		t.Fatal(err)
	}
	p.publish(second, first, third)
	apitest.Eventually(p.t, "three failures", failures(3))

	success := p.outcome(o, recipient, topic.Delivered)
	p.publish(success)
	apitest.Eventually(p.t, "no failures after a success", failures(0))
	shown := p.shown(o, made.URLHash)
	if want := success.At.Format("2006-01-02T15:04:05.000Z"); shown.LastSuccessAt == nil || *shown.LastSuccessAt != want {
		t.Errorf("lastSuccessAt is %v, want %s", shown.LastSuccessAt, want)
	}
	p.publish(first, second, third, p.outcome(o, recipient, topic.Failed))
	apitest.Eventually(p.t, "one failure after the success", failures(1))
	p.publish(success, p.outcome(o, recipient, topic.Failed))
	apitest.Eventually(p.t, "a repeated success resets nothing", failures(2))
	if shown := p.shown(o, made.URLHash); shown.Suppressed {
		t.Error("suppressed after two failures")
	}
}

func TestAURLIsSuppressedAtTheLimitForEveryDashboardOfTheOrganization(t *testing.T) {
	p := start(t, nil)
	o, other := p.organization(25), p.organization(25)
	const url = "https://hooks.example.com/hook"
	made := p.create(o, url, nil)
	p.create(o, url, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	theirs := p.create(other, url, nil)
	recipient, beside := p.only(o, o.one), p.only(o, o.elsewhere)

	for range 9 {
		p.publish(p.outcome(o, recipient, topic.Failed))
	}
	apitest.Eventually(p.t, "nine failures", func() bool { return p.shown(o, made.URLHash).ConsecutiveFailures == 9 })
	if p.shown(o, made.URLHash).Suppressed || p.resolve(o, recipient)[0].State != topic.RecipientActive {
		t.Fatal("suppressed after nine failures")
	}
	p.publish(p.outcome(o, recipient, topic.Failed))
	apitest.Eventually(p.t, "suppressed at ten", func() bool { return p.shown(o, made.URLHash).Suppressed })
	for _, d := range p.resolve(o, recipient, beside) {
		if d.State != topic.RecipientSuppressed || d.URL != "" || d.Secrets != nil {
			t.Errorf("resolved to %+v", d)
		}
	}
	if p.shown(other, theirs.URLHash).Suppressed || p.resolve(other, p.only(other, other.one))[0].State != topic.RecipientActive {
		t.Error("another organization's endpoint is suppressed too")
	}

	// One dashboard moves on and is free; the URL stays suppressed for the other.
	moved := p.move(o, o.dashboard, made.URLHash, url+"/new")
	if moved.Suppressed || moved.ConsecutiveFailures != 10 {
		t.Errorf("the new URL: %+v", moved)
	}
	if d := p.resolve(o, recipient, beside); d[0].State != topic.RecipientActive || d[1].State != topic.RecipientSuppressed {
		t.Errorf("after the move: %+v", d)
	}
	if again := p.create(o, url, nil); !again.Suppressed || again.ConsecutiveFailures != 0 {
		t.Errorf("another endpoint of the old URL: %+v", again)
	}
	p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "url": url})

	// The last endpoint of the URL takes the suppression with it.
	p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.second, "url": url})
	again := p.create(o, url, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	if again.Suppressed || p.resolve(o, p.only(o, o.elsewhere))[0].State != topic.RecipientActive {
		t.Error("the URL is still suppressed after its last endpoint was deleted")
	}
}

func TestAURLThatIsGoneIsSuppressedAtOnce(t *testing.T) {
	p := start(t, func(c *integrations.Config) { c.SuppressAfter = 3 })
	o := p.organization(25)
	made, third := p.create(o, "https://hooks.example.com/gone", nil), p.create(o, "https://hooks.example.com/third", object{"componentIds": []string{o.two}})
	p.suppress(o, p.only(o, o.one), made.URLHash)
	recipient := p.only(o, o.two)
	for range 3 {
		p.publish(p.outcome(o, recipient, topic.Failed))
	}
	apitest.Eventually(p.t, "the setting's limit holds", func() bool { return p.shown(o, third.URLHash).Suppressed })
	if shown := p.shown(o, made.URLHash); !shown.Suppressed || shown.ConsecutiveFailures != 1 {
		t.Errorf("the one that is gone: %+v", shown)
	}
}

// Outcomes of endpoints that are no more, and of other channels, disturb nobody.
func TestOutcomesOfOthersAreLeftAlone(t *testing.T) {
	p := start(t, func(c *integrations.Config) { c.SuppressAfter = 1 })
	o := p.organization(25)
	made := p.create(o, "https://hooks.example.com/hook", nil)
	deleted := p.create(o, "https://hooks.example.com/deleted", object{"componentIds": []string{o.two}})
	recipient, former := p.only(o, o.one), p.only(o, o.two)
	p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "urlHash": deleted.URLHash})
	mail := p.outcome(o, recipient, topic.Failed)
	mail.Channel = topic.Email
	p.publish(p.outcome(o, former, topic.Failed), p.outcome(o, id(), topic.Failed), mail, p.outcome(o, recipient, topic.Delivered))
	apitest.Eventually(p.t, "the success is counted", func() bool { return p.shown(o, made.URLHash).LastSuccessAt != nil })
	if shown := p.shown(o, made.URLHash); shown.Suppressed || shown.ConsecutiveFailures != 0 {
		t.Errorf("the endpoint: %+v", shown)
	}
	if again := p.create(o, "https://hooks.example.com/deleted", object{"componentIds": []string{o.two}}); again.Suppressed {
		t.Error("an outcome that arrives after the deletion suppresses the URL")
	}
}
