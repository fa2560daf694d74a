package catalog

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// EventWritten updates the data that depend on an event: the states by hand of its components, the pages that show it, and
// the rows of its links and timeline entries. It also removes links to components that were removed while the event was
// being written, because the removal of the component did not find these links. If current is nil, the event was deleted,
// and EventWritten also deletes its aliases.
//
// Pages are rendered before the link rows are written, because the former rows say which pages showed the event. The store
// repeats an interrupted call. A page records the version of the event that it shows (Seen), so the repetition does no
// harm.
func (c *Catalog) EventWritten(ctx context.Context, id string, current *Event) error {
	var links find.Page[LinkRow]
	var updates find.Page[UpdateRow]
	ofEvent := find.Query{Where: []find.Condition{find.Eq(FieldEvent, id)}}
	if err := together(
		func() (err error) { links, err = c.store.Links.Find(ctx, ofEvent); return err },
		func() (err error) { updates, err = c.store.Updates.Find(ctx, ofEvent); return err },
	); err != nil {
		return err
	}
	var gone []string
	wantedLinks, wantedUpdates := map[int64]LinkRow{}, map[int64]UpdateRow{}
	if current != nil {
		wantedLinks, wantedUpdates = current.linkRows(), current.updateRows()
		var err error
		if gone, err = c.dropGone(ctx, current.OrganizationID, links.Items, wantedLinks); err != nil {
			return err
		}
	}
	if err := cmp.Or(c.endOverridesBy(ctx, current), c.publishEvent(ctx, id, links.Items, current)); err != nil {
		return err
	}
	err := together(
		func() error {
			return replaceRows(ctx, c.store.Links, id, links.Items, wantedLinks, func(row LinkRow) int64 { return row.LegacyID })
		},
		func() error {
			return replaceRows(ctx, c.store.Updates, id, updates.Items, wantedUpdates, func(row UpdateRow) int64 { return row.LegacyID })
		},
	)
	switch {
	case err != nil:
		return err
	case current == nil:
		return c.DropAliasesTo(ctx, FieldEvent, id)
	case len(gone) == 0:
		return nil
	}
	return c.unlink(ctx, current.OrganizationID, id, gone...)
}

// dropGone removes from wanted the rows whose component does not exist, and returns the ids of these components. It
// examines only links that have no row yet. Once a link has a row, the removal of its component finds the link.
func (c *Catalog) dropGone(ctx context.Context, organization string, there []LinkRow, wanted map[int64]LinkRow) (gone []string, err error) {
	fresh := maps.Clone(wanted)
	delete(fresh, 0) // the row with the legacy id 0 has no component
	for _, row := range there {
		delete(fresh, row.LegacyID)
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	var ids []string
	for _, row := range fresh {
		ids = append(ids, row.ComponentID)
	}
	components, err := c.store.ComponentsOf(ctx, organization, ids)
	for id, row := range fresh {
		if _, exists := components[row.ComponentID]; !exists && err == nil {
			gone = append(gone, row.ComponentID)
			delete(wanted, id)
		}
	}
	return gone, err
}

// replaceRows changes the stored rows of an event to the wanted rows. there has the stored rows. It writes only rows that
// differ.
func replaceRows[R any](ctx context.Context, rows Collection[R], event string, there []R, wanted map[int64]R, id func(R) int64) error {
	var gone []int64
	for _, row := range there {
		if want, stays := wanted[id(row)]; !stays {
			gone = append(gone, id(row))
		} else if reflect.DeepEqual(row, want) {
			delete(wanted, id(row))
		}
	}
	if len(gone) > 0 {
		where := []find.Condition{find.Eq(FieldEvent, event), find.In(FieldLegacyID, gone...)}
		if _, err := rows.DeleteMany(ctx, find.Query{Where: where}); err != nil {
			return err
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return rows.UpsertMany(ctx, slices.SortedFunc(maps.Values(wanted), func(a, b R) int { return int(id(a) - id(b)) }))
}

// publishEvent updates the pages of the dashboards that show the event now, or that showed the event according to the former
// rows of its links.
func (c *Catalog) publishEvent(ctx context.Context, id string, former []LinkRow, current *Event) error {
	written, places := placesOf(id, former, current)
	slices.Sort(places.components)
	holding, err := c.DashboardsHolding(ctx, places.organization, slices.Compact(places.components))
	if err != nil {
		return err
	}
	return c.published.Follow(ctx, places.on(holding), written)
}

// eventPlaces is where an event is shown, or was shown before a write.
type eventPlaces struct {
	organization           string
	components, dashboards []string // dashboards: DashboardIDs of an event without components
}

func placesOf(id string, former []LinkRow, current *Event) (Written, eventPlaces) {
	var at eventPlaces
	written := Written{Event: id, Current: current}
	for _, link := range former {
		at.organization, written.Former = link.OrganizationID, &link.Event
		at.dashboards = append(at.dashboards, link.DashboardIDs...)
		if link.ComponentID != "" {
			at.components = append(at.components, link.ComponentID)
		}
	}
	if current != nil {
		at.organization = current.OrganizationID
		at.components = append(at.components, current.ComponentIDs()...)
		at.dashboards = append(at.dashboards, current.DashboardIDs...)
	}
	return written, at
}

// on returns the ids of all dashboards that show or showed the event. holding has the ids of the dashboards by component.
func (p *eventPlaces) on(holding map[string][]string) []string {
	ids := slices.Clone(p.dashboards)
	for _, component := range p.components {
		ids = append(ids, holding[component]...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
