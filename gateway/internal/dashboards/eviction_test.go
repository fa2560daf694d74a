package dashboards

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/coding"
	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

const htmlType = "text/html; charset=utf-8"

// storeFile stores a file of the edition in the cache.
func (c *cache) storeFile(t testing.TB, of *edition, name, coding string, header http.Header, body []byte) {
	t.Helper()
	q := newFileQuestion(of, false, name, coding, "id")
	response, err := q.received(message.NewResponse(http.StatusOK, header, body), "")
	if err != nil {
		t.Fatal(err)
	}
	c.store(q.key, response, true)
}

// The memory that the cache counts for its responses is the memory that they use.
func TestTheMemoryOfTheCacheIsBounded(t *testing.T) {
	const room = 8 << 20
	c := newCache(nil, nil, room, time.Now, Patience)
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	dashboard := func(n int) string { return fmt.Sprintf("dashboard-%d", n) }
	before := heap()
	const files = 3000
	for n := range files {
		body := make([]byte, 1+n%8000)
		of := &edition{Edition: peer.Edition{ID: fmt.Sprintf("edition-%d", n), Number: 1, DashboardID: dashboard(n), Files: []string{"", "feed.rss"}}}
		header := http.Header{
			"Etag": {etag.Of(body)}, "Content-Type": {strings.Clone(htmlType)}, "Content-Encoding": {"br"}, "Vary": {"Accept-Encoding"},
			"Content-Security-Policy": {strings.Repeat("default-src 'none'; style-src 'sha256-x'", 5)},
		}
		c.storeFile(t, of, "", coding.Brotli, header, body)
		if size := c.responses.Size(); size > room {
			t.Fatalf("%d bytes are counted", size)
		}
	}
	counted, used := int64(c.responses.Size()), heap()-before
	if used > counted*11/10 || used < counted*7/10 {
		t.Errorf("the files need %d bytes and count as %d", used, counted)
	}
	key := func(n int) cacheKey { return cacheKey{uri: dashboard(n), coding: coding.Brotli} }
	cached := c.responses.Keys()
	if !slices.Contains(cached, key(files-1)) || slices.Contains(cached, key(0)) {
		t.Error("not the oldest file was removed")
	}
	runtime.KeepAlive(c)
}

// While the events service is down, the memory of the gateway may contain the only copy of a file, so idle files stay.
func TestIdleFilesAreRemovedUnlessTheEventsServiceIsDown(t *testing.T) {
	c := newCache(nil, nil, 1<<20, time.Now, Patience)
	of := &edition{Edition: peer.Edition{ID: "e1", Number: 1, DashboardID: "d1"}}
	for _, name := range []string{"", "history"} {
		c.storeFile(t, of, name, coding.Plain, http.Header{}, []byte("text"))
	}
	sweep := func() {
		for range idleSweeps {
			c.removeIdle()
			if out, _, err := c.file(t.Context(), of, false, "", coding.Plain, "id"); err != nil || string(out.Body) != "text" {
				t.Fatal(out, err)
			}
		}
	}
	sweep()
	down := time.Now()
	c.rested.Store(&down)
	sweep()
	if n := len(c.responses.Keys()); n != 2 {
		t.Fatalf("%d files are cached during an outage", n)
	}
	c.rested.Store(nil)
	sweep()
	if cached := c.responses.Keys(); !slices.Equal(cached, []cacheKey{{uri: "d1", coding: coding.Plain}}) {
		t.Errorf("the files %v are cached", cached)
	}
}
