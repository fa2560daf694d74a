package gateway

import (
	"container/list"
	"sync"
)

// lru keeps the most recently used values, up to a total weight. It is safe for
// concurrent use.
type lru[K comparable, V any] struct {
	mu     sync.Mutex
	room   int
	items  map[K]*list.Element
	recent *list.List // of lruItem, the most recently used first
}

type lruItem[K comparable, V any] struct {
	key    K
	value  V
	weight int
}

func newLRU[K comparable, V any](room int) *lru[K, V] {
	return &lru[K, V]{room: room, items: map[K]*list.Element{}, recent: list.New()}
}

func (l *lru[K, V]) get(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	element, found := l.items[key]
	if !found {
		var none V
		return none, false
	}
	l.recent.MoveToFront(element)
	return element.Value.(lruItem[K, V]).value, true
}

// put stores the value and removes the least recently used values that do not fit any
// more.
func (l *lru[K, V]) put(key K, value V, weight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(key)
	l.room -= weight
	l.items[key] = l.recent.PushFront(lruItem[K, V]{key, value, weight})
	for l.room < 0 {
		l.remove(l.recent.Back().Value.(lruItem[K, V]).key)
	}
}

func (l *lru[K, V]) drop(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(key)
}

func (l *lru[K, V]) remove(key K) {
	if element, found := l.items[key]; found {
		l.room += element.Value.(lruItem[K, V]).weight
		l.recent.Remove(element)
		delete(l.items, key)
	}
}
