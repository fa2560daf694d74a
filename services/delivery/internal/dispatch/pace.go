package dispatch

import (
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// A recipient with more deliveries than this behind it does not wait for its pace in memory: its
	// deliveries become rows that wait, so that their shards end and others are fetched.
	linedUp = 16
	paced   = 50_000 // paces remembered at the most
)

// Paced is a Channel whose receivers accept only so many requests. Pace gives the least
// time between the beginnings of two requests to a destination, and what it is kept for: destinations
// of one key share it.
//
// The pace is kept in this process's memory. That is exact when key follows from where the destination
// lives, for what lives at one place is in one bucket, and a bucket has one sender at a time.
type Paced interface {
	Pace(to *topic.Destination) (key string, gap time.Duration)
}

// paces knows when a destination may be asked next.
type paces struct {
	mu   sync.Mutex
	next map[string]time.Time
}

func newPaces() *paces { return &paces{next: make(map[string]time.Time)} }

// until is how long to wait for the next request of the key; 0 is now.
func (p *paces) until(key string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, p.next[key].Sub(now))
}

// claim is like until; when that is now, the request is taken for made.
func (p *paces) claim(key string, gap time.Duration, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wait := p.next[key].Sub(now); wait > 0 {
		return wait
	}
	if len(p.next) >= paced {
		for other, at := range p.next {
			if !at.After(now) {
				delete(p.next, other)
			}
		}
	}
	p.next[key] = now.Add(gap)
	return 0
}

// pace is the member's, if its channel keeps one.
func (s *Sender) pace(m *member) (key string, gap time.Duration) {
	if channel, keeps := s.Routes[m.shard.channel].Channel.(Paced); keeps {
		return channel.Pace(m.to)
	}
	return "", 0
}

// early reports that the member's destination was asked so lately that the member has to wait, and
// puts it off. It is asked first, when that costs nothing yet.
func (s *Sender) early(m *member) bool {
	key, gap := s.pace(m)
	if gap == 0 || s.crowded(m) {
		return false
	}
	wait := s.paces.until(key, time.Now())
	if wait > 0 {
		s.putOff(m, wait)
	}
	return wait > 0
}

// claim takes the request that is about to be made into the destination's pace; what is left to wait
// for it is 0 when it may be made.
func (s *Sender) claim(m *member) time.Duration {
	key, gap := s.pace(m)
	if gap == 0 {
		return 0
	}
	return s.paces.claim(key, gap, time.Now())
}

// crowded reports a new delivery with so many behind it that waiting in memory would keep too
// many shards from ending.
func (s *Sender) crowded(m *member) bool { return m.row == nil && s.turns.behind(m) > linedUp }

// hold makes a row that waits of a delivery that is crowded: until those in front are through, more or less.
func (s *Sender) hold(m *member, row *Delivery) {
	_, gap := s.pace(m)
	row.wait(CodeHeld, s.Now().Add(gap*time.Duration(s.turns.behind(m))), s.Traces.Carry(m.shard.trace))
}

// putOff lets the member come back by itself. Until then it keeps its turn, but it is out of
// the flow, and its slot is free for others.
func (s *Sender) putOff(m *member, wait time.Duration) {
	<-s.flow
	time.AfterFunc(wait, func() { s.bring(m) })
}
