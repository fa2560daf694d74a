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
	Digest     string     `json:"digest"`           // digest of the secret; the secret is not stored
	Name       string     `json:"name" audit:"name"`
	CreatedAt  time.Time  `json:"createdAt" audit:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"` // stored at most once a minute (see storeUse); nil: never used
	RevokedAt  *time.Time `json:"revokedAt" audit:"revokedAt"`
}

// forgetRevoked is the time after which AddKey removes a revoked key from the record. No gateway caches a key that long.
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

// ActiveKey returns the App key with the id. It returns false if the user has none, or if it was revoked.
func (u User) ActiveKey(id string) (Key, bool) {
	for _, key := range u.Keys {
		if key.ID == id && key.RevokedAt == nil {
			return key, true
		}
	}
	return Key{}, false
}

// KeysAfter returns at most limit active keys. They begin behind the key whose id is the parameter after.
func (u User) KeysAfter(after string, limit int) find.Page[Key] {
	keys := slices.DeleteFunc(u.ActiveKeys(), func(k Key) bool { return k.ID <= after })
	if len(keys) <= limit {
		return find.Page[Key]{Items: keys}
	}
	return find.Page[Key]{Items: keys[:limit], Next: keys[limit-1].ID}
}

// AddKey adds an App key to a user. digest is the digest of its secret. The name may be absent but must not be blank.
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
		return append(audit.Entry(audit.From(ctx), actionKeyCreate, key.CreatedAt, nil, keyOf(u, &key, false)), mailTo(u, topic.MemberKey, key.Name, key.CreatedAt)...), nil
	})
	return key, fault.IfMissing(err, noUser())
}

// RevokeKey permanently revokes an App key of a user of the organization. If the key is an active key of another user of
// the organization, the error is Forbidden.
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
			return nil, noKey() // an earlier revocation is confirmed already
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

// errHasLegacyKey means that the user has a legacy key already, which must be voided at the gateways.
var errHasLegacyKey = errors.New("the user has a legacy key")

// SetLegacyKey replaces the legacy key of a user. Gateways refuse the former key from the next request on.
func (a *Accounts) SetLegacyKey(ctx context.Context, user, digest string) (User, error) {
	key := Key{ID: topic.NewID(), Digest: digest, CreatedAt: a.Now()}
	set := func(u *User) ([]topic.Message, error) {
		if u.DeletedAt != nil {
			return nil, noUser()
		}
		former := keyOf(u, u.LegacyKey, true)
		u.LegacyKey = &key
		return append(audit.Entry(audit.From(ctx), actionKeyCreate, key.CreatedAt, former, keyOf(u, &key, true)), mailTo(u, topic.MemberKey, "for the legacy interface", key.CreatedAt)...), nil
	}
	// If the user had no legacy key, no gateway can have cached one.
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

// DeleteLegacyKey deletes the legacy key of a user. Gateways refuse the key from the next request on.
func (a *Accounts) DeleteLegacyKey(ctx context.Context, user string) error {
	_, err := a.changeUser(ctx, user, func(u *User, now time.Time) ([]topic.Message, error) {
		if u.LegacyKey == nil || u.LegacyKey.RevokedAt != nil && u.StaleSince == nil {
			return nil, fault.New(fault.NotFound, "There is no legacy key.")
		}
		if u.LegacyKey.RevokedAt != nil {
			return nil, nil // the repeated request confirms the deletion
		}
		former, revoked := keyOf(u, u.LegacyKey, true), *u.LegacyKey
		revoked.RevokedAt = &now
		u.LegacyKey = &revoked
		return audit.Entry(audit.From(ctx), actionKeyRevoke, now, former, keyOf(u, &revoked, true)), nil
	})
	return err
}
