package account

import (
	"context"
	"crypto/subtle"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Credential is what a key says: whose it is, and what that user may do.
type Credential struct {
	Key   Key
	User  User
	Terms Terms
}

// Credential finds what an active key of an enabled user says; NotFound for every
// other. When the presented digest is the key's, the use is noted.
func (d *Directory) Credential(ctx context.Context, ref KeyRef, presented string) (Credential, error) {
	user, key, err := d.keyed(ctx, ref)
	if err != nil {
		return Credential{}, err
	}
	// The organization is read after the user: whatever is read before a change
	// of either cannot get into a gateway's cache (see the package comment).
	organization, err := d.Organization(ctx, user.Organization)
	if err != nil {
		return Credential{}, missingKey(err)
	}
	if subtle.ConstantTimeCompare([]byte(presented), []byte(key.Digest)) == 1 {
		d.noteUse(ctx, user, key, ref.Scheme)
	}
	return Credential{Key: key, User: user, Terms: d.Terms(organization)}, nil
}

func (d *Directory) keyed(ctx context.Context, ref KeyRef) (User, Key, error) {
	condition := find.Eq("username", ref.ID)
	if ref.Scheme == Bearer {
		condition = find.Has("keyIds", ref.ID)
	}
	page, err := d.store.Users(ctx, find.Query{Where: []find.Condition{condition}, Limit: 1})
	if err != nil {
		return User{}, Key{}, err
	}
	if len(page.Items) == 1 {
		user := page.Items[0]
		if key, ok := user.activeKey(ref); ok && !user.Disabled && user.DeletedAt == nil {
			return user, key, nil
		}
	}
	return User{}, Key{}, noKey()
}

func (u User) activeKey(ref KeyRef) (Key, bool) {
	if ref.Scheme == APIKey {
		if u.LegacyKey == nil || u.Username != ref.ID {
			return Key{}, false
		}
		return *u.LegacyKey, true
	}
	for _, key := range u.Keys {
		if key.ID == ref.ID && key.RevokedAt == nil {
			return key, true
		}
	}
	return Key{}, false
}

func missingKey(err error) error {
	if fault.Is(err, fault.NotFound) {
		return noKey()
	}
	return err
}

const (
	useGranularity = time.Minute // a key's uses are noted this often at the most
	useTimeout     = time.Second
)

// noteUse writes down that the key was used, and for the legacy interface that
// the user was there. It is done before the answer, which costs a write once a minute per
// key, because gateways ask that often only; nothing then waits in memory to be lost. A
// use that cannot be written does not refuse the key, but the log tells.
func (d *Directory) noteUse(ctx context.Context, user User, key Key, scheme Scheme) {
	now := d.now()
	if key.LastUsedAt != nil && now.Sub(*key.LastUsedAt) < useGranularity {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), useTimeout)
	defer cancel()
	_, err := d.store.ChangeUser(ctx, user.ID, func(u *User) error {
		used := u.keyByID(key.ID)
		if used == nil || used.LastUsedAt != nil && now.Sub(*used.LastUsedAt) < useGranularity {
			return fault.ErrUnchanged
		}
		used.LastUsedAt = &now
		if scheme == APIKey {
			u.LastLoginAt = &now
		}
		return nil
	})
	if err != nil {
		d.log.WarnContext(ctx, "the use of a key was not noted", "key", key.ID, "error", err)
	}
}

func (u *User) keyByID(id string) *Key {
	if u.LegacyKey != nil && u.LegacyKey.ID == id {
		return u.LegacyKey
	}
	for i := range u.Keys {
		if u.Keys[i].ID == id {
			return &u.Keys[i]
		}
	}
	return nil
}
