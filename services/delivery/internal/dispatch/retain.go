package dispatch

import (
	"context"
	"time"
)

const (
	retention  = 30 * 24 * time.Hour
	pruneEvery = time.Hour
	pruneSlice = 2000 // rows deleted in one call, so that deliveries continue in between
	prunePause = 50 * time.Millisecond
)

// Retain deletes deliveries and changes that are older than the retention time, until ctx ends. Several
// processes may run it.
func Retain(ctx context.Context, parts Parts) error {
	for ctx.Err() == nil {
		pause := pruneEvery
		n, err := parts.Store.Prune(ctx, parts.Now().Add(-retention), pruneSlice)
		switch {
		case err != nil && ctx.Err() == nil:
			parts.Log.WarnContext(ctx, "Old deliveries cannot be deleted.", "error", err)
		case n > 0:
			pause = prunePause
		}
		rest(ctx, ctx, pause)
	}
	return nil
}
