package stream

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

const (
	commitInterval = 100 * time.Millisecond
	// rebalanceGrace is how long work goes on after the group began to rebalance:
	// what finishes in it is committed and not repeated by the next owner. Everybody
	// in the group waits for it.
	rebalanceGrace = 2 * time.Second
	// interruptGrace is how long a handler may take to notice that its context ended.
	interruptGrace = 5 * time.Second
)

// assignment is one generation of the group as this member sees it: its partitions,
// from being assigned to being given back. Three things end it: the stop, the loss
// of the partitions to a rebalance, or of the connection. In each case nothing is
// handed out from then on, running work gets some time, what is finished is
// committed, and only then the group goes on.
type assignment struct {
	client       *Client
	generation   *kafka.Generation
	subscription Subscription
	lanes        []*lane
	slots        chan struct{} // one per unfinished claim
	gate         *gate         // work in hand
	room         *bell         // a lane asks for more, or moved
	fetchers     sync.WaitGroup
	fetching     map[int]bool // leaders that have a fetcher
	mu           sync.Mutex   // guards fetching
	intake, work context.Context
}

func newAssignment(client *Client, generation *kafka.Generation, subscription Subscription) *assignment {
	return &assignment{
		client: client, generation: generation, subscription: subscription,
		slots: make(chan struct{}, subscription.MaxPending),
		gate:  newGate(), room: newBell(), fetching: make(map[int]bool),
	}
}

// serve runs the assignment until stop ends or the generation is lost.
func (a *assignment) serve(stop, lost context.Context, work func(*assignment, *lane)) {
	intake, endIntake := context.WithCancel(stop)
	defer endIntake()
	defer context.AfterFunc(lost, endIntake)()
	handling, interrupt := context.WithCancel(context.WithoutCancel(stop))
	defer interrupt()
	a.intake, a.work = intake, handling

	a.announce()
	if !a.prepare() {
		return
	}
	var background sync.WaitGroup
	for _, lane := range a.lanes {
		background.Go(func() { work(a, lane) })
	}
	a.locate()
	commits, endCommits := context.WithCancel(context.WithoutCancel(stop))
	defer endCommits()
	var committer sync.WaitGroup
	committer.Go(func() { a.commitEvery(commits, commitInterval) })

	<-intake.Done()
	a.settle(stop, interrupt, &background)
	endCommits()
	committer.Wait()
	a.commit()
	a.fetchers.Wait() // they set the lag
	for _, lane := range a.lanes {
		lane.close()
		a.client.metrics.lag.DeleteLabelValues(a.subscription.Group, lane.topic, strconv.Itoa(lane.partition))
	}
}

// settle waits for the work in hand, then interrupts it.
func (a *assignment) settle(stop context.Context, interrupt func(), background *sync.WaitGroup) {
	patience := rebalanceGrace
	if stop.Err() != nil {
		patience = StopTimeout
	}
	group := a.subscription.Group
	if !within(patience, a.gate.close()) {
		a.client.log.Info("work is given back unfinished", "group", group, "after", patience)
	}
	interrupt()
	idle := make(chan struct{})
	go func() {
		background.Wait()
		close(idle)
	}()
	if !within(interruptGrace, idle) {
		a.client.log.Warn("a handler goes on although its context ended", "group", group)
	}
}

func within(patience time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// announce tells the subscriber what it owns.
func (a *assignment) announce() {
	for _, topic := range a.subscription.Topics {
		var partitions []int
		for _, partition := range a.generation.Assignments[topic] {
			partitions = append(partitions, partition.ID)
		}
		slices.Sort(partitions)
		a.client.log.InfoContext(a.work, "partitions assigned", "group", a.subscription.Group,
			"topic", topic, "partitions", partitions, "generation", a.generation.ID)
		if a.subscription.Assigned != nil {
			a.subscription.Assigned(a.work, topic, partitions)
		}
	}
}

// prepare makes the lanes; false means that the assignment ended before.
func (a *assignment) prepare() bool {
	for topic, partitions := range a.generation.Assignments {
		for _, partition := range partitions {
			a.lanes = append(a.lanes, newLane(topic, partition.ID, partition.Offset, a.room.ring))
		}
	}
	slices.SortFunc(a.lanes, func(x, y *lane) int {
		if x.topic != y.topic {
			return strings.Compare(x.topic, y.topic)
		}
		return x.partition - y.partition
	})
	pace := reconnecting()
	for _, lane := range a.lanes {
		for lane.next < 0 { // a group that is new to this partition
			first, err := a.firstOffset(lane)
			if err == nil {
				lane.reset(first) // and commit it: nobody takes away what this group still needs
				break
			}
			a.client.log.WarnContext(a.intake, "waiting for a partition's first offset",
				"topic", lane.topic, "partition", lane.partition, "error", err)
			if !pace.wait(a.intake) {
				return false
			}
		}
	}
	return a.intake.Err() == nil
}

// commitEvery commits now and then until ctx ends.
func (a *assignment) commitEvery(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.commit()
		}
	}
}

// commit writes the lanes' positions that changed, all in one request.
func (a *assignment) commit() {
	offsets := make(map[string]map[int]int64)
	var changed []*lane
	for _, lane := range a.lanes {
		position, differs := lane.uncommitted()
		if !differs {
			continue
		}
		if offsets[lane.topic] == nil {
			offsets[lane.topic] = make(map[int]int64)
		}
		offsets[lane.topic][lane.partition] = position
		changed = append(changed, lane)
	}
	if len(changed) == 0 {
		return
	}
	if err := a.generation.CommitOffsets(offsets); err != nil {
		level := a.client.log.Warn
		if errors.Is(err, kafka.RebalanceInProgress) || a.intake.Err() != nil {
			level = a.client.log.Info // the records come again: known, and handled by their consumers
		}
		level("offsets were not committed", "group", a.subscription.Group, "error", err)
		return
	}
	for _, lane := range changed {
		lane.commit(offsets[lane.topic][lane.partition])
	}
}

// bell wakes all who listen at the time.
type bell struct {
	mu sync.Mutex
	ch chan struct{}
}

func newBell() *bell { return &bell{ch: make(chan struct{})} }

// heard ends at the next ring.
func (b *bell) heard() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ch)
	b.ch = make(chan struct{})
}
