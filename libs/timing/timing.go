// Package timing hides the real duration of operations for visitors.
package timing

import (
	"context"
	"time"
)

// Unit is the unit of the visible duration of an operation. On a healthy platform every operation takes less than one
// Unit.
const Unit = 100 * time.Millisecond

// Run runs an operation. It returns when a multiple of Unit has passed since the start, or ctx has ended. An operation for
// an unknown mail address or URL needs more writes than an operation for a stored address. Run prevents visitors from
// seeing this difference in the time of the response.
func Run[T any](ctx context.Context, operation func() (T, error)) (T, error) {
	start := time.Now()
	result, err := operation()
	Wait(ctx, start)
	return result, err
}

// Wait returns when a multiple of Unit has passed since start, or ctx has ended. It is for an operation that hides its
// duration only if it fails.
func Wait(ctx context.Context, start time.Time) {
	select {
	case <-ctx.Done():
	case <-time.After(Unit - time.Since(start)%Unit):
	}
}
