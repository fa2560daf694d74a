package account

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/timing"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// LinkKind is the reason for a link.
type LinkKind string

const (
	Invitation LinkKind = "invitation" // an admin or the operator invited the user
	Forgotten  LinkKind = "password"   // the user has forgotten the password
)

// Link allows its owner to set a password once. Its token is computed from the id and the secret of the platform, so no
// token is stored.
type Link struct {
	ID        string    `json:"id"` // uuid v7
	Kind      LinkKind  `json:"kind"`
	ExpiresAt time.Time `json:"expiresAt"`
	// Mailed: the link is only in a mail to the user, and never shown. So its use proves the address.
	Mailed bool `json:"mailed"`
}

const (
	invitationFor = 72 * time.Hour
	forgottenFor  = time.Hour
	maxForgotten  = 3 // links for a forgotten password that a user can have at a time
)

// addLink adds a link for a mail to the user, and removes the expired links. A new invitation replaces the former one, and
// has two links: mailed for the mail, and shown for the member or operator who invites. Of the links for a forgotten
// password, only the newest maxForgotten remain, and shown is empty.
func (u *User) addLink(kind LinkKind, now time.Time) (mailed, shown Link) {
	mailed = Link{ID: topic.NewID(), Kind: kind, ExpiresAt: now.Add(forgottenFor), Mailed: true}
	if kind == Invitation {
		mailed.ExpiresAt = now.Add(invitationFor)
		shown = Link{ID: topic.NewID(), Kind: kind, ExpiresAt: mailed.ExpiresAt}
	}
	same := 0
	for _, l := range u.Links {
		if l.Kind == kind {
			same++
		}
	}
	u.Links = append(slices.DeleteFunc(slices.Clone(u.Links), func(l Link) bool {
		replaced := l.Kind == kind && (kind == Invitation || same >= maxForgotten)
		if replaced {
			same--
		}
		return replaced || !now.Before(l.ExpiresAt)
	}), mailed)
	if kind == Invitation {
		u.Links = append(u.Links, shown)
	}
	return mailed, shown
}

func (u *User) link(id string, now time.Time) *Link {
	i := slices.IndexFunc(u.Links, func(l Link) bool { return l.ID == id && now.Before(l.ExpiresAt) })
	if i < 0 {
		return nil
	}
	return &u.Links[i]
}

// Invited reports whether the user has an invitation that is still valid, and no password.
func (u User) Invited(now time.Time) bool {
	return u.Password == "" && slices.ContainsFunc(u.Links, func(l Link) bool { return l.Kind == Invitation && now.Before(l.ExpiresAt) })
}

// LinkURL returns the address of a link of the user.
func (a *Accounts) LinkURL(user string, l Link) string {
	page := "/console/welcome"
	if l.Kind == Forgotten {
		page = "/console/forgotten"
	}
	return strings.TrimSuffix(a.ConsoleBaseURL, "/") + page + "?token=" + a.linkToken(user, l.ID)
}

func (a *Accounts) linkToken(user, link string) string {
	u, _ := uuid.Parse(user) // ids are always valid UUIDs
	l, _ := uuid.Parse(link)
	content := base64.RawURLEncoding.EncodeToString(append(u[:], l[:]...))
	return content + "." + seal.Sign(a.Secret, "link of a member", content)
}

// openLink returns the user and the link of a token, or fault.NotFound if the link is not valid or the user is disabled.
func (a *Accounts) openLink(ctx context.Context, token string) (User, Link, error) {
	content, signature, _ := strings.Cut(token, ".")
	ids, err := base64.RawURLEncoding.Strict().DecodeString(content)
	if err != nil || len(ids) != 32 || !hmac.Equal([]byte(signature), []byte(seal.Sign(a.Secret, "link of a member", content))) {
		return User{}, Link{}, noLink()
	}
	user, err := a.User(ctx, uuid.UUID(ids[:16]).String())
	if err != nil {
		return User{}, Link{}, fault.IfMissing(err, noLink())
	}
	link := user.link(uuid.UUID(ids[16:]).String(), a.Now())
	if link == nil || user.Disabled {
		return User{}, Link{}, noLink()
	}
	return user, *link, nil
}

func noLink() error {
	return fault.New(fault.NotFound, "This link was used, has expired, or was replaced by a newer one.")
}

// Opened is a link with its user and the user's organization.
type Opened struct {
	Link         Link
	User         User
	Organization Organization
}

// ReadLink returns the link of a token, with its user and organization. It does not use up the link.
func (a *Accounts) ReadLink(ctx context.Context, token string) (Opened, error) {
	user, link, err := a.openLink(ctx, token)
	if err != nil {
		return Opened{}, err
	}
	organization, err := a.Organization(ctx, user.Organization)
	return Opened{link, user, organization}, fault.IfMissing(err, noLink())
}

// Acceptance is the input of AcceptLink.
type Acceptance struct {
	Token, Password string
	FirstName       optional.Value[string]
	LastName        optional.Value[string]
	Keep            bool
	Browser         string
}

