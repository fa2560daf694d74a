package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/stream"
)

// BenchmarkPublish publishes records of 1 KiB to the broker, which syncs them: one caller with many records per call,
// and many callers with one record each.
func BenchmarkPublish(b *testing.B) {
	value := bytes.Repeat([]byte(`{"some":"text"},`), 64)
	for _, shape := range []struct {
		name           string
		callers, slice int
	}{{"slices of 100", 1, 100}, {"slices of 1000", 1, 1000}, {"64 callers of one", 64, 1}} {
		b.Run(shape.name, func(b *testing.B) {
			client := connect(b, startBroker(b), stream.Options{})
			topic := newTopic(b, client, 8)
			b.ResetTimer()
			var callers sync.WaitGroup
			for caller := range shape.callers {
				callers.Go(func() {
					for n := caller * shape.slice; n < b.N; n += shape.callers * shape.slice {
						var records []stream.Record
						for i := range min(shape.slice, b.N-n) {
							records = append(records, stream.Record{Topic: topic, Key: strconv.Itoa(n + i), Value: value})
						}
						publish(b, client, records...)
					}
				})
			}
			callers.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// BenchmarkLatency measures the time from Publish to the handler for one record at a time.
func BenchmarkLatency(b *testing.B) {
	client := connect(b, startBroker(b), stream.Options{})
	topic := newTopic(b, client, 8)
	arrived := make(chan time.Time, 1)
	start(b, func(ctx context.Context) error {
		return client.Consume(ctx, stream.Subscription{Group: "latency", Topics: []string{topic}}, func(_ context.Context, claim stream.Claim) {
			claim.Done()
			var sent time.Time
			if err := json.Unmarshal(claim.Record.Value, &sent); err == nil {
				arrived <- sent
			}
		})
	})
	var latencies []time.Duration
	for n := 0; b.Loop(); n++ {
		value, err := json.Marshal(time.Now())
		if err != nil {
			b.Fatal(err)
		}
		publish(b, client, stream.Record{Topic: topic, Key: strconv.Itoa(n), Value: value})
		latencies = append(latencies, time.Since(<-arrived))
	}
	slices.Sort(latencies)
	b.ReportMetric(float64(latencies[len(latencies)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(latencies[len(latencies)*99/100].Microseconds())/1000, "ms-p99")
}
