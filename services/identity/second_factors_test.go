package identity_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
)

// code returns the code that an app shows at the time of the platform's clock, moved by some time.
func (p *platform) code(secret string, by time.Duration) string {
	p.t.Helper()
	code, err := totp.GenerateCode(secret, p.now().Add(by))
	if err != nil {
		p.t.Fatal(err)
	}
	return code
}

// later puts the clock forward.
func (p *platform) later(by time.Duration) { p.ahead.Add(int64(by)) }

// midStep stops the time of the service in the middle of a time step, so that the step does not end during the next requests.
func (p *platform) midStep() {
	p.stopClock()
	const step = 30 * time.Second
	p.later(step - time.Duration(p.now().UnixNano())%step + step/2)
}

func signIn(username, password string) string {
	return jsonOf(map[string]string{"username": username, "password": password})
}

func codeOf(ticket, code string) string {
	return jsonOf(map[string]string{"ticket": ticket, "code": code})
}

// Each code works once, and also if the clock of the app differs by one step. A recovery code works once.
func TestACodeWorksOnceWithADriftOfOneStep(t *testing.T) {
	p := start(t, nil)
	ann := p.member("ann", `"admin"`)
	b := p.welcome(ann.id)
	set := b.call(200, "POST", "profile/totp", "")
	address, err := url.Parse(set.URL)
	if err != nil || address.Scheme != "otpauth" || address.Query().Get("secret") != set.Secret || !strings.HasSuffix(address.Path, "ann") {
		t.Errorf("the URL is %q", set.URL)
	}
	if again := b.call(200, "POST", "profile/totp", ""); again.Secret == set.Secret {
		t.Error("a second setup has the same secret")
	} else {
		set = again
	}
	signedOut := p.browser()
	if r := signedOut.call(200, "POST", "sign-in", signIn("ann", password)); r.Session == nil {
		t.Error("an app that is not in force asks for a code")
	}
	p.midStep()
	b.call(400, "PUT", "profile/totp", `{"code": "`+p.code(set.Secret, -time.Hour)+`"}`)
	codes := b.call(200, "PUT", "profile/totp", `{"code": "`+p.code(set.Secret, 0)+`"}`).RecoveryCodes
	if len(codes) != 10 {
		t.Fatalf("the recovery codes are %q", codes)
	}
	b.call(409, "PUT", "profile/totp", `{"code": "`+p.code(set.Secret, 30*time.Second)+`"}`)
	b.call(409, "POST", "profile/totp", "")
	if f := b.call(200, "GET", "profile", "").Profile.SecondFactors; !f.TOTP || f.RecoveryCodes != 10 {
		t.Errorf("the second factors are %+v", f)
	}
	ask := func() string {
		t.Helper()
		r := signedOut.call(200, "POST", "sign-in", signIn("ann", password))
		if r.Session != nil || r.SecondFactor == nil {
			t.Fatalf("a password alone signs in: %+v", r)
		}
		return r.SecondFactor.Ticket
	}
	signedOut.call(403, "POST", "sign-in/code", codeOf(ask(), p.code(set.Secret, 0))) // used by the setup
	signedOut.call(200, "POST", "sign-in/code", codeOf(ask(), p.code(set.Secret, 30*time.Second)))
	signedOut.call(403, "POST", "sign-in/code", codeOf(ask(), p.code(set.Secret, 30*time.Second)))
	p.later(time.Minute) // the step before the current one is the first that is not used
	signedOut.call(403, "POST", "sign-in/code", codeOf(ask(), p.code(set.Secret, -time.Minute)))
	signedOut.call(403, "POST", "sign-in/code", codeOf(ask(), p.code(set.Secret, time.Minute)))
	p.later(time.Minute)
	signedOut.call(200, "POST", "sign-in/code", codeOf(ask(), " "+p.code(set.Secret, -30*time.Second)[:3]+" "+p.code(set.Secret, -30*time.Second)[3:]))
	signedOut.call(200, "POST", "sign-in/code", codeOf(ask(), strings.ToUpper(codes[3])))
	signedOut.call(403, "POST", "sign-in/code", codeOf(ask(), codes[3]))
	signedOut.call(403, "POST", "sign-in/code", codeOf(ask(), ""))
	if f := b.call(200, "GET", "profile", "").Profile.SecondFactors; f.RecoveryCodes != 9 {
		t.Errorf("the second factors are %+v", f)
	}
	fresh := b.call(200, "POST", "profile/recovery-codes", "").RecoveryCodes
	signedOut.call(403, "POST", "sign-in/code", codeOf(ask(), codes[4]))
	last := signedOut.as(signedOut.call(200, "POST", "sign-in/code", codeOf(ask(), fresh[0])))
	last.call(204, "DELETE", "profile/totp", "")
	b.call(403, "GET", "profile", "") // another session
	last.call(404, "DELETE", "profile/totp", "")
	last.call(409, "POST", "profile/recovery-codes", "")
	if r := signedOut.call(200, "POST", "sign-in", signIn("ann", password)); r.Session == nil {
		t.Error("a removed app asks for a code")
	}
}

