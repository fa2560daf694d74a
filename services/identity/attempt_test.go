package identity_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/services/identity"
)

// counts returns the counters of identity whose names end with the text: the sum for each set of labels.
func counts(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			if family.GetName() == "bellbuoy_identity_"+name && metric.GetCounter().GetValue() > 0 {
				out[strings.Join(labels, " ")] = metric.GetCounter().GetValue()
			}
		}
	}
	return out
}

// A failed sign-in looks the same for every name: the same status, text and headers after one hash, whether there is such
// a member or not, whatever the member may use. At a limit there is no hash for any name.
func TestAFailedSignInDoesNotRevealWhoIsAMember(t *testing.T) {
	registry := prometheus.NewRegistry()
	p := start(t, func(c *identity.Config) { c.Metrics = registry })
	ann := p.member("ann", `"admin"`)
	admin := p.welcome(ann.id)
	admin.call(200, "PUT", "profile/totp", `{"code": "`+p.code(admin.call(200, "POST", "profile/totp", "").Secret, 0)+`"}`)
	p.member("invited", `"event"`)
	p.invited(p.member("bob", `"event"`))
	disabled := p.member("disabled", `"event"`)
	p.invited(disabled)
	p.operator(200, "PATCH", "users/"+disabled.id, `{"disabled": true}`)
	forbidden := p.operator(201, "POST", "organizations/"+ann.organization+"/users", `{"username": "forbidden", "email": "f@example.com", "roles": ["event"]}`).User.ID
	p.welcome(forbidden)
	admin.call(200, "PATCH", "users/"+forbidden, `{"allowPasswordAuth": false}`)

	names := []string{"nobody", "nobody@example.com", "ann", "ann@example.com", "bob", "invited", "disabled", "forbidden", "ANN", strings.Repeat("n", 5000), "ö", "' or 1=1"}
	look := func(got answer) string {
		headers := maps.Clone(got.header)
		for _, differs := range []string{"Date", "X-Request-Id", "Retry-After"} {
			headers.Del(differs)
		}
		return fmt.Sprint(got.status, got.text, headers)
	}
	for i, name := range names {
		for range 2 {
			before := counts(t, registry, "password_hashes_total")[""]
			got := p.signIn(fmt.Sprint("192.0.2.", 100+i), name, "a wrong password", "")
			if want := look(p.signIn(fmt.Sprint("198.51.100.", 100+i), "nobody else", "a wrong password", "")); look(got) != want || got.status != 403 {
				t.Errorf("%.20s: %s, and an unknown name gets %s", name, look(got), want)
			}
			if hashes := counts(t, registry, "password_hashes_total")[""] - before; hashes != 2 {
				t.Errorf("%.20s: %v hashes for two sign-ins", name, hashes)
			}
		}
		if !slices.Contains([]string{"nobody", "ann", "disabled"}, name) {
			continue
		}
		for range 8 {
			p.signIn(fmt.Sprint("192.0.2.", 100+i), name, "a wrong password", "")
		}
		before := counts(t, registry, "password_hashes_total")[""]
		if got := p.signIn(fmt.Sprint("192.0.2.", 100+i), name, password, ""); got.status != 429 || !strings.Contains(got.text, "There were too many tries.") {
			t.Errorf("%.20s at the limit: %d %s", name, got.status, got.text)
		}
		if counts(t, registry, "password_hashes_total")[""] != before {
			t.Errorf("%.20s: a hash at the limit", name)
		}
	}

	// Also the page for a forgotten password. Its mail is queued: the response does not wait for Kafka.
	p.broker.Close()
	for i, name := range names {
		if got := p.send(signedOut(fmt.Sprint("203.0.113.", 100+i)), "POST", "/app/sign-in/forgotten", jsonOf(map[string]string{"username": name})); got.status != 204 || got.text != "" {
			t.Errorf("forgotten, %.20s: %d %s", name, got.status, got.text)
		}
	}
}

