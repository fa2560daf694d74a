package wire

import (
	"slices"
	"sync"
	"time"
)

// pool contains idle connections. It closes connections that exceed its limits or were idle for too long.
type pool struct {
	Options
	mu       sync.Mutex
	conns    []*conn        // ordered by idle time, the longest first
	hosts    map[string]int // number of connections per host
	sweeping bool
}

// take returns the connection to host that was used last, because the server is least likely to have closed it. It
// returns nil if there is none, or if this connection was idle for too long and sweep has not closed it yet.
func (p *pool) take(host string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts[host] == 0 {
		return nil
	}
	at := len(p.conns) - 1
	for p.conns[at].host != host {
		at--
	}
	if time.Since(p.conns[at].since) >= p.Idle {
		return nil
	}
	return p.removeLocked(at)
}

// keep adds an idle connection to the pool. If a limit is exceeded, it closes the connection that is idle the longest: of the
// same host for PerHost, of all hosts for Total.
func (p *pool) keep(c *conn) {
	c.since = time.Now()
	p.mu.Lock()
	p.conns = append(p.conns, c)
	p.hosts[c.host]++
	var old *conn
	switch {
	case p.hosts[c.host] > p.PerHost:
		old = p.removeLocked(slices.IndexFunc(p.conns, func(kept *conn) bool { return kept.host == c.host }))
	case len(p.conns) > p.Total:
		old = p.removeLocked(0)
	}
	if !p.sweeping {
		p.sweeping = true
		time.AfterFunc(p.Idle, p.sweep)
	}
	p.mu.Unlock()
	if old != nil {
		old.close()
	}
}

// sweep closes the connections that were idle for too long. While the pool has connections, sweep schedules its next
// run.
func (p *pool) sweep() {
	var old []*conn
	p.mu.Lock()
	for len(p.conns) > 0 && time.Since(p.conns[0].since) >= p.Idle {
		old = append(old, p.removeLocked(0))
	}
	if p.sweeping = len(p.conns) > 0; p.sweeping {
		time.AfterFunc(p.Idle-time.Since(p.conns[0].since), p.sweep)
	}
	p.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

func (p *pool) removeLocked(at int) *conn {
	c := p.conns[at]
	p.conns = slices.Delete(p.conns, at, at+1)
	if p.hosts[c.host]--; p.hosts[c.host] == 0 {
		delete(p.hosts, c.host)
	}
	return c
}
