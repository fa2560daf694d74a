// Package engines provides the engines of the platform within its process: a Kafka broker
// (kfake of the franz-go project) with a data folder, and Redis (miniredis), which can keep keys in a file. Both serve the
// real protocols on a local address, so the platform runs the same code as with the real engines.
//
// Both were made for tests. These decisions make them fit for a small installation:
//
//   - The broker syncs its writes. An acknowledged record, a committed offset and a topic
//     survive kill -9 and loss of power. A restart reads all data of the broker. The data
//     is therefore kept small (see trim.go): segments are small, and a record is deleted when every
//     group has committed it and it is an hour old, or when it is seven days old.
//   - The broker's own retention is off. It can empty a partition, and an empty partition
//     starts again at offset 0 after a restart, below the offsets that its groups have committed.
//   - After a clean stop the broker still knows its group members, because the clients of
//     other brokers outlive them. Here the clients end with the process, and a group would wait
//     until they time out. StartKafka deletes the members. After a kill there are none.
//   - The keys of miniredis do not expire by themselves. A goroutine expires them every 200 ms. The
//     option of miniredis for this (ClockTTL) sorts all keys with each command.
//   - miniredis has no persistence. A journal (see journal.go) keeps the keys that the caller names: rates, quotas and
//     Idempotency-Keys survive kill -9 and a restart. A loss of power can lose their last second. Caches are not kept:
//     a cached credential must not outlive the entry that voids it.
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
