package catalog

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// rowsAtOnce is the number of rows that EventsWritten collects in memory before it writes them.
const rowsAtOnce = 500

// EventsWritten is EventWritten for several events of an organization, by id. It renders each page once, and writes the
// rows of the events together. It does not read the stored rows of an event of version 1, because they cannot differ.
func (c *Catalog) EventsWritten(ctx context.Context, current map[string]*Event) error {
	ids := slices.Sorted(maps.Keys(current))
	places := make(map[string]eventPlaces, len(ids))
	written := make(map[string]Written, len(ids))
	var organization string
	var components []string
	for _, id := range ids {
		event := current[id]
		var former []LinkRow
		if event == nil || event.Version > 1 {
			found, err := c.store.Links.Find(ctx, rowsOf(id))
			if err != nil {
				return err
			}
			former = found.Items
		}
		at := eventPlaces{}
		written[id], at = placesOf(id, former, event)
		places[id] = at
		organization = cmp.Or(organization, at.organization)
		components = append(components, at.components...)
	}
	slices.Sort(components)
	components = slices.Compact(components)
	var exist map[string]Component
	var holding map[string][]string
	err := together(
		func() (err error) { exist, err = c.store.ComponentsOf(ctx, organization, components); return err },
		func() (err error) { holding, err = c.DashboardsHolding(ctx, organization, components); return err },
	)
	if err != nil {
		return err
	}
	on := map[string][]Written{}
	for _, id := range ids {
		if err := c.endOverridesBy(ctx, current[id]); err != nil {
			return err
		}
		at := places[id]
		for _, dashboard := range at.on(holding) {
			on[dashboard] = append(on[dashboard], written[id])
		}
	}
	for _, dashboard := range slices.Sorted(maps.Keys(on)) {
		if err := c.published.Follow(ctx, []string{dashboard}, on[dashboard]...); err != nil {
			return err
		}
	}
	return c.writeRows(ctx, organization, ids, current, exist)
}

func rowsOf(event string) find.Query {
	return find.Query{Where: []find.Condition{find.Eq(FieldEvent, event)}}
}

// writeRows writes the rows of the events. It removes links to components that do not exist. For a deleted event, it
// deletes the rows and the aliases.
func (c *Catalog) writeRows(ctx context.Context, organization string, ids []string, current map[string]*Event, exist map[string]Component) error {
	var links []LinkRow
	var updates []UpdateRow
	flush := func(least int) error {
		if len(links)+len(updates) < least {
			return nil
		}
		err := together(
			func() error { return c.store.Links.UpsertMany(ctx, links) },
			func() error { return c.store.Updates.UpsertMany(ctx, updates) },
		)
		links, updates = links[:0], updates[:0]
		return err
	}
	var removed []string
	gone := map[string][]string{}
	for _, id := range ids {
		event := current[id]
		if event == nil {
			removed = append(removed, id)
			continue
		}
		wantedLinks, wantedUpdates := event.linkRows(), event.updateRows()
		for row, link := range wantedLinks {
			if _, exists := exist[link.ComponentID]; link.ComponentID != "" && !exists {
				gone[id] = append(gone[id], link.ComponentID)
				delete(wantedLinks, row)
			}
		}
		if event.Version > 1 {
			if err := c.replaceAll(ctx, id, wantedLinks, wantedUpdates); err != nil {
				return err
			}
			continue
		}
		links = slices.AppendSeq(links, maps.Values(wantedLinks))
		updates = slices.AppendSeq(updates, maps.Values(wantedUpdates))
		if err := flush(rowsAtOnce); err != nil {
			return err
		}
	}
	if err := flush(1); err != nil {
		return err
	}
	for some := range slices.Chunk(removed, find.MaxMerged) {
		which := find.Query{Where: []find.Condition{find.In(FieldEvent, some...)}}
		err := together(
			func() error { _, err := c.store.Links.DeleteMany(ctx, which); return err },
			func() error { _, err := c.store.Updates.DeleteMany(ctx, which); return err },
			func() error { return c.DropAliasesTo(ctx, FieldEvent, some...) },
		)
		if err != nil {
			return err
		}
	}
	for id, components := range gone {
		if err := c.unlink(ctx, organization, id, components...); err != nil {
			return err
		}
	}
	return nil
}

// replaceAll replaces the stored rows of an event by links and updates.
func (c *Catalog) replaceAll(ctx context.Context, id string, links map[int64]LinkRow, updates map[int64]UpdateRow) error {
	return together(
		func() error {
			there, err := c.store.Links.Find(ctx, rowsOf(id))
			if err != nil {
				return err
			}
			return replaceRows(ctx, c.store.Links, id, there.Items, links, func(row LinkRow) int64 { return row.LegacyID })
		},
		func() error {
			there, err := c.store.Updates.Find(ctx, rowsOf(id))
			if err != nil {
				return err
			}
			return replaceRows(ctx, c.store.Updates, id, there.Items, updates, func(row UpdateRow) int64 { return row.LegacyID })
		},
	)
}
