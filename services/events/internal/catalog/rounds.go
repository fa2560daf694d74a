package catalog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// rounds lets those who want the same done to one thing at once share the doing: of each
// thing one round runs at a time, with what all brought who came before it began. Whoever
// comes later is of the next round, so nobody is answered by work that began before they
// asked. It spares work within a process and orders nothing: other processes have rounds
// of their own.
type rounds[I, R any] struct {
	mu    sync.Mutex
	lanes map[string]*lane[I, R]
}

// lane is the rounds of one thing. It goes with the last of its callers.
type lane[I, R any] struct {
	running sync.Mutex   // held by the round that runs
	next    *round[I, R] // that has not begun
	callers int
}

type round[I, R any] struct {
	items  []I
	done   chan struct{}
	result R
	err    error
}

// roundLimit is how long a round may take. It does not end with the request of the one
// who happens to run it, because others wait for it too.
const roundLimit = 30 * time.Second

var errRoundBroken = errors.New("catalog: whoever ran the round did not finish it")

// share adds items to the next round of the thing called key, and returns its outcome. The
// first to come runs it.
func (r *rounds[I, R]) share(ctx context.Context, key string, items []I, work func(context.Context, []I) (R, error)) (R, error) {
	at, mine, first := r.enter(key, items)
	defer r.leave(key, at)
	if first {
		r.run(ctx, at, mine, work)
		return mine.result, mine.err
	}
	select {
	case <-mine.done:
		return mine.result, mine.err
	case <-ctx.Done():
		return *new(R), fault.Wrap(fault.Unavailable, ctx.Err(), "Too much is being written at once; try again.")
	}
}

func (r *rounds[I, R]) enter(key string, items []I) (at *lane[I, R], mine *round[I, R], first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lanes == nil {
		r.lanes = map[string]*lane[I, R]{}
	}
	if at = r.lanes[key]; at == nil {
		at = &lane[I, R]{}
		r.lanes[key] = at
	}
	at.callers++
	if first = at.next == nil; first {
		at.next = &round[I, R]{done: make(chan struct{}), err: errRoundBroken}
	}
	mine = at.next
	mine.items = append(mine.items, items...)
	return at, mine, first
}

func (r *rounds[I, R]) leave(key string, at *lane[I, R]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.callers--; at.callers == 0 {
		delete(r.lanes, key)
	}
}

func (r *rounds[I, R]) run(ctx context.Context, at *lane[I, R], mine *round[I, R], work func(context.Context, []I) (R, error)) {
	at.running.Lock()
	defer at.running.Unlock()
	defer close(mine.done)
	r.mu.Lock()
	at.next = nil
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), roundLimit)
	defer cancel()
	mine.result, mine.err = work(ctx, mine.items)
}
