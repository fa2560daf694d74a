package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// storing are the headers by which a cache decides.
type storing struct{ control, vary string }

// What the responses to GET say of storing. The legacy list is never stored, because its clients read what they have just written.
var (
	aFile   = storing{cacheOfPublic, "Accept-Encoding"}
	aMove   = storing{cacheOfPublic, ""} // a redirect, or a path that takes a form
	aList   = storing{"no-cache", "Accept"}
	never   = storing{"no-store", ""}
	ofAll   = storing{"no-cache", "Accept"} // the same for every visitor, and asked for each time
	aDoc    = storing{"public, max-age=300", ""}
	private = storing{cacheOfPrivate, ""}
)

// publicPaths has every path that a request without a key can read.
var publicPaths = map[string]storing{
	"/": ofAll, "/d": ofAll,
	"/docs": aDoc, "/docs/favicon-32x32.png": aDoc, "/docs/start.js": aDoc, "/docs/swagger-ui-bundle.js": aDoc, "/docs/swagger-ui-standalone-preset.js": aDoc,
	"/docs/swagger-ui.css": aDoc, "/openapi/app.yaml": aDoc, "/openapi/legacy.yaml": aDoc, "/openapi/operator.yaml": aDoc, "/openapi/public.yaml": aDoc,

	"/d/{slug}/": aFile, "/d/{slug}/events/{id}": aFile, "/d/{slug}/components/{id}": aFile, "/d/{slug}/history": aFile, "/d/{slug}/history/{month}": aFile,
	"/d/{slug}/subscribe": aFile, "/d/{slug}/subscribe/sent": aFile, "/d/{slug}/embed": aFile, "/d/{slug}/embed.js": aFile,
	"/d/{slug}/feed.rss": aFile, "/d/{slug}/feed.atom": aFile, "/d/{slug}/feed.json": aFile, "/d/{slug}/history.rss": aFile, "/d/{slug}/history.atom": aFile,
	"/d/{slug}/components/{id}/feed.rss": aFile, "/d/{slug}/components/{id}/feed.atom": aFile, "/d/{slug}/components/{id}/feed.json": aFile,
	"/d/{slug}/maintenance.ics": aFile, "/d/{slug}/badge.svg": aFile, "/d/{slug}/components/{id}/badge.svg": aFile, "/d/{slug}/robots.txt": aFile,
	"/d/{slug}/api/v2/summary.json": aFile, "/d/{slug}/api/v2/status.json": aFile, "/d/{slug}/api/v2/components.json": aFile,
	"/d/{slug}/api/v2/incidents.json": aFile, "/d/{slug}/api/v2/incidents/unresolved.json": aFile, "/d/{slug}/api/v2/scheduled-maintenances.json": aFile,
	"/d/{slug}/api/v2/scheduled-maintenances/active.json": aFile, "/d/{slug}/api/v2/scheduled-maintenances/upcoming.json": aFile,
	"/d/{slug}/incidents/{id}": aMove, "/d/{slug}/enter": private, "/d/{slug}/subscribe/{channel}": aMove,
	"/d/{slug}/subscribe/email": aMove, "/d/{slug}/subscribe/sms": aMove, "/d/{slug}/subscribe/whatsapp": aMove,
	"/d/{slug}/api/v1/dashboard/": aList,
}

// Every path of the route table says who may store its response. A path that is not in publicPaths is stored by nobody. Of a
// private dashboard, nothing is stored, also not for the visitor who may see it.
func TestEveryPathSaysWhoMayStoreItsResponse(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	fill := strings.NewReplacer("{slug}", "main", "{id}", eventID, "{ids}", "1;2", "{month}", "2026-01", "{channel}", "email", "{path}", "events", "{keyId}", "k", "{format}", "gatus")
	for _, file := range peer.DashboardFiles() {
		p.media[strings.TrimPrefix(fill.Replace(file.Path), "/")] = file.ContentType()
	}
	m := w.keys.member(nil)
	authorizations := map[passport.Surface]string{passport.Legacy: m.apiKey(), passport.App: m.bearer(), passport.Operator: "Operator " + operatorToken}
	get := func(route Route, want storing, cookie string) {
		t.Helper()
		header := plainly(map[string]string{"Authorization": authorizations[route.Surface], "Cookie": cookie})
		if route.Surface == passport.Console {
			header["Host"] = consoleHost
		}
		path := fill.Replace(route.Path)
		below, isBelow := strings.CutPrefix(path, "/d/main")
		g := d.get(t, path, header)
		if g.status == http.StatusNotFound && want == aFile {
			t.Errorf("%s: %d %s", path, g.status, g.body)
		}
		wantHeaders(t, path, g, map[string]string{"Cache-Control": want.control, "Vary": want.vary})
		if isBelow && below != "" {
			header["Host"] = ownHost["Host"]
			wantHeaders(t, "on the own host: "+below, d.get(t, below, header), map[string]string{"Cache-Control": want.control, "Vary": want.vary})
		}
	}
	seen := map[string]bool{}
	for _, route := range Routes() {
		want, known := publicPaths[route.Path]
		switch seen[route.Path] = true; {
		case route.Surface == passport.Legacy && route.Service == "":
			want = ofAll // the discovery document
		case !known || route.Surface != passport.Public:
			want = never
		}
		if route.Surface == passport.Public && strings.HasPrefix(route.Path, "/subscribe") || strings.HasPrefix(route.Path, "/api/v1/dashboard") {
			continue // on the dashboard's own host only
		}
		get(route, want, "")
	}
	for path := range publicPaths {
		if !seen[path] {
			t.Errorf("there is no path %s", path)
		}
	}
	wantHeaders(t, "a failure", d.get(t, "/app/nothing", nil), map[string]string{"Cache-Control": "no-store"})
	p.change(func(of *peer.Edition) { of.Access = peer.Access{Mode: peer.AccessPassword, Password: "v1"} })
	tickets := peer.PasswordTickets(testSecret, func() time.Time { return time.Now() })
	entered := peer.PasswordCookie + "=" + tickets.Issue(peer.PasswordTicketOwner("dashboard-1", "v1"), time.Hour)
	for _, route := range Routes() {
		if !strings.HasPrefix(route.Path, "/d/{slug}") {
			continue
		}
		for _, cookie := range []string{"", entered} {
			path := fill.Replace(route.Path)
			g := d.get(t, path, plainly(map[string]string{"Cookie": cookie}))
			wantHeaders(t, path+" of a private dashboard", g, map[string]string{"Cache-Control": cacheOfPrivate, "Access-Control-Allow-Origin": ""})
		}
	}
}
