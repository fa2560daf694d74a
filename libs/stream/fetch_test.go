package stream

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// leaders responds to requests for metadata of a topic. It contains the leaders of the partitions 0, 1 and so on.
type leaders struct {
	now  atomic.Pointer[[]int32]
	asks chan struct{}
}

// RoundTrip implements kafka.RoundTripper.
func (l *leaders) RoundTrip(ctx context.Context, _ net.Addr, _ kafka.Request) (kafka.Response, error) {
	topic := metadata.ResponseTopic{Name: "topic"}
	for partition, leader := range *l.now.Load() {
		each := metadata.ResponsePartition{PartitionIndex: int32(partition), LeaderID: leader}
		if leader < 0 {
			each.ErrorCode = int16(kafka.LeaderNotAvailable)
		}
		topic.Partitions = append(topic.Partitions, each)
	}
	select {
	case l.asks <- struct{}{}:
	case <-ctx.Done():
	}
	return &metadata.Response{
		Brokers: []metadata.ResponseBroker{{NodeID: 0, Host: "127.0.0.1", Port: 1}, {NodeID: 7, Host: "127.0.0.1", Port: 2}},
		Topics:  []metadata.ResponseTopic{topic},
	}, nil
}

// A partition without a leader is not fetched from the broker with the id 0, whose requests it would fail. The other
// partitions are fetched meanwhile.
func TestAPartitionWithoutALeaderDelaysNoOther(t *testing.T) {
	client := Connect(Options{Brokers: []string{"127.0.0.1:1"}})
	defer client.Close()
	found := &leaders{asks: make(chan struct{}, 1)}
	client.kafka.Transport = found
	intake, stop := context.WithCancel(t.Context())
	m := newMember(intake, client, Subscription{Group: "group", Topics: []string{"topic"}}, nil, nil)
	defer m.fetchers.Wait()
	defer stop()
	for id := range 3 {
		m.partitions = append(m.partitions, newPartition("topic", id, 0, &m.share, m.wake))
	}
	fetched := func(leader int64) (ids []int) {
		wants, _ := m.wants(leader, 0)
		for _, each := range wants {
			ids = append(ids, each.partition.id)
		}
		return ids
	}
	m.share.Store(leastShare)
	found.now.Store(&[]int32{7, -1, 0})
	m.locate()
	<-found.asks
	if first, second := fetched(7), fetched(0); len(first) != 1 || first[0] != 0 || len(second) != 1 || second[0] != 2 {
		t.Errorf("fetched are %v from broker 7, and %v from broker 0", first, second)
	}
	m.waking.Lock()
	if len(m.wakeups) != 2 {
		t.Errorf("%d brokers are asked for records", len(m.wakeups))
	}
	m.waking.Unlock()
	found.now.Store(&[]int32{7, 7, 0})
	for deadline := time.After(time.Minute); len(fetched(7)) != 2; {
		select {
		case <-found.asks:
		case <-deadline:
			t.Fatalf("the new leader is not found: %v", fetched(7))
		}
	}
}
