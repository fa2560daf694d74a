package dispatch

import (
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const (
	slowMemory   = 10 * time.Minute // how long a receiver counts as slow after a timeout
	maxReceivers = 50_000
)

// receivers remembers the receivers that timed out or asked for a pause, by member.limit.
type receivers struct {
	mu    sync.Mutex
	known map[sharedLimit]receiver
}

// receiver counts as slow until slowUntil and wants no request before pausedUntil.
type receiver struct{ slowUntil, pausedUntil time.Time }

func (r *receivers) get(limit sharedLimit) receiver {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[limit]
}

// record updates the memory after an attempt. If it is full, record removes a receiver.
func (r *receivers) record(limit sharedLimit, result Result, now time.Time) {
	if limit.digest == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.known[limit]
	switch {
	case result.Code == "":
		delete(r.known, limit)
		return
	case result.Code == deliverylog.CodeTimeout:
		known.slowUntil = now.Add(slowMemory)
	case asksForPause(result):
		known.pausedUntil = now.Add(min(result.RetryAfter, maxRetryAfter))
	default:
		return
	}
	for other := range r.known {
		if len(r.known) < maxReceivers {
			break
		}
		delete(r.known, other)
	}
	r.known[limit] = known
}
