package gateway

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// look is a visit to a path of a dashboard.
type look struct {
	*visit
	address
	file    *dashboardFile
	edition *edition
	// editionPage is the response that has the edition. stale reports that the events service did not confirm it.
	editionPage *page
	stale       bool
}

// The values of headers.
var (
	publicCache  = []string{"public, max-age=0, s-maxage=10, stale-while-revalidate=60, stale-if-error=86400"}
	privateCache = []string{"private, no-store"}
	everyOrigin  = []string{"*"}
	byCoding     = []string{"Accept-Encoding"}
	byAccept     = []string{"Accept"}
)

// serveDashboard serves a path of a dashboard.
func (e *edge) serveDashboard(v *visit, file *dashboardFile) {
	at, ok := addressOf(v)
	l := &look{visit: v, address: at, file: file}
	if !ok {
		e.refuseLook(l, unknownPath())
		return
	}
	if location := file.redirect(v.request.URL); location != "" {
		if e.findEdition(l) {
			l.setCache()
			v.Header().Set("Location", location)
			v.Header().Set("Content-Length", "0")
			v.WriteHeader(http.StatusPermanentRedirect)
		}
		return
	}
	switch file.kind {
	case fileEnter:
		e.serveEnter(l)
		return
	case fileForm:
		e.serveForm(l)
		return
	}
	for range 2 { // twice if a new edition replaces the first one meanwhile
		if !e.findEdition(l) || !e.checkAccess(l) || e.sendFile(l) {
			return
		}
	}
	e.refuseLook(l, unknownPath())
}

// serveUnknown serves a path that no dashboard has.
func (e *edge) serveUnknown(v *visit) {
	at, ok := addressOf(v)
	l := &look{visit: v, address: at, file: &dashboardFile{page: !at.isAPI(), shared: at.isAPI()}}
	if v.request.Method == http.MethodPost {
		l.file.kind = fileForm
	}
	switch {
	case !ok:
		e.refuseLook(l, unknownPath())
	case e.findEdition(l) && e.checkAccess(l):
		e.sendMissing(l)
	}
}

// serveWrongMethod refuses a method that a path of a dashboard does not have, also if there is no such dashboard.
func (e *edge) serveWrongMethod(v *visit) {
	at, ok := addressOf(v)
	l := &look{visit: v, address: at, file: v.found.rows[0].file}
	if !ok {
		e.refuseLook(l, unknownPath())
		return
	}
	if current, _, err := e.pages.get(l.ctx, editionOf(l.base, l.id)); err == nil {
		l.edition = current.edition
	}
	l.setCache()
	e.refuseMethod(v)
}

// findEdition sets the edition of the dashboard. If there is none, it refuses the request and returns false.
func (e *edge) findEdition(l *look) bool {
	current, stale, err := e.pages.get(l.ctx, editionOf(l.base, l.id))
	switch {
	case err != nil:
		e.refuseLook(l, err)
		return false
	case current.edition == nil && l.file.kind == fileList:
		l.setCache()
		current.write(l, l.request)
		return false
	case current.edition == nil:
		e.refuseLook(l, fault.New(fault.NotFound, "There is no dashboard at this address."))
		return false
	}
	l.edition, l.editionPage, l.stale = current.edition, current, stale
	if !stale {
		e.pages.save(l.base, current)
	}
	return true
}

// checkAccess reports whether the visitor may see the dashboard, and sets the headers that depend on the access. If
// the visitor may not, checkAccess refuses the request.
func (e *edge) checkAccess(l *look) bool {
	out := l.Header()
	if !l.edition.private {
		if l.file.shared {
			out["Access-Control-Allow-Origin"] = everyOrigin
		}
		return true
	}
	switch {
	case e.admits(l.visit, l.edition, l.file):
		return true
	case l.file.page && l.edition.Access.Mode == peer.AccessPassword:
		e.sendInstead(l, enterFile(l.below), http.StatusForbidden)
	default:
		l.setCache()
		out.Set("Content-Length", "0")
		l.WriteHeader(http.StatusForbidden)
	}
	return false
}

// sendFile sends the file or the list. It returns false, without a response, if the file is of an edition that is no
// longer current.
func (e *edge) sendFile(l *look) bool {
	if l.file.kind == fileList {
		e.sendList(l)
		return true
	}
	name, ok := l.file.fileName(l.below)
	if !ok {
		e.sendMissing(l)
		return true
	}
	out, stale, err := e.pages.fileOf(l.ctx, l.edition, l.stale, name, codingFor(l.request.Header["Accept-Encoding"]), l.id)
	switch {
	case err != nil:
		e.refuseLook(l, err)
	case out.status != http.StatusOK:
		former := l.edition.ID
		if !e.findEdition(l) {
			return true
		}
		if l.edition.ID != former {
			return false
		}
		e.sendMissing(l)
	default:
		since := l.editionPage
		if stale && out.edition.ID != l.edition.ID {
			since = out // the last good file is of an older edition
		}
		e.setHeaders(l, since, l.stale || stale)
		l.Header()["Vary"] = byCoding
		out.write(l, l.request)
	}
	return true
}

