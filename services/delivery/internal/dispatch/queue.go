package dispatch

import (
	"context"
	"sync"
	"time"
)

const (
	openAhead  = 3  // deliveries of one organization that are opened before they are needed
	openAtOnce = 12 // shards being opened at the same time
	openPause  = 100 * time.Millisecond
	openLonger = 5 * time.Second
)

// queue hands out the deliveries to be attempted, organization by organization in
// turn, and each of an organization's channels on its own, for the service that knows the
// recipients of one may be down. There shards go in the order they came, and what waited for
// its recipient's turn goes first.
type queue struct {
	open func(*shard, []*member) (opened, error) // finds out what a shard needs; called without the lock
	now  func() time.Time

	mu      sync.Mutex
	tenants map[line]*tenant
	ring    []*tenant // those with something to do
	at      int
	opening int
	openers sync.WaitGroup
	stopped bool
	wake    chan struct{}
	inHand  map[string]int // shards from the topic that are not settled, by their id
}

// tenant is one organization's part on one channel.
type tenant struct {
	line   line
	ready  []*member
	shards []*shard
}

func newQueue(open func(*shard, []*member) (opened, error)) *queue {
	return &queue{open: open, now: time.Now, tenants: make(map[line]*tenant), wake: make(chan struct{}, 1),
		inHand: make(map[string]int)}
}

// push appends a shard.
func (q *queue) push(s *shard) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		s.given = true
		s.settle(false)
		return
	}
	if s.id != "" {
		s.again = q.inHand[s.id] > 0
		q.inHand[s.id]++
	}
	t := q.tenantLocked(s)
	t.shards = append(t.shards, s)
	q.rouse()
}

// back brings a member that was taken before; false when the queue has ended.
func (q *queue) back(m *member) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return false
	}
	t := q.tenantLocked(m.shard)
	t.ready = append(t.ready, m)
	q.rouse()
	return true
}

func (q *queue) tenantLocked(s *shard) *tenant {
	key := line{s.organization, s.channel}
	t := q.tenants[key]
	if t == nil {
		t = &tenant{line: key}
		q.tenants[key] = t
		q.ring = append(q.ring, t)
	}
	return t
}

func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take waits for the next member; nil means that ctx ended.
func (q *queue) take(ctx context.Context) *member {
	for ctx.Err() == nil {
		if m := q.poll(); m != nil {
			return m
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
	return nil
}

// poll is the next member that can be attempted now.
func (q *queue) poll() *member {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range len(q.ring) {
		if q.at >= len(q.ring) {
			q.at = 0
		}
		t := q.ring[q.at]
		m := q.pollLocked(t)
		if len(t.ready) == 0 && len(t.shards) == 0 {
			delete(q.tenants, t.line)
			q.ring = append(q.ring[:q.at], q.ring[q.at+1:]...)
		} else {
			q.at++
		}
		if m != nil {
			return m
		}
	}
	return nil
}

func (q *queue) pollLocked(t *tenant) *member {
	if len(t.ready) > 0 {
		m := t.ready[0]
		t.ready = t.ready[1:]
		return m
	}
	var found *member
	for len(t.shards) > 0 && found == nil {
		head := t.shards[0]
		if head.ctx.Err() != nil {
			q.dropLocked(head)
		}
		if head.exhausted() {
			t.shards[0] = nil
			t.shards = t.shards[1:]
			continue
		}
		if head.phase == open && head.stale(q.now()) {
			head.phase = closed
		}
		if head.phase != open {
			break
		}
		found = head.take()
	}
	ahead := 0
	for _, s := range t.shards {
		if ahead >= openAhead || q.opening >= openAtOnce {
			break
		}
		if s.phase == closed && !s.given {
			s.phase = opening
			q.opening++
			s.unfold()
			rest := s.members[s.next:]
			q.openers.Go(func() { q.unfold(s, rest) })
		}
		ahead += s.left()
	}
	return found
}

// unfold opens a shard; one that cannot be opened rests and is tried again, and holds up
// only what is behind it.
func (q *queue) unfold(s *shard, rest []*member) {
	found, err := q.open(s, rest)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.opening--
	defer q.rouse()
	if s.given {
		return
	}
	if err == nil {
		s.apply(found, q.now())
		q.settleLocked(s)
		return
	}
	pause := min(openPause<<min(s.failures, 6), openLonger)
	s.failures++
	time.AfterFunc(pause, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		s.phase = closed
		q.rouse()
	})
}

// dropLocked gives back what was not taken of a shard.
func (q *queue) dropLocked(s *shard) {
	if !s.exhausted() {
		s.given = true
	}
	q.settleLocked(s)
}

// hold keeps a shard from being settled until finish is called once more.
func (q *queue) hold(s *shard) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.outstanding++
}

// finish ends the work on one member that was taken, its effect durable or not.
func (q *queue) finish(s *shard, durable bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.outstanding--
	if !durable {
		s.given = true
	}
	q.settleLocked(s)
}

func (q *queue) settleLocked(s *shard) {
	if s.settle == nil || s.outstanding > 0 || !s.exhausted() {
		return
	}
	if q.inHand[s.id]--; q.inHand[s.id] <= 0 {
		delete(q.inHand, s.id)
	}
	settle := s.settle
	s.settle, s.recipients, s.members, s.next, s.change = nil, nil, nil, 0, nil
	settle(!s.given)
}

// stop gives back everything that was not taken, and whatever comes from now on. Members
// that wait for their turn are returned.
func (q *queue) stop() []*member {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	var ready []*member
	for _, t := range q.tenants {
		ready = append(ready, t.ready...)
		t.ready = nil
		for _, s := range t.shards {
			q.dropLocked(s)
		}
		t.shards = nil
	}
	return ready
}
