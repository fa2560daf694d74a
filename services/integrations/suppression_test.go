package integrations_test

import (
	"net/http"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// suppressedURLs suppresses URLs for the scripts about suppression and tests, in this order: a webhook URL of both
// dashboards that is gone, a webhook URL that failed too often, and one URL of each other kind that is gone. Slack and Discord
// have a second one that failed too often. A last URL has
// failed, but is not suppressed. It returns the variables with their hashes.
func (p *platform) suppressedURLs(script string, o organization) map[string]string {
	p.t.Helper()
	vars := map[string]string{}
	if !strings.Contains(script, "/suppression_") && !strings.Contains(script, "/endpoint_test_") && !strings.Contains(script, "/endpoint_states_") {
		return vars
	}
	for _, s := range []struct {
		name, kind, url string
		channel         topic.Channel
		failures        int
		dashboards      []string
	}{
		{"gone", "webhooks/outbound", "https://hooks.example.com/gone", topic.Webhook, 1, []string{o.dashboard, o.second}},
		{"failing", "webhooks/outbound", "https://hooks.example.com/failing", topic.Webhook, 10, []string{o.dashboard}},
		{"teams", "teams", "https://acme.logic.azure.com/workflows/1/triggers/manual/paths/invoke?sig=secret", topic.Teams, 1, []string{o.dashboard}},
		{"gchat", "gchat", "https://chat.googleapis.com/v1/spaces/AAAA/messages?key=secret&token=secret", topic.GChat, 1, []string{o.dashboard}},
		{"slack", "slack", "https://hooks.slack.com/services/T0/B0/secret", topic.Slack, 1, []string{o.dashboard}},
		{"slack2", "slack", "https://hooks.slack.com/services/T0/B0/secret2", topic.Slack, 10, []string{o.dashboard}},
		{"discord", "discord", "https://discord.com/api/webhooks/1/secret", topic.Discord, 1, []string{o.dashboard}},
		{"discord2", "discord", "https://discord.com/api/webhooks/2/secret", topic.Discord, 10, []string{o.dashboard}},
		{"troubled", "webhooks/outbound", "https://hooks.example.com/troubled", topic.Webhook, 3, []string{o.dashboard}},
	} {
		target := "/app/integrations/" + s.kind + "/endpoints"
		for _, dashboard := range s.dashboards {
			vars[s.name] = p.call(o, http.StatusCreated, http.MethodPost, target, object{
				"dashboardId": dashboard, "url": s.url, "managementEmail": "ops@example.com", "componentIds": []string{o.one},
			}).Endpoint.URLHash
		}
		var recipient string
		for _, candidate := range p.concerned(o, func(q *topic.RecipientQuery) { q.Channel = s.channel }, o.one) {
			if d := p.resolve(o, candidate)[0]; d.URLHash == vars[s.name] && d.Dashboard.ID == o.dashboard {
				recipient = candidate
			}
		}
		outcomes := p.failures(o, recipient, s.failures)
		for i := range outcomes {
			outcomes[i].Channel = s.channel
			if outcomes[i].Gone = s.failures == 1; outcomes[i].Gone {
				outcomes[i].HTTPStatus, outcomes[i].ErrorCode = http.StatusGone, "gone"
			}
		}
		vars[s.name+"Since"] = outcomes[0].At.Format("2006-01-02T15:04:05.000Z")
		p.publishOutcomes(outcomes...)
		apitest.Eventually(p.t, s.name+" is counted", func() bool {
			shown := p.call(o, http.StatusOK, http.MethodGet, target+"?dashboardId="+o.dashboard+"&urlHash="+vars[s.name], nil).Endpoints[0]
			return shown.Suppressed == (s.failures != 3) && shown.ConsecutiveFailures == s.failures
		})
	}
	return vars
}
