package identity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// mails returns a function that returns the links in the next n mails of the kind to members of the organization.
func (p *platform) mails(organization string) (links func(kind topic.Kind, n int) []string) {
	p.t.Helper()
	bus := stream.Connect(stream.Options{Brokers: []string{p.broker.Addr()}, ClientID: "test"})
	p.t.Cleanup(func() { bus.Close() })
	heard := apitest.Listen(p.t, bus, topic.Notices)
	read := map[topic.Kind]int{}
	return func(kind topic.Kind, n int) (links []string) {
		p.t.Helper()
		var found []topic.Notice
		apitest.Eventually(p.t, "the notices "+string(kind), func() bool {
			found = slices.DeleteFunc(apitest.Messages[topic.Notice](p.t, heard, topic.Notices), func(n topic.Notice) bool { return n.Kind != kind || n.Organization != organization })
			return len(found) >= read[kind]+n
		})
		for _, notice := range found[read[kind] : read[kind]+n] {
			to, err := p.recipients().Resolve(p.t.Context(), organization, topic.ResolveQuery{Kind: kind, Channel: notice.Channel, IDs: []string{notice.Recipient}})
			if err != nil || len(to) != 1 {
				p.t.Fatalf("%+v, %v", to, err)
			}
			links = append(links, to[0].Link)
		}
		read[kind] += n
		return links
	}
}

// accept sets the password with the link, and returns the browser with the session.
func (b *browser) accept(link string) *browser {
	b.t.Helper()
	_, token, _ := strings.Cut(link, "token=")
	return b.as(b.call(200, "POST", "invitations/accept", jsonOf(map[string]any{"token": token, "password": password})))
}

// An address that a member has set identifies nobody, neither here nor at a sign-in, before the member has used a link that
// only a mail to the address had, or an admin has changed it. It does not hide the member who has the address.
func TestAnAddressWithoutProofIdentifiesNobody(t *testing.T) {
	p, i, admin, m := acme(t, map[string]any{"rolesClaim": "groups", "roleMap": map[string][]string{"ops": {"admin"}}})
	i.AddUser("1", "boss@example.com", true)
	i.Tamper(func(claims map[string]any) func([]byte) string { claims["groups"] = "ops"; return nil })
	eve := p.operator(201, "POST", "organizations/"+m.organization+"/users", `{"username": "eve", "email": "eve@example.com", "roles": ["event"]}`).User.ID
	mails := p.mails(m.organization)
	hers, b := p.welcome(eve), p.browser()
	b.call(200, "POST", "sign-in", signIn("eve@example.com", password))
	hers.call(200, "PATCH", "profile", `{"email": "BOSS@example.com"}`)
	refused := func() {
		t.Helper()
		if r := b.call(403, "POST", "sign-in/sso/finish", b.signOn(i, "1")); !strings.Contains(r.Error, "without proof") {
			t.Errorf("the sign-on: %s", r.Error)
		}
		b.call(403, "POST", "sign-in", signIn("boss@example.com", password))
		if got := hers.call(200, "GET", "profile", "").Profile; got.SignOn || strings.Join(got.Roles, " ") != "event" {
			t.Errorf("eve is %+v", got)
		}
	}
	refused()
	admin.call(200, "PATCH", "users/"+eve, `{"firstName": "Eve", "email": "BOSS@example.com"}`) // as the form of the console sends it
	refused()
	b.call(200, "POST", "sign-in", signIn("eve", password))
	hers = p.welcome(eve) // the operator's link is shown, so it may not have gone to the address
	refused()

	boss := admin.call(201, "POST", "users", `{"username": "boss", "email": "boss@example.com", "roles": ["event"]}`).User.UserID
	if got := b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "1"))).call(200, "GET", "profile", "").Profile; got.UserID != boss {
		t.Errorf("the sign-on of the invited member leads to %+v", got)
	}
	admin.call(204, "DELETE", "users/"+boss, "")
	refused()

	b.call(204, "POST", "sign-in/forgotten", `{"username": "eve"}`)
	hers = b.accept(mails(topic.MemberForgotten, 1)[0])
	b.call(200, "POST", "sign-in", signIn("boss@example.com", password))
	hers = b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "1")))
	if got := hers.call(200, "GET", "profile", "").Profile; got.UserID != eve || strings.Join(got.Roles, " ") != "admin" {
		t.Errorf("the member with the address is %+v", got)
	}
	hers.call(200, "PATCH", "profile", `{"email": "new@example.com"}`)
	b.call(403, "POST", "sign-in", signIn("new@example.com", password))
	admin.call(200, "PATCH", "users/"+eve, `{"email": "newer@example.com"}`)
	b.call(200, "POST", "sign-in", signIn("newer@example.com", password))
}

