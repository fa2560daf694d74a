package audience

import (
	"context"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// AddressWritten updates the copies of an address in its subscribers. If the address was deleted, current is nil, and
// AddressWritten deletes the subscribers.
func (a *Audience) AddressWritten(ctx context.Context, id string, current *Address) error {
	return each(ctx, a.Store.Subscribers, []find.Condition{find.Eq(FieldAddress, id)}, func(s Subscriber) error {
		if current == nil {
			return fault.UnlessMissing(a.Store.Subscribers.Delete(ctx, s.ID, nil))
		}
		return a.copyAddress(ctx, s, *current)
	})
}

// copyAddress stores the copy of an address in a subscriber, if the copy differs. If Normal differs, it first stores a
// DeletedImport, so that no import creates a subscriber with the former address.
func (a *Audience) copyAddress(ctx context.Context, s Subscriber, address Address) error {
	if s.Address.equal(copyOf(address)) {
		return nil
	}
	if s.Address.Normal != address.Normal {
		if err := a.rememberDeletion(ctx, s); err != nil {
			return err
		}
	}
	_, err := a.Store.Subscribers.Change(ctx, s.ID, func(s *Subscriber) error {
		if s.Address.equal(copyOf(address)) {
			return fault.ErrUnchanged
		}
		if s.Address.Edition != address.Edition() {
			s.Request, s.OwnConfirmed = nil, false // the message with its link went to the former address
		}
		s.Address = copyOf(address)
		return nil
	})
	return fault.UnlessMissing(err)
}

// SubscriberWritten updates the rows of a subscriber's entries (see rowsOf), and makes the moves of entries. It deletes
// a subscriber that has no entries, or whose address was deleted while the subscriber was written. If the subscriber
// was deleted, current is nil, and SubscriberWritten deletes the rows.
func (a *Audience) SubscriberWritten(ctx context.Context, id string, current *Subscriber) error {
	if current == nil {
		return a.replaceRows(ctx, id, nil)
	}
	addresses, err := a.Store.Addresses.GetMany(ctx, []string{current.AddressID})
	if err != nil {
		return err
	}
	if current.Gone() || len(addresses) == 0 {
		return a.deleteGone(ctx, id, len(addresses) == 0)
	}
	if err := a.copyAddress(ctx, *current, addresses[0]); err != nil {
		return err
	}
	if current.moving() != nil {
		return a.makeMoves(ctx, *current) // makeMoves writes the subscriber, so SubscriberWritten is called again
	}
	return a.replaceRows(ctx, id, rowsOf(*current))
}

// deleteGone deletes a subscriber that has no entries or no address.
func (a *Audience) deleteGone(ctx context.Context, id string, noAddress bool) error {
	if err := a.replaceRows(ctx, id, nil); err != nil {
		return err
	}
	return fault.UnlessMissing(a.Store.Subscribers.Delete(ctx, id, func(s *Subscriber) ([]topic.Message, error) {
		if !noAddress && !s.Gone() {
			return nil, noSubscriber() // the subscriber was created again
		}
		return nil, nil
	}))
}

// rowOf returns the Subscription that copies an entry.
func rowOf(s Subscriber, e Entry) Subscription {
	return Subscription{
		ID: e.ID, OrganizationID: s.OrganizationID, Channel: s.Channel, LegacyID: e.LegacyID, AddressID: s.AddressID,
		ComponentID: e.ComponentID, Confirmed: e.Confirmed, CreatedAt: e.CreatedAt, SubscriberID: s.ID,
	}
}

// rowsOf returns the rows of a subscriber by id: a Subscription for each entry, except an entry for all components and
// a Deleted entry.
func rowsOf(s Subscriber) map[string]Subscription {
	rows := make(map[string]Subscription, len(s.Entries))
	for _, e := range s.Entries {
		if e.ComponentID != "" && !e.Deleted {
			rows[e.ID] = rowOf(s, e)
		}
	}
	return rows
}

// replaceRows replaces the stored rows of a subscriber by wanted. It writes only rows that differ. If an entry has
// moved to another subscriber, its row has the same key but is a row of the other subscriber. replaceRows does not
// delete that row.
func (a *Audience) replaceRows(ctx context.Context, subscriber string, wanted map[string]Subscription) error {
	there, err := a.Store.Subscriptions.Find(ctx, find.Query{Where: []find.Condition{find.Eq(FieldSubscriber, subscriber)}})
	if err != nil {
		return err
	}
	var gone []int64
	for _, row := range there.Items {
		if want, stays := wanted[row.ID]; !stays {
			gone = append(gone, row.LegacyID)
		} else if want.equal(row) {
			delete(wanted, row.ID)
		}
	}
	if len(gone) > 0 {
		where := []find.Condition{find.Eq(FieldSubscriber, subscriber), find.In(FieldLegacyID, gone...)}
		if _, err := a.Store.Subscriptions.DeleteMany(ctx, find.Query{Where: where}); err != nil {
			return err
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return a.Store.Subscriptions.UpsertMany(ctx, slices.Collect(maps.Values(wanted)))
}

func (s Subscription) equal(other Subscription) bool {
	same := s.CreatedAt.Equal(other.CreatedAt)
	s.CreatedAt = other.CreatedAt
	return same && s == other
}
