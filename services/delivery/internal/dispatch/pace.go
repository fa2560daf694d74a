package dispatch

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// If more than maxQueued members wait for the lock of a recipient whose channel is Paced, a first attempt that may not
	// start yet is stored as a row and retried later. So a slow recipient does not keep a shard open, and further shards are
	// fetched.
	maxQueued = 16
	maxPaces  = 50_000 // if more limits are in memory, those whose times are in the past are removed
	// slightlyLate limits how long a member that had its turn waits without a second turn: at most gap/slightlyLate.
	slightlyLate = 4
	// soon is how long before its turn a member gets a fresh destination. Without this, each turn would be late by the
	// time of the request for the destination.
	soon = strictlyAfter / 2
	// longestTurn is the longest time that a first attempt waits in memory for its turn. If the turn is later, the delivery
	// is stored as a row.
	longestTurn = 5 * time.Second
	// roomInHeld adds gap/roomInHeld to the time between the turns of rows. Rows are late by the time that reading them
	// takes, and new deliveries overtake them. Without this addition, rows that are due would fill the memory.
	roomInHeld = 16
	// Due times of rows that have a turn are rounded up to a multiple of heldTogether, so that rows are read and resolved
	// together. The rows then wait in memory for their turns.
	heldTogether = 250 * time.Millisecond
)

// Paced is a Channel whose receivers limit the rate of requests. Limits returns the limits of a destination. The first
// one is its own (OwnLimit). A request waits for all of them.
//
// The times of the requests are in the memory of one process. This suffices, because destinations that share a limit
// are in one bucket, and only one process sends the deliveries of a bucket. A process that gets a partition lets the
// gap pass before its first request, because it does not know the last request of the former owner.
type Paced interface {
	Limits(to *topic.Destination) []Limit
}

// Limit is the minimum time between two requests to destinations of a channel whose limits have the same Key.
type Limit struct {
	Key string
	Gap time.Duration
}

// OwnLimit returns the limit that a destination shares with those that have the same topic.Destination.Paced. If Paced is
// empty, the destination shares the limit with those that have the same URL.
func OwnLimit(to *topic.Destination, gap time.Duration) Limit {
	return Limit{cmp.Or(to.Paced, to.URLHash), gap}
}

// paces stores a pace for each limit, and since when this process owns each partition.
type paces struct {
	mu    sync.Mutex
	known map[sharedLimit]pace
	owned map[int]time.Time
}

