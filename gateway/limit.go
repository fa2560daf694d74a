package gateway

import (
	_ "embed"
	"math"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// limitScript compares the entry of a credential and counts calls in Redis for all gateways.
//
//go:embed limit.lua
var limitScript string

const (
	// maxMarks bounds the marks of a log. A mark counts the calls of one moment. Up to a limit of maxMarks calls, each
	// millisecond can have a mark. For a higher limit, the window is divided into maxMarks slots, and calls in the same
	// slot share a mark. A mark has the time of its newest call, so older calls in a slot leave the window up to one
	// slot too late. The limit is never exceeded.
	maxMarks = 4096
	// maxLogs bounds the users and organizations whose calls a gateway counts in memory.
	maxLogs = 8192
)

// quota names a log of calls and the number of calls that any window of time may contain.
type quota struct {
	log    string
	limit  int
	window time.Duration
}

// slot returns the span of time in which calls share a mark.
func (q quota) slot() time.Duration {
	if q.limit <= maxMarks {
		return time.Millisecond
	}
	return (q.window/maxMarks + time.Millisecond).Truncate(time.Millisecond)
}

// memory counts the calls that this gateway grants while Redis is down. It does not add its counts to those in Redis. So
// within one window a caller can reach the limit once in Redis and, during outages, once in each gateway.
type memory struct {
	mu   sync.Mutex
	now  func() time.Time
	logs *lru.Cache[string, []mark] // by quota.log
}

type mark struct {
	at    time.Time
	calls int
}

func newMemory(now func() time.Time) *memory {
	logs, _ := lru.New[string, []mark](maxLogs) // fails only for a size below 1
	return &memory{now: now, logs: logs}
}

// take counts as many of the asked calls as the limit allows, and returns their number in granted. If granted is less than
// asked, retry is the time until one more call can be granted.
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

// seconds converts a wait to the value of Retry-After: whole seconds, rounded up.
func seconds(wait time.Duration) int {
	return max(1, int(math.Ceil(wait.Seconds())))
}
