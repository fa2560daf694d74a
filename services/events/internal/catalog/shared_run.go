package catalog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// sharedRun lets concurrent callers of a process share work: one run per key serves all callers from before its
// start, with the items of them all. A caller that arrives during a run waits for the next run, so no caller gets a
// result of work that began before its call.
type sharedRun[I, R any] struct {
	mu   sync.Mutex
	last map[string]*run[I, R] // the newest run of each key, until it ends
}

type run[I, R any] struct {
	before *run[I, R] // the run that must end first; nil for none
	begun  bool
	items  []I
	done   chan struct{}
	result R
	err    error
}

// runLimit bounds a run, which does not end with the request of the caller that executes it.
const runLimit = 30 * time.Second

var errRunBroken = errors.New("catalog: the shared run panicked")

// share adds items to the next run of key and returns its result. The first caller executes the run.
func (s *sharedRun[I, R]) share(ctx context.Context, key string, items []I, work func(context.Context, []I) (R, error)) (R, error) {
	mine, first := s.enter(key, items)
	if first {
		s.execute(ctx, key, mine, work)
		return mine.result, mine.err
	}
	select {
	case <-mine.done:
		return mine.result, mine.err
	case <-ctx.Done():
		return *new(R), fault.Wrap(fault.Unavailable, ctx.Err(), "Too many writes wait for each other. Try again later.")
	}
}

func (s *sharedRun[I, R]) enter(key string, items []I) (mine *run[I, R], first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string]*run[I, R]{}
	}
	mine = s.last[key]
	if first = mine == nil || mine.begun; first {
		mine = &run[I, R]{before: mine, done: make(chan struct{}), err: errRunBroken}
		s.last[key] = mine
	}
	mine.items = append(mine.items, items...)
	return mine, first
}

func (s *sharedRun[I, R]) execute(ctx context.Context, key string, mine *run[I, R], work func(context.Context, []I) (R, error)) {
	if mine.before != nil {
		<-mine.before.done
	}
	s.mu.Lock()
	mine.begun, mine.before = true, nil
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		if s.last[key] == mine {
			delete(s.last, key)
		}
		s.mu.Unlock()
		close(mine.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), runLimit)
	defer cancel()
	mine.result, mine.err = work(ctx, mine.items)
}
