package gateway

import (
	_ "embed"
	"math"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// limitScript counts calls in Redis for all gateways.
//
//go:embed limit.lua
var limitScript string

const (
	// maxMarks bounds the marks of a log. Up to this limit a log dates each call to the
	// millisecond. Above it, calls share slots of a maxMarks-th of the window. With slots, no
	// more calls are granted; a call only leaves the window by up to one slot later.
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
	logs *lru.Cache[string, []mark] // the logs of limit.lua
}

type mark struct {
	at    time.Time
	calls int
}

func newMemory(now func() time.Time) *memory {
	logs, _ := lru.New[string, []mark](maxLogs) // fails only for a size below 1
	return &memory{now: now, logs: logs}
}

// take counts as many of the calls as the limit allows. It returns their number and, if
// it is lower than asked, the time until one more call can be granted.
func (m *memory) take(q quota, asked int) (granted int, retry time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	marks, _ := m.logs.Get(q.log)
	marks = slices.DeleteFunc(marks, func(old mark) bool { return old.at.Before(now.Add(-q.window)) })
	calls := 0
	for _, mark := range marks {
		calls += mark.calls
	}
	granted = max(0, min(asked, q.limit-calls))
	calls += granted
	switch last := len(marks) - 1; {
	case granted == 0:
	case last >= 0 && !now.Truncate(q.slot()).After(marks[last].at.Truncate(q.slot())):
		marks[last] = mark{now, marks[last].calls + granted}
	default:
		marks = append(marks, mark{now, granted})
	}
	m.logs.Add(q.log, marks)
	if granted == asked {
		return granted, 0
	}
	for _, mark := range marks {
		if calls -= mark.calls; calls < q.limit {
			return granted, mark.at.Add(q.window).Sub(now) + time.Millisecond
		}
	}
	return granted, q.window
}

// seconds returns a wait in the form of Retry-After: whole seconds, rounded up.
func seconds(wait time.Duration) int {
	return max(1, int(math.Ceil(wait.Seconds())))
}
