package audience

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// ForgetComponent deletes the entries for a deleted component. The only entry of a subscriber is kept and marked as
// Deleted. But if the subscriber was created on the legacy interface, the subscriber is deleted. A repeated call has no
// effect. ForgetComponent also deletes the rows of these entries that concurrent calls have not deleted yet. So when
// ForgetComponent returns, the legacy interface shows none of these entries.
func (a *Audience) ForgetComponent(ctx context.Context, organization, component string) error {
	for _, channel := range topic.ChannelsOf(topic.Subscribers) {
		err := each(ctx, a.Store.Subscribers, of(organization, channel, find.Has(FieldSubscribed, component)), func(s Subscriber) error {
			return a.forget(ctx, s.ID, component)
		})
		if err != nil {
			return err
		}
		rows := find.Query{Where: of(organization, channel, find.Eq(FieldComponent, component)), Scan: IndexComponent}
		if _, err := a.Store.Subscriptions.DeleteMany(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

func (a *Audience) forget(ctx context.Context, subscriber, component string) error {
	_, err := a.Store.Subscribers.Change(ctx, subscriber, func(s *Subscriber) error {
		at := s.entry(component)
		switch {
		case at < 0 || s.Entries[at].Deleted:
			return fault.ErrUnchanged
		case len(s.Entries) == 1 && s.Source != FromLegacy:
			s.Entries = slices.Clone(s.Entries)
			s.Entries[at].Deleted = true
		default:
			s.drop(func(e Entry) bool { return e.ComponentID == component })
		}
		s.UpdatedAt = a.Now()
		return nil
	})
	return fault.UnlessMissing(err)
}

// ForgetDashboard deletes the subscribers of a deleted dashboard, and their addresses under the conditions of
// forgetAddress.
func (a *Audience) ForgetDashboard(ctx context.Context, organization, dashboard string) error {
	for _, channel := range topic.ChannelsOf(topic.Subscribers) {
		err := each(ctx, a.Store.Subscribers, of(organization, channel, find.Eq(FieldDashboard, dashboard)), func(s Subscriber) error {
			if err := a.unclaim(ctx, s.AddressID); err != nil {
				return err
			}
			if err := a.Store.Subscribers.Delete(ctx, s.ID, nil); err != nil {
				return fault.UnlessMissing(err)
			}
			return a.forgetAddress(ctx, s, false)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
