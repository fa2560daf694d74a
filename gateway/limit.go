package gateway

import (
	_ "embed"
	"math"
	"sync"
	"time"
)

// limitScript is the one place where calls are counted; see there.
//
//go:embed limit.lua
var limitScript string

const (
	// maxMarks bounds a log. Under a limit of at most so many calls each call is dated
	// to the millisecond; above it, calls share slots of a maxMarks-th of the window,
	// which never lets more through, only frees a place that much later.
	maxMarks = 4096
	// maxLogs is of how many users and organizations a gateway remembers the calls.
	maxLogs = 8192
)

// quota is what calls are counted against: a log, and how many calls it may hold in
// any window of time.
type quota struct {
	log    string
	limit  int
	window time.Duration
}

// slot is how close in time calls must be to share a mark.
func (q quota) slot() time.Duration {
	if q.limit <= maxMarks {
		return time.Millisecond
	}
	return (q.window/maxMarks + time.Millisecond).Truncate(time.Millisecond)
}

// memory counts in this process what this gateway let through. While Redis counts
// for all gateways it only takes note; in an outage it decides, so that for one
// gateway the limit stays exact from before the outage until after it. Several let
// through more together while it lasts, and no more once they have told Redis.
type memory struct {
	mu   sync.Mutex
	now  func() time.Time
	logs *lru[string, *memoryLog]
}

// memoryLog is limit.lua's log in Go.
type memoryLog struct {
	marks []mark
	calls int // in all marks
	alone int // of them, let through without Redis, which has not been told
	// outage is the number of the outage whose calls Redis has been told of; 0 when
	// there may be calls it has not.
	outage int64
}

type mark struct {
	at    time.Time
	calls int
	alone int
}

func newMemory(now func() time.Time) *memory {
	return &memory{now: now, logs: newLRU[string, *memoryLog](maxLogs)}
}

// note takes down calls that Redis let through.
func (m *memory) note(q quota, calls int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if log := m.log(q); calls > 0 {
		log.add(mark{at: m.now(), calls: calls}, q.slot())
	}
}

// take lets as many of the calls through as the limit allows, and says when one
// more could be.
func (m *memory) take(q quota, asked int) (granted int, retry time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	log := m.log(q)
	granted = max(0, min(asked, q.limit-log.calls))
	if granted > 0 {
		log.add(mark{m.now(), granted, granted}, q.slot())
		log.outage = 0
	}
	if granted == asked {
		return granted, 0
	}
	retry = q.window
	kept := log.calls
	for _, mark := range log.marks {
		if kept -= mark.calls; kept < q.limit {
			return granted, mark.at.Add(q.window).Sub(m.now()) + time.Millisecond
		}
	}
	return granted, retry
}

// untold is how many calls Redis may not know of because of the outage, 0 when it
// has been told or there was none; and how many it cannot know of. Those are handed
// out once, to be told or to be given back.
func (m *memory) untold(q quota, outage int64) (known, alone int) {
	if outage == 0 {
		return 0, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	log := m.log(q)
	if log.outage < outage {
		known = log.calls
	}
	if log.alone > 0 {
		alone, log.alone = log.alone, 0
		for i := range log.marks {
			log.marks[i].alone = 0
		}
	}
	return known, alone
}

// giveBack takes calls back that Redis could not be told of.
func (m *memory) giveBack(q quota, alone int) {
	if alone == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if log := m.log(q); len(log.marks) > 0 {
		log.alone += alone
		log.marks[len(log.marks)-1].alone += alone
	}
}

// told remembers that Redis knows the calls up to the outage's end.
func (m *memory) told(q quota, outage int64) {
	if outage == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log(q).outage = outage
}

// log is the quota's, without what has left the window.
func (m *memory) log(q quota) *memoryLog {
	log, found := m.logs.get(q.log)
	if !found {
		log = &memoryLog{}
		m.logs.put(q.log, log, 1)
	}
	since := m.now().Add(-q.window)
	for len(log.marks) > 0 && log.marks[0].at.Before(since) {
		log.calls -= log.marks[0].calls
		log.alone -= log.marks[0].alone
		log.marks = log.marks[1:]
	}
	return log
}

func (l *memoryLog) add(m mark, slot time.Duration) {
	l.calls += m.calls
	l.alone += m.alone
	if last := len(l.marks) - 1; last >= 0 && !m.at.Truncate(slot).After(l.marks[last].at.Truncate(slot)) {
		l.marks[last] = mark{m.at, l.marks[last].calls + m.calls, l.marks[last].alone + m.alone}
		return
	}
	l.marks = append(l.marks, m)
}

// seconds is a wait as Retry-After has it: whole seconds, rounded up.
func seconds(wait time.Duration) int {
	return max(1, int(math.Ceil(wait.Seconds())))
}
