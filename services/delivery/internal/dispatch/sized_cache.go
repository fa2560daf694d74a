package dispatch

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// sizedCache caches values. If their total size exceeds limit bytes, it evicts the least recently used values.
type sizedCache[K comparable, V any] struct {
	mu           sync.Mutex
	values       *simplelru.LRU[K, sized[V]]
	bytes, limit int
}

type sized[V any] struct {
	value V
	bytes int
}

func newSizedCache[K comparable, V any](limit int) *sizedCache[K, V] {
	c := &sizedCache[K, V]{limit: limit}
	c.values, _ = simplelru.NewLRU(math.MaxInt, func(_ K, evicted sized[V]) { c.bytes -= evicted.bytes }) // only a size of 0 is an error
	return c
}

func (c *sizedCache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, is := c.values.Get(key)
	return found.value, is
}

// getOrAdd returns the cached value with the key. If there is none, it adds value and returns it.
func (c *sizedCache[K, V]) getOrAdd(key K, value V, bytes int) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, is := c.values.Get(key); is {
		return found.value
	}
	c.values.Add(key, sized[V]{value, bytes})
	for c.bytes += bytes; c.bytes > c.limit; {
		c.values.RemoveOldest()
	}
	return value
}
