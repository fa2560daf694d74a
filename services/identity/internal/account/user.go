package account

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// User is a member of an organization, with all of its keys.
type User struct {
	ID                string     `json:"id" audit:"id"`             // uuid v7
	LegacyID          int64      `json:"legacyId" audit:"legacyId"` // integer id of the legacy interface
	Organization      string     `json:"organization"`
	Username          string     `json:"username" audit:"username"` // unique in the installation, immutable, case-sensitive
	Email             string     `json:"email" audit:"email"`
	FirstName         string     `json:"firstName" audit:"firstName"`
	LastName          string     `json:"lastName" audit:"lastName"`
	Roles             []Role     `json:"roles" audit:"roles"`
	AllowPasswordAuth bool       `json:"allowPasswordAuth" audit:"allowPasswordAuth"` // always false: the platform has no passwords
	Disabled          bool       `json:"disabled" audit:"disabled"`
	CreatedAt         time.Time  `json:"createdAt" audit:"createdAt"`
	LastLoginAt       *time.Time `json:"lastLoginAt"` // to the minute
	Keys              []Key      `json:"keys"`        // App keys, oldest first
	LegacyKey         *Key       `json:"legacyKey"`
	DeletedAt         *time.Time `json:"deletedAt"` // nil: not deleted; otherwise the record is to be removed
	// StaleSince is set while gateways may still cache former rights of the keys.
	StaleSince *time.Time `json:"staleSince"`
}

// NewUser is the input of AddUser.
type NewUser struct {
	Username  string
	Email     string
	FirstName string
	LastName  string
	Roles     []Role
}

// AddUser creates a user without keys.
func (a *Accounts) AddUser(ctx context.Context, organization string, in NewUser) (User, error) {
	roles, err := in.check()
	if err != nil {
		return User{}, err
	}
	if _, err := a.Organization(ctx, organization); err != nil {
		return User{}, err
	}
	legacyID, err := a.Store.Next(ctx, "user")
	if err != nil {
		return User{}, err
	}
	user := User{
		ID: topic.NewID(), LegacyID: legacyID, Organization: organization,
		Username: in.Username, Email: in.Email, FirstName: in.FirstName, LastName: in.LastName,
		Roles: roles, CreatedAt: a.Now(),
	}
	if err := a.Store.Users.Insert(ctx, user, audit.Entry(audit.From(ctx), "", user.CreatedAt, nil, &user)...); err != nil {
		if fault.Is(err, fault.Conflict) {
			return User{}, &fault.Error{Kind: fault.Conflict, Field: FieldUsername, Message: "is taken by another user", Err: err}
		}
		return User{}, err
	}
	return user, nil
}

func (in NewUser) check() ([]Role, error) {
	if err := checkUsername(in.Username); err != nil {
		return nil, err
	}
	if err := checkEmail(in.Email); err != nil {
		return nil, err
	}
	if err := checkLine(FieldFirstName, in.FirstName, false, maxPersonName); err != nil {
		return nil, err
	}
	if err := checkLine(FieldLastName, in.LastName, false, maxPersonName); err != nil {
		return nil, err
	}
	return checkRoles(in.Roles)
}

// User returns the user with the id. It returns fault.NotFound if there is none or it is deleted.
func (a *Accounts) User(ctx context.Context, id string) (User, error) {
	user, err := a.Store.Users.Get(ctx, id)
	if err == nil && user.DeletedAt != nil {
		err = noUser()
	}
	return user, fault.IfMissing(err, noUser())
}

// Member returns the user with the id. It returns fault.NotFound if the organization has no such user.
func (a *Accounts) Member(ctx context.Context, organization, id string) (User, error) {
	user, err := a.User(ctx, id)
	if err == nil && user.Organization != organization {
		return User{}, noUser()
	}
	return user, err
}

// Members returns the users of the organization that match q, and the number of users that match q without its Limit
// and Offset.
func (a *Accounts) Members(ctx context.Context, organization string, q find.Query) ([]User, int64, error) {
	q.Where = append([]find.Condition{find.Eq(FieldOrganization, organization)}, q.Where...)
	page, err := a.Store.Users.Find(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	if q.Limit == 0 && q.Offset == 0 {
		return page.Items, int64(len(page.Items)), nil
	}
	total, err := a.Store.Users.Count(ctx, q)
	return page.Items, total, err
}

// UserPatch is the input of ChangeUser.
type UserPatch struct {
	Roles    optional.Value[[]Role]
	Disabled optional.Value[bool]
}

// ChangeUser changes a user. The change takes effect for the user's next request.
func (a *Accounts) ChangeUser(ctx context.Context, id string, p UserPatch) (User, error) {
	if !p.Roles.Sent && !p.Disabled.Sent {
		return User{}, fault.New(fault.Invalid, "Send at least one field to change.")
	}
	var roles []Role
	if p.Roles.Sent {
		var err error
		if roles, err = checkRoles(p.Roles.Value); err != nil {
			return User{}, err
		}
	}
	return a.changeUser(ctx, id, func(u *User, now time.Time) ([]topic.Message, error) {
		if u.DeletedAt != nil {
			return nil, noUser()
		}
		before := *u
		if roles != nil {
			u.Roles = slices.Clone(roles)
		}
		override(&u.Disabled, p.Disabled.Pointer())
		return changed(ctx, now, &before, u), nil
	})
}

// DeleteUser deletes a user. Gateways refuse the user's keys from the next request on.
func (a *Accounts) DeleteUser(ctx context.Context, id string) error {
	ctx, cancel := finish(ctx)
	defer cancel()
	_, err := a.changeUser(ctx, id, func(u *User, now time.Time) ([]topic.Message, error) {
		if u.DeletedAt != nil {
			return nil, nil
		}
		u.DeletedAt = &now
		return audit.Entry(audit.From(ctx), "", now, u, nil), nil
	})
	if err != nil {
		return err
	}
	return a.removeUser(ctx, id)
}

// removeUser removes the record of a deleted user. If the keys are not void at the gateways yet, because the deletion
// was repeated, it does not remove the record. The repeated deletion or Sweep removes it later.
func (a *Accounts) removeUser(ctx context.Context, id string) error {
	err := a.Store.Users.Delete(ctx, id, func(u *User) ([]topic.Message, error) {
		if u.StaleSince != nil {
			return nil, fault.ErrUnchanged
		}
		return nil, nil
	})
	if errors.Is(err, fault.ErrUnchanged) {
		return nil
	}
	return fault.UnlessMissing(err)
}

// Second returns the time without the fraction of a second, as FieldCreatedAt and FieldLastLoginAt store it.
func Second(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	whole := t.Truncate(time.Second)
	return &whole
}