// Each refused sign-in is a line of the log, with the member if known, the address and the reason, but nothing that was
// typed. It is counted by method and outcome. A copy of a passkey is in the audit log.
func TestARefusedSignInIsLoggedAndCounted(t *testing.T) {
	registry, log := prometheus.NewRegistry(), &text{}
	i := startIDP(t)
	p := start(t, func(c *identity.Config) {
		process := apitest.Process(t, "identity", "info", log, c.Now)
		process.Listener.Close()
		i.settings(c)
		c.Metrics, c.Log = registry, process.Log
	})
	ann := p.member("ann", `"admin"`)
	i.Serve(idpCallback + ann.organization)
	admin := p.welcome(ann.id)
	b := p.browser()
	const typed, wrongPassword = "secretly typed", "another secretly typed password"
	p.signIn("192.0.2.1", typed, wrongPassword, "")
	p.signIn("192.0.2.2", "ann", wrongPassword, "")
	p.signIn("192.0.2.3", "ann", password, "") // not refused
	b.call(403, "POST", "sign-in/code", codeOf("x", typed))
	admin.call(403, "POST", "sign-in/again", `{"password": "`+wrongPassword+`"}`)
	laptop := p.device()
	laptop.party.Origin = "https://console.example.com"
	laptop.register(admin, "Laptop")
	laptop.made.Counter = 1
	b.call(200, "POST", "sign-in/passkey", laptop.show(b))
	b.call(403, "POST", "sign-in/passkey", laptop.show(b)) // a copy
	admin.call(200, "PUT", "organization/sign-on", signOnBody(nil))
	i.AddUser("1", "typed@example.com", false)
	b.call(403, "POST", "sign-in/sso/finish", b.signOn(i, "1"))

	var got []string
	for line := range strings.Lines(log.String()) {
		var entry struct{ Level, Msg, Method, Reason, IP, User string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if entry.Msg == "sign-in refused" {
			got = append(got, strings.ReplaceAll(strings.Join([]string{entry.Level, entry.Method, entry.Reason, entry.IP, entry.User}, "|"), ann.id, "ann"))
		}
	}
	want := []string{
		"INFO|password|unknown or disabled|192.0.2.1|", "INFO|password|wrong password|192.0.2.2|ann", "INFO|code|This sign-in has ended. Start again.|192.0.2.1|",
		"INFO|again|The password is wrong.||ann",
		"INFO|passkey|The passkey was not accepted, because there may be a copy of it. Use another way to sign in, and remove the passkey.|192.0.2.1|ann",
		"INFO|signOn|The sign-on provider has not verified your mail address. Verify it there, and sign in again.|192.0.2.1|",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the lines are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, secret := range []string{typed, wrongPassword, password, "typed@example.com"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	counted := map[string]float64{
		"password accepted": 1, "password refused": 2, "code refused": 1, "again refused": 1, "passkey accepted": 1, "passkey refused": 1, "signOn refused": 1,
	}
	if entry := p.refusals(ann, 1)[0]; entry.After.Method != "passkey" {
		t.Errorf("the entry is %+v", entry)
	}
	if got := counts(t, registry, "sign_ins_total"); !maps.Equal(got, counted) {
		t.Errorf("the counts are %v, want %v", got, counted)
	}
}

// refusals returns the audit entries about refused sign-ins of the member's organization, when there are n.
func (p *platform) refusals(m member, n int) (entries []auditEntry) {
	p.t.Helper()
	apitest.Eventually(p.t, fmt.Sprint(n, " entries"), func() bool {
		var page struct{ Entries []auditEntry }
		if err := json.Unmarshal([]byte(p.send(m.app(), "GET", "/app/audit?action=user.sign_in.refuse", "").text), &page); err != nil {
			p.t.Fatal(err)
		}
		entries = page.Entries
		return len(entries) >= n
	})
	if len(entries) != n {
		p.t.Fatalf("the entries are %+v, want %d", entries, n)
	}
	return entries
}

type auditEntry struct {
	Actor                struct{ Type, ID string }
	EntityID, EntityName string
	IP                   string
	After                struct{ Method, Reason string }
}

// Admins find in the audit log that the sign-ins of a member were refused at a limit, and that too many wrong codes followed a
// right password. A stranger cannot fill the log: there is one entry of a member
// in 15 minutes, and 3 from one address. A wrong password, and a name that nobody has, leave none.
func TestARefusalAtALimitLeavesOneAuditEntry(t *testing.T) {
	p := start(t, nil)
	ann := p.member("ann", `"admin"`)
	p.invited(ann)
	fail := func(ip, name string, times, status int) {
		t.Helper()
		for range times {
			if got := p.signIn(ip, name, "a wrong password", ""); got.status != status {
				t.Fatalf("%s: %d %s", name, got.status, got.text)
			}
		}
	}
	fail("192.0.2.1", "ann", 10, 403)
	fail("192.0.2.1", "nobody", 10, 403)
	p.refusals(ann, 0)
	fail("192.0.2.1", "ann", 5, 429)
	fail("192.0.2.1", "nobody", 5, 429)
	fail("192.0.2.2", "ann", 10, 403)
	fail("192.0.2.2", "ann", 1, 429)
	entry := p.refusals(ann, 1)[0]
	if entry.Actor.Type != "visitor" || entry.Actor.ID != "" || entry.EntityID != ann.id || entry.EntityName != "ann" || entry.IP != "192.0.2.1" ||
		entry.After.Method != "password" || entry.After.Reason != "too many tries" {
		t.Errorf("the entry is %+v", entry)
	}

	// Five wrong codes after a right password, 15 minutes later.
	p.later(16 * time.Minute)
	p.client.FlushAll(t.Context())
	admin := p.browser().as(p.browser().call(200, "POST", "sign-in", signIn("ann", password)))
	p.midStep()
	admin.call(200, "PUT", "profile/totp", `{"code": "`+p.code(admin.call(200, "POST", "profile/totp", "").Secret, 0)+`"}`)
	b := p.browser()
	ticket := b.call(200, "POST", "sign-in", signIn("ann", password)).SecondFactor.Ticket
	for range 6 {
		b.call(403, "POST", "sign-in/code", codeOf(ticket, "000000"))
	}
	if entry := p.refusals(ann, 2)[0]; entry.After.Method != "code" || entry.After.Reason != "too many wrong codes" {
		t.Errorf("the entry is %+v", entry)
	}

	// One address at its limit tries the names of many members.
	var members []member
	for i := range 6 {
		members = append(members, p.member(fmt.Sprint("member", i), `"event"`))
	}
	fail("198.51.100.1", "nobody", 10, http.StatusForbidden)
	fail("198.51.100.1", "nobody else", 10, http.StatusForbidden)
	fail("198.51.100.1", "no third one", 10, http.StatusForbidden)
	for _, m := range members {
		fail("198.51.100.1", m.username, 1, http.StatusTooManyRequests)
	}
	for _, m := range members[:3] {
		p.refusals(m, 1)
	}
	for _, m := range members[3:] {
		p.refusals(m, 0)
	}
}
