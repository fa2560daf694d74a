package gateway

import (
	"context"
	"sync"
)

// rounds lets callers with the same question share one answer, but never one whose
// making began before they asked: who comes while a round is under way waits for
// the next. A key revoked between the two is so never let through, which joining
// the round under way (as x/sync's singleflight does) would allow.
type rounds[K comparable, V any] struct {
	mu   sync.Mutex
	keys map[K]*roundKey[V]
}

type roundKey[V any] struct{ next *round[V] }

type round[V any] struct {
	work  func() (V, error)
	done  chan struct{}
	value V
	err   error
}

func newRounds[K comparable, V any]() *rounds[K, V] {
	return &rounds[K, V]{keys: map[K]*roundKey[V]{}}
}

// do answers with what work gives, begun after do was called, by this caller or by
// another; work must not depend on the caller's context. It ends with ctx.
func (s *rounds[K, V]) do(ctx context.Context, key K, work func() (V, error)) (V, error) {
	r := s.join(key, work)
	select {
	case <-r.done:
		return r.value, r.err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

func (s *rounds[K, V]) join(key K, work func() (V, error)) *round[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	running, busy := s.keys[key]
	if busy && running.next != nil {
		return running.next
	}
	r := &round[V]{work: work, done: make(chan struct{})}
	if busy {
		running.next = r
		return r
	}
	s.keys[key] = &roundKey[V]{}
	go s.run(key, r)
	return r
}

// run does the rounds of a key until nobody waits for another.
func (s *rounds[K, V]) run(key K, r *round[V]) {
	for r != nil {
		r.value, r.err = r.work()
		close(r.done)
		s.mu.Lock()
		running := s.keys[key]
		r, running.next = running.next, nil
		if r == nil {
			delete(s.keys, key)
		}
		s.mu.Unlock()
	}
}
