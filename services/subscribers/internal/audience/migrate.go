package audience

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Sweep completes what a killed process did not complete, and what an earlier version of the program has stored: it stored
// subscriptions without subscribers. It runs at the start, before requests are served.
func (a *Audience) Sweep(ctx context.Context) error {
	ctx = audit.With(ctx, audit.Origin{})
	page, err := a.Store.Addresses.Find(ctx, find.Query{Where: []find.Condition{find.Eq(FieldRemoved, true)}})
	if err != nil {
		return err
	}
	for _, address := range page.Items {
		if err := a.purge(ctx, address); err != nil {
			return err
		}
	}
	for more := true; more; {
		if more, err = a.adopt(ctx); err != nil {
			return err
		}
	}
	return a.renew(ctx)
}

// renew stores the form in which addresses of an earlier version are compared now. Two addresses of an organization that
// have become the same stay two.
func (a *Audience) renew(ctx context.Context) error {
	return each(ctx, a.Store.Addresses, []find.Condition{find.Eq(FieldStale, true)}, func(address Address) error {
		_, err := a.Store.Addresses.Change(ctx, address.ID, func(address *Address) error {
			normal, ok := kindOf(address.Channel).normal(address.Text)
			if !ok || normal == address.Normal {
				return fault.ErrUnchanged
			}
			address.Normal = normal
			return nil
		})
		if fault.Is(err, fault.Conflict) {
			a.Log.WarnContext(ctx, "Two addresses of an organization are the same. Delete one of them.", "organization", address.OrganizationID, "address", address.ID)
			return nil
		}
		return fault.UnlessMissing(err)
	})
}

// adopt makes subscribers of the subscriptions of some addresses that have none. It stores the subscribers before the
// subscriptions name them, so it can be killed and repeated. It returns false if there are no such subscriptions.
func (a *Audience) adopt(ctx context.Context) (more bool, err error) {
	orphans, err := a.Store.Subscriptions.Find(ctx, find.Query{Where: []find.Condition{find.Absent(FieldSubscriber)}, Limit: batch})
	if err != nil || len(orphans.Items) == 0 {
		return false, err
	}
	ids := make([]string, len(orphans.Items))
	for i, s := range orphans.Items {
		ids[i] = s.AddressID
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	found, err := a.Store.Addresses.GetMany(ctx, ids)
	if err != nil {
		return false, err
	}
	addresses := make(map[string]Address, len(found))
	for _, address := range found {
		addresses[address.ID] = address
	}
	all, err := a.Store.Subscriptions.Find(ctx, find.Query{Where: []find.Condition{find.In(FieldAddress, ids...)}, Scan: IndexPair})
	if err != nil {
		return false, err
	}
	byAddress := map[string][]Subscription{}
	for _, s := range all.Items {
		if s.SubscriberID == "" {
			byAddress[s.AddressID] = append(byAddress[s.AddressID], s)
		}
	}
	return true, a.adoptAll(ctx, addresses, byAddress)
}

func (a *Audience) adoptAll(ctx context.Context, addresses map[string]Address, byAddress map[string][]Subscription) error {
	dashboards := map[string]string{}
	var made []Subscriber
	var rows []Subscription
	for id, subscriptions := range byAddress {
		address, exists := addresses[id]
		if !exists {
			if err := a.deleteOrphans(ctx, id); err != nil {
				return err
			}
			continue
		}
		dashboard, known := dashboards[address.OrganizationID]
		if !known {
			var err error
			if dashboard, err = a.firstDashboard(ctx, address.OrganizationID); err != nil {
				return err
			}
			dashboards[address.OrganizationID] = dashboard
		}
		s := adopted(address, dashboard, subscriptions)
		made = append(made, s)
		for _, e := range s.Entries {
			rows = append(rows, rowOf(s, e))
		}
	}
	stored, err := a.Store.Subscribers.InsertMany(ctx, made)
	if err != nil {
		return err
	}
	if len(stored) < len(made) {
		if err := a.merge(ctx, made); err != nil {
			return err
		}
	}
	return a.Store.Subscriptions.UpsertMany(ctx, rows)
}

// adopted returns the subscriber that subscriptions of an earlier version have become.
func adopted(address Address, dashboard string, subscriptions []Subscription) Subscriber {
	slices.SortFunc(subscriptions, func(x, y Subscription) int { return int(x.LegacyID - y.LegacyID) })
	s := newSubscriber(address, dashboard, FromLegacy, subscriptions[0].CreatedAt)
	for _, old := range subscriptions {
		e := Entry{ID: old.ID, LegacyID: old.LegacyID, ComponentID: old.ComponentID, CreatedAt: old.CreatedAt, Anywhere: true}
		e.confirm(old.Confirmed, old.CreatedAt)
		s.Entries = append(s.Entries, e)
	}
	return s
}

// merge adds entries to subscribers that exist already: an earlier process of this version stored them before it was
// killed, or one of the earlier version has added a subscription since.
func (a *Audience) merge(ctx context.Context, made []Subscriber) error {
	for _, wanted := range made {
		_, err := a.Store.Subscribers.Upsert(ctx, wanted.ID, func(s *Subscriber, exists bool) ([]topic.Message, error) {
			if !exists || s.Gone() {
				*s = wanted
				return nil, nil
			}
			before := len(s.Entries)
			for _, e := range wanted.Entries {
				if !s.All() && s.entryWithID(e.ID) < 0 && s.entry(e.ComponentID) < 0 {
					s.Entries = append(s.Entries, e)
				}
			}
			if len(s.Entries) == before {
				return nil, fault.ErrUnchanged
			}
			return nil, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteOrphans deletes subscriptions whose address does not exist.
func (a *Audience) deleteOrphans(ctx context.Context, address string) error {
	_, err := a.Store.Subscriptions.DeleteMany(ctx, find.Query{
		Where: []find.Condition{find.Eq(FieldAddress, address), find.Absent(FieldSubscriber)}, Scan: IndexPair,
	})
	return err
}

// firstDashboard asks events for the first dashboard until it answers: at the start of the platform it may not run yet.
func (a *Audience) firstDashboard(ctx context.Context, organization string) (string, error) {
	for {
		first, err := a.Events.FirstDashboard(ctx, organization)
		if !fault.Is(err, fault.Unavailable) {
			return first.ID, err
		}
		a.Log.WarnContext(ctx, "Waiting for the events service: subscriptions of an earlier version need a dashboard.", "error", err)
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(time.Second):
		}
	}
}
