package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// publishMany makes the events service return a dashboard for every slug. Each dashboard has a page, and other files
// below history/. Each file has size bytes, which no content coding can compress.
func publishMany(w *world, size int) {
	if kept := w.named("page*"); len(kept) > 0 {
		w.redis.Del(context.Background(), kept...)
	}
	random := rand.NewChaCha8([32]byte{})
	noise := make([]byte, size)
	random.Read(noise)
	w.services[events].handle(func(out http.ResponseWriter, r *http.Request) {
		if below, is := strings.CutPrefix(r.URL.Path, "/public/v1/dashboards/"); is {
			slug, what, _ := strings.Cut(below, "/")
			if what == "list" {
				send(out, r, "application/json", []byte("[]"))
				return
			}
			body, _ := json.Marshal(peer.Edition{ID: "edition-" + slug, Number: 1, DashboardID: slug, Access: peer.Access{Mode: peer.AccessPublic}, Files: []string{""}})
			send(out, r, "application/json", body)
			return
		}
		out.Header().Set("Content-Encoding", "br")
		send(out, r, htmlType, noise)
	})
}

// All gateways together store at most the configured number of bytes in Redis. The files that were not used for the
// longest time are evicted, and other files before the files of any dashboard's edition. Evicted files are still served
// while the events service is up.
func TestTheCopiesInRedisAreBounded(t *testing.T) {
	const dashboards, size, room = 30, 30 << 10, 1 << 20
	w := newWorld(t)
	small := func(c *Config) { c.DashboardCache = "1MiB" }
	gateways := []*door{w.gateway(t, small), w.gateway(t, small)}
	publishMany(w, size)
	brotli := map[string]string{"Accept-Encoding": codingBrotli}
	slug := func(n int) string { return fmt.Sprintf("dashboard-%d", n) }
	exists := func(key string) bool { return w.redis.Exists(t.Context(), key).Val() == 1 }
	total := func() (bytes int) {
		for _, key := range append(w.redis.Keys(t.Context(), "pages*:*").Val(), w.redis.Keys(t.Context(), "page-at:*").Val()...) {
			bytes += len(key)
			for field, value := range w.redis.HGetAll(t.Context(), key).Val() {
				bytes += len(field) + len(value)
			}
		}
		return bytes
	}
	visit := func(n int, file string) {
		t.Helper()
		wantStatus(t, gateways[n%2].get(t, "/d/"+slug(n)+"/"+file, brotli), 200)
		if bytes, counted := total(), w.redis.HGet(t.Context(), "pages-size", "all").Val(); bytes > room {
			t.Fatalf("Redis keeps %d bytes, and counts %s", bytes, counted)
		}
	}
	for n := range 12 { // the pages of 12 dashboards (80 KB each) and the other files (40 KB each) exceed the room
		eventually(t, "the page is in Redis", func() bool {
			visit(n, "")
			return exists("pages:"+slug(n)) && exists("page-at:/public/v1/dashboards/"+slug(n))
		})
		visit(n, "history/2026-01")
		eventually(t, "a decision about the other file", func() bool { visit(n, "history/2026-01"); return n >= 9 || exists("pages-asked:"+slug(n)) })
	}
	for n := range 12 {
		if !exists("pages:" + slug(n)) {
			t.Errorf("the page of dashboard %d made room for other files", n)
		}
	}
	for n := 12; n < dashboards; n++ {
		eventually(t, "the page is in Redis", func() bool { visit(n, ""); return exists("pages:" + slug(n)) })
	}
	sum := int64(0)
	for field, value := range w.redis.HGetAll(t.Context(), "pages-size").Val() {
		var bytes int64
		fmt.Sscan(value, &bytes)
		sum += map[bool]int64{true: -bytes, false: bytes}[field == "all"]
	}
	if sum != 0 {
		t.Errorf("the sum of the sizes differs by %d", sum)
	}
	if bytes := total(); bytes < room*8/10 || bytes > room {
		t.Errorf("Redis keeps %d bytes", bytes)
	}
	if exists("pages:" + slug(0)) {
		t.Error("the page that was not used for longest is kept")
	}
	for n := range dashboards {
		visit(n, "") // includes the evicted ones
	}
	w.services[events].server.Close()
	again := w.gateway(t, small)
	if g := again.get(t, "/d/"+slug(dashboards-1)+"/", brotli); g.status != 200 || g.header.Get("Age") == "" {
		t.Errorf("the newest page after a start: %d %v", g.status, g.header)
	}
}

// If Redis runs in the process of the platform, the gateway stores no copies in it.
func TestARedisInTheProcessHasNoCopies(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, func(c *Config) { c.RedisInProcess = true })
	p := newPublication(w)
	for range 3 {
		wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
		wantStatus(t, d.get(t, "/d/main/history", plainly(nil)), 200)
		p.change(nil)
	}
	if _, files := p.asked("badge.svg"); files != 0 {
		t.Errorf("a file that nobody asks for was read %d times", files)
	}
	if keys := w.redis.Keys(t.Context(), "page*").Val(); len(keys) > 0 {
		t.Errorf("Redis has %v", keys)
	}
	w.services[events].server.Close()
	wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
}
