package endpoint

import (
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Kind is a sort of endpoint. A further kind is a further row of Kinds.
type Kind struct {
	Channel topic.Channel
	// Path is its part of the App interface: /app/integrations/{Path}/endpoints.
	Path string
	// Signed kinds have signing secrets, and their owner chooses event kinds; the
	// others are chat providers' URLs, which carry their own token.
	Signed bool
	// Rule is where its URLs may lead.
	Rule Rule
	// Example is a URL that fits Rule; empty: any public URL does.
	Example string
}

// Providers are the hosts at which chat providers receive, as the operator names
// them: a host, or "*." and a domain.
type Providers struct {
	TeamsWorkflow  []string
	TeamsPlatform  []string
	TeamsConnector []string // what Teams had before workflows
}

// Kinds is the table of kinds.
func Kinds(at Providers) []Kind {
	return []Kind{
		{Channel: topic.Webhook, Path: "webhooks/outbound", Signed: true},
		{Channel: topic.Teams, Path: "teams", Example: "https://acme.logic.azure.com/workflows/1/triggers/manual/paths/invoke", Rule: Rule{
			Refused: []Place{{Hosts: at.TeamsConnector}},
			Refusal: "must be a Teams workflow URL; this is one of a classic connector, which Teams is retiring",
			Allowed: []Place{{Hosts: at.TeamsWorkflow, Path: "/workflows/"}, {Hosts: at.TeamsPlatform}},
			Needed:  "must be a Teams workflow URL, as Teams shows it for the workflow that posts to a channel when a webhook request is received",
		}},
	}
}

// Rule is where the URLs of a kind may lead. Refused is looked at first, so that a host which an
// allowed wildcard covers can be refused by name. The zero Rule lets every public URL pass.
type Rule struct {
	Refused []Place
	Refusal string // what is said of a URL in Refused
	Allowed []Place
	Needed  string // what is said of a URL that is not in Allowed
}

// Place is a set of URLs. A host "*.x" stands for every subdomain of x, at any depth, but not for
// x itself. Path, when there is one, must be a part of the URL's path as it is written.
type Place struct {
	Hosts []string
	Path  string
}

func (r Rule) check(field string, a Address) error {
	for _, place := range r.Refused {
		if place.holds(a) {
			return fault.Field(field, "%s", r.Refusal)
		}
	}
	for _, place := range r.Allowed {
		if place.holds(a) {
			return nil
		}
	}
	if len(r.Allowed) > 0 {
		return fault.Field(field, "%s", r.Needed)
	}
	return nil
}

func (p Place) holds(a Address) bool {
	path, _, _ := strings.Cut(a.rest, "?")
	if !strings.Contains(path, p.Path) {
		return false
	}
	for _, pattern := range p.Hosts {
		if matches(pattern, a.host) {
			return true
		}
	}
	return false
}

// matches compares a canonical host with a host of the settings.
func matches(pattern, host string) bool {
	if domain, wild := strings.CutPrefix(pattern, "*."); wild {
		return strings.HasSuffix(host, "."+domain)
	}
	return host == pattern
}

// known reports whether endpoints of the channel are this service's.
func (s *Endpoints) known(channel topic.Channel) bool {
	for _, kind := range s.kinds {
		if kind.Channel == channel {
			return true
		}
	}
	return false
}

// addressOf reads a URL for an endpoint of the kind.
func (s *Endpoints) addressOf(kind Kind, field, text string) (Address, error) {
	address, err := parseAddress(field, text, s.hosts)
	if err != nil {
		return Address{}, err
	}
	return address, kind.Rule.check(field, address)
}
