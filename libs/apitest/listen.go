package apitest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/stream"
)

// Heard collects the records that Listen consumes.
type Heard struct {
	mu      sync.Mutex
	records []stream.Record
}

// Listen consumes the topics from their beginning until the test ends.
func Listen(t testing.TB, bus *stream.Client, topics ...string) *Heard {
	t.Helper()
	h := &Heard{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- bus.ConsumeBatches(ctx, stream.Subscription{Group: "listener-" + rand.Text(), Topics: topics}, func(_ context.Context, batch []stream.Record) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.records = append(h.records, batch...)
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("listening: %v", err)
		}
	})
	return h
}

// Records returns the records of a topic that have arrived. Records of the same partition are in the order of the
// partition.
func (h *Heard) Records(topic string) []stream.Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []stream.Record
	for _, record := range h.records {
		if record.Topic == topic {
			found = append(found, record)
		}
	}
	return found
}

// Messages returns the records that Records returns, decoded from JSON. It fails the test if a record is not a T.
func Messages[T any](t testing.TB, h *Heard, topic string) []T {
	t.Helper()
	var messages []T
	for _, record := range h.Records(topic) {
		var message T
		if err := json.Unmarshal(record.Value, &message); err != nil {
			t.Fatalf("a record of %s: %v", topic, err)
		}
		messages = append(messages, message)
	}
	return messages
}