// AcceptLink uses up a link: it sets the password of the user, ends the user's sessions, and signs the user in. A user
// with an authenticator app gets a ticket for the second factor, because the link is no second factor.
func (a *Accounts) AcceptLink(ctx context.Context, in Acceptance, from Client) (SignIn, error) {
	opened, err := a.ReadLink(ctx, in.Token)
	if err != nil {
		return SignIn{}, err
	}
	user := opened.User
	names := UserPatch{FirstName: in.FirstName, LastName: in.LastName}
	if err := names.check(); err != nil {
		return SignIn{}, err
	}
	names.apply(&user)
	if err := checkPassword(in.Password, user, opened.Organization); err != nil {
		return SignIn{}, err
	}
	if !user.admitsPassword(opened.Organization) {
		return SignIn{}, fault.New(fault.Conflict, "Your organization signs in without passwords. Use its single sign-on.")
	}
	hash, err := a.hasher.hash(ctx, in.Password)
	if err != nil {
		return SignIn{}, err
	}
	set := func(u *User, now time.Time) ([]topic.Message, error) {
		link := u.link(opened.Link.ID, now)
		if link == nil || u.Disabled || u.DeletedAt != nil {
			return nil, noLink()
		}
		if link.Mailed { // a new address deletes the links that were mailed to the former one
			u.OwnEmail, u.ProvenEmail = false, Address(u.Email)
		}
		names.apply(u)
		u.setPassword(hash, "", now)
		u.Version++
		return mailTo(u, topic.MemberPassword, "", now), nil
	}
	p := proof{Method: ByLink, Keep: in.Keep, Browser: in.Browser}
	if !user.HasTOTP() {
		return a.startSession(ctx, user.ID, from, p, func(u *User, now time.Time) ([]topic.Message, error) {
			if u.HasTOTP() { // the app was added after the check above
				return nil, errSignInEnded()
			}
			return set(u, now)
		})
	}
	user, err = a.changeUser(ctx, user.ID, func(u *User, now time.Time) ([]topic.Message, error) {
		before := *u
		mails, err := set(u, now)
		return append(audit.Entry(as(ctx, u), "", now, &before, u), mails...), err
	})
	return a.askSecondFactor(user, user.Username, p), fault.IfMissing(err, noLink())
}

// setPassword sets the password. It ends all links, and all sessions except the one with the id.
func (u *User) setPassword(hash, except string, now time.Time) {
	u.Password, u.PasswordSetAt, u.Links = hash, &now, nil
	if u.endSessions(except, now) {
		u.StaleSince = stale(u.StaleSince, now)
	}
}

// Invite adds a link with which a user sets a password, and returns the link for the operator. It also allows the user
// to sign in with a password, in case single sign-on does not work.
func (a *Accounts) Invite(ctx context.Context, id string) (link Link, err error) {
	_, err = a.Store.Users.Update(ctx, id, func(u *User) ([]topic.Message, error) {
		if u.DeletedAt != nil {
			return nil, noUser()
		}
		now, before := a.Now(), *u
		allowed := true
		u.PasswordAuth = &allowed
		_, link = u.addLink(Invitation, now)
		u.Version++
		return audit.Entry(audit.From(ctx), actionInvite, now, &before, u), nil
	})
	return link, fault.IfMissing(err, noUser())
}

// InviteMember sends a member a new link: an invitation if the member has no password, else a link for a forgotten
// password. It returns the shown link of the invitation, or nil for a forgotten password. A key cannot invite an admin.
func (a *Accounts) InviteMember(ctx context.Context, who Who, id string) (link *Link, err error) {
	if _, err := a.Recent(ctx, who); err != nil {
		return nil, err
	}
	member, err := a.Member(ctx, who.Organization, id)
	if err != nil {
		return nil, err
	}
	organization, err := a.Organization(ctx, member.Organization)
	if err != nil {
		return nil, err
	}
	_, err = a.Store.Users.Update(ctx, id, func(u *User) ([]topic.Message, error) {
		switch {
		case u.DeletedAt != nil:
			return nil, noUser()
		case who.Session == "" && u.has(Admin):
			return nil, errNoKey()
		case u.Disabled:
			return nil, fault.New(fault.Conflict, "The member is disabled. Enable the member first.")
		case !u.admitsPassword(organization):
			return nil, fault.New(fault.Conflict, "The member signs in by single sign-on and may not have a password.")
		}
		now, before, kind, occasion := a.Now(), *u, Invitation, topic.MemberInvitation
		if u.Password != "" {
			kind, occasion = Forgotten, topic.MemberForgotten
		}
		mailed, shown := u.addLink(kind, now)
		if link = nil; kind == Invitation {
			link = &shown
		}
		u.Version++
		return append(audit.Entry(audit.From(ctx), actionInvite, now, &before, u), mailLink(u, occasion, mailed, now)...), nil
	})
	return link, fault.IfMissing(err, noUser())
}

// ForgottenPassword sends a mail with a link to the user, if there is such a user who may have a password. The result and
// its time are the same for every name.
func (a *Accounts) ForgottenPassword(ctx context.Context, name string, from Client) error {
	if wait := a.Tries.MailFrom(ctx, from.IP); wait > 0 {
		return fault.Throttled{Wait: wait}
	}
	_, err := timing.Run(ctx, func() (struct{}, error) { return struct{}{}, a.sendForgotten(ctx, name) })
	return err
}

func (a *Accounts) sendForgotten(ctx context.Context, name string) error {
	user, err := a.named(ctx, name)
	if err != nil || user.ID == "" {
		return err
	}
	if allowed, err := a.mayUsePassword(ctx, user); err != nil || !allowed {
		return err
	}
	if a.Tries.LinkTo(ctx, user.ID) > 0 {
		return nil
	}
	_, err = a.Store.Users.Update(ctx, user.ID, func(u *User) ([]topic.Message, error) {
		if u.DeletedAt != nil || u.Disabled {
			return nil, fault.ErrUnchanged
		}
		now, before := a.Now(), *u
		link, _ := u.addLink(Forgotten, now)
		return append(audit.Entry(as(ctx, u), actionForgotten, now, &before, u), mailLink(u, topic.MemberForgotten, link, now)...), nil
	})
	return fault.UnlessMissing(err)
}
