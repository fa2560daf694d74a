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
	owners map[int]holder // owner of each partition while it is assigned
	turn   int
	seen   map[int]int    // number of times that each value was received
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

// assigned returns a function for Subscription.Assigned. It records the partitions of the member until they are given
// back.
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
	return func(_ context.Context, claim stream.Claim) {
		l.mu.Lock()
		if owner := l.owners[claim.Partition].member; owner != member {
			l.wrong = append(l.wrong, fmt.Sprintf("%s got a record of partition %d, which %q owns", member, claim.Partition, owner))
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

// Members of a group share the partitions. A member that joins or leaves causes a new assignment. No record is lost,
// and no member hands out records of a partition that it has lost.
func TestMembersShareThePartitions(t *testing.T) {
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
		go func() { // runs during the whole test
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

// A request that is in progress does not name a partition that the member gets later. It ends then, so that the records of
// this partition do not wait for it.
func TestRecordsOfANewPartitionDoNotWaitForARequest(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		topic, group := newTopic(t, client, 2), unique("group")
		ledger := newLedger()
		member := func(name string) *running {
			own := connect(t, addr, stream.Options{ClientID: name})
			stream.WaitLong(own)
			return start(t, func(ctx context.Context) error {
				return own.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}, Assigned: ledger.assigned(name)},
					ledger.handle(t, name))
			})
		}
		member("one")
		eventually(t, "one owns both", func() bool { return ledger.members()["one"] == 2 })
		two := member("two")
		eventually(t, "both own one", func() bool { m := ledger.members(); return m["one"] == 1 && m["two"] == 1 })
		two.stop(t)
		eventually(t, "one owns both again", func() bool { return ledger.members()["one"] == 2 })
		publish(t, client, numbered(topic, 0, 100, 50)...)
		eventually(t, "all records were handed out", func() bool { return ledger.has(100) })
		ledger.check(t)
	})
}

// Another member gets the records that a killed member has not finished.
func TestAnotherMemberGetsTheRecordsOfAKilledOne(t *testing.T) {
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

// If a consumer finishes records out of order, it commits up to the lowest unfinished record. After a kill, the next
// consumer continues there.
func TestCommitsStayAtTheLowestUnfinishedRecord(t *testing.T) {
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

// A stop waits for unfinished work, commits its offsets and leaves the group. The next member does not have to wait for
// a timeout, and gets no record twice.
func TestAStopCommitsFinishedWorkAndLeavesTheGroup(t *testing.T) {
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
		publish(t, client, numbered(topic, 5, 6, 1)...) // must not be handed out
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
		claim.Abandon() // so that the stop does not wait
		second.stop(t)
		if n := committed(t, addr, group, topic, 0); n != 5 {
			t.Errorf("an abandoned claim was committed: %d", n)
		}
	})
}

// held is a claim that the test has not finished yet.
type held struct {
	ctx   context.Context
	claim stream.Claim
}

