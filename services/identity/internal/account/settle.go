package account

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Scheme is how a key is presented.
type Scheme string

const (
	Bearer Scheme = "bearer" // App key: its id and secret
	APIKey Scheme = "apikey" // legacy key: the user's name and the secret
)

// KeyRef names a key as gateways do.
type KeyRef struct {
	Scheme Scheme
	ID     string // of the App key, or the user's name
}

// refs are all keys by which a gateway may know the user. Revoked ones are among
// them, for their revocation may be what has to be told.
func (u User) refs() []KeyRef {
	refs := make([]KeyRef, 0, len(u.Keys)+1)
	if u.LegacyKey != nil {
		refs = append(refs, KeyRef{APIKey, u.Username})
	}
	for _, key := range u.Keys {
		refs = append(refs, KeyRef{Bearer, key.ID})
	}
	return refs
}

// errNewKey: the user has got a key since its keys were voided.
var errNewKey = errors.New("the user has got a key meanwhile")

// changeUser makes a change that alters what the user's keys say, in the order the
// package comment explains. change is given the time of the change.
func (d *Directory) changeUser(ctx context.Context, id string, change func(u *User, now time.Time) error) (User, error) {
	ctx, cancel := finish(ctx)
	defer cancel()
	for {
		current, err := d.store.User(ctx, id)
		if err != nil {
			return User{}, missingUser(err)
		}
		voided, now := current.refs(), d.now()
		notVoided := d.gateways.Void(ctx, voided)
		user, err := d.store.ChangeUser(ctx, id, func(u *User) error {
			if slices.ContainsFunc(u.refs(), func(ref KeyRef) bool { return !slices.Contains(voided, ref) }) {
				return errNewKey
			}
			if err := change(u, now); err != nil {
				return err
			}
			if notVoided == nil {
				u.Unsettled = nil // the former changes are told with this one
			} else if u.Unsettled == nil {
				u.Unsettled = &now
			}
			return nil
		})
		if errors.Is(err, errNewKey) {
			continue
		}
		if err != nil {
			return User{}, missingUser(err)
		}
		return d.confirmUser(ctx, user, voided, now)
	}
}

// confirmUser voids the keys once more, after the change; where that fails it owes it.
func (d *Directory) confirmUser(ctx context.Context, user User, keys []KeyRef, changed time.Time) (User, error) {
	err := d.settleUser(ctx, user, keys)
	if err == nil {
		return user, nil
	}
	if user.Unsettled == nil {
		_, owed := d.store.ChangeUser(ctx, user.ID, func(u *User) error {
			if u.Unsettled != nil {
				return fault.ErrUnchanged
			}
			u.Unsettled = &changed
			return nil
		})
		err = errors.Join(err, owed)
	}
	return User{}, unconfirmed(err)
}

// settleUser voids keys of the user and takes the debt, if there is one, off it.
func (d *Directory) settleUser(ctx context.Context, user User, keys []KeyRef) error {
	if err := d.gateways.Void(ctx, keys); err != nil {
		return err
	}
	if user.Unsettled == nil {
		return nil
	}
	_, err := d.store.ChangeUser(ctx, user.ID, func(u *User) error {
		if u.Unsettled == nil || !u.Unsettled.Equal(*user.Unsettled) {
			return fault.ErrUnchanged // settled already, or a later change's debt
		}
		u.Unsettled = nil
		return nil
	})
	return err
}

// changeTerms makes a change that alters what the keys of all the organization's users
// say. The debt is always written with it, for users may come while it is made.
func (d *Directory) changeTerms(ctx context.Context, id string, change func(*Organization) error) (Organization, error) {
	ctx, cancel := finish(ctx)
	defer cancel()
	// Whether this succeeds or not, the debt is written and paid behind it.
	if err := d.voidOrganization(ctx, id); err != nil {
		d.log.WarnContext(ctx, "gateways cannot be told of a change beforehand", "organization", id, "error", err)
	}
	o, err := d.store.ChangeOrganization(ctx, id, func(o *Organization) error {
		now := d.now()
		o.Unsettled = &now
		return change(o)
	})
	if err != nil {
		return Organization{}, err
	}
	if err := d.settleOrganization(ctx, o); err != nil {
		return Organization{}, unconfirmed(err)
	}
	o.Unsettled = nil
	return o, nil
}

// settleOrganization voids the keys of all its users and takes the debt off it.
func (d *Directory) settleOrganization(ctx context.Context, o Organization) error {
	if err := d.voidOrganization(ctx, o.ID); err != nil {
		return err
	}
	_, err := d.store.ChangeOrganization(ctx, o.ID, func(now *Organization) error {
		if now.Unsettled == nil || !now.Unsettled.Equal(*o.Unsettled) {
			return fault.ErrUnchanged
		}
		now.Unsettled = nil
		return nil
	})
	return err
}

// voidAtOnce is how many keys of an organization are voided in one go.
const voidAtOnce = 500

func (d *Directory) voidOrganization(ctx context.Context, id string) error {
	var refs []KeyRef
	err := d.store.EachUser(ctx, find.Query{
		Where: []find.Condition{find.Eq("organization", id)}, Order: []find.Order{{Field: "legacyId"}},
	}, func(u User) error {
		refs = append(refs, u.refs()...)
		if len(refs) < voidAtOnce {
			return nil
		}
		err := d.gateways.Void(ctx, refs)
		refs = refs[:0]
		return err
	})
	if err != nil {
		return err
	}
	return d.gateways.Void(ctx, refs)
}

// unconfirmed is the answer to a change that is made but may not hold everywhere yet.
func unconfirmed(err error) error {
	return fault.Wrap(fault.Unavailable, err,
		"The change is stored, but it may take up to a minute to hold everywhere. Send it again to have it confirmed.")
}
