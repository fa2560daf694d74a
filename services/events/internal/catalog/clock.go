package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// clockInterval is how exact the clock is. Looking costs one indexed query that mostly
// finds nothing, and needs to know nothing of what other processes write.
const clockInterval = time.Second

// KeepTime starts and ends maintenance that is to do so by itself, until ctx ends. Any
// number of processes may keep the time at once: each moves an event on by the operation
// that a person's request runs, which changes nothing where another has been faster, and it
// tells whom the last person who announced the event told.
func (c *Catalog) KeepTime(ctx context.Context, log *slog.Logger) error {
	ticker := time.NewTicker(clockInterval)
	defer ticker.Stop()
	for {
		if err := c.moveOn(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "maintenance that is due was not moved on; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// moveOn starts or ends every event that is due. One that cannot be moved on does not hold up
// those that became due after it.
func (c *Catalog) moveOn(ctx context.Context) error {
	var failed []error
	err := c.store.Events.Each(ctx, find.Query{
		Where: []find.Condition{find.Lte("dueAt", c.now())}, Order: []find.Order{{Field: "dueAt"}},
	}, func(due Event) error {
		_, err := c.revise(ctx, Author{}, due.OrganizationID, due.ID, func(r *revision) error {
			at := r.DueAt()
			if at == nil || at.After(r.now) {
				return nil
			}
			next := Started
			if r.Status != Planning {
				next = Completed
			}
			r.tell(r.Announced)
			return r.apply(&EventPatch{Status: &next})
		})
		if err != nil && !fault.Is(err, fault.NotFound) { // else it was deleted meanwhile
			failed = append(failed, fmt.Errorf("event %s: %w", due.ID, err))
		}
		return ctx.Err()
	})
	return errors.Join(append(failed, err)...)
}
