package endpoint

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// MaxConcerned is the most recipients a page of Concerned holds.
const MaxConcerned = 5000

// Concern describes a change of an event to those who know recipients.
type Concern struct {
	Kind       topic.Kind
	Channel    topic.Channel
	Components []string
	LegacyIDs  []int64 // only these endpoints, when any
	After      string
	Limit      int
}

// Concerned lists, by id, the organization's endpoints that a change is to be told to.
// Paused ones are left out; whether one is suppressed shows when it is resolved.
func (s *Endpoints) Concerned(ctx context.Context, organization string, concern Concern) (find.Page[Endpoint], error) {
	if !s.known(concern.Channel) || len(concern.Components) == 0 {
		return find.Page[Endpoint]{}, nil
	}
	if concern.Limit < 1 || concern.Limit > MaxConcerned {
		return find.Page[Endpoint]{}, fault.Field("limit", "must be from 1 to %d", MaxConcerned)
	}
	where := append(ofKind(organization, concern.Channel),
		find.Eq(FieldPaused, false),
		find.Has(FieldComponents, concern.Components...),
		find.Has(FieldKinds, AllKinds, string(concern.Kind)))
	if len(concern.LegacyIDs) > 0 {
		where = append(where, find.In(FieldLegacyID, concern.LegacyIDs...))
	}
	return s.store.Find(ctx, find.Query{Where: where, Limit: concern.Limit, After: concern.After, Scan: IndexConcerned})
}

// State is whether an endpoint may be sent to.
type State string

const (
	Active     State = "active"
	Paused     State = "paused"
	Suppressed State = "suppressed"
	Gone       State = "gone"
)

// Destination is where an endpoint lives right now. It holds secrets and is made
// for the answer to a peer only. Of one that is not Active, only ID and State are set,
// and what a log of the refusal shows.
type Destination struct {
	ID        string
	State     State
	Endpoint  Endpoint
	Dashboard Dashboard
	URL       string
	Secrets   []string
	// Unreadable is why there is neither, although the endpoint is active: its URL or secret was sealed with
	// another secret of the platform. Deliveries to it fail; those to others go on.
	Unreadable error
}

// Resolve tells where the endpoints live, in the order of ids.
func (s *Endpoints) Resolve(ctx context.Context, organization string, ids []string) ([]Destination, error) {
	found, err := s.store.Some(ctx, ids)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	dashboards, err := s.directory.Dashboards(ctx, organization, dashboardIDs.list)
	if err != nil {
		return nil, err
	}
	out := make([]Destination, len(ids))
	for i, id := range ids {
		out[i] = Destination{ID: id, State: Gone}
		e, found := endpoints[id]
		dashboard, shown := dashboards[e.DashboardID]
		if !found || !shown {
			continue
		}
		_, suppressed := suppressions[e.suppression()]
		out[i] = s.destination(e, dashboard, suppressed)
	}
	return out, nil
}

func (s *Endpoints) destination(e Endpoint, dashboard Dashboard, suppressed bool) Destination {
	d := Destination{ID: e.ID, State: Active, Endpoint: e, Dashboard: dashboard}
	switch {
	case e.Paused:
		d.State = Paused
	case suppressed:
		d.State = Suppressed
	}
	if d.State != Active {
		return d
	}
	if d.URL, d.Unreadable = s.box.Open(e.URL, e.ID); d.Unreadable == nil {
		d.Secrets, d.Unreadable = e.signing(s.box, s.now())
	}
	if d.Unreadable != nil {
		d.URL, d.Secrets = "", nil
	}
	return d
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
