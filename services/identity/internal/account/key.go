package account

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Key is an App key, or the legacy one of a user.
type Key struct {
	ID         string     `json:"id"`     // uuid v7; of an App key the part before the colon
	Digest     string     `json:"digest"` // of the secret, which nobody stores
	Name       string     `json:"name"`
	CreatedAt  time.Time  `json:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"` // to the minute
	RevokedAt  *time.Time `json:"revokedAt"`
}

// forgetRevoked is how long a revoked key stays in the record, longer than any
// gateway could know it.
const forgetRevoked = 24 * time.Hour

// ActiveKeys are the App keys that are not revoked, the oldest first.
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
func (d *Directory) Caller(ctx context.Context, organization, id, keyID string) (User, Key, error) {
	user, err := d.Member(ctx, organization, id)
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

// KeysAfter is a page of the active keys behind the one with the id after, and the
// position behind it; empty when nothing follows.
func (u User) KeysAfter(after string, limit int) (page []Key, next string) {
	keys := slices.DeleteFunc(u.ActiveKeys(), func(k Key) bool { return k.ID <= after })
	if len(keys) <= limit {
		return keys, ""
	}
	return keys[:limit], keys[limit-1].ID
}

// AddKey gives a user an App key with the digest of its secret.
func (d *Directory) AddKey(ctx context.Context, user, name, digest string) (Key, error) {
	if err := checkLine("name", name, 0, maxKeyName); err != nil {
		return Key{}, err
	}
	key := Key{ID: newID(), Digest: digest, Name: name, CreatedAt: d.now()}
	_, err := d.store.ChangeUser(ctx, user, func(u *User) error {
		if u.DeletedAt != nil {
			return noUser()
		}
		if len(u.ActiveKeys()) >= maxKeys {
			return fault.New(fault.Conflict, "The user has %d API keys; revoke one first.", maxKeys)
		}
		u.Keys = slices.DeleteFunc(u.Keys, func(k Key) bool {
			return k.RevokedAt != nil && u.Unsettled == nil && d.now().Sub(*k.RevokedAt) > forgetRevoked
		})
		u.Keys = append(u.Keys, key)
		return nil
	})
	return key, missingUser(err)
}

// RevokeKey revokes an App key of the organization's user for good.
func (d *Directory) RevokeKey(ctx context.Context, organization, user, id string) error {
	_, err := d.changeUser(ctx, user, func(u *User, now time.Time) error {
		at := slices.IndexFunc(u.Keys, func(k Key) bool { return k.ID == id })
		if at < 0 || u.DeletedAt != nil || u.Organization != organization {
			return noKey()
		}
		key := &u.Keys[at]
		switch {
		case key.RevokedAt == nil:
			key.RevokedAt = &now
		case u.Unsettled == nil || key.RevokedAt.Before(*u.Unsettled):
			return noKey() // revoked before, and confirmed
		}
		return nil
	})
	if fault.Is(err, fault.NotFound) {
		return noKey()
	}
	return err
}

// errHasLegacyKey: the user has a legacy key, whose end the gateways must be told of.
var errHasLegacyKey = errors.New("the user has a legacy key")

// SetLegacyKey gives a user its one legacy key; the former stops at the next request.
func (d *Directory) SetLegacyKey(ctx context.Context, user, digest string) (User, error) {
	key := Key{ID: newID(), Digest: digest, CreatedAt: d.now()}
	set := func(u *User) error {
		if u.DeletedAt != nil {
			return noUser()
		}
		u.LegacyKey = &key
		return nil
	}
	// No gateway can know anything of a first key.
	first, err := d.store.ChangeUser(ctx, user, func(u *User) error {
		if u.LegacyKey != nil {
			return errHasLegacyKey
		}
		return set(u)
	})
	if errors.Is(err, errHasLegacyKey) {
		return d.changeUser(ctx, user, func(u *User, _ time.Time) error { return set(u) })
	}
	return first, missingUser(err)
}

// missingUser names what the store did not find.
func missingUser(err error) error {
	if fault.Is(err, fault.NotFound) {
		return noUser()
	}
	return err
}
