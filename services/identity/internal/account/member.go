package account

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// AddMember creates a user and sends an invitation. It returns the link to show to the caller. A key cannot add an
// admin.
func (a *Accounts) AddMember(ctx context.Context, who Who, in NewUser) (user User, link Link, err error) {
	if _, err := a.Recent(ctx, who); err != nil {
		return User{}, Link{}, err
	}
	if who.Session == "" && slices.Contains(in.Roles, Admin) {
		return User{}, Link{}, errNoKey()
	}
	if strings.Contains(in.Username, "@") { // a user with this mail address, perhaps of another organization, could not sign in with the address
		return User{}, Link{}, fault.Field(FieldUsername, "must not contain @. Members also sign in with their address")
	}
	user, err = a.addUser(ctx, who.Organization, in, func(u *User) []topic.Message {
		var mailed Link
		mailed, link = u.addLink(Invitation, u.CreatedAt)
		return mailLink(u, topic.MemberInvitation, mailed, u.CreatedAt)
	})
	return user, link, err
}

// ChangeMember changes a user of the caller's organization. read returns the change of the stored user. If the user is the
// last enabled admin and would not remain one, ChangeMember returns Conflict (see keepAdmin). A key cannot allow a password,
// change the mail address, or make or enable an admin.
func (a *Accounts) ChangeMember(ctx context.Context, who Who, id string, read func(User) (UserPatch, error)) (User, error) {
	var p UserPatch
	user, err := a.mayChange(ctx, who, id, func(u User) (err error) { p, err = read(u); return err })
	if err != nil {
		return User{}, err
	}
	allow := func(u User) error {
		changed := u
		p.apply(&changed)
		makesAdmin := changed.has(Admin) && !u.has(Admin) || changed.isAdmin() && !u.isAdmin()
		if who.Session == "" && (p.PasswordAuth.Value || changed.Email != u.Email || makesAdmin) {
			return errNoKey()
		}
		return nil
	}
	if err := allow(user); err != nil {
		return User{}, err
	}
	after := user
	p.apply(&after)
	if p.PasswordAuth.Sent && !p.PasswordAuth.Value && user.has(Admin) {
		switch o, err := a.Organization(ctx, who.Organization); {
		case err != nil:
			return User{}, err
		case o.SignOn == nil:
			return User{}, fault.New(fault.Conflict, "An admin needs a password as long as there is no single sign-on.")
		}
	}
	if user.isAdmin() && !after.isAdmin() || user.hasWayIn() && !after.hasWayIn() {
		done, err := a.keepAdmin(ctx, user, after.isAdmin())
		if err != nil {
			return User{}, err
		}
		defer done()
	}
	return a.patchUser(ctx, id, p, func(u User) error {
		if _, err := read(u); err != nil {
			return err
		}
		return allow(u)
	})
}

// DeleteMember deletes a user of the caller's organization. For the last enabled admin, it returns Conflict (see
// keepAdmin). If allow returns an error for the stored user, DeleteMember returns this error.
func (a *Accounts) DeleteMember(ctx context.Context, who Who, id string, allow func(User) error) error {
	user, err := a.mayChange(ctx, who, id, allow)
	if err != nil {
		return err
	}
	if user.isAdmin() {
		done, err := a.keepAdmin(ctx, user, false)
		if err != nil {
			return err
		}
		defer done()
	}
	return a.deleteUser(ctx, id, allow)
}

// RemoveSecondFactors removes all second factors of a user of the caller's organization, and ends the user's sessions.
func (a *Accounts) RemoveSecondFactors(ctx context.Context, who Who, id string) error {
	if _, err := a.mayChange(ctx, who, id, func(User) error { return nil }); err != nil {
		return err
	}
	_, err := a.changeUser(ctx, id, func(u *User, now time.Time) ([]topic.Message, error) {
		if u.DeletedAt != nil {
			return nil, noUser()
		}
		before := *u
		u.TOTP, u.RecoveryCodes, u.Passkeys = nil, nil, nil
		messages := edited(ctx, now, &before, u)
		if len(messages) > 0 {
			messages = append(messages, mailTo(u, topic.MemberReset, "", now)...)
		}
		u.endSessions("", now)
		return messages, nil
	})
	return err
}

