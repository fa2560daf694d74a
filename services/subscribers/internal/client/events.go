// Package client calls other services for the domain.
package client

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// Events implements audience.Events with the events service.
type Events struct{ Peer peer.Events }

// ComponentsByID implements audience.Events.
func (e Events) ComponentsByID(ctx context.Context, organization string, ids []string) (map[string]audience.Component, error) {
	found, err := e.Peer.Components(ctx, organization, peer.ComponentQuery{IDs: ids})
	components := make(map[string]audience.Component, len(found))
	for _, f := range found {
		components[f.ID] = audience.Component{
			ID: f.ID, LegacyID: f.LegacyID, Name: f.Name, Description: f.Description, Group: f.Group,
			Hidden: f.Hidden, HiddenFromNotifications: f.HiddenFromNotifications,
		}
	}
	return components, err
}

// ComponentIDs implements audience.Events.
func (e Events) ComponentIDs(ctx context.Context, organization string, where []find.Condition) ([]string, error) {
	found, err := e.Peer.Components(ctx, organization, peer.ComponentQuery{Where: where})
	ids := make([]string, len(found))
	for i, component := range found {
		ids[i] = component.ID
	}
	return ids, err
}

// Dashboards implements audience.Events.
func (e Events) Dashboards(ctx context.Context, organization string, ids []string) ([]audience.Dashboard, error) {
	components, err := e.Peer.Components(ctx, organization, peer.ComponentQuery{IDs: ids})
	if err != nil {
		return nil, err
	}
	shown := map[string][]string{}
	for _, component := range components {
		for _, dashboard := range component.Dashboards {
			shown[dashboard] = append(shown[dashboard], component.ID)
		}
	}
	if len(shown) == 0 {
		return nil, nil
	}
	found, err := e.Peer.Dashboards(ctx, organization, slices.Sorted(maps.Keys(shown)))
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
