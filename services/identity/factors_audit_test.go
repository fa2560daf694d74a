package identity_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"

	"github.com/bellbuoy/bellbuoy/services/identity/oidctest"
)

// Each write of second factors and of single sign-on leaves one audit entry, whose actor is the member. No secret is in
// an entry, in a mail's message, or in the database. Each mail names its recipient by an id.
func TestWritesOfSecondFactorsAndSignOnLeaveAuditEntriesAndMailsWithoutSecrets(t *testing.T) {
	i := startIDP(t)
	p := start(t, i.settings)
	bus := stream.Connect(stream.Options{Brokers: []string{p.broker.Addr()}, ClientID: "test"})
	t.Cleanup(func() { bus.Close() })
	heard := apitest.Listen(t, bus, topic.Audit, topic.Notices)
	m := p.member("ann", `"admin"`)
	i.Serve(idpCallback + m.organization)
	b := p.welcome(m.id) // session.create
	secrets := []string{oidctest.ClientSecret}

	secret := b.call(200, "POST", "profile/totp", "").Secret
	p.midStep()
	codes := b.call(200, "PUT", "profile/totp", `{"code": "`+p.code(secret, 0)+`"}`).RecoveryCodes
	codes = append(codes, b.call(200, "POST", "profile/recovery-codes", "").RecoveryCodes...)
	secrets = append(append(secrets, secret), codes...)
	ticket := b.call(200, "POST", "sign-in", signIn("ann", password)).SecondFactor.Ticket
	in := p.browser().call(200, "POST", "sign-in/code", codeOf(ticket, codes[10]))
	secrets = append(secrets, ticket, in.Session.Token[strings.Index(in.Session.Token, ":")+1:], *in.Browser)
	laptop := p.device()
	laptop.party.Origin = "https://console.example.com"
	id := laptop.register(b, "Laptop")
	b.call(200, "PATCH", "profile/passkeys/"+id, `{"name": "Desk"}`)
	laptop.made.Counter = 1
	b.call(200, "POST", "sign-in/passkey", laptop.show(b))
	b.call(204, "DELETE", "profile/passkeys/"+id, "")
	b.call(204, "DELETE", "profile/totp", "")
	secret = b.call(200, "POST", "profile/totp", "").Secret
	codes = b.call(200, "PUT", "profile/totp", `{"code": "`+p.code(secret, 0)+`"}`).RecoveryCodes
	secrets = append(append(secrets, secret), codes...)
	b.call(204, "DELETE", "users/"+m.id+"/second-factors", "")
	b = p.browser()
	b.token = b.call(200, "POST", "sign-in", signIn("ann", password)).Session.Token
	b.call(200, "PUT", "organization/sign-on", signOnBody(nil))
	i.AddUser("1", "ann@example.com", true)
	i.AddUser("2", "new@example.com", true)
	b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "1"))
	signedOut := p.browser()
	signedOut.call(200, "POST", "sign-in/sso/finish", signedOut.signOn(i, "2"))

	want := []string{
		"session.create", "user.update", "user.recovery_codes.create", "session.create", "user.update", "user.update", "session.create", "user.update", "user.update",
		"organization.update", "user.update", "session.create", "user.create", "session.create", "user.update", "user.update", "session.create",
	}
	var entries []topic.AuditEntry
	apitest.Eventually(t, "all entries", func() bool {
		entries = slices.DeleteFunc(apitest.Messages[topic.AuditEntry](t, heard, topic.Audit), func(e topic.AuditEntry) bool { return e.Surface != "console" })
		return len(entries) >= len(want)
	})
	slices.SortFunc(entries, func(a, b topic.AuditEntry) int { return strings.Compare(a.ID, b.ID) })
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Action)
		if entry.Actor.Type != topic.ActorUser || entry.Actor.ID == "" || entry.Actor.KeyID != "" {
			t.Errorf("%s has the actor %+v", entry.Action, entry.Actor)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the entries are %v, want %v", got, want)
	}
	kinds := map[topic.Kind]int{}
	var notices []topic.Notice
	apitest.Eventually(t, "all mails", func() bool {
		notices = apitest.Messages[topic.Notice](t, heard, topic.Notices)
		return len(notices) >= 11
	})
	for _, notice := range notices {
		kinds[notice.Kind]++
		if notice.Service != topic.Identity || notice.Channel != topic.Email || notice.Organization != m.organization || !strings.HasPrefix(notice.Recipient, m.id) {
			t.Errorf("the notice is %+v", notice)
		}
	}
	if fmt.Sprint(kinds) != fmt.Sprint(map[topic.Kind]int{
		topic.MemberKey: 2, topic.MemberPassword: 1, topic.MemberTOTPAdded: 2, topic.MemberRecoveryCodes: 1, topic.MemberPasskeyAdded: 1,
		topic.MemberPasskeyRemoved: 1, topic.MemberTOTPRemoved: 1, topic.MemberSignOn: 1, topic.MemberReset: 1,
	}) {
		t.Errorf("the mails are %v", kinds)
	}
	text, err := json.Marshal([]any{entries, notices})
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]string{"a message": string(text)}
	addFiles(t, places, p.records)
	for place, content := range places {
		for _, secret := range secrets {
			if strings.Contains(content, secret) {
				t.Errorf("%s has the secret %s", place, secret)
			}
		}
	}
	for _, notice := range notices {
		if text := fmt.Sprint(notice, *notice.Member); strings.Contains(text, "@example.com") || strings.Contains(text, "token") {
			t.Errorf("the notice is %s", text)
		}
	}
}

