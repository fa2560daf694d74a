package engines

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// ageInterval is the precision of the expiry of keys.
const ageInterval = 200 * time.Millisecond

// Redis is a running Redis server.
type Redis struct {
	server     *miniredis.Miniredis
	addr       string
	journal    *journal // nil: the data are in memory only
	stopExpiry func()
}

// StartRedis starts a server on addr, host:port, whose data are in memory only. Port 0 selects a free port.
func StartRedis(addr string) (*Redis, error) { return openRedis(addr, nil) }

// KeepRedis is StartRedis for a server that keeps the keys with the prefixes in the file, which it creates. The keys must
// be texts or lists. If the file is damaged, KeepRedis logs that, and the server has the keys before the damage.
func KeepRedis(log *slog.Logger, addr, file string, prefixes ...string) (*Redis, error) {
	return openRedis(addr, &journal{log: log, path: file, prefixes: prefixes})
}

func openRedis(addr string, journal *journal) (*Redis, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("Redis server: %w", err)
	}
	// Only keys need this: the TIME command returns the time of the machine.
	last := time.Now()
	age := func(_ context.Context, now time.Time) {
		server.FastForward(now.Sub(last))
		last = now
	}
	if journal != nil {
		if err := journal.open(server); err != nil {
			server.Close()
			return nil, fmt.Errorf("Redis server: %w", err)
		}
		age = journal.age
	}
	return &Redis{server, server.Addr(), journal, every(ageInterval, age)}, nil
}

// URL returns the redis:// URL of the server.
func (r *Redis) URL() string { return "redis://" + r.addr + "/0" }

// Close stops the server. It discards the data that are in memory only. The caller calls it once.
func (r *Redis) Close() error {
	r.stopExpiry()
	r.server.Close()
	if r.journal == nil {
		return nil
	}
	return r.journal.close()
}
