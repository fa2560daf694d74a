package account

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Passkey is a WebAuthn credential of a user.
type Passkey struct {
	ID         string     `json:"id" audit:"id"` // uuid v7
	Name       string     `json:"name" audit:"name"`
	CreatedAt  time.Time  `json:"createdAt" audit:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
	// The rest is the part of the credential record that a sign-in needs (WebAuthn, 4).
	CredentialID   []byte   `json:"credentialId"`
	PublicKey      []byte   `json:"publicKey"`
	SignCount      uint32   `json:"signCount"`
	BackupEligible bool     `json:"backupEligible"`
	BackupState    bool     `json:"backupState"`
	Transports     []string `json:"transports"`
}

const (
	maxPasskeys    = 10
	maxPasskeyName = 80
	challengeFor   = 5 * time.Minute
	ticketPasskey  = "passkey"
)

// UsedTicket is a ticket that the user has used. It is stored until the ticket has expired.
type UsedTicket struct {
	ID    string    `json:"id"`
	Until time.Time `json:"until"`
}

// useTicket uses up a ticket. It returns false if the user has used it before.
func (u *User) useTicket(id string, life time.Duration, now time.Time) bool {
	u.UsedTickets = slices.DeleteFunc(slices.Clone(u.UsedTickets), func(t UsedTicket) bool { return !now.Before(t.Until) })
	if slices.ContainsFunc(u.UsedTickets, func(t UsedTicket) bool { return t.ID == id }) {
		return false
	}
	u.UsedTickets = append(u.UsedTickets, UsedTicket{id, now.Add(life)})
	return true
}

// challenge is the content of the ticket for one creation or one use of a passkey.
type challenge struct {
	ID      string               `json:"id"`
	User    string               `json:"user"` // user of a new passkey; empty: a sign-in
	Session webauthn.SessionData `json:"session"`
}

// newParty returns the relying party at the base URL of the console.
func newParty(base string) (*webauthn.WebAuthn, error) {
	address, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	return webauthn.New(&webauthn.Config{
		RPID: address.Hostname(), RPDisplayName: "Bellbuoy", RPOrigins: []string{address.Scheme + "://" + address.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(), UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{
			Login:        webauthn.TimeoutConfig{Timeout: challengeFor},
			Registration: webauthn.TimeoutConfig{Timeout: challengeFor},
		},
	})
}

// party returns the relying party. Browsers refuse an IP address as the id of a relying party.
func (a *Accounts) party() (*webauthn.WebAuthn, error) {
	party, err := newParty(a.ConsoleBaseURL)
	if err != nil {
		return nil, fault.Wrap(fault.Conflict, err, "Passkeys need a host name in CONSOLE_BASE_URL. Browsers refuse addresses.")
	}
	return party, nil
}

// holder is a User for package webauthn.
type holder struct{ *User }

// WebAuthnID implements webauthn.User.
func (h holder) WebAuthnID() []byte {
	id := uuid.MustParse(h.ID) // ids are always valid UUIDs
	return id[:]
}

// WebAuthnName implements webauthn.User.
func (h holder) WebAuthnName() string { return h.Username }

// WebAuthnDisplayName implements webauthn.User.
func (h holder) WebAuthnDisplayName() string { return h.Username }

// WebAuthnCredentials implements webauthn.User.
func (h holder) WebAuthnCredentials() []webauthn.Credential {
	all := make([]webauthn.Credential, len(h.Passkeys))
	for i, p := range h.Passkeys {
		all[i] = webauthn.Credential{
			ID: p.CredentialID, PublicKey: p.PublicKey, Authenticator: webauthn.Authenticator{SignCount: p.SignCount},
			Flags: webauthn.CredentialFlags{UserPresent: true, UserVerified: true, BackupEligible: p.BackupEligible, BackupState: p.BackupState},
		}
		for _, transport := range p.Transports {
			all[i].Transport = append(all[i].Transport, protocol.AuthenticatorTransport(transport))
		}
	}
	return all
}

func noPasskey() error { return fault.New(fault.NotFound, "There is no such passkey.") }

// errPasskey returns the error for a passkey that is not accepted. It does not reveal which users exist.
func errPasskey(err error) error {
	if protocolError, is := err.(*protocol.Error); is && protocolError.DevInfo != "" { //nolint:errorlint // the library does not wrap its errors
		err = protocolError.WithDetails(protocolError.Details + ": " + protocolError.DevInfo)
	}
	return fault.Wrap(fault.Forbidden, err, "The passkey was not accepted. Try again.")
}

var errCopiedPasskey = fault.New(fault.Forbidden, "The passkey was not accepted, because there may be a copy of it. Use another way to sign in, and remove the passkey.")

// NewPasskeyOptions returns the options with which a browser makes a passkey for the caller, and a ticket for
// AddPasskey.
func (a *Accounts) NewPasskeyOptions(ctx context.Context, who Who) (ticket string, options any, err error) {
	user, _, err := a.mayChangeFactors(ctx, who)
	if err != nil {
		return "", nil, err
	}
	if err := a.mayAddPasskey(ctx, user); err != nil {
		return "", nil, err
	}
	party, err := a.party()
	if err != nil {
		return "", nil, err
	}
	known := webauthn.Credentials(holder{&user}.WebAuthnCredentials()).CredentialDescriptors()
	creation, session, err := party.BeginRegistration(holder{&user}, webauthn.WithExclusions(known))
	if err != nil {
		return "", nil, fault.Wrap(fault.Conflict, err, "Passkeys need a host name in CONSOLE_BASE_URL. Browsers refuse addresses.")
	}
	return a.issue(ticketPasskey, challenge{topic.NewID(), user.ID, *session}, challengeFor), creation, nil
}

// mayAddPasskey returns Conflict if the user may not have another passkey.
func (a *Accounts) mayAddPasskey(ctx context.Context, u User) error {
	if len(u.Passkeys) >= maxPasskeys {
		return fault.New(fault.Conflict, "You already have %d passkeys. Remove one first.", maxPasskeys)
	}
	o, err := a.Organization(ctx, u.Organization)
	if err == nil && !u.admitsPassword(o) {
		return fault.New(fault.Conflict, "Your organization signs in by its single sign-on only.")
	}
	return err
}

// AddPasskey stores the passkey that a browser has made for the caller.
func (a *Accounts) AddPasskey(ctx context.Context, who Who, ticket string, credential json.RawMessage, name string) (Passkey, error) {
	user, allow, err := a.mayChangeFactors(ctx, who)
	if err != nil {
		return Passkey{}, err
	}
	if err := checkLine("name", name, true, maxPasskeyName); err != nil {
		return Passkey{}, err
	}
	var c challenge
	if !a.openTicket(ticketPasskey, ticket, &c) || c.User != user.ID {
		return Passkey{}, errSignInEnded()
	}
	party, err := a.party()
	if err != nil {
		return Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(credential)
	if err != nil {
		return Passkey{}, errPasskey(err)
	}
	made, err := party.CreateCredential(holder{&user}, c.Session, parsed)
	if err != nil {
		return Passkey{}, errPasskey(err)
	}
	passkey := Passkey{
		ID: topic.NewID(), Name: name, CreatedAt: a.Now(), CredentialID: made.ID, PublicKey: made.PublicKey, SignCount: made.Authenticator.SignCount,
		BackupEligible: made.Flags.BackupEligible, BackupState: made.Flags.BackupState,
	}
	for _, transport := range made.Transport {
		passkey.Transports = append(passkey.Transports, string(transport))
	}
	_, err = a.changeUser(ctx, user.ID, func(u *User, now time.Time) ([]topic.Message, error) {
		if err := allow(u); err != nil {
			return nil, err
		}
		if err := a.mayAddPasskey(ctx, *u); err != nil {
			return nil, err
		}
		before := *u
		if !u.useTicket(c.ID, challengeFor, now) {
			return nil, errSignInEnded()
		}
		if u.passkey(passkey.CredentialID) != nil {
			return nil, fault.New(fault.Conflict, "This passkey is registered already.")
		}
		u.Passkeys = append(slices.Clone(u.Passkeys), passkey)
		u.showSecondFactor(who.Session, now)
		return append(edited(ctx, now, &before, u), mailTo(u, topic.MemberPasskeyAdded, name, now)...), nil
	})
	return passkey, err
}

// passkey returns the user's passkey with the id of its credential, or nil.
func (u *User) passkey(credential []byte) *Passkey {
	i := slices.IndexFunc(u.Passkeys, func(p Passkey) bool { return slices.Equal(p.CredentialID, credential) })
	if i < 0 {
		return nil
	}
	return &u.Passkeys[i]
}

// RenamePasskey sets the name of a passkey of the caller.
func (a *Accounts) RenamePasskey(ctx context.Context, who Who, id, name string) (passkey Passkey, err error) {
	if _, err := a.Recent(ctx, who); err != nil {
		return Passkey{}, err
	}
	if err := checkLine("name", name, true, maxPasskeyName); err != nil {
		return Passkey{}, err
	}
	_, err = a.Store.Users.Update(ctx, who.User, func(u *User) ([]topic.Message, error) {
		i := slices.IndexFunc(u.Passkeys, func(p Passkey) bool { return p.ID == id })
		if i < 0 {
			return nil, noPasskey()
		}
		before := *u
		u.Passkeys = slices.Clone(u.Passkeys)
		u.Passkeys[i].Name = name
		passkey = u.Passkeys[i]
		return edited(ctx, a.Now(), &before, u), nil
	})
	return passkey, err
}

// RemovePasskey removes a passkey of the caller, and ends the caller's other sessions.
func (a *Accounts) RemovePasskey(ctx context.Context, who Who, id string) error {
	_, allow, err := a.mayChangeFactors(ctx, who)
	if err != nil {
		return err
	}
	_, err = a.changeUser(ctx, who.User, func(u *User, now time.Time) ([]topic.Message, error) {
		if err := allow(u); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(u.Passkeys, func(p Passkey) bool { return p.ID == id })
		if i < 0 {
			return nil, noPasskey()
		}
		before := *u
		name := u.Passkeys[i].Name
		u.Passkeys = slices.Delete(slices.Clone(u.Passkeys), i, i+1)
		u.endSessions(who.Session, now)
		if s := u.session(who.Session, now); s != nil && !u.hasSecondFactor() {
			s.SecondFactor = false
		}
		return append(edited(ctx, now, &before, u), mailTo(u, topic.MemberPasskeyRemoved, name, now)...), nil
	})
	return err
}

// PasskeyOptions returns the options with which a browser uses a passkey, and a ticket for SignInPasskey or SignInAgain.
func (a *Accounts) PasskeyOptions(context.Context) (ticket string, options any, err error) {
	party, err := a.party()
	if err != nil {
		return "", nil, err
	}
	assertion, session, err := party.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return "", nil, fault.Wrap(fault.Conflict, err, "Passkeys need a host name in CONSOLE_BASE_URL. Browsers refuse addresses.")
	}
	return a.issue(ticketPasskey, challenge{ID: topic.NewID(), Session: *session}, challengeFor), assertion, nil
}

// PasskeyProof is what a browser returns for PasskeyOptions.
type PasskeyProof struct {
	Ticket     string
	Credential json.RawMessage
}

// checkPasskey returns the user whose passkey the proof shows, and a function that uses up the proof in a write.
func (a *Accounts) checkPasskey(ctx context.Context, p PasskeyProof) (user User, use func(u *User, now time.Time) error, err error) {
	var c challenge
	if !a.openTicket(ticketPasskey, p.Ticket, &c) || c.User != "" {
		return User{}, nil, errSignInEnded()
	}
	party, err := a.party()
	if err != nil {
		return User{}, nil, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(p.Credential)
	if err != nil {
		return User{}, nil, errPasskey(err)
	}
	var failed error
	_, shown, err := party.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		id, err := uuid.FromBytes(handle)
		if err != nil {
			return nil, err
		}
		if user, err = a.User(ctx, id.String()); err != nil {
			failed = fault.UnlessMissing(err)
			return nil, err
		}
		return holder{&user}, nil
	}, c.Session, parsed)
	if failed != nil {
		return User{}, nil, failed
	}
	if err != nil {
		return User{}, nil, errPasskey(err)
	}
	count := parsed.Response.AuthenticatorData.Counter
	return user, func(u *User, now time.Time) error {
		u.Passkeys = slices.Clone(u.Passkeys) // copies of the record share the list
		passkey := u.passkey(shown.ID)
		switch {
		case passkey == nil || !u.useTicket(c.ID, challengeFor, now):
			return errSignInEnded()
		case count <= passkey.SignCount && (count != 0 || passkey.SignCount != 0):
			return errCopiedPasskey
		}
		passkey.SignCount, passkey.LastUsedAt, passkey.BackupState = count, &now, shown.Flags.BackupState
		return nil
	}, nil
}

// SignInPasskey starts a session for the user whose passkey the proof shows. A passkey is two factors: the device and
// the PIN or the finger that unlocks it.
func (a *Accounts) SignInPasskey(ctx context.Context, in PasskeyProof, keep bool, browser string, from Client) (result SignIn, err error) {
	at := &attempt{method: ByPasskey, from: from}
	defer func() { a.observe(ctx, at, err) }()
	user, use, err := a.checkPasskey(ctx, in)
	if err != nil {
		return SignIn{}, err
	}
	at.user = user.ID
	o, err := a.Organization(ctx, user.Organization)
	if err != nil {
		return SignIn{}, fault.IfMissing(err, errPasskey(err))
	}
	if !user.admitsPassword(o) {
		return SignIn{}, errSignOnOnly()
	}
	p := proof{Method: ByPasskey, SecondFactor: true, Keep: keep, Browser: browser}
	return a.startSession(ctx, user.ID, from, p, func(u *User, now time.Time) ([]topic.Message, error) {
		err := use(u, now)
		at.record = errors.Is(err, errCopiedPasskey)
		return nil, err
	})
}
