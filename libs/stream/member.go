package stream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/semaphore"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
)

const (
	commitInterval = 100 * time.Millisecond
	// handOverPause is the time between two joins that give partitions back, while work on others is still under way.
	handOverPause = time.Second
	// lostGrace is the time for running work after the group has lost this member. The group assigns the partitions to
	// others when the session ends.
	lostGrace = 2 * time.Second
)

// member is this process as a member of a consumer group. It keeps its partitions from one generation of the group to the
// next (balancer). When the group takes a partition away, when the consumer stops or after the process stood still, nothing
// more of the partition is handed out. What is under way has some time to end. Then the member commits what is finished, and
// only then does it give the partition back.
type member struct {
	client       *Client
	subscription Subscription
	stalls       *stallDetector
	handle       func(*member, *partition) // hands out the records of a partition until its intake ends
	slots        *semaphore.Weighted       // a slot for each unfinished claim
	intake       context.Context           // ends when the consumer stops
	fetchers     sync.WaitGroup

	waking  sync.Mutex              // guards wakeups; a partition may wake the fetchers while it is locked
	wakeups map[int64]chan struct{} // a channel for each fetcher, by the leader; see wake

	mu         sync.Mutex              // guards the fields below; locked before a partition
	partitions []*partition            // owned: those that the group assigned and that were not given back
	id         string                  // the member's id of the group when it got them
	assigned   map[string]map[int]bool // by the current generation
	joined     time.Time               // when the current generation began
	stops      bool
}

func newMember(intake context.Context, client *Client, subscription Subscription, stalls *stallDetector, handle func(*member, *partition)) *member {
	return &member{
		client: client, subscription: subscription, stalls: stalls, handle: handle, intake: intake,
		slots: semaphore.NewWeighted(int64(subscription.MaxPending)), wakeups: make(map[int64]chan struct{}),
	}
}

// claims returns what the member states when it joins the group.
func (m *member) claims() claims {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := claims{Member: m.id, Owned: make(map[string][]int), Leaves: m.stops}
	for _, p := range m.partitions {
		c.Owned[p.topic] = append(c.Owned[p.topic], p.id)
	}
	return c
}

// owned returns the partitions of the member.
func (m *member) owned() []*partition {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.partitions)
}

// run takes part in a generation until it ends. At the end of the member it keeps the generation until the group is left.
// The library would otherwise join the group again before leaving it.
func (m *member) run(end context.Context, generation *kafka.Generation) {
	ended := make(chan struct{})
	generation.Start(func(lost context.Context) {
		m.serve(end, lost, generation)
		close(ended)
		if end.Err() != nil {
			<-lost.Done()
		}
	})
	<-ended
}

// serve takes part in a generation of the group until the generation is lost, until the member must join again to give
// partitions back, or until end ends.
func (m *member) serve(end, lost context.Context, generation *kafka.Generation) {
	// The library waits for serve only if the generation still ran when serve began. Otherwise the next join may already have
	// stated which partitions the member owns, and there must be no more.
	if lost.Err() != nil || !m.adopt(generation) {
		return
	}
	for ticks := time.Tick(commitInterval); ; {
		select {
		case <-lost.Done():
			m.handOver(generation)
			return
		case <-end.Done():
			m.handOver(generation)
			return
		case <-ticks:
		}
		if slices.ContainsFunc(m.owned(), func(p *partition) bool { return !p.unbroken() }) {
			m.lose()
			return
		}
		if !m.mayHandOver() {
			m.commit(generation)
		} else if m.handOver(generation) {
			return
		}
	}
}

// adopt begins to hand out the partitions that are new in the generation, and begins to give back those that it lacks. It
// returns false if the group assigned partitions to a member that stops.
func (m *member) adopt(generation *kafka.Generation) bool {
	if generation.MemberID != m.id {
		m.lose() // the group has missed the member in between
	}
	m.mu.Lock()
	m.id, m.joined, m.assigned = generation.MemberID, time.Now(), make(map[string]map[int]bool)
	stops := m.stops
	kept := slices.Clone(m.partitions)
	for topic, assigned := range generation.Assignments {
		m.assigned[topic] = make(map[int]bool)
		for _, each := range assigned {
			m.assigned[topic][each.ID] = true
		}
	}
	m.mu.Unlock()
	for _, p := range kept {
		if !m.assigned[p.topic][p.id] {
			p.revoke()
		}
	}
	surplus := false
	for _, topic := range m.subscription.Topics {
		m.client.metrics.begin(m.subscription.Group, topic)
		var ids []int
		for _, each := range generation.Assignments[topic] {
			ids = append(ids, each.ID)
			if slices.ContainsFunc(kept, func(p *partition) bool { return p.topic == topic && p.id == each.ID }) {
				continue
			}
			surplus = surplus || stops
			m.open(topic, each.ID, each.Offset)
		}
		slices.Sort(ids)
		m.client.log.DebugContext(m.intake, "partitions assigned", "group", m.subscription.Group,
			"topic", topic, "partitions", ids, "generation", generation.ID)
	}
	m.fetchers.Go(m.locate)
	return !surplus
}

