package audience

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// actionUnsubscribe is the action of an owner who deletes all subscriptions of an address.
const actionUnsubscribe = "subscriber.unsubscribe"

// AuditEntity implements audit.Record. The interfaces call an address with its subscriptions a subscriber.
func (a Address) AuditEntity() audit.Entity {
	return audit.Entity{Organization: a.OrganizationID, Type: "subscriber", ID: a.ID, Name: a.Text}
}

// subscribed is a subscription in the audit log: a part of its subscriber.
type subscribed struct {
	Subscription
	Address string `audit:"address"`
}

// AuditEntity implements audit.Record.
func (s subscribed) AuditEntity() audit.Entity {
	return audit.Entity{Organization: s.OrganizationID, Type: "subscriber", ID: s.AddressID, Name: s.Address}
}

// subscriptionEntry returns the audit entry of a write of a subscription. The verb is create, update or delete.
func (a *Audience) subscriptionEntry(ctx context.Context, verb string, at time.Time, before, after *Subscription) ([]topic.Message, error) {
	former, err := a.subscribed(ctx, before)
	if err != nil {
		return nil, err
	}
	next, err := a.subscribed(ctx, after)
	return audit.Entry(audit.From(ctx), "subscriber.subscription."+verb, at, former, next), err
}

// subscribed adds the address to a subscription. It returns nil for no subscription.
func (a *Audience) subscribed(ctx context.Context, s *Subscription) (*subscribed, error) {
	if s == nil {
		return nil, nil
	}
	found, err := a.Store.Addresses.GetMany(ctx, []string{s.AddressID})
	out := &subscribed{Subscription: *s}
	for _, address := range found {
		out.Address = address.Text
	}
	return out, err
}
