package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// publication is a dashboard of the events service in a world. Its addresses are /d/main and the host status.acme.test.
type publication struct {
	mu      sync.Mutex
	edition peer.Edition
	media   map[string]string // media types of the files by name
	// Numbers of questions so far: for an edition, and for files by their names.
	editions int
	files    map[string]int
	uris     []string
	padding  int // number of bytes at the end of each file
	enter    func(http.ResponseWriter, *http.Request)
}

// The content codings and the limits of package dashboards.
const (
	codingBrotli = "br"
	codingGzip   = "gzip"
	codingPlain  = "identity"
	maxURI       = 1024
	othersRoom   = 2 << 20
	questionTime = 150 * time.Microsecond
	checkTime    = 10 * time.Second
)

const (
	htmlType = "text/html; charset=utf-8"
	policy   = "default-src 'none'; style-src 'sha256-x'"
)

// newPublication makes the events service of a world serve a new dashboard.
func newPublication(w *world) *publication {
	// Redis may outlive a test and contain a newer edition of another test.
	if kept := w.named("page*"); len(kept) > 0 {
		w.redis.Del(context.Background(), kept...)
	}
	p := &publication{
		edition: peer.Edition{
			ID: "edition-1", Number: 1, DashboardID: "dashboard-1", Access: peer.Access{Mode: peer.AccessPublic},
			Files: []string{"", "api/v2/summary.json", "badge.svg"},
		},
		media: map[string]string{
			"": htmlType, "events/e1": htmlType, "components/c1": htmlType, "history": htmlType, "history/2026-01": htmlType, "subscribe": htmlType, "subscribe/sent": htmlType, "embed": htmlType,
			"embed.js": "text/javascript; charset=utf-8", "feed.rss": "application/rss+xml", "feed.atom": "application/atom+xml",
			"feed.json": "application/feed+json", "components/c1/feed.rss": "application/rss+xml", "maintenance.ics": "text/calendar",
			"badge.svg": "image/svg+xml", "components/c1/badge.svg": "image/svg+xml", "robots.txt": "text/plain; charset=utf-8",
			"api/v2/summary.json": "application/json", "api/v2/incidents/unresolved.json": "application/json",
			peer.EnterFile: htmlType, peer.EnterBelowFile: htmlType, peer.EnterFileAt(2): htmlType, peer.EnterFileAt(3): htmlType, peer.EnterWrongFile: htmlType, peer.EnterLateFile: htmlType, peer.MissingFile: htmlType,
		},
		files: map[string]int{},
	}
	w.services[events].handle(func(out http.ResponseWriter, r *http.Request) {
		if of, err := w.signer.Verify(r.Header.Get(passport.Header), events); err != nil || of.Surface != passport.Public {
			http.Error(out, "wrong passport", http.StatusTeapot)
			return
		}
		p.serve(out, r)
	})
	return p
}

// change changes the edition and publishes it as a new edition.
func (p *publication) change(change func(*peer.Edition)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.edition.Number++
	p.edition.ID = fmt.Sprint("edition-", p.edition.Number)
	if change != nil {
		change(&p.edition)
	}
}

// setMedia sets the content type of a file. An empty type removes the file.
func (p *publication) setMedia(name, media string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.media[name] = media
}

func (p *publication) serve(out http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uris = append(p.uris, r.RequestURI)
	at, known := strings.CutPrefix(r.URL.Path, "/public/v1/dashboards/main/")
	if !known {
		at, known = strings.CutPrefix(r.URL.Path, "/public/v1/hosts/status.acme.test/")
	}
	name, isFile := strings.CutPrefix(r.URL.Path, "/public/v1/editions/"+p.edition.ID+"/files/")
	switch {
	case known && at == "edition":
		p.editions++
		body, _ := json.Marshal(p.edition)
		send(out, r, "application/json", body)
	case known && at == "list":
		out.Header().Set("Vary", "Accept")
		send(out, r, "application/json", []byte("list "+r.URL.RequestURI()))
	case known && at == "enter" && r.Method == http.MethodPost && p.enter != nil:
		p.enter(out, r)
	case isFile && p.media[name] != "":
		p.files[name]++
		coding := r.Header.Get("Accept-Encoding")
		if coding != codingPlain {
			out.Header().Set("Content-Encoding", coding)
		}
		out.Header().Set("Vary", "Accept-Encoding")
		if p.media[name] == htmlType {
			out.Header().Set("Content-Security-Policy", policy)
		}
		send(out, r, p.media[name], []byte(p.body(name, coding)))
	default:
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(http.StatusNotFound)
		io.WriteString(out, `{"error":"no dashboard"}`)
	}
}

// body returns the content of a file of the current edition in a content coding.
func (p *publication) body(name, coding string) string {
	plain := name + " of " + p.edition.ID + " in full" + strings.Repeat(".", p.padding)
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case codingBrotli:
		w = brotli.NewWriterLevel(&out, brotli.BestSpeed)
	case codingGzip:
		w = gzip.NewWriter(&out)
	default:
		return plain
	}
	io.WriteString(w, plain)
	w.Close()
	return out.String()
}

func send(out http.ResponseWriter, r *http.Request, media string, body []byte) {
	out.Header().Set("Etag", etag.Of(body))
	out.Header().Set("Cache-Control", "no-cache")
	if etag.Match(r.Header["If-None-Match"], etag.Of(body)) {
		out.WriteHeader(http.StatusNotModified)
		return
	}
	out.Header().Set("Content-Type", media)
	out.Write(body)
}

// asked returns the numbers of questions for the edition and for the file with the name.
func (p *publication) asked(name string) (editions, files int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.editions, p.files[name]
}

// wantHeaders checks headers. An empty value means that the header must be missing.
func wantHeaders(t testing.TB, what string, g got, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if g.header.Get(name) != value {
			t.Errorf("%s: %s %q, want %q", what, name, g.header.Get(name), value)
		}
	}
}
