package endpoint

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Concerned returns one page, in order of id, of the organization's endpoints that a change concerns.
// It leaves out paused endpoints, but not suppressed ones: Resolve returns that state.
func (s *Endpoints) Concerned(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientPage, error) {
	if query.Channel.Keeper() != topic.Integrations || len(query.Components) == 0 {
		return topic.RecipientPage{Recipients: []topic.Recipient{}}, nil
	}
	if query.Limit < 1 || query.Limit > topic.MaxRecipients {
		return topic.RecipientPage{}, fault.Field("limit", "must be from 1 to %d", topic.MaxRecipients)
	}
	where := append(ofKind(organization, query.Channel),
		find.Eq(FieldPaused, false),
		find.Has(FieldComponents, query.Components...),
		find.Has(FieldKinds, AllKinds, string(query.Kind)))
	if len(query.Endpoints) > 0 {
		where = append(where, find.In(FieldLegacyID, query.Endpoints...))
	}
	found, err := s.store.Find(ctx, find.Query{Where: where, Limit: query.Limit, After: query.After, Scan: IndexConcerned})
	if err != nil {
		return topic.RecipientPage{}, err
	}
	page := topic.RecipientPage{Recipients: make([]topic.Recipient, len(found.Items)), Next: found.Next}
	for i, e := range found.Items {
		page.Recipients[i] = topic.Recipient{ID: e.ID, Destination: e.URLHash}
	}
	return page, nil
}

// Resolve returns the current destinations of the endpoints, in the order of ids. A destination that is not
// active has no URL and no secret. unreadable holds an error for each active endpoint, by id, whose URL or
// secret cannot be decrypted, because it was sealed with another secret of the platform. Such a destination
// has no URL either, so that only deliveries to this endpoint fail.
func (s *Endpoints) Resolve(ctx context.Context, organization string, ids []string) (out []topic.Destination, unreadable map[string]error, err error) {
	if len(ids) > topic.MaxRecipients {
		return nil, nil, fault.New(fault.Invalid, "At most %d recipients can be resolved at once.", topic.MaxRecipients)
	}
	found, err := s.store.Some(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	endpoints := make(map[string]Endpoint, len(found))
	var own []Endpoint
	var dashboardIDs unique
	for _, e := range found {
		if e.OrganizationID != organization {
			continue
		}
		endpoints[e.ID] = e
		own = append(own, e)
		dashboardIDs.add(e.DashboardID)
	}
	suppressions, err := s.suppressions(ctx, own)
	if err != nil {
		return nil, nil, err
	}
	dashboards, err := s.directory.Dashboards(ctx, organization, dashboardIDs.list)
	if err != nil {
		return nil, nil, err
	}
	out, unreadable = make([]topic.Destination, len(ids)), make(map[string]error)
	for i, id := range ids {
		out[i] = topic.Destination{ID: id, State: topic.RecipientGone, Components: []string{}}
		e, found := endpoints[id]
		dashboard, shown := dashboards[e.DashboardID]
		if !found || !shown {
			continue
		}
		_, suppressed := suppressions[e.suppression()]
		if out[i], err = s.destination(e, dashboard, suppressed); err != nil {
			unreadable[id] = err
		}
	}
	return out, unreadable, nil
}

// destination returns the endpoint's destination. After an error it has neither URL nor secrets.
func (s *Endpoints) destination(e Endpoint, dashboard Dashboard, suppressed bool) (topic.Destination, error) {
	d := topic.Destination{
		ID: e.ID, Channel: e.Channel, State: topic.RecipientActive,
		Dashboard:  topic.Dashboard{ID: dashboard.ID, Name: dashboard.Name, URL: dashboard.URL},
		Components: e.ComponentIDs, URLHash: e.URLHash, URLDisplay: e.URLDisplay,
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
	url, err := s.box.Open(e.URL, e.ID)
	if err != nil {
		return d, err
	}
	secrets, err := e.signing(s.box, s.now())
	if err != nil {
		return d, err
	}
	d.URL, d.Secrets = url, secrets
	return d, nil
}

// unique is a list without repetitions.
type unique struct {
	list []string
	seen map[string]bool
}

func (u *unique) add(text string) {
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	if !u.seen[text] {
		u.seen[text] = true
		u.list = append(u.list, text)
	}
}
