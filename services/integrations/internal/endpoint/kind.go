package endpoint

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Kind has the rules for the endpoints of one channel.
type Kind struct {
	Channel topic.Channel
	// Name is the name of the product, which is the same in every language.
	Name string
	// Path is the kind's part of the App interface: /app/integrations/{Path}/endpoints.
	Path string
	// Signed is true if endpoints of the kind have signing secrets and may choose event kinds. Endpoints of chat
	// providers are not signed, because their URLs contain a token.
	Signed bool
	// Rule decides which URLs are allowed.
	Rule Rule
	// Example is a URL that Rule allows. It is empty if Rule allows any public URL.
	Example string
}

// Providers are the hosts of chat providers from the settings. Each is a host, or "*." and a domain.
type Providers struct {
	TeamsWorkflow  []string
	TeamsPlatform  []string
	TeamsConnector []string // classic connectors, which Teams is retiring
	GChat          []string
	Slack          []string
	Discord        []string
}

// Kinds returns the kinds of all channels of topic.Integrations.
func Kinds(at Providers) []Kind {
	rules := map[topic.Channel]Kind{
		topic.Webhook: {Name: "Webhook", Path: "webhooks/outbound", Signed: true, Rule: Rule{Refused: []Place{
			{Hosts: at.Slack, Refusal: "must not be on a host of Slack; create an endpoint of the kind slack, which keeps Slack's limits"},
			{Hosts: at.Discord, Refusal: "must not be on a host of Discord; create an endpoint of the kind discord, which keeps Discord's limits"},
		}}},
		topic.Teams: {Name: "Microsoft Teams", Path: "teams", Example: "https://acme.logic.azure.com/workflows/1/triggers/manual/paths/invoke", Rule: Rule{
			Refused: []Place{{Hosts: at.TeamsConnector, Refusal: `must be a Teams workflow URL; this is the URL of a classic connector, which Teams is retiring. Create a workflow with the template "Post to a channel when a webhook request is received", and use its URL`}},
			Allowed: []Place{{Hosts: at.TeamsWorkflow, Path: regexp.MustCompile(`/workflows/`)}, {Hosts: at.TeamsPlatform}},
			Needed:  "must be a Teams workflow URL, as Teams shows it for the workflow that posts to a channel when a webhook request is received",
		}},
		topic.GChat: {Name: "Google Chat", Path: "gchat", Example: "https://chat.googleapis.com/v1/spaces/AAAA/messages?key=k&token=t", Rule: Rule{
			Allowed: []Place{{Hosts: at.GChat, Path: regexp.MustCompile(`^/v1/spaces/[A-Za-z0-9_-]+/messages$`), Query: []string{"key", "token"}}},
			Needed:  "must be the webhook URL of a Google Chat space: its host, the path /v1/spaces/{space}/messages, and key and token in the query",
		}},
		topic.Slack: {Name: "Slack", Path: "slack", Example: "https://hooks.slack.com/services/T0/B0/token", Rule: Rule{
			Allowed: []Place{{Hosts: at.Slack, Path: regexp.MustCompile(`^/services/[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9]+$`), Others: []string{}}},
			Needed:  "must be the URL of an incoming webhook of Slack: its host, and the path /services/{team}/{webhook}/{token}, without a query",
		}},
		topic.Discord: {Name: "Discord", Path: "discord", Example: "https://discord.com/api/webhooks/1/token", Rule: Rule{
			Allowed: []Place{{Hosts: at.Discord, Path: discordPath, Others: []string{"thread_id"}, Numbers: true}},
			Needed:  "must be the URL of a webhook of Discord: its host, the path /api/webhooks/{id}/{token}, and no query but thread_id, a number",
		}},
	}
	var kinds []Kind
	for _, channel := range topic.ChannelsOf(topic.Integrations) {
		kind := rules[channel]
		kind.Channel = channel
		kinds = append(kinds, kind)
	}
	return kinds
}

// discordPath matches the path of a webhook of Discord. The first group is the id of the webhook. discordPath never changes.
var discordPath = regexp.MustCompile(`^/api/(?:v[0-9]+/)?webhooks/([0-9]+)/[A-Za-z0-9_-]+$`)

// Rule decides which URLs a kind allows. Refused is checked before Allowed. So the operator can refuse one host of an
// allowed wildcard. The zero Rule allows every public URL.
type Rule struct {
	Refused []Place
	Allowed []Place
	Needed  string // the error message for a URL outside Allowed
}

// Place is a set of URLs. The host "*.x" matches every subdomain of x at any depth, but not x. If Path is set, the
// URL's path, as written, must match Path. The query must have each parameter of Query once and not empty. If Others is
// not nil, the query may have only the parameters of Query and Others, each once and not empty.
type Place struct {
	Hosts  []string
	Path   *regexp.Regexp
	Query  []string
	Others []string
	// Numbers is true if the values of Others must be unsigned numbers of at most 64 bits.
	Numbers bool
	// Refusal is the error message for a URL in a Place of Rule.Refused.
	Refusal string
}

// check returns an error about the field url if the Rule does not allow the URL.
func (r Rule) check(a Address) error {
	for _, place := range r.Refused {
		if place.contains(a) {
			return fault.Field("url", "%s", place.Refusal)
		}
	}
	for _, place := range r.Allowed {
		if place.contains(a) {
			return nil
		}
	}
	if len(r.Allowed) > 0 {
		return fault.Field("url", "%s", r.Needed)
	}
	return nil
}

func (p Place) contains(a Address) bool {
	path, query, queried := strings.Cut(a.rest, "?")
	if p.Path != nil && !p.Path.MatchString(path) {
		return false
	}
	parameters, err := url.ParseQuery(query)
	once := func(name string) bool { return err == nil && len(parameters[name]) == 1 && parameters[name][0] != "" }
	for _, name := range p.Query {
		if !once(name) {
			return false
		}
	}
	for name, values := range parameters {
		if p.Others != nil && !(once(name) && (slices.Contains(p.Others, name) || slices.Contains(p.Query, name))) {
			return false
		}
		if _, err := strconv.ParseUint(values[0], 10, 64); err != nil && p.Numbers && slices.Contains(p.Others, name) {
			return false
		}
	}
	if p.Others != nil && (err != nil || queried && len(parameters) == 0) {
		return false
	}
	return slices.ContainsFunc(p.Hosts, func(pattern string) bool { return matches(pattern, a.host) })
}

// matches reports whether the canonical host matches the pattern: it is equal, or a subdomain of a "*." pattern.
func matches(pattern, host string) bool {
	if domain, wild := strings.CutPrefix(pattern, "*."); wild {
		return strings.HasSuffix(host, "."+domain)
	}
	return host == pattern
}
