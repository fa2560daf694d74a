package endpoint

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const expireBatch = 500

// ExpireRequests deletes visitors' requests that nobody verified in time.
func (s *Endpoints) ExpireRequests(ctx context.Context) error {
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
