package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sync/errgroup"
)

// The records of one call arrive in the published order for each key, and the metrics count them.
func TestRecordsOfOneCallArriveInOrder(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		registry := prometheus.NewRegistry()
		client := connect(t, addr, stream.Options{Registerer: registry})
		topic, group := newTopic(t, client, 4), unique("group")
		const n, keys = 3000, 17
		records := numbered(topic, 0, n, keys)
		for i := range records {
			records[i].Headers = map[string]string{"kind": "number", "n": strconv.Itoa(i)}
		}
		publish(t, client, records...)

		type got struct {
			last  map[string]int
			count int
		}
		results := make(chan error, 1)
		state := got{last: make(map[string]int)}
		var mu sync.Mutex
		start(t, func(ctx context.Context) error {
			return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}},
				func(_ context.Context, claim stream.Claim) {
					defer claim.Done()
					mu.Lock()
					defer mu.Unlock()
					value := decode(t, claim.Record)
					last, seen := state.last[claim.Record.Key]
					switch {
					case seen && value <= last:
						results <- fmt.Errorf("key %s: %d after %d", claim.Record.Key, value, last)
					case claim.Record.Key != "k"+strconv.Itoa(value%keys) || claim.Record.Topic != topic:
						results <- fmt.Errorf("wrong record %+v", claim.Record)
					case claim.Record.Headers["n"] != strconv.Itoa(value) || claim.Record.Headers["kind"] != "number":
						results <- fmt.Errorf("wrong headers %v", claim.Record.Headers)
					}
					state.last[claim.Record.Key] = value
					if state.count++; state.count == n {
						results <- nil
					}
				})
		})
		if err := <-results; err != nil {
			t.Fatal(err)
		}
		if published := testutil.CollectAndCount(registry, "bellbuoy_stream_published_total"); published != 1 {
			t.Errorf("%d series of published records", published)
		}
		eventually(t, "nothing is unfinished", func() bool {
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			values := make(map[string]float64)
			for _, family := range families {
				for _, metric := range family.Metric {
					values[family.GetName()] += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
				}
			}
			return values["bellbuoy_stream_published_total"] == n && values["bellbuoy_stream_consumed_total"] == n &&
				values["bellbuoy_stream_unfinished"] == 0 && values["bellbuoy_stream_lag"] == 0
		})
	})
}

// Consume hands out at most MaxPending unfinished claims. When a claim is finished, it hands out one more.
func TestAtMostMaxPendingClaimsAreUnfinished(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		topic, group := newTopic(t, client, 3), unique("group")
		const n, bound = 200, 7
		publish(t, client, numbered(topic, 0, n, 30)...)
		claims := make(chan stream.Claim, n)
		start(t, func(ctx context.Context) error {
			return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}, MaxPending: bound},
				func(_ context.Context, claim stream.Claim) { claims <- claim })
		})
		var held []stream.Claim
		for len(held) < bound {
			held = append(held, <-claims)
		}
		for i := range n - bound {
			if len(claims) > 0 {
				t.Fatalf("claim %d was handed out beyond the limit", i+bound)
			}
			held[i].Done()
			held = append(held, <-claims)
		}
		for _, claim := range held {
			claim.Done()
		}
	})
}

// A batch whose handler fails is handed out again unchanged, before any other record of its partition.
func TestAFailedBatchIsHandedOutAgain(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		registry := prometheus.NewRegistry()
		client := connect(t, addr, stream.Options{Registerer: registry})
		topic, group := newTopic(t, client, 1), unique("group")
		publish(t, client, numbered(topic, 0, 20, 1)...)
		var mu sync.Mutex
		var done []int
		failures := 0
		start(t, func(ctx context.Context) error {
			return client.ConsumeBatches(ctx, stream.Subscription{Group: group, Topics: []string{topic}, MaxPending: 8},
				func(_ context.Context, batch []stream.Record) error {
					mu.Lock()
					defer mu.Unlock()
					var values []int
					for _, record := range batch {
						values = append(values, decode(t, record))
					}
					if slices.Contains(values, 3) && failures < 3 {
						failures++
						return errors.New("not now")
					}
					done = append(done, values...)
					return nil
				})
		})
		eventually(t, "the topic is finished", func() bool { return committed(t, addr, group, topic, 0) == 20 })
		mu.Lock()
		defer mu.Unlock()
		want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
		if !slices.Equal(done, want) || failures != 3 {
			t.Errorf("handled %v after %d failures", done, failures)
		}
		if n := testutil.CollectAndCount(registry, "bellbuoy_stream_handler_errors_total"); n != 1 {
			t.Errorf("%d metrics of failures", n)
		}
	})
}

// A partition whose handler fails does not delay other partitions.
func TestAFailingPartitionDelaysNoOther(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		topic, group := newTopic(t, client, 4), unique("group")
		publish(t, client, numbered(topic, 0, 40, 40)...)
		var stuck sync.Map // keys of the failing partition
		var mu sync.Mutex
		poisoned, finished := -1, 0
		start(t, func(ctx context.Context) error {
			return client.ConsumeBatches(ctx, stream.Subscription{Group: group, Topics: []string{topic}, MaxPending: 100},
				func(_ context.Context, batch []stream.Record) error {
					mu.Lock()
					defer mu.Unlock()
					if poisoned < 0 {
						poisoned = decode(t, batch[0])
					}
					if decode(t, batch[0]) == poisoned {
						stuck.Store(poisoned, len(batch))
						return errors.New("never")
					}
					finished += len(batch)
					return nil
				})
		})
		eventually(t, "the other partitions are finished", func() bool {
			mu.Lock()
			defer mu.Unlock()
			n, ok := stuck.Load(poisoned)
			return ok && finished == 40-n.(int)
		})
	})
}

