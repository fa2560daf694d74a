// Package directory asks the events service about components, for the domain.
package directory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// Directory implements audience.Components.
type Directory struct{ events peer.Events }

// New makes the directory.
func New(events peer.Events) Directory { return Directory{events} }

// ByID implements audience.Components.
func (d Directory) ByID(ctx context.Context, organization string, ids []string) (map[string]audience.Component, error) {
	found, err := d.events.Components(ctx, organization, peer.ComponentQuery{IDs: ids})
	components := make(map[string]audience.Component, len(found))
	for _, c := range found {
		components[c.ID] = component(c)
	}
	return components, err
}

// ByLegacyID implements audience.Components.
func (d Directory) ByLegacyID(ctx context.Context, organization string, id int64) (audience.Component, error) {
	found, err := d.events.Components(ctx, organization, peer.ComponentQuery{LegacyIDs: []int64{id}})
	if err != nil {
		return audience.Component{}, err
	}
	if len(found) == 0 {
		return audience.Component{}, fault.New(fault.NotFound, "There is no such service.")
	}
	return component(found[0]), nil
}

// Where implements audience.Components.
func (d Directory) Where(ctx context.Context, organization string, where []find.Condition) ([]audience.Component, error) {
	found, err := d.events.Components(ctx, organization, peer.ComponentQuery{Where: where})
	components := make([]audience.Component, len(found))
	for i, c := range found {
		components[i] = component(c)
	}
	return components, err
}

// Dashboards implements audience.Components.
func (d Directory) Dashboards(ctx context.Context, organization string, ids []string) ([]audience.Dashboard, error) {
	components, err := d.events.Components(ctx, organization, peer.ComponentQuery{IDs: ids})
	if err != nil {
		return nil, err
	}
	shown := map[string][]string{}
	for _, c := range components {
		for _, dashboard := range c.Dashboards {
			shown[dashboard] = append(shown[dashboard], c.ID)
		}
	}
	if len(shown) == 0 {
		return nil, nil
	}
	found, err := d.events.Dashboards(ctx, organization, slices.Sorted(maps.Keys(shown)))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b peer.Dashboard) int { return cmp.Compare(a.LegacyID, b.LegacyID) })
	dashboards := make([]audience.Dashboard, len(found))
	for i, f := range found {
		dashboards[i] = audience.Dashboard{ID: f.ID, Name: f.Name, URL: f.URL, Components: shown[f.ID]}
	}
	return dashboards, nil
}

func component(c peer.Component) audience.Component {
	return audience.Component{
		ID: c.ID, LegacyID: c.LegacyID, Name: c.Name, Description: c.Description, Group: c.Group,
		Hidden: c.Hidden, HiddenFromNotifications: c.HiddenFromNotifications,
	}
}
