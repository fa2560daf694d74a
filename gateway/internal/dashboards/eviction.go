package dashboards

import (
	"context"
	"net/http"
	"time"
)

const (
	// headSize is what a cached response needs beside its body and the texts of its header, in bytes, about.
	headSize = 1 << 10
	// sweepTime is the time between two sweeps. The sweep number idleSweeps+1 removes a response that nobody has asked for.
	sweepTime  = time.Minute
	idleSweeps = 10
)

// store stores a good response in place of the former one. It does not replace a file by that of
// an older edition, and it replaces nothing unless replace is set. A response that is not good removes the former one.
func (c *cache) store(key cacheKey, fresh *cached, replace bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if former, there := c.responses.Peek(key); there {
		if !replace || key.coding != "" && former.edition.Number > fresh.edition.Number {
			return
		}
		c.responses.Remove(key)
	}
	if fresh.Status != http.StatusOK {
		return
	}
	c.responses.Add(key, fresh)
	for room := c.room.Add(-fresh.size()); room < 0; room = c.room.Load() {
		c.responses.RemoveOldest()
	}
}

// size returns the bytes that a cached response uses, about.
func (r *cached) size() int64 {
	size := headSize + cap(r.Body)
	for name, values := range r.Header {
		size += len(name)
		for _, value := range values {
			size += len(value)
		}
	}
	return int64(size)
}

// use records that a visitor asks for the response.
func (r *cached) use() {
	if r.sweeps.Load() > 0 { // a store costs the processors more than a load
		r.sweeps.Store(0)
	}
}

// sweep removes the responses that nobody asks for any more until ctx ends.
func (c *cache) sweep(ctx context.Context) error {
	ticker := time.NewTicker(sweepTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			c.removeIdle()
		}
	}
}

// removeIdle counts one more sweep for each response, and removes those that nobody has asked for within idleSweeps. While
// the events service is down it removes none, because there may be no other copy.
func (c *cache) removeIdle() {
	if c.rested.Load() != nil {
		return
	}
	for _, key := range c.responses.Keys() {
		c.mu.Lock()
		if response, there := c.responses.Peek(key); there && response.sweeps.Add(1) > idleSweeps {
			c.responses.Remove(key)
		}
		c.mu.Unlock()
	}
}
