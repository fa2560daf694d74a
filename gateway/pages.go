package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	pagesRoom = 64 << 20 // of all kept pages together, in bytes
	maxPage   = 4 << 20  // of one page, in bytes
	pageHead  = 1 << 10  // of a kept page without its body, in bytes, about
	// pageTimeout bounds a request to the events service.
	pageTimeout = 5 * time.Second
	// patience is the time for which a visitor waits if there is a kept page.
	patience = 500 * time.Millisecond
	// restTime is the time for which the events service gets no request after a failure.
	restTime = time.Second
	// maxURI bounds the path and query of a kept page, in bytes. A page with a longer one is
	// requested for each visitor.
	maxURI = 1024
)

// pages serves the lists of public dashboards from memory. The events service confirms
// each response after the visitor's request (If-None-Match, one request for all visitors
// who wait), so every visitor sees a change from the moment when its writer has the
// response. While the events service is down, pages serves the last good response.
type pages struct {
	proxy  *proxy
	signer *passport.Signer
	kept   *lru.Cache[string, *page] // by the path and query of the events service
	room   atomic.Int64              // the bytes of pagesRoom that kept does not use
	runs   sharedRuns[*page]
	now    func() time.Time
	rested atomic.Pointer[time.Time] // the end of restTime
}

func newPages(proxy *proxy, signer *passport.Signer, now func() time.Time) *pages {
	p := &pages{proxy: proxy, signer: signer, now: now}
	p.room.Store(pagesRoom)
	// NewWithEvict fails only for a size below 1.
	p.kept, _ = lru.NewWithEvict(pagesRoom/pageHead, func(_ string, old *page) { p.room.Add(old.size()) })
	return p
}

// errNoPage means that the events service responds, but not with this page. Other pages
// may still be available.
var errNoPage = errors.New("gateway: the events service did not return the page")

// page is a response of the events service, or of the gateway itself.
type page struct {
	status int
	header http.Header
	body   []byte
	etag   string
}

// servePage serves the list of a dashboard.
func (e *edge) servePage(v *visit) {
	uri, ok := pageURI(v)
	if !ok {
		e.refuse(v, unknownPath())
		return
	}
	page, err := e.pages.get(v.ctx, uri, v.id)
	if err != nil {
		e.refuse(v, err)
		return
	}
	page.write(v, v.request)
}

// pageURI returns the path and query in the events service for the slug or the host of a
// request. It reports false if no dashboard can have that slug or host.
func pageURI(v *visit) (uri string, ok bool) {
	r := v.request
	if v.found.route.Path == ownHostPath {
		host := hostname(r.Host)
		uri, ok = "/public/v1/hosts/"+url.PathEscape(host)+"/list", len(host) <= 253
	} else {
		segment, _, _ := strings.Cut(strings.TrimPrefix(escapedPath(r.URL), "/d/"), "/")
		slug, err := url.PathUnescape(segment)
		uri, ok = "/public/v1/dashboards/"+slug+"/list", err == nil && isSlug(slug)
	}
	if r.URL.RawQuery != "" {
		uri += "?" + r.URL.RawQuery
	}
	return uri, ok
}

// isSlug reports whether a dashboard may have the slug: 3 to 63 of [a-z0-9-].
func isSlug(slug string) bool {
	return len(slug) >= 3 && len(slug) <= 63 && strings.Trim(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// get returns the current page, or the last one while the events service is down.
func (p *pages) get(ctx context.Context, uri, id string) (*page, error) {
	if len(uri) > maxURI {
		return p.request(ctx, uri, id, nil)
	}
	former, kept := p.kept.Get(uri)
	wait := pageTimeout
	if kept {
		if until := p.rested.Load(); until != nil && p.now().Before(*until) {
			return former, nil
		}
		wait = patience
	}
	work := context.WithoutCancel(ctx)
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	fresh, err := p.runs.do(waiting, uri, func() (*page, error) { return p.ask(work, uri, id) })
	switch {
	case err == nil:
		return fresh, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case !kept && errors.Is(err, context.DeadlineExceeded):
		return nil, unreadable(err)
	case !kept:
		return nil, err
	case !errors.Is(err, errNoPage):
		until := p.now().Add(restTime)
		p.rested.Store(&until)
	}
	return former, nil
}

func unreadable(err error) error {
	return fault.Wrap(fault.Unavailable, err, "The dashboard cannot be read at the moment. Try again shortly.")
}

// ask returns the current page from the events service and keeps it.
func (p *pages) ask(ctx context.Context, uri, id string) (*page, error) {
	former, _ := p.kept.Get(uri)
	fresh, err := p.request(ctx, uri, id, former)
	if err != nil || fresh == former {
		return fresh, err
	}
	p.kept.Remove(uri)
	if fresh.status == http.StatusOK {
		p.kept.Add(uri, fresh)
		for room := p.room.Add(-fresh.size()); room < 0; room = p.room.Load() {
			p.kept.RemoveOldest()
		}
	}
	return fresh, nil
}

// size returns the bytes that a kept page uses.
func (p *page) size() int64 { return int64(len(p.body) + pageHead) }

// request returns the page from the events service, or former if that is still current.
// former may be nil.
func (p *pages) request(ctx context.Context, uri, id string, former *page) (*page, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil, unreadable(err)
	}
	r := &http.Request{URL: u, Header: http.Header{}}
	if former != nil && former.etag != "" {
		r.Header.Set("If-None-Match", former.etag)
	}
	response, err := p.proxy.send(ctx, r, id, outgoing{
		method: http.MethodGet, service: events,
		passport: p.signer.Sign(passport.Passport{Audience: events, Surface: passport.Public}),
	})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified && former != nil {
		return former, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPage+1))
	if err == nil && (len(body) > maxPage || response.StatusCode >= http.StatusInternalServerError) {
		err = errNoPage
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return newPage(response, body), nil
}

func newPage(response *http.Response, body []byte) *page {
	out := &page{status: response.StatusCode, header: http.Header{}, body: body}
	copyResponseHeader(out.header, response.Header)
	out.header.Del("Date")
	out.header.Set("Content-Length", strconv.Itoa(len(body)))
	out.etag = out.header.Get("Etag")
	if out.etag == "" && out.status == http.StatusOK {
		out.etag = etag.Of(body)
		out.header.Set("Etag", out.etag)
	}
	return out
}

// write sends the page, or 304 if the client has it already.
func (p *page) write(w http.ResponseWriter, r *http.Request) {
	out := w.Header()
	for name, values := range p.header {
		out[name] = values
	}
	if p.status == http.StatusOK && etag.Match(r.Header["If-None-Match"], p.etag) {
		delete(out, "Content-Length")
		delete(out, "Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(p.body) // fails only if the client has left
	}
}

// hostname returns the name in a Host header in lower case, without the port and the final
// dot.
func hostname(host string) string {
	return strings.ToLower(strings.TrimSuffix((&url.URL{Host: host}).Hostname(), "."))
}
