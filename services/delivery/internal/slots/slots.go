// Package slots limits the work in progress, so that slow receivers do not delay fast ones. Work starts in a fast slot. After
// FastTime it moves to a slow slot, as soon as a slow slot is free. It moves already after OvertakeTime if many other slots
// were released after its start. Then the other work is quick, so the receiver of this work is slow and not this machine. On
// a busy machine all work is slow, and little work moves early.
package slots

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const moveAgain = 20 * time.Millisecond // pause before watch checks again

// Slots are the fast and slow slots. A slot is a permission to work.
type Slots struct {
	Fast, Slow             chan struct{} // the capacity is the number of slots; one element for each slot in use
	FastTime, OvertakeTime time.Duration
	Overtakers             int             // number of releases, for each fast slot, after which work moves early
	Moved                  func(delta int) // called with 1 when a slot becomes slow, and with -1 when a slow slot is released

	ended    atomic.Int64 // number of slots that were released
	mu       sync.Mutex
	started  []*Slot // in the order of their start; may contain fixed slots
	watching bool    // watch will be called
}

// Acquire waits for a fast slot and returns it. It returns nil if ctx has ended.
func (l *Slots) Acquire(ctx context.Context) *Slot {
	select {
	case l.Fast <- struct{}{}:
		return &Slot{slots: l}
	case <-ctx.Done():
		return nil
	}
}

// Full reports whether all fast slots are in use.
func (l *Slots) Full() bool { return len(l.Fast) == cap(l.Fast) }

// Slot is the permission to work once.
type Slot struct {
	slots *Slots
	since time.Time // the start
	ended int64     // slots.ended at the start

	mu    sync.Mutex
	slow  bool
	fixed bool // the slot cannot become slow any more: it is slow, kept or released
}

// Start sets the time from which FastTime and OvertakeTime count. All slots share one timer. A timer for each delivery
// would use a fiftieth of the delivery's processor time.
func (s *Slot) Start() {
	s.since, s.ended = time.Now(), s.slots.ended.Load()
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	s.slots.started = append(s.slots.started, s)
	if !s.slots.watching {
		s.slots.watching = true
		time.AfterFunc(s.slots.OvertakeTime, s.slots.watch)
	}
}

// watch checks the started slots in the order of their start. If the time of a slot is over, watch makes the slot slow. If a
// slot must wait, or no slow slot is free, watch sets the timer again.
func (l *Slots) watch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.started) > 0 {
		first := l.started[0]
		if wait := first.wait(); wait > 0 && !first.left() {
			time.AfterFunc(wait, l.watch)
			return
		}
		if !first.Move() {
			time.AfterFunc(moveAgain, l.watch)
			return
		}
		l.started[0] = nil
		l.started = l.started[1:]
	}
	l.started, l.watching = nil, false
}

// wait returns how long watch must wait before it moves the slot or checks it again. The result is 0 or less if the
// slot must move now.
func (s *Slot) wait() time.Duration {
	since := time.Since(s.since)
	switch {
	case since < s.slots.OvertakeTime:
		return s.slots.OvertakeTime - since
	case s.slots.ended.Load()-s.ended >= int64(s.slots.Overtakers*cap(s.slots.Fast)):
		return 0
	}
	return min(s.slots.FastTime-since, moveAgain)
}

// Keep makes a fast slot stay fast until it is released. It is called when the attempt has ended and its result waits
// for the store. If such slots moved, more attempts would start while the store is slow, and a kill -9 would repeat
// more attempts than the limit.
func (s *Slot) Keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fixed = true
}

// left reports whether the slot cannot become slow any more: it is slow already, or it was kept or released.
func (s *Slot) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fixed
}

// Move makes a fast slot slow. It returns false if all slow slots are in use. It does nothing and returns true if the
// slot is fixed.
func (s *Slot) Move() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fixed {
		return true
	}
	select {
	case s.slots.Slow <- struct{}{}:
		s.slow, s.fixed = true, true
		s.slots.Moved(1)
		<-s.slots.Fast
		return true
	default:
		return false
	}
}

// Release gives the slot back. It must be called once.
func (s *Slot) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fixed = true
	s.slots.ended.Add(1)
	if s.slow {
		s.slots.Moved(-1)
		<-s.slots.Slow
		return
	}
	<-s.slots.Fast
}