// Two sign-ins at once with one code: one of them succeeds.
func TestOneCodeSignsInOnceAlsoAtTheSameTime(t *testing.T) {
	p := start(t, nil)
	ann := p.member("ann", `"admin"`)
	b := p.welcome(ann.id)
	secret := b.call(200, "POST", "profile/totp", "").Secret
	p.midStep()
	codes := b.call(200, "PUT", "profile/totp", `{"code": "`+p.code(secret, -30*time.Second)+`"}`).RecoveryCodes
	for _, code := range []string{p.code(secret, 0), codes[0]} {
		signedOut := p.browser()
		var tickets []string
		for range 4 {
			tickets = append(tickets, signedOut.call(200, "POST", "sign-in", signIn("ann", password)).SecondFactor.Ticket)
		}
		statuses := make(chan int, len(tickets))
		for _, ticket := range tickets {
			go func() {
				_, status := signedOut.try("POST", "sign-in/code", codeOf(ticket, code))
				statuses <- status
			}()
		}
		got := map[int]int{}
		for range tickets {
			got[<-statuses]++
		}
		if got[200] != 1 || got[403] != 3 {
			t.Errorf("the statuses are %v", got)
		}
	}
}

// A link is accepted while an authenticator app is put in force. The new session has shown a code, or began before.
func TestALinkDoesNotSkipTheSecondFactorAtTheSameTime(t *testing.T) {
	p := start(t, nil)
	for round := range 3 {
		ann := p.member(fmt.Sprint("ann", round), `"admin"`)
		b, signedOut := p.welcome(ann.id), p.browser()
		secret := b.call(200, "POST", "profile/totp", "").Secret
		_, token, _ := strings.Cut(p.operator(201, "POST", "users/"+ann.id+"/invitation", "").URL, "token=")
		var group sync.WaitGroup
		for i := range 8 { // take the slots for hashes
			group.Go(func() { signedOut.try("POST", "sign-in", signIn(fmt.Sprint("nobody", round, i), password)) })
		}
		var accepted reply
		group.Go(func() {
			accepted, _ = signedOut.try("POST", "invitations/accept", jsonOf(map[string]any{"token": token, "password": password}))
		})
		for range round { // another moment of the link's request
			b.try("GET", "profile", "")
		}
		_, confirmed := b.try("PUT", "profile/totp", `{"code": "`+p.code(secret, 0)+`"}`)
		group.Wait()
		if accepted.Session != nil && confirmed == 200 { // a new password would have ended the session that confirms
			t.Errorf("round %d: the link skips the second factor", round)
		}
	}
}

