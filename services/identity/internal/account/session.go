package account

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Method is the way in which a member signed in.
type Method string

const (
	ByPassword Method = "password"
	ByPasskey  Method = "passkey"
	BySignOn   Method = "signOn"
	ByLink     Method = "link" // the member set a password with a link
)

// Session is a sign-in of a user in one browser. Its token is the id and a secret, of which only the digest is stored.
type Session struct {
	ID           string     `json:"id" audit:"id"` // uuid v7
	Digest       string     `json:"digest"`
	CreatedAt    time.Time  `json:"createdAt" audit:"createdAt"`
	SignedInAt   time.Time  `json:"signedInAt"` // when the user last proved who they are
	LastUsedAt   time.Time  `json:"lastUsedAt"` // stored at most once a minute (see storeUse)
	Keep         bool       `json:"keep" audit:"keep"`
	Method       Method     `json:"method" audit:"method"`
	SecondFactor bool       `json:"secondFactor" audit:"secondFactor"` // the user has shown two factors
	IP           string     `json:"ip" audit:"ip"`                     // address of the sign-in
	UserAgent    string     `json:"userAgent" audit:"userAgent"`
	EndedAt      *time.Time `json:"endedAt"` // nil: not ended; the session may have expired
}

const (
	maxSessions = 20
	idleFor     = 12 * time.Hour // a session ends if it is not used for this time
	sessionFor  = 30 * 24 * time.Hour
	keptIdleFor = 30 * 24 * time.Hour // idleFor of a session with Keep
	keptFor     = 180 * 24 * time.Hour
	recentFor   = 10 * time.Minute
	// forgetExpired is the time after which an expired session is removed. No gateway caches a session that long.
	forgetExpired = 10 * time.Minute
	maxUserAgent  = 300 // characters that are stored
)

// ExpiresAt returns the time at which the session ends if it is not used again.
func (s Session) ExpiresAt() time.Time {
	idle, whole := idleFor, sessionFor
	if s.Keep {
		idle, whole = keptIdleFor, keptFor
	}
	idleEnd, end := s.LastUsedAt.Add(idle), s.CreatedAt.Add(whole)
	if idleEnd.Before(end) {
		return idleEnd
	}
	return end
}

// valid reports whether the session has neither ended nor expired.
func (s Session) valid(now time.Time) bool { return s.EndedAt == nil && now.Before(s.ExpiresAt()) }

// ActiveSessions returns the sessions that have neither ended nor expired, oldest first.
func (u User) ActiveSessions(now time.Time) []Session {
	return slices.DeleteFunc(slices.Clone(u.Sessions), func(s Session) bool { return !s.valid(now) })
}

// session returns the valid session with the id, or nil.
func (u *User) session(id string, now time.Time) *Session {
	for i := range u.Sessions {
		if s := &u.Sessions[i]; s.ID == id && s.valid(now) {
			return s
		}
	}
	return nil
}

// endSessions ends all sessions of the user, except the one with the id. It reports whether it has ended any.
func (u *User) endSessions(except string, now time.Time) (ended bool) {
	u.Sessions = slices.Clone(u.Sessions) // copies of the record share the list
	for i := range u.Sessions {
		if s := &u.Sessions[i]; s.EndedAt == nil && s.ID != except {
			s.EndedAt, ended = &now, true
		}
	}
	return ended
}

// Client is the browser of a member.
type Client struct{ IP, UserAgent string }

// SignIn is the result of a step of a sign-in: a session, or a ticket for the second factor.
type SignIn struct {
	Token        string // token of the session; empty: the second factor is still to be shown
	ExpiresAt    time.Time
	Keep         bool
	Browser      string   // ticket that identifies the browser at the next sign-in
	SecondFactor string   // ticket for SignInCode
	Methods      []string // the second factors that the user has
	Next         string   // path that the member requested before the sign-in
}

// proof is what a user has shown to sign in.
type proof struct {
	Method       Method
	SecondFactor bool
	Keep         bool
	Browser      string // ticket of the browser, if it is known
	Next         string
	SignedInAt   time.Time `json:"-"` // when the user has shown it; zero: now
}

