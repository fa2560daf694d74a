package stream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// A fetch whose response arrives while the assignment ends leaves no lag metric of a lost partition.
func TestAssignment_endsWithoutLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		client := Connect(Options{Brokers: []string{"127.0.0.1:1"}, Registerer: registry})
		defer client.Close()
		generation := &kafka.Generation{Assignments: map[string][]kafka.PartitionAssignment{"t": {{ID: 0, Offset: 5}}}}
		a := newAssignment(client, generation, Subscription{Group: "g", Topics: []string{"t"}, MaxPending: 1}, &pulse{})
		stop, end := context.WithCancel(t.Context())
		a.fetchers.Go(func() {
			<-stop.Done()
			time.Sleep(10 * time.Millisecond) // the response arrives later
			if err := a.receive(wanted{partition: a.partitions[0], offset: 5}, &fetch.ResponsePartition{HighWatermark: 9}); err != nil {
				t.Error(err)
			}
		})
		time.AfterFunc(time.Second, end)
		a.serve(stop, context.Background(), func(*assignment, *partition) {})
		if n := testutil.CollectAndCount(registry, "bellbuoy_stream_lag"); n != 0 {
			t.Errorf("%d series of lag are left", n)
		}
	})
}
