package wire

import (
	"container/list"
	"sync"
	"time"
)

// pool keeps idle connections. It closes a connection when there are too many, or after the idle time.
type pool struct {
	perHost, total int
	idle           time.Duration

	mu       sync.Mutex
	hosts    map[string][]*idleConn // the longest idle first
	order    list.List              // all connections, the longest idle first
	sweeping bool
}

// idleConn is a connection in the pool.
type idleConn struct {
	*conn
	since time.Time
	place *list.Element
}

func newPool(perHost, total int, idle time.Duration) *pool {
	return &pool{perHost: perHost, total: total, idle: idle, hosts: make(map[string][]*idleConn)}
}

// take returns the host's last used connection, or nil. The server is least likely to have closed that one.
func (p *pool) take(host string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.hosts[host]
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	all[len(all)-1] = nil
	p.setLocked(host, all[:len(all)-1])
	p.order.Remove(last.place)
	return last.conn
}

// keep adds a connection to the pool.
func (p *pool) keep(c *conn) {
	kept := &idleConn{conn: c, since: time.Now()}
	p.mu.Lock()
	kept.place = p.order.PushBack(kept)
	p.hosts[c.host] = append(p.hosts[c.host], kept)
	var old *idleConn
	switch {
	case len(p.hosts[c.host]) > p.perHost:
		old = p.hosts[c.host][0]
	case p.order.Len() > p.total:
		old = p.order.Front().Value.(*idleConn)
	}
	if old != nil {
		p.dropLocked(old)
	}
	if !p.sweeping && p.order.Len() > 0 {
		p.sweeping = true
		time.AfterFunc(p.idle, p.sweep)
	}
	p.mu.Unlock()
	if old != nil {
		old.close()
	}
}

// sweep closes the connections that were idle for too long. It runs again while the pool has connections.
func (p *pool) sweep() {
	now := time.Now()
	var old []*idleConn
	p.mu.Lock()
	for p.order.Len() > 0 {
		first := p.order.Front().Value.(*idleConn)
		if rest := first.since.Add(p.idle).Sub(now); rest > 0 {
			time.AfterFunc(rest, p.sweep)
			break
		}
		p.dropLocked(first)
		old = append(old, first)
	}
	p.sweeping = p.order.Len() > 0
	p.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

// dropLocked removes the connection, which is the longest idle of its host.
func (p *pool) dropLocked(c *idleConn) {
	all := p.hosts[c.host]
	all[0] = nil
	p.setLocked(c.host, all[1:])
	p.order.Remove(c.place)
}

func (p *pool) setLocked(host string, all []*idleConn) {
	if len(all) == 0 {
		delete(p.hosts, host)
		return
	}
	p.hosts[host] = all
}
