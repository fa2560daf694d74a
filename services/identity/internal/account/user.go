package account

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
)

// User is a member of an organization, with all the keys it calls with.
type User struct {
	ID                string     `json:"id"`       // uuid v7
	LegacyID          int64      `json:"legacyId"` // in /api/v1/user/<id>/
	Organization      string     `json:"organization"`
	Username          string     `json:"username"` // unique on the installation, immutable, case-sensitive
	Email             string     `json:"email"`
	FirstName         string     `json:"firstName"`
	LastName          string     `json:"lastName"`
	Roles             []Role     `json:"roles"`
	AllowPasswordAuth bool       `json:"allowPasswordAuth"` // false: the platform has no passwords, only keys
	Disabled          bool       `json:"disabled"`
	CreatedAt         time.Time  `json:"createdAt"`
	LastLoginAt       *time.Time `json:"lastLoginAt"` // to the minute
	Keys              []Key      `json:"keys"`        // App keys, the oldest first
	LegacyKey         *Key       `json:"legacyKey"`
	DeletedAt         *time.Time `json:"deletedAt"` // all that is left to do is to remove the record
	// Unsettled is since when gateways may hold what the keys said before; nil when they do not.
	Unsettled *time.Time `json:"unsettled"`
}

// NewUser is what it takes to make one.
type NewUser struct {
	Username  string
	Email     string
	FirstName string
	LastName  string
	Roles     []Role
}

// AddUser makes a user, without keys yet.
func (d *Directory) AddUser(ctx context.Context, organization string, in NewUser) (User, error) {
	roles, err := in.check()
	if err != nil {
		return User{}, err
	}
	if _, err := d.Organization(ctx, organization); err != nil {
		return User{}, err
	}
	legacyID, err := d.store.NextLegacyID(ctx)
	if err != nil {
		return User{}, err
	}
	user := User{
		ID: newID(), LegacyID: legacyID, Organization: organization,
		Username: in.Username, Email: in.Email, FirstName: in.FirstName, LastName: in.LastName,
		Roles: roles, CreatedAt: d.now(),
	}
	if err := d.store.AddUser(ctx, user); err != nil {
		if fault.Is(err, fault.Conflict) {
			return User{}, &fault.Error{Kind: fault.Conflict, Field: "username", Message: "is taken by another user", Err: err}
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
	if err := checkLine("firstName", in.FirstName, 0, maxPersonName); err != nil {
		return nil, err
	}
	if err := checkLine("lastName", in.LastName, 0, maxPersonName); err != nil {
		return nil, err
	}
	return checkRoles(in.Roles)
}

// User finds one.
func (d *Directory) User(ctx context.Context, id string) (User, error) {
	user, err := d.store.User(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && user.DeletedAt != nil {
		return User{}, noUser()
	}
	return user, err
}

// Member finds a user of the organization.
func (d *Directory) Member(ctx context.Context, organization, id string) (User, error) {
	user, err := d.User(ctx, id)
	if err == nil && user.Organization != organization {
		return User{}, noUser()
	}
	return user, err
}

// Members finds users of the organization, and how many there are before the
// query's Limit and Offset.
func (d *Directory) Members(ctx context.Context, organization string, q find.Query) ([]User, int64, error) {
	q.Where = append([]find.Condition{find.Eq("organization", organization)}, q.Where...)
	page, err := d.store.Users(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	if q.Limit == 0 && q.Offset == 0 {
		return page.Items, int64(len(page.Items)), nil
	}
	total, err := d.store.CountUsers(ctx, q)
	return page.Items, total, err
}

// UserPatch is a change of a user.
type UserPatch struct {
	Roles    optional.Value[[]Role]
	Disabled optional.Value[bool]
}

// ChangeUser changes a user; it holds for its next request.
func (d *Directory) ChangeUser(ctx context.Context, id string, p UserPatch) (User, error) {
	if !p.Roles.Sent && !p.Disabled.Sent {
		return User{}, fault.New(fault.Invalid, "Send at least one of roles, disabled.")
	}
	var roles []Role
	if p.Roles.Sent {
		var err error
		if roles, err = checkRoles(p.Roles.Value); err != nil {
			return User{}, err
		}
	}
	return d.changeUser(ctx, id, func(u *User, _ time.Time) error {
		if u.DeletedAt != nil {
			return noUser()
		}
		if roles != nil {
			u.Roles = slices.Clone(roles)
		}
		override(&u.Disabled, p.Disabled.Pointer())
		return nil
	})
}

// DeleteUser deletes a user; its keys stop at the next request.
func (d *Directory) DeleteUser(ctx context.Context, id string) error {
	ctx, cancel := finish(ctx)
	defer cancel()
	_, err := d.changeUser(ctx, id, func(u *User, now time.Time) error {
		if u.DeletedAt == nil { // else an earlier try did not come to its end
			u.DeletedAt = &now
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.store.RemoveUser(ctx, id); !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil // the sweep was quicker
}

// JoinedAt and SeenAt are when the user was made and last seen, to the second, which is
// what the legacy interface shows and filters by.
func (u User) JoinedAt() time.Time { return u.CreatedAt.Truncate(time.Second) }

// SeenAt is nil for a user that was never there.
func (u User) SeenAt() *time.Time {
	if u.LastLoginAt == nil {
		return nil
	}
	seen := u.LastLoginAt.Truncate(time.Second)
	return &seen
}
