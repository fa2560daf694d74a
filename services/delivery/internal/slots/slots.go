// Package slots limits work in progress, so that slow receivers do not delay the others. Work starts in a fast slot. Work
// that takes longer than FastTime moves to a slow slot. Work that many others overtake moves sooner, after OvertakeTime: the
// others are quick, so this machine is not the cause. On a busy machine all work is slow, and little moves sooner.
package slots

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const moveAgain = 20 * time.Millisecond // before the next try to move, or the next look whether others have overtaken

// Slots are the permissions to work.
type Slots struct {
	Fast, Slow             chan struct{} // their capacities are the numbers of slots
	FastTime, OvertakeTime time.Duration
	Overtakers             int             // for each fast slot: after OvertakeTime, so many others must have ended since the start
	Moved                  func(delta int) // counts the slow slots in use

	ended    atomic.Int64 // slots that were released
	mu       sync.Mutex
	started  []*Slot // in the order of their start; slots that have left stay until watch removes them
	watching bool    // watch will be called
}

// Acquire waits for a fast slot. It returns nil if ctx ended.
func (l *Slots) Acquire(ctx context.Context) *Slot {
	select {
	case l.Fast <- struct{}{}:
		return &Slot{slots: l}
	case <-ctx.Done():
		return nil
	}
}

// Slot is the permission to work once.
type Slot struct {
	slots *Slots
	since time.Time // the start
	ended int64     // slots.ended at the start

	mu    sync.Mutex
	slow  bool
	fixed bool // it does not become a slow slot any more
}

// Start starts the time after which the slot becomes a slow one. All slots share a timer: one for each delivery would be a
// fiftieth of its processor time.
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

// watch moves the slots whose time is over, and sets the timer again while others are in use.
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

// wait returns after which time the slot becomes a slow one, or may become one.
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

// Keep ends the time of the slot: a fast one stays fast until it is released. It is called when the result of the attempt
// waits for the store. Otherwise more attempts would start while the store is slow, and a kill -9 would repeat more than
// the bound.
func (s *Slot) Keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fixed = true
}

// left reports whether the slot does not become a slow one any more.
func (s *Slot) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fixed
}

// Move turns the slot into a slow one. It returns false if all slow slots are in use.
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

// Release returns the slot. It is called once.
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
