package engines

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// ageInterval is the time between two steps in which keys age. So keys expire too late by at most ageInterval.
const ageInterval = 200 * time.Millisecond

// Redis is a running Redis server.
type Redis struct {
	server     *miniredis.Miniredis
	addr       string
	journal    *journal // nil: all data are in memory only
	stopExpiry func()
}

// StartRedis starts a server on addr (host:port) that keeps all data in memory. Port 0 selects a free port.
func StartRedis(addr string) (*Redis, error) { return openRedis(addr, nil) }

// KeepRedis starts a server like StartRedis. It also stores the keys with the prefixes in the file, which it creates if
// missing. These keys must be strings or lists. If the file is damaged, KeepRedis logs the damage and restores what the
// file contains before the damage.
func KeepRedis(log *slog.Logger, addr, file string, prefixes ...string) (*Redis, error) {
	return openRedis(addr, &journal{log: log, path: file, prefixes: prefixes})
}

func openRedis(addr string, journal *journal) (*Redis, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("Redis server: %w", err)
	}
	// Only the expiry of keys needs last. The command TIME returns the time of the machine.
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

// Close stops the server. Data that are not in a file are lost. The caller must not call Close twice.
func (r *Redis) Close() error {
	r.stopExpiry()
	r.server.Close()
	if r.journal == nil {
		return nil
	}
	return r.journal.close()
}
