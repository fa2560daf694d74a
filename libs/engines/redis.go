package engines

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// ageInterval is the precision of the expiry of keys.
const ageInterval = 200 * time.Millisecond

// Redis is a running Redis server. Its data are in memory only.
type Redis struct {
	server     *miniredis.Miniredis
	addr       string
	stopExpiry func()
}

// StartRedis starts the server on addr, host:port. Port 0 selects a free port.
func StartRedis(addr string) (*Redis, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("Redis server: %w", err)
	}
	// Only keys need this: the TIME command returns the time of the machine.
	last := time.Now()
	stopExpiry := every(ageInterval, func(_ context.Context, now time.Time) {
		server.FastForward(now.Sub(last))
		last = now
	})
	return &Redis{server, server.Addr(), stopExpiry}, nil
}

// URL returns the redis:// URL of the server.
func (r *Redis) URL() string { return "redis://" + r.addr + "/0" }

// Close stops the server and discards its data. The caller calls it once.
func (r *Redis) Close() error {
	r.stopExpiry()
	r.server.Close()
	return nil
}
