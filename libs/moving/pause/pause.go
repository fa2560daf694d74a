// Package pause waits between two requests.
package pause

import (
	"context"
	"time"
)

// Wait waits for the duration d. It returns an error if ctx ends first.
func Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
