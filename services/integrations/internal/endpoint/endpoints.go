package endpoint

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/google/uuid"
)

// Policy is the installation's.
type Policy struct {
	SuppressAfter int // consecutive failures of an endpoint
}

// Endpoints are the operations of the domain.
type Endpoints struct {
	store     Store
	directory Directory
	hosts     Hosts
	box       Sealer
	policy    Policy
	now       func() time.Time
}

// New makes the domain; now is in UTC with milliseconds.
func New(store Store, directory Directory, hosts Hosts, box Sealer, policy Policy, now func() time.Time) *Endpoints {
	return &Endpoints{store: store, directory: directory, hosts: hosts, box: box, policy: policy, now: now}
}

// Draft is what a new endpoint is made of.
type Draft struct {
	DashboardID     string
	URL             string
	ManagementEmail string
	ComponentIDs    []string
	EventKinds      []topic.Kind // nil: all
	Locked          bool
}

// Create makes an endpoint that is verified from the start. The record shows its
// URL and, for a signed kind, its secret.
func (s *Endpoints) Create(ctx context.Context, organization string, kind Kind, draft Draft) (Record, error) {
	address, err := s.addressOf(kind, "url", draft.URL)
	if err != nil {
		return Record{}, err
	}
	components, err := componentSet(draft.ComponentIDs)
	if err != nil {
		return Record{}, err
	}
	if err := checkEmail(draft.ManagementEmail); err != nil {
		return Record{}, err
	}
	kinds, err := kindSet(draft.EventKinds)
	if err != nil {
		return Record{}, err
	}
	dashboard, err := s.dashboard(ctx, organization, draft.DashboardID)
	if err != nil {
		return Record{}, err
	}
	if err := onDashboard(dashboard, components); err != nil {
		return Record{}, err
	}
	if err := s.fits(ctx, organization, kind, address.Hash(), 0); err != nil {
		return Record{}, err
	}
	if err := s.settle(ctx, organization, kind.Channel, address.Hash()); err != nil {
		return Record{}, err
	}
	record, err := s.add(ctx, Endpoint{
		OrganizationID: organization, Channel: kind.Channel,
		DashboardID: dashboard.ID, DashboardName: dashboard.Name,
		ManagementEmail: draft.ManagementEmail, Locked: draft.Locked,
		ComponentIDs: components, EventKinds: kinds,
	}, address, kind.Signed)
	if err == nil {
		record.Endpoint, err = s.without(ctx, record.Endpoint)
	}
	return record, err
}

// add stores a new endpoint. Its tally comes first: outcomes are counted for tallies
// that exist, and one without an endpoint is never looked at. The endpoint comes last, lest
// it be there and its secret with nobody.
func (s *Endpoints) add(ctx context.Context, e Endpoint, address Address, signed bool) (Record, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Record{}, fault.Wrap(fault.Internal, err, "no id could be made")
	}
	now := s.now()
	e.ID, e.CreatedAt, e.UpdatedAt, e.VerifiedAt = id.String(), now, now, &now
	s.place(&e, address)
	record := Record{URL: address.URL()}
	if signed {
		record.Secret = newSecret()
		e.rotate(s.box.Seal(record.Secret, e.ID), now)
	}
	if e.LegacyID, err = s.store.NextLegacyID(ctx); err != nil {
		return Record{}, err
	}
	suppressed, err := s.store.Suppressions(ctx, []string{e.suppression()})
	if err != nil {
		return Record{}, err
	}
	record.Suppressed = len(suppressed) > 0
	if err := s.store.AddTally(ctx, Tally{ID: e.ID}); err != nil {
		return Record{}, err
	}
	err = taken(s.store.Add(ctx, e))
	if fault.Is(err, fault.Conflict) { // after any other error the endpoint may be there
		err = errors.Join(err, s.store.RemoveTally(context.WithoutCancel(ctx), e.ID))
	}
	if err != nil {
		return Record{}, err
	}
	record.Endpoint = e
	return record, nil
}

// place gives the endpoint a URL.
func (s *Endpoints) place(e *Endpoint, address Address) {
	e.URL, e.URLHash, e.URLDisplay = s.box.Seal(address.URL(), e.ID), address.Hash(), address.Display()
}

// fits holds the organization's limit of unique URLs: one that it has already costs
// nothing, a new one takes a slot when released others have been given back. It is
// a soft limit (specification, "Limits"): calls at the very same time may pass it together.
func (s *Endpoints) fits(ctx context.Context, organization string, kind Kind, urlHash string, released int) error {
	has, err := s.subscribed(ctx, organization, kind.Channel, urlHash, 1)
	if err != nil || has > 0 {
		return err
	}
	limit, err := s.directory.UniqueEndpoints(ctx, organization)
	if err != nil {
		return err
	}
	count, err := s.store.CountURLs(ctx, organization, kind.Channel)
	if err != nil {
		return err
	}
	if count-released+1 > limit {
		return fault.New(fault.Forbidden, "Your organization may have %d unique endpoints of this kind.", limit)
	}
	return nil
}

// subscribed counts the endpoints of the organization with the URL, up to atMost.
func (s *Endpoints) subscribed(ctx context.Context, organization string, channel topic.Channel, urlHash string, atMost int) (int, error) {
	page, err := s.store.Find(ctx, find.Query{Where: ofURL(organization, channel, urlHash), Limit: atMost})
	return len(page.Items), err
}

// dashboard looks a dashboard up and names it when it is not there.
func (s *Endpoints) dashboard(ctx context.Context, organization, id string) (Dashboard, error) {
	dashboard, err := s.directory.Dashboard(ctx, organization, id)
	if fault.Is(err, fault.NotFound) {
		return Dashboard{}, fault.Wrap(fault.NotFound, err, "There is no such dashboard.")
	}
	return dashboard, err
}

func onDashboard(dashboard Dashboard, components []string) error {
	for _, id := range components {
		if !slices.Contains(dashboard.Components, id) {
			return fault.Field("componentIds", "%s is not a component of the dashboard", id)
		}
	}
	return nil
}

// without takes components away again that were deleted while the endpoint was written:
// who deleted them could not see it then. It looks at them once more, after the write.
func (s *Endpoints) without(ctx context.Context, e Endpoint) (Endpoint, error) {
	dashboard, err := s.directory.Dashboard(ctx, e.OrganizationID, e.DashboardID)
	if err != nil || onDashboard(dashboard, e.ComponentIDs) == nil {
		return e, nil // a moment ago they were there; that is undone by no outage
	}
	return s.store.Change(ctx, e.ID, func(e *Endpoint) error {
		e.ComponentIDs = slices.DeleteFunc(e.ComponentIDs, func(id string) bool { return !slices.Contains(dashboard.Components, id) })
		return nil
	})
}

func taken(err error) error {
	if fault.Is(err, fault.Conflict) {
		return fault.Wrap(fault.Conflict, err, "This endpoint is already subscribed on this dashboard.")
	}
	return err
}

func ofKind(organization string, channel topic.Channel) []find.Condition {
	return []find.Condition{find.Eq(FieldOrganization, organization), find.Eq(FieldChannel, string(channel))}
}

func ofURL(organization string, channel topic.Channel, urlHash string) []find.Condition {
	return append(ofKind(organization, channel), find.Eq(FieldURLHash, urlHash))
}
