package inbound

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	watchID = "watch"
	// watchEvery is the minimum time between two writes of Watch.LastAt.
	watchEvery = 10 * time.Second
	// downAfter is the time without a write of Watch.LastAt after which the service counts as down.
	downAfter = time.Minute
)

// Watch records when the service has run. Requests that arrive while the service does not run are lost, so this time does
// not count as silence of a key.
type Watch struct {
	ID     string        `json:"id"`
	LastAt time.Time     `json:"lastAt"` // when a process of the service last ran; written at most once in watchEvery
	Down   time.Duration `json:"down"`   // sum of the times without a write of LastAt that were longer than downAfter
}

// silentAt returns when the key is silent, apart from the downtime of the service. It returns nil if no request with the
// key is expected, if the silence is reported already, or if the key is revoked. It adds usedEvery, because HeardAt may be
// rounded down to usedEvery.
func (k Key) silentAt() *time.Time {
	if k.ExpectEvery == 0 || k.SilentSince != nil || k.RevokedAt != nil {
		return nil
	}
	at := k.HeardAt.Add(time.Duration(k.ExpectEvery) + usedEvery)
	return &at
}

// SilentAt returns the value of FieldSilentAt.
func (k Key) SilentAt() any {
	if at := k.silentAt(); at != nil {
		return *at
	}
	return nil
}

// watch stores that the service runs now, and returns Watch.Down. If the time after LastAt is longer than downAfter, watch adds
// this time to Down first.
func (s *Inbound) watch(ctx context.Context) (time.Duration, error) {
	watch, err := s.Store.Watches.Upsert(ctx, watchID, func(w *Watch, exists bool) ([]topic.Message, error) {
		now := s.Now()
		pause := now.Sub(w.LastAt)
		switch {
		case !exists:
			*w = Watch{ID: watchID}
		case pause < watchEvery:
			return nil, fault.ErrUnchanged
		case pause > downAfter:
			w.Down += pause
		}
		w.LastAt = now
		return nil, nil
	})
	if err == nil {
		s.down.Store(&watch.Down)
	}
	return watch.Down, err
}

// downtime returns Watch.Down as the last call of watch in this process has read it. If there was no call, because a request
// arrived before the first call of Listen, downtime calls watch.
func (s *Inbound) downtime(ctx context.Context) (time.Duration, error) {
	if down := s.down.Load(); down != nil {
		return *down, nil
	}
	return s.watch(ctx)
}

// Listen publishes a notice for a mail about each silent key: no request with the key has arrived for its ExpectEvery, apart
// from the downtime of the service. Several processes may call Listen.
func (s *Inbound) Listen(ctx context.Context) error {
	down, err := s.watch(ctx)
	if err != nil {
		return err
	}
	return s.Store.Keys.Each(ctx, find.Query{Where: []find.Condition{find.Lte(FieldSilentAt, s.Now())}, Order: []find.Order{{Field: FieldSilentAt}}}, func(key Key) error {
		if !key.isSilent(s.Now(), down) {
			return nil
		}
		_, err := s.Store.Keys.Update(ctx, key.ID, func(key *Key) ([]topic.Message, error) {
			now := s.Now()
			if !key.isSilent(now, down) {
				return nil, fault.ErrUnchanged
			}
			since := key.HeardAt
			key.SilentSince = &since
			return []topic.Message{key.silent(now)}, nil
		})
		return err
	})
}

func (k Key) isSilent(now time.Time, down time.Duration) bool {
	at := k.silentAt()
	return at != nil && !now.Before(at.Add(down-k.HeardDown))
}

// silent returns the notice for the mail that the key is silent.
func (k Key) silent(now time.Time) topic.Notice {
	return topic.Notice{
		ID: topic.NewID(), Kind: topic.InboundSilent, Organization: k.OrganizationID, OccurredAt: now, Channel: topic.Email, Service: topic.Integrations,
		Recipient: k.ID, Destination: k.ID, Inbound: &topic.InboundReport{KeyName: k.Name, Since: *k.SilentSince},
	}
}

// Resolve returns the destinations of mails about the keys. The destination is gone if the organization has no such key, or if
// the key is revoked or has no ManagementEmail.
func (s *Inbound) Resolve(ctx context.Context, organization string, ids []string) ([]topic.Destination, error) {
	keys, err := find.ByKey(ctx, s.Store.Keys, ids, func(k Key) string { return k.ID })
	return find.Values(ids, func(id string) topic.Destination {
		out := topic.Destination{ID: id, Channel: topic.Email, State: topic.RecipientGone, Components: []string{}}
		if key := keys[id]; key.OrganizationID == organization && key.ManagementEmail != "" && key.RevokedAt == nil {
			out.State, out.Address = topic.RecipientActive, key.ManagementEmail
		}
		return out
	}), err
}
