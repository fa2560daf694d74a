package endpoint

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// expireEvery is the longest time for which an expired request is still listed.
	expireEvery = time.Minute
	expireBatch = 500
)

// ExpireRequests deletes visitors' requests that nobody verified in time, until ctx ends.
func (s *Endpoints) ExpireRequests(ctx context.Context) error {
	ticker := time.NewTicker(min(expireEvery, max(s.ConfirmWithin/4, 10*time.Millisecond)))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := s.expireRequests(ctx); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "expired requests for endpoints could not be deleted", "error", err)
		}
	}
}

func (s *Endpoints) expireRequests(ctx context.Context) error {
	expired := find.Query{Where: []find.Condition{find.Lte(FieldExpires, s.Now())}, Order: []find.Order{{Field: FieldExpires}}, Limit: expireBatch}
	for {
		page, err := s.Store.Endpoints.Find(ctx, expired)
		if err != nil {
			return err
		}
		for _, e := range page.Items {
			err := s.Store.Endpoints.Delete(ctx, e.ID, func(e *Endpoint) ([]topic.Message, error) {
				if e.Request == nil || e.Request.ExpiresAt.After(s.Now()) {
					return nil, fault.ErrUnchanged
				}
				return nil, nil
			})
			if err == nil { // a verification that failed at the limit left counters
				err = s.deleteCounters(ctx, e.ID)
			}
			if unlessMissing(err) != nil {
				return err
			}
		}
		if len(page.Items) < expireBatch {
			return nil
		}
	}
}
