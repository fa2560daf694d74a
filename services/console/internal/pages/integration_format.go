package pages

import (
	"slices"
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// usualInterval is the value of the choice that leaves the gap to the format.
const usualInterval = "usual"

// formatOptions returns the formats that a member can choose for a webhook.
func formatOptions() []forms.Option {
	return []forms.Option{
		{Value: "bellbuoy", Label: "Bellbuoy", Hint: "JSON with all data of the event, for a program of yours."},
		{Value: "statuspage", Label: "Statuspage", Hint: "The JSON that Atlassian Statuspage posts, for programs made for it."},
		{Value: "slack", Label: "Slack-compatible", Hint: "A chat message for Mattermost, Rocket.Chat and others that accept what Slack accepts."},
	}
}

// webhookFields returns the fields for the format of a webhook's messages, and for the gap between them.
func webhookFields() []*forms.Field {
	return []*forms.Field{
		{Kind: forms.Radios, Name: "format", Label: "Format", Options: formatOptions(), Values: []string{"bellbuoy"}},
		{Kind: forms.Select, Name: "minIntervalMs", Label: "Gap between messages", Plain: true, Options: append([]forms.Option{{Value: usualInterval, Label: "As usual for the format"}}, intervalOptions(0)...), Values: []string{usualInterval},
			Hint: "Usually there is no gap, and 1 second for Slack-compatible programs. Of several webhooks with this URL, the longest gap counts."},
	}
}

// intervalOptions returns gaps in milliseconds. If present is none of the usual gaps, it is added.
func intervalOptions(present int) (options []forms.Option) {
	gaps := []int{0, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000}
	if !slices.Contains(gaps, present) {
		gaps = append(gaps, present)
		slices.Sort(gaps)
	}
	for _, gap := range gaps {
		options = append(options, forms.Option{Value: strconv.Itoa(gap), Label: intervalWord(gap)})
	}
	return options
}

// intervalWord returns a gap of milliseconds in words.
func intervalWord(milliseconds int) string {
	switch milliseconds {
	case 0:
		return "No gap"
	case 1_000:
		return "1 second"
	}
	return strconv.FormatFloat(float64(milliseconds)/1000, 'f', -1, 64) + " seconds"
}

// fillWebhook sets the fields of webhookFields to the values of an endpoint.
func fillWebhook(form *forms.Form, e app.Endpoint) {
	format := form.Field("format")
	if format.Values = []string{e.Format}; e.Format == app.FormatTemplate {
		format.Options = append(format.Options, forms.Option{Value: app.FormatTemplate, Label: ownRequest, Hint: "The page “What is sent” shows it. Another format deletes its template, headers and secrets."})
	}
	gap := form.Field("minIntervalMs")
	present := optional.OrZero(e.MinIntervalMs)
	gap.Options, gap.Values = intervalOptions(present), []string{strconv.Itoa(present)}
	gap.Hint = "Of several webhooks with this URL, the longest gap counts."
}

// webhookFormOf returns the values that the form changes. It leaves out an unchanged gap, so that a default gap still follows
// the format.
func webhookFormOf(form *forms.Form, before app.Endpoint) (in app.WebhookForm) {
	if format := form.Value("format"); format != before.Format {
		in.Format = format
	}
	gap, err := strconv.Atoi(form.Value("minIntervalMs"))
	if err == nil && (before.MinIntervalMs == nil || gap != *before.MinIntervalMs) {
		in.MinIntervalMs = &gap
	}
	return in
}

// ownRequest names the format of a webhook whose owner has composed the request.
const ownRequest = "Own request"

// FormatWord returns the name of the format of the endpoint's messages.
func (r endpointRow) FormatWord() string {
	if r.Format == app.FormatTemplate {
		return ownRequest
	}
	at := slices.IndexFunc(formatOptions(), func(o forms.Option) bool { return o.Value == r.Format })
	if at < 0 {
		return r.Format
	}
	return formatOptions()[at].Label
}

// IntervalWord returns the gap between the endpoint's messages in words.
func (r endpointRow) IntervalWord() string { return intervalWord(optional.OrZero(r.MinIntervalMs)) }
