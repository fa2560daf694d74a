package gateway

import (
	_ "embed"
	"math"
	"sync"
	"time"
)

// limitScript counts calls in Redis for all gateways.
//
//go:embed limit.lua
var limitScript string

const (
	// maxMarks bounds the marks of a log. Up to this limit a log dates each call to the
	// millisecond. Above it, calls share slots of a maxMarks-th of the window. A slot never
	// grants more calls; it only frees a place by up to one slot later.
	maxMarks = 4096
	// maxLogs is the number of users and organizations whose calls a gateway counts.
	maxLogs = 8192
)

// quota names a log of calls and the number of calls it grants in any window of time.
type quota struct {
	log    string
	limit  int
	window time.Duration
}

// slot returns the span of time within which calls share a mark.
func (q quota) slot() time.Duration {
	if q.limit <= maxMarks {
		return time.Millisecond
	}
	return (q.window/maxMarks + time.Millisecond).Truncate(time.Millisecond)
}

// memory counts the calls that this gateway grants while Redis is down. It is separate
// from the count in Redis. A caller can therefore reach the limit once in Redis, and once
// in each gateway during outages, within one window.
type memory struct {
	mu   sync.Mutex
	now  func() time.Time
	logs *lru[string, *memoryLog]
}

// memoryLog is the log of limit.lua, in Go.
type memoryLog struct {
	marks []mark
	calls int // in all marks
}

type mark struct {
	at    time.Time
	calls int
}

func newMemory(now func() time.Time) *memory {
	return &memory{now: now, logs: newLRU[string, *memoryLog](maxLogs)}
}

// take counts as many of the calls as the limit allows. It returns their number and, if
// it is lower than asked, the time until one more call can be granted.
func (m *memory) take(q quota, asked int) (granted int, retry time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	log, found := m.logs.get(q.log)
	if !found {
		log = &memoryLog{}
		m.logs.put(q.log, log, 1)
	}
	now := m.now()
	log.expire(now.Add(-q.window))
	granted = max(0, min(asked, q.limit-log.calls))
	log.add(now, granted, q.slot())
	if granted == asked {
		return granted, 0
	}
	kept := log.calls
	for _, mark := range log.marks {
		if kept -= mark.calls; kept < q.limit {
			return granted, mark.at.Add(q.window).Sub(now) + time.Millisecond
		}
	}
	return granted, q.window
}

// expire removes the marks from before since.
func (l *memoryLog) expire(since time.Time) {
	for len(l.marks) > 0 && l.marks[0].at.Before(since) {
		l.calls -= l.marks[0].calls
		l.marks = l.marks[1:]
	}
}

func (l *memoryLog) add(now time.Time, calls int, slot time.Duration) {
	if calls == 0 {
		return
	}
	l.calls += calls
	if last := len(l.marks) - 1; last >= 0 && !now.Truncate(slot).After(l.marks[last].at.Truncate(slot)) {
		l.marks[last] = mark{now, l.marks[last].calls + calls}
		return
	}
	l.marks = append(l.marks, mark{now, calls})
}

// seconds returns a wait in the form of Retry-After: whole seconds, rounded up.
func seconds(wait time.Duration) int {
	return max(1, int(math.Ceil(wait.Seconds())))
}
