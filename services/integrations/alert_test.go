package integrations_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations"
)

// mailbox is the notices that the service publishes. Delivery ignores a repeated id, and so does the mailbox.
type mailbox struct {
	t     testing.TB
	heard *apitest.Heard
}

func (p *platform) mailbox() mailbox { return mailbox{p.t, p.listen(topic.Notices)} }

// to returns the notices of the kind to the endpoint, oldest first.
func (m mailbox) to(recipient string, kind topic.Kind) []topic.Notice {
	m.t.Helper()
	known := map[string]bool{}
	var found []topic.Notice
	for _, record := range m.heard.Records(topic.Notices) {
		var n topic.Notice
		if err := json.Unmarshal(record.Value, &n); err != nil || record.Key != n.Recipient {
			m.t.Errorf("a notice with key %s: %s %v", record.Key, record.Value, err)
		}
		if n.Recipient == recipient && n.Kind == kind && !known[n.ID] {
			found = append(found, n)
		}
		known[n.ID] = true
	}
	slices.SortFunc(found, func(a, b topic.Notice) int { return a.OccurredAt.Compare(b.OccurredAt) })
	return found
}

// complete waits until all notices of earlier writes have arrived. The relay publishes messages of counters and of
// suppressions, each in the order of the writes.
func (m mailbox) complete(p *platform) {
	p.t.Helper()
	o := p.organization(1)
	made := p.create(o, "https://hooks.example.com/last", nil)
	recipient := p.only(o, o.one)
	p.publishOutcomes(p.failures(o, recipient, p.limits.SuppressAfter)...)
	p.counted(o, made.URLHash, p.limits.SuppressAfter)
	alerts := 0
	if p.limits.AlertAfter < p.limits.SuppressAfter {
		alerts = 1
	}
	apitest.Eventually(p.t, "the last notices", func() bool {
		return len(m.to(recipient, topic.EndpointSuppressed)) == 1 && len(m.to(recipient, topic.EndpointFailing)) == alerts
	})
}

// expect compares the numbers of notices to the endpoint. It waits for at least these, because the relay finds what
// another process wrote after what its own process wrote.
func (m mailbox) expect(t *testing.T, when, recipient string, failing, suppressed int) {
	t.Helper()
	apitest.Eventually(t, when+": the notices", func() bool {
		return len(m.to(recipient, topic.EndpointFailing)) >= failing && len(m.to(recipient, topic.EndpointSuppressed)) >= suppressed
	})
	if f, s := len(m.to(recipient, topic.EndpointFailing)), len(m.to(recipient, topic.EndpointSuppressed)); f != failing || s != suppressed {
		t.Errorf("%s: %d alerts and %d mails about a suppression, want %d and %d", when, f, s, failing, suppressed)
	}
}

func (p *platform) failures(o organization, recipient string, n int) []topic.Outcome {
	p.t.Helper()
	outcomes := []topic.Outcome{p.outcome(o, recipient, topic.Failed)}
	for i := 1; i < n; i++ {
		next := outcomes[0]
		next.DeliveryID, next.EventID, next.At = id(), id(), next.At.Add(time.Duration(i)*time.Millisecond)
		outcomes = append(outcomes, next)
	}
	return outcomes
}

func (p *platform) publishOutcomes(outcomes ...topic.Outcome) {
	p.t.Helper()
	messages := make([]message, len(outcomes))
	for i, o := range outcomes {
		messages[i] = o
	}
	p.publish(messages...)
}

// counted waits for the number of failures of the endpoint of a URL.
func (p *platform) counted(o organization, urlHash string, failures int) {
	p.t.Helper()
	apitest.Eventually(p.t, fmt.Sprint(failures, " failures"), func() bool { return p.shown(o, urlHash).ConsecutiveFailures == failures })
}

