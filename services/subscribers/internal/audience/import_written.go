package audience

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// ImportWritten stores the subscribers of an import, then their rows, and deletes the import. It can be repeated, also by another
// process. A subscriber that was deleted after the import began does not remain stored. If another request changes a subscriber
// before its rows are stored, SubscriberWritten updates the rows.
func (a *Audience) ImportWritten(ctx context.Context, id string, current *Import) error {
	if current == nil {
		return nil
	}
	if stored, err := a.Store.Imports.GetMany(ctx, []string{id}); err != nil || len(stored) == 0 {
		return err
	} else if current = &stored[0]; !current.Inserted {
		if _, err := a.Store.Subscribers.InsertMany(ctx, current.Subscribers); err != nil {
			return err
		}
		if err := a.deleteAgain(ctx, *current); err != nil {
			return err
		}
		_, err := a.Store.Imports.Change(ctx, id, func(i *Import) error {
			i.Inserted = true
			return nil
		})
		return fault.UnlessMissing(err) // the change of the import calls ImportWritten again
	}
	before, err := a.imported(ctx, *current)
	if err != nil {
		return err
	}
	var rows []Subscription
	for _, s := range before {
		rows = slices.AppendSeq(rows, maps.Values(rowsOf(s)))
	}
	if _, err := a.Store.Subscriptions.InsertMany(ctx, rows); err != nil {
		return err
	}
	if err := a.followImport(ctx, *current, before); err != nil {
		return err
	}
	return fault.UnlessMissing(a.Store.Imports.Delete(ctx, id, nil))
}

// imported returns the subscribers that an import has stored and that are still stored, by id.
func (a *Audience) imported(ctx context.Context, record Import) (map[string]Subscriber, error) {
	subscribers, err := find.ByKey(ctx, a.Store.Subscribers, find.Values(record.Subscribers, subscriberKey), subscriberKey)
	maps.DeleteFunc(subscribers, func(_ string, s Subscriber) bool { return s.ImportID != record.ID })
	return subscribers, err
}

// followImport calls SubscriberWritten for the subscribers of an import that differ from before or were deleted, or
// whose address was changed or deleted.
func (a *Audience) followImport(ctx context.Context, record Import, before map[string]Subscriber) error {
	now, err := a.imported(ctx, record)
	if err != nil {
		return err
	}
	addresses, err := find.ByKey(ctx, a.Store.Addresses, find.Values(record.Subscribers, func(s Subscriber) string { return s.AddressID }), addressKey)
	if err != nil {
		return err
	}
	for id, was := range before {
		s, exists := now[id]
		address, hasAddress := addresses[was.AddressID]
		switch {
		case !exists:
			err = a.SubscriberWritten(ctx, id, nil)
		case !hasAddress || !s.Address.equal(copyOf(address)) || !reflect.DeepEqual(was, s):
			err = a.SubscriberWritten(ctx, id, &s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
