package quota_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/quota"
)

// open returns a counter that uses the Redis at the URL. Its clock can be set ahead of the real time.
func open(t *testing.T, url string) (counter *quota.Counter, ahead *atomic.Int64, log *bytes.Buffer) {
	t.Helper()
	ahead, log = &atomic.Int64{}, &bytes.Buffer{}
	counter, err := quota.New(boot.Redis{RedisURL: url}, slog.New(slog.NewTextHandler(log, nil)),
		func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { counter.Close() })
	return counter, ahead, log
}

func startRedis(t *testing.T, addr string) *engines.Redis {
	t.Helper()
	server, err := engines.StartRedis(addr)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func TestCountersOnOneRedisShareALimit(t *testing.T) {
	server := startRedis(t, "127.0.0.1:0")
	defer server.Close()
	one, _, _ := open(t, apitest.Patient(server.URL()))
	two, _, _ := open(t, apitest.Patient(server.URL()))
	limit := quota.Limit{Uses: 30, Window: time.Hour}
	var granted atomic.Int64
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			counter := []*quota.Counter{one, two}[i%2]
			switch wait := counter.Take(t.Context(), "ip:192.0.2.1", limit); {
			case wait == 0:
				granted.Add(1)
			case wait > time.Hour || wait < 59*time.Minute:
				t.Errorf("a wait of %v", wait)
			}
		})
	}
	group.Wait()
	if granted.Load() != 30 {
		t.Errorf("%d uses of 30 were granted", granted.Load())
	}
	if wait := two.Take(t.Context(), "ip:192.0.2.2", limit); wait != 0 {
		t.Errorf("another key waits %v", wait)
	}
}

func TestARefusedUseDoesNotProlongTheWindow(t *testing.T) {
	server := startRedis(t, "127.0.0.1:0")
	defer server.Close()
	counter, _, _ := open(t, apitest.Patient(server.URL()))
	limit := quota.Limit{Uses: 1, Window: 5 * time.Second}
	if counter.Take(t.Context(), "k", limit) != 0 || counter.Take(t.Context(), "k", limit) == 0 {
		t.Fatal("the limit is not 1")
	}
	apitest.Eventually(t, "the window ends while it is tried", func() bool { return counter.Take(t.Context(), "k", limit) == 0 })
}