// If the organization requires a second factor, a session without one has no roles until the member has set one up.
func TestASessionHasNoRolesBeforeTheRequiredSecondFactor(t *testing.T) {
	p := start(t, nil)
	ann := p.member("ann", `"admin"`)
	b := p.welcome(ann.id)
	b.call(200, "PATCH", "organization", `{"requireTwoFactor": true}`)
	if got := b.call(200, "GET", "profile", "").Profile; !got.SecondFactorRequired || len(got.Roles) != 0 {
		t.Errorf("the profile is %+v", got)
	}
	b.call(403, "GET", "users", "")
	secret := b.call(200, "POST", "profile/totp", "").Secret
	b.call(200, "PUT", "profile/totp", `{"code": "`+p.code(secret, 0)+`"}`)
	b.call(200, "GET", "users", "")
	b.call(204, "DELETE", "profile/totp", "")
	b.call(403, "GET", "users", "")
	device := p.device()
	b.call(204, "DELETE", "profile/passkeys/"+device.register(b, "Laptop"), "")
	b.call(403, "GET", "users", "")
	id := device.register(b, "Laptop")
	b.call(200, "GET", "users", "")

	// Somebody who knows the password only cannot replace the passkey by another factor.
	alone := b.as(b.call(200, "POST", "sign-in", signIn("ann", password)))
	for _, refused := range []struct{ method, path, body string }{
		{"POST", "profile/totp", ""}, {"PUT", "profile/totp", `{"code": "123456"}`}, {"POST", "profile/passkeys/options", ""}, {"DELETE", "profile/passkeys/" + id, ""},
	} {
		if r := alone.call(403, refused.method, refused.path, refused.body); !strings.HasPrefix(r.Error, "Sign in again") {
			t.Errorf("%s %s: %s", refused.method, refused.path, r.Error)
		}
	}
	alone.call(200, "POST", "sign-in/again", `{"password": "`+password+`"}`)
	alone.call(403, "POST", "profile/totp", "")
	device.made.Counter = 1
	alone.call(200, "POST", "sign-in/again", `{"passkey": `+device.show(alone)+`}`)
	alone.call(200, "GET", "users", "")
	secret = alone.call(200, "POST", "profile/totp", "").Secret
	alone.call(200, "PUT", "profile/totp", `{"code": "`+p.code(secret, 0)+`"}`)

	// A session has roles until it ends or the last factor of its member is removed.
	device.made.Counter = 2
	by := p.browser()
	passkey := by.as(by.call(200, "POST", "sign-in/passkey", device.show(by)))
	passkey.call(204, "DELETE", "profile/passkeys/"+id, "")
	passkey.call(200, "GET", "users", "")
	passkey.call(204, "DELETE", "profile/totp", "")
	passkey.call(403, "GET", "users", "")
}

// The only admin has lost the passkey. The operator creates another admin, who removes it.
func TestAnotherAdminIsTheWayBackWithoutTheRequiredSecondFactor(t *testing.T) {
	p := start(t, nil)
	ann := p.member("ann", `"admin"`)
	b := p.welcome(ann.id)
	p.device().register(b, "Laptop")
	b.call(200, "PATCH", "organization", `{"requireTwoFactor": true}`)
	back := p.welcome(ann.id) // the link shows no second factor
	back.call(403, "GET", "users", "")
	back.call(403, "POST", "profile/totp", "")

	helper := p.operator(201, "POST", "organizations/"+ann.organization+"/users", `{"username": "helper", "email": "helper@example.com", "roles": ["admin"]}`).User.ID
	other := p.welcome(helper)
	secret := other.call(200, "POST", "profile/totp", "").Secret
	other.call(200, "PUT", "profile/totp", `{"code": "`+p.code(secret, 0)+`"}`)
	other.call(204, "DELETE", "users/"+ann.id+"/second-factors", "")
	back = p.browser()
	back = back.as(back.call(200, "POST", "sign-in", signIn("ann", password)))
	secret = back.call(200, "POST", "profile/totp", "").Secret
	back.call(200, "PUT", "profile/totp", `{"code": "`+p.code(secret, 0)+`"}`)
	back.call(204, "DELETE", "users/"+helper, "")
}

// device is a browser with an authenticator.
type device struct {
	party  virtualwebauthn.RelyingParty
	key    virtualwebauthn.Authenticator
	made   virtualwebauthn.Credential
	change func(credential map[string]any)
}

