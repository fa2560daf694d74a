package audience

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Move marks an entry that must move to the subscriber of another address. No request changes an entry that has a Move.
// After the Move was stored, SubscriberWritten adds a copy of the entry to the other subscriber and then deletes the
// entry. SubscriberWritten is called later if the process was killed. If the other subscriber has the component
// already, or the address was deleted, the entry is not moved and its Move is removed.
type Move struct {
	AddressID   string       `json:"addressId"`
	ComponentID *string      `json:"componentId,omitempty"` // nil: no change
	Confirmed   *bool        `json:"confirmed,omitempty"`
	At          time.Time    `json:"at"`
	Origin      audit.Origin `json:"origin"` // the author in the audit entry
}

// moved returns nil if the entry of a row has moved to the address, or if the subscriber of the row does not exist any
// more. It returns errMoving if the move is not done yet, and fault.Conflict if the entry was not moved.
func (a *Audience) moved(ctx context.Context, row Subscription, address string) error {
	now, err := a.row(ctx, row.OrganizationID, row.ID)
	if err != nil || now.AddressID == address {
		return err
	}
	holder, err := a.Store.Subscribers.Get(ctx, row.SubscriberID)
	if err != nil {
		return fault.UnlessMissing(err)
	}
	if at := holder.entryWithID(row.ID); at >= 0 && holder.Entries[at].Move == nil {
		return fault.New(fault.Conflict, "The address is already subscribed to the component.")
	}
	return errMoving
}

// makeMoves moves the entries of s that have a Move.
func (a *Audience) makeMoves(ctx context.Context, s Subscriber) error {
	for _, e := range s.Entries {
		if e.Move == nil {
			continue
		}
		if err := a.makeMove(ctx, s, e); err != nil {
			return err
		}
	}
	return nil
}

// makeMove moves an entry of s to the subscriber of another address on the same dashboard.
func (a *Audience) makeMove(ctx context.Context, s Subscriber, entry Entry) error {
	move := *entry.Move
	addresses, err := a.Store.Addresses.GetMany(ctx, []string{move.AddressID})
	if err != nil {
		return err
	}
	stays := len(addresses) == 0
	if !stays {
		_, err = a.Store.Subscribers.Upsert(ctx, SubscriberID(s.DashboardID, move.AddressID), func(to *Subscriber, exists bool) ([]topic.Message, error) {
			return a.receive(to, exists, addresses[0], s, entry)
		})
		stays = fault.Is(err, fault.Conflict)
	}
	if err == nil && !stays {
		err = a.rememberDeletion(ctx, s)
	}
	if err != nil && !stays {
		return err
	}
	_, err = a.Store.Subscribers.Change(ctx, s.ID, func(s *Subscriber) error {
		at := s.entryWithID(entry.ID)
		if at < 0 || s.Entries[at].Move == nil {
			return fault.ErrUnchanged
		}
		if stays {
			s.Entries[at].Move = nil
		} else {
			s.drop(func(e Entry) bool { return e.ID == entry.ID })
		}
		s.UpdatedAt = move.At
		return nil
	})
	return fault.UnlessMissing(err)
}

// receive adds the entry of from, with the changes of its Move, to the subscriber of another address. It returns
// fault.Conflict if that subscriber already has the component or all components.
func (a *Audience) receive(to *Subscriber, exists bool, address Address, from Subscriber, entry Entry) ([]topic.Message, error) {
	move, before := *entry.Move, entry
	before.Move, entry.Move = nil, nil
	optional.Assign(&entry.ComponentID, move.ComponentID)
	if move.Confirmed != nil {
		entry.confirm(*move.Confirmed, move.At)
	}
	if !exists || to.Gone() {
		*to = newSubscriber(address, from.DashboardID, from.Source, move.At)
	}
	if to.entryWithID(entry.ID) >= 0 {
		return nil, nil // the entry was received before the process was killed
	}
	if to.All() || to.entry(entry.ComponentID) >= 0 {
		return nil, fault.New(fault.Conflict, "The address is already subscribed to the component.")
	}
	to.drop(func(e Entry) bool { return e.Deleted })
	to.Entries, to.UpdatedAt = append(to.Entries, entry), move.At
	return audit.Entry(move.Origin, "subscriber.subscription.update", move.At, subscribed(from, &before), subscribed(*to, &entry)), nil
}
