package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// turnMembers is the maximum number of members that a tenant gets in one turn while slots are free. A tenant gets fewer
	// if its next shard is not open. If each turn had only one member, the destinations of the other members of the shard
	// would be stale at the tenant's next turn. An event to the usual 20 endpoints needs one turn.
	turnMembers  = 32
	openAhead    = 3   // a shard is opened when the tenant has fewer members than this before it
	openAtOnce   = 12  // for each service with recipients: maximum number of groups of shards being opened at the same time
	openTogether = 128 // maximum number of members of a group that has several shards
	openPause    = 100 * time.Millisecond
	maxOpenPause = 5 * time.Second
	loadPause    = 25 * time.Millisecond // pause while the waiting deliveries of the partition are not loaded
	// yieldPause is the minimum time between two first attempts of a tenant that yields, while a tenant that does not yield
	// has shards. So the tenant gets up to 200 members a second: more than its host accepts.
	yieldPause = 5 * time.Millisecond
)

// queue returns the members to be attempted. The tenants take turns. A tenant is the deliveries of one organization on one
// channel to recipients of one service. For each tenant, requeued members come first, then the shards in the order of push.
// If the tenant yields, shards of due rows come before the others.
//
// A newcomer is a tenant that had no turn since its queue was empty. While there are newcomers and other tenants, poll
// alternates: a newcomer gets one member, then another tenant gets one. So a tenant with few members does not wait for the
// turns of tenants that have many members and came before. It may wait for other newcomers.
type queue struct {
	open func([]*opened) // loads the data that the shards need; called without the mutex
	now  func() time.Time

	mu         sync.Mutex
	tenants    map[tenantKey]*tenant
	newcomers  []*tenant                      // newcomers that have members; poll tries the first one next
	ring       []*tenant                      // the other tenants that have members; poll tries the first one next
	tookNew    bool                           // the last member that poll returned was of a newcomer, so the next member is not, if possible
	opening    map[topic.RecipientService]int // number of groups of shards being opened, by service; a service that hangs delays only its own groups
	openers    sync.WaitGroup
	stopped    bool
	wake       signal
	postponed  map[*member]*time.Timer
	inProgress map[string]int // by id of a topic.Shard: number of its copies that are not complete
}

// tenant holds the waiting members and shards with one tenantKey.
type tenant struct {
	key      tenantKey
	requeued []*member
	shards   []*shard
	taken    int // members taken in the present turn
	// yields is true while first attempts of the tenant are only stored as rows, because a limit of the host makes them wait.
	// While a tenant that does not yield has shards, these first attempts are taken at most once in yieldPause.
	yields bool
	tookAt time.Time // when the last first attempt was taken while the tenant yielded
	paced  bool      // the tenant has yielded; its turns have one member, because nearly all members are only stored as rows
}

func newQueue(open func([]*opened)) *queue {
	return &queue{open: open, now: time.Now, tenants: make(map[tenantKey]*tenant), opening: make(map[topic.RecipientService]int), wake: make(signal, 1),
		postponed: make(map[*member]*time.Timer), inProgress: make(map[string]int)}
}

// push appends a shard to its tenant. If the tenant yields, push inserts a shard of due rows before the shards of first
// attempts. If the queue has stopped or s.ctx has ended, push abandons the shard.
func (q *queue) push(s *shard) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped || s.ctx.Err() != nil {
		q.dropLocked(s)
		return
	}
	if s.id != "" {
		s.duplicate = q.inProgress[s.id] > 0
		q.inProgress[s.id]++
	}
	t := q.tenantLocked(s)
	at := slices.IndexFunc(t.shards, func(other *shard) bool { return !other.retry })
	if !s.retry || !t.yields || at < 0 {
		at = len(t.shards)
	}
	t.shards = slices.Insert(t.shards, at, s)
	q.wake.set()
}

// yield records whether first attempts of the shard's tenant are only stored as rows now.
func (q *queue) yield(s *shard, yields bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.tenants[s.tenant()]; t != nil {
		t.yields, t.paced = yields, t.paced || yields
	}
}

// mustYieldLocked reports whether a tenant that yields must leave its turn to others: its last first attempt was taken less
// than yieldPause ago, and a tenant that does not yield has shards.
func (q *queue) mustYieldLocked(t *tenant) bool {
	if q.now().Sub(t.tookAt) >= yieldPause {
		return false
	}
	for _, other := range q.tenants {
		if !other.yields && len(other.shards) > 0 {
			return true
		}
	}
	return false
}

