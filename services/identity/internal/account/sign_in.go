package account

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Tries limits failures to sign in, mails for forgotten passwords, and audit entries of refusals. A method whose name ends
// with Wait counts nothing, and one whose name ends with WasRight removes a try from the count. All others count a try. The
// result is 0, or the time until the next try is allowed. quota.Counter implements Tries.
type Tries interface {
	SignInWait(ctx context.Context, ip, name string) (wait time.Duration)
	SignIn(ctx context.Context, ip, name string) (wait time.Duration)
	SignInWasRight(ctx context.Context, ip, name string)
	KnownBrowserWait(ctx context.Context, browser, user string) (wait time.Duration)
	KnownBrowser(ctx context.Context, browser, user string) (wait time.Duration)
	KnownBrowserWasRight(ctx context.Context, browser, user string)
	SecondFactor(ctx context.Context, signIn string) (wait time.Duration)
	Again(ctx context.Context, user string) (wait time.Duration)
	AgainWasRight(ctx context.Context, user string)
	LinkTo(ctx context.Context, name string) (wait time.Duration)
	MailFrom(ctx context.Context, ip string) (wait time.Duration)
	Refusal(ctx context.Context, ip, user string) (wait time.Duration)
}

// errSignIn returns the error for a wrong name and for a wrong password. It does not reveal which users exist.
func errSignIn() error { return fault.New(fault.Forbidden, "The name or the password is wrong.") }

// errSignOnOnly returns the error for a passkey of a user who may not use it.
func errSignOnOnly() error {
	return fault.New(fault.Forbidden, "Your organization signs in by its single sign-on only.")
}

func errCode() error { return fault.New(fault.Forbidden, "The code is wrong.") }

// errSignInEnded returns the error for a ticket that is wrong, used or expired.
func errSignInEnded() error {
	return fault.New(fault.Forbidden, "This sign-in has ended. Start again.")
}

// The purposes and the lifetimes of the tickets for a second factor and for a browser.
const (
	ticketSecondFactor = "second factor"
	ticketBrowser      = "browser"

	secondFactorFor = 10 * time.Minute
	browserFor      = 180 * 24 * time.Hour
)

// ticket is the content of a sealed ticket.
type ticket struct {
	Until   time.Time       `json:"until"`
	Content json.RawMessage `json:"content"`
}

// issue returns a sealed ticket with the content, which is valid for the duration life. Only openTicket with the same
// purpose can read it.
func (a *Accounts) issue(purpose string, content any, life time.Duration) string {
	text, err := json.Marshal(content)
	if err == nil {
		text, err = json.Marshal(ticket{a.Now().Add(life), text})
	}
	if err != nil {
		panic(err) // cannot happen: every content can be encoded
	}
	return seal.NewBox(a.Secret, "identity/"+purpose).Seal(string(text), purpose)
}

// openTicket reads the content of a ticket. It returns false if the ticket has expired or is not from issue.
func (a *Accounts) openTicket(purpose, text string, content any) bool {
	plain, err := seal.NewBox(a.Secret, "identity/"+purpose).Open(text, purpose)
	var t ticket
	return err == nil && json.Unmarshal([]byte(plain), &t) == nil && a.Now().Before(t.Until) && json.Unmarshal(t.Content, content) == nil
}

// browser is the content of the ticket of a browser in which users have signed in.
type browser struct {
	ID    string   `json:"id"`
	Users []string `json:"users"` // newest first
}

// maxUsersOfBrowser is the maximum number of users in the ticket of a browser.
const maxUsersOfBrowser = 5

// knowBrowser returns a new ticket of a browser in which the user has signed in. known is the former ticket, if any.
func (a *Accounts) knowBrowser(known, user string) string {
	var b browser
	if !a.openTicket(ticketBrowser, known, &b) {
		b = browser{ID: topic.NewID()}
	}
	b.Users = append([]string{user}, slices.DeleteFunc(b.Users, func(u string) bool { return u == user })...)
	b.Users = b.Users[:min(len(b.Users), maxUsersOfBrowser)]
	return a.issue(ticketBrowser, b, browserFor)
}

// try has the limits of a try to sign in.
type try struct {
	wait, count func() time.Duration
	wasRight    func() // removes the try from the count, because only failures are limited
}

