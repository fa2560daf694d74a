package engines

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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
func TestKeysExpireInRealTime(t *testing.T) {
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

// A script can read the time of the machine, and can use strings and lists, which the rate limit needs.
func TestAScriptReadsTheTimeAndChangesListsAndTexts(t *testing.T) {
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

// StartRedis refuses an address that is in use. After Close, the address is free.
func TestStartRedisRefusesAnAddressInUse(t *testing.T) {
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

// keepRedis starts a server that stores keys in the file. The test does not stop the server at its end, because a kill
// does not stop it either.
func keepRedis(t *testing.T, file string) (*Redis, *redis.Client) {
	t.Helper()
	return keepLogging(t, io.Discard, file)
}

// keepLogging is keepRedis with a log.
func keepLogging(t *testing.T, log io.Writer, file string) (*Redis, *redis.Client) {
	t.Helper()
	server, err := KeepRedis(slog.New(slog.NewTextHandler(log, nil)), "127.0.0.1:0", file, "kept:", "log:")
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

// copyOf copies the file as a kill at this moment would leave it.
func copyOf(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(t.TempDir(), "redis")
	if err := os.WriteFile(killed, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return killed
}

// All stored keys survive a kill with their expiry, whether clients or scripts have changed them.
func TestKeepRedisLosesNothingInAKill(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "redis")
	server, client := keepRedis(t, file)
	defer server.Close()
	script := redis.NewScript(`
		redis.call("INCR", KEYS[1])
		redis.call("RPUSH", KEYS[2], redis.call("TIME")[1], ARGV[1])
		redis.call("LSET", KEYS[2], 0, "first")
		if redis.call("LLEN", KEYS[2]) > 4 then redis.call("LPOP", KEYS[2]) end
		return redis.call("PEXPIRE", KEYS[2], 3600000)`)
	first, err := client.SetArgs(ctx, "kept:once", "mine\x00\xff", redis.SetArgs{Mode: "NX", Get: true, TTL: time.Hour}).Result()
	if first != "" || !errors.Is(err, redis.Nil) {
		t.Fatal(first, err)
	}
	for i := range 5 {
		if err := script.Run(ctx, client, []string{"kept:number", "log:calls"}, i).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"kept:soon", "kept:gone", "cache"} {
		if err := client.Set(ctx, key, "x", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(client.PExpire(ctx, "kept:soon", time.Millisecond).Err(), client.Del(ctx, "cache", "kept:gone").Err(), client.Set(ctx, "cache", "x", 0).Err()); err != nil {
		t.Fatal(err)
	}
	want := client.LRange(ctx, "log:calls", 0, -1).Val()
	again, client := keepRedis(t, copyOf(t, file))
	defer again.Close()
	if err := errors.Join(client.Get(ctx, "kept:once").Err(), client.Get(ctx, "kept:number").Err()); err != nil {
		t.Fatal(err)
	}
	if got := client.Get(ctx, "kept:once").Val(); got != "mine\x00\xff" {
		t.Errorf("the claim is %q", got)
	}
	if got := client.Get(ctx, "kept:number").Val(); got != "5" {
		t.Errorf("the number is %q", got)
	}
	if got := client.LRange(ctx, "log:calls", 0, -1).Val(); !slices.Equal(got, want) || len(got) < 4 {
		t.Errorf("the log is %q, not %q", got, want)
	}
	for _, key := range []string{"kept:once", "log:calls"} {
		if left := client.PTTL(ctx, key).Val(); left > time.Hour || left < time.Hour-time.Minute {
			t.Errorf("%s has %v left", key, left)
		}
	}
	if n := client.Exists(ctx, "kept:gone", "kept:soon", "cache").Val(); n != 0 {
		t.Errorf("%d keys exist that were deleted, have expired or are not kept", n)
	}
}

// If a key expired and was set again, it has the later value and expiry, although the file contains both.
func TestKeepRedisRestoresTheLaterExpiry(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "redis")
	server, client := keepRedis(t, file)
	defer server.Close()
	if err := client.RPush(ctx, "log:a", "1").Err(); err != nil {
		t.Fatal(err)
	}
	const life = 5 * time.Second // long enough to extend log:b in time on a busy machine
	if err := errors.Join(client.PExpire(ctx, "log:a", life).Err(), client.RPush(ctx, "log:b", "1").Err(), client.PExpire(ctx, "log:b", life).Err()); err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for client.PTTL(ctx, "log:b").Val() > life-2*ageInterval { // the server ages the keys in steps
		<-ticker.C
	}
	if err := errors.Join(client.RPush(ctx, "log:b", "2").Err(), client.PExpire(ctx, "log:b", time.Hour).Err()); err != nil {
		t.Fatal(err)
	}
	for client.Exists(ctx, "log:a").Val() > 0 {
		<-ticker.C
	}
	if err := client.RPush(ctx, "log:a", "2").Err(); err != nil {
		t.Fatal(err)
	}
	again, client := keepRedis(t, copyOf(t, file))
	defer again.Close()
	if a, b := client.LRange(ctx, "log:a", 0, -1).Val(), client.LRange(ctx, "log:b", 0, -1).Val(); !slices.Equal(a, []string{"2"}) || !slices.Equal(b, []string{"1", "2"}) {
		t.Errorf("the logs are %q and %q", a, b)
	}
	if left := client.PTTL(ctx, "log:a").Val(); left != -1 {
		t.Errorf("a list without a time to live has %v", left)
	}
}

// When the file has grown, it is replaced, also while clients write. No change is lost.
func TestKeepRedisReplacesAFileThatHasGrown(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "redis")
	server, client := keepRedis(t, file)
	defer server.Close()
	text := strings.Repeat("x", 64<<10)
	shrunk, size := false, int64(0)
	for i := 0; !shrunk; i++ {
		if err := client.Set(ctx, "kept:"+strconv.Itoa(i%7), text+strconv.Itoa(i), 0).Err(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		shrunk, size = info.Size() < size, info.Size()
		if i > 100_000 {
			t.Fatal("the file only grows")
		}
	}
	if err := client.Set(ctx, "kept:last", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	again, kept := keepRedis(t, copyOf(t, file))
	defer again.Close()
	for i := range 7 {
		key := "kept:" + strconv.Itoa(i)
		if client.Get(ctx, key).Val() != kept.Get(ctx, key).Val() {
			t.Errorf("%s differs", key)
		}
	}
	if kept.Exists(ctx, "kept:last").Val() != 1 {
		t.Error("the last key is lost")
	}
}

// A loss of power can damage the end of the file. A command that a replay could not repeat is refused.
func TestKeepRedisRestoresWhatIsBeforeTheDamage(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "redis")
	server, client := keepRedis(t, file)
	defer server.Close()
	for i := range 3 {
		if err := client.Set(ctx, "kept:"+strconv.Itoa(i), "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if client.HSet(ctx, "kept:hash", "a", "b").Err() == nil || client.Exists(ctx, "kept:hash").Val() != 0 {
		t.Error("a hash is kept")
	}
	if _, err := client.TxPipelined(ctx, func(pipe redis.Pipeliner) error { pipe.Set(ctx, "kept:3", "x", 0); return nil }); err == nil || client.Exists(ctx, "kept:3").Val() != 0 {
		t.Error("a transaction changes a kept key")
	}
	if _, err := client.TxPipelined(ctx, func(pipe redis.Pipeliner) error { pipe.HSet(ctx, "other", "a", "b"); return nil }); err != nil {
		t.Error(err)
	}
	if err := client.Set(ctx, "kept:0", "y", 0).Err(); err != nil {
		t.Errorf("after a transaction: %v", err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"a part is missing": func(content []byte) []byte { return content[:len(content)-3] },
		"zeros behind":      func(content []byte) []byte { return append(content, make([]byte, 4096)...) },
		"letters behind":    func(content []byte) []byte { return append(content, "garbage"...) },
	} {
		damaged := copyOf(t, file)
		content, _ := os.ReadFile(damaged)
		if err := os.WriteFile(damaged, damage(content), 0o600); err != nil {
			t.Fatal(err)
		}
		again, client := keepRedis(t, damaged)
		if n := client.Exists(ctx, "kept:0", "kept:1", "kept:2").Val(); n != 3 {
			t.Errorf("%s: %d of 3 keys exist", name, n)
		}
		if err := client.Set(ctx, "kept:4", "x", 0).Err(); err != nil {
			t.Error(name, err)
		}
		again.Close()
		third, client := keepRedis(t, damaged)
		if client.Exists(ctx, "kept:4").Val() != 1 {
			t.Errorf("%s: a key written behind it is lost", name)
		}
		third.Close()
	}
	if _, err := KeepRedis(slog.New(slog.DiscardHandler), "127.0.0.1:0", filepath.Join(t.TempDir(), "no", "redis"), "kept:"); err == nil {
		t.Error("a file that cannot be created is accepted")
	}
}

// A damaged file is reported at the start, and the entries before the damage are restored. If a loss of power cut off
// the last entry, this is logged as usual. If the file is complete, nothing is logged.
func TestKeepRedisReportsADamagedFile(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "redis")
	server, client := keepRedis(t, file)
	for i := range 200 {
		if err := client.Set(ctx, "kept:"+strconv.Itoa(i), strings.Repeat("x", 1000), 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	middle := func(with string) func([]byte) []byte {
		return func(content []byte) []byte { copy(content[len(content)/2:], with); return content }
	}
	for name, row := range map[string]struct {
		damage   func([]byte) []byte
		level    string
		min, max int64 // numbers of keys
	}{
		"whole":              {func(content []byte) []byte { return content }, "", 200, 200},
		"empty":              {func([]byte) []byte { return nil }, "", 0, 0},
		"cut at the end":     {func(content []byte) []byte { return content[:len(content)-3] }, "INFO", 199, 199},
		"zeros at the end":   {func(content []byte) []byte { return append(content, make([]byte, 4096)...) }, "INFO", 200, 200},
		"letters at the end": {func(content []byte) []byte { return append(content, "garbage and more garbage"...) }, "INFO WARN", 200, 200},
		"one letter":         {middle("y"), "WARN", 90, 110},
		"garbage":            {middle(strings.Repeat("\xff\x00garbage", 300)), "WARN", 90, 110},
		"zeros":              {middle(strings.Repeat("\x00", 8000)), "WARN", 90, 110},
		"another file":       {func([]byte) []byte { return []byte("# settings of something else\n") }, "INFO WARN", 0, 0},
	} {
		damaged := copyOf(t, file)
		content, _ := os.ReadFile(damaged)
		if err := os.WriteFile(damaged, row.damage(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		again, client := keepLogging(t, &log, damaged)
		if n := client.DBSize(ctx).Val(); n < row.min || n > row.max {
			t.Errorf("%s: %d keys", name, n)
		}
		again.Close()
		line, level := strings.TrimSpace(log.String()), ""
		if _, rest, found := strings.Cut(line, "level="); found {
			level, _, _ = strings.Cut(rest, " ")
		}
		if (level == "") != (row.level == "") || !strings.Contains(row.level, level) || strings.Contains(line, "\n") || level != "" && !strings.Contains(line, "file="+damaged) {
			t.Errorf("%s: %q", name, line)
		}
		log.Reset()
		third, _ := keepLogging(t, &log, damaged)
		if third.Close(); log.Len() > 0 {
			t.Errorf("%s: the second start reports it again: %s", name, log.String())
		}
	}
}

func TestKeepRedisRefusesWhatIsNoFile(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, pipe} {
		_, err := KeepRedis(slog.New(slog.DiscardHandler), "127.0.0.1:0", path, "kept:")
		if err == nil || !strings.Contains(err.Error(), path+" cannot be read") || strings.Contains(err.Error(), "\n") {
			t.Error(err)
		}
	}
}

// While the file cannot be written, each command that changes a stored key is refused, also within a script. Other
// commands are served. The server recovers without a restart, and has every change that it acknowledged.
func TestKeepRedisRecoversWhenTheFileCanBeWrittenAgain(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "redis")
	server, client := keepRedis(t, file)
	defer server.Close()
	script := redis.NewScript(`return redis.call("INCR", KEYS[1])`)
	for range 3 {
		if err := script.Run(ctx, client, []string{"kept:number"}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	blocked := file + ".new" // prevents that the file is replaced
	if err := os.Mkdir(blocked, 0o700); err != nil {
		t.Fatal(err)
	}
	server.journal.mu.Lock()
	err := server.journal.file.Close() // prevents that entries are appended
	server.journal.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := script.Run(ctx, client, []string{"kept:number"}).Err(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a script changes a kept key: %v", err)
		}
		if err := client.Set(ctx, "kept:text", "x", 0).Err(); err == nil {
			t.Fatal("a command changes a kept key")
		}
		if err := client.Set(ctx, "cache", "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for err = errors.New("none"); err != nil; {
		if err = script.Run(ctx, client, []string{"kept:number"}).Err(); err != nil && time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	again, client := keepRedis(t, copyOf(t, file))
	defer again.Close()
	if got := client.Get(ctx, "kept:number").Val(); got != "4" {
		t.Errorf("the number is %q, not 4", got)
	}
}
