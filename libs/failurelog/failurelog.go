// Package failurelog logs outages. While another service is down, the same failure may repeat for thousands of records
// several times a second. The log gets one line when the failures begin, at most one line each minute while they
// continue, and one line when they end.
package failurelog

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	reminder = time.Minute // minimum time between two lines about failures of the same outage
	// quiet is the minimum time between the last line about a cause and the first line about its next outage.
	quiet = 10 * time.Second
)

// Cause identifies what fails. The log stores every Cause in memory, so a process must use only a few.
type Cause struct {
	Message string // text of the log lines about failures
	Of      string // name of the part that fails, for example a service, a database or a folder; may be empty
}

// Log logs outages. It is safe for concurrent use.
type Log struct {
	log  *slog.Logger
	open atomic.Int64 // number of causes that are failing now

	mu    sync.Mutex
	known map[Cause]*state
}

type state struct {
	open     bool
	shown    bool // a line about this outage was logged
	failures int  // failures since the last line about the end of an outage
	began    time.Time
	last     time.Time // time of the last line
}

// New returns a Log that writes to log.
func New(log *slog.Logger) *Log { return &Log{log: log, known: make(map[Cause]*state)} }

// Failed counts a failure. In an outage it logs the first failure that comes at least quiet after the last line about the
// cause, and then at most one failure per reminder. The attributes describe the failure.
func (l *Log) Failed(ctx context.Context, cause Cause, err error, attributes ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	s := l.known[cause]
	if s == nil {
		s = &state{}
		l.known[cause] = s
	}
	if !s.open {
		s.open, s.shown, s.began = true, false, now
		l.open.Add(1)
	}
	s.failures++
	wait := quiet
	if s.shown {
		wait = reminder
	}
	if !s.last.IsZero() && now.Sub(s.last) < wait {
		return
	}
	s.shown, s.last = true, now
	line := append(cause.attributes(), "error", err, "failures", s.failures, "lasts", now.Sub(s.began).Round(time.Second).String())
	l.log.WarnContext(ctx, cause.Message, append(line, attributes...)...)
}

// Over reports a success. If the success ends an outage that was logged, Over logs a line.
func (l *Log) Over(ctx context.Context, cause Cause) {
	if l.open.Load() == 0 { // the usual case
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.known[cause]
	if s == nil || !s.open {
		return
	}
	s.open = false
	l.open.Add(-1)
	if !s.shown {
		return
	}
	now := time.Now()
	line := append(cause.attributes(), "ended", cause.Message, "failures", s.failures, "lasted", now.Sub(s.began).Round(time.Second).String())
	s.failures, s.last = 0, now
	l.log.InfoContext(ctx, "An outage is over.", line...)
}

func (c Cause) attributes() []any {
	if c.Of == "" {
		return nil
	}
	return []any{"of", c.Of}
}
