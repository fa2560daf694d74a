package stream

import (
	"context"
	"sync"
	"time"
)

// stallTime is the length of a pause of the process (SIGSTOP, a suspended machine) after which the process must
// assume that other members own its partitions. It is shorter than sessionTimeout by one heartbeat and one check.
const stallTime = sessionTimeout - heartbeatInterval - stallCheckInterval

const stallCheckInterval = 250 * time.Millisecond

// stallDetector counts how often the process was paused for longer than stallTime. The process must detect such a
// pause itself before it stores a result, because the response to its next heartbeat may come too late.
type stallDetector struct {
	mu     sync.Mutex
	last   time.Time // wall clock, because the monotonic clock stops while the machine is suspended
	stalls int
}

// run checks for stalls until ctx ends.
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