func (e *edge) sendList(l *look) {
	out, stale, err := e.pages.get(l.ctx, listOf(l.base, l.request.URL.RawQuery, l.edition, l.id))
	if err != nil {
		e.refuse(l.visit, err)
		return
	}
	switch {
	case stale:
		e.setAge(l, out)
	case l.stale:
		e.setAge(l, l.editionPage)
	}
	if l.edition.private || out.status >= http.StatusBadRequest {
		out = &page{status: out.status, header: maps.Clone(out.header), body: out.body, etag: out.etag}
		delete(out.header, "Cache-Control")
		l.setCache()
	}
	out.write(l, l.request)
}

// setHeaders sets the headers of a file that depend on the visit.
func (e *edge) setHeaders(l *look, since *page, stale bool) {
	l.setCache()
	if stale {
		e.setAge(l, since)
	}
}

// setCache sets Cache-Control, which an error or a redirect has as the file itself. The address of no dashboard is not
// private.
func (l *look) setCache() {
	if l.edition != nil && l.edition.private || l.file.kind == fileEnter {
		l.Header()["Cache-Control"] = privateCache
		return
	}
	l.Header()["Cache-Control"] = publicCache
}

// setAge sets the seconds since the events service confirmed a page.
func (e *edge) setAge(l *look, of *page) {
	age := max(0, e.pages.now().Sub(time.Unix(0, of.confirmed.Load())))
	l.Header()["Age"] = []string{strconv.Itoa(int(age / time.Second))}
}

// sendMissing sends 404 in the form of the file.
func (e *edge) sendMissing(l *look) {
	if l.file.page && !l.isProgram() {
		e.sendInstead(l, peer.MissingFile, http.StatusNotFound)
		return
	}
	e.refuseLook(l, unknownPath())
}

// sendInstead sends another file of the edition with a status, or a short text if there is no such file.
func (e *edge) sendInstead(l *look, name string, status int) {
	out, _, err := e.pages.fileOf(l.ctx, l.edition, l.stale, name, codingFor(l.request.Header["Accept-Encoding"]), l.id)
	if err != nil || out.status != http.StatusOK {
		text := map[int]string{
			http.StatusNotFound: "There is nothing at this address.", http.StatusForbidden: "The dashboard is private.",
			http.StatusTooManyRequests: "There were too many wrong passwords. Try again later.",
		}[status]
		out = newPage(&http.Response{Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}}, []byte(text+"\n"))
	}
	e.setHeaders(l, nil, false)
	l.Header()["Vary"] = byCoding
	out.writeAs(l, l.request, status)
}

// isProgram reports whether a program sends a form. It gets errors in JSON.
func (l *look) isProgram() bool { return l.file.kind == fileForm && !wantsHTML(l.request) }

func wantsHTML(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// refuseLook writes an error: in JSON below /api and to a program that sends a form, as a page to a browser that asks
// the platform's host for a dashboard that does not exist, else as text.
func (e *edge) refuseLook(l *look, err error) {
	f := fault.As(err)
	if f.Kind == fault.NotFound {
		l.setCache()
	}
	if l.file.kind == fileList || l.isProgram() || l.isAPI() || f.Kind != fault.NotFound && f.Kind != fault.Unavailable {
		e.refuse(l.visit, err)
		return
	}
	if f.Kind == fault.NotFound && l.edition == nil && !l.found.ownHost {
		l.Header()["Vary"] = byAccept
		if wantsHTML(l.request) {
			e.front.missing.writeAs(l, l.request, http.StatusNotFound)
			return
		}
	}
	if f.Kind == fault.Unavailable {
		l.Header().Set("Retry-After", "1")
		e.log.ErrorContext(l.ctx, "request failed", "route", l.found.pattern(), "status", f.Kind.Status(), "error", err.Error())
	}
	text := newPage(&http.Response{Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}}, []byte(f.Message+"\n"))
	text.writeAs(l, l.request, f.Kind.Status())
}

// serveForm forwards a form to its service if the visitor may see the dashboard.
func (e *edge) serveForm(l *look) {
	body, err := readBody(l.request)
	if err != nil {
		e.refuse(l.visit, err)
		return
	}
	if e.findEdition(l) && e.checkAccess(l) {
		e.forwardBody(l.visit, e.publicPassport(l.visit), body)
	}
}

// serveEnter forwards the password to the events service. The body of a refusal is a file of the edition.
func (e *edge) serveEnter(l *look) {
	body, err := readBody(l.request)
	if err != nil {
		e.refuse(l.visit, err)
		return
	}
	inner := l.request.Clone(l.ctx)
	inner.URL.Path, inner.URL.RawPath, inner.URL.RawQuery = l.base+"/enter", "", ""
	response, err := e.proxy.send(l.ctx, inner, l.id, outgoing{
		method: http.MethodPost, service: events, body: body, ip: l.ip, scheme: l.scheme,
		passport: e.signer.Sign(passport.Passport{Audience: events, Surface: passport.Public, IP: l.ip}),
	})
	if err != nil {
		e.refuseLook(l, err)
		return
	}
	name := ""
	switch response.StatusCode {
	case http.StatusForbidden:
		name = peer.EnterWrongFile
	case http.StatusTooManyRequests:
		name = peer.EnterLateFile
	case http.StatusNotFound:
		name = peer.MissingFile
	default:
		e.proxy.relay(l, response)
		return
	}
	response.Body.Close()
	if retry := response.Header["Retry-After"]; len(retry) > 0 {
		l.Header()["Retry-After"] = retry
	}
	// A page without a password responds 404, to those who may see the page.
	if e.findEdition(l) && (name != peer.MissingFile || e.checkAccess(l)) {
		e.sendInstead(l, name, response.StatusCode)
	}
}
