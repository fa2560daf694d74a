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
)

const (
	pagesRoom = 64 << 20 // of all kept pages together, in bytes
	maxPage   = 4 << 20  // of one page, in bytes
	// pageTimeout bounds a request to the events service.
	pageTimeout = 5 * time.Second
	// patience is the time for which a visitor waits if there is a kept page.
	patience = 500 * time.Millisecond
	// restTime is the time for which the events service gets no request after a failure.
	restTime = time.Second
	// maxQuery bounds the query of a kept page, in bytes. A page with a longer query is
	// requested for each visitor.
	maxQuery = 1024
)

// pages serves the lists of public dashboards from memory. The events service confirms
// each response after the visitor's request (If-None-Match, one request for all visitors
// who wait), so every visitor sees a change from the moment when its writer has the
// response. While the events service is down, pages serves the last good response.
type pages struct {
	proxy  *proxy
	signer *passport.Signer
	kept   *lru[pageKey, *page]
	runs   *sharedRuns[pageKey, *page]
	now    func() time.Time
	rested atomic.Pointer[time.Time] // the end of restTime
}

// errNoPage means that the events service responds, but not with this page. Other pages
// may still be available.
var errNoPage = errors.New("gateway: the events service did not return the page")

// pageKey is the path of a page in the events service, and the query.
type pageKey struct{ path, query string }

// page is a response of the events service, or of the gateway itself.
type page struct {
	status int
	header http.Header
	body   []byte
	etag   string
}

// servePage serves the list of a dashboard.
func (e *edge) servePage(v *visit) {
	key, ok := keyOfPage(v)
	if !ok {
		e.refuse(v, unknownPath())
		return
	}
	page, err := e.pages.get(v.ctx, key, v.id)
	if err != nil {
		e.refuse(v, err)
		return
	}
	page.write(v, v.request)
}

// keyOfPage returns the key for the slug or the host of a request. It reports false if no
// dashboard can have that slug or host.
func keyOfPage(v *visit) (pageKey, bool) {
	r := v.request
	key := pageKey{query: r.URL.RawQuery}
	if v.found.route.Path == ownHostPath {
		host := hostname(r.Host)
		key.path = "/public/v1/hosts/" + url.PathEscape(host) + "/list"
		return key, host != "" && len(host) <= 253
	}
	segment, _, _ := strings.Cut(strings.TrimPrefix(escapedPath(r.URL), "/d/"), "/")
	slug, err := url.PathUnescape(segment)
	key.path = "/public/v1/dashboards/" + slug + "/list"
	return key, err == nil && isSlug(slug)
}

// isSlug reports whether a dashboard may have the slug: 3 to 63 of [a-z0-9-].
func isSlug(slug string) bool {
	return len(slug) >= 3 && len(slug) <= 63 && strings.Trim(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// get returns the current page, or the last one while the events service is down.
func (p *pages) get(ctx context.Context, key pageKey, id string) (*page, error) {
	if len(key.query) > maxQuery {
		return p.request(ctx, key, id, nil)
	}
	former, kept := p.kept.get(key)
	if kept {
		if until := p.rested.Load(); until != nil && p.now().Before(*until) {
			return former, nil
		}
	}
	wait := pageTimeout
	if kept {
		wait = patience
	}
	work := context.WithoutCancel(ctx)
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	fresh, err := p.runs.do(waiting, key, func() (*page, error) { return p.ask(work, key, id) })
	if err == nil {
		return fresh, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if kept {
		if !errors.Is(err, errNoPage) {
			until := p.now().Add(restTime)
			p.rested.Store(&until)
		}
		return former, nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = unreadable(err)
	}
	return nil, err
}

func unreadable(err error) error {
	return fault.Wrap(fault.Unavailable, err, "The dashboard cannot be read at the moment. Try again shortly.")
}

// ask returns the current page from the events service and keeps it.
func (p *pages) ask(ctx context.Context, key pageKey, id string) (*page, error) {
	former, _ := p.kept.get(key)
	fresh, err := p.request(ctx, key, id, former)
	switch {
	case err != nil || fresh == former:
		return fresh, err
	case fresh.status == http.StatusOK:
		p.kept.put(key, fresh, len(fresh.body)+1024)
	default:
		p.kept.drop(key)
	}
	return fresh, nil
}

// request returns the page from the events service, or former if that is still current.
// former may be nil.
func (p *pages) request(ctx context.Context, key pageKey, id string, former *page) (*page, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	r := &http.Request{URL: &url.URL{RawQuery: key.query}, Header: http.Header{}}
	r.URL.Path, _ = url.PathUnescape(key.path) // escaped here, so it can be undone
	r.URL.RawPath = key.path
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
	if at := strings.LastIndexByte(host, ':'); at >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:at]
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
