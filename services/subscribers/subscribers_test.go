package subscribers_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/subscribers"
)

// The scripts share one service, so that each sees that there are others; each has two
// organizations of its own.
func TestOperations(t *testing.T) {
	p := start(t)
	apitest.Run(t, "testdata/*.txtar", func(t *testing.T) apitest.Target {
		ours, others := p.organization(), p.organization()
		noplan := ours.member(passport.RoleAdmin)
		noplan.Features.API = false
		number := func(o organization, n int) string { return strconv.FormatInt(o.services[n].LegacyID, 10) }
		return apitest.Target{
			URL:    p.url,
			Header: http.Header{passport.Header: {p.signer.Sign(ours.member(passport.RoleAdmin))}, "Content-Type": {"application/json"}},
			Vars: map[string]string{
				"others": p.signer.Sign(others.member(passport.RoleAdmin)),
				"api":    p.signer.Sign(ours.member(passport.RoleAPI)),
				"event":  p.signer.Sign(ours.member(passport.RoleEvent)),
				"noplan": p.signer.Sign(noplan),
				"peer":   p.signer.Sign(ours.peer()), "org": ours.id,
				"api1": number(ours, 0), "web": number(ours, 1), "zurich": number(ours, 2), "theirs": number(others, 0),
				"apiID": ours.services[0].ID, "webID": ours.services[1].ID, "zurichID": ours.services[2].ID, "theirsID": others.services[0].ID,
			},
		}
	})
}

func TestSettingsAreChecked(t *testing.T) {
	for url, valid := range map[string]bool{"http://events:8080": true, "https://events": true, "events:8080": false, "ftp://events": false, "http://": false} {
		err := subscribers.Config{EventsURL: url}.Validate()
		if (err == nil) != valid || err != nil && !strings.Contains(err.Error(), "EVENTS_URL") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
