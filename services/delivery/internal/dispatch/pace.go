package dispatch

import (
	"cmp"
	"maps"
	"sync"
	"time"
)

const (
	// maxQueued is how many members may wait for the lock of a recipient whose channel is Paced. With more of
	// them, a delivery becomes a row that waits, so that its shard ends and other shards are fetched.
	maxQueued = 16
	maxPaces  = 50_000 // limits in memory
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
	known map[string]pace
}

// pace is the earliest time of the next request, and the last turn that was given to a waiting member.
type pace struct{ next, lastTurn time.Time }

// wait returns how long the next request must wait. If it need not wait and reserve is true, wait counts the request
// as made.
func (p *paces) wait(limit string, gap time.Duration, reserve bool, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.known[limit]
	if wait := known.next.Sub(now); wait > 0 || !reserve {
		return max(0, wait)
	}
	if len(p.known) >= maxPaces {
		maps.DeleteFunc(p.known, func(_ string, other pace) bool { return !other.next.After(now) })
	}
	known.next = now.Add(gap)
	p.known[limit] = known
	return 0
}

// turn returns how long a member that must wait waits for its turn. Each turn is a gap after the turn before, so that
// members do not all wake for the same request.
func (p *paces) turn(limit string, gap time.Duration, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.known[limit]
	if known.lastTurn = known.lastTurn.Add(gap); known.lastTurn.Before(known.next) {
		known.lastTurn = known.next
	}
	p.known[limit] = known
	return known.lastTurn.Sub(now)
}

// limit returns a key that members have in common if their receiver limits their requests together. It returns "" if
// the destination has no URL.
func (m *member) limit() string {
	digest := cmp.Or(m.to.Paced, m.to.URLHash)
	if digest == "" {
		return ""
	}
	return string(m.shard.channel) + " " + digest
}

// pace returns how long m must wait because of its destination's pace, and the gap, which is 0 if the channel is
// not Paced. If reserve is true and m need not wait, pace counts its request as made. The first time that m must wait,
// it waits for its turn. If an earlier request was late, m then waits for that only.
func (s *Sender) pace(m *member, reserve bool) (wait, gap time.Duration) {
	channel, paced := s.Channels[m.shard.channel].(Paced)
	if !paced {
		return 0, 0
	}
	gap = channel.Gap()
	now, limit := time.Now(), m.limit()
	wait = s.paces.wait(limit, gap, reserve, now)
	if wait > 0 && !m.hadTurn && !s.crowded(m) {
		m.hadTurn = true
		wait = s.paces.turn(limit, gap, now)
	}
	return wait, gap
}

// crowded reports whether m is a first attempt with more than maxQueued members waiting for its recipient.
func (s *Sender) crowded(m *member) bool { return m.row == nil && s.locks.waiting(m) > maxQueued }
