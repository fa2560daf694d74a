package dispatch

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// maxQueued is the number of members that may wait for the lock of a recipient whose channel is Paced. A further
	// delivery becomes a row that waits, so that its shard ends and other shards are fetched.
	maxQueued = 16
	maxPaces  = 50_000 // limits in memory
	// slightlyLate: a request that is late by at most gap/slightlyLate costs the next member no other turn.
	slightlyLate = 4
)

// Paced is a Channel whose receivers limit the rate of requests. Gap returns the minimum time between two requests
// to destinations that share a limit.
//
// The times are in the memory of one process. This is exact: destinations that share a limit are in one bucket, and
// a bucket has one sender at a time.
type Paced interface {
	Gap() time.Duration
}

// paces holds the times of each limit.
type paces struct {
	mu    sync.Mutex
	known map[sharedLimit]pace
}

// pace is the earliest time of the next request, and the turns of the waiting members.
type pace struct {
	next time.Time
	Turns
}

// Turns gives different times to deliveries that wait for the same time, so that they do not all wake together.
type Turns struct{ last time.Time }

// Turn returns the time of a turn: a gap after the turn before, and not before earliest.
func (t *Turns) Turn(earliest time.Time, gap time.Duration) time.Time {
	if t.last = t.last.Add(gap); t.last.Before(earliest) {
		t.last = earliest
	}
	return t.last
}

// wait returns how long the next request must wait. If it need not wait and reserve is true, wait counts the request
// as made.
func (p *paces) wait(limit sharedLimit, gap time.Duration, reserve bool, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.known[limit]
	if wait := known.next.Sub(now); wait > 0 || !reserve {
		return max(0, wait)
	}
	known.next = now.Add(gap)
	p.keepLocked(limit, known, now)
	return 0
}

// keepLocked stores the times of a limit. If the memory is full, it removes the limits whose times are over.
func (p *paces) keepLocked(limit sharedLimit, known pace, now time.Time) {
	if len(p.known) >= maxPaces {
		maps.DeleteFunc(p.known, func(_ sharedLimit, other pace) bool { return !other.next.After(now) && !other.last.After(now) })
	}
	p.known[limit] = known
}

// turn returns the time of a turn for a member that must wait, which is not before the time.
func (p *paces) turn(limit sharedLimit, gap time.Duration, at, now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.known[limit]
	if known.next.After(at) {
		at = known.next
	}
	turn := known.Turn(at, gap)
	p.keepLocked(limit, known, now)
	return turn
}

// sharedLimit identifies a limit of a receiver. Deliveries that share the limit have the same sharedLimit. It is zero for
// a destination without a URL.
type sharedLimit struct {
	channel topic.Channel
	digest  string
}

// limit returns the member's limit.
func (m *member) limit() sharedLimit {
	digest := cmp.Or(m.to.Paced, m.to.URLHash)
	if digest == "" {
		return sharedLimit{}
	}
	return sharedLimit{m.shard.channel, digest}
}

// pace returns how long m must wait because of its destination's pace, and the gap, which is 0 if the channel is
// not Paced. If reserve is true and m need not wait, pace counts its request as made. The first time that m must wait,
// it waits for its turn. If an earlier request was slightly late, m then waits for that only. If it was later, m takes
// another turn. Otherwise the delays would add up, and more and more members would wake for each request.
func (s *Sender) pace(m *member, reserve bool) (wait, gap time.Duration) {
	channel, paced := s.Channels[m.shard.channel].(Paced)
	if !paced {
		return 0, 0
	}
	gap = channel.Gap()
	now, limit := time.Now(), m.limit()
	wait = s.paces.wait(limit, gap, reserve, now)
	if wait > 0 && (!m.hadTurn || wait > gap/slightlyLate) && !s.crowded(m) {
		m.hadTurn = true
		wait = s.paces.turn(limit, gap, now, now).Sub(now)
	}
	return wait, gap
}

// afterPause returns when m may try again after its receiver's pause. The members that share a limit wake in turn.
func (s *Sender) afterPause(m *member, until time.Time) time.Time {
	if channel, paced := s.Channels[m.shard.channel].(Paced); paced {
		return s.paces.turn(m.limit(), channel.Gap(), until, time.Now())
	}
	return until
}

// crowded reports whether m is a first attempt with more than maxQueued members waiting for its recipient.
func (s *Sender) crowded(m *member) bool { return m.row == nil && s.locks.waiting(m) > maxQueued }
