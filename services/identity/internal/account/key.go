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

// Key is an App key or the legacy key of a user.
type Key struct {
	ID         string     `json:"id" audit:"keyId"` // uuid v7; the part of an App key before the colon
	Digest     string     `json:"digest"`           // digest of the secret, which is not stored
	Name       string     `json:"name" audit:"name"`
	CreatedAt  time.Time  `json:"createdAt" audit:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"` // to the minute
	RevokedAt  *time.Time `json:"revokedAt" audit:"revokedAt"`
}

// forgetRevoked is the time for which a revoked key stays in the record. It is longer than any gateway
// caches the key.
const forgetRevoked = 24 * time.Hour

// ActiveKeys returns the App keys that are not revoked, oldest first.
func (u User) ActiveKeys() []Key {
	var keys []Key
	for _, key := range u.Keys {
		if key.RevokedAt == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Caller returns the calling user and the key of its request. A user that was deleted, or a
// key that was revoked, since the gateway admitted the request is Denied like any later request.
func (a *Accounts) Caller(ctx context.Context, organization, id, keyID string) (User, Key, error) {
	user, err := a.Member(ctx, organization, id)
	if fault.Is(err, fault.NotFound) {
		err = fault.Wrap(fault.Denied, err, "The caller was deleted.")
	}
	if err != nil {
		return User{}, Key{}, err
	}
	for _, key := range user.ActiveKeys() {
		if key.ID == keyID {
			return user, key, nil
		}
	}
	return User{}, Key{}, fault.New(fault.Denied, "The caller's key was revoked.")
}

// KeysAfter returns a page of the active keys whose ids follow after.
func (u User) KeysAfter(after string, limit int) find.Page[Key] {
	keys := slices.DeleteFunc(u.ActiveKeys(), func(k Key) bool { return k.ID <= after })
	if len(keys) <= limit {
		return find.Page[Key]{Items: keys}
	}
	return find.Page[Key]{Items: keys[:limit], Next: keys[limit-1].ID}
}

// AddKey adds an App key with the digest of its secret to a user. The name may be absent, but not blank.
func (a *Accounts) AddKey(ctx context.Context, user string, name optional.Value[string], digest string) (Key, error) {
	if err := checkLine("name", name.Value, name.Sent, maxKeyName); err != nil {
		return Key{}, err
	}
	key := Key{ID: topic.NewID(), Digest: digest, Name: name.Value, CreatedAt: a.Now()}
	_, err := a.Store.Users.Update(ctx, user, func(u *User) ([]topic.Message, error) {
		if u.DeletedAt != nil {
			return nil, noUser()
		}
		if len(u.ActiveKeys()) >= maxKeys {
			return nil, fault.New(fault.Conflict, "The user already has %d API keys. Revoke one first.", maxKeys)
		}
		u.Keys = slices.DeleteFunc(u.Keys, func(k Key) bool {
			return k.RevokedAt != nil && u.StaleSince == nil && a.Now().Sub(*k.RevokedAt) > forgetRevoked
		})
		u.Keys = append(u.Keys, key)
		return audit.Entry(audit.From(ctx), actionKeyCreate, key.CreatedAt, nil, keyOf(u, &key, false)), nil
	})
	return key, fault.IfMissing(err, noUser())
}

// RevokeKey revokes an App key of the organization's user permanently. It is Forbidden for an active key of another
// member of the organization.
func (a *Accounts) RevokeKey(ctx context.Context, organization, user, id string) error {
	_, err := a.changeUser(ctx, user, func(u *User, now time.Time) ([]topic.Message, error) {
		at := slices.IndexFunc(u.Keys, func(k Key) bool { return k.ID == id })
		if at < 0 || u.DeletedAt != nil || u.Organization != organization {
			return nil, noKey()
		}
		key := &u.Keys[at]
		switch {
		case key.RevokedAt == nil:
			former := keyOf(u, key, false)
			key.RevokedAt = &now
			return audit.Entry(audit.From(ctx), actionKeyRevoke, now, former, keyOf(u, key, false)), nil
		case u.StaleSince == nil:
			return nil, noKey() // the revocation is confirmed
		}
		return nil, nil
	})
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	others, err := a.Store.Users.Find(ctx, find.Query{Where: []find.Condition{find.Has(FieldKeyIDs, id)}, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(others.Items) == 1 && others.Items[0].Organization == organization:
		return fault.New(fault.Forbidden, "The key belongs to another member. Only that member may revoke it.")
	}
	return noKey()
}

// errHasLegacyKey means that the user has a legacy key, which must be voided at the gateways.
var errHasLegacyKey = errors.New("the user has a legacy key")

// SetLegacyKey replaces the legacy key of a user. The former key is refused from the next request on.
func (a *Accounts) SetLegacyKey(ctx context.Context, user, digest string) (User, error) {
	key := Key{ID: topic.NewID(), Digest: digest, CreatedAt: a.Now()}
	set := func(u *User) ([]topic.Message, error) {
		if u.DeletedAt != nil {
			return nil, noUser()
		}
		former := keyOf(u, u.LegacyKey, true)
		u.LegacyKey = &key
		return audit.Entry(audit.From(ctx), actionKeyCreate, key.CreatedAt, former, keyOf(u, &key, true)), nil
	}
	// No gateway can have cached a first key.
	first, err := a.Store.Users.Update(ctx, user, func(u *User) ([]topic.Message, error) {
		if u.LegacyKey != nil {
			return nil, errHasLegacyKey
		}
		return set(u)
	})
	if errors.Is(err, errHasLegacyKey) {
		return a.changeUser(ctx, user, func(u *User, _ time.Time) ([]topic.Message, error) { return set(u) })
	}
	return first, fault.IfMissing(err, noUser())
}
