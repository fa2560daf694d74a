package endpoint

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/google/uuid"
)

// Endpoints holds the operations of the domain.
type Endpoints struct {
	Options
}

// Options are the parts that the operations use.
type Options struct {
	Store         Store
	Services      Services
	Hosts         Hosts
	Box           Sealer
	AlertAfter    int // consecutive failures of an endpoint after which its management address is notified
	SuppressAfter int // consecutive failures of an endpoint
	Kinds         []Kind
	Links         Links
	Quota         Quota
	ConfirmWithin time.Duration // for visitors
	Log           *slog.Logger
	Now           func() time.Time // UTC, whole milliseconds
}

// New returns the operations.
func New(o Options) *Endpoints { return &Endpoints{o} }

// Draft is the input of Create.
type Draft struct {
	DashboardID     string
	URL             string
	ManagementEmail string
	ComponentIDs    []string
	EventKinds      []topic.Kind // nil: all
	Locked          bool
}

// Create stores an endpoint, which is verified immediately. The view has the URL and, for a signed kind,
// the secret.
func (s *Endpoints) Create(ctx context.Context, organization string, kind Kind, draft Draft) (View, error) {
	address, err := s.addressOf(kind, draft.URL)
	if err != nil {
		return View{}, err
	}
	components, err := componentSet(draft.ComponentIDs)
	if err != nil {
		return View{}, err
	}
	if err := checkEmail(draft.ManagementEmail); err != nil {
		return View{}, err
	}
	kinds, err := kindSet(draft.EventKinds)
	if err != nil {
		return View{}, err
	}
	dashboard, err := s.dashboard(ctx, organization, draft.DashboardID)
	if err != nil {
		return View{}, err
	}
	if err := onDashboard(dashboard, components); err != nil {
		return View{}, err
	}
	if err := s.checkLimit(ctx, organization, kind.Channel, address.Hash(), ""); err != nil {
		return View{}, err
	}
	if err := s.reconcile(ctx, organization, kind.Channel, address.Hash()); err != nil {
		return View{}, err
	}
	if err := s.dropRequest(ctx, organization, kind.Channel, dashboard.ID, address.Hash()); err != nil {
		return View{}, err
	}
	view, err := s.add(ctx, Endpoint{
		OrganizationID: organization, Channel: kind.Channel,
		DashboardID: dashboard.ID, DashboardName: dashboard.Name,
		ManagementEmail: draft.ManagementEmail, Locked: draft.Locked,
		ComponentIDs: components, EventKinds: kinds,
	}, address, kind.Signed)
	if err == nil {
		view.Endpoint, err = s.dropDeleted(ctx, view.Endpoint)
	}
	return view, err
}

// add stores a new endpoint. It stores the counters first, because outcomes of an endpoint without counters
// are not counted. It stores the endpoint last, and reads nothing afterwards, so that no error can keep the
// secret of a stored endpoint from its owner.
func (s *Endpoints) add(ctx context.Context, e Endpoint, address Address, signed bool) (View, error) {
	now := s.Now()
	e.ID, e.CreatedAt, e.UpdatedAt, e.VerifiedAt = uuid.Must(uuid.NewV7()).String(), now, now, &now
	s.setURL(&e, address)
	view := View{URL: address.URL()}
	if signed {
		view.Secret = newSecret()
		e.rotate(s.Box.Seal(view.Secret, e.ID), now)
	}
	var err error
	if e.LegacyID, err = s.Store.Next(ctx, "endpoint"); err != nil {
		return View{}, err
	}
	suppressed, err := s.Store.Suppressions.GetMany(ctx, []string{e.suppressionKey()})
	if err != nil {
		return View{}, err
	}
	view.Endpoint, view.Suppressed = e, len(suppressed) > 0
	if err := s.Store.Counters.Insert(ctx, Counters{ID: e.ID}); err != nil {
		return View{}, err
	}
	err = taken(s.Store.Endpoints.Insert(ctx, e, audit.Entry(audit.From(ctx), "", now, nil, &e)...))
	if fault.Is(err, fault.Conflict) { // after any other error the endpoint may be stored
		err = errors.Join(err, s.deleteCounters(context.WithoutCancel(ctx), e.ID))
	}
	return view, err
}

