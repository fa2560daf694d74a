package endpoint

import (
	"context"
	"errors"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/link"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Visit is the content of the page that a link opens.
type Visit struct {
	Kind          Kind
	URLDisplay    string
	DashboardID   string
	DashboardName string
	Components    []link.Choice // components that the dashboard shows; Chosen: the endpoint is notified about the component
	Paused        bool
	Suppressed    bool
	// Secret is set only after a verification or a rotation.
	Secret string
	// Manage and Unsubscribe are the tokens of the links to manage and to delete the endpoint. They work after the verification.
	Manage, Unsubscribe string
}

// About implements page.Visit. The locale of a visitor is unknown.
func (v Visit) About() (dashboardID, locale string) { return v.DashboardID, "" }

// Show returns a function that returns the Visit of a link with the purpose. The function changes nothing, because
// programs also open the links in mail.
func (s *Endpoints) Show(purpose string) func(ctx context.Context, token string) (Visit, error) {
	return func(ctx context.Context, token string) (Visit, error) {
		e, _, err := s.linked(ctx, purpose, token)
		if err != nil {
			return refused(e), err
		}
		dashboard, err := s.linkedDashboard(ctx, purpose, e)
		if err != nil {
			return refused(e), err
		}
		return s.visit(ctx, e, dashboard)
	}
}

// refused returns a Visit that has only the id of the dashboard, or nothing if the endpoint is unknown. It is the Visit of a
// link that is not accepted, and of a deleted endpoint.
func refused(e Endpoint) Visit { return Visit{DashboardID: e.DashboardID} }

// linked returns the endpoint of a link. It returns an error if the link is not accepted. allow repeats the check for a
// newer state of the endpoint. See link.Links.Open.
func (s *Endpoints) linked(ctx context.Context, purpose, token string) (e Endpoint, allow func(Endpoint) error, err error) {
	return s.Links.Open(ctx, purpose, token, s.Store.Endpoints.Get, func(e Endpoint) error {
		switch {
		case (purpose == ToVerify) != (e.VerifiedAt == nil), purpose == ToVerify && (e.Request == nil || e.expired(s.Now())):
			return link.Ended()
		case e.Locked:
			return fault.New(fault.Forbidden, "The operator of the dashboard has locked this endpoint.")
		}
		return nil
	})
}

// visit returns the Visit of an endpoint.
func (s *Endpoints) visit(ctx context.Context, e Endpoint, dashboard topic.DashboardRecord) (Visit, error) {
	suppressions, err := s.suppressions(ctx, e)
	if err != nil {
		return Visit{}, err
	}
	_, suppressed := suppressions[e.suppressionKey()]
	v := Visit{
		Kind: s.kind(e.Channel), URLDisplay: e.URLDisplay, DashboardID: e.DashboardID, DashboardName: dashboard.Name,
		Paused: e.Paused, Suppressed: suppressed,
		Manage: s.Links.Token(ToManage, e), Unsubscribe: s.Links.Token(ToUnsubscribe, e),
	}
	v.Components = link.Choices(dashboard, func(id string) bool { return slices.Contains(e.ComponentIDs, id) })
	return v, nil
}

// linkedDashboard returns the dashboard of an endpoint. It returns an error if the dashboard was deleted, because then
// no link works. A link to verify works only while the dashboard offers the kind to visitors. The other links work
// without an offer, so that a visitor can unsubscribe.
func (s *Endpoints) linkedDashboard(ctx context.Context, purpose string, e Endpoint) (topic.DashboardRecord, error) {
	dashboard, err := s.dashboard(ctx, e.OrganizationID, e.DashboardID)
	if err != nil || purpose != ToVerify {
		return dashboard, link.EndedIfMissing(err)
	}
	offer, err := s.offer(ctx, e.OrganizationID, dashboard)
	if err == nil {
		_, err = offer.Kind(string(e.Channel))
	}
	if fault.Is(err, fault.NotFound) {
		err = fault.Wrap(fault.Forbidden, errors.Join(ErrNotTaken, err), "The dashboard takes no endpoints of this kind from visitors any more.")
	}
	return dashboard, err
}

// Verify verifies the endpoint that a visitor has requested. For a signed kind, the Visit has the secret, which is not
// shown again. Each link works once.
func (s *Endpoints) Verify(ctx context.Context, token string) (Visit, error) {
	for {
		e, allow, err := s.linked(ctx, ToVerify, token)
		if err != nil {
			return refused(e), err
		}
		dashboard, err := s.linkedDashboard(ctx, ToVerify, e)
		if err != nil {
			return refused(e), err
		}
		visit, err := s.visit(ctx, e, dashboard) // before the write, because after it an error would hide the secret
		if err != nil {
			return Visit{}, err
		}
		if visit.Kind.Signed {
			visit.Secret = seal.SigningSecret()
		}
		claimed := false
		err = s.claimed(ctx, e, e.URLHash, "", func() error {
			claimed = true
			return s.verify(ctx, e, allow, dashboard, visit.Secret)
		})
		switch {
		case errors.Is(err, errAgain):
			continue
		case !claimed && fault.Is(err, fault.Forbidden): // at the limit; a visitor cannot delete other endpoints
			return refused(e), fault.Wrap(fault.Forbidden, errors.Join(ErrFull, err), "The dashboard has no room for another endpoint of this kind. Tell its operator, and use the link again later.")
		case err == nil:
			_, err = s.dropDeleted(ctx, e)
		}
		return visit, link.EndedIfMissing(err)
	}
}

// verify stores that e, which a visitor has requested, is verified now. It removes the components that the dashboard no
// longer has, and returns a Gone fault if none is left. It returns errAgain if e was changed after it was read.
func (s *Endpoints) verify(ctx context.Context, e Endpoint, allow func(Endpoint) error, dashboard topic.DashboardRecord, secret string) error {
	if err := s.reconcile(ctx, e.OrganizationID, e.Channel, e.URLHash); err != nil {
		return err
	}
	if err := s.Store.Results.Ensure(ctx, e.ID); err != nil {
		return err
	}
	_, err := s.Store.Endpoints.Update(ctx, e.ID, func(current *Endpoint) ([]topic.Message, error) {
		if current.Version != e.Version {
			return nil, errAgain
		}
		if err := allow(*current); err != nil {
			return nil, err
		}
		before, now := *current, s.Now()
		current.ComponentIDs = slices.DeleteFunc(slices.Clone(current.ComponentIDs), func(id string) bool { return !dashboard.Has(id) })
		if len(current.ComponentIDs) == 0 {
			return nil, fault.New(fault.Gone, "The dashboard no longer has the components of this endpoint. Subscribe it again.")
		}
		current.VerifiedAt, current.Version, current.UpdatedAt, current.Request = &now, current.Version+1, now, nil
		if secret != "" {
			current.Secrets = []Secret{{Sealed: s.Box.Seal(secret, e.ID), CreatedAt: now}}
		}
		return audit.Entry(audit.From(ctx), "endpoint.verify", now, &before, current), nil
	})
	return err
}