// requeue appends a member that take returned before. It returns false if the queue has stopped.
func (q *queue) requeue(m *member) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.postponed, m)
	if q.stopped {
		return false
	}
	t := q.tenantLocked(m.shard)
	t.requeued = append(t.requeued, m)
	q.wake.set()
	return true
}

// postpone calls requeue with the member when wait is over. If the context of the member's shard has ended, postpone calls
// requeue at once.
func (q *queue) postpone(m *member, wait time.Duration, requeue func(*member)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.shard.ctx.Err() != nil {
		wait = 0
	}
	q.postponed[m] = time.AfterFunc(wait, func() { requeue(m) })
}

func (q *queue) tenantLocked(s *shard) *tenant {
	key := s.tenant()
	t := q.tenants[key]
	if t == nil {
		t = &tenant{key: key}
		q.tenants[key] = t
		q.newcomers = append(q.newcomers, t)
	}
	return t
}

// take waits for the next member and returns it. It returns nil if ctx has ended. A tenant gets at most turn members in one
// turn.
func (q *queue) take(ctx context.Context, turn int) *member {
	for ctx.Err() == nil {
		m, yielded := q.poll(turn)
		if m != nil {
			return m
		}
		var again <-chan time.Time
		if yielded {
			again = time.After(yieldPause)
		}
		select {
		case <-q.wake:
		case <-again:
		case <-ctx.Done():
		}
	}
	return nil
}

// poll returns the next member that can be attempted now, or nil. If it returns nil, yielded reports whether a tenant has
// left its turn to others.
func (q *queue) poll(turn int) (found *member, yielded bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	rings := [...]*[]*tenant{&q.newcomers, &q.ring}
	if q.tookNew {
		slices.Reverse(rings[:])
	}
	for _, ring := range rings {
		m, left := q.pollRingLocked(ring, turn)
		if m != nil {
			q.tookNew = ring == &q.newcomers
			return m, false
		}
		yielded = yielded || left
	}
	return nil, yielded
}

// pollRingLocked does the work of poll for the tenants of one ring. A tenant's turn ends when it has got turn members (one if
// it is paced), or when none of its members can be attempted now. Then the tenant is not a newcomer any more, unless it got
// no member in this turn.
func (q *queue) pollRingLocked(ring *[]*tenant, turn int) (found *member, yielded bool) {
	for range len(*ring) {
		t := (*ring)[0]
		m, left := q.pollLocked(t)
		yielded = yielded || left
		if m != nil {
			if t.taken++; t.taken < turn && !t.paced {
				return m, false
			}
		}
		next := ring
		if t.taken > 0 {
			t.taken, next = 0, &q.ring
		}
		(*ring)[0] = nil
		*ring = (*ring)[1:]
		if len(t.requeued) == 0 && len(t.shards) == 0 {
			delete(q.tenants, t.key)
		} else {
			*next = append(*next, t)
		}
		if m != nil {
			return m, false
		}
	}
	return nil, yielded
}

// pollLocked returns the tenant's next member, or nil. It also starts to open the shards that are needed soon. If it
// returns nil, yielded reports whether the tenant has left its turn to others.
func (q *queue) pollLocked(t *tenant) (found *member, yielded bool) {
	if len(t.requeued) > 0 {
		m := t.requeued[0]
		t.requeued = t.requeued[1:]
		return m, false
	}
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
		storedOnly := t.yields && !head.retry // a row needs no fresh destination
		if head.phase == open && !storedOnly && head.stale(q.now()) {
			head.phase = closed
		}
		if yielded = storedOnly && q.mustYieldLocked(t); yielded || head.phase != open {
			break
		}
		if storedOnly {
			t.tookAt = q.now()
		}
		found = head.take()
	}
	ahead := 0
	for i, s := range t.shards {
		if ahead >= openAhead || q.opening[t.key.service] >= openAtOnce {
			break
		}
		if s.phase == closed && !s.abandoned {
			group := q.groupLocked(t.shards[i:])
			q.opening[t.key.service]++
			q.openers.Go(func() { q.openGroup(group) })
		}
		ahead += s.left()
	}
	return found, yielded
}