// mayChange returns the user with the id, or an error if allow returns one. A session needs a recent sign-in.
func (a *Accounts) mayChange(ctx context.Context, who Who, id string, allow func(User) error) (User, error) {
	if _, err := a.Recent(ctx, who); err != nil {
		return User{}, err
	}
	user, err := a.Member(ctx, who.Organization, id)
	if err == nil {
		err = allow(user)
	}
	return user, err
}

// Leaving is a change by which an admin loses the role, the record, or the way to sign in without the provider. The entry
// expires at Until.
type Leaving struct {
	ID        string    `json:"id"`
	User      string    `json:"user"`
	KeepsRole bool      `json:"keepsRole"` // the user loses only the way to sign in without the provider
	Until     time.Time `json:"until"`
}

// leavingFor is longer than a change of a user can take.
const leavingFor = 2 * finishTimeout

// keepAdmin returns Conflict if the user is the last enabled admin of the organization, unless keepsRole is true. With
// enforced single sign-on, it also returns Conflict if the user is the last admin who can sign in without the provider.
// Otherwise it stores in the organization that the user leaves, until done is called. So if two admins demote each other
// at once, one remains: the second call of keepAdmin finds that the other admin leaves.
func (a *Accounts) keepAdmin(ctx context.Context, user User, keepsRole bool) (done func(), err error) {
	id := topic.NewID()
	_, err = a.Store.Organizations.Change(ctx, user.Organization, func(o *Organization) error {
		now := a.Now()
		o.Leaving = slices.DeleteFunc(o.Leaving, func(l Leaving) bool { return !now.Before(l.Until) })
		o.Leaving = append(o.Leaving, Leaving{id, user.ID, keepsRole, now.Add(leavingFor)})
		members, _, err := a.Members(ctx, o.ID, find.Query{})
		if err != nil {
			return err
		}
		stays := func(u User) bool {
			return u.isAdmin() && !slices.ContainsFunc(o.Leaving, func(l Leaving) bool { return l.User == u.ID && !l.KeepsRole })
		}
		switch {
		case !keepsRole && !slices.ContainsFunc(members, stays):
			return fault.New(fault.Conflict, "The organization needs an enabled admin. Make another member an admin first.")
		case user.hasWayIn() && o.SignOn != nil && o.SignOn.Enforced:
			return a.checkWayIn(ctx, o, now)
		}
		return nil
	})
	return func() {
		ctx, cancel := finish(ctx)
		defer cancel()
		_, err := a.Store.Organizations.Change(ctx, user.Organization, func(o *Organization) error {
			o.Leaving = slices.DeleteFunc(o.Leaving, func(l Leaving) bool { return l.ID == id })
			return nil
		})
		if err != nil { // the entry expires
			a.Log.WarnContext(ctx, "an admin who has left is still noted", "organization", user.Organization, "error", err)
		}
	}, err
}

// ChangeOwnOrganization changes the caller's organization. read returns the change of the stored organization. Only a
// session with a recent sign-in can change whether a second factor is required.
func (a *Accounts) ChangeOwnOrganization(ctx context.Context, who Who, read func(Organization) (OrganizationPatch, error)) (Organization, error) {
	o, err := a.Organization(ctx, who.Organization)
	if err != nil {
		return Organization{}, err
	}
	p, err := read(o)
	if err != nil {
		return Organization{}, err
	}
	refusal := errNoKey()
	if who.Session != "" {
		_, refusal = a.Recent(ctx, who)
	}
	allow := func(o Organization) error {
		if p.RequireTwoFactor.Sent && p.RequireTwoFactor.Value != o.RequireTwoFactor {
			return refusal
		}
		return nil
	}
	if err := allow(o); err != nil {
		return Organization{}, err
	}
	return a.patchOrganization(ctx, o.ID, p, func(o Organization) error {
		if _, err := read(o); err != nil {
			return err
		}
		return allow(o)
	})
}
