package engines

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func startRedis(t *testing.T) (*Redis, *redis.Client) {
	t.Helper()
	server, err := StartRedis("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return server, client
}

// Keys expire in real time, also those that a script writes.
func TestRedis_timeToLive(t *testing.T) {
	server, client := startRedis(t)
	defer server.Close()
	ctx := t.Context()
	began := time.Now()
	if err := client.Set(ctx, "soon", "1", 400*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Eval(ctx, `redis.call("RPUSH", KEYS[1], "x"); return redis.call("PEXPIRE", KEYS[1], 400)`, []string{"list"}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Set(ctx, "later", "1", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for client.Exists(ctx, "soon", "list").Val() > 0 {
		if time.Since(began) > 30*time.Second {
			t.Fatal("the keys do not expire")
		}
		<-ticker.C
	}
	if lived := time.Since(began); lived < 400*time.Millisecond-ageInterval {
		t.Errorf("the keys expired after %v", lived)
	}
	if left := client.TTL(ctx, "later").Val(); left > time.Hour-200*time.Millisecond || left < time.Hour-time.Minute {
		t.Errorf("the other key has %v left", left)
	}
}

// A script can read the time of the machine and use the kinds of keys that a rate limit needs.
func TestRedis_script(t *testing.T) {
	server, client := startRedis(t)
	defer server.Close()
	before := time.Now()
	got, err := client.Eval(t.Context(), `
		local time = redis.call("TIME")
		local now = time[1] * 1000 + math.floor(time[2] / 1000)
		redis.call("ZADD", KEYS[1], now, "a")
		redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now - 1000)
		redis.call("RPUSH", KEYS[2], now)
		redis.call("PEXPIRE", KEYS[2], 1000)
		return {now, redis.call("ZCARD", KEYS[1]), redis.call("LINDEX", KEYS[2], 0), redis.call("PTTL", KEYS[2])}`,
		[]string{"zset", "list"}).Slice()
	if err != nil {
		t.Fatal(err)
	}
	now := time.UnixMilli(got[0].(int64))
	if now.Before(before.Truncate(time.Millisecond)) || now.After(time.Now()) {
		t.Errorf("the TIME command in a script returns %v", now)
	}
	if got[1] != int64(1) || got[3].(int64) < 700 || got[3].(int64) > 1000 {
		t.Errorf("the script returns %v", got)
	}
}

// StartRedis refuses an address in use. Close frees the address.
func TestRedis_address(t *testing.T) {
	first, _ := startRedis(t)
	addr := strings.TrimSuffix(strings.TrimPrefix(first.URL(), "redis://"), "/0")
	if second, err := StartRedis(addr); err == nil {
		second.Close()
		t.Error("two servers listen on one address")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := StartRedis(addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