func (p *platform) device() *device {
	const whole = 77 // bytes of a public key in CBOR; the module omits the zeros at the start of a coordinate
	made := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
	for len(made.Key.AttestationData()) != whole {
		made = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
	}
	return &device{
		party: virtualwebauthn.RelyingParty{Name: "Bellbuoy", ID: "console.example.com", Origin: "http://console.example.com"},
		key:   virtualwebauthn.NewAuthenticator(), made: made,
	}
}

// create returns the body of a request that adds a passkey of the device.
func (d *device) create(b *browser, name string) string {
	b.t.Helper()
	asked := b.call(200, "POST", "profile/passkeys/options", "")
	options, err := virtualwebauthn.ParseAttestationOptions(string(asked.Options))
	if err != nil {
		b.t.Fatalf("%v: %s", err, asked.Options)
	}
	d.key.Options.UserHandle = []byte(options.UserID)
	return d.body(b, asked.Ticket, virtualwebauthn.CreateAttestationResponse(d.party, d.key, d.made, *options), map[string]any{"name": name})
}

func (d *device) body(b *browser, ticket, credential string, more map[string]any) string {
	b.t.Helper()
	var shown map[string]any
	if err := json.Unmarshal([]byte(credential), &shown); err != nil {
		b.t.Fatal(err)
	}
	if d.change != nil {
		d.change(shown)
	}
	more["ticket"], more["credential"] = ticket, shown
	return jsonOf(more)
}

func (d *device) register(b *browser, name string) (id string) {
	b.t.Helper()
	return b.call(201, "POST", "profile/passkeys", d.create(b, name)).Passkey.ID
}

// show returns the body of a request that signs in with the device's passkey.
func (d *device) show(b *browser) string {
	b.t.Helper()
	asked := b.call(200, "POST", "sign-in/passkey/options", "")
	options, err := virtualwebauthn.ParseAssertionOptions(string(asked.Options))
	if err != nil {
		b.t.Fatalf("%v: %s", err, asked.Options)
	}
	return d.body(b, asked.Ticket, virtualwebauthn.CreateAssertionResponse(d.party, d.key, d.made, *options), map[string]any{})
}

func TestAPasskeySignsInWithoutAName(t *testing.T) {
	p := start(t, nil)
	ann := p.member("ann", `"admin"`)
	b, signedOut := p.welcome(ann.id), p.browser()
	laptop := p.device()
	id := laptop.register(b, "Laptop")
	laptop.made.Counter = 1
	body := laptop.show(signedOut)
	mine := signedOut.as(signedOut.call(200, "POST", "sign-in/passkey", body))
	if got := mine.call(200, "GET", "profile", "").Profile; got.Username != "ann" || got.SecondFactors.Passkeys != 1 {
		t.Errorf("the profile is %+v", got)
	}
	if all := mine.call(200, "GET", "sessions", "").Sessions; len(all) != 2 || all[1].Method != "passkey" {
		t.Errorf("the sessions are %+v", all)
	}
	signedOut.call(403, "POST", "sign-in/passkey", body) // the challenge was used
	laptop.made.Counter = 2
	late := laptop.show(signedOut)
	p.later(5*time.Minute + time.Second)
	signedOut.call(403, "POST", "sign-in/passkey", late) // and this one has expired
	laptop.made.Counter = 1
	if r := signedOut.call(403, "POST", "sign-in/passkey", laptop.show(signedOut)); !strings.Contains(r.Error, "a copy") {
		t.Errorf("a counter that goes back: %s", r.Error)
	}
	p.later(10 * time.Minute)
	laptop.made.Counter = 3
	mine.call(403, "PATCH", "profile/passkeys/"+id, `{"name": "Desk"}`) // not recent
	mine.call(200, "POST", "sign-in/again", `{"passkey": `+laptop.show(mine)+`}`)
	if got := mine.call(200, "PATCH", "profile/passkeys/"+id, `{"name": "Desk"}`).Passkey; got.Name != "Desk" || got.ID != id {
		t.Errorf("the passkey is %+v", got)
	}
	if all := mine.call(200, "GET", "profile/passkeys", "").Passkeys; len(all) != 1 || all[0].Name != "Desk" || all[0].LastUsedAt == nil {
		t.Errorf("the passkeys are %+v", all)
	}
	mine.call(404, "PATCH", "profile/passkeys/"+uuid.NewString(), `{"name": "Desk"}`)
	mine.call(204, "DELETE", "profile/passkeys/"+id, "")
	mine.call(404, "DELETE", "profile/passkeys/"+id, "")
	b.call(403, "GET", "profile", "") // another session
	laptop.made.Counter = 4
	signedOut.call(403, "POST", "sign-in/passkey", laptop.show(signedOut))
}

