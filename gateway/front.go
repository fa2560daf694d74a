package gateway

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/cache"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	visitors "github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

// front serves the paths / and /d on the platform's hosts. These paths belong to no single dashboard. front also contains
// the page for the address of a dashboard that does not exist.
type front struct {
	events         peer.Events
	patience       time.Duration
	start, missing message.Response
	slugs          *cache.Recent[struct{}, string] // result of only
	last           atomic.Pointer[string]          // last slug that the events service returned
}

// onlyTime is the time for which front uses the slug of the only dashboard, so that visitors of / and /d cause little load on
// the events service.
const onlyTime = time.Second

// The pages explain the form of a dashboard's address. They name no dashboard, because the tenants of an installation
// must not learn of one another.
const (
	startBody = `<p>This is an installation of Bellbuoy. It shows the status of services on dashboards. Each dashboard has an address of its own:</p>
<p class="card"><code>{{.}}/d/<var>name</var>/</code></p>
<p>Are you looking for the status of a service? Ask its provider for the address of the dashboard.</p>
<p><a class="btn" href="/docs">Documentation of the interfaces</a></p>`
	missingBody = `<p>Please check the address. That of a dashboard has this form:</p>
<p class="card"><code>{{.}}/d/<var>name</var>/</code></p>
<p>A dashboard may also have got another name, or may be switched off. Its provider knows.</p>
<p><a class="btn" href="/">Start page</a></p>`
)

// newFront returns a front. base is the prefix of the URLs of dashboards.
func newFront(events peer.Events, base string, now func() time.Time, patience time.Duration) (*front, error) {
	f := &front{events: events, patience: patience, slugs: cache.NewRecent[struct{}, string](onlyTime, 1, now)}
	f.last.Store(new(string))
	for _, of := range []struct {
		to          *message.Response
		title, body string
	}{{&f.start, "Status dashboards", startBody}, {&f.missing, "There is no dashboard at this address", missingBody}} {
		content, header, err := visitors.Plain(of.title, of.body, strings.TrimSuffix(base, "/"))
		if err != nil {
			return nil, err
		}
		*of.to = message.NewResponse(http.StatusOK, header, content)
	}
	return f, nil
}

// only returns the slug of the only enabled dashboard of the installation, or "" if there are none or several. While the
// events service is down, it returns the last known slug, or "".
func (f *front) only(ctx context.Context) string {
	return f.slugs.Get(struct{}{}, func() string {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.patience)
		defer cancel()
		if found, err := f.events.OnlyDashboard(ctx); fault.UnlessMissing(err) == nil {
			f.last.Store(&found.Slug)
		}
		return *f.last.Load()
	})
}

// frontPublic declares the operations at / and /d.
func frontPublic() []web.Public {
	shown, moved := []web.Content{{Media: "text/html", Of: ""}}, web.Response{Status: http.StatusFound, Description: "The only dashboard of the installation.", Headers: []string{"Location"}}
	const description = "Exists on the platform's own hosts only. A client that asks for JSON gets 404."
	return []web.Public{
		{
			Method: http.MethodGet, Path: "/", ID: "showStart", Tag: "dashboard", Summary: "Show how to find a dashboard", Description: description, Parameters: web.Conditional{},
			Responses: []web.Response{{Status: http.StatusOK, Description: "The page.", Headers: []string{"ETag"}, Contents: shown}, moved, web.NotModified()},
			Errors:    []int{http.StatusNotFound},
		},
		{
			Method: http.MethodGet, Path: "/d", ID: "showDashboards", Tag: "dashboard", Summary: "Show how to find a dashboard, below the address of all", Description: description,
			Responses: []web.Response{moved, {Status: http.StatusNotFound, Description: "The page, or an error in JSON.", Contents: append(shown, web.Content{Media: "application/json"})}},
		},
	}
}

// serveFront redirects to the only dashboard of the installation. If there are none or several, it shows a page about
// the address of dashboards, with the status 404 at /d. A program that asks for JSON gets 404.
func (e *edge) serveFront(r *request) {
	r.Header().Set("Vary", "Accept")
	r.Header().Set("Cache-Control", "no-cache") // the response changes when a dashboard is created
	if strings.Contains(r.in.Header.Get("Accept"), "json") && !message.WantsHTML(r.in) {
		r.Refuse(message.UnknownPath())
		return
	}
	if slug := e.front.only(r.ctx); slug != "" {
		r.Header().Set("Location", "/d/"+slug+"/")
		r.Header().Set("Content-Length", "0")
		r.WriteHeader(http.StatusFound)
		return
	}
	if r.found.route.Path == "/" {
		e.front.start.Write(r, r.in)
		return
	}
	e.front.start.WriteAs(r, r.in, http.StatusNotFound)
}
