package stream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/semaphore"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
)

const (
	commitInterval = 100 * time.Millisecond
	// handOverPause is the minimum time between two joins that give partitions back, while work on other revoked
	// partitions is still running.
	handOverPause = time.Second
	// lostGrace is the time that running work may still take after this member has lost its partitions. Other members
	// may own the partitions then.
	lostGrace = 2 * time.Second
)

// member is this process as a member of a consumer group. It still owns its partitions in the next generation of the
// group (see balancer). The member stops handing out records of a partition when the group takes the partition away,
// when the consumer stops, or after the process was suspended. It then waits a limited time for running work, commits
// the finished records, and gives the partition back.
type member struct {
	client       *Client
	subscription Subscription
	stalls       *stallDetector
	handle       func(*member, *partition) // hands out the records of a partition until its intake ends
	slots        *semaphore.Weighted       // a slot for each unfinished claim
	intake       context.Context           // ends when the consumer stops
	fetchers     sync.WaitGroup
	share        atomic.Int64 // bytes of the buffer of each partition

	waking     sync.Mutex                   // guards the next four fields; a goroutine that has locked a partition may lock it to wake the fetchers
	wakeups    map[int64]chan struct{}      // channel of each fetcher, by its leader; see wake
	interrupts map[int64]context.CancelFunc // ends the request of each fetcher, by its leader; see refetch
	refetching bool                         // the requests of the fetchers will be ended soon
	searching  bool                         // a goroutine looks for the leaders of partitions without one

	mu         sync.Mutex              // guards the fields below; a goroutine that has locked a partition must not lock it
	partitions []*partition            // the partitions that the group assigned and that were not given back
	id         string                  // id of the member in the group when it got the partitions
	assigned   map[string]map[int]bool // partitions that the current generation assigns to the member
	joined     time.Time               // time at which the current generation began
	stops      bool
}

func newMember(intake context.Context, client *Client, subscription Subscription, stalls *stallDetector, handle func(*member, *partition)) *member {
	return &member{
		client: client, subscription: subscription, stalls: stalls, handle: handle, intake: intake,
		slots: semaphore.NewWeighted(int64(subscription.MaxPending)), wakeups: make(map[int64]chan struct{}), interrupts: make(map[int64]context.CancelFunc),
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

func (m *member) owned() []*partition {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.partitions)
}

// run takes part in a generation until the generation ends. After end has ended, the goroutine of the generation waits
// until the member has left the group. If this goroutine returned earlier, the library would join the group again.
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

// serve takes part in a generation. It returns when the generation is lost, when end ends, when the process was
// suspended, or when the member must join again to give partitions back.
func (m *member) serve(end, lost context.Context, generation *kafka.Generation) {
	// If lost has ended before serve begins, the library does not wait for serve. The next join may then already have
	// stated the owned partitions, so no partition may be added now.
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

// adopt opens the partitions that are new in the generation, and revokes the owned partitions that the generation does
// not contain. It returns false if the consumer stops and the generation has new partitions.
func (m *member) adopt(generation *kafka.Generation) bool {
	if generation.MemberID != m.id {
		m.lose() // the group has removed this member and given it a new id
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

// open begins to hand out the records of a partition from the offset on, unless the consumer stops.
func (m *member) open(topic string, id int, offset int64) {
	p := newPartition(topic, id, offset, &m.share, m.wake)
	p.lag = m.client.metrics.lag.MustCurryWith(map[string]string{"group": m.subscription.Group})
	before := m.stalls.count()
	p.unbroken = func() bool { return m.stalls.count() == before }
	m.mu.Lock()
	if m.stops {
		m.mu.Unlock()
		return
	}
	m.partitions = append(m.partitions, p)
	m.share.Store(shareOf(len(m.partitions)))
	slices.SortFunc(m.partitions, func(x, y *partition) int {
		return cmp.Or(strings.Compare(x.topic, y.topic), x.id-y.id)
	})
	m.mu.Unlock()
	if m.subscription.Assigned != nil {
		m.subscription.Assigned(Ownership{Topic: topic, Partition: id, Open: p.intake, Owned: p.work, Held: p.held, Hold: p.hold})
	}
	go func() {
		defer p.leave()
		// If the group has no offset for the partition, the member starts at the first offset and commits it, so that
		// records which the group still needs are not trimmed.
		if offset >= 0 || m.client.retry(p.intake, func() error { return m.startAtFirst(p) },
			failurelog.Cause{Message: "waiting for the first offset of a partition", Of: m.subscription.Group}, "topic", topic, "partition", id) {
			m.refetch()
			m.handle(m, p)
		}
	}()
}

// mayHandOver reports whether the member should join the group again to give partitions back. It should if the work on
// all revoked partitions has ended. If the work on only some of them has ended, it should if the current generation is
// older than handOverPause. It returns false if the consumer stops and all work has ended.
func (m *member) mayHandOver() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	ready, busy := false, false
	for _, p := range m.partitions {
		ready = ready || p.ready()
		busy = busy || p.intake.Err() != nil && !p.ready()
	}
	if m.stops && !busy {
		return false // the member leaves the group instead
	}
	return ready && (!busy || time.Since(m.joined) > handOverPause)
}

// handOver commits the finished records and gives back the revoked partitions whose work has ended. If the group has
// assigned such a partition to this member again, handOver opens it again. rejoin is true if other partitions were
// given back, so that the member must join the group again. If the commit fails, handOver changes nothing and returns
// false.
func (m *member) handOver(generation *kafka.Generation) (rejoin bool) {
	m.mu.Lock()
	var ready, again []*partition
	for _, p := range m.partitions { // find them before the commit, so that the commit includes their last positions
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
	m.share.Store(shareOf(len(m.partitions)))
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

// close gives up all partitions.
func (m *member) close() {
	m.mu.Lock()
	partitions := m.partitions
	m.partitions = nil
	m.mu.Unlock()
	m.end(partitions)
}

// end closes partitions that no longer belong to the member.
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

// lose gives up all partitions at once, because other members may get them. Running work has lostGrace to end.
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

// stop revokes all partitions. It waits until no work on them is running, at most StopTimeout.
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

// commit commits the positions that have changed, in one request. It returns true if all were committed or none had
// changed.
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
			level = m.client.log.Info // expected: the next generation commits the offsets
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
