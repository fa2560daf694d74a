package main_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/descope/virtualwebauthn"
)

// device is an authenticator with a passkey. It fills the forms that the script of the console fills in a browser.
type device struct {
	party virtualwebauthn.RelyingParty
	key   virtualwebauthn.Authenticator
	made  virtualwebauthn.Credential
}

func newDevice(origin string) *device {
	const whole = 77 // bytes of a public key in CBOR; the module omits the zeros at the start of a coordinate
	made := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
	for len(made.Key.AttestationData()) != whole {
		made = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
	}
	return &device{virtualwebauthn.RelyingParty{Name: "Bellbuoy", ID: "localhost", Origin: origin}, virtualwebauthn.NewAuthenticator(), made}
}

// challenge returns the ticket and the options with which the script asks for a passkey.
func (p *consoleUser) challenge(path string) (ticket, options string) {
	p.t.Helper()
	p.load(http.MethodPost, p.origin+"/console"+path, nil, http.StatusOK)
	var challenge struct {
		Ticket  string
		Options json.RawMessage
	}
	if err := json.Unmarshal([]byte(p.text), &challenge); err != nil {
		p.t.Fatalf("%v: %s", err, p.text)
	}
	return challenge.Ticket, string(challenge.Options)
}

// register returns the form that adds the passkey to the person's account.
func (d *device) register(p *consoleUser, name string) url.Values {
	p.t.Helper()
	ticket, text := p.challenge("/profile/security/passkeys/options")
	options, err := virtualwebauthn.ParseAttestationOptions(text)
	if err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	d.key.Options.UserHandle = []byte(options.UserID)
	return typed("name", name, "ticket", ticket, "credential", virtualwebauthn.CreateAttestationResponse(d.party, d.key, d.made, *options))
}

// show returns the form that signs in with the passkey.
func (d *device) show(p *consoleUser) url.Values {
	p.t.Helper()
	ticket, text := p.challenge("/sign-in/passkey/options")
	options, err := virtualwebauthn.ParseAssertionOptions(text)
	if err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	return typed("ticket", ticket, "credential", virtualwebauthn.CreateAssertionResponse(d.party, d.key, d.made, *options))
}

// A member adds a passkey in the console, signs in with it without a name, and removes it. A passkey of another origin, a
// forged one, a copy, and a challenge that was used do not sign in. (An expired challenge is tested in identity, whose
// clock a test can set.)
func TestAPasskeySignsInToTheConsole(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	ada, of := welcomed(t, p, base)
	signIn := func(form url.Values, status int) *consoleUser {
		t.Helper()
		person := newConsoleUser(t, base)
		person.open("/sign-in?next=/console/profile", http.StatusOK).fill("/sign-in/passkey", form, status)
		if status != http.StatusOK && person.signedIn() {
			t.Error("a refused passkey has a session")
		}
		return person
	}
	refused := func(form url.Values, words string) {
		t.Helper()
		signIn(form, http.StatusUnprocessableEntity).expect("/sign-in/passkey", words).open("/", http.StatusOK).expect("/sign-in")
	}
	add := func(form url.Values, status int) *consoleUser {
		t.Helper()
		return ada.open("/profile/security/passkeys/new", http.StatusOK).fill("/profile/security/passkeys/new", form, status)
	}
	const notAccepted, over = "The passkey was not accepted. Try again.", "This sign-in has ended. Start again."

	laptop := newDevice(ada.origin)
	phishing := *laptop
	phishing.party.Origin = "https://localhost.evil.test"
	add(phishing.register(ada, "Laptop"), http.StatusUnprocessableEntity).expect("/profile/security/passkeys/new", notAccepted)
	registration := laptop.register(ada, "Laptop")
	add(registration, http.StatusOK).expect("/profile/security", "Laptop")
	add(registration, http.StatusUnprocessableEntity).expect("/profile/security/passkeys/new", over)

	laptop.made.Counter = 7
	phishing.key, phishing.made.Counter = laptop.key, 7
	refused(phishing.show(newConsoleUser(t, base)), notAccepted)
	elsewhere := *laptop
	elsewhere.party.ID = "evil.test"
	refused(elsewhere.show(newConsoleUser(t, base)), notAccepted)
	forged := *laptop
	forged.made.Key = newDevice(ada.origin).made.Key
	refused(forged.show(newConsoleUser(t, base)), notAccepted)
	refused(typed("ticket", "x", "credential", "{}"), over)

	right := laptop.show(newConsoleUser(t, base))
	mine := signIn(right, http.StatusOK).expect("/profile", "Ada Admin")
	refused(right, over)
	for _, count := range []uint32{7, 6} {
		laptop.made.Counter = count
		refused(laptop.show(newConsoleUser(t, base)), "there may be a copy of it")
	}
	laptop.made.Counter = 8
	signIn(laptop.show(newConsoleUser(t, base)), http.StatusOK).expect("/profile")
	s := signOns{t: t, base: base, of: of}
	s.expectSignIns("passkey", 2)

	id := regexp.MustCompile(`/console(/profile/security/passkeys/[0-9a-f-]{36})"`).FindStringSubmatch(mine.open("/profile/security", http.StatusOK).text)
	if id == nil {
		t.Fatalf("the page has no passkey: %s", mine.words())
	}
	mine.open(id[1]+"/remove", http.StatusOK).fill(id[1]+"/remove", nil, http.StatusOK).expect("/profile/security", "removed")
	laptop.made.Counter = 9
	refused(laptop.show(newConsoleUser(t, base)), notAccepted)
	ada.open("/profile", http.StatusOK).expect("/sign-in") // the removal ended the other sessions
	s.expectSignIns("passkey", 2)
}
