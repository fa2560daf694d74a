package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// sweepAfter is how long an edition stays that is not current. A gateway may still request its files.
	sweepAfter = time.Minute
	// claimTime is how long one process has for what is due with a page. Then another one takes over.
	claimTime = 30 * time.Second
)

// DueAt returns the time of the scheduler's next step with the page; nil for none. A disabled page is not rendered.
func (p *Page) DueAt() *time.Time {
	due := p.SweepAt
	if next := p.expires(); next != nil && (due == nil || next.Before(*due)) {
		due = next
	}
	if due != nil && p.ClaimedUntil != nil && p.ClaimedUntil.After(*due) {
		due = p.ClaimedUntil
	}
	return due
}

// expires returns when the scheduler renders the page; nil for never.
func (p *Page) expires() *time.Time {
	switch {
	case !p.Enabled:
		return nil
	case p.EditionID == "":
		return new(time.UnixMilli(0).UTC())
	}
	return p.ExpiresAt
}

// RunPages renders the pages that the passing of time changes, and deletes former editions, until ctx ends. Several
// processes may run it at once: the one that claims a page takes its step.
func (c *Catalog) RunPages(ctx context.Context, log *slog.Logger) error {
	return schedule(ctx, log, "The scheduler failed to renew a page. It tries again.", c.runDuePages)
}

// runDuePages takes every step that is due. The failure of one does not delay the others.
func (c *Catalog) runDuePages(ctx context.Context) error {
	rows, err := c.store.Pages.Keys(ctx, find.Query{
		Where: []find.Condition{find.Lte(FieldDueAt, c.now())}, Order: []find.Order{{Field: FieldDueAt}},
	})
	return errors.Join(err, atOnce(ctx, rows, func(row find.Row) error {
		if err := c.renewPage(ctx, row.Key); fault.UnlessMissing(err) != nil {
			return fmt.Errorf("page of dashboard %s: %w", row.Key, err)
		}
		return nil
	}))
}

// renewPage renders a page that has expired and deletes its former editions, unless another process does.
func (c *Catalog) renewPage(ctx context.Context, id string) error {
	now, claimed := c.now(), false
	page, err := c.store.Pages.Update(ctx, id, func(page *Page) ([]topic.Message, error) {
		due := page.DueAt()
		if claimed = due != nil && !due.After(now); !claimed {
			return nil, fault.ErrUnchanged
		}
		page.ClaimedUntil = new(now.Add(claimTime))
		return nil, nil
	})
	if err != nil || !claimed {
		return err
	}
	if at := page.expires(); at != nil && !at.After(now) {
		if page, err = c.render(ctx, id); err != nil {
			return err
		}
	}
	if page.SweepAt == nil || page.SweepAt.After(now) {
		return nil
	}
	return c.sweep(ctx, page, now)
}

// sweep deletes the editions of a page that are not current: former ones, and those that a process stored and did not
// live to name. It deletes the page of a deleted dashboard with all editions.
func (c *Catalog) sweep(ctx context.Context, page Page, now time.Time) error {
	if page.Removed {
		if err := c.deleteEditions(ctx, page.DashboardID, "", now); err != nil {
			return err
		}
		return fault.UnlessMissing(c.store.Pages.Delete(ctx, page.DashboardID, func(p *Page) ([]topic.Message, error) {
			if !p.Removed { // the dashboard was created again
				return nil, fault.ErrUnchanged
			}
			return nil, nil
		}))
	}
	if err := c.deleteEditions(ctx, page.DashboardID, page.EditionID, now.Add(-sweepAfter)); err != nil {
		return err
	}
	_, err := c.store.Pages.Update(ctx, page.DashboardID, func(p *Page) ([]topic.Message, error) {
		p.SweepAt, p.ClaimedUntil = nil, nil
		if p.EditionID != page.EditionID {
			p.SweepAt = new(now.Add(sweepAfter))
		}
		return nil, nil
	})
	return err
}