func shuffled(outcomes []topic.Outcome) []topic.Outcome {
	out := slices.Clone(outcomes)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// One series of failures has one alert, and one mail about the suppression to each record of the URL. Repeated outcomes,
// in any order and also after a restart, add none. After a success or clearing, a new series has its own.
func TestEachNumberIsNotifiedOnceInASeries(t *testing.T) {
	p := start(t, nil)
	mail := p.mailbox()
	o := p.organization(25)
	const url = "https://hooks.example.com/hook-with-a-token"
	made := p.create(o, url, object{"managementEmail": "one@example.com"})
	p.create(o, url, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}, "managementEmail": "two@example.com", "locked": true})
	recipient, beside := p.only(o, o.one), p.only(o, o.elsewhere)

	series := p.failures(o, recipient, 4)
	p.publishOutcomes(series...)
	p.counted(o, made.URLHash, 4)
	mail.complete(p)
	mail.expect(t, "after four failures", recipient, 0, 0)
	fifth := p.failures(o, recipient, 1)[0]
	p.publishOutcomes(append(shuffled(series), fifth, fifth)...)
	p.counted(o, made.URLHash, 5)
	p.publishOutcomes(shuffled(append(series, fifth))...)
	success := p.outcome(o, recipient, topic.Delivered)
	p.publishOutcomes(success)
	p.counted(o, made.URLHash, 0)
	mail.complete(p)
	mail.expect(t, "after five failures and a success", recipient, 1, 0)
	mail.expect(t, "of the other record", beside, 0, 0)

	second := p.failures(o, recipient, 10)
	p.publishOutcomes(second...)
	p.counted(o, made.URLHash, 10)
	mail.complete(p)
	mail.expect(t, "after ten more failures", recipient, 2, 1)
	mail.expect(t, "of the other record", beside, 0, 1)

	p.stop()
	p.run(nil)
	p.publishOutcomes(slices.Concat(shuffled(append(series, fifth, success)), shuffled(second), p.failures(o, recipient, 1))...)
	p.counted(o, made.URLHash, 11)
	mail.complete(p)
	mail.expect(t, "after a restart and repetitions", recipient, 2, 1)

	p.call(o, http.StatusNoContent, http.MethodDelete, suppressionPath, object{"url": url})
	third := p.failures(o, recipient, 10)
	p.publishOutcomes(append(shuffled(second), third...)...)
	p.counted(o, made.URLHash, 10)
	if !p.shown(o, made.URLHash).Suppressed {
		t.Error("not suppressed again after ten new failures")
	}
	mail.complete(p)
	mail.expect(t, "after clearing and ten more failures", recipient, 3, 2)
	mail.expect(t, "of the other record", beside, 0, 2)

	alert := mail.to(recipient, topic.EndpointFailing)[0]
	want := topic.Notice{
		ID: alert.ID, Kind: topic.EndpointFailing, Organization: o.id, OccurredAt: alert.OccurredAt,
		Channel: topic.Email, Service: topic.Integrations, Recipient: recipient, Destination: alert.Destination,
		Endpoint: &topic.EndpointReport{
			Channel: topic.Webhook, URLDisplay: "hooks.example.com/hook-…", Failures: 5, Since: &series[0].At, HTTPStatus: 500, ErrorCode: "http_5xx",
		},
	}
	if got, expected := asJSON(t, alert), asJSON(t, want); got != expected || alert.Destination == "" {
		t.Errorf("the alert is\n%s\nwant\n%s", got, expected)
	}
	if report := mail.to(beside, topic.EndpointSuppressed)[0].Endpoint; report.Failures != 10 || report.HTTPStatus != 500 || !report.Since.Equal(second[0].At) {
		t.Errorf("the mail about the suppression reports %+v", report)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A receiver that is gone has one mail, and no alert.
func TestGoneIsNotifiedAtOnce(t *testing.T) {
	p := start(t, func(c *integrations.Config) { c.AlertAfter = 1 })
	mail := p.mailbox()
	o := p.organization(25)
	made := p.create(o, "https://hooks.example.com/gone", nil)
	recipient := p.only(o, o.one)
	p.suppress(o, recipient, made.URLHash)
	mail.complete(p)
	mail.expect(t, "after 410", recipient, 0, 1)
	if report := mail.to(recipient, topic.EndpointSuppressed)[0].Endpoint; report.Failures != 1 || report.HTTPStatus != http.StatusGone || report.ErrorCode != "gone" {
		t.Errorf("the mail reports %+v", report)
	}
}

// An alert that would come with the suppression, or after it, is not sent.
func TestTheMailAboutASuppressionReplacesAnAlert(t *testing.T) {
	for _, alertAfter := range []int{3, 4} {
		p := start(t, func(c *integrations.Config) { c.AlertAfter, c.SuppressAfter = alertAfter, 3 })
		mail := p.mailbox()
		o := p.organization(25)
		made := p.create(o, "https://hooks.example.com/hook", nil)
		recipient := p.only(o, o.one)
		p.publishOutcomes(p.failures(o, recipient, 5)...)
		p.counted(o, made.URLHash, 5)
		mail.complete(p)
		mail.expect(t, fmt.Sprint("ALERT_AFTER=", alertAfter), recipient, 0, 1)
		p.stop()
	}
}

// Tests and mail do not count: neither a success nor a failure nor a 410 changes anything.
func TestOutcomesOfTestsAndMailAreIgnored(t *testing.T) {
	p := start(t, func(c *integrations.Config) { c.AlertAfter, c.SuppressAfter = 2, 3 })
	mail := p.mailbox()
	o := p.organization(25)
	made := p.create(o, "https://hooks.example.com/hook", nil)
	recipient := p.only(o, o.one)
	var ignored []topic.Outcome
	for _, result := range []topic.Result{topic.Failed, topic.Delivered, topic.Failed, topic.Failed} {
		test := p.outcome(o, recipient, result)
		test.EventKind, test.Gone = topic.EndpointTest, result == topic.Failed
		email := p.outcome(o, recipient, result)
		email.Channel, email.EventKind, email.Gone = topic.Email, topic.EndpointFailing, result == topic.Failed
		ignored = append(ignored, test, email)
	}
	p.publishOutcomes(append(ignored, p.failures(o, recipient, 1)...)...)
	p.counted(o, made.URLHash, 1)
	if shown := p.shown(o, made.URLHash); shown.LastSuccessAt != nil || shown.Suppressed {
		t.Errorf("%+v", shown)
	}
	p.publishOutcomes(append(ignored, p.failures(o, recipient, 1)...)...)
	p.counted(o, made.URLHash, 2)
	mail.complete(p)
	mail.expect(t, "after two failures and ignored outcomes", recipient, 1, 0)
}

// Many deliveries to one endpoint in one batch, all repeated from the first on, count once.
func TestARepetitionFromFarBackCountsNothing(t *testing.T) {
	p := start(t, func(c *integrations.Config) { c.AlertAfter, c.SuppressAfter = 100_000, 100_000 })
	o := p.organization(25)
	made := p.create(o, "https://hooks.example.com/hook", nil)
	recipient := p.only(o, o.one)
	outcomes := p.failures(o, recipient, 2500)
	p.publishOutcomes(outcomes...)
	p.counted(o, made.URLHash, 2500)
	later := p.failures(o, recipient, 200)
	for i := range later {
		later[i].At = later[i].At.Add(time.Duration(i) * time.Minute)
	}
	p.publishOutcomes(later...)
	p.counted(o, made.URLHash, 2700)
	last := p.failures(o, recipient, 1)[0]
	last.At = later[len(later)-1].At
	p.publishOutcomes(append(append(outcomes, shuffled(later)...), last)...)
	p.counted(o, made.URLHash, 2701)
}

// Mail about an endpoint goes to its management address in any state of the endpoint. A test goes to its URL.
func TestMailResolvesToTheManagementAddress(t *testing.T) {
	p := start(t, nil)
	o, other := p.organization(25), p.organization(25)
	made := p.create(o, "https://hooks.example.com/hook", object{"eventKinds": []string{"incident.created"}, "managementEmail": "one@example.com"})
	recipient := p.only(o, o.one)
	expect := func(when string, mail, test topic.RecipientState) {
		t.Helper()
		for _, kind := range []topic.Kind{topic.EndpointFailing, topic.EndpointSuppressed} {
			got := p.resolveFor(o, kind, topic.Email, recipient)[0]
			want := topic.Destination{ID: recipient, State: mail, Components: []string{}}
			if mail == topic.RecipientActive {
				if !strings.HasPrefix(got.Link, "https://status.example.com/public/endpoints/manage?token=") {
					t.Errorf("%s, %s has the link %q", when, kind, got.Link)
				}
				want.Channel, want.Address, want.Link = topic.Email, "one@example.com", got.Link
				want.Dashboard = topic.Dashboard{ID: o.dashboard, Name: "Main", URL: "http://d.test/d/main", Timezone: "Europe/Berlin", Locale: "de"}
			}
			if asJSON(t, got) != asJSON(t, want) {
				t.Errorf("%s, %s resolves to %+v, want %+v", when, kind, got, want)
			}
		}
		got := p.resolveFor(o, topic.EndpointTest, topic.Webhook, recipient)[0]
		if got.State != test || (got.URL == "https://hooks.example.com/hook") != (test == topic.RecipientActive) || got.Address != "" {
			t.Errorf("%s, a test resolves to %+v, want %s", when, got, test)
		}
	}
	expect("active", topic.RecipientActive, topic.RecipientActive)
	if d := p.resolveFor(other, topic.EndpointFailing, topic.Email, recipient)[0]; d.State != topic.RecipientGone || d.Address != "" {
		t.Errorf("another organization's query resolves to %+v", d)
	}
	p.call(o, http.StatusOK, http.MethodPatch, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash, "paused": true})
	expect("paused", topic.RecipientActive, topic.RecipientPaused)
	p.call(o, http.StatusOK, http.MethodPatch, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash, "paused": false})
	p.suppress(o, recipient, made.URLHash)
	expect("suppressed", topic.RecipientActive, topic.RecipientSuppressed)
	p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash})
	expect("deleted", topic.RecipientGone, topic.RecipientGone)
}