func TestAWrongPasskeyIsRefused(t *testing.T) {
	p := start(t, nil)
	ann, eve := p.member("ann", `"admin"`), p.member("eve", `"admin"`)
	b, other, signedOut := p.welcome(ann.id), p.welcome(eve.id), p.browser()
	laptop := p.device()
	laptop.register(b, "Laptop")
	laptop.made.Counter = 7
	phishing := *laptop
	phishing.party.Origin = "https://console.example.com.evil.test"
	unverified := *laptop
	unverified.key.Options.UserNotVerified = true
	forged := *laptop
	forged.made.Key = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2).Key
	anonymous := *laptop
	anonymous.change = func(credential map[string]any) { delete(credential["response"].(map[string]any), "userHandle") }
	elsewhere := *laptop
	elsewhere.party.ID = "evil.test"
	for name, d := range map[string]device{"another origin": phishing, "without verification of the user": unverified, "another key": forged, "without a user": anonymous, "another party": elsewhere} {
		if r, status := signedOut.try("POST", "sign-in/passkey", d.show(signedOut)); status != 403 || r.Session != nil {
			t.Errorf("%s: %d %+v", name, status, r)
		}
	}
	for name, body := range map[string]string{
		"no ticket":     `{"ticket": "x", "credential": {}}`,
		"no credential": jsonOf(map[string]any{"ticket": signedOut.call(200, "POST", "sign-in/passkey/options", "").Ticket, "credential": map[string]any{"id": 1}}),
	} {
		if _, status := signedOut.try("POST", "sign-in/passkey", body); status != 403 {
			t.Errorf("%s: %d", name, status)
		}
	}
	other.call(403, "POST", "sign-in/again", `{"passkey": `+laptop.show(other)+`}`) // the passkey of another user
	stolen := p.device()
	other.call(403, "POST", "profile/passkeys", stolen.create(b, "Laptop")) // the ticket of another user
	twice := p.device()
	body := twice.create(b, "Phone")
	b.call(201, "POST", "profile/passkeys", body)
	b.call(403, "POST", "profile/passkeys", body)
	again := p.device()
	again.made = twice.made
	b.call(409, "POST", "profile/passkeys", again.create(b, "Phone again"))
	wrong := p.device()
	wrong.party.Origin = "https://evil.test"
	b.call(403, "POST", "profile/passkeys", wrong.create(b, "Phone"))
	lazy := p.device()
	lazy.key.Options.UserNotVerified = true
	b.call(403, "POST", "profile/passkeys", lazy.create(b, "Phone"))
	signedOut.call(200, "POST", "sign-in/passkey", laptop.show(signedOut))
	p.operator(200, "PATCH", "users/"+ann.id, `{"disabled": true}`)
	laptop.made.Counter = 8
	signedOut.call(403, "POST", "sign-in/passkey", laptop.show(signedOut))
}

func TestAMemberHasAtMost10Passkeys(t *testing.T) {
	p := start(t, nil)
	b := p.welcome(p.member("ann", `"admin"`).id)
	for i := range 10 {
		p.device().register(b, fmt.Sprint("Key ", i))
	}
	b.call(409, "POST", "profile/passkeys/options", "")
}
