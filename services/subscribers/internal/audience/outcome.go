package audience

import (
	"context"
	"errors"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// underWay is how long a delivery that was on its way when its address was rewritten may
// take to end: the longest attempt, and a second. What such a one says is about the
// former address. The next delivery says it again if it is true of the new one.
const underWay = 15 * time.Second

// errNotConcerned leaves an address as it is.
var errNotConcerned = errors.New("the outcome does not concern the address")

// Suppress takes outcomes of deliveries and blocks the addresses that will never accept
// one again; it returns those that it blocked. The same outcomes may be told again.
func (a *Audience) Suppress(ctx context.Context, outcomes []topic.Outcome) ([]Address, error) {
	var gone []topic.Outcome
	var ids []string
	for _, o := range outcomes {
		if o.Gone && o.Channel.Keeper() == topic.Subscribers {
			gone, ids = append(gone, o), append(ids, o.Recipient)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	found, err := a.store.AddressesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	known := make(map[string]Address, len(found))
	for _, address := range found {
		known[address.ID] = address
	}
	var blocked []Address
	for _, o := range gone {
		if address, there := known[o.Recipient]; !there || !address.concernedBy(o) {
			continue
		}
		changed, err := a.store.ChangeAddress(ctx, o.Recipient, func(address *Address) error {
			if !address.concernedBy(o) {
				return errNotConcerned
			}
			address.Blocked = true
			return nil
		})
		switch {
		case errors.Is(err, errNotConcerned) || fault.Is(err, fault.NotFound): // changed or removed in between
			continue
		case err != nil:
			return blocked, err
		}
		known[o.Recipient] = changed
		blocked = append(blocked, changed)
	}
	return blocked, nil
}

// concernedBy reports an outcome that changes the address: one of its own organization
// and channel, and of what it is now.
func (a Address) concernedBy(o topic.Outcome) bool {
	return a.OrganizationID == o.Organization && a.Channel == o.Channel && !a.Blocked && !a.Removed &&
		(a.RewrittenAt == nil || o.At.After(a.RewrittenAt.Add(underWay)))
}
