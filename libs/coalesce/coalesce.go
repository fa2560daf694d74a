// Package coalesce lets concurrent callers in a process share runs of the same work. A run serves all callers that
// arrived before its start. A caller that arrives during a run waits for the next run. So its result never comes from
// work that began before its call: a caller reads its own writes, and a revoked key is not accepted. With
// x/sync/singleflight, the caller would share the run in progress.
package coalesce

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// Group shares runs by key. Runs of the same key follow each other; runs of different keys are concurrent. A caller
// adds Items to a run. R is the result of a run, which all of its callers get. The zero Group is ready for use.
type Group[Item, R any] struct {
	// Before, if set, is called right before a run begins. It may wait. Callers that arrive before it returns share
	// the run.
	Before func(key string)

	mu   sync.Mutex
	last map[string]*Run[Item, R] // the newest run of each key, until it ends
}

// Run is one run of the work for a key.
type Run[Item, R any] struct {
	begun  bool
	items  []Item
	done   chan struct{}
	result R
	err    error
}

// errEnded is the error of a run whose work has ended its goroutine instead of returning, as a failing test does.
var errEnded = errors.New("coalesce: the work has not returned")

// Do adds items to the next run of key, and returns the result of that run. It returns the cause of ctx if ctx ends
// first; the run continues. See [Group.Start].
func (g *Group[Item, R]) Do(ctx context.Context, key string, items []Item, work func(context.Context, []Item) (R, error)) (R, error) {
	return g.Start(ctx, key, items, work).Wait(ctx)
}

// Start adds items to the next run of key, and returns that run. The run calls work of its first caller once, with
// the items of all callers in the order of their calls. The context of the run has the values of its first caller,
// and does not end, so work must limit its own time. A panic of work becomes the error of the run.
func (g *Group[Item, R]) Start(ctx context.Context, key string, items []Item, work func(context.Context, []Item) (R, error)) *Run[Item, R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	former := g.last[key]
	if former != nil && !former.begun {
		former.items = append(former.items, items...)
		return former
	}
	if g.last == nil {
		g.last = map[string]*Run[Item, R]{}
	}
	next := &Run[Item, R]{items: append([]Item(nil), items...), done: make(chan struct{}), err: errEnded}
	g.last[key] = next
	go func() {
		if former != nil {
			<-former.done
		}
		g.execute(context.WithoutCancel(ctx), key, next, work)
	}()
	return next
}

func (g *Group[Item, R]) execute(ctx context.Context, key string, r *Run[Item, R], work func(context.Context, []Item) (R, error)) {
	defer func() {
		if cause := recover(); cause != nil {
			r.err = fmt.Errorf("coalesce: the work panicked: %v\n%s", cause, debug.Stack())
		}
		g.mu.Lock()
		if g.last[key] == r {
			delete(g.last, key)
		}
		g.mu.Unlock()
		close(r.done)
	}()
	if g.Before != nil {
		g.Before(key)
	}
	g.mu.Lock()
	r.begun = true
	g.mu.Unlock()
	r.result, r.err = work(ctx, r.items)
}

// Done returns a channel that is closed when the run has ended.
func (r *Run[Item, R]) Done() <-chan struct{} { return r.done }

// Wait returns the result of the run, or the cause of ctx if ctx ends first. It does not wait if the run has ended.
func (r *Run[Item, R]) Wait(ctx context.Context) (R, error) {
	select {
	case <-r.done:
		return r.result, r.err
	default:
	}
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		return *new(R), context.Cause(ctx)
	}
}
