package account

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// SignOnOf returns the organization with the single sign-on that has the name. Without a name, it returns the only
// organization with single sign-on. If there is none, or several without a name, it returns NotFound.
func (a *Accounts) SignOnOf(ctx context.Context, name string) (Organization, error) {
	q := find.Query{Where: []find.Condition{find.Eq(FieldSignOn, name)}, Limit: 2}
	if name == "" {
		q = find.Query{Where: []find.Condition{find.Gt(FieldSignOn, "")}, Limit: 2}
	}
	page, err := a.Store.Organizations.Find(ctx, q)
	if err != nil {
		return Organization{}, err
	}
	if len(page.Items) != 1 || page.Items[0].State != Ready || page.Items[0].SignOn == nil {
		return Organization{}, fault.New(fault.NotFound, "There is no such single sign-on.")
	}
	return page.Items[0], nil
}

// signOnStep is the content of the ticket between the start and the end of a sign-on.
type signOnStep struct {
	ID           string      `json:"id"`
	Organization string      `json:"organization"`
	Issuer       string      `json:"issuer"`
	Start        SignOnStart `json:"start"`
	Next         string      `json:"next"`
}

// StartSignOn returns the URL of the provider at which the member signs in, and a ticket for FinishSignOn. The console
// keeps the ticket in a cookie, so that only this browser can finish the sign-on. who is the caller if signed in.
func (a *Accounts) StartSignOn(ctx context.Context, who Who, name, next string) (url, ticket string, err error) {
	if name == "" {
		return "", "", fault.Field("name", "is required")
	}
	o, err := a.SignOnOf(ctx, name)
	if err != nil {
		return "", "", err
	}
	provider, err := a.provider(o)
	if err != nil {
		return "", "", err
	}
	if next != "/console" && !strings.HasPrefix(next, "/console/") || strings.ContainsAny(next, "\\\r\n") {
		next = ""
	}
	step := signOnStep{
		ID: topic.NewID(), Organization: o.ID, Issuer: o.SignOn.Issuer, Next: next,
		Start: SignOnStart{State: seal.Random(), Nonce: seal.Random(), Verifier: seal.Random(), MaxAge: sessionFor},
	}
	if who.Session != "" {
		step.Start.Again, step.Start.MaxAge = true, recentFor
	}
	if url, err = a.Issuers.Start(ctx, provider, step.Start); err != nil {
		return "", "", err
	}
	return url, a.issue(ticketSignOn, step, signOnFor), nil
}

// Callback is the request with which a provider redirects a member to the console.
type Callback struct {
	Organization string // the last part of the path, see RedirectURL
	Query        string // not decoded
}

// FinishSignOn exchanges the code in the query of the callback, and signs the member in. who is the caller if signed in.
// If the caller is the same member, the session of the caller ends.
func (a *Accounts) FinishSignOn(ctx context.Context, who Who, ticket string, back Callback, browser string, from Client) (result SignIn, err error) {
	at := &attempt{method: BySignOn, from: from}
	defer func() { a.observe(ctx, at, err) }()
	var step signOnStep
	values, err := url.ParseQuery(back.Query)
	if err != nil || !a.openTicket(ticketSignOn, ticket, &step) || values.Get("state") != step.Start.State || back.Organization != step.Organization {
		return SignIn{}, errSignInEnded()
	}
	if refusal := values.Get("error"); refusal != "" {
		return SignIn{}, fault.New(fault.Forbidden, "The sign-on provider refused the sign-in. Start again.")
	}
	if issuer := values.Get("iss"); issuer != "" && issuer != step.Issuer { // RFC 9207
		return SignIn{}, errSignInEnded()
	}
	o, err := a.Organization(ctx, step.Organization)
	if err != nil || o.SignOn == nil || o.SignOn.Issuer != step.Issuer {
		return SignIn{}, errors.Join(fault.UnlessMissing(err), errSignInEnded())
	}
	provider, err := a.provider(o)
	if err != nil {
		return SignIn{}, err
	}
	claims, err := a.Issuers.Finish(ctx, provider, step.Start, values.Get("code"))
	if err != nil {
		return SignIn{}, err
	}
	loginAt, err := a.loginAt(ctx, o, claims)
	if err != nil {
		return SignIn{}, err
	}
	return a.signOn(ctx, who, o, step, claims, proof{Method: BySignOn, Browser: browser, Next: step.Next, SignedInAt: loginAt}, from)
}

