package endpoint

import (
	"context"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Concerned returns one page of the organization's endpoints that a change concerns, ordered by id. A change of an event
// without components concerns the endpoints of its dashboards. Concerned omits paused and unverified endpoints, and those
// that have lost their last component. It includes suppressed endpoints; Resolve returns that they are suppressed.
func (s *Endpoints) Concerned(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientPage, error) {
	if query.Channel.RecipientService() != topic.Integrations || len(query.Components)+len(query.AllOf) == 0 {
		return topic.RecipientPage{Recipients: []topic.Recipient{}}, nil
	}
	where := ofKind(organization, query.Channel)
	for _, rule := range rules(query) {
		if rule.condition != nil {
			where = append(where, *rule.condition)
		}
	}
	rows, next, err := find.KeyPage(ctx, s.Store.Endpoints, find.Query{Where: where, Limit: query.Limit, After: query.After, Scan: IndexConcerned}, FieldLimit)
	return topic.RecipientPage{Next: next, Recipients: find.Values(rows, func(row find.Row) topic.Recipient {
		limit, _ := row.Values[0].(string)
		return topic.Recipient{ID: row.Key, Destination: limit}
	})}, err
}

// Resolve returns the current destinations of the endpoints, in the order of query.IDs. The destination of a mail about
// an endpoint is the endpoint's management address. A destination that is not active has no URL and no secrets. If the
// URL, a secret or the template cannot be decrypted, for example because it was sealed with another BELLBUOY_SECRET, Resolve
// logs this and the destination has no URL. So only deliveries to this endpoint fail.
func (s *Endpoints) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	ids := query.IDs
	found, err := s.Store.Endpoints.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	endpoints := make(map[string]Endpoint, len(found))
	var dashboardIDs []string
	for _, e := range found {
		if e.OrganizationID == organization {
			endpoints[e.ID] = e
			dashboardIDs = append(dashboardIDs, e.DashboardID)
		}
	}
	suppressions, err := s.suppressions(ctx, slices.Collect(maps.Values(endpoints))...)
	if err != nil {
		return nil, err
	}
	dashboards, err := s.Services.DashboardsByID(ctx, organization, dashboardIDs)
	if err != nil {
		return nil, err
	}
	intervals, err := s.intervals(ctx, organization, query.Channel)
	if err != nil {
		return nil, err
	}
	out := make([]topic.Destination, len(ids))
	for i, id := range ids {
		out[i] = topic.Destination{ID: id, State: topic.RecipientGone, Components: []string{}}
		e, found := endpoints[id]
		dashboard, shown := dashboards[e.DashboardID]
		if !found || !shown {
			continue
		}
		if query.Channel == topic.Email {
			out[i] = s.withLinks(e.management(dashboard), e, query.Kind)
			continue
		}
		if e.VerifiedAt == nil {
			continue
		}
		_, suppressed := suppressions[e.suppressionKey()]
		if out[i], err = s.destination(e, dashboard, suppressed); err != nil {
			s.Log.ErrorContext(ctx, "An endpoint cannot be decrypted: it was sealed with another BELLBUOY_SECRET, or it is damaged.",
				"endpoint", id, "organization", organization, "error", err)
		}
		out[i].MinIntervalMs = intervals[e.URLHash]
	}
	return out, nil
}

// Version returns the version of the organization's destinations, and the queried dashboards that exist. A service that
// reads the version and then resolves endpoints can cache these destinations until the version changes.
func (s *Endpoints) Version(ctx context.Context, organization string, query topic.VersionQuery) (topic.RecipientsVersion, error) {
	revision, err := s.Store.Revision(ctx, organization)
	if err != nil {
		return topic.RecipientsVersion{}, err
	}
	version := topic.RecipientsVersion{Version: revision, Dashboards: []topic.Dashboard{}}
	dashboards, err := s.Services.DashboardsByID(ctx, organization, query.Dashboards)
	for _, dashboard := range dashboards {
		version.Dashboards = append(version.Dashboards, dashboard.Reference())
	}
	return version, err
}

// management returns the destination of mail about the endpoint. The destination is active in every state of the
// endpoint. The destination has no URLHash, because failures of the receiver at the URL must not affect the mail.
func (e Endpoint) management(dashboard topic.DashboardRecord) topic.Destination {
	return topic.Destination{
		ID: e.ID, Channel: topic.Email, State: topic.RecipientActive, Components: []string{},
		Dashboard: dashboard.Reference(),
		Address:   e.ManagementEmail, Link: dashboard.URL,
	}
}

// destination returns the endpoint's destination. If it returns an error, the destination has no URL and no secrets.
func (s *Endpoints) destination(e Endpoint, dashboard topic.DashboardRecord, suppressed bool) (topic.Destination, error) {
	d := topic.Destination{
		ID: e.ID, Channel: e.Channel, State: topic.RecipientActive,
		Dashboard:  dashboard.Reference(),
		Components: e.ComponentIDs, URLHash: e.URLHash, URLDisplay: e.URLDisplay, Paced: e.Limit(), Format: e.Format,
	}
	if d.Components == nil {
		d.Components = []string{} // in a Destination nil means all components
	}
	switch {
	case e.Paused:
		d.State = topic.RecipientPaused
		return d, nil
	case suppressed:
		d.State = topic.RecipientSuppressed
		return d, nil
	}
	url, err := s.Box.Open(e.URL, e.ID)
	if err != nil {
		return d, err
	}
	secrets, err := e.signing(s.Box, s.Now())
	if err != nil {
		return d, err
	}
	if d.Template, err = e.Template.destination(s.Box, e.ID); err != nil {
		return d, err
	}
	d.URL, d.Secrets = url, secrets
	return d, nil
}
