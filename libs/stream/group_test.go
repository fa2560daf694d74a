package stream_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/stream"
)

// ledger records the assignments and records of all members of a group.
type ledger struct {
	mu     sync.Mutex
	owners map[int]holder // of the partitions, during an assignment
	turn   int
	seen   map[int]int    // number of times per value
	by     map[string]int // number of records per member
	wrong  []string
}

// holder is a member in one of its assignments.
type holder struct {
	member string
	turn   int
}

func newLedger() *ledger {
	return &ledger{owners: make(map[int]holder), seen: make(map[int]int), by: make(map[string]int)}
}

// assigned returns an Assigned that records a member's partitions until they are given back.
func (l *ledger) assigned(member string) func(stream.Ownership) {
	return func(owned stream.Ownership) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.turn++
		mine := holder{member, l.turn}
		if other := l.owners[owned.Partition].member; other != "" && other != member {
			l.wrong = append(l.wrong, fmt.Sprintf("%s got partition %d while %s owns it", member, owned.Partition, other))
		}
		l.owners[owned.Partition] = mine
		context.AfterFunc(owned.Owned, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.owners[owned.Partition] == mine {
				delete(l.owners, owned.Partition)
			}
		})
	}
}

func (l *ledger) handle(t *testing.T, member string) func(context.Context, stream.Claim) {
	return func(ctx context.Context, claim stream.Claim) {
		l.mu.Lock()
		if owner := l.owners[claim.Partition].member; owner != member {
			l.wrong = append(l.wrong, fmt.Sprintf("%s got a record of partition %d, which %q owns", member, claim.Partition, owner))
		}
		if ctx.Err() != nil {
			l.wrong = append(l.wrong, "a claim was handed out with an ended context")
		}
		l.seen[decode(t, claim.Record)]++
		l.by[member]++
		l.mu.Unlock()
		claim.Done()
	}
}

func (l *ledger) has(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.seen) == n
}

func (l *ledger) members() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := make(map[string]int)
	for owner := range maps.Values(l.owners) {
		count[owner.member]++
	}
	return count
}

func (l *ledger) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, each := range l.wrong {
		t.Error(each)
	}
}

// Members of a group share the partitions. A member that joins or leaves causes a new
// assignment. No record is lost, and no member hands out a record of a partition that it lost.
func TestConsume_membersShare(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		topic, group := newTopic(t, client, 6), unique("group")
		ledger := newLedger()
		member := func(name string) *running {
			own := connect(t, addr, stream.Options{ClientID: name})
			return start(t, func(ctx context.Context) error {
				return own.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}, Assigned: ledger.assigned(name)},
					ledger.handle(t, name))
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		written := make(chan int)
		go func() { // during the whole test
			n := 0
			for ; ctx.Err() == nil; n += 20 {
				publish(t, client, numbered(topic, n, n+20, 50)...)
			}
			written <- n
		}()

		member("one")
		eventually(t, "one owns all", func() bool { return ledger.members()["one"] == 6 })
		two := member("two")
		eventually(t, "both own half", func() bool { m := ledger.members(); return m["one"] == 3 && m["two"] == 3 })
		eventually(t, "two works", func() bool { ledger.mu.Lock(); defer ledger.mu.Unlock(); return ledger.by["two"] > 100 })
		two.stop(t)
		eventually(t, "one owns all again", func() bool { return ledger.members()["one"] == 6 })
		cancel()
		n := <-written
		eventually(t, "all records were handed out", func() bool { return ledger.has(n) })
		ledger.check(t)
	})
}

// Another member gets the records that a killed member had not finished.
func TestConsume_memberKilled(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		topic, group := newTopic(t, client, 2), unique("group")
		publish(t, client, numbered(topic, 0, 50, 10)...)
		killed := startChild(t, "consumer", "ADDR="+addr, "TOPIC="+topic, "GROUP="+group, "KEEP=all")
		for range 50 {
			killed.line(t)
		}
		killed.kill()
		ledger := newLedger()
		start(t, func(ctx context.Context) error {
			return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}, Assigned: ledger.assigned("heir")},
				ledger.handle(t, "heir"))
		})
		eventually(t, "the other member has all records", func() bool { return ledger.has(50) })
		ledger.check(t)
	})
}

