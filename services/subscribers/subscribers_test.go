package subscribers_test

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The scripts share one service, so that each sees that there are others; each has two
// organizations of its own.
func TestOperations(t *testing.T) {
	p := start(t)
	p.signer = passport.NewSigner(secret, func() time.Time { return p.now().Add(time.Hour) }) // a script can take longer than a passport lives
	heard := p.listen(topic.Notices)
	documents := apitest.ReadOpenAPI(t, "../../gateway/openapi")
	apitest.Run(t, "testdata/*.txtar", func(t *testing.T) apitest.Target {
		ours, others := p.organization(), p.organization()
		noplan := ours.member(passport.RoleAdmin)
		noplan.Features.API = false
		number := func(o organization, n int) string { return strconv.FormatInt(o.services[n].LegacyID, 10) }
		second := p.events.addDashboard(ours.id, ours.services[0].ID)
		caller := ours.member(passport.RoleAdmin)
		if strings.Contains(t.Name(), "/app_") {
			caller = ours.app(passport.RoleSubscriber)
		}
		vars := p.visitorsOf(t.Name(), ours, heard)
		maps.Copy(vars, map[string]string{
			"others":    p.signer.Sign(others.member(passport.RoleAdmin)),
			"api":       p.signer.Sign(ours.member(passport.RoleAPI)),
			"event":     p.signer.Sign(ours.member(passport.RoleEvent)),
			"noplan":    p.signer.Sign(noplan),
			"dashboard": ours.dashboard, "second": second.ID, "theirDashboard": others.dashboard, "nobodys": id(),
			"theirApp": p.signer.Sign(others.app(passport.RoleAdmin)), "admin": p.signer.Sign(ours.app(passport.RoleAdmin)),
			"eventApp": p.signer.Sign(ours.app(passport.RoleEvent)), "legacy": p.signer.Sign(ours.member(passport.RoleAdmin)),
			"peer": p.signer.Sign(ours.peer()), "org": ours.id,
			"api1": number(ours, 0), "web": number(ours, 1), "zurich": number(ours, 2), "theirs": number(others, 0),
			"apiID": ours.services[0].ID, "webID": ours.services[1].ID, "zurichID": ours.services[2].ID, "theirsID": others.services[0].ID,
		})
		return apitest.Target{
			OpenAPI: documents,
			URL:     p.url,
			Header:  http.Header{passport.Header: {p.signer.Sign(caller)}, "Content-Type": {"application/json"}},
			Vars:    vars,
		}
	})
}
