// Package engines runs the engines of the platform inside its process: a Kafka broker (kfake of the franz-go project)
// with a data folder, and Redis (miniredis), which can keep keys in a file. Both serve the real protocols on a local
// address, so the platform runs the same code as with the real engines.
//
// Both were made for tests. These decisions make them fit for a small installation:
//
//   - The broker syncs its writes. An acknowledged record, a committed offset and a topic survive kill -9 and loss of
//     power. A restart reads all data of the broker, so the data must stay small (trim.go). Segments are small. A
//     record is deleted when it is an hour old and each group that commits offsets of its partition has committed it,
//     or when it is seven days old.
//   - The broker's own retention is off, because it can delete all records of a partition. After a restart such a
//     partition would begin again at offset 0, below the offsets that groups have committed.
//   - A clean stop stores the members of groups, because clients usually outlive a broker. Here the clients end with
//     the process, and a group would wait until its old members time out. So StartKafka deletes the stored members. A
//     kill stores none.
//   - The keys of miniredis do not expire without a call of FastForward. A goroutine calls it every 200 ms. The option
//     ClockTTL of miniredis is not used, because it sorts all keys with each command.
//   - miniredis has no persistence. A journal (journal.go) stores the keys that the caller selects: rates, quotas and
//     Idempotency-Keys survive kill -9 and a restart. A loss of power can lose the last second. Caches are not stored,
//     because a cached credential must not outlive the entry that voids it.
package engines

import (
	"context"
	"time"
)

// every calls do at the interval until stop is called. stop cancels ctx and waits for a running call of do.
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
