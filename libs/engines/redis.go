package engines

import (
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// clockInterval is how exact times to live are.
const clockInterval = 200 * time.Millisecond

// Redis is a running Redis server; it keeps its data in memory.
type Redis struct {
	server *miniredis.Miniredis
	addr   string
	stop   chan struct{}
	ended  chan struct{}
}

// StartRedis starts the server on addr, host:port with port 0 for a free one.
func StartRedis(addr string) (*Redis, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("Redis server: %w", err)
	}
	redis := &Redis{server: server, addr: server.Addr(), stop: make(chan struct{}), ended: make(chan struct{})}
	go redis.age()
	return redis, nil
}

// age lets time pass for the keys. The TIME command needs no help: it answers from
// the machine's clock.
func (r *Redis) age() {
	defer close(r.ended)
	ticker := time.NewTicker(clockInterval)
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

// URL is the server's address in the form of a Redis client's setting.
func (r *Redis) URL() string { return "redis://" + r.addr + "/0" }

// Close ends the server and forgets its data. It is called once.
func (r *Redis) Close() error {
	close(r.stop)
	<-r.ended
	r.server.Close()
	return nil
}
