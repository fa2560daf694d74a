package dashboards

import (
	"context"
	"net/http"
	"time"
)

const (
	// headSize is the approximate memory of a cached response in bytes, without its body and the texts of its header.
	headSize = 1 << 10
	// sweepTime is the time between two sweeps. A response is removed after idleSweeps sweeps in which nobody has
	// requested it.
	sweepTime  = time.Minute
	idleSweeps = 10
)

// store stores a response with status 200. It replaces an existing response only if replace is true, and it does not
// replace a file by a file of an older edition. Under the same conditions, a response with another status removes the
// existing response and is not stored.
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
	c.responses.Add(key, fresh, fresh.size())
}

// size returns the approximate memory of a cached response, in bytes.
func (r *cached) size() int {
	size := headSize + cap(r.Body)
	for name, values := range r.Header {
		size += len(name)
		for _, value := range values {
			size += len(value)
		}
	}
	return size
}

func (r *cached) use() {
	if r.sweeps.Load() > 0 { // a load is cheaper than a store if several processors use the value
		r.sweeps.Store(0)
	}
}

// sweep runs until ctx ends. It removes responses that nobody requests any more.
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

// removeIdle counts one more sweep for each response, and removes each response that nobody has requested for
// idleSweeps sweeps. While the events service is down, it removes nothing, because there may be no other copy.
func (c *cache) removeIdle() {
	if c.rested.Load() != nil || c.late.Load() > 0 {
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