// Without a broker, Publish returns an error when ctx ends. The other calls wait until ctx ends.
func TestCallsWithoutABrokerEndWithTheirContext(t *testing.T) {
	client := connect(t, "127.0.0.1:1", stream.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := client.Publish(ctx, stream.Record{Topic: "t"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("publish: %v", err)
	}
	if err := client.Ping(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("ping: %v", err)
	}
	if err := client.EnsureTopics(ctx, stream.Topic{Name: "t"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("topics: %v", err)
	}
	if err := client.Consume(ctx, stream.Subscription{Group: "g", Topics: []string{"t"}}, nil); err != nil {
		t.Errorf("consume: %v", err)
	}
	if err := client.Consume(t.Context(), stream.Subscription{Group: "g"}, nil); err == nil {
		t.Error("a subscription without a topic is accepted")
	}
}

func TestARecordGoesToItsExplicitPartition(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		topic := newTopic(t, client, 4)
		wishes := []int{3, 0, 2, 2, 5} // the topic has four partitions, so 5 means partition 1
		for i, wish := range wishes {
			publish(t, client, stream.Record{Topic: topic, Key: "same", Value: []byte(strconv.Itoa(i)), Partition: &wish})
		}
		var mu sync.Mutex
		got := map[int]int{}
		member := start(t, func(ctx context.Context) error {
			return client.Consume(ctx, stream.Subscription{Group: unique("group"), Topics: []string{topic}}, func(_ context.Context, claim stream.Claim) {
				mu.Lock()
				defer mu.Unlock()
				got[decode(t, claim.Record)] = claim.Partition
				claim.Done()
			})
		})
		eventually(t, "all records", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(got) == len(wishes)
		})
		member.stop(t)
		for i, wish := range wishes {
			if got[i] != wish%4 {
				t.Errorf("record %d for partition %d came from %d", i, wish, got[i])
			}
		}
	})
}

// A broker returns a batch that is larger than the share of its partition only if the response has no other batch before
// it. All of them arrive.
func TestBatchesLargerThanTheShareOfAPartitionArrive(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		client := connect(t, addr, stream.Options{})
		const partitions, each, size = 64, 2, 200 << 10
		topic := newTopic(t, client, partitions)
		incompressible := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{}).Read(incompressible)
		for n := range each {
			for partition := range partitions {
				value := bytes.Clone(incompressible)
				copy(value, fmt.Sprintf("%d/%d ", partition, n))
				publish(t, client, stream.Record{Topic: topic, Value: value, Partition: &partition})
			}
		}
		var mu sync.Mutex
		next := map[int]int{}
		start(t, func(ctx context.Context) error {
			return client.Consume(ctx, stream.Subscription{Group: unique("group"), Topics: []string{topic}}, func(_ context.Context, claim stream.Claim) {
				mu.Lock()
				defer mu.Unlock()
				if want := fmt.Sprintf("%d/%d ", claim.Partition, next[claim.Partition]); !bytes.HasPrefix(claim.Record.Value, []byte(want)) || len(claim.Record.Value) != size {
					t.Errorf("%q of %d bytes instead of %q", claim.Record.Value[:8], len(claim.Record.Value), want)
				}
				next[claim.Partition]++
				claim.Done()
			})
		})
		eventually(t, "all records", func() bool {
			mu.Lock()
			defer mu.Unlock()
			all := 0
			for _, n := range next {
				all += n
			}
			return all == partitions*each
		})
	})
}

// A backlog of records that were published one by one needs little memory, although the library needs 64 KiB for each batch of a
// response. The test runs alone, because it measures the heap.
func TestABacklogOfSmallBatchesNeedsLittleMemory(t *testing.T) {
	const partitions, each, most = 64, 100, 160 << 20
	client := connect(t, startBroker(t), stream.Options{})
	topic := newTopic(t, client, partitions)
	value := make([]byte, 300)
	_, _ = rand.NewChaCha8([32]byte{}).Read(value)
	var publishers errgroup.Group
	for partition := range partitions {
		publishers.Go(func() error {
			for range each {
				if err := client.Publish(t.Context(), stream.Record{Topic: topic, Value: value, Partition: &partition}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := publishers.Wait(); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	heap := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before, highest := heap(), uint64(0)
	var got atomic.Int64
	start(t, func(ctx context.Context) error {
		return client.Consume(ctx, stream.Subscription{Group: unique("group"), Topics: []string{topic}}, func(_ context.Context, claim stream.Claim) {
			got.Add(1)
			claim.Done()
		})
	})
	eventually(t, "all records", func() bool {
		highest = max(highest, heap())
		return got.Load() == partitions*each
	})
	if highest > before+most {
		t.Errorf("%d records needed %d MiB", partitions*each, (highest-before)>>20)
	}
}
