package dispatch

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const (
	slowMemory   = 10 * time.Minute // how long a receiver counts as slow after a timeout
	maxReceivers = 50_000
)

// receivers stores the receivers that timed out or asked for a pause. The key is member.limit, or the limit of the host for a
// pause of a host.
type receivers struct {
	mu    sync.Mutex
	known *simplelru.LRU[sharedLimit, receiver]
}

// receiver counts as slow until slowUntil and wants no request before pausedUntil.
type receiver struct{ slowUntil, pausedUntil time.Time }

func newReceivers() receivers {
	known, _ := simplelru.NewLRU[sharedLimit, receiver](maxReceivers, nil) // only a size of 0 is an error
	return receivers{known: known}
}

func (r *receivers) get(limit sharedLimit) receiver {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, _ := r.known.Get(limit)
	return known
}

// record updates the receiver with the result of an attempt. After a success the receiver no longer counts as slow. Its
// pause stays, because the attempt may have begun before the response that asked for the pause.
func (r *receivers) record(limit sharedLimit, result Result, now time.Time) {
	if limit.digest == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known, _ := r.known.Get(limit)
	switch {
	case result.Code == "" && now.Before(known.pausedUntil):
		known.slowUntil = time.Time{}
	case result.Code == "":
		r.known.Remove(limit)
		return
	case result.Code == deliverylog.CodeTimeout:
		known.slowUntil = now.Add(slowMemory)
	case asksForPause(result):
		known.pausedUntil = now.Add(min(result.RetryAfter, maxRetryAfter))
	default:
		return
	}
	r.known.Add(limit, known)
}

// pause pauses a receiver, or all receivers of a host, until a time. A pause is never shortened.
func (r *receivers) pause(limit sharedLimit, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, _ := r.known.Get(limit); until.After(known.pausedUntil) {
		known.pausedUntil = until
		r.known.Add(limit, known)
	}
}
