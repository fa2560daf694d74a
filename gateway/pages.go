package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

const (
	// pagesRoom bounds all kept pages together, maxPage one of them, in bytes.
	pagesRoom = 64 << 20
	maxPage   = 4 << 20
	// pageTimeout bounds the making of an answer nobody has yet; patience how long a
	// visitor waits for a fresh one when there is a former; restTime how long events is
	// left alone after it could not be reached or did not answer.
	pageTimeout = 5 * time.Second
	patience    = 500 * time.Millisecond
	restTime    = time.Second
	// maxQuery bounds the query of a page that is kept, in bytes; one with a longer query
	// is made for its visitor alone.
	maxQuery = 1024
)

// pages answers for public dashboards from memory. Each answer was confirmed by
// events (If-None-Match, one question for all who wait) after the visitor asked for
// it, so a visitor sees a change as soon as its writer has been told that it is
// written; while events is down the last good answer goes on being served.
type pages struct {
	proxy  *proxy
	signer *passport.Signer
	kept   *lru[pageKey, *page]
	rounds *rounds[pageKey, *page]
	now    func() time.Time
	rested atomic.Pointer[time.Time] // until when events is not asked
}

// errUnmade means that events answers, but not with this page; others it may make.
var errUnmade = errors.New("gateway: events did not make the page")

// pageKey names a page: the path under which events serves it, and the query.
type pageKey struct{ path, query string }

// page is an answer of events.
type page struct {
	status int
	header http.Header
	body   []byte
	etag   string
}

// servePage answers with a dashboard's list.
func (e *edge) servePage(v *visit) {
	key, ok := keyOfPage(v)
	if !ok {
		e.refuse(v, nothingHere())
		return
	}
	get := e.pages.get
	if len(key.query) > maxQuery {
		get = e.pages.fetch
	}
	page, err := get(v.ctx, key, v.id)
	if err != nil {
		e.refuse(v, err)
		return
	}
	page.write(v, v.request)
}

// keyOfPage reads the slug or the host of a request; not ok when it can be none.
func keyOfPage(v *visit) (pageKey, bool) {
	r := v.request
	key := pageKey{query: r.URL.RawQuery}
	if v.found.pattern == ownHostPath {
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

// get answers with the page as it is now, or as it last was while events is down.
func (p *pages) get(ctx context.Context, key pageKey, id string) (*page, error) {
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
	fresh, err := p.rounds.do(waiting, key, func() (*page, error) { return p.ask(work, key, id) })
	if err == nil {
		return fresh, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if kept {
		if !errors.Is(err, errUnmade) {
			until := p.now().Add(restTime)
			p.rested.Store(&until)
		}
		return former, nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fault.Wrap(fault.Unavailable, err, "The dashboard cannot be read at the moment; try again shortly.")
	}
	return nil, err
}

// ask gets the page from events, or its word that the kept one still holds.
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

// fetch gets the page from events and keeps nothing.
func (p *pages) fetch(ctx context.Context, key pageKey, id string) (*page, error) {
	return p.request(ctx, key, id, nil)
}

// request gets the page from events; former, when there is one and it still holds.
func (p *pages) request(ctx context.Context, key pageKey, id string, former *page) (*page, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	r := &http.Request{URL: &url.URL{RawQuery: key.query}, Header: http.Header{}}
	r.URL.Path, _ = url.PathUnescape(key.path) // escaped here, so it can be undone
	r.URL.RawPath = key.path
	if former != nil && former.etag != "" {
		r.Header.Set("If-None-Match", former.etag)
	}
	answer, err := p.proxy.send(ctx, r, id, sending{
		method: http.MethodGet, service: events,
		passport: p.signer.Sign(passport.Passport{Audience: events, Surface: passport.Public}),
	})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotModified && former != nil {
		return former, nil
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxPage+1))
	if err == nil && (len(body) > maxPage || answer.StatusCode >= http.StatusInternalServerError) {
		err = errUnmade
	}
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "The dashboard cannot be read at the moment; try again shortly.")
	}
	return newPage(answer, body), nil
}

func newPage(answer *http.Response, body []byte) *page {
	out := &page{status: answer.StatusCode, header: http.Header{}, body: body}
	copyAnswerHeader(out.header, answer.Header)
	out.header.Del("Date")
	out.header.Set("Content-Length", strconv.Itoa(len(body)))
	out.etag = out.header.Get("Etag")
	if out.etag == "" && out.status == http.StatusOK {
		sum := sha256.Sum256(body)
		out.etag = `"` + hex.EncodeToString(sum[:16]) + `"`
		out.header.Set("Etag", out.etag)
	}
	return out
}

// write answers a visitor, with 304 when it has this page already (RFC 9110, 13.1.2).
func (p *page) write(w http.ResponseWriter, r *http.Request) {
	out := w.Header()
	for name, values := range p.header {
		out[name] = values
	}
	if p.status == http.StatusOK && holdsETag(r.Header["If-None-Match"], p.etag) {
		delete(out, "Content-Length")
		delete(out, "Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(p.body) // the client is gone: nobody is left to tell
	}
}

// holdsETag compares weakly, as If-None-Match is compared.
func holdsETag(lists []string, etag string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(etag, "W/") {
				return true
			}
		}
	}
	return false
}

// hostname is a Host header's name in lower case, without port and final dot.
func hostname(host string) string {
	if at := strings.LastIndexByte(host, ':'); at >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:at]
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
