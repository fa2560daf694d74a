package gateway

import (
	"context"

	"golang.org/x/sync/singleflight"
)

// sharedRuns lets callers with the same key share one run of their work, but never a run
// that began before the caller came: a caller that comes during a run waits for the next
// run. A key that is revoked between the two is therefore never accepted. With one
// singleflight.Group the caller would join the current run.
type sharedRuns[V any] struct{ next, current singleflight.Group }

// do returns the result of a run of work that began after the call of do. work must not
// depend on ctx, because the run may serve other callers. do returns early if ctx ends.
func (s *sharedRuns[V]) do(ctx context.Context, key string, work func() (V, error)) (V, error) {
	select {
	case r := <-s.begin(key, func() {}, work):
		return resultOf[V](r)
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

// begin returns a channel that receives the result of do. Callers that come while pause waits share the run after it.
func (s *sharedRuns[V]) begin(key string, pause func(), work func() (V, error)) <-chan singleflight.Result {
	return s.next.DoChan(key, func() (value any, err error) {
		for began := false; !began; { // Do waits for the end of another run, if there is one
			value, err, _ = s.current.Do(key, func() (any, error) {
				pause()
				began = true
				s.next.Forget(key)
				return work()
			})
		}
		return value, err
	})
}

// resultOf returns the value or the error of a run.
func resultOf[V any](r singleflight.Result) (V, error) {
	if r.Err != nil {
		var none V
		return none, r.Err
	}
	return r.Val.(V), nil
}
