package dispatch

import (
	"maps"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// maxQueued is how many members may wait for the lock of a recipient whose channel is Paced. With more of
	// them, a delivery becomes a row that waits, so that its shard ends and other shards are fetched.
	maxQueued = 16
	maxPaces  = 50_000 // keys in memory
)

// Paced is a Channel whose receivers limit the rate of requests. Pace returns the minimum time between two
// requests to the destination, and a key: destinations with the same key share the limit.
//
// The times are in the memory of one process. This is exact if the key depends only on the destination: one
// destination is in one bucket, and a bucket has one sender at a time.
type Paced interface {
	Pace(to *topic.Destination) (key string, gap time.Duration)
}

// paces holds the earliest time of the next request for each key.
type paces struct {
	mu   sync.Mutex
	next map[string]time.Time
}

// wait returns how long the next request of the key must wait. If it need not wait and reserve is true, wait
// counts the request as made.
func (p *paces) wait(key string, gap time.Duration, reserve bool, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wait := p.next[key].Sub(now); wait > 0 || !reserve {
		return max(0, wait)
	}
	if len(p.next) >= maxPaces {
		maps.DeleteFunc(p.next, func(_ string, at time.Time) bool { return !at.After(now) })
	}
	p.next[key] = now.Add(gap)
	return 0
}

// pace returns how long m must wait because of its destination's pace, and the gap, which is 0 if the channel is
// not Paced. If reserve is true and m need not wait, pace counts its request as made.
func (s *Sender) pace(m *member, reserve bool) (wait, gap time.Duration) {
	channel, paced := s.Channels[m.shard.channel].(Paced)
	if !paced {
		return 0, 0
	}
	key, gap := channel.Pace(m.to)
	return s.paces.wait(key, gap, reserve, time.Now()), gap
}

// crowded reports whether m is a first attempt with more than maxQueued members waiting for its recipient.
func (s *Sender) crowded(m *member) bool { return m.row == nil && s.locks.waiting(m) > maxQueued }
