package edition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// claimTime is how long a process may take for the due steps of a page. After that time, another process may claim the
// page.
const claimTime = 30 * time.Second

// DueAt returns the time at which the scheduler must next render or sweep the page; nil for never. A disabled page is
// not rendered. A claimed page is not due before ClaimedUntil.
func (p *PublishedPage) DueAt() *time.Time {
	due := p.SweepAt
	if next := p.expires(); next != nil && (due == nil || next.Before(*due)) {
		due = next
	}
	if due != nil && p.ClaimedUntil != nil && p.ClaimedUntil.After(*due) {
		due = p.ClaimedUntil
	}
	return due
}

// expires returns the time at which the scheduler renders the page; nil for a disabled page.
func (p *PublishedPage) expires() *time.Time {
	if !p.Enabled {
		return nil
	}
	return p.ExpiresAt
}

// RunPages renders the pages that the passing of time changes, and deletes former editions. If a page fails, the others
// are still renewed. Several processes may call it at once: only the process that has claimed a due page renders or sweeps
// the page.
func (e *Editions) RunPages(ctx context.Context) error {
	rows, err := e.store.Pages.Keys(ctx, find.Query{
		Where: []find.Condition{find.Lte(catalog.FieldDueAt, e.Now())}, Order: []find.Order{{Field: catalog.FieldDueAt}},
	})
	return errors.Join(err, catalog.AtOnce(ctx, rows, func(row find.Row) error {
		if err := e.renewPage(ctx, row.Key); fault.UnlessMissing(err) != nil {
			return fmt.Errorf("page of dashboard %s: %w", row.Key, err)
		}
		return nil
	}))
}

// renewPage claims a page, renders it if it has expired, and sweeps it if that is due. It does nothing if another
// process has claimed the page.
func (e *Editions) renewPage(ctx context.Context, id string) error {
	now, claimed := e.Now(), false
	page, err := e.store.Pages.Update(ctx, id, func(page *PublishedPage) ([]topic.Message, error) {
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
		if page, err = e.render(ctx, id); err != nil {
			return err
		}
	}
	if page.SweepAt == nil || page.SweepAt.After(now) {
		return nil
	}
	return e.sweep(ctx, page, now)
}

// sweep deletes the editions of a page that are not current and were stored at least keepFormer ago. These are former
// editions, and editions that a process stored before it died without writing the page. If the dashboard was deleted,
// sweep deletes all editions and the page.
func (e *Editions) sweep(ctx context.Context, page PublishedPage, now time.Time) error {
	if page.Removed {
		if err := e.deleteEditions(ctx, page.DashboardID, "", now); err != nil {
			return err
		}
		return fault.UnlessMissing(e.store.Pages.Delete(ctx, page.DashboardID, func(p *PublishedPage) ([]topic.Message, error) {
			if !p.Removed { // a dashboard with the same id was created again
				return nil, fault.ErrUnchanged
			}
			return nil, nil
		}))
	}
	if err := e.deleteEditions(ctx, page.DashboardID, page.EditionID, now.Add(-keepFormer)); err != nil {
		return err
	}
	_, err := e.store.Pages.Update(ctx, page.DashboardID, func(p *PublishedPage) ([]topic.Message, error) {
		p.SweepAt, p.ClaimedUntil = nil, nil
		if p.EditionID != page.EditionID {
			p.SweepAt = new(now.Add(sweepAfter))
		}
		return nil, nil
	})
	return err
}
