package gateway

import (
	"context"
	"sync"
)

// sharedRuns lets callers with the same key share one run of their work, but never a run
// that began before the caller came: a caller that comes during a run waits for the next
// run. A key that is revoked between the two is therefore never accepted. With
// golang.org/x/sync/singleflight the caller would join the current run.
type sharedRuns[K comparable, V any] struct {
	mu      sync.Mutex
	current map[K]*run[V]
	next    map[K]*run[V] // waits for the end of the current run
}

type run[V any] struct {
	done  chan struct{} // closed at the end of the run
	value V
	err   error
}

func newSharedRuns[K comparable, V any]() *sharedRuns[K, V] {
	return &sharedRuns[K, V]{current: map[K]*run[V]{}, next: map[K]*run[V]{}}
}

// do returns the result of a run of work that began after the call of do. work must not
// depend on ctx, because the run may serve other callers. do returns early if ctx ends.
func (s *sharedRuns[K, V]) do(ctx context.Context, key K, work func() (V, error)) (V, error) {
	s.mu.Lock()
	r := s.next[key]
	if r == nil {
		r = &run[V]{done: make(chan struct{})}
		s.next[key] = r
		go s.start(key, r, s.current[key], work)
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.value, r.err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

// start waits for the end of the former run, if there is one, and then runs work.
func (s *sharedRuns[K, V]) start(key K, r, former *run[V], work func() (V, error)) {
	if former != nil {
		<-former.done
	}
	s.mu.Lock()
	delete(s.next, key)
	s.current[key] = r
	s.mu.Unlock()
	r.value, r.err = work()
	close(r.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current[key] == r {
		delete(s.current, key)
	}
}