// loginAt returns the time at which the member has signed in at the provider. For a provider that has never sent this
// time, it returns the present time. The person at the browser can remove the request for the time. So if the provider
// sends no time now but has sent it before, loginAt returns a time that is not recent.
func (a *Accounts) loginAt(ctx context.Context, o Organization, claims map[string]any) (time.Time, error) {
	now := a.Now()
	seconds, sent := claims["auth_time"].(float64)
	switch {
	case !sent && o.SignOn.SendsAuthTime:
		return now.Add(-recentFor - time.Second), nil
	case !sent:
		return now, nil
	case o.SignOn.SendsAuthTime:
		return time.Unix(int64(seconds), 0).UTC(), nil
	}
	_, err := a.Store.Organizations.Change(ctx, o.ID, func(stored *Organization) error {
		if stored.SignOn == nil || stored.SignOn.Issuer != o.SignOn.Issuer || stored.SignOn.SendsAuthTime {
			return fault.ErrUnchanged
		}
		signOn := *stored.SignOn
		signOn.SendsAuthTime = true
		stored.SignOn = &signOn
		return nil
	})
	return time.Unix(int64(seconds), 0).UTC(), err
}

// signOn signs in the member whom the claims are about, or returns a ticket for the second factor.
func (a *Accounts) signOn(ctx context.Context, who Who, o Organization, step signOnStep, claims map[string]any, p proof, from Client) (SignIn, error) {
	sub, _ := claims["sub"].(string)
	subject := step.Issuer + " " + sub
	user, err := a.signOnMember(ctx, o, subject, claims)
	if err != nil {
		return SignIn{}, err
	}
	roles, done, err := a.signOnRoles(ctx, o, user, claims)
	if err != nil {
		return SignIn{}, err
	}
	defer done()
	p.SecondFactor = severalFactors(claims)
	asksCode := user.HasTOTP() && !p.SecondFactor
	change := func(u *User, now time.Time) ([]topic.Message, error) {
		if u.Subject != user.Subject && u.Subject != subject || u.Disabled || u.DeletedAt != nil || u.HasTOTP() && !asksCode && !p.SecondFactor {
			return nil, errSignInEnded()
		}
		before := *u
		if !u.useTicket(step.ID, signOnFor, now) {
			return nil, errSignInEnded()
		}
		var messages []topic.Message
		if u.Subject != subject {
			messages = mailTo(u, topic.MemberSignOn, o.SignOn.Label, now)
		}
		if u.Subject = subject; len(roles) > 0 && !slices.Equal(u.Roles, roles) {
			u.Roles = roles
			u.StaleSince = stale(u.StaleSince, now)
		}
		if s := u.session(who.Session, now); s != nil {
			u.Sessions = slices.Clone(u.Sessions)
			u.session(who.Session, now).EndedAt = &now
			u.StaleSince = stale(u.StaleSince, now)
		}
		if before.Subject != u.Subject || !slices.Equal(before.Roles, u.Roles) {
			messages = append(messages, edited(withUser(ctx, u), now, &before, u)...)
		}
		return messages, nil
	}
	if !asksCode {
		return a.startSession(ctx, user.ID, from, p, change)
	}
	user, err = a.changeUser(ctx, user.ID, change)
	return a.askSecondFactor(user, user.Username, p), err
}

// severalFactors reports whether the provider says that the member has shown several factors (RFC 8176).
func severalFactors(claims map[string]any) bool {
	methods, _ := claims["amr"].([]any)
	return slices.Contains(methods, any("mfa"))
}

// signOnMember returns the member whom the claims are about. This is the member with the subject. Without such a member, it
// is the only member with the verified address, not counting members with OwnEmail. If no member has the address, and the
// organization creates members, it is a new member. signOnMember returns Forbidden for a disabled member, for a member who
// signs in with another account of the provider, and if there is no member to return.
func (a *Accounts) signOnMember(ctx context.Context, o Organization, subject string, claims map[string]any) (User, error) {
	if known, err := a.withSubject(ctx, o, subject); err != nil || known.ID != "" {
		return known, err
	}
	email, _ := claims["email"].(string)
	switch verified := claims["email_verified"]; {
	case checkEmail(email) != nil:
		return User{}, fault.New(fault.Forbidden, "The sign-on provider does not name your mail address. Ask an admin for help.")
	case verified != true && verified != "true":
		return User{}, fault.New(fault.Forbidden, "The sign-on provider has not verified your mail address. Verify it there, and sign in again.")
	}
	same, _, err := a.Members(ctx, o.ID, find.Query{Where: []find.Condition{find.Eq(FieldAddress, Address(email))}})
	if err != nil {
		return User{}, err
	}
	all := len(same)
	same = slices.DeleteFunc(same, func(u User) bool { return u.OwnEmail })
	switch {
	case len(same) == 0 && all > 0:
		return User{}, fault.New(fault.Forbidden, "The member with your mail address has entered it without proof. Ask an admin for help.")
	case len(same) > 1:
		return User{}, fault.New(fault.Forbidden, "Several members have your mail address. Ask an admin for help.")
	case len(same) == 1 && same[0].Disabled:
		return User{}, errDisabled()
	case len(same) == 1 && same[0].Subject != subject && strings.HasPrefix(same[0].Subject, o.SignOn.Issuer+" "):
		return User{}, fault.New(fault.Forbidden, "The member with your mail address signs in with another account of the provider. Ask an admin for help.")
	case len(same) == 1:
		return same[0], nil
	case !o.SignOn.CreateMembers:
		return User{}, fault.New(fault.Forbidden, "No member has your mail address. Ask an admin to invite you.")
	}
	return a.addSignOnMember(ctx, o, subject, email, claims)
}

