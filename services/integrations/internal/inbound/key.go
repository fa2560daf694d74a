package inbound

import (
	"context"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	maxKeys       = 20 // active keys of an organization
	maxKeyName    = 80
	maxMinSources = 10
	// usedEvery is the unit to which LastUsedAt is rounded down. touch writes each value only once.
	usedEvery = time.Minute

	actionRevoke = "inbound_key.revoke"
)

// Key is a signing key of an organization. Revoked keys are not deleted.
type Key struct {
	ID             string     `json:"id" audit:"keyId"` // uuid v7, so keys sort by creation
	OrganizationID string     `json:"organizationId"`
	Name           string     `json:"name" audit:"name"`
	Secret         string     `json:"secret"` // sealed for the id
	Defaults       Defaults   `json:"defaults" audit:"defaults"`
	CreatedBy      Author     `json:"createdBy" audit:"createdBy"`
	CreatedAt      time.Time  `json:"createdAt" audit:"createdAt"`
	LastUsedAt     *time.Time `json:"lastUsedAt" audit:"lastUsedAt"` // rounded down to the minute
	RevokedAt      *time.Time `json:"revokedAt" audit:"revokedAt"`
	// A trigger opens an event when MinSources sources (0: one source) have reported the problem for OpenAfter. When fewer
	// sources have reported it for ResolveAfter, the event is resolved.
	OpenAfter    Wait `json:"openAfter" audit:"openAfter"`
	ResolveAfter Wait `json:"resolveAfter" audit:"resolveAfter"`
	MinSources   int  `json:"minSources" audit:"minSources"`
	// ManagementEmail gets a mail if no request arrives for ExpectEvery. ExpectEvery 0: no request is expected.
	ExpectEvery     Wait   `json:"expectEvery" audit:"expectEvery"`
	ManagementEmail string `json:"managementEmail" audit:"managementEmail,null"`
	// HeardAt is set when the key is created, when ExpectEvery is changed, and together with LastUsedAt. HeardDown is Watch.Down
	// at the time of this write.
	HeardAt     time.Time     `json:"heardAt"`
	HeardDown   time.Duration `json:"heardDown"`
	SilentSince *time.Time    `json:"silentSince" audit:"silentSince"` // HeardAt when the mail about the silence was published; nil: no mail since HeardAt

	Bearer bool `json:"bearer" audit:"bearer"` // the secret may be sent as a token
	// Slot is 1 to maxKeys for an active key, and 0 for a revoked one. No two active keys of an organization have the
	// same slot, so concurrent creates cannot exceed the limit.
	Slot int64 `json:"slot"`
}

// Defaults are the values that apply if a message does not contain them.
type Defaults struct {
	Publish  bool   `json:"publish" audit:"publish"`
	Notify   bool   `json:"notify" audit:"notify"` // send notifications
	Severity string `json:"severity" audit:"severity,null"`
}

// Author is the member who created a key.
type Author struct {
	UserID string `json:"userId" audit:"userId"`
	Name   string `json:"name" audit:"name"`
}

// AuditEntity implements audit.Record.
func (k Key) AuditEntity() audit.Entity {
	return audit.Entity{Organization: k.OrganizationID, Type: "inbound_key", ID: k.ID, Name: k.Name}
}

// minSources returns the number of sources that must report a problem.
func (k Key) minSources() int { return max(k.MinSources, 1) }

// check returns a fault if a member of the key is wrong.
func (k Key) check() error {
	switch {
	case strings.TrimSpace(k.Name) == "" || utf8.RuneCountInString(k.Name) > maxKeyName:
		return fault.Field("name", "must be 1 to %d characters and not only white space", maxKeyName)
	case k.MinSources < 1 || k.MinSources > maxMinSources:
		return fault.Field("minSources", "must be a whole number from 1 to %d", maxMinSources)
	case k.ExpectEvery == 0 && k.ManagementEmail != "":
		return fault.Field("expectEvery", "is required with managementEmail")
	case k.ExpectEvery != 0 && k.ManagementEmail == "":
		return fault.Field("managementEmail", "is required with expectEvery")
	}
	return nil
}

