package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

const (
	sweepEvery   = time.Second
	sweepAtMost  = 15 * time.Second // pause after several failures
	sweepTimeout = 30 * time.Second
	// pendingGrace is the time that a request has to complete the organization that it creates. Then Sweep completes it.
	// The first round after the start does not wait for this time. To complete an organization twice has no effect.
	pendingGrace = 10 * time.Second
)

// Sweep repeatedly completes operations that a killed process or an outage has interrupted, until ctx ends. It completes
// pending organizations, removes the records of deleted users, voids the keys of changed users and organizations at the
// gateways, and sends changed plans to events. Each step may be repeated, so several processes may run Sweep.
func (a *Accounts) Sweep(ctx context.Context) error {
	pause := sweepEvery
	for pendingBefore := a.Now(); ; pendingBefore = a.Now().Add(-pendingGrace) {
		if err := a.sweep(ctx, pendingBefore); err == nil {
			pause = sweepEvery
		} else if ctx.Err() == nil {
			pause = min(2*pause, sweepAtMost)
			a.Log.WarnContext(ctx, "accounts cannot be swept now", "error", err, "again_in", pause.String())
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

func (a *Accounts) sweep(ctx context.Context, pendingBefore time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	pending := a.completePending(ctx, pendingBefore)
	organizations := each(ctx, a.Store.Organizations, find.Eq(FieldStale, true), func(o Organization) error {
		if err := a.voidOrganization(ctx, o); err != nil {
			return err
		}
		return a.announce(ctx, o)
	})
	users := each(ctx, a.Store.Users, find.Eq(FieldStale, true), func(u User) error {
		if err := a.voidUser(ctx, u); err != nil || u.DeletedAt == nil {
			return err
		}
		return a.removeUser(ctx, u.ID)
	})
	return errors.Join(pending, organizations, users)
}

// completePending completes the pending organizations that were created before the time.
func (a *Accounts) completePending(ctx context.Context, before time.Time) error {
	return each(ctx, a.Store.Organizations, find.Eq(FieldState, Pending), func(o Organization) error {
		if o.CreatedAt.After(before) {
			return nil
		}
		if _, err := a.complete(ctx, o); err != nil {
			return fmt.Errorf("complete organization %s: %w", o.ID, err)
		}
		return nil
	})
}

// each calls do for each record that matches the condition. It returns the joined errors, except NotFound from do.
func each[T any](ctx context.Context, from find.Collection[T], which find.Condition, do func(T) error) error {
	page, err := from.Find(ctx, find.Query{Where: []find.Condition{which}})
	for _, item := range page.Items {
		if failed := do(item); !fault.Is(failed, fault.NotFound) {
			err = errors.Join(err, failed)
		}
	}
	return err
}