func (s *Endpoints) deleteCounters(ctx context.Context, id string) error {
	return unlessMissing(s.Store.Counters.Delete(ctx, id, nil))
}

func (s *Endpoints) setURL(e *Endpoint, address Address) {
	e.URL, e.URLHash, e.URLDisplay = s.Box.Seal(address.URL(), e.ID), address.Hash(), address.Display()
	e.Paced = pacedBy(e.Channel, address)
}

// checkLimit returns an error if one more unique URL exceeds the organization's limit. A URL that the
// organization already has counts once. If former is the hash of a URL that only one endpoint has, it does not
// count, because this endpoint leaves it. The limit is soft (specification, "Limits"): concurrent calls may
// exceed it together.
func (s *Endpoints) checkLimit(ctx context.Context, organization string, channel topic.Channel, urlHash, former string) error {
	same, err := s.Store.Endpoints.Find(ctx, find.Query{Where: ofURL(organization, channel, urlHash), Limit: 1})
	if err != nil || len(same.Items) > 0 {
		return err
	}
	usage, err := s.usage(ctx, organization, channel)
	if err != nil {
		return err
	}
	if former != "" {
		left, err := s.Store.Endpoints.Find(ctx, find.Query{Where: ofURL(organization, channel, former), Limit: 2})
		if err != nil {
			return err
		}
		if len(left.Items) == 1 {
			usage.UniqueEndpoints--
		}
	}
	if usage.UniqueEndpoints >= usage.Limit {
		return fault.New(fault.Forbidden, "Your organization may have %d unique endpoints of this kind. Delete one first.", usage.Limit)
	}
	return nil
}

func (s *Endpoints) usage(ctx context.Context, organization string, channel topic.Channel) (Usage, error) {
	limit, err := s.Services.UniqueEndpoints(ctx, organization)
	if err != nil {
		return Usage{}, err
	}
	count, err := s.Store.Endpoints.CountDistinct(ctx, FieldURLHash, find.Query{Where: ofKind(organization, channel), Scan: IndexURLs})
	return Usage{UniqueEndpoints: int(count), Limit: limit}, err
}

func (s *Endpoints) dashboard(ctx context.Context, organization, id string) (Dashboard, error) {
	dashboard, err := s.Services.Dashboard(ctx, organization, id)
	if fault.Is(err, fault.NotFound) {
		return Dashboard{}, fault.Wrap(fault.NotFound, err, "There is no such dashboard.")
	}
	return dashboard, err
}

// dropDeleted removes components that were deleted during the write of the endpoint, or the endpoint if its dashboard
// was deleted. ForgetComponent and ForgetDashboard could not find the endpoint then. An outage of the events service
// is no error, because dashboard and components existed before the write.
func (s *Endpoints) dropDeleted(ctx context.Context, e Endpoint) (Endpoint, error) {
	dashboard, err := s.dashboard(ctx, e.OrganizationID, e.DashboardID)
	if fault.Is(err, fault.NotFound) {
		return e, errors.Join(err, s.ForgetDashboard(ctx, e.OrganizationID, e.DashboardID))
	}
	if err != nil || onDashboard(dashboard, e.ComponentIDs) == nil {
		return e, nil
	}
	return s.Store.Endpoints.Change(ctx, e.ID, func(e *Endpoint) error {
		e.ComponentIDs = slices.DeleteFunc(e.ComponentIDs, func(id string) bool { return !slices.Contains(dashboard.Components, id) })
		return nil
	})
}

// taken names the cause of a Conflict.
func taken(err error) error {
	if fault.Is(err, fault.Conflict) {
		return fault.Wrap(fault.Conflict, err, "The endpoint is already subscribed on this dashboard.")
	}
	return err
}

func ofKind(organization string, channel topic.Channel, more ...find.Condition) []find.Condition {
	return append([]find.Condition{find.Eq(FieldOrganization, organization), find.Eq(FieldChannel, string(channel))}, more...)
}

func ofURL(organization string, channel topic.Channel, urlHash string) []find.Condition {
	return ofKind(organization, channel, find.Eq(FieldURLHash, urlHash))
}