// try returns the limits for a client that tries to sign in as the user with the name. A browser in which the user has
// signed in before has a count of its own, so that strangers cannot prevent the user from signing in there.
func (a *Accounts) try(ctx context.Context, from Client, name, user, ticket string) try {
	var b browser
	if user != "" && a.openTicket(ticketBrowser, ticket, &b) && slices.Contains(b.Users, user) {
		return try{
			wait:     func() time.Duration { return a.Tries.KnownBrowserWait(ctx, b.ID, user) },
			count:    func() time.Duration { return a.Tries.KnownBrowser(ctx, b.ID, user) },
			wasRight: func() { a.Tries.KnownBrowserWasRight(ctx, b.ID, user) },
		}
	}
	return try{
		wait:     func() time.Duration { return a.Tries.SignInWait(ctx, from.IP, name) },
		count:    func() time.Duration { return a.Tries.SignIn(ctx, from.IP, name) },
		wasRight: func() { a.Tries.SignInWasRight(ctx, from.IP, name) },
	}
}

// again returns the limits for a signed-in user who proves the password again.
func (a *Accounts) again(ctx context.Context, user string) try {
	return try{
		wait:     func() time.Duration { return 0 },
		count:    func() time.Duration { return a.Tries.Again(ctx, user) },
		wasRight: func() { a.Tries.AgainWasRight(ctx, user) },
	}
}

// check reports whether the password of the user is right. If the limit is reached, it returns fault.Throttled. A right
// password is not counted. The try is counted while the hash has its slot, not while the request waits for a slot, so that
// many members at one address can sign in at once.
func (a *Accounts) check(ctx context.Context, t try, hash, password string) (right bool, err error) {
	if wait := t.wait(); wait > 0 {
		return false, fault.Throttled{Wait: wait}
	}
	var wait time.Duration
	err = a.hasher.run(ctx, func() {
		if wait = t.count(); wait == 0 {
			right = a.hasher.isRight(hash, password)
		}
		if right {
			t.wasRight()
		}
	})
	if wait > 0 {
		return false, fault.Throttled{Wait: wait}
	}
	return right, err
}

// PasswordSignIn is the input of SignIn. Username may also be a mail address, see named.
type PasswordSignIn struct {
	Username, Password string
	Keep               bool
	Browser            string
}

// SignIn checks a name and a password. It starts a session, or returns a ticket for the second factor.
func (a *Accounts) SignIn(ctx context.Context, in PasswordSignIn, from Client) (result SignIn, err error) {
	at := &attempt{method: ByPassword, from: from}
	defer func() { a.observe(ctx, at, err) }() // runs after leave, so observe occupies no place
	leave, err := a.hasher.enter()
	if err != nil {
		return SignIn{}, err
	}
	defer leave()
	user, err := a.named(ctx, in.Username)
	if err != nil {
		return SignIn{}, err
	}
	at.user = user.ID
	allowed, err := a.mayUsePassword(ctx, user)
	if err != nil {
		return SignIn{}, err
	}
	switch {
	case user.ID == "":
		at.reason = "unknown or disabled"
	case !allowed:
		at.reason, user.Password = "no password, or not allowed to use it", ""
	default:
		at.reason = "wrong password"
	}
	right, err := a.check(ctx, a.try(ctx, from, in.Username, user.ID, in.Browser), user.Password, in.Password)
	if err != nil {
		return SignIn{}, err
	}
	if !right {
		return SignIn{}, errSignIn()
	}
	at.reason = ""
	p := proof{Method: ByPassword, Keep: in.Keep, Browser: in.Browser}
	if user.HasTOTP() {
		return a.askSecondFactor(user, in.Username, p), nil
	}
	return a.startSession(ctx, user.ID, from, p, func(u *User, _ time.Time) ([]topic.Message, error) {
		if u.Password != user.Password || u.HasTOTP() {
			return nil, errSignInEnded()
		}
		return nil, nil
	})
}

// signInStep is the content of the ticket between the first and the second factor.
type signInStep struct {
	ID       string `json:"id"`
	User     string `json:"user"`
	Name     string `json:"name"`     // name that the member typed; the user name after a link or a single sign-on
	Password string `json:"password"` // digest of the password's hash: a new password ends the sign-in
	Proof    proof  `json:"proof"`
}

func (a *Accounts) askSecondFactor(u User, name string, p proof) SignIn {
	methods := []string{"totp"}
	if len(u.RecoveryCodes) > 0 {
		methods = append(methods, "recoveryCode")
	}
	step := signInStep{ID: topic.NewID(), User: u.ID, Name: name, Password: seal.Digest(u.Password), Proof: p}
	return SignIn{SecondFactor: a.issue(ticketSecondFactor, step, secondFactorFor), Methods: methods, Next: p.Next}
}

