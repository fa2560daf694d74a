package catalog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// sharedRun lets concurrent callers share work: one run per key serves all callers from before its start. A run
// gets the items of all its callers. At most one run per key is in progress. A caller that arrives during a run
// waits for the next run, so no caller gets a result of work that began before its call. It saves work within a
// process. It orders nothing between processes.
type sharedRun[I, R any] struct {
	mu     sync.Mutex
	queues map[string]*queue[I, R]
}

// queue is the runs of one key. It is removed with the last of its callers.
type queue[I, R any] struct {
	running sync.Mutex // held by the run in progress
	next    *run[I, R] // has not begun; nil for none
	callers int
}

type run[I, R any] struct {
	items  []I
	done   chan struct{}
	result R
	err    error
}

// runLimit is how long a run may take. A run does not end with the request of the caller that executes it, because
// other callers wait for it too.
const runLimit = 30 * time.Second

var errRunBroken = errors.New("catalog: the shared run panicked")

// share adds items to the next run of key and returns the result of that run. The first caller executes the run.
// The others wait for it until ctx ends.
func (s *sharedRun[I, R]) share(ctx context.Context, key string, items []I, work func(context.Context, []I) (R, error)) (R, error) {
	q, mine, first := s.enter(key, items)
	defer s.leave(key, q)
	if first {
		s.execute(ctx, q, mine, work)
		return mine.result, mine.err
	}
	select {
	case <-mine.done:
		return mine.result, mine.err
	case <-ctx.Done():
		return *new(R), fault.Wrap(fault.Unavailable, ctx.Err(), "Too many writes wait for each other. Try again later.")
	}
}

func (s *sharedRun[I, R]) enter(key string, items []I) (q *queue[I, R], mine *run[I, R], first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues == nil {
		s.queues = map[string]*queue[I, R]{}
	}
	if q = s.queues[key]; q == nil {
		q = &queue[I, R]{}
		s.queues[key] = q
	}
	q.callers++
	if first = q.next == nil; first {
		q.next = &run[I, R]{done: make(chan struct{}), err: errRunBroken}
	}
	mine = q.next
	mine.items = append(mine.items, items...)
	return q, mine, first
}

func (s *sharedRun[I, R]) leave(key string, q *queue[I, R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.callers--; q.callers == 0 {
		delete(s.queues, key)
	}
}

func (s *sharedRun[I, R]) execute(ctx context.Context, q *queue[I, R], mine *run[I, R], work func(context.Context, []I) (R, error)) {
	q.running.Lock()
	defer q.running.Unlock()
	defer close(mine.done)
	s.mu.Lock()
	q.next = nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), runLimit)
	defer cancel()
	mine.result, mine.err = work(ctx, mine.items)
}
