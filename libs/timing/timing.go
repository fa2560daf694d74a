// Package timing hides the real duration of operations for visitors.
package timing

import (
	"context"
	"time"
)

// Unit is the unit of the visible duration of an operation. On a healthy platform every operation takes less than one
// Unit.
const Unit = 100 * time.Millisecond

// Run runs an operation. It returns when a multiple of Unit has passed. An operation for an unknown mail address or URL
// needs more writes than one for a stored address. Run prevents visitors from seeing this difference in the time of the
// response.
func Run[T any](ctx context.Context, operation func() (T, error)) (T, error) {
	start := time.Now()
	result, err := operation()
	rest := Unit - time.Since(start)%Unit
	select {
	case <-ctx.Done():
	case <-time.After(rest):
	}
	return result, err
}
