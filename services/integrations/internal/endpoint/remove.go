package endpoint

import (
	"context"
	"errors"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Delete removes an endpoint.
func (s *Endpoints) Delete(ctx context.Context, organization string, kind Kind, target Target) error {
	for {
		e, err := s.one(ctx, organization, kind.Channel, target)
		if err != nil {
			return err
		}
		err = s.remove(ctx, e, func(current *Endpoint) ([]topic.Message, error) {
			return audit.Entry(audit.From(ctx), "", s.Now(), current, nil), target.match(*current)
		})
		if !errors.Is(err, errAgain) {
			return fault.IfMissing(err, missing())
		}
	}
}

// remove deletes an endpoint and its counters. If no other verified endpoint has the URL, it also deletes the
// suppression of the URL. It returns errAgain if the endpoint was changed after e was read. decide returns the messages to
// publish, or an error, with which the endpoint is not deleted.
func (s *Endpoints) remove(ctx context.Context, e Endpoint, decide func(*Endpoint) ([]topic.Message, error)) error {
	return s.claimed(ctx, e, "", e.claims(e.URLHash), func() error {
		err := s.Store.Endpoints.Delete(ctx, e.ID, func(current *Endpoint) ([]topic.Message, error) {
			if current.Version != e.Version {
				return nil, errAgain
			}
			return decide(current)
		})
		if err != nil {
			return err
		}
		if err := s.Store.Results.Delete(context.WithoutCancel(ctx), e.ID); err != nil {
			return err
		}
		return s.cleanUp(ctx, e, e.URLHash)
	})
}

// IsOnlyComponent reports whether the component is the only component of a verified endpoint of the organization.
func (s *Endpoints) IsOnlyComponent(ctx context.Context, organization, component string) (bool, error) {
	found, err := s.Store.Endpoints.Find(ctx, find.Query{
		Where: []find.Condition{find.Eq(FieldOrganization, organization), find.Eq(FieldOnly, component)}, Limit: 1,
	})
	return len(found.Items) > 0, err
}

// ForgetComponent removes a deleted component from the organization's endpoints.
func (s *Endpoints) ForgetComponent(ctx context.Context, organization, component string) error {
	return s.each(ctx, organization, find.Has(FieldComponents, component), func(e Endpoint) error {
		_, err := s.Store.Endpoints.Change(ctx, e.ID, func(e *Endpoint) error {
			if !e.drop(component) {
				return fault.ErrUnchanged
			}
			e.Version, e.UpdatedAt = e.Version+1, s.Now()
			return nil
		})
		return fault.UnlessMissing(err)
	})
}

// ForgetDashboard deletes the endpoints of a deleted dashboard. It deletes the counters of an endpoint before the
// endpoint. So if the process is killed in between, a repeated call finds the endpoint and completes the deletion.
func (s *Endpoints) ForgetDashboard(ctx context.Context, organization, dashboard string) error {
	return s.each(ctx, organization, find.Eq(FieldDashboard, dashboard), func(e Endpoint) error {
		if err := s.Store.Results.Delete(ctx, e.ID); err != nil {
			return err
		}
		for {
			err := s.remove(ctx, e, func(*Endpoint) ([]topic.Message, error) { return nil, nil })
			if !errors.Is(err, errAgain) {
				return fault.UnlessMissing(err)
			}
			if e, err = s.Store.Endpoints.Get(ctx, e.ID); err != nil {
				return fault.UnlessMissing(err)
			}
		}
	})
}

// each calls visit for each endpoint of the organization that matches the condition.
func (s *Endpoints) each(ctx context.Context, organization string, condition find.Condition, visit func(Endpoint) error) error {
	return s.Store.Endpoints.Each(ctx, find.Query{Where: []find.Condition{find.Eq(FieldOrganization, organization), condition}}, visit)
}

// dropDeleted removes from the endpoint the components that were deleted while the endpoint was written, because
// ForgetComponent may not have found the endpoint. If the dashboard was deleted, dropDeleted calls ForgetDashboard again and
// returns NotFound. If the dashboard cannot be read or the endpoint cannot be changed, dropDeleted returns e and no error,
// because dashboard and components existed before the write, and an error would hide the secret of a stored endpoint.
func (s *Endpoints) dropDeleted(ctx context.Context, e Endpoint) (Endpoint, error) {
	dashboard, err := s.dashboard(ctx, e.OrganizationID, e.DashboardID)
	if fault.Is(err, fault.NotFound) {
		return e, errors.Join(err, s.ForgetDashboard(ctx, e.OrganizationID, e.DashboardID))
	}
	if err != nil || onDashboard(dashboard, e.ComponentIDs) == nil {
		return e, nil
	}
	changed, err := s.Store.Endpoints.Change(ctx, e.ID, func(e *Endpoint) error {
		e.ComponentIDs = slices.DeleteFunc(e.ComponentIDs, func(id string) bool { return !dashboard.Has(id) })
		e.Version++
		return nil
	})
	if fault.UnlessMissing(err) != nil {
		return e, nil
	}
	return changed, err
}
