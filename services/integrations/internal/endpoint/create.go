package endpoint

import (
	"context"
	"errors"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/outcome"
)

// Draft is the input of Create.
type Draft struct {
	URL             string
	ManagementEmail string
	ComponentIDs    []string
	EventKinds      []topic.Kind // nil: all
	Locked          bool
	Format          topic.Format   // empty: topic.FormatBellbuoy
	MinIntervalMs   *int           // nil: the default of the format
	Template        *TemplateInput // with topic.FormatTemplate only
}

// Create stores a verified endpoint on a dashboard. After Create has found the dashboard, it calls read, which returns the
// input. The view has the URL and, for a signed kind, the secret.
func (s *Endpoints) Create(ctx context.Context, organization string, kind Kind, dashboardID string, read func() (Draft, error)) (View, error) {
	dashboard, err := s.dashboard(ctx, organization, dashboardID)
	if err != nil {
		return View{}, err
	}
	draft, err := read()
	if err != nil {
		return View{}, err
	}
	e, address, err := s.draft(kind, dashboard, draft)
	if err != nil {
		return View{}, err
	}
	e.ID, e.OrganizationID, e.URLHash = topic.NewID(), organization, address.Hash()
	if err := e.setTemplate(draft.Template, s.Box, s.Now()); err != nil {
		return View{}, err
	}
	if err := s.conflict(ctx, e, e.URLHash, nil); err != nil {
		return View{}, err // so the most frequent error is found without the cost of a claim
	}
	var view View
	err = s.claimed(ctx, e, e.URLHash, "", func() error {
		if err := s.reconcile(ctx, organization, kind.Channel, e.URLHash); err != nil {
			return err
		}
		if err := s.dropRequest(ctx, organization, kind.Channel, dashboard.ID, e.URLHash); err != nil {
			return err
		}
		view, err = s.add(ctx, e, address, kind.Signed)
		return err
	})
	if err != nil {
		return View{}, err
	}
	if view.Endpoint, err = s.dropDeleted(ctx, view.Endpoint); err == nil && len(view.Endpoint.ComponentIDs) == 0 {
		err = s.withoutComponents(ctx, view.Endpoint)
	}
	return view, err
}

// draft checks the input of Create. It returns the endpoint and its URL. The URL is not set in the endpoint yet.
func (s *Endpoints) draft(kind Kind, dashboard topic.DashboardRecord, in Draft) (Endpoint, Address, error) {
	e := Endpoint{
		Channel: kind.Channel, DashboardID: dashboard.ID, DashboardName: dashboard.Name,
		ManagementEmail: in.ManagementEmail, Locked: in.Locked, Format: in.Format, MinIntervalMs: in.MinIntervalMs,
	}
	address, err := s.addressOf(kind, in.URL)
	if err != nil {
		return e, address, err
	}
	if e.ComponentIDs, err = componentSet(in.ComponentIDs); err != nil {
		return e, address, err
	}
	if err = CheckEmail(in.ManagementEmail); err != nil {
		return e, address, err
	}
	if e.EventKinds, err = kindSet(in.EventKinds); err != nil {
		return e, address, err
	}
	if err = checkInterval(in.MinIntervalMs); err != nil {
		return e, address, err
	}
	return e, address, onDashboard(dashboard, e.ComponentIDs)
}

// add stores a new endpoint. It stores the counters first, because outcomes of an endpoint without counters are not
// counted. It stores the endpoint last, so that no later step of add can fail and hide the secret of a stored endpoint.
func (s *Endpoints) add(ctx context.Context, e Endpoint, address Address, signed bool) (View, error) {
	now := s.Now()
	e.Version, e.CreatedAt, e.UpdatedAt, e.VerifiedAt = 1, now, now, &now
	s.setURL(&e, address)
	view := View{URL: address.URL()}
	if signed {
		view.Secret = seal.SigningSecret()
		e.Secrets = []Secret{{Sealed: s.Box.Seal(view.Secret, e.ID), CreatedAt: now}}
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
	if err := s.Store.Results.Counters.Insert(ctx, outcome.Counters{ID: e.ID}); err != nil {
		return View{}, err
	}
	err = s.Store.Endpoints.Insert(ctx, e, audit.Entry(audit.From(ctx), "", now, nil, &e)...)
	if fault.Is(err, fault.Conflict) { // after any other error the endpoint may be stored
		revoked := fault.Wrap(fault.Unavailable, err, "The request took too long. Try again shortly.")
		err = errors.Join(s.conflict(ctx, e, e.URLHash, revoked), s.Store.Results.Delete(context.WithoutCancel(ctx), e.ID))
	}
	return view, err
}

// conflict returns the error for an endpoint e that cannot be stored with the URL that has urlHash. If a verified endpoint on
// the dashboard of e has this URL, the error is a Conflict. If no verified endpoint there has it, conflict returns otherwise.
func (s *Endpoints) conflict(ctx context.Context, e Endpoint, urlHash string, otherwise error) error {
	other, err := s.one(ctx, e.OrganizationID, e.Channel, Target{DashboardID: e.DashboardID, URLHash: urlHash})
	switch {
	case err == nil && other.VerifiedAt != nil:
		if e.Template != nil {
			return fault.Wrap(fault.Conflict, otherwise,
				"The endpoint is already subscribed on this dashboard. For another service at this URL, add a query that the receiver ignores, such as ?for=payments.")
		}
		return fault.Wrap(fault.Conflict, otherwise, "The endpoint is already subscribed on this dashboard.")
	case err == nil || fault.Is(err, fault.NotFound):
		return otherwise
	}
	return err
}

// withoutComponents deletes a new endpoint whose components were all deleted while Create stored the endpoint, and returns an
// error. If the endpoint was changed meanwhile, withoutComponents does not delete it and returns nil.
func (s *Endpoints) withoutComponents(ctx context.Context, e Endpoint) error {
	err := s.remove(ctx, e, func(e *Endpoint) ([]topic.Message, error) {
		return audit.Entry(audit.From(ctx), "", s.Now(), e, nil), nil
	})
	if errors.Is(err, errAgain) {
		return nil
	}
	if fault.UnlessMissing(err) != nil {
		return err
	}
	return fault.Field("componentIds", "must be components of the dashboard; they were deleted meanwhile")
}
