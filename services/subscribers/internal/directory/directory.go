// Package directory asks the events service about components, for the domain.
package directory

import (
	"context"

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

func component(c peer.Component) audience.Component {
	return audience.Component{
		ID: c.ID, LegacyID: c.LegacyID, Name: c.Name, Description: c.Description, Group: c.Group,
		Hidden: c.Hidden, HiddenFromNotifications: c.HiddenFromNotifications,
	}
}
