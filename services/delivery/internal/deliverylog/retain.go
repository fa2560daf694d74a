package deliverylog

import (
	"context"
	"time"
)

const (
	retention  = 30 * 24 * time.Hour
	pruneEvery = time.Hour
	pruneSlice = 250 // records of a kind that are deleted in one call, so that deliveries need not wait for long
	// pruneRest is the pause after a call, as a multiple of the time that the call took. So the deletion of many
	// records uses at most a twentieth of the database's time.
	pruneRest = 19
)

// Retain deletes logs, changes and requests that are older than the retention time, until ctx ends. pruneFiles deletes the
// messages in files that were written before a time. Several processes may run Retain. A request is needed longer than
// its change: the last log that shows it may be as late as the retention time.
func (l *Logs) Retain(ctx context.Context, pruneFiles func(before time.Time) error) error {
	for ctx.Err() == nil {
		pause, began := pruneEvery, time.Now()
		before := l.Now().Add(-retention)
		n, err := l.Store.Prune(ctx, before, before.Add(-retention), pruneSlice)
		switch {
		case err != nil && ctx.Err() == nil:
			l.Log.WarnContext(ctx, "Old deliveries cannot be deleted.", "error", err)
		case n > 0:
			pause = pruneRest * time.Since(began)
		}
		if n == 0 {
			if err := pruneFiles(before); err != nil {
				l.Log.WarnContext(ctx, "Old message files cannot be deleted.", "error", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}
