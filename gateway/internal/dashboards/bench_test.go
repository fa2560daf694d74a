package dashboards

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/coding"
	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// BenchmarkFile reports the time and the allocations for serving a cached file, without the confirmation of the
// edition.
func BenchmarkFile(b *testing.B) {
	c := newCache(nil, nil, 64<<20, time.Now, Patience)
	body := []byte(strings.Repeat("x", 24<<10))
	of := &edition{Edition: peer.Edition{ID: "e1", Number: 1, DashboardID: "d1"}}
	header := http.Header{"Etag": {etag.Of(body)}, "Content-Type": {htmlType}, "Content-Length": {strconv.Itoa(len(body))}}
	c.storeFile(b, of, "", coding.Brotli, header, body)
	b.ReportAllocs()
	for b.Loop() {
		coding := coding.For([]string{"gzip, deflate, br"})
		if out, stale, err := c.file(b.Context(), of, false, "", coding, "id"); out == nil || stale || err != nil {
			b.Fatal(err)
		}
	}
}
