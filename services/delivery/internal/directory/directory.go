// Package directory asks the services that know recipients on behalf of package
// dispatch: integrations for endpoints, subscribers for people.
package directory

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// Directory implements dispatch.Recipients.
type Directory struct{ peer peer.Recipients }

// New makes a directory of one service.
func New(client *peer.Client) Directory { return Directory{peer.Recipients{Client: client}} }

// Concerned implements dispatch.Recipients.
func (d Directory) Concerned(ctx context.Context, organization string, concern dispatch.Concern) (dispatch.Concerned, error) {
	page, err := d.peer.Concerned(ctx, organization, peer.Concern(concern))
	if err != nil {
		return dispatch.Concerned{}, err
	}
	out := dispatch.Concerned{Recipients: make([]dispatch.Recipient, len(page.Recipients)), Next: page.Next}
	for i, r := range page.Recipients {
		out.Recipients[i] = dispatch.Recipient(r)
	}
	return out, nil
}

// Resolve implements dispatch.Recipients.
func (d Directory) Resolve(ctx context.Context, organization string, ids []string) ([]dispatch.Destination, error) {
	found, err := d.peer.Resolve(ctx, organization, ids)
	if err != nil {
		return nil, err
	}
	out := make([]dispatch.Destination, len(found))
	for i, f := range found {
		out[i] = dispatch.Destination{
			ID: f.ID, State: dispatch.State(f.State),
			Dashboard:  dispatch.Dashboard{ID: f.Dashboard.ID, Name: f.Dashboard.Name, URL: f.Dashboard.URL},
			Components: f.Components, URL: f.URL, URLHash: f.URLHash, URLDisplay: f.URLDisplay,
			Secrets: f.Secrets, Address: f.Address, Manage: f.Manage,
		}
	}
	return out, nil
}
