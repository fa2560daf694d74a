// Package quota limits how often visitors, members and operators cause messages or try secrets. It counts in Redis, for all
// processes that use the same Redis together. The IPv6 addresses of one /64 network count as one IP address (network).
//
// Decisions:
//
//   - A window begins with the first use of a key, and all uses in it expire together. This is simpler than the sliding
//     log with which the gateway counts API calls, and exact enough to protect mailboxes.
//   - While Redis is down, each process counts in memory. A key can then reach its limit once in Redis and once in each
//     process. The memory is bounded. If the memory is full, new keys are refused, so that an outage of Redis removes no limit.
package quota

import (
	"context"
	_ "embed"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/redis/go-redis/v9"
)

// Limit is the number of uses of a key that a window allows.
type Limit struct {
	Uses   int
	Window time.Duration
}

// maxKeys bounds the keys that a process counts while Redis is down.
const maxKeys = 10_000

//go:embed take.lua
var takeScript string

//go:embed give.lua
var giveScript string

// Counter counts the uses of keys.
type Counter struct {
	client redis.UniversalClient
	script *redis.Script
	give   *redis.Script
	log    *slog.Logger
	now    func() time.Time
	down   atomic.Bool

	mu     sync.Mutex
	memory map[string]window // counts while Redis is down
}

type window struct {
	uses int
	ends time.Time
}

// New returns a Counter. Redis may be down when New is called.
func New(settings boot.Redis, log *slog.Logger, now func() time.Time) (*Counter, error) {
	client, _, err := settings.Connect(0) // instead of a retry, the counter uses its memory
	if err != nil {
		return nil, err
	}
	return &Counter{
		client: client, script: redis.NewScript(takeScript), give: redis.NewScript(giveScript), log: log, now: now, memory: map[string]window{},
	}, nil
}

// Close closes the connections to Redis.
func (c *Counter) Close() error { return c.client.Close() }

// Take counts one use of the key and returns 0. If the limit is reached, Take counts nothing and returns the time until
// the key can be used again. The key must not contain a mail address or phone number in clear text.
func (c *Counter) Take(ctx context.Context, key string, limit Limit) (wait time.Duration) {
	return c.use(ctx, key, limit, 1)
}

// use counts 1 or 0 uses of the key, as Take does. With 0 uses it only returns the time until the key can be used again.
func (c *Counter) use(ctx context.Context, key string, limit Limit, uses int) (wait time.Duration) {
	left, err := c.script.Run(ctx, c.client, []string{"quota:" + key}, limit.Uses, limit.Window.Milliseconds(), uses).Int64()
	if err != nil {
		if ctx.Err() == nil && !c.down.Swap(true) {
			c.log.ErrorContext(ctx, "Redis cannot be reached: memory counts instead")
		}
		return c.useInMemory(key, limit, uses)
	}
	if c.down.Swap(false) {
		c.log.InfoContext(ctx, "Redis is back")
	}
	return time.Duration(left) * time.Millisecond
}

// giveBack removes one use of the key from the count. A use is counted either in Redis or in memory. giveBack
// removes the use from the memory if Redis is down, and otherwise from Redis. If Redis has gone down or come back after the
// use, the use stays counted in the other place, and giveBack removes another use of the key, if there is one.
func (c *Counter) giveBack(ctx context.Context, key string) {
	if c.give.Run(ctx, c.client, []string{"quota:" + key}).Err() == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if used, known := c.memory[key]; known && used.uses > 0 {
		used.uses--
		c.memory[key] = used
	}
}

func (c *Counter) useInMemory(key string, limit Limit, uses int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	used, known := c.memory[key]
	if known && !used.ends.After(now) {
		used, known = window{}, false
	}
	if used.uses >= limit.Uses {
		return used.ends.Sub(now)
	}
	if uses == 0 {
		return 0
	}
	if !known {
		if len(c.memory) >= maxKeys {
			c.removeEnded(now)
		}
		if len(c.memory) >= maxKeys {
			return limit.Window
		}
		used.ends = now.Add(limit.Window)
	}
	used.uses++
	c.memory[key] = used
	return 0
}

func (c *Counter) removeEnded(now time.Time) {
	for key, used := range c.memory {
		if !used.ends.After(now) {
			delete(c.memory, key)
		}
	}
}
