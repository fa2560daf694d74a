// Package directory answers the domain's questions about what other services own:
// dashboards and their components (events), and the organization's limits (identity).
// It asks synchronously, for a caller must find the component made one call ago.
// Only a dashboard's name and address, which hundreds of shards of one event ask for
// at once, are remembered, for a second.
package directory

import (
	"context"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

const (
	freshness  = time.Second
	maxEntries = 10_000
)

// Directory implements endpoint.Directory.
type Directory struct {
	events   peer.Events
	identity peer.Identity
	now      func() time.Time

	mu      sync.Mutex
	entries map[key]entry
}

type key struct{ organization, dashboard string }

type entry struct {
	dashboard endpoint.Dashboard
	until     time.Time
}

// New makes a directory that asks the two services.
func New(events peer.Events, identity peer.Identity, now func() time.Time) *Directory {
	return &Directory{events: events, identity: identity, now: now, entries: map[key]entry{}}
}

// Dashboard implements endpoint.Directory.
func (d *Directory) Dashboard(ctx context.Context, organization, id string) (endpoint.Dashboard, error) {
	found, err := d.events.Dashboard(ctx, organization, id)
	if err != nil {
		return endpoint.Dashboard{}, err
	}
	dashboard := view(found)
	for _, component := range found.Components {
		dashboard.Components = append(dashboard.Components, component.ID)
	}
	return dashboard, nil
}

// Dashboards implements endpoint.Directory.
func (d *Directory) Dashboards(ctx context.Context, organization string, ids []string) (map[string]endpoint.Dashboard, error) {
	known, unknown := d.remembered(organization, ids)
	if len(unknown) == 0 {
		return known, nil
	}
	found, err := d.events.Dashboards(ctx, organization, unknown)
	if err != nil {
		return known, err
	}
	for _, dashboard := range found {
		known[dashboard.ID] = view(dashboard)
	}
	d.remember(organization, found)
	return known, nil
}

// UniqueEndpoints implements endpoint.Directory.
func (d *Directory) UniqueEndpoints(ctx context.Context, organization string) (int, error) {
	limits, err := d.identity.Limits(ctx, organization)
	return limits.UniqueEndpoints, err
}

// remembered parts ids into dashboards known well enough and ids to ask for, each once.
func (d *Directory) remembered(organization string, ids []string) (map[string]endpoint.Dashboard, []string) {
	now := d.now()
	known := map[string]endpoint.Dashboard{}
	asked := map[string]bool{}
	var unknown []string
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		e, found := d.entries[key{organization, id}]
		switch {
		case asked[id]:
		case !found || now.After(e.until):
			unknown = append(unknown, id)
		default:
			known[id] = e.dashboard
		}
		asked[id] = true
	}
	return known, unknown
}

// remember keeps what exists only: a dashboard may be made at any moment.
func (d *Directory) remember(organization string, found []peer.Dashboard) {
	until := d.now().Add(freshness)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.entries)+len(found) > maxEntries {
		clear(d.entries)
	}
	for _, dashboard := range found {
		d.entries[key{organization, dashboard.ID}] = entry{dashboard: view(dashboard), until: until}
	}
}

func view(d peer.Dashboard) endpoint.Dashboard {
	return endpoint.Dashboard{ID: d.ID, LegacyID: d.LegacyID, Name: d.Name, Slug: d.Slug, URL: d.URL}
}
