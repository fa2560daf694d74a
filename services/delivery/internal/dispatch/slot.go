package dispatch

import (
	"context"
	"sync"
	"time"
)

const (
	fastPerCore  = 64 // more attempts would wait for the processor and delay everything else
	maxFastSlots = 256 - unstoredResults
	slowSlots    = 1024
	fastTime     = 200 * time.Millisecond // how long an attempt may use a fast slot
	moveAgain    = 20 * time.Millisecond  // before the next try to move, while all slow slots are in use
)

// slots limit the deliveries in progress. Each delivery starts in a fast slot. A delivery that takes longer
// than fastTime, because of the receiver or of another service, moves to a slow slot, so that slow
// receivers do not use up the fast slots.
type slots struct {
	fast, slow chan struct{}
	observer   Observer
}

// acquire waits for a fast slot. It returns nil if ctx ended.
func (l *slots) acquire(ctx context.Context) *slot {
	select {
	case l.fast <- struct{}{}:
		return &slot{slots: l}
	case <-ctx.Done():
		return nil
	}
}

// slot is the permission to process one delivery.
type slot struct {
	slots *slots

	mu       sync.Mutex
	slow     bool
	released bool
	timer    *time.Timer
}

// start starts the time after which the slot becomes a slow one.
func (s *slot) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(fastTime, func() {
		if !s.move() {
			s.timer.Reset(moveAgain)
		}
	})
}

// move turns the slot into a slow one. It returns false if all slow slots are in use.
func (s *slot) move() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released || s.slow {
		return true
	}
	select {
	case s.slots.slow <- struct{}{}:
		s.slow = true
		s.slots.observer.SlowSlots(1)
		<-s.slots.fast
		return true
	default:
		return false
	}
}

// release returns the slot. It is called once.
func (s *slot) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.slow {
		s.slots.observer.SlowSlots(-1)
		<-s.slots.slow
		return
	}
	<-s.slots.fast
}
