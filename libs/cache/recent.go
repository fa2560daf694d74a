package cache

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Recent shares the results of calls for a time: all who ask for the same key in this time get the result of one call. It is for
// results that may be a little old. Where a result must not come from a call that began earlier, coalesce.Group is right. Recent
// is safe for concurrent use.
type Recent[K comparable, V any] struct {
	life    time.Duration
	now     func() time.Time
	mu      sync.Mutex // held between the look at a key and the addition of its call
	results *lru.Cache[K, *call[V]]
}

// call is a call of fetch. done is closed when it has returned.
type call[V any] struct {
	began  time.Time
	done   chan struct{}
	result V
}

// NewRecent returns a Recent that shares a result for the duration life, from the begin of its call. It holds the results of at
// most maxKeys keys.
func NewRecent[K comparable, V any](life time.Duration, maxKeys int, now func() time.Time) *Recent[K, V] {
	results, _ := lru.New[K, *call[V]](maxKeys) // fails only for a size below 1
	return &Recent[K, V]{life: life, now: now, results: results}
}

// Get returns the result of the last call for the key, and waits for it if the call has not returned. If the call began longer
// ago than the duration life, Get calls fetch. fetch must limit its own time. If it panics, its result is the zero value for the
// others.
func (r *Recent[K, V]) Get(key K, fetch func() V) V {
	r.mu.Lock()
	now := r.now()
	last, is := r.results.Get(key)
	if is && now.Sub(last.began) <= r.life {
		r.mu.Unlock()
		<-last.done
		return last.result
	}
	own := &call[V]{began: now, done: make(chan struct{})}
	r.results.Add(key, own)
	r.mu.Unlock()
	defer close(own.done)
	own.result = fetch()
	return own.result
}
