package audience

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// underWay bounds the time for which a delivery that began before a change of its address may last: the
// longest attempt and one second. The outcome of such a delivery is about the former address. If the new
// address is gone too, the next delivery reports that.
const underWay = 15 * time.Second

// Block blocks the addresses that delivery reported as gone. A repeated outcome has no effect.
func (a *Audience) Block(ctx context.Context, outcomes []topic.Outcome) error {
	for _, o := range outcomes {
		if !o.Gone || o.Channel.Keeper() != topic.Subscribers {
			continue
		}
		blocked := false
		_, err := a.Store.Addresses.Change(ctx, o.Recipient, func(address *Address) error {
			if blocked = address.concernedBy(o); !blocked {
				return fault.ErrUnchanged
			}
			address.Blocked = true
			return nil
		})
		if unlessMissing(err) != nil {
			return err
		}
		if blocked && err == nil {
			a.Log.InfoContext(ctx, "address suppressed", "organization", o.Organization, "channel", o.Channel, "address", o.Recipient)
		}
	}
	return nil
}

// concernedBy reports whether the outcome changes the address. The outcome must have the organization and
// the channel of the address, and must not be about a former address.
func (a Address) concernedBy(o topic.Outcome) bool {
	return a.OrganizationID == o.Organization && a.Channel == o.Channel && !a.Blocked && !a.Removed &&
		(a.RewrittenAt == nil || o.At.After(a.RewrittenAt.Add(underWay)))
}
