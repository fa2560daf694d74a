package dispatch

import (
	"context"
	"time"
)

const (
	kept       = 30 * 24 * time.Hour
	pruneEvery = time.Hour
	pruneSlice = 2000 // rows deleted at once, so that sending goes on in between
	prunePause = 50 * time.Millisecond
)

// Retain deletes deliveries and changes that are older than the logs go back, until
// ctx ends. Several processes may do so.
func Retain(ctx context.Context, parts Parts) error {
	for ctx.Err() == nil {
		pause := pruneEvery
		n, err := parts.Store.Prune(ctx, parts.Now().Add(-kept), pruneSlice)
		switch {
		case err != nil && ctx.Err() == nil:
			parts.Log.WarnContext(ctx, "old deliveries cannot be deleted", "error", err)
		case n > 0:
			pause = prunePause
		}
		rest(ctx, ctx, pause)
	}
	return nil
}