// withSubject returns the member with the subject, or the zero User. For a disabled member, it returns Forbidden.
func (a *Accounts) withSubject(ctx context.Context, o Organization, subject string) (User, error) {
	known, _, err := a.Members(ctx, o.ID, find.Query{Where: []find.Condition{find.Eq(FieldSubject, subject)}, Limit: 1})
	switch {
	case err != nil || len(known) == 0:
		return User{}, err
	case known[0].Disabled:
		return User{}, errDisabled()
	}
	return known[0], nil
}

func errDisabled() error {
	return fault.New(fault.Forbidden, "Your account is disabled. Ask an admin for help.")
}

// addSignOnMember creates a member from the claims. The user name is the address without its domain (see mailbox). If
// another user of the installation has this name, the name gets a suffix. If another sign-on of the same person adds the
// member at the same time, addSignOnMember returns that member.
func (a *Accounts) addSignOnMember(ctx context.Context, o Organization, subject, email string, claims map[string]any) (User, error) {
	roles := o.rolesOf(claims)
	if len(roles) == 0 {
		return User{}, errNoRole()
	}
	first, _ := claims["given_name"].(string)
	last, _ := claims["family_name"].(string)
	in := NewUser{Username: mailbox(email), Email: email, FirstName: personName(first), LastName: personName(last), Roles: roles}
	prepare := func(u *User) []topic.Message { u.Subject = subject; return nil }
	var taken error
	for _, addition := range []string{"", "-" + strings.ToLower(seal.Digest(o.ID + subject)[:6])} {
		in.Username += addition
		user, err := a.addUser(ctx, o.ID, in, prepare)
		if !fault.Is(err, fault.Conflict) {
			return user, err
		}
		if known, err := a.withSubject(ctx, o, subject); err != nil || known.ID != "" {
			return known, err
		}
		taken = err
	}
	return User{}, fault.Wrap(fault.Conflict, taken, "Your user name is taken. Ask an admin to invite you.")
}

// mailbox returns the part of the address before the last @, without @, quotation marks and the characters that
// checkUsername refuses. It returns "member" if no character is left.
func mailbox(email string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`:@"`, r) || unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, email[:strings.LastIndexByte(email, '@')])
	return cmp.Or(firstCharacters(name, maxUsername-len("-123456")), "member")
}

// personName returns the name, or "" if checkLine refuses it.
func personName(name string) string {
	if checkLine("name", name, false, maxPersonName) != nil {
		return ""
	}
	return name
}

func errNoRole() error {
	return fault.New(fault.Forbidden, "The sign-on provider gives you no role. Ask an admin for help.")
}

// rolesOf returns the roles that the claims give, or the default roles if the claims give none.
func (o Organization) rolesOf(claims map[string]any) []Role {
	var all []Role
	if o.SignOn.RolesClaim != "" {
		for _, value := range texts(ClaimOf(claims, o.SignOn.RolesClaim)) {
			all = append(all, o.SignOn.RoleMap[value]...)
		}
	}
	if len(all) == 0 {
		all = o.SignOn.DefaultRoles
	}
	return slices.DeleteFunc(roles(), func(role Role) bool { return !slices.Contains(all, role) })
}

// ClaimOf returns the claim with the name. A name with dots, such as realm_access.roles, is also the path to a claim in
// objects. If there is no such claim, the result is nil.
func ClaimOf(claims map[string]any, name string) any {
	if value, found := claims[name]; found {
		return value
	}
	first, rest, nested := strings.Cut(name, ".")
	if inner, is := claims[first].(map[string]any); nested && is {
		return ClaimOf(inner, rest)
	}
	return nil
}

// texts returns the texts of a claim that is one text or a list of texts.
func texts(claim any) []string {
	switch value := claim.(type) {
	case string:
		return []string{value}
	case []any:
		var all []string
		for _, element := range value {
			if text, is := element.(string); is {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// signOnRoles returns the roles that the sign-in gives the member, or nil if the organization has no RolesClaim, so that
// the roles do not change. The last admin remains an admin. done removes the entry that keepAdmin has stored, if any.
func (a *Accounts) signOnRoles(ctx context.Context, o Organization, u User, claims map[string]any) (given []Role, done func(), err error) {
	done = func() {}
	if o.SignOn.RolesClaim == "" {
		return nil, done, nil
	}
	if given = o.rolesOf(claims); len(given) == 0 {
		return nil, done, errNoRole()
	}
	if !u.isAdmin() || slices.Contains(given, Admin) {
		return given, done, nil
	}
	end, err := a.keepAdmin(ctx, u, false)
	switch {
	case fault.Is(err, fault.Conflict):
		return slices.DeleteFunc(roles(), func(role Role) bool { return role != Admin && !slices.Contains(given, role) }), done, nil
	case err != nil:
		return nil, done, err
	}
	return given, end, nil
}
