package endpoint

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/link"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Settings are what the owner of an endpoint can set on the page that manages it.
type Settings struct {
	ComponentIDs []string // chosen components that the dashboard shows; the endpoint also keeps its components that the dashboard does not show
	Paused       bool
}

// Manage stores the settings of the endpoint to which the link with the token belongs.
func (s *Endpoints) Manage(ctx context.Context, token string, settings Settings) (Visit, error) {
	e, allow, err := s.linked(ctx, ToManage, token)
	if err != nil {
		return refused(e), err
	}
	chosen, err := componentSet(settings.ComponentIDs)
	if err != nil {
		return Visit{}, err
	}
	dashboard, err := s.linkedDashboard(ctx, ToManage, e)
	if err != nil {
		return Visit{}, err
	}
	shown := dashboard.Visible()
	if err := onDashboard(shown, chosen); err != nil {
		return Visit{}, err
	}
	e, err = s.manage(ctx, e.ID, allow, func(e *Endpoint) error {
		kept := slices.DeleteFunc(slices.Clone(e.ComponentIDs), shown.Has)
		if all := append(kept, chosen...); !sameSet(all, e.ComponentIDs) {
			e.ComponentIDs = all
		}
		e.Paused, e.DashboardName = settings.Paused, dashboard.Name
		return nil
	})
	if err != nil {
		return Visit{}, err
	}
	if e, err = s.dropDeleted(ctx, e); err != nil {
		return Visit{}, link.EndedIfMissing(err)
	}
	return s.visit(ctx, e, dashboard)
}

// Rotate replaces the secret of the endpoint to which the link with the token belongs. The Visit has the new secret. Rotate
// returns a fault if the kind is not signed.
func (s *Endpoints) Rotate(ctx context.Context, token string) (Visit, error) {
	e, allow, err := s.linked(ctx, ToManage, token)
	if err != nil {
		return refused(e), err
	}
	if !s.kind(e.Channel).Signed {
		return Visit{}, fault.Field("action", "must be save or unsubscribe, because this kind of endpoint has no secret")
	}
	dashboard, err := s.linkedDashboard(ctx, ToManage, e)
	if err != nil {
		return Visit{}, err
	}
	visit, err := s.visit(ctx, e, dashboard)
	if err != nil {
		return Visit{}, err
	}
	now := s.Now()
	visit.Secret = seal.SigningSecret()
	_, err = s.manage(ctx, e.ID, allow, func(e *Endpoint) error { return e.rotate(s.Box.Seal(visit.Secret, e.ID), now) })
	return visit, err
}

// manage stores a change that the owner of an endpoint makes through a link.
func (s *Endpoints) manage(ctx context.Context, id string, allow func(Endpoint) error, change func(*Endpoint) error) (Endpoint, error) {
	e, err := s.Store.Endpoints.Update(ctx, id, func(e *Endpoint) ([]topic.Message, error) {
		if err := allow(*e); err != nil {
			return nil, err
		}
		before := *e
		if err := change(e); err != nil {
			return nil, err
		}
		if reflect.DeepEqual(before, *e) {
			return nil, fault.ErrUnchanged
		}
		e.Version, e.UpdatedAt = e.Version+1, s.Now()
		return audit.Entry(audit.From(ctx), "endpoint.manage", e.UpdatedAt, &before, e), nil
	})
	return e, link.EndedIfMissing(err)
}

// Unsubscribe returns a function that deletes the endpoint to which a link with the purpose belongs. The Visit has only
// the id of the dashboard.
func (s *Endpoints) Unsubscribe(purpose string) func(ctx context.Context, token string) (Visit, error) {
	return func(ctx context.Context, token string) (Visit, error) {
		for {
			e, allow, err := s.linked(ctx, purpose, token)
			if err != nil {
				return refused(e), err
			}
			err = s.remove(ctx, e, func(e *Endpoint) ([]topic.Message, error) {
				return audit.Entry(audit.From(ctx), "endpoint.unsubscribe", s.Now(), e, nil), allow(*e)
			})
			if !errors.Is(err, errAgain) {
				return refused(e), link.EndedIfMissing(err)
			}
		}
	}
}

// sameSet reports whether two lists without duplicates have the same elements.
func sameSet(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(text string) bool { return !slices.Contains(b, text) })
}
