package account

import (
	"context"
	"crypto/subtle"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Credential is a key or a session, with its user and the terms of the user's organization.
type Credential struct {
	Key     Key      // for a session: its id, digest and LastUsedAt
	Session *Session // nil for a key
	User    User
	Roles   []Role
	Terms   Terms
}

// Credential returns the credential of an active key, or a valid session, of an enabled user. It returns fault.NotFound
// for any other. If presented is the digest of the secret, it also stores the time of this use.
func (a *Accounts) Credential(ctx context.Context, ref KeyRef, presented string) (Credential, error) {
	user, key, err := a.keyed(ctx, ref)
	if err != nil {
		return Credential{}, err
	}
	organization, err := a.Organization(ctx, user.Organization)
	if err != nil {
		return Credential{}, fault.IfMissing(err, noKey())
	}
	if subtle.ConstantTimeCompare([]byte(presented), []byte(key.Digest)) == 1 {
		a.storeUse(ctx, user, key, ref.Scheme)
	}
	credential := Credential{Key: key, User: user, Roles: user.Roles, Terms: a.Terms(organization)}
	if ref.Scheme == BySession {
		now := a.Now()
		if credential.Session = user.session(key.ID, now); credential.Session == nil {
			return Credential{}, noKey()
		}
		credential.Roles = user.rolesIn(key.ID, organization, now)
	}
	return credential, nil
}

// rolesIn returns the roles of the user in the session. It returns none if the session is not valid, or if the
// organization requires a second factor and the user has not shown one in the session.
func (u User) rolesIn(session string, o Organization, now time.Time) []Role {
	if s := u.session(session, now); s == nil || o.RequireTwoFactor && !s.SecondFactor {
		return nil
	}
	return u.Roles
}

func (a *Accounts) keyed(ctx context.Context, ref KeyRef) (User, Key, error) {
	condition := find.Eq(FieldUsername, ref.ID)
	switch ref.Scheme {
	case Bearer:
		condition = find.Has(FieldKeyIDs, ref.ID)
	case BySession:
		condition = find.Has(FieldSessionIDs, ref.ID)
	}
	page, err := a.Store.Users.Find(ctx, find.Query{Where: []find.Condition{condition}, Limit: 1})
	if err != nil {
		return User{}, Key{}, err
	}
	if len(page.Items) == 1 {
		user := page.Items[0]
		if key, ok := user.activeKey(ref, a.Now()); ok && !user.Disabled && user.DeletedAt == nil {
			return user, key, nil
		}
	}
	return User{}, Key{}, noKey()
}

func (u User) activeKey(ref KeyRef, now time.Time) (Key, bool) {
	switch ref.Scheme {
	case APIKey:
		if u.LegacyKey == nil || u.LegacyKey.RevokedAt != nil || u.Username != ref.ID {
			return Key{}, false
		}
		return *u.LegacyKey, true
	case BySession:
		s := u.session(ref.ID, now)
		if s == nil {
			return Key{}, false
		}
		return Key{ID: s.ID, Digest: s.Digest, LastUsedAt: &s.LastUsedAt}, true
	}
	return u.ActiveKey(ref.ID)
}

const (
	useGranularity = time.Minute // minimum time between two stored uses of a key
	useTimeout     = time.Second
)

// storeUse stores the time at which the key or session was used. For a legacy key this is also the time of the user's
// login. It writes at most once a minute for each key. It writes before the response, so that no use is lost if the
// process is killed. If the write fails, storeUse logs the error, and the key or session is still accepted.
func (a *Accounts) storeUse(ctx context.Context, user User, key Key, scheme Scheme) {
	now := a.Now()
	if key.LastUsedAt != nil && now.Sub(*key.LastUsedAt) < useGranularity {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), useTimeout)
	defer cancel()
	_, err := a.Store.Users.Change(ctx, user.ID, func(u *User) error {
		if s := u.session(key.ID, now); s != nil {
			if now.Sub(s.LastUsedAt) < useGranularity {
				return fault.ErrUnchanged
			}
			s.LastUsedAt = now
			return nil
		}
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
		a.Log.WarnContext(ctx, "the use of a key was not stored", "key", key.ID, "error", err)
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
