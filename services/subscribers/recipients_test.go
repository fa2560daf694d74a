package subscribers_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/store"
)

func TestConcernedAreTheConfirmedEachOnceOverAllPages(t *testing.T) {
	p := start(t)
	o, other := p.organization(), p.organization()
	api, web, zurich := o.services[0].ID, o.services[1].ID, o.services[2].ID
	for i := range 23 { // 8 of API, 8 of Web, 7 of both
		p.subscribe(o, fmt.Sprintf("a%d@example.com", i), [][]int{{0}, {1}, {0, 1}}[i%3]...)
	}
	p.subscribe(other, "a0@example.com", 0, 1, 2)
	p.call(o, http.StatusCreated, http.MethodPost, "/api/v1/subscribers/email/", object{"email": object{"email": "unconfirmed@example.com"}, "service": o.uri(0)})
	p.call(o, http.StatusCreated, http.MethodPost, "/api/v1/subscribers/email/", object{"email": object{"email": "a1@example.com"}, "service": o.uri(2)})
	p.call(o, http.StatusCreated, http.MethodPost, "/api/v1/subscribers/sms/", object{"number": object{"number": "+4915112345678"}, "service": o.uri(0), "confirmed": true})

	for name, want := range map[string]struct {
		services []string
		n        int
	}{
		"one":                    {[]string{api}, 15},
		"another":                {[]string{web}, 15},
		"both":                   {[]string{api, web}, 23},
		"the same twice":         {[]string{web, web}, 15},
		"all":                    {[]string{api, web, zurich}, 23},
		"one unconfirmed":        {[]string{zurich}, 0},
		"none":                   {nil, 0},
		"another organization's": {[]string{other.services[0].ID}, 0},
		"nobody's":               {[]string{id()}, 0},
	} {
		var all []string
		for _, limit := range []int{topic.MaxPage, 1, 5, 15, 23, 24} {
			ids := p.concerned(o, limit, want.services...)
			if len(ids) != want.n || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != want.n {
				t.Errorf("%s, by pages of %d: %d ids, not %d", name, limit, len(ids), want.n)
			}
			if all == nil {
				all = ids
			}
			if !slices.Equal(all, ids) {
				t.Errorf("%s: pages of %d hold others", name, limit)
			}
		}
	}

	ask := func(concern topic.RecipientQuery) (topic.RecipientPage, error) {
		return p.recipients().Concerned(t.Context(), o.id, concern)
	}
	page, err := ask(topic.RecipientQuery{Channel: topic.SMS, Components: []string{api, web}, Limit: 10})
	if err != nil || len(page.Recipients) != 1 || page.Next != "" {
		t.Errorf("by SMS: %+v %v", page, err)
	}
	if d := page.Recipients[0].Destination; len(d) != 64 || strings.Trim(d, "0123456789abcdef") != "" {
		t.Errorf("a destination is no digest: %s", d)
	}
	for _, channel := range []topic.Channel{topic.Chatroom, topic.Webhook, "pigeon", ""} {
		if page, err := ask(topic.RecipientQuery{Channel: channel, Components: []string{api}, Limit: 10}); err != nil || len(page.Recipients) != 0 {
			t.Errorf("by %q: %+v %v", channel, page, err)
		}
	}
	for _, limit := range []int{-1, 0, topic.MaxPage + 1} {
		if _, err := ask(topic.RecipientQuery{Channel: topic.Email, Components: []string{api}, Limit: limit}); !fault.Is(err, fault.Invalid) {
			t.Errorf("a limit of %d: %v", limit, err)
		}
	}
}

