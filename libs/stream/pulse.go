package stream

import (
	"context"
	"sync"
	"time"
)

// standstill is the time after which a process that stood still (SIGSTOP, a suspended machine) must expect that its
// partitions belong to another member. It is below sessionTimeout by one heartbeat and some room.
const standstill = sessionTimeout - heartbeatInterval - pulseInterval

const pulseInterval = 250 * time.Millisecond

// pulse notices that the process stood still. Only the process itself can notice that before it stores a result: the next
// heartbeat, which would say so, may come later than the result.
type pulse struct {
	mu   sync.Mutex
	last time.Time // by the wall clock, because the monotonic one stands still with a suspended machine
	gaps int
}

// run beats until ctx ends.
func (p *pulse) run(ctx context.Context) {
	for ticks := time.Tick(pulseInterval); ; {
		p.beat()
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
	}
}

// beat returns how many times the process stood still until now.
func (p *pulse) beat() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now().Round(0)
	if !p.last.IsZero() && now.Sub(p.last) > standstill {
		p.gaps++
	}
	p.last = now
	return p.gaps
}
