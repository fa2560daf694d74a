package endpoint

import (
	"context"
	"errors"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Sweep revokes the claims that are older than claimLife, and calls expireRequest for each endpoint whose request has
// expired.
func (s *Endpoints) Sweep(ctx context.Context) error {
	return errors.Join(
		find.EachUntil(ctx, s.Store.Slots, FieldClaimed, s.Now().Add(-claimLife), func(slots Slots) error {
			return s.revokeOld(ctx, slots.OrganizationID, slots.Channel, slots.Claims)
		}),
		find.EachUntil(ctx, s.Store.Endpoints, FieldExpires, s.Now(), func(e Endpoint) error {
			return fault.UnlessMissing(s.expireRequest(ctx, e))
		}),
	)
}

// expireRequest deletes an endpoint whose request has expired. If the endpoint is locked, expireRequest only removes
// the request, so that no visitor can request the URL again.
func (s *Endpoints) expireRequest(ctx context.Context, e Endpoint) error {
	if !e.Locked {
		return s.deleteRequest(ctx, e.ID, func(e *Endpoint) bool { return e.expired(s.Now()) && !e.Locked })
	}
	_, err := s.Store.Endpoints.Change(ctx, e.ID, func(e *Endpoint) error {
		if !e.expired(s.Now()) || !e.Locked {
			return fault.ErrUnchanged
		}
		e.Request = nil
		return nil
	})
	return err
}

// deleteRequest deletes an endpoint that is not verified, if may returns true for the stored endpoint. It first deletes the
// counters, which a failed verification may have stored. If the process is killed in between, a later call still finds and
// deletes the endpoint.
func (s *Endpoints) deleteRequest(ctx context.Context, id string, may func(*Endpoint) bool) error {
	if err := s.Store.Results.Delete(ctx, id); err != nil {
		return err
	}
	kept := false
	err := s.Store.Endpoints.Delete(ctx, id, func(e *Endpoint) ([]topic.Message, error) {
		if kept = !may(e); kept {
			return nil, fault.ErrUnchanged
		}
		return nil, nil
	})
	if err == nil && kept { // the endpoint may have been verified meanwhile
		return s.Store.Results.Ensure(ctx, id)
	}
	return err
}
