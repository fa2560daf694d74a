package dispatch

import (
	"sync"
	"time"
)

const (
	slowMemory   = 10 * time.Minute // how long a receiver counts as slow after a timeout
	maxReceivers = 50_000           // receivers in each map
)

// receivers remembers the receivers that timed out and those that asked for a pause, by the hash of the URL.
type receivers struct {
	mu     sync.Mutex
	slow   map[string]time.Time // the time until which the receiver counts as slow
	paused map[string]time.Time // the time before which the receiver wants no request
}

func newReceivers() *receivers {
	return &receivers{slow: make(map[string]time.Time), paused: make(map[string]time.Time)}
}

// isSlow reports whether the receiver timed out within slowMemory.
func (r *receivers) isSlow(hash string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.slow[hash])
}

// pausedUntil returns the end of the pause that the receiver asked for, and false if there is no pause.
func (r *receivers) pausedUntil(hash string, now time.Time) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	until := r.paused[hash]
	return until, now.Before(until)
}

// record updates the memory after an attempt.
func (r *receivers) record(hash string, result Result, now time.Time) {
	if hash == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case result.Code == CodeTimeout:
		remember(r.slow, hash, now.Add(slowMemory), now)
	case asksForPause(result):
		remember(r.paused, hash, now.Add(min(result.RetryAfter, maxRetryAfter)), now)
	case result.Code == "":
		delete(r.slow, hash)
		delete(r.paused, hash)
	}
}

// remember sets the time. When the map is full, it removes the entries that are over and some others.
func remember(known map[string]time.Time, hash string, until, now time.Time) {
	if len(known) >= maxReceivers {
		for other, end := range known {
			if !now.Before(end) || len(known) >= maxReceivers {
				delete(known, other)
			}
		}
	}
	known[hash] = until
}
