package endpoint

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Filter narrows a list; empty fields do not.
type Filter struct {
	DashboardID string
	URLHash     string
	Limit       int
	After       string
}

// List gives a page of the organization's endpoints of a kind, oldest first.
func (s *Endpoints) List(ctx context.Context, organization string, kind Kind, filter Filter) (find.Page[Record], Usage, error) {
	var page find.Page[Record]
	where := ofKind(organization, kind.Channel)
	if filter.DashboardID != "" {
		if _, err := s.dashboard(ctx, organization, filter.DashboardID); err != nil {
			return page, Usage{}, err
		}
		where = append(where, find.Eq(FieldDashboard, filter.DashboardID))
	}
	if filter.URLHash != "" {
		where = append(where, find.Eq(FieldURLHash, filter.URLHash))
	}
	found, err := s.store.Find(ctx, find.Query{Where: where, Limit: filter.Limit, After: filter.After})
	if err != nil {
		return page, Usage{}, err
	}
	records := make([]Record, len(found.Items))
	for i, e := range found.Items {
		records[i].Endpoint = e
	}
	if err := s.complete(ctx, organization, records); err != nil {
		return page, Usage{}, err
	}
	page.Items, page.Next = records, found.Next
	usage, err := s.usage(ctx, organization, kind)
	return page, usage, err
}

func (s *Endpoints) usage(ctx context.Context, organization string, kind Kind) (Usage, error) {
	limit, err := s.directory.UniqueEndpoints(ctx, organization)
	if err != nil {
		return Usage{}, err
	}
	count, err := s.store.CountURLs(ctx, organization, kind.Channel)
	return Usage{UniqueEndpoints: count, Limit: limit}, err
}

// judge completes one record.
func (s *Endpoints) judge(ctx context.Context, record Record) (Record, error) {
	records := []Record{record}
	err := s.complete(ctx, record.Endpoint.OrganizationID, records)
	return records[0], err
}

// complete adds to records what is not the endpoint's own: its tally, whether its
// URL is suppressed, and its dashboard's name of today. The name of the last write
// will do while the events service cannot be reached.
func (s *Endpoints) complete(ctx context.Context, organization string, records []Record) error {
	var ids, dashboards []string
	var endpoints []Endpoint
	for _, record := range records {
		ids = append(ids, record.Endpoint.ID)
		endpoints = append(endpoints, record.Endpoint)
		dashboards = append(dashboards, record.Endpoint.DashboardID)
	}
	tallies, err := s.store.Tallies(ctx, ids)
	if err != nil {
		return err
	}
	suppressions, err := s.suppressions(ctx, endpoints)
	if err != nil {
		return err
	}
	names, err := s.directory.Dashboards(ctx, organization, dashboards)
	if err != nil && !fault.Is(err, fault.Unavailable) {
		return err
	}
	for i := range records {
		e := &records[i].Endpoint
		tally := tallies[e.ID]
		records[i].ConsecutiveFailures, records[i].LastSuccessAt = tally.ConsecutiveFailures, tally.LastSuccessAt
		_, records[i].Suppressed = suppressions[e.suppression()]
		if dashboard, found := names[e.DashboardID]; found {
			e.DashboardName = dashboard.Name
		}
	}
	return nil
}