// CreateKey stores a new key and returns it with its secret, which is not shown again. set sets the members that the
// request contains.
func (s *Inbound) CreateKey(ctx context.Context, organization string, by Author, set func(*Key) error) (Key, string, error) {
	secret := seal.SigningSecret()
	key := Key{
		ID: topic.NewID(), OrganizationID: organization, Defaults: Defaults{Publish: true, Notify: true}, MinSources: 1, CreatedBy: by, CreatedAt: s.Now(),
	}
	if err := set(&key); err != nil {
		return Key{}, "", err
	}
	if err := key.check(); err != nil {
		return Key{}, "", err
	}
	down, err := s.downtime(ctx)
	if err != nil {
		return Key{}, "", err
	}
	key.HeardAt, key.HeardDown = key.CreatedAt, down
	key.Secret = s.Box.Seal(secret, key.ID)
	for {
		free, err := s.freeSlots(ctx, organization)
		if err != nil {
			return Key{}, "", err
		}
		if len(free) == 0 {
			return Key{}, "", fault.New(fault.Conflict, "The organization already has %d active signing keys. Revoke one first.", maxKeys)
		}
		key.Slot = free[mathrand.IntN(len(free))]
		err = s.Store.Keys.Insert(ctx, key, audit.Entry(audit.From(ctx), "", key.CreatedAt, nil, &key)...)
		if !fault.Is(err, fault.Conflict) { // on a Conflict, another create has used the slot
			return key, secret, err
		}
	}
}

func (s *Inbound) freeSlots(ctx context.Context, organization string) ([]int64, error) {
	active, err := s.Store.Keys.Find(ctx, find.Query{
		Where: []find.Condition{find.Eq(FieldOrganization, organization), find.Gte(FieldSlot, int64(1))}, Order: []find.Order{{Field: FieldSlot}},
	})
	var free []int64
	for slot := int64(1); slot <= maxKeys; slot++ {
		if !slices.ContainsFunc(active.Items, func(key Key) bool { return key.Slot == slot }) {
			free = append(free, slot)
		}
	}
	return free, err
}

// Keys returns a page of the organization's keys, oldest first.
func (s *Inbound) Keys(ctx context.Context, organization string, limit int, after string) (find.Page[Key], error) {
	return s.Store.Keys.Find(ctx, find.Query{Where: []find.Condition{find.Eq(FieldOrganization, organization)}, Limit: limit, After: after})
}

// ChangeKey changes an active key. set sets the members that the request contains.
func (s *Inbound) ChangeKey(ctx context.Context, organization, id string, set func(*Key) error) (Key, error) {
	down, err := s.downtime(ctx)
	if err != nil {
		return Key{}, err
	}
	key, err := s.Store.Keys.Update(ctx, id, func(key *Key) ([]topic.Message, error) {
		if key.OrganizationID != organization || key.RevokedAt != nil {
			return nil, noKey()
		}
		before := *key
		if err := set(key); err != nil {
			return nil, err
		}
		if err := key.check(); err != nil {
			return nil, err
		}
		if *key == before {
			return nil, fault.ErrUnchanged
		}
		if key.ExpectEvery != before.ExpectEvery {
			key.HeardAt, key.HeardDown, key.SilentSince = s.Now(), down, nil
		}
		return audit.Entry(audit.From(ctx), "", s.Now(), &before, key), nil
	})
	return key, fault.IfMissing(err, noKey())
}

// RevokeKey revokes a key permanently.
func (s *Inbound) RevokeKey(ctx context.Context, organization, id string) error {
	_, err := s.Store.Keys.Update(ctx, id, func(key *Key) ([]topic.Message, error) {
		if key.OrganizationID != organization || key.RevokedAt != nil {
			return nil, noKey()
		}
		before, now := *key, s.Now()
		key.RevokedAt, key.Slot = &now, 0
		return audit.Entry(audit.From(ctx), actionRevoke, now, &before, key), nil
	})
	return fault.IfMissing(err, noKey())
}

func noKey() error { return fault.New(fault.NotFound, "There is no such active signing key.") }

// touch stores that a key is used now. It rounds the time down to usedEvery, and writes nothing if this time is stored already.
func (s *Inbound) touch(ctx context.Context, key Key) {
	now := s.Now().Truncate(usedEvery)
	if key.LastUsedAt != nil && !now.After(*key.LastUsedAt) {
		return
	}
	down, err := s.downtime(ctx)
	if err == nil {
		_, err = s.Store.Keys.Change(ctx, key.ID, func(key *Key) error {
			if key.LastUsedAt != nil && !now.After(*key.LastUsedAt) {
				return fault.ErrUnchanged
			}
			key.LastUsedAt, key.HeardAt, key.HeardDown, key.SilentSince = &now, now, down, nil
			return nil
		})
	}
	if err != nil {
		s.Log.WarnContext(ctx, "the use of a signing key is not noted", "key", key.ID, "error", err.Error())
	}
}
