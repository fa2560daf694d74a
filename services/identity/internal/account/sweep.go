package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// How often is looked for what was begun and not ended; less often while it cannot
// be ended either.
const (
	sweepEvery   = time.Second
	sweepAtMost  = 15 * time.Second
	sweepTimeout = 30 * time.Second
	// pendingGrace is for the request that is just making the organization.
	pendingGrace = 10 * time.Second
)

// Sweep ends what was begun and not ended, at the start and from then on, until ctx
// ends: pending organizations, deleted users, changes not told to the gateways. Every step
// may be done twice, so several processes may sweep.
func (d *Directory) Sweep(ctx context.Context) error {
	pause := sweepEvery
	for pendingBefore := d.now(); ; pendingBefore = d.now().Add(-pendingGrace) {
		if err := d.sweep(ctx, pendingBefore); err == nil {
			pause = sweepEvery
		} else if ctx.Err() == nil {
			pause = min(2*pause, sweepAtMost)
			d.log.WarnContext(ctx, "something begun cannot be ended yet", "error", err, "again_in", pause.String())
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

func (d *Directory) sweep(ctx context.Context, pendingBefore time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	return errors.Join(d.sweepPending(ctx, pendingBefore), d.sweepOrganizations(ctx), d.sweepUsers(ctx))
}

// sweepPending completes organizations that nobody is making any more.
func (d *Directory) sweepPending(ctx context.Context, before time.Time) error {
	return d.eachOrganization(ctx, find.Eq("state", Pending), func(o Organization) error {
		if o.CreatedAt.After(before) {
			return nil
		}
		_, err := d.complete(ctx, o)
		return err
	})
}

func (d *Directory) sweepOrganizations(ctx context.Context) error {
	return d.eachOrganization(ctx, find.Eq("unsettled", true), func(o Organization) error {
		return d.settleOrganization(ctx, o)
	})
}

func (d *Directory) eachOrganization(ctx context.Context, which find.Condition, do func(Organization) error) error {
	page, err := d.store.Organizations(ctx, find.Query{Where: []find.Condition{which}})
	if err != nil {
		return fmt.Errorf("look for organizations: %w", err)
	}
	for _, o := range page.Items {
		if failed := do(o); failed != nil {
			err = errors.Join(err, fmt.Errorf("organization %s: %w", o.ID, failed))
		}
	}
	return err
}

func (d *Directory) sweepUsers(ctx context.Context) error {
	page, err := d.store.Users(ctx, find.Query{Where: []find.Condition{find.Eq("unsettled", true)}})
	if err != nil {
		return fmt.Errorf("look for users: %w", err)
	}
	for _, user := range page.Items {
		failed := d.settleUser(ctx, user, user.refs())
		if failed == nil && user.DeletedAt != nil {
			failed = d.store.RemoveUser(ctx, user.ID)
		}
		if failed != nil && !fault.Is(failed, fault.NotFound) {
			err = errors.Join(err, fmt.Errorf("user %s: %w", user.ID, failed))
		}
	}
	return err
}