// pace has the times of the last request and of the earliest next request under a limit. waiting has the turns of the members
// that wait in memory, held the turns of rows that are not due yet. These turns are separate, because a member with a turn
// after those of the rows would keep its shard open for a long time.
type pace struct {
	last, next    time.Time
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

// Over reports whether the last turn is not after now.
func (t *Turns) Over(now time.Time) bool { return !t.last.After(now) }

// assigned records that this process owns the partition from now on.
func (p *paces) assigned(partition int, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owned[partition] = now
}

// getLocked returns the pace of a limit. Its earliest next request is at least gap after the last request, and gap after this
// process got the partition.
func (p *paces) getLocked(limit sharedLimit, gap time.Duration, partition int) pace {
	known := p.known[limit]
	for _, first := range []time.Time{p.owned[partition].Add(gap), known.last.Add(gap)} { // the gap may be longer than at the last request
		if first.After(known.next) {
			known.next = first
		}
	}
	return known
}

// wait returns how long the next request of m must wait, and the first of its limits for which it must wait. If the
// result is 0 and reserve is true, the request counts as made now.
func (p *paces) wait(m *member, limits []Limit, reserve bool, now time.Time) (time.Duration, Limit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, limit := range limits {
		if wait := p.getLocked(m.under(limit), limit.Gap, m.shard.partition).next.Sub(now); wait > 0 {
			return wait, limit
		}
	}
	if reserve {
		for _, limit := range limits {
			known := p.known[m.under(limit)]
			known.last, known.next = now, now.Add(limit.Gap)
			p.keepLocked(m.under(limit), known, now)
		}
	}
	return 0, Limit{}
}

// delay lets the next request under the limit wait until a time.
func (p *paces) delay(limit sharedLimit, until, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delayLocked(limit, until, now)
}

func (p *paces) delayLocked(limit sharedLimit, until, now time.Time) {
	if known := p.known[limit]; until.After(known.next) {
		known.next = until
		p.keepLocked(limit, known, now)
	}
}

// keepLocked stores the pace of a limit. If maxPaces limits are stored, it first removes those whose times are in the
// past.
func (p *paces) keepLocked(limit sharedLimit, known pace, now time.Time) {
	if len(p.known) >= maxPaces {
		maps.DeleteFunc(p.known, func(_ sharedLimit, other pace) bool {
			return !other.next.After(now) && other.waiting.Over(now) && other.held.Over(now)
		})
	}
	p.known[limit] = known
}

// turn returns the time of a new turn of m. held is true if m must wait for this turn as a row: m is a first attempt, and the
// turn is more than longestTurn after now.
func (p *paces) turn(m *member, limit Limit, now time.Time) (at time.Time, held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.getLocked(m.under(limit), limit.Gap, m.shard.partition)
	waiting := known.waiting
	if at = waiting.Turn(known.next, limit.Gap); m.row == nil && at.Sub(now) > longestTurn {
		at, held = known.held.Turn(at, limit.Gap+limit.Gap/roomInHeld), true
	} else {
		known.waiting = waiting
	}
	p.keepLocked(m.under(limit), known, now)
	return at, held
}

// turnAfter returns the time of a new turn of a row that waits for the end of a pause.
func (p *paces) turnAfter(m *member, limit Limit, until, now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.getLocked(m.under(limit), limit.Gap, m.shard.partition)
	if until.Before(known.next) {
		until = known.next
	}
	turn := known.held.Turn(until, limit.Gap+limit.Gap/roomInHeld)
	p.keepLocked(m.under(limit), known, now)
	return turn
}

// sharedLimit identifies a rate limit of a receiver. Deliveries to which the same limit applies have the same sharedLimit.
// digest is Limit.Key, and "" for a destination without a URL.
type sharedLimit struct {
	channel topic.Channel
	digest  string
}

// under returns the sharedLimit of a limit of the member's channel.
func (m *member) under(limit Limit) sharedLimit { return sharedLimit{m.shard.channel, limit.Key} }

// limit returns the sharedLimit of the member's own destination, also if its channel is not Paced.
func (m *member) limit() sharedLimit { return m.under(OwnLimit(m.to, 0)) }

// limits returns the rate limits that apply to the member.
func (s *Sender) limits(m *member) []Limit {
	if channel, paced := s.Channels[m.shard.channel].(Paced); paced {
		return channel.Limits(m.to)
	}
	return nil
}

// pace returns how long m must wait because of the rate limits of its destination, and whether it must wait as a row. If m
// need not wait and reserve is true, its request counts as made now. The first time that m must wait for a limit, it gets a
// turn and waits for it. If m must wait again after its turn, because an earlier request was late, there are two cases. For
// at most gap/slightlyLate it waits only this time. For a longer time it gets another turn. Otherwise the delays would add
// up, and more and more members would wake for each request. If m is crowded, it gets no turn and waits as a row.
func (s *Sender) pace(m *member, reserve bool) (wait time.Duration, held bool) {
	limits := s.limits(m)
	if len(limits) == 0 {
		return 0, false
	}
	now := time.Now()
	wait, limit := s.paces.wait(m, limits, reserve, now)
	switch {
	case wait == 0 || m.hadTurn == limit.Key && wait <= limit.Gap/slightlyLate && !m.turn.After(now):
		return wait, false
	case s.crowded(m):
		return limit.Gap * time.Duration(s.locks.waiting(m)), true
	case m.hadTurn == limit.Key && m.turn.After(now):
		return m.turn.Sub(now), m.held
	}
	m.hadTurn = limit.Key
	m.turn, m.held = s.paces.turn(m, limit, now)
	if m.row == nil && len(limits) > 1 { // the last limit is that of the host
		s.queue.yield(m.shard, m.held && limit.Key == limits[len(limits)-1].Key)
	}
	return m.turn.Sub(now), m.held
}

// paused returns until when the receiver of m, or the host of all receivers of the channel, wants no request, and the
// limit whose pause ends last. The time is zero if there is no pause.
func (s *Sender) paused(m *member, own receiver, now time.Time) (until time.Time, of Limit) {
	limits := s.limits(m)
	if len(limits) > 0 {
		of = limits[0]
	}
	if until = own.pausedUntil; !now.Before(until) {
		until = time.Time{}
	}
	for _, limit := range limits[min(1, len(limits)):] {
		if host := s.receivers.get(m.under(limit)).pausedUntil; now.Before(host) && host.After(until) {
			until, of = host, limit
		}
	}
	return until, of
}

// afterPause returns when m may try again after a pause. If the limit has a gap, the members that share the limit wake
// one after the other. Otherwise they wake at random times.
func (s *Sender) afterPause(m *member, until time.Time, of Limit) time.Time {
	if of.Gap == 0 {
		return until.Add(jitter(max(0, until.Sub(s.Now()))))
	}
	return s.paces.turnAfter(m, of, until, time.Now()).Add(heldTogether).Truncate(heldTogether)
}

// rest applies Result.Rest and Result.HostPause of m's attempt. receivers.record and Policy.next apply Result.RetryAfter.
func (s *Sender) rest(m *member, result *Result, now time.Time) {
	if result.Rest > 0 {
		s.paces.delay(m.limit(), time.Now().Add(result.Rest), time.Now())
	}
	if result.HostPause == 0 {
		return
	}
	if limits := s.limits(m); len(limits) > 1 {
		until := now.Add(result.HostPause)
		s.receivers.pause(m.under(limits[len(limits)-1]), until)
		s.Observer.HostPaused(until)
	}
}

// crowded reports whether m is a first attempt (m.row is nil) and more than maxQueued members wait for the lock of its
// recipient.
func (s *Sender) crowded(m *member) bool { return m.row == nil && s.locks.waiting(m) > maxQueued }
