package dispatch

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	fastPerCore = 64 // more would only wait for the processor, in front of everything else
	slowSlots   = 1024
	handover    = 200 * time.Millisecond
	slowMemory  = 10 * time.Minute
	slowKnown   = 50_000 // receivers remembered at the most
)

// lanes are the slots for deliveries. Every one begins in the fast lane; one that
// takes long, because the receiver or a service that is asked does, gives its slot back and goes
// on in the slow lane, so that slow receivers do not use up the slots of the others.
type lanes struct {
	fast, slow chan struct{}
	observer   Observer
}

func newLanes(observer Observer) *lanes {
	return &lanes{fast: make(chan struct{}, fastPerCore*runtime.GOMAXPROCS(0)), slow: make(chan struct{}, slowSlots), observer: observer}
}

// acquire waits for a slot in the fast lane; nil means that ctx ended.
func (l *lanes) acquire(ctx context.Context) *slot {
	select {
	case l.fast <- struct{}{}:
		return &slot{lanes: l}
	case <-ctx.Done():
		return nil
	}
}

// slot is the right to make an attempt.
type slot struct {
	lanes *lanes

	mu       sync.Mutex
	slow     bool
	released bool
	timer    *time.Timer
	over     chan struct{} // ends with the slot, once it waits for the slow lane
}

// slowly moves to the slow lane at once; false when that is full.
func (s *slot) slowly() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slow {
		return true
	}
	select {
	case s.lanes.slow <- struct{}{}:
		s.moveLocked()
		return true
	default:
		return false
	}
}

// begin says that the slot is made use of: what takes long from now on, the attempt or what is asked
// before it, may lose its place in the fast lane.
func (s *slot) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(handover, s.handOver)
}

// handOver waits for room in the slow lane as long as the slot is made use of.
func (s *slot) handOver() {
	s.mu.Lock()
	if s.released || s.slow {
		s.mu.Unlock()
		return
	}
	s.over = make(chan struct{})
	s.mu.Unlock()
	select {
	case <-s.over:
	case s.lanes.slow <- struct{}{}:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.released || s.slow {
			<-s.lanes.slow
			return
		}
		s.moveLocked()
	}
}

func (s *slot) moveLocked() {
	s.slow = true
	s.lanes.observer.SlowLane(1)
	<-s.lanes.fast
}

// release gives the slot back; further calls do nothing.
func (s *slot) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return
	}
	s.released = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.over != nil {
		close(s.over)
	}
	if s.slow {
		s.lanes.observer.SlowLane(-1)
		<-s.lanes.slow
		return
	}
	<-s.lanes.fast
}

// receivers remembers which of them are slow, and which asked for a rest, by the
// hash of where they live.
type receivers struct {
	mu   sync.Mutex
	slow map[string]time.Time // until when it counts as slow
	held map[string]time.Time // until when it wants to be left alone
}

func newReceivers() *receivers {
	return &receivers{slow: make(map[string]time.Time), held: make(map[string]time.Time)}
}

// isSlow reports a receiver that has timed out lately.
func (r *receivers) isSlow(hash string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	until, found := r.slow[hash]
	return found && now.Before(until)
}

// heldUntil is when the receiver may be asked again, if it asked for a rest.
func (r *receivers) heldUntil(hash string, now time.Time) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	until, found := r.held[hash]
	return until, found && now.Before(until)
}

// learn draws conclusions from an result.
func (r *receivers) learn(hash string, result Result, now time.Time) {
	if hash == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case result.Code == CodeTimeout:
		remember(r.slow, hash, now.Add(slowMemory), now)
	case asked(result):
		remember(r.held, hash, now.Add(min(result.RetryAfter, maxRetryAfter)), now)
	case result.Code == "":
		delete(r.slow, hash)
		delete(r.held, hash)
	}
}

// remember keeps the map from growing without bound.
func remember(known map[string]time.Time, hash string, until, now time.Time) {
	if len(known) >= slowKnown {
		for other, end := range known {
			if !now.Before(end) || len(known) >= slowKnown {
				delete(known, other)
			}
		}
	}
	known[hash] = until
}
