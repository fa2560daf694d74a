package bodytemplate

import (
	"embed"
	"strings"
)

//go:embed shipped/*.tmpl
var shipped embed.FS

// Shipped is a template that operators can start from. The values of its headers and secrets are placeholders.
type Shipped struct {
	Name     string
	Method   string
	IDInPath bool
	Headers  map[string]string
	Secrets  map[string]string
	Body     string
}

// AllShipped returns the templates for well-known receivers.
func AllShipped() []Shipped {
	all := []Shipped{
		// Events API v2: POST https://events.pagerduty.com/v2/enqueue
		{Name: "pagerduty", Secrets: map[string]string{"routing_key": "YOUR_INTEGRATION_KEY"}},
		// The root of the server takes JSON: POST https://ntfy.sh/
		{Name: "ntfy", Secrets: map[string]string{"topic": "YOUR_TOPIC"}},
		// The Slack-compatible integration takes JSON: POST https://.../api/v1/external/slack_incoming?api_key=...&stream=...
		// The texts are in a block of code. A quote is not enough: in a quote, Zulip ignores a mention within one line, but
		// not a mention that continues in the next line.
		{Name: "zulip"},
		// PUT https://.../_matrix/client/v3/rooms/{roomId}/send/m.room.message/{delivery id}
		{Name: "matrix", Method: "PUT", IDInPath: true, Headers: map[string]string{"Authorization": "Bearer YOUR_ACCESS_TOKEN"}},
	}
	for i := range all {
		if all[i].Method == "" {
			all[i].Method = "POST"
		}
		text, err := shipped.ReadFile("shipped/" + all[i].Name + ".tmpl")
		if err != nil {
			panic("bodytemplate: " + err.Error()) // the file is part of the binary
		}
		all[i].Body = strings.TrimSuffix(string(text), "\n")
	}
	return all
}
