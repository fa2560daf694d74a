package stream_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/stream"
)

// The embedded broker is killed (SIGKILL) several times while records are published and consumed. Acknowledged records
// arrive, and commits survive. The consumer starts before the broker.
func TestAcknowledgedRecordsArriveDespiteKillsOfTheBroker(t *testing.T) {
	t.Parallel()
	addr, dir := apitest.FreeAddress(t), t.TempDir()
	client := connect(t, addr, stream.Options{})
	topic, group := unique("topic"), unique("group")
	ledger := newLedger()
	start(t, func(ctx context.Context) error {
		if err := client.EnsureTopics(ctx, stream.Topic{Name: topic, Partitions: 3}); err != nil {
			return err
		}
		return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}, Assigned: ledger.assigned("one")},
			ledger.handle(t, "one"))
	})

	var acknowledged sync.Map
	var count atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var producers sync.WaitGroup
	producers.Go(func() {
		for n := 0; ctx.Err() == nil; n += 5 {
			for { // like a relay, repeats the records until they are acknowledged
				err := client.Publish(t.Context(), numbered(topic, n, n+5, 7)...)
				if err == nil {
					break
				}
				if !fault.Is(err, fault.Unavailable) {
					t.Error(err)
					return
				}
			}
			for i := n; i < n+5; i++ {
				acknowledged.Store(i, true)
			}
			count.Add(5)
		}
	})
	for round := range 4 {
		broker := startBrokerChild(t, addr, dir)
		before := count.Load()
		eventually(t, "records are acknowledged", func() bool { return count.Load() > before+200 })
		if round < 3 {
			broker.kill()
		}
	}
	cancel()
	producers.Wait()
	eventually(t, "every acknowledged record was handed out", func() bool {
		ledger.mu.Lock()
		defer ledger.mu.Unlock()
		complete := true
		acknowledged.Range(func(n, _ any) bool {
			complete = ledger.seen[n.(int)] > 0
			return complete
		})
		return complete
	})
	ledger.check(t)
}

// Publish that begins while the broker is down returns when it is back.
func TestPublishWaitsForABrokerThatRestarts(t *testing.T) {
	t.Parallel()
	addr, dir := apitest.FreeAddress(t), t.TempDir()
	broker := startBrokerChild(t, addr, dir)
	client := connect(t, addr, stream.Options{})
	stream.Patient(client)
	topic := newTopic(t, client, 1)
	publish(t, client, numbered(topic, 0, 1, 1)...)
	broker.kill()
	published := make(chan error, 1)
	go func() { published <- client.Publish(t.Context(), numbered(topic, 1, 2, 1)...) }()
	pings := 0
	eventually(t, "requests have failed", func() bool {
		if client.Ping(t.Context()) != nil {
			pings++
		}
		return pings == 30 // a third of a second, in which Publish tries again
	})
	startBrokerChild(t, addr, dir)
	if err := <-published; err != nil {
		t.Error(err)
	}
}

// Topics, records and commits survive a kill of the broker. The next member gets exactly the records that were not
// committed.
func TestAKilledBrokerKeepsCommits(t *testing.T) {
	t.Parallel()
	addr, dir := apitest.FreeAddress(t), t.TempDir()
	broker := startBrokerChild(t, addr, dir)
	client := connect(t, addr, stream.Options{})
	topic, group := newTopic(t, client, 1), unique("group")
	publish(t, client, numbered(topic, 0, 10, 1)...)
	claims := make(chan stream.Claim, 10)
	consume := func() *running {
		return start(t, func(ctx context.Context) error {
			return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}, MaxPending: 10},
				func(_ context.Context, claim stream.Claim) { claims <- claim })
		})
	}
	first := consume()
	for n := range 10 {
		if claim := <-claims; n < 6 {
			claim.Done()
		} else {
			claim.Abandon()
		}
	}
	eventually(t, "six are committed", func() bool { return committed(t, addr, group, topic, 0) == 6 })
	first.stop(t)
	broker.kill()
	startBrokerChild(t, addr, dir)
	if n := committed(t, addr, group, topic, 0); n != 6 {
		t.Errorf("committed %d after the restart", n)
	}
	consume()
	for want := 6; want < 10; want++ {
		claim := <-claims
		if n := decode(t, claim.Record); n != want {
			t.Errorf("record %d instead of %d", n, want)
		}
		claim.Done()
	}
	eventually(t, "all are committed", func() bool { return committed(t, addr, group, topic, 0) == 10 })
}

func startBrokerChild(t *testing.T, addr, dir string) *child {
	t.Helper()
	broker := startChild(t, "broker", "ADDR="+addr, "DIR="+dir)
	if line := broker.line(t); !strings.HasPrefix(line, "ready") {
		t.Fatal(line)
	}
	return broker
}
