package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const (
	fastPerCore  = 64  // more attempts would wait for the processor and delay everything else
	maxFastSlots = 128 // see batchRows
	slowSlots    = 1024
	fastTime     = deliverylog.MaxQuick  // how long an attempt may use a fast slot
	overtakeTime = 75 * time.Millisecond // the same for an attempt that others have overtaken
	overtakers   = 8                     // for each fast slot; they have ended since the attempt started
	moveAgain    = 20 * time.Millisecond // before the next try to move, or the next look whether others have overtaken
)

// slots limit the deliveries in progress. Each delivery starts in a fast slot. A delivery that takes longer
// than fastTime, because of the receiver or of another service, moves to a slow slot, so that slow
// receivers do not use up the fast slots.
//
// A delivery that many others overtake moves sooner, after overtakeTime: the others are quick, so this machine is not the
// cause. Many are overtakers for each fast slot. On a busy machine all deliveries are slow and few move sooner. More would
// start in place of those that move, and a kill -9 could then repeat more than the bound.
type slots struct {
	fast, slow chan struct{}
	observer   Observer
	ended      atomic.Int64 // deliveries

	mu       sync.Mutex
	started  []*slot // the first started is the first; also those that have left
	watching bool    // watch will be called
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
	since time.Time // the start
	ended int64     // slots.ended at the start

	mu       sync.Mutex
	slow     bool
	released bool
	kept     bool
}

// start starts the time after which the slot becomes a slow one. All slots share a timer: one for each delivery would be a
// fiftieth of its processor time.
func (s *slot) start() {
	s.since, s.ended = time.Now(), s.slots.ended.Load()
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	s.slots.started = append(s.slots.started, s)
	if !s.slots.watching {
		s.slots.watching = true
		time.AfterFunc(overtakeTime, s.slots.watch)
	}
}

// watch moves the slots whose time is over, and sets the timer again while others are in use.
func (l *slots) watch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.started) > 0 {
		first := l.started[0]
		if wait := first.wait(); wait > 0 && !first.left() {
			time.AfterFunc(wait, l.watch)
			return
		}
		if !first.move() {
			time.AfterFunc(moveAgain, l.watch)
			return
		}
		l.started[0] = nil
		l.started = l.started[1:]
	}
	l.started, l.watching = nil, false
}

// wait returns after which time the slot becomes a slow one, or may become one.
func (s *slot) wait() time.Duration {
	since := time.Since(s.since)
	switch {
	case since < overtakeTime:
		return overtakeTime - since
	case s.slots.ended.Load()-s.ended >= int64(overtakers*cap(s.slots.fast)):
		return 0
	}
	return min(fastTime-since, moveAgain)
}

// keep ends the time of the slot: a fast one stays fast until it is released. It is called when the result of the attempt
// waits for the store. If such slots became slow ones while the store is slow, more attempts would start, and a kill -9
// would repeat more than the bound.
func (s *slot) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = true
}

// left reports whether the slot does not become a slow one any more.
func (s *slot) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released || s.slow || s.kept
}

// move turns the slot into a slow one. It returns false if all slow slots are in use.
func (s *slot) move() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released || s.slow || s.kept {
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
	s.slots.ended.Add(1)
	if s.slow {
		s.slots.observer.SlowSlots(-1)
		<-s.slots.slow
		return
	}
	<-s.slots.fast
}
