package audience

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const expireBatch = 500

// expired reports whether the Request of a subscriber can no longer be confirmed.
func (v *Visitors) expired(s Subscriber) bool {
	return !s.Request.At.Add(v.ConfirmWithin).After(v.Audience.Now())
}

// Expire deletes the requests of visitors that nobody confirmed in time. A subscriber goes with its request if it has
// nothing else. A locked subscriber stays, because without it a visitor could subscribe the address again.
func (v *Visitors) Expire(ctx context.Context) error {
	a := v.Audience
	query := find.Query{
		Where: []find.Condition{find.Lte(FieldRequested, a.Now().Add(-v.ConfirmWithin))}, Order: []find.Order{{Field: FieldRequested}}, Limit: expireBatch,
	}
	for {
		page, err := a.Store.Subscribers.Find(ctx, query)
		if err != nil {
			return err
		}
		for _, s := range page.Items {
			if err := v.expireRequest(ctx, s); err != nil {
				return err
			}
		}
		if len(page.Items) < expireBatch {
			return nil
		}
	}
}

// expireRequest deletes the Request of a subscriber, or the subscriber, unless it has changed since it was read.
func (v *Visitors) expireRequest(ctx context.Context, s Subscriber) error {
	a := v.Audience
	if s.Locked || !s.pending() {
		_, err := a.Store.Subscribers.Change(ctx, s.ID, func(s *Subscriber) error {
			if s.Request == nil || !v.expired(*s) {
				return fault.ErrUnchanged
			}
			s.Request = nil
			return nil
		})
		return fault.UnlessMissing(err)
	}
	err := a.Store.Subscribers.Delete(ctx, s.ID, func(s *Subscriber) ([]topic.Message, error) {
		if s.Request == nil || !v.expired(*s) || s.Locked || !s.pending() {
			return nil, fault.ErrUnchanged
		}
		return nil, nil
	})
	if err != nil {
		return fault.UnlessMissing(err)
	}
	return a.forgetAddress(ctx, s)
}

// forgetAddress deletes the address of a deleted subscriber if a visitor's request made it, and nobody else uses it. A
// suppressed address stays, so that no message is sent to it again.
func (a *Audience) forgetAddress(ctx context.Context, s Subscriber) error {
	if !s.MadeAddress {
		return nil
	}
	found, err := a.Store.Addresses.GetMany(ctx, []string{s.AddressID})
	if err != nil || len(found) == 0 || found[0].Suppression != nil {
		return err
	}
	return a.unmake(audit.With(ctx, audit.Origin{}), &found[0])
}
