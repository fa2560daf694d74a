package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

const schedulerInterval = time.Second // a look costs one indexed query that mostly finds nothing

// RunScheduler starts and ends maintenances with autoStart and autoEnd, until ctx ends. It notifies the channels
// of the last write that notified. Several processes may run it at once.
func (c *Catalog) RunScheduler(ctx context.Context, log *slog.Logger) error {
	ticker := time.NewTicker(schedulerInterval)
	defer ticker.Stop()
	for {
		if err := c.runDue(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "The scheduler failed to start or end a maintenance. It tries again.", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// runDue starts or ends every maintenance that is due. A failure of one does not delay the others.
func (c *Catalog) runDue(ctx context.Context) error {
	var failed []error
	err := c.store.Events.Each(ctx, find.Query{
		Where: []find.Condition{find.Lte(FieldDueAt, c.now())}, Order: []find.Order{{Field: FieldDueAt}},
	}, func(due Event) error {
		command := Command{Organization: due.OrganizationID, Source: SourceScheduler}
		_, err := c.ChangeEvent(audit.WithScheduler(ctx), command, due.ID, func(d *Draft) error {
			at := d.DueAt()
			if at == nil || at.After(d.Now) {
				return nil
			}
			next := Started
			if d.Status != Planning {
				next = Completed
			}
			d.SetStatus(next)
			d.Notify(d.Announced)
			return nil
		})
		if unlessMissing(err) != nil {
			failed = append(failed, fmt.Errorf("event %s: %w", due.ID, err))
		}
		return ctx.Err()
	})
	return errors.Join(append(failed, err)...)
}