// The addresses and links of mails are those of the moment of the request.
func TestTheRecipientsOfMailsAreResolvedToTheirAddressesAndLinks(t *testing.T) {
	p := start(t, nil)
	bus := stream.Connect(stream.Options{Brokers: []string{p.broker.Addr()}, ClientID: "test"})
	t.Cleanup(func() { bus.Close() })
	heard := apitest.Listen(t, bus, topic.Notices)
	m := p.member("ann", `"admin"`)
	b := p.welcome(m.id)
	user := b.call(201, "POST", "users", `{"username": "bob", "email": "bob@example.com", "roles": ["event"]}`)
	p.browser().call(204, "POST", "sign-in/forgotten", `{"username": "ann"}`)
	b.call(200, "PATCH", "profile", `{"email": "new@example.com"}`)
	find := func(kind topic.Kind, recipients int) (found []topic.Notice) {
		t.Helper()
		apitest.Eventually(t, "the notice "+string(kind), func() bool {
			found = slices.DeleteFunc(apitest.Messages[topic.Notice](t, heard, topic.Notices), func(n topic.Notice) bool { return n.Kind != kind })
			return len(found) >= recipients
		})
		return found
	}
	resolve := func(organization string, n topic.Notice) topic.Destination {
		t.Helper()
		found, err := p.recipients().Resolve(t.Context(), organization, topic.ResolveQuery{Kind: n.Kind, Channel: n.Channel, IDs: []string{n.Recipient}})
		if err != nil || len(found) != 1 || found[0].ID != n.Recipient {
			t.Fatalf("%+v, %v", found, err)
		}
		return found[0]
	}
	invitation := find(topic.MemberInvitation, 1)[0]
	if to := resolve(m.organization, invitation); to.State != topic.RecipientActive || to.Address != "bob@example.com" || to.Link == user.Invitation.URL || !strings.HasPrefix(to.Link, "http://") || to.Names[0] != "bob" || to.Dashboard.Name != "Acme" {
		t.Errorf("the invitation goes to %+v, with the link %s", to, user.Invitation.URL)
	}
	if to := resolve("01890a5d-ac96-774b-bcce-b302099a8057", invitation); to.State != topic.RecipientGone || to.Link != "" {
		t.Errorf("another organization gets %+v", to)
	}
	if to := resolve(m.organization, find(topic.MemberForgotten, 1)[0]); to.State != topic.RecipientGone {
		t.Errorf("the link that ended with the address goes to %+v", to)
	}
	var addresses []string
	for _, n := range find(topic.MemberAddress, 2) {
		to := resolve(m.organization, n)
		addresses = append(addresses, to.Address)
		if to.Link != "" {
			t.Errorf("the mail has the link %s", to.Link)
		}
	}
	slices.Sort(addresses)
	if fmt.Sprint(addresses) != "[ann@example.com new@example.com]" {
		t.Errorf("the mails go to %v", addresses)
	}
	_, token, _ := strings.Cut(user.Invitation.URL, "token=")
	p.browser().call(200, "POST", "invitations/accept", jsonOf(map[string]any{"token": token, "password": password}))
	if to := resolve(m.organization, invitation); to.State != topic.RecipientGone || to.Link != "" {
		t.Errorf("a used link goes to %+v", to)
	}
	// The longest retry schedule has 20 pauses of 24 h. A mail that waits as long still goes to the former address.
	p.ahead.Add(int64(20 * 24 * time.Hour))
	again := p.browser()
	again.as(again.call(200, "POST", "sign-in", signIn("ann", password))).call(200, "PATCH", "profile", `{"email": "newest@example.com"}`)
	for _, n := range find(topic.MemberAddress, 4)[:2] {
		if to := resolve(m.organization, n); to.State != topic.RecipientActive {
			t.Errorf("after 20 days, the recipient %s is %+v", n.Recipient, to)
		}
	}
	p.operator(204, "DELETE", "users/"+m.id, "")
	if to := resolve(m.organization, find(topic.MemberAddress, 2)[0]); to.State != topic.RecipientGone {
		t.Errorf("a deleted user gets %+v", to)
	}
}
