package endpoint

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const expireBatch = 500

// ExpireRequests deletes visitors' requests that nobody verified in time. A locked endpoint stays, because without it a
// visitor could ask for the URL again.
func (s *Endpoints) ExpireRequests(ctx context.Context) error {
	expired := find.Query{Where: []find.Condition{find.Lte(FieldExpires, s.Now())}, Order: []find.Order{{Field: FieldExpires}}, Limit: expireBatch}
	for {
		page, err := s.Store.Endpoints.Find(ctx, expired)
		if err != nil {
			return err
		}
		for _, e := range page.Items {
			if err := s.expireRequest(ctx, e); unlessMissing(err) != nil {
				return err
			}
		}
		if len(page.Items) < expireBatch {
			return nil
		}
	}
}

// expireRequest deletes an endpoint with its request, or the request of a locked endpoint, unless it has changed since it
// was read.
func (s *Endpoints) expireRequest(ctx context.Context, e Endpoint) error {
	expired := func(e *Endpoint, locked bool) bool {
		return e.Request != nil && !e.Request.ExpiresAt.After(s.Now()) && e.Locked == locked
	}
	if e.Locked {
		_, err := s.Store.Endpoints.Change(ctx, e.ID, func(e *Endpoint) error {
			if !expired(e, true) {
				return fault.ErrUnchanged
			}
			e.Request = nil
			return nil
		})
		return err
	}
	deleted := false
	err := s.Store.Endpoints.Delete(ctx, e.ID, func(e *Endpoint) ([]topic.Message, error) {
		if deleted = expired(e, false); !deleted {
			return nil, fault.ErrUnchanged
		}
		return nil, nil
	})
	if err != nil || !deleted {
		return err
	}
	return s.deleteCounters(ctx, e.ID) // of a verification that failed at the limit
}
