package account

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Scheme is the way in which a request presents a key or a session.
type Scheme string

const (
	Bearer Scheme = "bearer" // App key: its id and its secret
	APIKey Scheme = "apikey" // legacy key: the username and the secret
	// BySession is the cookie of the console: the id of the session and its secret.
	BySession Scheme = "session"
)

// KeyRef identifies a key or session as gateways do.
type KeyRef struct {
	Scheme Scheme
	ID     string // id of the App key or of the session, or the username
}

// refs returns all keys and sessions of the user. It includes revoked keys and ended sessions, because gateways may
// still cache them.
func (u User) refs() []KeyRef {
	refs := make([]KeyRef, 0, len(u.Keys)+len(u.Sessions)+1)
	if u.LegacyKey != nil {
		refs = append(refs, KeyRef{APIKey, u.Username})
	}
	for _, key := range u.Keys {
		refs = append(refs, KeyRef{Bearer, key.ID})
	}
	for _, session := range u.Sessions {
		refs = append(refs, KeyRef{BySession, session.ID})
	}
	return refs
}

// changeUser stores a change of the rights of a user's keys, and voids the keys at the gateways (see the package
// comment). change changes the user and returns the messages that are published with the write. now is the time of the
// change. If the keys cannot be voided, changeUser returns Unavailable.
func (a *Accounts) changeUser(ctx context.Context, id string, change func(u *User, now time.Time) ([]topic.Message, error)) (User, error) {
	ctx, cancel := finish(ctx)
	defer cancel()
	var refused error // error of change, which may say that another record does not exist
	user, err := a.Store.Users.Update(ctx, id, func(u *User) ([]topic.Message, error) {
		now := a.Now()
		var messages []topic.Message
		if messages, refused = change(u, now); refused != nil {
			return nil, refused
		}
		u.StaleSince = stale(u.StaleSince, now)
		return messages, nil
	})
	if refused != nil {
		return User{}, refused
	}
	if err != nil {
		return User{}, fault.IfMissing(err, noUser())
	}
	if err := a.voidUser(ctx, user); err != nil {
		return User{}, unconfirmed(err)
	}
	user.StaleSince = nil
	return user, nil
}

// voidUser voids the user's keys at the gateways, and then clears StaleSince.
func (a *Accounts) voidUser(ctx context.Context, user User) error {
	if err := a.Gateways.Void(ctx, user.refs()); err != nil {
		return err
	}
	_, err := a.Store.Users.Change(ctx, user.ID, func(u *User) error { return clearStale(&u.StaleSince, user.StaleSince) })
	return fault.UnlessMissing(err) // missing: Sweep has removed the deleted user
}

// changeTerms stores a change that affects the rights of all keys of an organization, voids the keys at the gateways and
// sends the plan to events. If the keys cannot be voided, changeTerms returns Unavailable.
func (a *Accounts) changeTerms(ctx context.Context, id string, allow func(Organization) error, change func(*Organization)) (Organization, error) {
	ctx, cancel := finish(ctx)
	defer cancel()
	o, err := a.Store.Organizations.Update(ctx, id, func(o *Organization) ([]topic.Message, error) {
		if err := allow(*o); err != nil {
			return nil, err
		}
		before, now := *o, a.Now()
		change(o)
		messages := editedOrganization(ctx, now, &before, o)
		o.StaleSince = stale(o.StaleSince, now)
		return messages, nil
	})
	if err != nil {
		return Organization{}, err
	}
	if err := a.voidOrganization(ctx, o); err != nil {
		return Organization{}, unconfirmed(err)
	}
	if err := a.announce(ctx, o); err != nil { // no error, because the rights are in force; Sweep calls announce again
		a.Log.WarnContext(ctx, "the dashboards do not follow the plan yet", "organization", o.ID, "error", err)
	}
	o.StaleSince = nil
	return o, nil
}

// voidOrganization voids the keys of all users of the organization at the gateways.
func (a *Accounts) voidOrganization(ctx context.Context, o Organization) error {
	var refs []KeyRef
	err := a.Store.Users.Each(ctx, find.Query{
		Where: []find.Condition{find.Eq(FieldOrganization, o.ID)}, Order: []find.Order{{Field: FieldLegacyID}},
	}, func(u User) error {
		refs = append(refs, u.refs()...)
		return nil
	})
	if err != nil {
		return err
	}
	return a.Gateways.Void(ctx, refs)
}

// announce sends the plan of the organization to the events service, and then clears StaleSince. It must be called
// after the keys were voided.
func (a *Accounts) announce(ctx context.Context, o Organization) error {
	if err := a.Plan(ctx, o.ID, a.Terms(o).Features); err != nil {
		return err
	}
	_, err := a.Store.Organizations.Change(ctx, o.ID, func(current *Organization) error {
		return clearStale(&current.StaleSince, o.StaleSince)
	})
	return err
}

// stale returns the StaleSince of a change. It is now, or a time later than before if now is not later than before.
func stale(before *time.Time, now time.Time) *time.Time {
	if before != nil && !now.After(*before) {
		now = before.Add(time.Millisecond)
	}
	return &now
}

// clearStale clears a StaleSince if it still has the value voided. If it differs, a later change has set it, and
// clearStale does not clear it.
func clearStale(current **time.Time, voided *time.Time) error {
	if *current == nil || voided == nil || !(*current).Equal(*voided) {
		return fault.ErrUnchanged
	}
	*current = nil
	return nil
}

// unconfirmed returns the error for a change that is stored while the keys are not void at the gateways.
func unconfirmed(err error) error {
	return fault.Wrap(fault.Unavailable, err,
		"The change is stored, but the former rights may apply for up to one minute. Send the request again to confirm the change.")
}
