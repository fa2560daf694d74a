package gateway

import (
	"context"
	"net/http"
	"time"
)

const (
	// pageHead is what a kept page needs beside its body and the texts of its header, in bytes, about.
	pageHead = 1 << 10
	// sweepTime is the time between two sweeps. A page that nobody has asked for is removed by the sweep number idleSweeps+1.
	sweepTime  = time.Minute
	idleSweeps = 10
)

// keep keeps a good page, and forgets the former one. It does not replace a file by that of
// an older edition, and it replaces nothing unless replace is set.
func (p *pages) keep(key pageKey, fresh *page, replace bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if former, there := p.kept.Peek(key); there {
		if !replace || key.coding != "" && former.edition.Number > fresh.edition.Number {
			return
		}
		p.kept.Remove(key)
	}
	if fresh.status != http.StatusOK {
		return
	}
	p.kept.Add(key, fresh)
	for room := p.room.Add(-fresh.size()); room < 0; room = p.room.Load() {
		p.kept.RemoveOldest()
	}
}

// size returns the bytes that a kept page uses, about.
func (p *page) size() int64 {
	size := pageHead + cap(p.body)
	for name, values := range p.header {
		size += len(name)
		for _, value := range values {
			size += len(value)
		}
	}
	return int64(size)
}

// use records that a visitor asks for the page.
func (p *page) use() {
	if p.sweeps.Load() > 0 { // a store costs the processors more than a load
		p.sweeps.Store(0)
	}
}

// sweep removes the pages that nobody asks for any more until ctx ends.
func (p *pages) sweep(ctx context.Context) error {
	ticker := time.NewTicker(sweepTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			p.removeIdle()
		}
	}
}

// removeIdle counts one more sweep for each page, and removes those that nobody has asked for within idleSweeps. While
// the events service is down it removes none, because there may be no other copy.
func (p *pages) removeIdle() {
	if p.rested.Load() != nil {
		return
	}
	for _, key := range p.kept.Keys() {
		p.mu.Lock()
		if one, there := p.kept.Peek(key); there && one.sweeps.Add(1) > idleSweeps {
			p.kept.Remove(key)
		}
		p.mu.Unlock()
	}
}
