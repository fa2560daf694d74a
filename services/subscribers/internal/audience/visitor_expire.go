package audience

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// expired reports whether the Request of a subscriber can no longer be confirmed.
func (v *Visitors) expired(s Subscriber) bool {
	return !s.Request.At.Add(v.ConfirmWithin).After(v.Audience.Now())
}

// Expire deletes the Requests that were not confirmed in time. If a visitor created the subscriber and none of its
// entries is confirmed (pending), it deletes the subscriber. It does not delete a locked subscriber, because otherwise
// a visitor could subscribe the address again.
func (v *Visitors) Expire(ctx context.Context) error {
	return find.EachUntil(ctx, v.Audience.Store.Subscribers, FieldRequested, v.Audience.Now().Add(-v.ConfirmWithin), func(s Subscriber) error {
		return v.expireRequest(ctx, s)
	})
}

// expireRequest deletes the Request of a subscriber, or the subscriber, if the stored Request has expired.
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
	if err := a.unclaim(ctx, s.AddressID); err != nil {
		return err
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
	return a.forgetAddress(ctx, s, false)
}

// forgetAddress deletes the address of a deleted subscriber if it is Made and has no other subscribers. It does not delete a
// suppressed address, so that no message is sent to it again. But with undo it deletes an address that the import has stored as
// suppressed.
func (a *Audience) forgetAddress(ctx context.Context, s Subscriber, undo bool) error {
	found, err := a.Store.Addresses.GetMany(ctx, []string{s.AddressID})
	if err != nil || len(found) == 0 {
		return err
	}
	address := found[0]
	if !address.Made || address.Suppression != nil && !(undo && address.Suppression.At.Equal(address.CreatedAt)) {
		return nil
	}
	return a.unmake(audit.With(ctx, audit.Origin{}), &address)
}
