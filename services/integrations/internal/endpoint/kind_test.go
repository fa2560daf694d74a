package endpoint

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/egress"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// A refused host is refused although a wildcard allows it, and a wildcard is not its own domain.
func TestTheRuleOfTeamsAdmitsWorkflowURLs(t *testing.T) {
	s := &Endpoints{Hosts: egress.Resolve{}}
	kinds := Kinds(Providers{
		TeamsWorkflow: []string{"*.flows.example.com", "one.example.com"}, TeamsPlatform: []string{"*.platform.example.com"},
		TeamsConnector: []string{"old.platform.example.com", "*.classic.flows.example.com"},
	})
	var kind Kind
	for _, k := range kinds {
		if k.Path == "" || k.Name == "" {
			t.Errorf("the channel %s has no kind", k.Channel)
		}
		if k.Channel == topic.Teams {
			kind = k
		}
	}
	refused, needed := "url: "+kind.Rule.Refused[0].Refusal, "url: "+kind.Rule.Needed
	for url, want := range map[string]string{
		"https://a.flows.example.com/workflows/x":             "",
		"https://A.FLOWS.example.com:443/v1/workflows/x?y#z":  "",
		"https://a.b.flows.example.com/workflows/":            "",
		"https://one.example.com/workflows/x":                 "",
		"https://a.platform.example.com":                      "",
		"https://a.platform.example.com/any?thing":            "",
		"https://two.one.example.com/workflows/x":             needed,
		"https://flows.example.com/workflows/x":               needed,
		"https://platform.example.com/x":                      needed,
		"https://aflows.example.com/workflows/x":              needed,
		"https://a.flows.example.com/":                        needed,
		"https://a.flows.example.com/%77orkflows/x":           needed,
		"https://a.flows.example.com?/workflows/x":            needed,
		"https://a.flows.example.com.evil.test/workflows/x":   needed,
		"https://old.platform.example.com/x":                  refused,
		"https://OLD.platform.example.com:443/x":              refused,
		"https://b.classic.flows.example.com/workflows/x":     refused,
		"https://classic.flows.example.com/workflows/x":       "",
		"https://older.old.platform.example.com/workflows/x?": "",
	} {
		got := ""
		if _, err := s.addressOf(kind, url); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
