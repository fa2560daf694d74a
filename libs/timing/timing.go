// Package timing hides how long an operation of a visitor takes.
package timing

import (
	"context"
	"time"
)

// Beat is the unit of the time that an operation takes, and longer than the operation on a healthy platform.
const Beat = 100 * time.Millisecond

// Run runs an operation, and returns when a whole number of beats has passed. So the time of a response does not tell a
// stored address or URL from an unknown one: an unknown one costs more writes.
func Run[T any](ctx context.Context, operation func() (T, error)) (T, error) {
	start := time.Now()
	result, err := operation()
	rest := Beat - time.Since(start)%Beat
	select {
	case <-ctx.Done():
	case <-time.After(rest):
	}
	return result, err
}