// Members of another organization who get an address do not hide the member who has it.
func TestAnotherOrganizationDoesNotHideAnAddress(t *testing.T) {
	p := start(t, nil)
	ann := p.member("ann", `"admin"`) // the operator has entered the address
	annsBrowser, b := p.welcome(ann.id), p.browser()
	bob := annsBrowser.call(201, "POST", "users", `{"username": "bob", "email": "bob@example.com", "roles": ["event"]}`)
	mails := p.mails(ann.organization)
	other := p.member("mallory", `"admin"`)
	mallory := p.welcome(other.id)
	leads := func(name, user string) {
		t.Helper()
		if got := b.as(b.call(200, "POST", "sign-in", signIn(name, password))).call(200, "GET", "profile", "").Profile; got.UserID != user {
			t.Errorf("%s leads to %+v", name, got)
		}
	}
	b.accept(bob.Invitation.URL)
	leads("Bob@example.com", bob.User.UserID) // without proof, but nobody else has the address
	for n := range 21 {
		invited := mallory.call(201, "POST", "users", fmt.Sprintf(`{"username": "m%d", "email": "ann@example.com", "roles": ["event"]}`, n))
		if n == 0 {
			b.accept(invited.Invitation.URL)
		}
	}
	mallory.call(400, "POST", "users", `{"username": "ann@example.com", "email": "ann@example.com", "roles": ["event"]}`)
	mallory.call(200, "PATCH", "profile", `{"email": "ann@example.com"}`)
	leads("ann@example.com", ann.id)
	for _, email := range []string{"x@example.com", "ann@example.com"} { // she corrects a mistake
		annsBrowser.call(200, "PATCH", "profile", fmt.Sprintf(`{"email": %q}`, email))
	}
	leads("ann@example.com", ann.id)
	mallory.call(200, "PATCH", "users/"+other.id, `{"email": "Bob@example.com"}`)
	b.call(403, "POST", "sign-in", signIn("bob@example.com", password)) // two members without proof
	mallory.call(200, "PATCH", "users/"+other.id, `{"email": "ann@example.com"}`)
	leads("ann@example.com", ann.id)
	leads("bob@example.com", bob.User.UserID)

	// Bob proves his address by a link in a mail.
	mallory.call(200, "PATCH", "users/"+other.id, `{"email": "bob@example.com"}`)
	b.call(204, "POST", "sign-in/forgotten", `{"username": "bob"}`)
	b.accept(mails(topic.MemberForgotten, 1)[0])
	leads("bob@example.com", bob.User.UserID)
	annsBrowser.call(200, "PATCH", "users/"+bob.User.UserID, `{"email": "robert@example.com"}`)
	leads("robert@example.com", bob.User.UserID)
	b.call(204, "POST", "sign-in/forgotten", `{"username": "ann@example.com"}`)
	if link := mails(topic.MemberForgotten, 1)[0]; link == "" {
		t.Error("no link goes to the address that another organization has, too")
	}

	// The mail of an invitation has a link of its own, which proves the address.
	cid := annsBrowser.call(201, "POST", "users", `{"username": "cid", "email": "cid@example.com", "roles": ["event"]}`)
	again := annsBrowser.call(201, "POST", "users/"+cid.User.UserID+"/invitation", "").Invitation.URL
	links := mails(topic.MemberInvitation, 3) // the first one is Bob's
	if links[1] != "" || links[2] == again || links[2] == "" {
		t.Errorf("the mails have the links %q, shown is %s", links, again)
	}
	b.accept(links[2])
	mallory.call(200, "PATCH", "users/"+other.id, `{"email": "cid@example.com"}`)
	leads("cid@example.com", cid.User.UserID)
	_, token, _ := strings.Cut(again, "token=")
	b.call(404, "POST", "invitations/read", jsonOf(map[string]any{"token": token}))
}
