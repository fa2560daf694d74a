package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	maxPage = 4 << 20 // size of one page, in bytes
	// pageTimeout bounds a request to the events service.
	pageTimeout = 5 * time.Second
	// patience is the time for which a visitor waits if there is a kept page.
	patience = 500 * time.Millisecond
	// restTime is the time for which the events service gets no question after a failure, unless it responds to an
	// earlier one. Visitors see a change within a second after the service is back.
	restTime = 500 * time.Millisecond
	// questionTime is the least time between a response and the next question for the same edition or list. Visitors who
	// come meanwhile share a question. A question costs as much as several visits.
	questionTime = 150 * time.Microsecond
	// maxURI bounds the path and query of a kept page, in bytes. A page with a longer one is
	// requested for each visitor.
	maxURI = 1024
)

// pages keeps responses of the events service in memory: the editions of dashboards, the
// files of editions, and the legacy lists. The events service confirms an edition after the
// visitor's request (If-None-Match, one request for all visitors who wait), so every
// visitor sees a change from the moment when its writer has the response. A file never
// changes within an edition, and a list never within the state that the edition names, so
// they need no confirmation. While the events service
// is down, pages serves the last good response, from memory or from Redis.
type pages struct {
	proxy  *proxy
	signer *passport.Signer
	backup *backup
	mu     sync.Mutex // of writes to kept
	kept   *lru.Cache[pageKey, *page]
	room   atomic.Int64 // the bytes that kept may still use
	runs   sharedRuns[*page]
	now    func() time.Time
	rested atomic.Pointer[time.Time] // the end of restTime
}

// pageKey names a kept page. A query of a visitor is part of a key only for a legacy list.
type pageKey struct {
	uri string // of an edition or a list: the path and query in the events service; of a file: the dashboard's id
	// file and coding name a file of a dashboard. The kept page names the edition.
	file, coding string
}

func newPages(proxy *proxy, signer *passport.Signer, backup *backup, room int64, now func() time.Time) *pages {
	p := &pages{proxy: proxy, signer: signer, backup: backup, now: now}
	p.room.Store(room)
	// NewWithEvict fails only for a size below 1.
	p.kept, _ = lru.NewWithEvict(int(room/pageHead), func(_ pageKey, old *page) { p.room.Add(old.size()) })
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
	state  string // of a list: Edition.List; empty: unknown
	// edition is set for the response to the question for an edition, and for a file.
	edition *edition
	// confirmed is the time in ns at which the events service returned or confirmed the page.
	confirmed atomic.Int64
	// answered is the time in ns of the newest response to a question for the page.
	answered atomic.Int64
	// saveAt is the time in ns from which an edition is to be saved in Redis, and savedAt the time at which it was.
	saveAt, savedAt atomic.Int64
	// sweeps is the number of sweeps since a visitor asked for the page.
	sweeps atomic.Int32
}

// question is a request to the events service for a page.
type question struct {
	key     pageKey
	run     string // the key of the shared run
	uri     string
	base    string   // of the edition or the list
	list    bool     // for a list with the query, not for an edition
	query   string   // of a list
	state   string   // of a list: Edition.List of the dashboard; empty: unknown
	coding  string   // Accept-Encoding; empty: none
	edition *edition // of a file
	stale   bool     // the events service did not confirm edition
	id      string   // X-Request-Id
}

// editionOf returns the question for the edition of a dashboard.
func editionOf(base, id string) question {
	uri := base + "/edition"
	return question{key: pageKey{uri: uri}, run: uri, uri: uri, base: base, id: id}
}

// listOf returns the question for a legacy list of a dashboard with the edition.
func listOf(base, query string, of *edition, id string) question {
	uri := base + "/list"
	if query != "" {
		uri += "?" + query
	}
	return question{key: pageKey{uri: uri}, run: uri, uri: uri, base: base, list: true, query: query, state: of.List, id: id}
}

// current reports whether a kept page needs no confirmation, as a file of the edition or a list in its state.
func (q *question) current(kept *page) bool {
	if q.list {
		return q.state != "" && kept.state == q.state
	}
	return q.edition != nil && kept.edition.ID == q.edition.ID
}

// get returns the current page, or the last one while the events service is down. stale
// reports that the events service did not confirm it.
func (p *pages) get(ctx context.Context, q question) (out *page, stale bool, err error) {
	if len(q.uri) > maxURI {
		out, err = p.request(ctx, q, nil)
		return out, false, err
	}
	former, kept := p.kept.Get(q.key)
	if kept {
		former.use()
	}
	switch {
	case kept && q.current(former):
		return former, false, nil
	case kept && p.resting() && (q.edition == nil || q.stale):
		return former, true, nil
	}
	work := context.WithoutCancel(ctx)
	result := p.runs.begin(q.run, func() { p.pause(q) }, func() (*page, error) { return p.ask(work, q) })
	late := time.NewTimer(patience)
	defer late.Stop()
	for range 2 {
		select {
		case r := <-result:
			fresh, err := resultOf[*page](r)
			if err == nil {
				return fresh, false, nil
			}
			return p.last(ctx, q, err)
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		case <-late.C:
			if out, stale, err = p.last(ctx, q, context.DeadlineExceeded); err == nil {
				return out, stale, nil
			}
			late.Reset(pageTimeout - patience) // nothing is kept
		}
	}
	return nil, false, err
}

