package engines

import (
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// ageInterval is the precision of the expiry of keys.
const ageInterval = 200 * time.Millisecond

// Redis is a running Redis server. Its data are in memory only.
type Redis struct {
	server *miniredis.Miniredis
	addr   string
	stop   chan struct{}
	ended  chan struct{}
}

// StartRedis starts the server on addr, host:port. Port 0 selects a free port.
func StartRedis(addr string) (*Redis, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("Redis server: %w", err)
	}
	redis := &Redis{server: server, addr: server.Addr(), stop: make(chan struct{}), ended: make(chan struct{})}
	go redis.age()
	return redis, nil
}

// age expires the keys. The TIME command needs no such help: it returns the time of
// the machine.
func (r *Redis) age() {
	defer close(r.ended)
	ticker := time.NewTicker(ageInterval)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-r.stop:
			return
		case now := <-ticker.C:
			r.server.FastForward(now.Sub(last))
			last = now
		}
	}
}

// URL returns the redis:// URL of the server.
func (r *Redis) URL() string { return "redis://" + r.addr + "/0" }

// Close stops the server and discards its data. The caller calls it once.
func (r *Redis) Close() error {
	close(r.stop)
	<-r.ended
	r.server.Close()
	return nil
}
