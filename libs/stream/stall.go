package stream

import (
	"context"
	"sync"
	"time"
)

// stallTime is the time after which a process that was stopped (SIGSTOP, a suspended machine) must expect that its
// partitions belong to another member. It is below sessionTimeout by one heartbeat and some room.
const stallTime = sessionTimeout - heartbeatInterval - stallCheckInterval

const stallCheckInterval = 250 * time.Millisecond

// stallDetector counts how often the process was stopped for longer than stallTime. Only the process itself can notice
// that before it stores a result: the response to the next heartbeat may come later than the result.
type stallDetector struct {
	mu     sync.Mutex
	last   time.Time // by the wall clock, because the monotonic one stops with a suspended machine
	stalls int
}

// run checks the time until ctx ends.
func (d *stallDetector) run(ctx context.Context) {
	for ticks := time.Tick(stallCheckInterval); ; {
		d.count()
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
	}
}

// count returns the number of stalls until now.
func (d *stallDetector) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now().Round(0)
	if !d.last.IsZero() && now.Sub(d.last) > stallTime {
		d.stalls++
	}
	d.last = now
	return d.stalls
}
