package endpoint

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/egress"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Endpoints of one space share a limit, also with different keys and tokens. All other endpoints share it only with those
// of the same URL.
func TestPacedBy(t *testing.T) {
	limit := func(channel topic.Channel, url string) string {
		address, err := parseAddress(url, egress.Resolve{})
		if err != nil {
			t.Fatal(err)
		}
		return Endpoint{URLHash: address.Hash(), Paced: pacedBy(channel, address)}.Limit()
	}
	const first = "https://chat.googleapis.com/v1/spaces/AAAA/messages?key=k&token=t"
	for url, same := range map[string]bool{
		first: true,
		"https://chat.googleapis.com/v1/spaces/AAAA/messages?key=k&token=u":               true,
		"https://CHAT.googleapis.com:443/v1/spaces/AAAA/messages?token=t&key=other#f":     true,
		"https://chat.googleapis.com/v1/spaces/aaaa/messages?key=k&token=t":               false,
		"https://chat.googleapis.com/v1/spaces/AAAAB/messages?key=k&token=t":              false,
		"https://chat.googleapis.com/v1/spaces/AAAB/messages?key=k&token=/spaces/AAAA/":   false,
		"https://chat.example.com/v1/spaces/AAAA/messages?key=k&token=t":                  false,
		"https://chat.googleapis.com/v1/spaces/AAAAC/messages?key=/spaces/AAAA/m&token=t": false,
	} {
		if got := limit(topic.GChat, url) == limit(topic.GChat, first); got != same {
			t.Errorf("%s shares the limit of %s: %t", url, first, got)
		}
	}
	// The limit of Discord applies to a webhook: on all hosts, in all threads, with any token.
	const webhook = "https://discord.com/api/webhooks/12/t"
	for url, same := range map[string]bool{
		"https://discordapp.com/api/v10/webhooks/12/u?thread_id=3": true,
		"https://discord.com/api/webhooks/123/t":                   false,
		"https://discord.com/api/webhooks/1/t":                     false,
	} {
		if got := limit(topic.Discord, url) == limit(topic.Discord, webhook); got != same {
			t.Errorf("%s shares the limit of %s: %t", url, webhook, got)
		}
	}
	for _, channel := range []topic.Channel{topic.Webhook, topic.Teams, topic.Slack} {
		if limit(channel, first) == limit(channel, first+"2") || limit(channel, first) == limit(topic.GChat, first) {
			t.Errorf("%s: two URLs share a limit", channel)
		}
	}
}