// startSession starts a session for a user who has shown all factors. change may change the user in the same write, for
// example to use up a code. If change returns an error, no session starts. If the user has maxSessions sessions, the
// oldest ends.
func (a *Accounts) startSession(ctx context.Context, user string, from Client, p proof, change func(u *User, now time.Time) ([]topic.Message, error)) (SignIn, error) {
	secret := seal.Random()
	session := Session{
		ID: topic.NewID(), Digest: seal.Digest(secret), Keep: p.Keep, Method: p.Method, SecondFactor: p.SecondFactor,
		IP: from.IP, UserAgent: firstCharacters(from.UserAgent, maxUserAgent),
	}
	ctx, cancel := finish(ctx)
	defer cancel()
	var refusal error
	u, err := a.Store.Users.Update(ctx, user, func(u *User) ([]topic.Message, error) {
		refusal = nil
		if u.DeletedAt != nil || u.Disabled {
			return nil, errSignIn()
		}
		now := a.Now()
		session.CreatedAt, session.SignedInAt, session.LastUsedAt = now, now, now
		if !p.SignedInAt.IsZero() && p.SignedInAt.Before(now) {
			session.SignedInAt = p.SignedInAt
		}
		var messages []topic.Message
		if change != nil {
			if messages, refusal = change(u, now); refusal != nil {
				return nil, refusal
			}
		}
		u.addSession(session, now)
		u.LastLoginAt = &now
		shown := sessionOf(u, session)
		return append(messages, audit.Entry(as(ctx, u), "", now, nil, &shown)...), nil
	})
	switch {
	case refusal != nil:
		return SignIn{}, refusal
	case err != nil:
		return SignIn{}, fault.IfMissing(err, errSignIn())
	}
	a.voidSoon(ctx, u)
	return SignIn{
		Token: session.ID + ":" + secret, ExpiresAt: session.ExpiresAt(), Keep: p.Keep,
		Browser: a.knowBrowser(p.Browser, u.ID), Next: p.Next,
	}, nil
}

// voidSoon voids the keys and sessions of a user whose StaleSince is set. If it fails, Sweep voids them.
func (a *Accounts) voidSoon(ctx context.Context, u User) {
	if u.StaleSince == nil {
		return
	}
	if err := a.voidUser(ctx, u); err != nil {
		a.Log.WarnContext(ctx, "changed sessions are not void at the gateways yet", "user", u.ID, "error", err)
	}
}

// addSession adds a session to the user. If StaleSince is nil, ended sessions are void at the gateways, and addSession
// first removes them and the sessions that expired more than forgetExpired ago. Then it ends the oldest sessions, so that
// the user has at most maxSessions.
func (u *User) addSession(session Session, now time.Time) {
	if u.StaleSince == nil {
		u.Sessions = slices.DeleteFunc(u.Sessions, func(s Session) bool {
			return s.EndedAt != nil || now.Sub(s.ExpiresAt()) > forgetExpired
		})
	}
	active := u.ActiveSessions(now)
	if surplus := len(active) - maxSessions + 1; surplus > 0 {
		for _, s := range active[:surplus] {
			u.session(s.ID, now).EndedAt = &now
		}
		u.StaleSince = stale(u.StaleSince, now)
	}
	u.Sessions = append(u.Sessions, session)
}

// Who is the caller of an operation, as the passport names the caller. At most one of KeyID and Session is set.
type Who struct{ Organization, User, KeyID, Session string }

// errNoKey returns the error for a request that a key must not make, for example to create an admin. A person who found
// a key could otherwise become an admin who signs in, and remain one after the key is revoked.
func errNoKey() error {
	return fault.New(fault.Forbidden, "A key cannot do this. Do it in the console.")
}

// Caller returns the user that sends the request. It returns Denied if the user was deleted, the key was revoked, or the
// session has ended, after the gateway admitted the request. Every later request is denied too.
func (a *Accounts) Caller(ctx context.Context, who Who) (User, error) {
	user, err := a.Member(ctx, who.Organization, who.User)
	if fault.Is(err, fault.NotFound) {
		err = fault.Wrap(fault.Denied, err, "The caller was deleted.")
	}
	if err != nil {
		return User{}, err
	}
	if who.Session != "" && user.session(who.Session, a.Now()) != nil {
		return user, nil
	}
	if _, active := user.ActiveKey(who.KeyID); active {
		return user, nil
	}
	return User{}, fault.New(fault.Denied, "The caller's key was revoked, or the session has ended.")
}

// Recent returns the user that sends the request. If a session sends it, and the user has not signed in to the session
// within recentFor, the error is fault.ErrSignInAgain.
func (a *Accounts) Recent(ctx context.Context, who Who) (User, error) {
	user, err := a.Caller(ctx, who)
	if err == nil && who.Session != "" {
		err = a.recent(&user, who.Session)
	}
	return user, err
}

