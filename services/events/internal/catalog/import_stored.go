package catalog

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// stored returns the stored events of the lines, by key.
func (i *importing) stored(ctx context.Context, lines []*importLine) (map[string]Event, error) {
	events := map[string]Event{}
	for some := range slices.Chunk(find.Values(lines, func(l *importLine) string { return l.Key }), find.MaxMerged) {
		found, err := i.c.store.Events.Find(ctx, owned(i.command.Organization, find.Query{Where: []find.Condition{find.In(FieldImportKey, some...)}}))
		if err != nil {
			return nil, err
		}
		for _, event := range found.Items {
			events[event.Import.Key] = event
		}
	}
	return events, nil
}

// deleted returns the keys of the lines whose events a member has deleted.
func (i *importing) deleted(ctx context.Context, lines []*importLine) (map[string]bool, error) {
	found, err := i.c.store.DeletedImports.GetMany(ctx, find.Values(lines, func(l *importLine) string { return deletedImportID(i.command.Organization, l.Key) }))
	keys := make(map[string]bool, len(found))
	for _, one := range found {
		keys[one.Key] = true
	}
	return keys, err
}

// takenIDs returns, by key, the faults of the lines with an externalId that another open event has, or with a publicId that
// another event has. The other event may be stored or in the import.
func (i *importing) takenIDs(ctx context.Context, lines []*importLine) (map[string]error, error) {
	faults := map[string]error{}
	for _, unique := range []struct {
		field, name string
		value       func(*importLine) string
	}{
		{FieldPublicID, "publicId", func(l *importLine) string { return l.PublicID }},
		{FieldExternalID, "externalId", func(l *importLine) string {
			if l.Status.Closed() {
				return ""
			}
			return l.ExternalID
		}},
	} {
		owners, wanted := map[string]string{}, []string{} // owners: key of the line, by value
		for _, l := range lines {
			value := unique.value(l)
			if value == "" {
				continue
			}
			if _, twice := owners[value]; twice {
				faults[l.Key] = fault.Field(unique.name, "is that of another event of the import")
				continue
			}
			owners[value] = l.Key
			wanted = append(wanted, value)
		}
		for some := range slices.Chunk(wanted, find.MaxMerged) {
			rows, err := i.c.store.Events.Keys(ctx, owned(i.command.Organization, find.Query{Where: []find.Condition{find.In(unique.field, some...)}}), unique.field, FieldImportKey)
			if err != nil {
				return nil, err
			}
			for _, row := range rows {
				value, _ := row.Values[0].(string)
				if key := owners[value]; row.Values[1] != key {
					faults[key] = fault.Field(unique.name, "is that of another event")
				}
			}
		}
	}
	return faults, nil
}

// store writes the events with one WriteMany. The first write includes the audit entry of the import, which names all
// events. If WriteMany makes only some of the writes, the entry also names an event that is not written because another
// write changed it at the same moment. The legacy ids of new events are in the order of their starts.
func (i *importing) store(ctx context.Context, creates, updates []*Event) error {
	slices.SortStableFunc(creates, func(a, b *Event) int { return a.StartAt.Compare(b.StartAt) })
	all := slices.Concat(creates, updates)
	if err := i.number(ctx, creates, all); err != nil {
		return err
	}
	now := i.c.now()
	record := importRecord{OrganizationID: i.command.Organization, RunID: i.in.RunID, Created: []string{}, Updated: []string{}, Deleted: []string{}}
	writes := make([]find.Write[Event], len(all))
	for n, event := range all {
		writes[n] = find.Write[Event]{Key: event.ID, Item: event}
		if n < len(creates) {
			record.Created = append(record.Created, event.ID)
			i.tried[event.Import.Key] = event.ID
		} else {
			record.Updated = append(record.Updated, event.ID)
			i.updated[event.Import.Key] = true
		}
	}
	if !i.noted {
		writes[0].Messages = audit.Entry(audit.From(ctx), ActionImport, now, nil, &record)
	}
	versions := make(map[string]int64, len(updates))
	for _, event := range updates {
		versions[event.ID] = event.Version - 1
	}
	err := i.c.store.Events.WriteMany(ctx, slices.Sorted(maps.Keys(versions)), func(stored map[string]*Event) ([]find.Write[Event], error) {
		for id, version := range versions {
			if event := stored[id]; event == nil || event.Version != version {
				return nil, fault.New(fault.Conflict, "The event has changed.")
			}
		}
		return writes, nil
	})
	i.noted = i.noted || errors.Is(err, find.ErrPartlyWritten)
	return err
}

// number assigns the legacy ids of new events, links and entries.
func (i *importing) number(ctx context.Context, creates, all []*Event) error {
	var ids childIDs
	for _, event := range all {
		for n := range event.Links {
			ids.links.left += missingID(event.Links[n].LegacyID)
		}
		for n := range event.Timeline {
			ids.entries.left += missingID(event.Timeline[n].LegacyID)
		}
	}
	var next int64
	reserve := func(counter string, n int64, first *int64) func() error {
		return func() (err error) {
			if n > 0 {
				*first, err = i.c.store.Next(ctx, counter, n)
			}
			return err
		}
	}
	err := together(
		reserve(eventIDs, int64(len(creates)), &next), reserve(linkIDs, ids.links.left, &ids.links.next), reserve(entryIDs, ids.entries.left, &ids.entries.next),
	)
	for _, event := range creates {
		event.LegacyID = next
		next++
	}
	for _, event := range all {
		err = cmp.Or(err, ids.assign(ctx, i.c, event, 1))
	}
	return err
}

func missingID(id int64) int64 {
	if id == 0 {
		return 1
	}
	return 0
}
