package endpoint

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Filter restricts a list of endpoints. An empty field does not restrict the list.
type Filter struct {
	DashboardID string
	URLHash     string
	State       State
	Limit       int
	After       string
}

// List returns one page of the organization's endpoints of a kind, oldest first, and the Usage of the kind.
func (s *Endpoints) List(ctx context.Context, organization string, kind Kind, filter Filter) (find.Page[View], Usage, error) {
	where := ofKind(organization, kind.Channel)
	if filter.DashboardID != "" {
		if _, err := s.dashboard(ctx, organization, filter.DashboardID); err != nil {
			return find.Page[View]{}, Usage{}, err
		}
		where = append(where, find.Eq(FieldDashboard, filter.DashboardID))
	}
	if filter.URLHash != "" {
		where = append(where, find.Eq(FieldURLHash, filter.URLHash))
	}
	read := func() (find.Page[Endpoint], error) {
		return s.Store.Endpoints.Find(ctx, find.Query{Where: where, Limit: filter.Limit, After: filter.After})
	}
	if filter.State != "" {
		read = func() (find.Page[Endpoint], error) { return s.listState(ctx, organization, kind.Channel, filter) }
	}
	found, err := read()
	if err != nil {
		return find.Page[View]{}, Usage{}, err
	}
	views, err := s.views(ctx, organization, found.Items...)
	if err != nil {
		return find.Page[View]{}, Usage{}, err
	}
	usage, err := s.usage(ctx, organization, kind.Channel)
	return find.Page[View]{Items: views, Next: found.Next}, usage, err
}

// views returns the views of the endpoints, with their counters, suppressions and the current names of their
// dashboards.
func (s *Endpoints) views(ctx context.Context, organization string, endpoints ...Endpoint) ([]View, error) {
	counters, err := s.Store.Results.Of(ctx, find.Values(endpoints, endpointKey))
	if err != nil {
		return nil, err
	}
	suppressions, err := s.suppressions(ctx, endpoints...)
	if err != nil {
		return nil, err
	}
	if endpoints, err = s.named(ctx, organization, endpoints); err != nil {
		return nil, err
	}
	views := make([]View, len(endpoints))
	for i, e := range endpoints {
		_, suppressed := suppressions[e.suppressionKey()]
		c := counters[e.ID]
		views[i] = View{Endpoint: e, Suppressed: suppressed, ConsecutiveFailures: c.ConsecutiveFailures, FirstFailureAt: c.FirstFailureAt, LastSuccessAt: c.LastSuccessAt}
	}
	return views, nil
}

// named returns the endpoints with the current names of their dashboards. If the events service does not respond, the
// endpoints keep their stored names.
func (s *Endpoints) named(ctx context.Context, organization string, endpoints []Endpoint) ([]Endpoint, error) {
	names, err := s.Services.DashboardsByID(ctx, organization, find.Values(endpoints, func(e Endpoint) string { return e.DashboardID }))
	if err != nil && !fault.Is(err, fault.Unavailable) {
		return nil, err
	}
	endpoints = slices.Clone(endpoints)
	for i := range endpoints {
		if dashboard, found := names[endpoints[i].DashboardID]; found {
			endpoints[i].DashboardName = dashboard.Name
		}
	}
	return endpoints, nil
}