// SignInCode checks the code of the second factor, and starts the session. Five wrong codes end the sign-in.
func (a *Accounts) SignInCode(ctx context.Context, ticket, code, browser string, from Client) (in SignIn, err error) {
	at := &attempt{method: byCode, from: from}
	defer func() { a.observe(ctx, at, err) }()
	var step signInStep
	if !a.openTicket(ticketSecondFactor, ticket, &step) {
		return SignIn{}, errSignInEnded()
	}
	at.user = step.User
	t := a.try(ctx, from, step.Name, step.User, browser)
	if wait := t.count(); wait > 0 {
		return SignIn{}, fault.Throttled{Wait: wait}
	}
	if a.Tries.SecondFactor(ctx, step.ID) > 0 {
		t.wasRight()
		at.reason, at.record = "too many wrong codes", true
		return SignIn{}, errSignInEnded()
	}
	user, err := a.User(ctx, step.User)
	if err != nil {
		return SignIn{}, fault.IfMissing(err, errSignInEnded())
	}
	organization, err := a.Organization(ctx, user.Organization)
	if err != nil {
		return SignIn{}, fault.IfMissing(err, errSignInEnded())
	}
	p := step.Proof
	p.SecondFactor = true
	if browser != "" {
		p.Browser = browser
	}
	in, err = a.startSession(ctx, step.User, from, p, func(u *User, now time.Time) ([]topic.Message, error) {
		if seal.Digest(u.Password) != step.Password || p.Method != BySignOn && !u.admitsPassword(organization) {
			return nil, errSignInEnded()
		}
		return nil, a.useCode(u, code, now)
	})
	if err == nil {
		t.wasRight()
	}
	return in, err
}

// Evidence is what a signed-in member shows to sign in again.
type Evidence struct {
	Password string
	Code     string
	Passkey  *PasskeyProof // instead of the password and the code
}

// SignInAgain checks a passkey of the caller, or the password and, if the caller has an authenticator app, a code. Then
// it sets the SignedInAt of the session to now.
func (a *Accounts) SignInAgain(ctx context.Context, who Who, e Evidence, from Client) (session Session, err error) {
	at := &attempt{method: byAgain, from: from, user: who.User}
	defer func() { a.observe(ctx, at, err) }()
	user, err := a.Caller(ctx, who)
	if err != nil {
		return Session{}, err
	}
	if e.Passkey != nil {
		owner, use, err := a.checkPasskey(ctx, *e.Passkey)
		if err != nil {
			return Session{}, err
		}
		organization, err := a.Organization(ctx, user.Organization)
		switch {
		case err != nil:
			return Session{}, err
		case owner.ID != user.ID:
			return Session{}, fault.New(fault.Forbidden, "This is the passkey of another user.")
		case !user.admitsPassword(organization):
			return Session{}, errSignOnOnly()
		}
		return a.signedInAgain(ctx, who, func(u *User, s *Session, now time.Time) error {
			s.SecondFactor = true
			return use(u, now)
		})
	}
	allowed, err := a.mayUsePassword(ctx, user)
	if err != nil {
		return Session{}, err
	}
	if !allowed {
		user.Password = ""
	}
	again := a.again(ctx, user.ID)
	right, err := a.check(ctx, again, user.Password, e.Password)
	if err != nil {
		return Session{}, err
	}
	if !right {
		return Session{}, fault.New(fault.Forbidden, "The password is wrong.")
	}
	if wait := again.count(); wait > 0 { // a wrong code stays counted
		return Session{}, fault.Throttled{Wait: wait}
	}
	session, err = a.signedInAgain(ctx, who, func(u *User, s *Session, now time.Time) error {
		if u.Password != user.Password {
			return errSignInEnded()
		}
		if !u.HasTOTP() {
			return nil
		}
		s.SecondFactor = true
		return a.useCode(u, e.Code, now)
	})
	if err == nil {
		again.wasRight()
	}
	return session, err
}

// signedInAgain sets the SignedInAt of the caller's session to now. check may change the user and the session in the
// same write. If check returns an error, nothing is stored.
func (a *Accounts) signedInAgain(ctx context.Context, who Who, check func(u *User, s *Session, now time.Time) error) (session Session, err error) {
	ctx, cancel := finish(ctx)
	defer cancel()
	user, err := a.Store.Users.Change(ctx, who.User, func(u *User) error {
		now := a.Now()
		s := u.session(who.Session, now)
		if s == nil {
			return fault.New(fault.Denied, "The session has ended.")
		}
		had := s.SecondFactor
		if err := check(u, s, now); err != nil {
			return err
		}
		if s.SignedInAt = now; s.SecondFactor != had { // the session may have roles from now on
			u.StaleSince = stale(u.StaleSince, now)
		}
		session = *s
		return nil
	})
	if err == nil {
		a.voidSoon(ctx, user)
	}
	return session, fault.IfMissing(err, noUser())
}