// open begins to hand out the records of a partition from the offset, unless the consumer stops.
func (m *member) open(topic string, id int, offset int64) {
	p := newPartition(topic, id, offset, m.wake)
	p.lag = m.client.metrics.lag.MustCurryWith(map[string]string{"group": m.subscription.Group})
	before := m.stalls.count()
	p.unbroken = func() bool { return m.stalls.count() == before }
	m.mu.Lock()
	if m.stops {
		m.mu.Unlock()
		return
	}
	m.partitions = append(m.partitions, p)
	slices.SortFunc(m.partitions, func(x, y *partition) int {
		return cmp.Or(strings.Compare(x.topic, y.topic), x.id-y.id)
	})
	m.mu.Unlock()
	if m.subscription.Assigned != nil {
		m.subscription.Assigned(Ownership{Topic: topic, Partition: id, Open: p.intake, Owned: p.work, Held: p.held, Hold: p.hold})
	}
	go func() {
		defer p.leave()
		// If the group is new to the partition, it commits the first offset, so that the records that the group still needs
		// are not trimmed.
		if offset >= 0 || m.client.retry(p.intake, func() error { return m.startAtFirst(p) },
			failurelog.Cause{Message: "waiting for the first offset of a partition", Of: m.subscription.Group}, "topic", topic, "partition", id) {
			m.wake()
			m.handle(m, p)
		}
	}()
}

// mayHandOver reports whether the member should join the group again to give partitions back: all that the group took away,
// or those that are ready after a pause.
func (m *member) mayHandOver() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	ready, busy := false, false
	for _, p := range m.partitions {
		ready = ready || p.ready()
		busy = busy || p.intake.Err() != nil && !p.ready()
	}
	if m.stops && !busy {
		return false // the member leaves the group
	}
	return ready && (!busy || time.Since(m.joined) > handOverPause)
}

// handOver commits what is finished, and ends the ownership of the partitions whose work has ended after their intake. It
// begins again with those that the group has assigned again meanwhile. It reports whether the others must be given back, by
// joining the group again.
func (m *member) handOver(generation *kafka.Generation) (rejoin bool) {
	m.mu.Lock()
	var ready, again []*partition
	for _, p := range m.partitions { // before the commit, which then has their last position
		if p.ready() {
			ready = append(ready, p)
		}
	}
	m.mu.Unlock()
	if !m.commit(generation) {
		return false
	}
	m.mu.Lock()
	m.partitions = slices.DeleteFunc(m.partitions, func(p *partition) bool { return slices.Contains(ready, p) })
	for _, p := range ready {
		if m.assigned[p.topic][p.id] && !m.stops {
			again = append(again, p)
		} else {
			rejoin = true
		}
	}
	m.mu.Unlock()
	m.end(ready)
	for _, p := range again {
		m.open(p.topic, p.id, p.committed.Load())
	}
	if len(again) > 0 {
		m.fetchers.Go(m.locate)
	}
	return rejoin
}

// close ends the ownership of all partitions.
func (m *member) close() {
	m.mu.Lock()
	partitions := m.partitions
	m.partitions = nil
	m.mu.Unlock()
	m.end(partitions)
}

// end ends the ownership of partitions that are not the member's any more.
func (m *member) end(partitions []*partition) {
	for _, p := range partitions {
		select {
		case <-p.idle:
		default:
			m.client.log.Info("unfinished records go back to the group", "group", m.subscription.Group, "topic", p.topic, "partition", p.id)
		}
		p.close()
	}
}

// lose gives up all partitions at once, because other members may get them. Running work has lostGrace.
func (m *member) lose() {
	lost, began := m.owned(), time.Now()
	for _, p := range lost {
		p.revoke()
	}
	for _, p := range lost {
		if !within(lostGrace-time.Since(began), p.idle) {
			break
		}
	}
	m.close()
}

// stop gives all partitions back. It waits until nothing of them is under way, at most StopTimeout.
func (m *member) stop() {
	m.mu.Lock()
	m.stops = true
	m.mu.Unlock()
	for _, p := range m.owned() {
		p.revoke()
	}
	began := time.Now()
	for _, p := range m.owned() {
		if !within(StopTimeout-time.Since(began), p.idle) {
			break
		}
	}
}

func within(patience time.Duration, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(patience):
		return false
	}
}

// commit commits the positions that have changed, in one request. It returns true if the group has them all.
func (m *member) commit(generation *kafka.Generation) bool {
	owned, offsets := m.owned(), make(map[string]map[int]int64)
	for _, p := range owned {
		position, differs := p.uncommitted()
		if !differs {
			continue
		}
		if offsets[p.topic] == nil {
			offsets[p.topic] = make(map[int]int64)
		}
		offsets[p.topic][p.id] = position
	}
	if len(offsets) == 0 {
		return true
	}
	if err := generation.CommitOffsets(offsets); err != nil {
		level := m.client.log.Warn
		if errors.Is(err, kafka.RebalanceInProgress) {
			level = m.client.log.Info // expected: the next generation commits them
		}
		level("offsets were not committed", "group", m.subscription.Group, "error", err)
		return false
	}
	for _, p := range owned {
		if position, changed := offsets[p.topic][p.id]; changed {
			p.committed.Store(position)
		}
	}
	return true
}
