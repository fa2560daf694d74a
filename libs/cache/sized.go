// Package cache has what hashicorp/golang-lru does not have: a cache that is bounded by the size of its values, and one whose
// values are shared for a time. A cache that is bounded by its number of values is a [lru.Cache].
//
// [lru.Cache]: https://pkg.go.dev/github.com/hashicorp/golang-lru/v2#Cache
package cache

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Sized caches values by key. If their total size exceeds the limit, it evicts the least recently used values, but not the
// value that was added last. The caller chooses the unit of the sizes. Sized is safe for concurrent use.
type Sized[K comparable, V any] struct {
	mu          sync.Mutex
	values      *simplelru.LRU[K, sized[V]]
	size, limit int
}

type sized[V any] struct {
	value V
	size  int
}

// NewSized returns an empty cache. removed, if set, is called for each value that the cache evicts, replaces or removes. It must
// not call the cache.
func NewSized[K comparable, V any](limit int, removed func(K, V)) *Sized[K, V] {
	c := &Sized[K, V]{limit: limit}
	c.values, _ = simplelru.NewLRU(math.MaxInt, func(key K, old sized[V]) { // only a size of 0 is an error
		c.size -= old.size
		if removed != nil {
			removed(key, old.value)
		}
	})
	return c
}

// Get returns the value with the key, and whether it is cached.
func (c *Sized[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, is := c.values.Get(key)
	return found.value, is
}

// Peek does the same as Get, but does not count as a use of the value.
func (c *Sized[K, V]) Peek(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, is := c.values.Peek(key)
	return found.value, is
}

// Add adds a value, or replaces the value with the key.
func (c *Sized[K, V]) Add(key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values.Remove(key) // a replacement by simplelru itself does not call its function
	c.addLocked(key, value, size)
}

// GetOrAdd returns the cached value with the key. If there is none, it adds value and returns it.
func (c *Sized[K, V]) GetOrAdd(key K, value V, size int) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, is := c.values.Get(key); is {
		return found.value
	}
	c.addLocked(key, value, size)
	return value
}

func (c *Sized[K, V]) addLocked(key K, value V, size int) {
	c.values.Add(key, sized[V]{value, size})
	for c.size += size; c.size > c.limit && c.values.Len() > 1; {
		c.values.RemoveOldest()
	}
}

// Remove removes the value with the key, if it is cached.
func (c *Sized[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values.Remove(key)
}

// Keys returns the keys of all values. The least recently used value comes first.
func (c *Sized[K, V]) Keys() []K {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values.Keys()
}

// Size returns the total size of all values.
func (c *Sized[K, V]) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}
