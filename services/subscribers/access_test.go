package subscribers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// door is a route with what opens it.
type door struct{ method, path string }

func TestNoDoorOpensWithoutTheRightPassport(t *testing.T) {
	p := start(t)
	o, other := p.organization(), p.organization()
	s := p.subscribe(o, "ann@example.com", 0)[0]
	var public []door
	for _, resource := range []string{"email", "number", "subscribers/email", "subscribers/sms"} {
		for _, tail := range []string{"", "1/", "schema/", "set/1;2/"} {
			public = append(public, door{http.MethodGet, "/api/v1/" + resource + "/" + tail})
		}
		public = append(public, door{http.MethodPost, "/api/v1/" + resource + "/"},
			door{http.MethodPut, "/api/v1/" + resource + "/1/"}, door{http.MethodDelete, "/api/v1/" + resource + "/1/"})
	}
	base := peer.Prefix + "/organizations/" + o.id
	internal := []door{
		{http.MethodPost, base + "/recipients/concerned"}, {http.MethodPost, base + "/recipients/count"}, {http.MethodPost, base + "/recipients/explain"}, {http.MethodPost, base + "/recipients/resolve"},
		{http.MethodDelete, base + "/recipients/components/" + o.services[0].ID},
	}
	member := func(change func(*passport.Passport)) passport.Passport {
		m := o.member(passport.RoleAdmin)
		change(&m)
		return m
	}
	colleague := func(change func(*passport.Passport)) passport.Passport {
		c := o.peer()
		change(&c)
		return c
	}
	good, expired := p.signer.Sign(o.member(passport.RoleAdmin)), p.signer.Sign(o.member(passport.RoleAdmin))
	goodPeer, expiredPeer := p.signer.Sign(o.peer()), p.signer.Sign(o.peer())
	forger := passport.NewSigner(strings.Repeat("x", 32), p.now)
	elsewhere := func(p *passport.Passport) { p.Audience = "events" }

	refused := func(why, token string, doors []door) {
		t.Helper()
		for _, d := range doors {
			if got := p.send(token, d.method, d.path, nil); got.status != http.StatusForbidden || strings.Contains(got.text, `"error"`) {
				t.Errorf("%s %s with a passport that is %s: %d %s", d.method, d.path, why, got.status, got.text)
			}
		}
	}
	for why, token := range map[string]string{
		"none":             "",
		"damaged":          good[:len(good)-4],
		"forged":           forger.Sign(o.member(passport.RoleAdmin)),
		"for another":      p.signer.Sign(member(elsewhere)),
		"of the App":       p.signer.Sign(member(func(p *passport.Passport) { p.Surface = passport.App })),
		"the public's":     p.signer.Sign(member(func(p *passport.Passport) { p.Surface = passport.Public })),
		"the operator's":   p.signer.Sign(member(func(p *passport.Passport) { p.Surface = passport.Operator })),
		"a service's":      goodPeer,
		"nobody's at all":  p.signer.Sign(member(func(p *passport.Passport) { p.Organization = "" })),
		"something else":   "a.b",
		"a service's copy": p.signer.Sign(member(func(p *passport.Passport) { p.Surface = passport.Peer })),
	} {
		refused(why, token, public)
	}
	for why, token := range map[string]string{
		"none":                   "",
		"damaged":                goodPeer[:len(goodPeer)-4],
		"forged":                 forger.Sign(o.peer()),
		"for another":            p.signer.Sign(colleague(elsewhere)),
		"a member's":             good,
		"another organization's": p.signer.Sign(other.peer()),
		"no organization's":      p.signer.Sign(colleague(func(p *passport.Passport) { p.Organization = "" })),
	} {
		refused(why, token, internal)
	}
	if got := p.send(p.signer.Sign(o.member(passport.RoleAdmin)), http.MethodGet, s, nil); got.status != http.StatusOK {
		t.Errorf("a good one, after all those: %d %s", got.status, got.text)
	}
	p.ahead.Store(int64(passport.Life))
	refused("expired", expired, public)
	refused("expired", expiredPeer, internal)
	if n := p.total(o, "/api/v1/subscribers/email/"); n != 1 {
		t.Errorf("%d subscriptions are left", n)
	}
}

// Two organizations with the same addresses are two worlds.
func TestOrganizationsNeverSeeEachOther(t *testing.T) {
	p := start(t)
	ours, theirs := p.organization(), p.organization()
	for _, o := range []organization{ours, theirs} {
		p.subscribe(o, "ann@example.com", 0, 1)
		p.call(o, http.StatusCreated, http.MethodPost, "/api/v1/subscribers/sms/", object{"number": object{"number": "+4915112345678"}, "service": o.uri(0), "confirmed": true})
	}
	lists := map[string]int{
		"/api/v1/email/": 1, "/api/v1/number/": 1, "/api/v1/subscribers/email/": 2, "/api/v1/subscribers/sms/": 1,
		"/api/v1/email/?email__icontains=ann": 1, "/api/v1/subscribers/email/?email__email=ann@example.com": 2,
		"/api/v1/subscribers/email/?service__service_name=API": 1, "/api/v1/subscribers/sms/?number__number__startswith=%2B49": 1,
		"/api/v1/subscribers/email/?id__gt=0": 2, "/api/v1/subscribers/email/?confirmed=true": 2,
	}
	seen := map[string]bool{}
	for _, o := range []organization{ours, theirs} {
		for list, n := range lists {
			if got := p.total(o, list); got != n {
				t.Errorf("%s has %d, not %d", list, got, n)
			}
		}
		for _, list := range []string{"/api/v1/email/", "/api/v1/number/", "/api/v1/subscribers/email/", "/api/v1/subscribers/sms/"} {
			for _, one := range p.call(o, http.StatusOK, http.MethodGet, list, nil).Objects {
				if seen[one.ResourceURI] {
					t.Errorf("%s is both's", one.ResourceURI)
				}
				seen[one.ResourceURI] = true
				other := theirs
				if o.id == theirs.id {
					other = ours
				}
				p.call(other, http.StatusNotFound, http.MethodGet, one.ResourceURI, nil)
				p.call(other, http.StatusNotFound, http.MethodPut, one.ResourceURI, object{})
				p.call(other, http.StatusNotFound, http.MethodDelete, one.ResourceURI, nil)
			}
		}
	}
	mine, others := p.concerned(ours, 10, ours.services[0].ID), p.concerned(theirs, 10, theirs.services[0].ID)
	if len(mine) != 1 || len(others) != 1 || mine[0] == others[0] {
		t.Fatalf("concerned: %v, %v", mine, others)
	}
	if ids := p.concerned(ours, 10, theirs.services[0].ID); len(ids) != 0 {
		t.Errorf("their service concerns %v of ours", ids)
	}
	if d := p.resolve(ours, others[0])[0]; d.State != topic.RecipientGone || d.Address != "" || d.Channel != "" {
		t.Errorf("theirs resolved for us: %+v", d)
	}
}