func TestResolveFollowsEveryChangeAtOnce(t *testing.T) {
	p := start(t)
	o := p.organization()
	api, web := o.services[0].ID, o.services[1].ID
	uris := p.subscribe(o, "ann@example.com", 0, 1)
	p.subscribe(o, "bob@example.com", 0)
	ann, bob := p.concerned(o, 10, web)[0], ""
	for _, id := range p.concerned(o, 10, api) {
		if id != ann {
			bob = id
		}
	}

	nobody := id()
	found := p.resolve(o, nobody, bob, ann, "nonsense", bob)
	want := []topic.Destination{
		{ID: nobody, State: topic.RecipientGone, Components: []string{}},
		{ID: bob, Channel: topic.Email, State: topic.RecipientActive, Address: "bob@example.com", Components: []string{api}},
		{ID: ann, Channel: topic.Email, State: topic.RecipientActive, Address: "ann@example.com", Components: []string{api, web}},
		{ID: "nonsense", State: topic.RecipientGone, Components: []string{}},
		{ID: bob, Channel: topic.Email, State: topic.RecipientActive, Address: "bob@example.com", Components: []string{api}},
	}
	for i := range want {
		slices.Sort(found[i].Components)
		active := found[i].State == topic.RecipientActive
		if (found[i].Unsubscribe != "") != active || (found[i].Manage != "") != active || (found[i].Dashboard.ID == o.dashboard) != active {
			t.Errorf("the links are %q and %q", found[i].Unsubscribe, found[i].Manage)
		}
		found[i].Unsubscribe, found[i].Manage, found[i].Dashboard = "", "", topic.Dashboard{} // their own test is in unsubscribe_test.go
		if fmt.Sprintf("%+v", found[i]) != fmt.Sprintf("%+v", want[i]) {
			t.Errorf("resolved %+v, not %+v", found[i], want[i])
		}
	}
	state := func(id string) string {
		d := p.resolve(o, id)[0]
		return fmt.Sprint(d.State, " ", d.Address, " ", len(d.Components))
	}
	step := func(method, target string, body object, status int, want string) {
		t.Helper()
		p.call(o, status, method, target, body)
		if got := state(ann); got != want {
			t.Errorf("after %s %v: %s, not %s", method, body, got, want)
		}
	}
	email := "/api/v1/email/" + p.legacyID(o, "ann@example.com") + "/"
	step(http.MethodPut, email, object{"email": "anna@example.org"}, http.StatusOK, "active anna@example.org 2")
	step(http.MethodPut, uris[0], object{"confirmed": false}, http.StatusOK, "active anna@example.org 1")
	step(http.MethodPut, uris[1], object{"confirmed": false}, http.StatusOK, "unconfirmed  0")
	step(http.MethodPut, uris[1], object{"confirmed": true}, http.StatusOK, "active anna@example.org 1")
	step(http.MethodDelete, uris[1], nil, http.StatusNoContent, "unconfirmed  0")
	step(http.MethodPut, uris[0], object{"confirmed": true}, http.StatusOK, "active anna@example.org 1")
	step(http.MethodDelete, email, nil, http.StatusNoContent, "gone  0")
	if got := state(bob); got != "active bob@example.com 1" {
		t.Errorf("the other: %s", got)
	}
	if none := p.resolve(o); len(none) != 0 {
		t.Errorf("nobody resolved: %v", none)
	}
	if _, err := p.recipients().Resolve(t.Context(), o.id, topic.ResolveQuery{IDs: make([]string, 5001)}); !fault.Is(err, fault.Invalid) {
		t.Errorf("too many: %v", err)
	}
	many := make([]string, 5000)
	for i := range many {
		many[i] = bob
	}
	// Not by the peer's client, whose patience a slow machine may try with so many.
	got := p.send(p.signer.Sign(o.peer()), http.MethodPost, peer.Prefix+"/organizations/"+o.id+"/recipients/resolve", topic.ResolveQuery{IDs: many})
	if n := strings.Count(got.text, `"state":"active"`); got.status != http.StatusOK || n != 5000 {
		t.Errorf("the most there may be: %d %d", got.status, n)
	}
}

// A blocked number is shown as blocked, and no message is sent to it.
func TestABlockedNumberIsSuppressed(t *testing.T) {
	p := surround(t)
	o := p.organization()
	number := audience.Address{
		ID: id(), OrganizationID: o.id, Channel: topic.SMS, LegacyID: 7, Text: "+4915112345678", Normal: "+4915112345678", Suppression: &audience.Suppression{Reason: audience.Unusable, At: p.now()}, CreatedAt: p.now(),
	}
	p.keep(func(s audience.Store) error { return s.Addresses.Insert(t.Context(), number) })
	p.run()
	p.call(o, http.StatusCreated, http.MethodPost, "/api/v1/subscribers/sms/", object{"number": "/api/v1/number/7/", "service": o.uri(0), "confirmed": true})
	page, err := p.recipients().Concerned(t.Context(), o.id, topic.RecipientQuery{Channel: topic.SMS, Components: []string{o.services[0].ID}, Limit: 1})
	if err != nil || len(page.Recipients) != 1 {
		t.Fatalf("%+v %v", page, err)
	}
	if d := p.resolve(o, page.Recipients[0].ID)[0]; d.State != topic.RecipientSuppressed || d.Address != "" || d.Channel != topic.SMS {
		t.Errorf("resolved: %+v", d)
	}
	if got := p.call(o, http.StatusOK, http.MethodGet, "/api/v1/number/7/", nil); !strings.Contains(got.text, `"blocked":true`) {
		t.Errorf("shown as %s", got.text)
	}
	for list, n := range map[string]int{"/api/v1/number/?blocked=true": 1, "/api/v1/subscribers/sms/?number__blocked=1": 1, "/api/v1/number/?blocked=false": 0} {
		if got := p.total(o, list); got != n {
			t.Errorf("%s has %d", list, got)
		}
	}
	if got := p.call(o, http.StatusOK, http.MethodPut, "/api/v1/number/7/", object{"blocked": false}); !strings.Contains(got.text, `"blocked":true`) {
		t.Errorf("a client unblocked it: %s", got.text)
	}
}

// still follows nothing.
type still struct{}

func (still) AddressWritten(context.Context, string, *audience.Address) error       { return nil }
func (still) ImportWritten(context.Context, string, *audience.Import) error         { return nil }
func (still) SubscriberWritten(context.Context, string, *audience.Subscriber) error { return nil }

// keep writes records while the service does not run.
func (p *platform) keep(write func(audience.Store) error) {
	p.t.Helper()
	db, err := document.Open(p.documents, "subscribers", document.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	s := store.New(db, func() store.Follower { return still{} })
	if err := db.Migrate(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	if err := write(s); err != nil {
		p.t.Fatal(err)
	}
}

// legacyID is the integer id of a mail address.
func (p *platform) legacyID(o organization, email string) string {
	p.t.Helper()
	found := p.call(o, http.StatusOK, http.MethodGet, "/api/v1/email/?email="+email, nil).Objects
	if len(found) != 1 {
		p.t.Fatalf("%s is there %d times", email, len(found))
	}
	return strings.Trim(strings.TrimPrefix(found[0].ResourceURI, "/api/v1/email/"), "/")
}