// MayHoldKeys returns an error unless the caller may create keys: the caller has signed in recently, and has shown a
// second factor if the organization requires one. A key has the roles that a session without a second factor lacks.
func (a *Accounts) MayHoldKeys(ctx context.Context, who Who) error {
	user, err := a.Recent(ctx, who)
	if err != nil {
		return err
	}
	organization, err := a.Organization(ctx, user.Organization)
	if err == nil && user.rolesIn(who.Session, organization, a.Now()) == nil {
		err = fault.New(fault.Forbidden, "Your organization requires a second factor. Set one up first.")
	}
	return err
}

// mayChangeFactors returns the caller if the caller may add and remove second factors, else an error. The caller must have
// signed in recently, and allow must return nil. The write calls allow again. allow returns fault.ErrSignInAgain if the
// session has ended, or if the organization requires a second factor, the user has one, and the session has not shown one.
// Otherwise a person who knows only the password could replace the factor.
func (a *Accounts) mayChangeFactors(ctx context.Context, who Who) (user User, allow func(*User) error, err error) {
	if user, err = a.Recent(ctx, who); err != nil {
		return User{}, nil, err
	}
	organization, err := a.Organization(ctx, user.Organization)
	if err != nil {
		return User{}, nil, err
	}
	allow = func(u *User) error {
		if who.Session != "" && u.session(who.Session, a.Now()) == nil {
			return fault.ErrSignInAgain
		}
		hasFactor := u.HasTOTP() || len(u.Passkeys) > 0 && u.admitsPassword(organization) // with single sign-on only, passkeys are not accepted
		if hasFactor && u.rolesIn(who.Session, organization, a.Now()) == nil {
			return fault.ErrSignInAgain
		}
		return nil
	}
	return user, allow, allow(&user)
}

// recent returns fault.ErrSignInAgain unless the user has signed in to the session within recentFor.
func (a *Accounts) recent(u *User, session string) error {
	now := a.Now()
	if s := u.session(session, now); s == nil || now.Sub(s.SignedInAt) > recentFor {
		return fault.ErrSignInAgain
	}
	return nil
}

// EndSession ends a session of the caller, for example that of the request.
func (a *Accounts) EndSession(ctx context.Context, who Who, id string) error {
	if _, err := a.Caller(ctx, who); err != nil {
		return err
	}
	_, err := a.changeUser(ctx, who.User, func(u *User, now time.Time) ([]topic.Message, error) {
		i := slices.IndexFunc(u.Sessions, func(s Session) bool { return s.ID == id })
		switch {
		case i < 0 || u.Sessions[i].EndedAt == nil && !u.Sessions[i].valid(now):
			return nil, noSession()
		case u.Sessions[i].EndedAt == nil:
			shown := sessionOf(u, u.Sessions[i])
			u.Sessions[i].EndedAt = &now
			return audit.Entry(audit.From(ctx), "", now, &shown, nil), nil
		case u.StaleSince == nil:
			return nil, noSession() // an earlier end is confirmed already
		}
		return nil, nil
	})
	return err
}

// EndOtherSessions ends all sessions of the caller except that of the request.
func (a *Accounts) EndOtherSessions(ctx context.Context, who Who) error {
	if _, err := a.Caller(ctx, who); err != nil {
		return err
	}
	_, err := a.changeUser(ctx, who.User, func(u *User, now time.Time) ([]topic.Message, error) {
		before := *u
		if !u.endSessions(who.Session, now) {
			return nil, nil
		}
		return audit.Entry(audit.From(ctx), actionSessionsEnd, now, &before, u), nil
	})
	return err
}

func noSession() error { return fault.New(fault.NotFound, "There is no such session.") }

// userSession is a session as audit entries show it.
type userSession struct {
	Session
	UserID       string `audit:"userId"`
	Username     string
	Organization string
}

func sessionOf(u *User, s Session) userSession {
	return userSession{s, u.ID, u.Username, u.Organization}
}

// AuditEntity implements audit.Record.
func (s userSession) AuditEntity() audit.Entity {
	return audit.Entity{Organization: s.Organization, Type: "session", ID: s.ID, Name: s.Username}
}

// as returns the origin of the request with the user as the actor, because a request to sign in has no actor.
func as(ctx context.Context, u *User) audit.Origin { return audit.From(withUser(ctx, u)) }

// withUser returns the context in which the user is the actor.
func withUser(ctx context.Context, u *User) context.Context {
	return audit.WithUser(ctx, u.ID, u.Email)
}

// firstCharacters returns the beginning of the text: at most as many characters as the parameter most.
func firstCharacters(text string, most int) string {
	for at := range text {
		if most == 0 {
			return text[:at]
		}
		most--
	}
	return text
}
