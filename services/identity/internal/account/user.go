package account

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// User is a member of an organization, with all keys and sessions of the member.
type User struct {
	ID           string `json:"id" audit:"id"`             // uuid v7
	LegacyID     int64  `json:"legacyId" audit:"legacyId"` // integer id of the legacy interface
	Organization string `json:"organization"`
	Username     string `json:"username" audit:"username"` // unique in the installation, immutable, case-sensitive
	Email        string `json:"email" audit:"email"`
	// OwnEmail: the user has set Email, and has not yet proven it. So it does not identify the user.
	OwnEmail bool `json:"ownEmail"`
	// ProvenEmail is the last address, in lower case, that is known to be the user's: the operator has created the user with
	// it, or the user has used a link that was only in a mail to the address. A link that was shown proves nothing. An address
	// that an admin entered is not proven, because an admin of any organization can enter any address.
	ProvenEmail string     `json:"provenEmail"`
	FirstName   string     `json:"firstName" audit:"firstName"`
	LastName    string     `json:"lastName" audit:"lastName"`
	Roles       []Role     `json:"roles" audit:"roles"`
	Disabled    bool       `json:"disabled" audit:"disabled"`
	CreatedAt   time.Time  `json:"createdAt" audit:"createdAt"`
	LastLoginAt *time.Time `json:"lastLoginAt"` // last sign-in, or last stored use of the legacy key (see storeUse)
	Keys        []Key      `json:"keys"`        // App keys, oldest first
	LegacyKey   *Key       `json:"legacyKey"`
	// Version is 1 for a new user. Changes of the user's data, rights, password and second factors raise it. Keys and
	// sessions do not change it.
	Version int64 `json:"version"`

	Password      string     `json:"password"` // argon2id hash (seal.HashPassword); empty: the user has no password
	PasswordSetAt *time.Time `json:"passwordSetAt" audit:"passwordSetAt"`
	// PasswordAuth is the decision of an admin or the operator whether the user may sign in with a password or a passkey.
	// nil: the user may, unless the organization enforces single sign-on.
	PasswordAuth  *bool         `json:"passwordAuth" audit:"allowPasswordAuth"`
	TOTP          *TOTP         `json:"totp" audit:"totp"`
	RecoveryCodes []string      `json:"recoveryCodes"` // digests of the codes that are not used
	Passkeys      []Passkey     `json:"passkeys" audit:"passkeys,changed"`
	Subject       string        `json:"subject" audit:"subject,null"` // issuer, a space and the claim sub of the last sign-on; empty: none
	Sessions      []Session     `json:"sessions"`                     // oldest first, also ended ones that may not be void at the gateways
	Links         []Link        `json:"links"`                        // links to set a password
	UsedTickets   []UsedTicket  `json:"usedTickets"`                  // tickets that must not be used again
	FormerEmails  []FormerEmail `json:"formerEmails"`                 // former addresses to which the mail about a new address is also sent
	Preferences   Preferences   `json:"preferences" audit:"preferences"`

	DeletedAt *time.Time `json:"deletedAt"` // nil: not deleted; otherwise the record is to be removed
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

// AddUser creates a user without keys for the operator. The address that the operator enters counts as proven.
func (a *Accounts) AddUser(ctx context.Context, organization string, in NewUser) (User, error) {
	return a.addUser(ctx, organization, in, func(u *User) []topic.Message { u.ProvenEmail = Address(u.Email); return nil })
}

// addUser creates a user. prepare completes the record and returns messages of the write.
func (a *Accounts) addUser(ctx context.Context, organization string, in NewUser, prepare func(*User) []topic.Message) (User, error) {
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
		Roles: roles, CreatedAt: a.Now(), Version: 1,
	}
	mails := prepare(&user)
	if audit.From(ctx).Actor.Type == "" { // the user becomes a member by single sign-on
		ctx = withUser(ctx, &user)
	}
	messages := append(audit.Entry(audit.From(ctx), "", user.CreatedAt, nil, &user), mails...)
	if err := a.Store.Users.Insert(ctx, user, messages...); err != nil {
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
	total, err := a.Store.Users.Count(ctx, find.Query{Where: q.Where, Scan: q.Scan})
	return page.Items, total, err
}

// UserPatch is the input of ChangeUser and ChangeMember.
type UserPatch struct {
	FirstName    optional.Value[string]
	LastName     optional.Value[string]
	Email        optional.Value[string]
	Roles        optional.Value[[]Role]
	Disabled     optional.Value[bool]
	PasswordAuth optional.Value[bool]
}

// check returns an error if a value of the patch is not allowed. It puts the roles in order.
func (p *UserPatch) check() (err error) {
	for _, line := range []struct {
		field string
		value optional.Value[string]
	}{{FieldFirstName, p.FirstName}, {FieldLastName, p.LastName}} {
		if err := checkLine(line.field, line.value.Value, false, maxPersonName); err != nil {
			return err
		}
	}
	if p.Email.Sent {
		if err := checkEmail(p.Email.Value); err != nil {
			return err
		}
	}
	if p.Roles.Sent {
		p.Roles.Value, err = checkRoles(p.Roles.Value)
	}
	return err
}

func (p UserPatch) sent() bool {
	return p.FirstName.Sent || p.LastName.Sent || p.Email.Sent || p.Roles.Sent || p.Disabled.Sent || p.PasswordAuth.Sent
}

func (p UserPatch) apply(u *User) {
	optional.Assign(&u.FirstName, p.FirstName.Pointer())
	optional.Assign(&u.LastName, p.LastName.Pointer())
	optional.Assign(&u.Email, p.Email.Pointer())
	optional.Assign(&u.Disabled, p.Disabled.Pointer())
	if p.Roles.Sent {
		u.Roles = slices.Clone(p.Roles.Value)
	}
	if p.PasswordAuth.Sent {
		u.PasswordAuth = p.PasswordAuth.Pointer()
	}
}

func (u User) isAdmin() bool { return !u.Disabled && u.has(Admin) }

func (u User) has(r Role) bool { return slices.Contains(u.Roles, r) }

// ChangeUser changes a user. The change takes effect for the user's next request. The sessions of a disabled user end.
func (a *Accounts) ChangeUser(ctx context.Context, id string, p UserPatch) (User, error) {
	return a.patchUser(ctx, id, p, func(User) error { return nil })
}

// patchUser is ChangeUser, but changes nothing if allow returns an error for the stored user.
func (a *Accounts) patchUser(ctx context.Context, id string, p UserPatch, allow func(User) error) (User, error) {
	if !p.sent() {
		return User{}, fault.New(fault.Invalid, "Send at least one field to change.")
	}
	if err := p.check(); err != nil {
		return User{}, err
	}
	return a.changeUser(ctx, id, func(u *User, now time.Time) ([]topic.Message, error) {
		if u.DeletedAt != nil {
			return nil, noUser()
		}
		if err := allow(*u); err != nil {
			return nil, err
		}
		before := *u
		p.apply(u)
		u.OwnEmail = u.OwnEmail && Address(before.Email) == Address(u.Email)
		messages := edited(ctx, now, &before, u)
		if before.Email != u.Email {
			u.Links = nil // they were sent to the former address
			messages = append(messages, mailNewAddress(u, before.Email, now)...)
		}
		if u.Disabled {
			u.endSessions("", now)
		}
		return messages, nil
	})
}

// DeleteUser deletes a user. Gateways refuse the user's keys from the next request on.
func (a *Accounts) DeleteUser(ctx context.Context, id string) error {
	return a.deleteUser(ctx, id, func(User) error { return nil })
}

// deleteUser is DeleteUser, but deletes nothing if allow returns an error for the stored user.
func (a *Accounts) deleteUser(ctx context.Context, id string, allow func(User) error) error {
	ctx, cancel := finish(ctx)
	defer cancel()
	_, err := a.changeUser(ctx, id, func(u *User, now time.Time) ([]topic.Message, error) {
		if u.DeletedAt != nil {
			return nil, nil
		}
		if err := allow(*u); err != nil {
			return nil, err
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
	return fault.UnlessMissing(a.Store.Users.Delete(ctx, id, func(u *User) ([]topic.Message, error) {
		if u.StaleSince != nil {
			return nil, fault.ErrUnchanged
		}
		return nil, nil
	}))
}

// Second returns the time in whole seconds, as FieldCreatedAt and FieldLastLoginAt store it, or nil for nil.
func Second(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	whole := t.Truncate(time.Second)
	return &whole
}
