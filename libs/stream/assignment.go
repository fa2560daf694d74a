package stream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/semaphore"

	"github.com/bellbuoy/bellbuoy/libs/outage"
)

const (
	commitInterval = 100 * time.Millisecond
	// rebalanceGrace is the time for running work after the group began to rebalance. Work that
	// finishes in this time is committed, so the next owner does not repeat it. All
	// members of the group wait for it.
	rebalanceGrace = 2 * time.Second
	// interruptGrace is the time in which a handler must return after its context has ended.
	interruptGrace = 5 * time.Second
)

// assignment is one generation of the consumer group for this member: the member's
// partitions from their assignment to their return. It ends when the consumer stops, when a
// rebalance takes the partitions away, when the connection breaks, or after the process stood still. In each case the
// assignment hands out no further record, gives running work some time, and commits the
// finished records. Only then does the member take part in the next generation.
type assignment struct {
	client       *Client
	generation   *kafka.Generation
	subscription Subscription
	pulse        *pulse
	gaps         int // of the pulse when the assignment began
	partitions   []*partition
	slots        *semaphore.Weighted // one per unfinished claim
	fetchers     sync.WaitGroup
	mu           sync.Mutex              // guards wakeups
	wakeups      map[int64]chan struct{} // one per fetcher, by its leader; see wake
	intake       context.Context         // ends when no further record may be handed out
	work         context.Context         // ends when handlers must return
}

func newAssignment(client *Client, generation *kafka.Generation, subscription Subscription, pulse *pulse) *assignment {
	return &assignment{
		client: client, generation: generation, subscription: subscription, pulse: pulse, gaps: pulse.beat(),
		slots: semaphore.NewWeighted(int64(subscription.MaxPending)), wakeups: make(map[int64]chan struct{}),
	}
}

// serve runs the assignment until stop ends or the generation is lost. It runs work in one
// goroutine per partition.
func (a *assignment) serve(stop, lost context.Context, work func(*assignment, *partition)) {
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
	var workers sync.WaitGroup
	for _, p := range a.partitions {
		workers.Go(func() { work(a, p) })
	}
	a.locate()
	commits, endCommits := context.WithCancel(context.WithoutCancel(stop))
	defer endCommits()
	var committer sync.WaitGroup
	committer.Go(func() {
		for ticks := time.Tick(commitInterval); ; {
			select {
			case <-commits.Done():
				return
			case <-ticks:
				if !a.held() {
					endIntake()
				}
				a.commit()
			}
		}
	})

	<-intake.Done()
	a.finish(stop, interrupt, &workers)
	endCommits()
	committer.Wait()
	a.commit()
	a.fetchers.Wait() // a running fetcher could set the lag again
	for _, p := range a.partitions {
		p.close()
		a.client.metrics.lag.DeleteLabelValues(a.subscription.Group, p.topic, strconv.Itoa(p.id))
	}
}

// finish waits for the running handlers and the unfinished claims. After the time for them it
// ends their context, and then waits for the handlers only.
func (a *assignment) finish(stop context.Context, interrupt func(), workers *sync.WaitGroup) {
	patience := rebalanceGrace
	if stop.Err() != nil {
		patience = StopTimeout
	}
	group, began := a.subscription.Group, time.Now()
	returned := make(chan struct{})
	go func() {
		workers.Wait()
		close(returned)
	}()
	all := within(patience, returned)
	if all { // nothing claims a slot any more
		ctx, cancel := context.WithDeadline(a.work, began.Add(patience))
		defer cancel()
		all = a.slots.Acquire(ctx, int64(a.subscription.MaxPending)) == nil
	}
	if !all {
		a.client.log.Info("unfinished records go back to the group", "group", group, "after", patience)
	}
	interrupt()
	if !within(interruptGrace, returned) {
		a.client.log.Warn("a handler still runs although its context has ended", "group", group)
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

// held reports whether the process has not stood still since the assignment began.
func (a *assignment) held() bool { return a.pulse.beat() == a.gaps }

func (a *assignment) announce() {
	for _, topic := range a.subscription.Topics {
		a.client.metrics.begin(a.subscription.Group, topic)
		var ids []int
		for _, assigned := range a.generation.Assignments[topic] {
			ids = append(ids, assigned.ID)
		}
		slices.Sort(ids)
		a.client.log.InfoContext(a.work, "partitions assigned", "group", a.subscription.Group,
			"topic", topic, "partitions", ids, "generation", a.generation.ID)
		if a.subscription.Assigned != nil {
			a.subscription.Assigned(a.work, topic, ids, a.held)
		}
	}
}

// prepare creates the partitions' buffers. It returns false if the assignment has ended.
func (a *assignment) prepare() bool {
	for topic, assigned := range a.generation.Assignments {
		for _, each := range assigned {
			a.partitions = append(a.partitions, newPartition(topic, each.ID, each.Offset, a.wake))
		}
	}
	slices.SortFunc(a.partitions, func(x, y *partition) int {
		return cmp.Or(strings.Compare(x.topic, y.topic), x.id-y.id)
	})
	for _, p := range a.partitions {
		if p.next >= 0 {
			continue
		}
		// The group is new to this partition. It commits the first offset, so that the records
		// that the group still needs are not trimmed.
		if !a.client.retry(a.intake, func() error { return a.startAtFirst(p) },
			outage.Cause{Message: "waiting for the first offset of a partition", Of: a.subscription.Group}, "topic", p.topic, "partition", p.id) {
			return false
		}
	}
	return a.intake.Err() == nil
}

// commit commits the positions that have changed, in one request.
func (a *assignment) commit() {
	offsets := make(map[string]map[int]int64)
	for _, p := range a.partitions {
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
		return
	}
	if err := a.generation.CommitOffsets(offsets); err != nil {
		level := a.client.log.Warn
		if errors.Is(err, kafka.RebalanceInProgress) || a.intake.Err() != nil {
			level = a.client.log.Info // expected: the records are delivered again, and consumers deduplicate them
		}
		level("offsets were not committed", "group", a.subscription.Group, "error", err)
		return
	}
	for _, p := range a.partitions {
		if position, changed := offsets[p.topic][p.id]; changed {
			p.committed.Store(position)
		}
	}
}
