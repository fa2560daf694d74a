package dashboards

import (
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/coding"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// dashboardVisit is a visit together with the address and the edition of the visited dashboard.
type dashboardVisit struct {
	Visit
	address
	edition *edition
	// editionResponse is the response that contains the edition. stale is true if the events service did not confirm
	// this response.
	editionResponse *cached
	stale           bool
}

// cacheSeconds is the time for which a cache in front of the gateway may serve a response of a public dashboard. Some caches
// then serve it for a minute more while they ask the gateway again. The configurations in deploy/cache do not.
const cacheSeconds = 10

// publicCacheFor returns the Cache-Control of a public dashboard. lifetime is in seconds, counted from Age 0.
func publicCacheFor(lifetime int) string {
	return "public, max-age=0, s-maxage=" + strconv.Itoa(lifetime) + ", stale-while-revalidate=60, stale-if-error=86400"
}

// Values of response headers.
var (
	publicCache  = []string{publicCacheFor(cacheSeconds)}
	privateCache = []string{"private, no-store"}
	everyOrigin  = []string{"*"}
	byCoding     = []string{"Accept-Encoding"}
	byAccept     = []string{"Accept"}
)

// Serve serves a path below a dashboard, or an unknown path (Visit.File is nil).
func (d *Dashboards) Serve(visit Visit) {
	at, ok := addressOf(visit)
	v := &dashboardVisit{Visit: visit, address: at}
	unknown := v.File == nil
	if unknown {
		v.File = &File{page: !at.isAPI(), shared: at.isAPI()}
		if v.In.Method == http.MethodPost {
			v.File.kind = fileForm
		}
	}
	switch {
	case !ok:
		d.refuse(v, message.UnknownPath())
	case unknown:
		if d.findEdition(v) && d.checkAccess(v) && !d.sendAlias(v) {
			d.sendMissing(v)
		}
	case v.File.kind == fileIncident:
		d.serveIncident(v)
	case v.File.kind == fileEnter:
		d.serveEnter(v)
	case v.File.kind == fileForm:
		d.serveForm(v)
	default:
		d.serveFile(v)
	}
}

func (d *Dashboards) serveFile(v *dashboardVisit) {
	if location := v.File.redirect(v.In.URL); location != "" {
		if d.findEdition(v) {
			v.move(location)
		}
		return
	}
	for range 2 { // the second run is needed if a newer edition has replaced the edition of the first run
		if !d.findEdition(v) || !d.checkAccess(v) || d.sendFile(v) {
			return
		}
	}
	d.refuse(v, message.UnknownPath())
}

// RefuseMethod responds to a method that a path below dashboards does not allow. The status and the body are the same
// whether or not the dashboard exists.
func (d *Dashboards) RefuseMethod(visit Visit) {
	at, ok := addressOf(visit)
	v := &dashboardVisit{Visit: visit, address: at}
	if !ok {
		d.refuse(v, message.UnknownPath())
		return
	}
	if current, _, err := d.cache.get(v.Context, newEditionQuestion(v.base, v.ID)); err == nil {
		v.edition = current.edition
	}
	v.setCache()
	v.RefuseMethod()
}

// findEdition sets the edition of the visit. If there is no dashboard or no edition can be read, it responds and
// returns false.
func (d *Dashboards) findEdition(v *dashboardVisit) bool {
	current, stale, err := d.cache.get(v.Context, newEditionQuestion(v.base, v.ID))
	switch {
	case err != nil:
		d.refuse(v, err)
		return false
	case current.edition == nil && v.File.kind == fileList:
		v.setCache()
		current.Write(v, v.In)
		return false
	case current.edition == nil:
		d.refuse(v, fault.New(fault.NotFound, "There is no dashboard at this address."))
		return false
	}
	v.edition, v.editionResponse, v.stale = current.edition, current, stale
	if !stale {
		d.cache.save(v.base, current)
	}
	return true
}

// checkAccess reports whether the visitor may see the dashboard. If the dashboard is public and the file is shared,
// it sets the header that allows scripts of other sites to read the response. If the visitor may not see the
// dashboard, it responds with 403.
func (d *Dashboards) checkAccess(v *dashboardVisit) bool {
	out := v.Header()
	if !v.edition.private {
		if v.File.shared {
			out["Access-Control-Allow-Origin"] = everyOrigin
		}
		return true
	}
	switch {
	case d.admits(v):
		return true
	case v.File.page && v.edition.Access.Mode == peer.AccessPassword:
		d.sendInstead(v, peer.EnterFileAt(v.slashes()), http.StatusForbidden)
	default:
		v.setCache()
		out.Set("Content-Length", "0")
		v.WriteHeader(http.StatusForbidden)
	}
	return false
}

// sendFile sends the file or the list and returns true. It returns false and sends nothing if a newer edition has
// replaced the edition of the visit.
func (d *Dashboards) sendFile(v *dashboardVisit) bool {
	if v.File.kind == fileList {
		d.sendList(v)
		return true
	}
	name, ok := v.File.fileName(v.below)
	if !ok {
		d.sendMissing(v)
		return true
	}
	out, stale, err := d.fileOf(v, name)
	switch {
	case err != nil:
		d.refuse(v, err)
	case out.Status != http.StatusOK:
		former := v.edition.ID
		if !d.findEdition(v) {
			return true
		}
		if v.edition.ID != former {
			return false
		}
		d.sendMissing(v)
	default:
		v.setCache()
		switch {
		case stale && out.edition.ID != v.edition.ID: // only an older edition's copy of the file is available
			d.setAge(v, out)
		case stale || v.stale:
			d.setAge(v, v.editionResponse)
		}
		v.Header()["Vary"] = byCoding
		out.Write(v, v.In)
	}
	return true
}

// fileOf returns a file of the edition in the best content coding for the visitor. If the events service did not confirm the
// edition in time, fileOf returns the file in memory, if there is one, also of an older edition. So the visitor does not
// wait a second time.
func (d *Dashboards) fileOf(v *dashboardVisit, name string) (out *cached, stale bool, err error) {
	best := coding.For(v.In.Header["Accept-Encoding"])
	if v.stale && d.cache.restsFor(v.editionResponse) {
		if file, there := d.cache.responses.Get(cacheKey{uri: v.edition.DashboardID, file: name, coding: best}); there {
			file.use()
			return file, true, nil
		}
	}
	return d.cache.file(v.Context, v.edition, v.stale, name, best, v.ID)
}

func (d *Dashboards) sendList(v *dashboardVisit) {
	list, stale, err := d.cache.get(v.Context, newListQuestion(v.base, v.In.URL.RawQuery, v.edition, v.ID))
	if err != nil {
		v.Refuse(err)
		return
	}
	switch {
	case stale:
		d.setAge(v, list)
	case v.stale:
		d.setAge(v, v.editionResponse)
	}
	out := list.Response
	if v.edition.private || out.Status >= http.StatusBadRequest {
		out.Header = maps.Clone(out.Header)
		delete(out.Header, "Cache-Control")
		v.setCache()
	}
	out.Write(v, v.In)
}

// move redirects the visitor permanently.
func (v *dashboardVisit) move(location string) {
	v.setCache()
	v.Header().Set("Location", location)
	v.Header().Set("Content-Length", "0")
	v.WriteHeader(http.StatusPermanentRedirect)
}

// setCache sets Cache-Control. Errors and redirects of a dashboard get the same value as its files. An unknown
// dashboard gets the value of a public dashboard. A response to a password always gets privateCache.
func (v *dashboardVisit) setCache() {
	if v.edition != nil && v.edition.private || v.File.kind == fileEnter {
		v.Header()["Cache-Control"] = privateCache
		return
	}
	v.Header()["Cache-Control"] = publicCache
}

// setAge sets the header Age to the seconds since the events service confirmed the response. A cache in front of the
// gateway may nevertheless serve a file of a public dashboard for cacheSeconds. Otherwise every visitor would reach the
// gateway during an outage.
func (d *Dashboards) setAge(v *dashboardVisit, response *cached) {
	age := int(max(0, d.cache.now().Sub(time.Unix(0, response.confirmed.Load()))) / time.Second)
	v.Header()["Age"] = []string{strconv.Itoa(age)}
	if !v.edition.private && v.File.kind != fileList {
		v.Header()["Cache-Control"] = []string{publicCacheFor(age + cacheSeconds)}
	}
}

// sendMissing responds with 404: as a page if the path is a page, else as JSON or text.
func (d *Dashboards) sendMissing(v *dashboardVisit) {
	if v.File.page && !v.isProgram() {
		d.sendInstead(v, peer.MissingFile, http.StatusNotFound)
		return
	}
	d.refuse(v, message.UnknownPath())
}

// sendInstead responds with another file of the edition and the status. If there is no such file, it sends a short
// text.
func (d *Dashboards) sendInstead(v *dashboardVisit, name string, status int) {
	v.setCache()
	v.Header()["Vary"] = byCoding
	if file, _, err := d.fileOf(v, name); err == nil && file.Status == http.StatusOK {
		file.WriteAs(v, v.In, status)
		return
	}
	message.Text(map[int]string{
		http.StatusNotFound: "There is nothing at this address.", http.StatusForbidden: "The dashboard is private.",
		http.StatusTooManyRequests: "There were too many wrong passwords. Try again later.",
	}[status]).WriteAs(v, v.In, status)
}

// isProgram reports whether a program, and not a browser, sends a form. A program gets errors in JSON.
func (v *dashboardVisit) isProgram() bool {
	return v.File.kind == fileForm && !message.WantsHTML(v.In)
}

// refuse responds with an error. The error is JSON below /api, for a program that sends a form, for the legacy list,
// and for errors other than NotFound and Unavailable. A browser that requests an unknown dashboard on the platform's
// host gets a page. Any other response is text.
func (d *Dashboards) refuse(v *dashboardVisit, err error) {
	f := fault.As(err)
	if f.Kind == fault.NotFound {
		v.setCache()
	}
	if v.File.kind == fileList || v.isProgram() || v.isAPI() || f.Kind != fault.NotFound && f.Kind != fault.Unavailable {
		v.Refuse(err)
		return
	}
	if f.Kind == fault.NotFound && v.edition == nil && !v.OwnHost {
		v.Header()["Vary"] = byAccept
		if message.WantsHTML(v.In) {
			d.missing.WriteAs(v, v.In, http.StatusNotFound)
			return
		}
	}
	if f.Kind == fault.Unavailable {
		v.Header().Set("Retry-After", "1")
		d.log.ErrorContext(v.Context, "request failed", "route", v.Route, "status", f.Kind.Status(), "error", err.Error())
	}
	message.Text(f.Message).WriteAs(v, v.In, f.Kind.Status())
}

// serveForm forwards a form to the service that handles the path, if the visitor may see the dashboard.
func (d *Dashboards) serveForm(v *dashboardVisit) {
	body, err := message.Body(v.In)
	if err != nil {
		v.Refuse(err)
		return
	}
	if d.findEdition(v) && d.checkAccess(v) {
		v.Forward(body)
	}
}

// serveEnter sends the password to the events service. If the response is an error 403, 404 or 429, the visitor gets
// a file of the edition. Any other response is forwarded.
func (d *Dashboards) serveEnter(v *dashboardVisit) {
	body, err := message.Body(v.In)
	if err != nil {
		v.Refuse(err)
		return
	}
	response, err := v.Enter(v.base+"/enter", body)
	if err != nil {
		d.refuse(v, err)
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
		v.Relay(response)
		return
	}
	response.Body.Close()
	if retry := response.Header["Retry-After"]; len(retry) > 0 {
		v.Header()["Retry-After"] = retry
	}
	// The events service responds 404 if the dashboard has no password. The visitor then gets the 404 page only if
	// the visitor may see the dashboard.
	if d.findEdition(v) && (name != peer.MissingFile || d.checkAccess(v)) {
		d.sendInstead(v, name, response.StatusCode)
	}
}
