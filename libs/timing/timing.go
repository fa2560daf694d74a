// Package timing hides the real duration of operations from visitors.
package timing

import (
	"context"
	"time"
)

// Unit is the unit of the visible duration of an operation. On a healthy platform every operation takes less than one
// Unit.
const Unit = 100 * time.Millisecond

// Run runs an operation and returns its result. After the operation, Run waits until the time since the start is a multiple of
// Unit, or ctx ends. For example, a subscription of an unknown mail address needs more writes than that of a stored address.
// Run prevents visitors from seeing this difference in the time of the response.
func Run[T any](ctx context.Context, operation func() (T, error)) (T, error) {
	start := time.Now()
	result, err := operation()
	Wait(ctx, start)
	return result, err
}

// Wait waits until the time since start is a multiple of Unit, or ctx ends. It is for an operation that hides its duration only
// if it fails.
func Wait(ctx context.Context, start time.Time) {
	select {
	case <-ctx.Done():
	case <-time.After(Unit - time.Since(start)%Unit):
	}
}