// last returns the last good page after a failure of the events service, or the error.
func (p *pages) last(ctx context.Context, q question, failure error) (out *page, stale bool, err error) {
	out, kept := p.kept.Get(q.key)
	if !kept {
		if out = p.backup.load(ctx, q); out != nil && (q.edition == nil || q.current(out)) {
			p.keep(q.key, out, false)
		}
	}
	switch {
	case out == nil && errors.Is(failure, context.DeadlineExceeded):
		return nil, false, unreadable(failure)
	case out == nil:
		return nil, false, failure
	case q.edition == nil && !errors.Is(failure, errNoPage):
		until := p.now().Add(restTime)
		p.rested.Store(&until)
	}
	return out, true, nil
}

// resting reports whether the events service failed within restTime.
func (p *pages) resting() bool {
	until := p.rested.Load()
	return until != nil && p.now().Before(*until)
}

func unreadable(err error) error {
	return fault.Wrap(fault.Unavailable, err, "The dashboard cannot be read at the moment. Try again shortly.")
}

// pause waits until questionTime after the last response to a question for the same edition or list.
func (p *pages) pause(q question) {
	if former, kept := p.kept.Peek(q.key); kept && q.edition == nil {
		time.Sleep(min(questionTime, questionTime-time.Since(time.Unix(0, former.answered.Load()))))
	}
}

// ask returns the current page from the events service and keeps it.
func (p *pages) ask(ctx context.Context, q question) (*page, error) {
	former, _ := p.kept.Get(q.key)
	if former != nil && q.current(former) { // another run has kept it
		return former, nil
	}
	fresh, err := p.request(ctx, q, former)
	if err != nil {
		return nil, err
	}
	fresh.answered.Store(time.Now().UnixNano())
	p.rested.Store(nil)
	if fresh == former {
		fresh.confirmed.Store(p.now().UnixNano())
		return fresh, nil
	}
	p.keep(q.key, fresh, true)
	p.backup.saveOther(q, fresh)
	if q.edition == nil && !q.list && fresh.status == http.StatusNotFound {
		p.backup.forget(ctx, q.base)
	}
	return fresh, nil
}

// request returns the page from the events service, or former if that is still current.
// former may be nil.
func (p *pages) request(ctx context.Context, q question, former *page) (*page, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	u, err := url.ParseRequestURI(q.uri)
	if err != nil {
		return nil, unreadable(err)
	}
	r := &http.Request{URL: u, Header: http.Header{}}
	if former != nil && former.etag != "" {
		r.Header.Set("If-None-Match", former.etag)
	}
	if q.coding != "" {
		r.Header.Set("Accept-Encoding", q.coding)
	}
	response, err := p.proxy.send(ctx, r, q.id, outgoing{
		method: http.MethodGet, service: events,
		passport: p.signer.Sign(passport.Passport{Audience: events, Surface: passport.Public}),
	})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified && former != nil {
		switch {
		case q.edition != nil: // the file is the same in both editions
			return p.file(q, former.status, former.header, former.body), nil
		case q.list:
			return p.list(response, former.status, former.header, former.body), nil
		}
		return former, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPage+1))
	if err == nil && (len(body) > maxPage || response.StatusCode >= http.StatusInternalServerError) {
		err = errNoPage
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return p.received(q, response, bytes.Clone(body)) // ReadAll may return a slice of twice the bytes
}

// received returns the page of a response.
func (p *pages) received(q question, response *http.Response, body []byte) (out *page, err error) {
	if q.edition != nil {
		response.Header.Del("Cache-Control") // that of the visitor's response depends on the access
		return p.file(q, response.StatusCode, response.Header, body), nil
	}
	if q.list {
		return p.list(response, response.StatusCode, response.Header, body), nil
	}
	out = newPage(response, body)
	out.confirmed.Store(p.now().UnixNano())
	if out.status == http.StatusOK {
		if out.edition, err = parseEdition(body); err != nil {
			return nil, unreadable(errors.Join(errNoPage, err))
		}
	}
	return out, nil
}

// list returns the legacy list in the state that the response names.
func (p *pages) list(response *http.Response, status int, header http.Header, body []byte) *page {
	out := newPage(&http.Response{StatusCode: status, Header: header}, body)
	out.state = response.Header.Get(peer.ListHeader)
	out.confirmed.Store(p.now().UnixNano())
	return out
}

// file returns a file of an edition.
func (p *pages) file(q question, status int, header http.Header, body []byte) *page {
	out := newPage(&http.Response{StatusCode: status, Header: header}, body)
	out.header.Set("X-Content-Type-Options", "nosniff")
	out.edition = q.edition
	out.confirmed.Store(p.now().UnixNano())
	return out
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
	if p.status == http.StatusOK && len(r.Header["If-None-Match"]) > 0 && etag.Match(r.Header["If-None-Match"], p.etag) {
		out := w.Header()
		for name, values := range p.header {
			switch name {
			case "Content-Length", "Content-Type", "Content-Encoding":
			default:
				out[name] = values
			}
		}
		w.WriteHeader(http.StatusNotModified)
		return
	}
	p.writeAs(w, r, p.status)
}

// writeAs sends the page with the status.
func (p *page) writeAs(w http.ResponseWriter, r *http.Request, status int) {
	out := w.Header()
	for name, values := range p.header {
		out[name] = values
	}
	if status != p.status {
		delete(out, "Etag") // that of the page with its own status
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(p.body) // fails only if the client has left
	}
}
