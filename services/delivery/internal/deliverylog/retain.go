package deliverylog

import (
	"context"
	"time"
)

const (
	retention  = 30 * 24 * time.Hour
	pruneEvery = time.Hour
	pruneSlice = 250 // maximum number of records of each kind that one call deletes; a longer call would delay deliveries
	// pruneRest is the factor of the pause after a call: the pause is pruneRest times the duration of the call. So the
	// deletion of many records uses at most a twentieth of the database's time.
	pruneRest = 19
)

// KeptFrom returns the time from which on logs and changes are available.
func (l *Logs) KeptFrom() time.Time { return l.Now().Add(-retention) }

// Retain deletes old records until ctx ends. Logs and changes are deleted after the retention time. Requests are
// deleted after twice this time, because a log that shows a request may be younger than the request by up to the
// retention time. pruneFiles deletes the message files that were written before a time. Several processes may run
// Retain.
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