// A consumer that finishes records out of order commits up to the lowest unfinished record.
// After it was killed, the next consumer continues there.
func TestConsume_commitsBehindLowestUnfinished(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		topic, group := newTopic(t, client, 1), unique("group")
		publish(t, client, numbered(topic, 0, 10, 1)...)
		killed := startChild(t, "consumer", "ADDR="+addr, "TOPIC="+topic, "GROUP="+group, "KEEP=3 7")
		for range 10 {
			killed.line(t)
		}
		eventually(t, "the offset behind record 2 is committed", func() bool {
			return committed(t, addr, group, topic, 0) == 3
		})
		killed.kill()

		var mu sync.Mutex
		var values []int
		start(t, func(ctx context.Context) error {
			return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}},
				func(_ context.Context, claim stream.Claim) {
					mu.Lock()
					values = append(values, decode(t, claim.Record))
					mu.Unlock()
					claim.Done()
				})
		})
		eventually(t, "all is committed", func() bool { return committed(t, addr, group, topic, 0) == 10 })
		mu.Lock()
		defer mu.Unlock()
		if fmt.Sprint(values) != "[3 4 5 6 7 8 9]" {
			t.Errorf("handed out again: %v", values)
		}
	})
}

// A stop waits for unfinished work, commits it and leaves the group. The next member then waits
// for no timeout and gets no record twice.
func TestConsume_stop(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		topic, group := newTopic(t, client, 1), unique("group")
		publish(t, client, numbered(topic, 0, 5, 1)...)
		claims := make(chan stream.Claim, 10)
		first := start(t, func(ctx context.Context) error {
			return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}},
				func(_ context.Context, claim stream.Claim) { claims <- claim })
		})
		held := []stream.Claim{<-claims, <-claims, <-claims, <-claims, <-claims}
		first.cancel()
		publish(t, client, numbered(topic, 5, 6, 1)...) // is not handed out
		for _, claim := range held[:4] {
			claim.Done()
			claim.Done()
		}
		select {
		case <-first.ended:
			t.Fatal("the consumer did not wait for its last claim")
		default:
		}
		held[4].Done()
		first.stop(t)
		if n := committed(t, addr, group, topic, 0); n != 5 || len(claims) > 0 {
			t.Fatalf("committed %d, %d more claims", n, len(claims))
		}
		second := start(t, func(ctx context.Context) error {
			return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}},
				func(_ context.Context, claim stream.Claim) { claims <- claim })
		})
		claim := <-claims
		if decode(t, claim.Record) != 5 {
			t.Errorf("the next member begins with %s", claim.Record.Value)
		}
		claim.Abandon() // so that the stop waits for nothing
		second.stop(t)
		if n := committed(t, addr, group, topic, 0); n != 5 {
			t.Errorf("an abandoned claim was committed: %d", n)
		}
	})
}

// If a partition moves while a claim is unfinished, the claim's context ends and the record is
// handed out again. A late Done commits nothing.
func TestConsume_partitionLost(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		topic, group := newTopic(t, client, 2), unique("group")
		publish(t, client, numbered(topic, 0, 40, 40)...)
		type held struct {
			ctx   context.Context
			claim stream.Claim
		}
		member := func(handed chan held) *running {
			return start(t, func(ctx context.Context) error {
				return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}},
					func(ctx context.Context, claim stream.Claim) { handed <- held{ctx, claim} })
			})
		}
		first := make(chan held, 200)
		member(first)
		lost := make(map[int]held)
		for range 40 {
			each := <-first
			lost[decode(t, each.claim.Record)] = each
		}
		second := make(chan held, 200)
		two := member(second)
		for _, each := range lost {
			select {
			case <-each.ctx.Done():
			case <-time.After(patience):
				t.Fatal("the claim's context does not end")
			}
		}
		again := make(map[int]held)
		for len(again) < 40 {
			var each held
			select {
			case each = <-first:
			case each = <-second:
			case <-time.After(patience):
				t.Fatalf("%d of 40 were handed out again", len(again))
			}
			if each.ctx.Err() != nil {
				t.Error("handed out again with an ended context")
			}
			again[decode(t, each.claim.Record)] = each
		}
		for _, each := range lost {
			each.claim.Done()
		}
		publish(t, client, numbered(topic, 40, 41, 1)...) // commits continue in the meantime
		select {
		case each := <-first:
			again[40] = each
		case each := <-second:
			again[40] = each
		}
		for partition := range 2 {
			if n := committed(t, addr, group, topic, partition); n > 0 {
				t.Errorf("partition %d is committed up to %d", partition, n)
			}
		}
		for _, each := range again {
			each.claim.Done()
		}
		two.stop(t)
	})
}