func TestMemoryCountsWhileRedisIsDown(t *testing.T) {
	address := apitest.FreeAddress(t)
	counter, ahead, log := open(t, "redis://"+address)
	limit := quota.Limit{Uses: 2, Window: time.Hour}
	for i, want := range []bool{true, true, false, false} {
		if got := counter.Take(t.Context(), "k", limit) == 0; got != want {
			t.Errorf("use %d: granted %t", i, got)
		}
	}
	ahead.Store(int64(time.Hour))
	if wait := counter.Take(t.Context(), "k", limit); wait != 0 {
		t.Errorf("in the next window: %v", wait)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 {
		t.Errorf("the outage has %d lines: %s", lines, log)
	}

	// When the memory is full, the counter refuses new keys and keeps those that it counts.
	for i := range 10_000 {
		counter.Take(t.Context(), fmt.Sprint(i), limit)
	}
	if counter.Take(t.Context(), "new", limit) == 0 {
		t.Error("the memory has no bound")
	}
	ahead.Store(int64(2 * time.Hour))
	if wait := counter.Take(t.Context(), "new", limit); wait != 0 {
		t.Errorf("windows that have ended are not forgotten: %v", wait)
	}

	server := startRedis(t, address)
	defer server.Close()
	apitest.Eventually(t, "Redis counts again", func() bool {
		counter.Take(t.Context(), "again", quota.Limit{Uses: 1000, Window: time.Hour})
		return strings.Contains(log.String(), "Redis is back")
	})
}

func TestMessagesAndCodesAreLimitedByVisitorAndByAddress(t *testing.T) {
	server := startRedis(t, "127.0.0.1:0")
	defer server.Close()
	counter, _, _ := open(t, apitest.Patient(server.URL()))
	with := func(take func(context.Context, string) time.Duration) func(string) time.Duration {
		return func(key string) time.Duration { return take(t.Context(), key) }
	}
	four, six := []string{"192.0.2.1", "::ffff:192.0.2.1"}, []string{"2001:db8::1", "2001:db8::ffff:2"}
	for _, test := range []struct {
		name   string
		take   func(string) time.Duration
		limit  int
		window time.Duration
		same   []string // addresses that are counted together
		other  string
	}{
		{"mail from IPv4", with(counter.MailFrom), 30, time.Hour, four, "192.0.2.2"},
		{"mail from IPv6", with(counter.MailFrom), 30, time.Hour, six, "2001:db8:0:1::1"},
		{"texts from IPv4", with(counter.TextFrom), 10, 4 * time.Hour, four, "192.0.2.2"},
		{"texts from IPv6", with(counter.TextFrom), 10, 4 * time.Hour, six, "2001:db8:0:1::1"},
		{"mail to", with(counter.MailTo), 3, time.Hour, []string{"ann@example.com", "Ann@Example.com"}, "bob@example.com"},
		{"texts to", with(counter.TextTo), 3, time.Hour, []string{"+4915112345678"}, "+4915112345679"},
		{"codes from", with(counter.Code), 30, 24 * time.Hour, four, "192.0.2.2"},
	} {
		for i := range test.limit {
			if wait := test.take(test.same[i%len(test.same)]); wait != 0 {
				t.Errorf("%s: use %d waits %v", test.name, i, wait)
			}
		}
		for _, key := range test.same {
			if wait := test.take(key); wait <= test.window-time.Minute || wait > test.window {
				t.Errorf("%s: after the limit %s waits %v", test.name, key, wait)
			}
		}
		if wait := test.take(test.other); wait != 0 {
			t.Errorf("%s: %s waits %v", test.name, test.other, wait)
		}
	}
}

func TestOnlyWrongPasswordsCount(t *testing.T) {
	server := startRedis(t, "127.0.0.1:0")
	defer server.Close()
	inRedis, _, _ := open(t, apitest.Patient(server.URL()))
	inMemory, _, _ := open(t, "redis://"+apitest.FreeAddress(t))
	for name, counter := range map[string]*quota.Counter{"redis": inRedis, "memory": inMemory} {
		counter.TryWasRight(t.Context(), "192.0.2.1", "d") // there is no Try to remove
		for i := range 10 {
			if wait := counter.Try(t.Context(), "192.0.2.1", "d"); wait != 0 {
				t.Fatalf("%s: right try %d waits %v", name, i, wait)
			}
			counter.TryWasRight(t.Context(), "192.0.2.1", "d")
			if wait := counter.Try(t.Context(), "192.0.2.1", "d"); wait != 0 {
				t.Fatalf("%s: wrong try %d waits %v", name, i, wait)
			}
		}
		if counter.Try(t.Context(), "192.0.2.1", "d") == 0 {
			t.Errorf("%s: ten wrong passwords are no limit", name)
		}
		if counter.Try(t.Context(), "192.0.2.1", "other") != 0 || counter.Try(t.Context(), "192.0.2.2", "d") != 0 {
			t.Errorf("%s: the limit concerns another dashboard or address", name)
		}
	}
}

// A failure to sign in counts for the address, for the name, and for both together. A refused try counts nowhere.
func TestFailuresToSignInCountForNameAndAddress(t *testing.T) {
	server := startRedis(t, "127.0.0.1:0")
	defer server.Close()
	inRedis, _, _ := open(t, apitest.Patient(server.URL()))
	inMemory, _, _ := open(t, "redis://"+apitest.FreeAddress(t))
	for where, counter := range map[string]*quota.Counter{"redis": inRedis, "memory": inMemory} {
		allowed := func(ip, name string) bool {
			t.Helper()
			wait := counter.SignInWait(t.Context(), ip, name)
			if got := counter.SignIn(t.Context(), ip, name); (got == 0) != (wait == 0) {
				t.Errorf("%s: %s from %s waits %v, and SignInWait returned %v", where, name, ip, got, wait)
			}
			return wait == 0
		}
		fail := func(n int, ip, name string) {
			t.Helper()
			for i := range n {
				if !allowed(ip, name) {
					t.Fatalf("%s: failure %d of %s from %s is refused", where, i, name, ip)
				}
			}
		}
		for range 20 {
			fail(1, "192.0.2.1", "ann")
			counter.SignInWasRight(t.Context(), "192.0.2.1", "ann")
		}
		fail(10, "192.0.2.1", "ann")
		if allowed("192.0.2.1", "Ann") || allowed("::ffff:192.0.2.1", "ann") {
			t.Errorf("%s: an eleventh failure of the name from the address", where)
		}
		fail(20, "192.0.2.1", "")
		if allowed("192.0.2.1", "bob") || allowed("192.0.2.1", "") {
			t.Errorf("%s: a failure 31 from the address", where)
		}
		for i := range 9 {
			fail(10, fmt.Sprint("198.51.100.", i), "ann")
		}
		if allowed("198.51.100.99", "ann") {
			t.Errorf("%s: a failure 101 of the name", where)
		}
		fail(10, "198.51.100.99", "bob")
		for range 10 {
			if counter.KnownBrowserWait(t.Context(), "b", "ann") != 0 || counter.KnownBrowser(t.Context(), "b", "ann") != 0 {
				t.Errorf("%s: a known browser is refused", where)
			}
		}
		if counter.KnownBrowserWait(t.Context(), "b", "ann") == 0 || counter.KnownBrowser(t.Context(), "b", "bob") != 0 {
			t.Errorf("%s: the limit of a known browser is not 10 of one user", where)
		}
		counter.KnownBrowserWasRight(t.Context(), "b", "ann")
		if counter.KnownBrowser(t.Context(), "b", "ann") != 0 {
			t.Errorf("%s: a right try stays counted", where)
		}
	}
}

// A URL gets 10 test messages of an organization in an hour, and an organization sends 60.
func TestTestMessagesAreLimitedByURLAndOrganization(t *testing.T) {
	server := startRedis(t, "127.0.0.1:0")
	defer server.Close()
	counter, _, _ := open(t, apitest.Patient(server.URL()))
	sent := func(organization, hash string, tries int) (sent int) {
		for range tries {
			if counter.EndpointTest(t.Context(), organization, hash) == 0 {
				sent++
			}
		}
		return sent
	}
	total := 0
	for n := range 8 {
		total += sent("acme", fmt.Sprint(n), 15)
	}
	if total != 60 {
		t.Errorf("%d tests of the organization", total)
	}
	if first, again := sent("umbrella", "0", 15), sent("umbrella", "1", 1); first != 10 || again != 1 {
		t.Errorf("%d tests of another organization to the same URL, then %d to another", first, again)
	}
}