// groupLocked returns the first of the shards, and those after it that can be opened with it. It sets their phase to opening.
func (q *queue) groupLocked(shards []*shard) []*opened {
	var group []*opened
	members, now := 0, q.now()
	for _, s := range shards[:min(len(shards), openTogether)] {
		again := s.phase == open && s.left() > 0 && s.stale(now) // its destinations must be resolved again anyway
		if s.abandoned || s.phase != closed && !again {
			continue
		}
		if len(group) > 0 && (!s.opensWith(group[0].shard) || members+s.left() > openTogether) {
			continue
		}
		s.phase = opening
		s.makeMembers()
		group = append(group, &opened{shard: s, change: s.change, members: s.members[s.next:]})
		members += s.left()
	}
	return group
}

// openGroup calls open for the shards of the group, and then openedLocked for each of them.
func (q *queue) openGroup(group []*opened) {
	q.open(group)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.opening[group[0].shard.recipientService()]--
	for _, o := range group {
		q.openedLocked(o)
	}
	q.wake.set()
}

// openedLocked opens a shard with the result of open. After a failure the shard stays in the phase opening for a pause. Then
// it becomes closed, and is opened again. During the pause only the shard and the later shards of the same tenant wait.
func (q *queue) openedLocked(found *opened) {
	s := found.shard
	if s.abandoned {
		return
	}
	if found.err == nil {
		s.setOpen(found, q.now())
		q.completeLocked(s)
		return
	}
	pause := min(openPause<<min(s.failures, 6), maxOpenPause)
	if s.failures++; errors.Is(found.err, errNotLoaded) {
		pause, s.failures = loadPause, 0
	}
	time.AfterFunc(pause, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		s.phase = closed
		q.wake.set()
	})
}

// dropLocked abandons the shard if not all of its members were taken. It completes the shard if no work on it is outstanding.
func (q *queue) dropLocked(s *shard) {
	if !s.exhausted() {
		s.abandoned = true
	}
	q.completeLocked(s)
}

// hold delays the completion of the shard until finish is called once for this hold.
func (q *queue) hold(s *shard) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.outstanding++
}

// finish ends the work on taken members of the shard, or ends holds. members is the number of these members or holds. durable
// is false if the shard must be processed again because of these members. Then no more members of the shard are taken. When
// all work on the shard has ended, finish calls Work.Abandon if the shard must be processed again, otherwise Work.Done.
func (q *queue) finish(s *shard, members int, durable bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.outstanding -= members
	if !durable {
		s.abandoned = true
	}
	q.completeLocked(s)
}

// completeLocked completes the shard if no work on it is outstanding and no further member will be taken.
func (q *queue) completeLocked(s *shard) {
	if s.completed || s.outstanding > 0 || !s.exhausted() {
		return
	}
	if q.inProgress[s.id]--; q.inProgress[s.id] <= 0 {
		delete(q.inProgress, s.id)
	}
	s.completed, s.recipients, s.members, s.next, s.change = true, nil, nil, 0, nil // free memory
	switch {
	case s.work == nil:
	case s.abandoned:
		s.work.Abandon()
	default:
		s.work.Done()
	}
}

// sweep abandons the shards whose contexts have ended. It returns the requeued and postponed members of these shards.
func (q *queue) sweep() []*member {
	q.mu.Lock()
	defer q.mu.Unlock()
	var requeued []*member
	for m, timer := range q.postponed {
		if m.shard.ctx.Err() != nil && timer.Stop() {
			delete(q.postponed, m)
			requeued = append(requeued, m)
		}
	}
	return append(requeued, q.removeLocked(func(s *shard) bool { return s.ctx.Err() != nil })...)
}

// stop abandons all shards in the queue, and those that are pushed later. It returns the requeued members.
func (q *queue) stop() []*member {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	return q.removeLocked(func(*shard) bool { return true })
}

// removeLocked removes the shards for which ended returns true. It abandons them and returns their requeued members.
func (q *queue) removeLocked(ended func(*shard) bool) (requeued []*member) {
	for _, t := range q.tenants {
		t.requeued = slices.DeleteFunc(t.requeued, func(m *member) bool {
			if !ended(m.shard) {
				return false
			}
			requeued = append(requeued, m)
			return true
		})
		t.shards = slices.DeleteFunc(t.shards, func(s *shard) bool {
			if !ended(s) {
				return false
			}
			q.dropLocked(s)
			return true
		})
	}
	return requeued
}
