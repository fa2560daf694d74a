// Package engines provides the engines of the platform as one process: a Kafka broker
// (kfake of the franz-go project) on a data folder, and Redis (miniredis) in memory. Both speak the
// real protocols on a local address, so all code above them is the code that runs against
// the real engines.
//
// Both were made for tests. Decisions that let them carry a small installation:
//
//   - The broker syncs its writes. An acknowledged record, a committed offset and a topic
//     survive kill -9 and loss of power. A restart reads all data of the broker. The data
//     is therefore kept small (see trim.go): segments are small, and a record is deleted when every
//     group has committed it and it is an hour old, or when it is seven days old.
//   - The broker's own retention is off. It can empty a partition, and an empty partition
//     starts again at offset 0 after a restart, below the offsets that its groups have committed.
//   - After a clean stop the broker remembers group members, as suits a broker whose clients
//     outlive it. Here the clients ended with the process, and a group would wait for them
//     until they time out. StartKafka removes this memory. After a kill there is none.
//   - The keys of miniredis do not age. A goroutine ages them every 200 ms. The option of
//     miniredis for this (ClockTTL) sorts all keys with each command.
//   - Redis loses its data at a restart. The services allow for that.
package engines

import (
	"context"
	"time"
)

// every calls do at the interval until the returned function is called. That function ends
// ctx and returns when a running call has ended.
func every(interval time.Duration, do func(ctx context.Context, now time.Time)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ticks := time.Tick(interval); ; {
			select {
			case <-ctx.Done():
				return
			case now := <-ticks:
				do(ctx, now)
			}
		}
	}()
	return func() { cancel(); <-ended }
}