// A second member joins while one record of each of four partitions is unfinished. The first member keeps two
// partitions and continues with them. It gives the other two back only after their records are finished, so no record
// is handed out twice.
func TestAPartitionMovesAfterItsRecordsAreFinished(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		topic, group := newTopic(t, client, 4), unique("group")
		const n = 80
		publish(t, client, numbered(topic, 0, n, n)...)
		owners := newLedger()
		member := func(name string, handed chan held) *running {
			return start(t, func(ctx context.Context) error {
				return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}, Assigned: owners.assigned(name)},
					func(ctx context.Context, claim stream.Claim) { handed <- held{ctx, claim} })
			})
		}
		first, second := make(chan held, 3*n), make(chan held, 3*n)
		one := member("one", first)
		var under []held
		for range n {
			under = append(under, receive(t, first))
		}
		two := member("two", second)
		moves := map[int]bool{} // partitions that move
		eventually(t, "the first member is to give half of the partitions away", func() bool {
			for _, each := range under {
				if each.ctx.Err() != nil {
					moves[each.claim.Partition] = true
				}
			}
			return len(moves) == 2
		})
		publish(t, client, numbered(topic, n, 2*n, n)...) // each partition gets more records
		for range 2 * n / 4 / 4 {                         // the kept partitions continue
			each := receive(t, first)
			if moves[each.claim.Partition] || decode(t, each.claim.Record) < n {
				t.Fatalf("record %s of partition %d was handed out", each.claim.Record.Value, each.claim.Partition)
			}
			under = append(under, each)
		}
		// Each time a member commits, it checks whether it can give partitions back.
		for partition := range 4 {
			if moves[partition] {
				continue
			}
			records := int64(0)
			for _, each := range under {
				if each.claim.Partition == partition {
					each.claim.Done()
					records++
				}
			}
			eventually(t, "a kept partition is committed", func() bool { return committed(t, addr, group, topic, partition) >= records })
		}
		if owners.members()["one"] != 4 || len(second) > 0 {
			t.Error("partitions moved although their records were under way")
		}
		for _, each := range under {
			if moves[each.claim.Partition] {
				each.claim.Done()
			}
		}
		seen := map[int]int{}
		for _, each := range under {
			seen[decode(t, each.claim.Record)]++
		}
		for len(seen) < 2*n {
			var each held
			select {
			case each = <-first:
			case each = <-second:
			case <-time.After(patience):
				t.Fatalf("%d of %d were handed out", len(seen), 2*n)
			}
			seen[decode(t, each.claim.Record)]++
			each.claim.Done()
		}
		eventually(t, "both own half", func() bool { m := owners.members(); return m["one"] == 2 && m["two"] == 2 })
		two.stop(t)
		one.stop(t)
		for record, times := range seen {
			if times != 1 {
				t.Errorf("record %d was handed out %d times", record, times)
			}
		}
		if len(first)+len(second) > 0 {
			t.Errorf("%d more were handed out", len(first)+len(second))
		}
		owners.check(t)
	})
}

func receive(t *testing.T, handed chan held) held {
	t.Helper()
	select {
	case each := <-handed:
		return each
	case <-time.After(patience):
		t.Fatal("nothing is handed out")
		return held{}
	}
}

// If a claim stays unfinished for too long, its partition moves anyway, and the record is handed out again. A late Done
// then commits nothing.
func TestAPartitionWithAStuckClaimMoves(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		topic, group := newTopic(t, client, 2), unique("group")
		publish(t, client, numbered(topic, 0, 40, 40)...)
		member := func(handed chan held) *running {
			return start(t, func(ctx context.Context) error {
				return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}},
					func(ctx context.Context, claim stream.Claim) { handed <- held{ctx, claim} })
			})
		}
		first, second := make(chan held, 200), make(chan held, 200)
		one := member(first)
		var claims, again []held
		for range 40 {
			claims = append(claims, receive(t, first))
		}
		two := member(second)
		again = append(again, receive(t, second))
		moved := again[0].claim.Partition
		late := 0
		for _, each := range claims {
			if each.claim.Partition != moved {
				continue
			}
			if late++; each.ctx.Err() == nil {
				t.Error("the context of a claim of a moved partition has not ended")
			}
			each.claim.Done()
		}
		for len(again) < late {
			again = append(again, receive(t, second))
		}
		for _, each := range again {
			if each.ctx.Err() != nil || each.claim.Partition != moved {
				t.Errorf("a record of partition %d was handed out, ended context: %v", each.claim.Partition, each.ctx.Err())
			}
		}
		for partition := range 2 {
			if n := committed(t, addr, group, topic, partition); n > 0 {
				t.Errorf("partition %d is committed up to %d", partition, n)
			}
		}
		for _, each := range append(claims, again...) {
			each.claim.Done()
		}
		two.stop(t)
		one.stop(t)
		if len(first)+len(second) > 0 {
			t.Errorf("%d more were handed out", len(first)+len(second))
		}
	})
}
