package dispatch

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// maxQueued is the maximum number of members that queue for the lock of a recipient whose channel is Paced. If the queue
	// is full, a first attempt that may not start yet is stored as a row and retried later. So a slow recipient does not
	// keep a shard open, and further shards are fetched.
	maxQueued = 16
	maxPaces  = 50_000 // maximum number of limits in memory
	// slightlyLate limits how long a member that had its turn waits without a second turn: at most gap/slightlyLate.
	slightlyLate = 4
)

// Paced is a Channel whose receivers limit the rate of requests. Gap returns the minimum time between two requests
// to destinations that share a limit.
//
// The times of the requests are in the memory of one process. This suffices, because destinations that share a limit
// are in one bucket, and only one process sends the deliveries of a bucket.
type Paced interface {
	Gap() time.Duration
}

// paces stores a pace for each limit.
type paces struct {
	mu    sync.Mutex
	known map[sharedLimit]pace
}

// pace is the earliest time of the next request under a limit, the turns of the members that wait in memory, and those of
// the rows that wait for the end of a pause. A member that got a turn behind such rows would keep its shard open during
// the whole pause.
type pace struct {
	next          time.Time
	waiting, held Turns
}

// Turns assigns different times to deliveries that wait for the same time, so that they do not all wake together.
type Turns struct{ last time.Time }

// Turn returns the time of a new turn: gap after the last turn, but not before earliest.
func (t *Turns) Turn(earliest time.Time, gap time.Duration) time.Time {
	if t.last = t.last.Add(gap); t.last.Before(earliest) {
		t.last = earliest
	}
	return t.last
}

// wait returns how long the next request must wait. If the result is 0 and reserve is true, the request counts as made
// now.
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

// keepLocked stores the pace of a limit. If maxPaces limits are stored, it first removes those whose times are in the
// past.
func (p *paces) keepLocked(limit sharedLimit, known pace, now time.Time) {
	if len(p.known) >= maxPaces {
		maps.DeleteFunc(p.known, func(_ sharedLimit, other pace) bool {
			return !other.next.After(now) && !other.waiting.last.After(now) && !other.held.last.After(now)
		})
	}
	p.known[limit] = known
}

// turn returns the time of a new turn: for a member that waits in memory, or, if until is after now, for a row that waits
// for the end of a pause.
func (p *paces) turn(limit sharedLimit, gap time.Duration, until, now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.known[limit]
	turns, earliest := &known.waiting, known.next
	if until.After(now) {
		turns = &known.held
	}
	if until.After(earliest) {
		earliest = until
	}
	turn := turns.Turn(earliest, gap)
	p.keepLocked(limit, known, now)
	return turn
}

// sharedLimit identifies a rate limit of a receiver. Deliveries to which the same limit applies have the same
// sharedLimit. It is the zero value for a destination without a URL.
type sharedLimit struct {
	channel topic.Channel
	digest  string
}

// limit returns the rate limit that applies to the member.
func (m *member) limit() sharedLimit {
	digest := cmp.Or(m.to.Paced, m.to.URLHash)
	if digest == "" {
		return sharedLimit{}
	}
	return sharedLimit{m.shard.channel, digest}
}

// pace returns how long m must wait because of the rate limit of its destination, and the gap of the channel. If the
// channel is not Paced, both are 0. If m need not wait and reserve is true, its request counts as made now. The first
// time that m must wait, it gets a turn and waits for it. If m must wait again after its turn, because an earlier
// request was late, there are two cases. For at most gap/slightlyLate it waits only this time. For a longer time it
// gets another turn. Otherwise the delays would add up, and more and more members would wake for each request.
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

// afterPause returns when m may try again. until is the end of the pause of its receiver. If the channel is Paced, the
// members that share a limit wake one after the other.
func (s *Sender) afterPause(m *member, until time.Time) time.Time {
	if channel, paced := s.Channels[m.shard.channel].(Paced); paced {
		return s.paces.turn(m.limit(), channel.Gap(), until, time.Now())
	}
	return until
}

// crowded reports whether m is a first attempt (m.row is nil) and more than maxQueued members wait for the lock of its
// recipient.
func (s *Sender) crowded(m *member) bool { return m.row == nil && s.locks.waiting(m) > maxQueued }
