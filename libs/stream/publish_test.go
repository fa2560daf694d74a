package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/protocol/produce"
)

// brokers responds to the requests of a Writer. Its topics have the partitions 0 and 1.
type brokers struct {
	mu      sync.Mutex
	written []batch
	refused map[int]bool // partitions whose next batch is refused
}

// batch is the partition and the number of records of a request.
type batch struct{ partition, records int }

// RoundTrip implements kafka.RoundTripper.
func (b *brokers) RoundTrip(_ context.Context, _ net.Addr, request kafka.Request) (kafka.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch request := request.(type) {
	case *metadata.Request:
		return &metadata.Response{Topics: []metadata.ResponseTopic{
			{Name: request.TopicNames[0], Partitions: []metadata.ResponsePartition{{PartitionIndex: 0}, {PartitionIndex: 1}}},
		}}, nil
	case *produce.Request:
		to := request.Topics[0].Partitions[0]
		partition, response := int(to.Partition), produce.ResponsePartition{Partition: to.Partition}
		if b.refused[partition] {
			response.ErrorCode = int16(kafka.TopicAuthorizationFailed)
			delete(b.refused, partition)
		} else {
			b.written = append(b.written, batch{partition, count(to.RecordSet.Records)})
		}
		return &produce.Response{Topics: []produce.ResponseTopic{{Topic: request.Topics[0].Topic, Partitions: []produce.ResponsePartition{response}}}}, nil
	}
	return nil, fmt.Errorf("an unexpected %T", request)
}

func count(records protocol.RecordReader) (n int) {
	for {
		if _, err := records.ReadRecord(); err != nil {
			return n
		}
		n++
	}
}

// After the broker has refused a batch of a key, it gets no later record of the key. Records of several partitions are
// written together.
func TestNoLaterRecordIsStoredAfterARefusedBatch(t *testing.T) {
	for name, first := range map[string]int{"the first records of a topic": 0, "a topic with known partitions": 1} {
		brokers := &brokers{refused: map[int]bool{}}
		client := Connect(Options{Brokers: []string{"127.0.0.1:1"}})
		client.writer.Transport = brokers
		send := func(partitions ...int) error {
			var records []Record
			for i := range 3 * writtenAtOnce {
				records = append(records, Record{Topic: "topic", Key: "key", Partition: &partitions[i%len(partitions)]})
			}
			return client.Publish(t.Context(), records[:len(records)/3*len(partitions)]...)
		}
		for range first {
			if err := send(0, 1); err != nil {
				t.Fatal(err)
			}
		}
		brokers.refused[0], brokers.written = true, nil
		if err := send(0, 0); !errors.Is(err, kafka.TopicAuthorizationFailed) || len(brokers.written) > 0 {
			t.Errorf("%s: %v, and the broker gets %v after the refusal", name, err, brokers.written)
		}
		if err := send(0, 1); err != nil || len(brokers.written) != 2 || brokers.written[0].records != writtenAtOnce || brokers.written[1].records != writtenAtOnce {
			t.Errorf("%s: %v, and the broker gets %v for two partitions", name, err, brokers.written)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}
