package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// aliased is a publication with aliases.
type aliased struct {
	*publication
	mu    sync.Mutex
	table peer.AliasTable
	asked int // number of questions for the table
}

func newAliased(w *world) *aliased {
	a := &aliased{publication: newPublication(w)}
	w.services[events].handle(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/public/v1/aliases/dashboard-1" {
			a.publication.serve(out, r)
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked++
		send(out, r, "text/plain", a.table)
	})
	return a
}

// set publishes a version of the table.
func (a *aliased) set(version int64, table peer.AliasTable) {
	a.mu.Lock()
	a.table = table
	a.mu.Unlock()
	a.change(func(of *peer.Edition) { of.Aliases = version })
}

func (a *aliased) questions() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

func wantMove(t *testing.T, at string, g got, location string) {
	t.Helper()
	if g.status != 308 || g.header.Get("Location") != location || g.body != "" {
		t.Errorf("%s: %d to %q, want %q", at, g.status, g.header.Get("Location"), location)
	}
}

func TestAnAliasLeadsToThePresentAddress(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	a := newAliased(w)
	a.setMedia("events/"+eventID, htmlType)
	missing := []string{"/incidents/none", "/nothing", "/incidents/a/b/c", "/status//main", "/" + strings.Repeat("x", 300), "/incidents/%20"}
	for _, path := range missing { // without aliases there is no table
		wantStatus(t, d.get(t, "/d/main"+path, plainly(nil)), 404)
	}
	if n := a.questions(); n > 0 {
		t.Errorf("the table of a dashboard without aliases was read %d times", n)
	}
	other := strings.Replace(eventID, "01890a5d", "01890a5e", 1)
	a.set(1, peer.AliasTable(nil).Add("incidents/"+other, "components/c1").Add("incidents/abc", "events/"+eventID).Add("incidents/abc/x", "events/"+eventID).Add("status/main", "").Add("status/main/rss", "feed.rss"))
	for range 3 {
		for path, location := range map[string]string{
			"/incidents/abc": "events/" + eventID, "/incidents/abc/?utm=1": "events/" + eventID, "/incidents/abc/x": "events/" + eventID, "/incidents/" + other: "components/c1",
			"/status/main": "", "/status/main/": "", "/status/main/rss": "feed.rss", "/incidents/" + eventID: "events/" + eventID, "/uptime": "history", "/subscriptions/x": "subscribe",
		} {
			for base, header := range map[string]map[string]string{"/d/main": nil, "": ownHost} {
				g := d.get(t, base+path, plainly(header))
				wantMove(t, base+path, g, base+"/"+location)
				wantHeaders(t, base+path, g, map[string]string{"Cache-Control": cacheOfPublic})
				wantMove(t, "HEAD "+base+path, d.do(t, "HEAD", base+path, "", plainly(header)), base+"/"+location)
			}
		}
		for _, path := range missing {
			if g := d.get(t, "/d/main"+path, plainly(nil)); g.status != 404 || g.body != a.body(peer.MissingFile, codingPlain) {
				t.Errorf("%s: %d %q", path, g.status, g.body)
			}
		}
	}
	for path, status := range map[string]int{"/incidents/abc": 405, "/status/main": 404} { // other methods are as before
		for _, method := range []string{"POST", "DELETE", "PUT"} {
			wantStatus(t, d.do(t, method, "/d/main"+path, "", plainly(nil)), status)
		}
	}
	if n := a.questions(); n < 1 || n > 3 { // for the visitors, and for Redis at most once for each of the two addresses
		t.Errorf("one version of the table was read %d times", n)
	}
	a.set(2, peer.AliasTable(nil).Add("incidents/new", "history"))
	wantMove(t, "a new alias", d.get(t, "/d/main/incidents/new", nil), "/d/main/history")
	wantStatus(t, d.get(t, "/d/main/incidents/abc", plainly(nil)), 404)
}

// A visitor without access gets the same response whether or not there is an alias.
func TestAPrivateDashboardDoesNotTellItsAliases(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	a := newAliased(w)
	a.set(1, peer.AliasTable(nil).Add("incidents/"+eventID, "history").Add("incidents/abc", "history").Add("status/main", "history"))
	a.change(func(of *peer.Edition) { of.Access = peer.Access{Mode: peer.AccessPassword, Password: "v1"} })
	for known, unknown := range map[string]string{"/incidents/abc": "/incidents/abd", "/status/main": "/status/none", "/uptime": "/uptimes"} {
		one, two := d.get(t, "/d/main"+known, plainly(nil)), d.get(t, "/d/main"+unknown, plainly(nil))
		for _, g := range []*got{&one, &two} {
			g.header.Del("X-Request-Id")
			g.header.Del("Date")
		}
		if one.status != 403 || one.status != two.status || one.body != two.body || fmt.Sprint(one.header) != fmt.Sprint(two.header) {
			t.Errorf("%s: %d %v, %s: %d %v", known, one.status, one.header, unknown, two.status, two.header)
		}
	}
	wantMove(t, "an id of an event", d.get(t, "/d/main/incidents/"+eventID, nil), "/d/main/events/"+eventID)
	tickets := peer.PasswordTickets(testSecret, func() time.Time { return time.Now() })
	cookie := map[string]string{"Cookie": peer.PasswordCookie + "=" + tickets.Issue(peer.PasswordTicketOwner("dashboard-1", "v1"), time.Hour)}
	for _, path := range []string{"/incidents/abc", "/status/main", "/incidents/" + eventID} {
		g := d.get(t, "/d/main"+path, cookie)
		wantMove(t, path, g, "/d/main/history")
		wantHeaders(t, path, g, map[string]string{"Cache-Control": cacheOfPrivate})
	}
}

// An alias of an event that visitors cannot see, such as a draft, is unknown at each gateway, until an edition shows the event.
func TestAnAliasOfAHiddenEventIsUnknown(t *testing.T) {
	w := newWorld(t)
	gateways := []*door{w.gateway(t, nil), w.gateway(t, nil)}
	a := newAliased(w)
	a.set(1, peer.AliasTable(nil).Add("incidents/abc", "events/"+eventID).Add("issues/abc", "events/"+eventID))
	show := func(media string) {
		a.setMedia("events/"+eventID, media)
		a.change(nil)
	}
	unknown := func(when string) {
		t.Helper()
		for _, d := range append(gateways, w.gateway(t, nil)) {
			for known, unknown := range map[string]string{"/incidents/abc": "/incidents/abd", "/issues/abc": "/issues/abd"} {
				one, two := d.get(t, "/d/main"+known, plainly(nil)), d.get(t, "/d/main"+unknown, plainly(nil))
				for _, g := range []*got{&one, &two} {
					g.header.Del("X-Request-Id")
					g.header.Del("Date")
				}
				if one.status != 404 || one.status != two.status || one.body != two.body || fmt.Sprint(one.header) != fmt.Sprint(two.header) {
					t.Errorf("%s: %s: %d %v, %s: %d %v", when, known, one.status, one.header, unknown, two.status, two.header)
				}
			}
		}
	}
	unknown("before the event is published")
	show(htmlType)
	for _, d := range append(gateways, w.gateway(t, nil)) {
		for _, path := range []string{"/incidents/abc", "/issues/abc"} {
			wantMove(t, path, d.get(t, "/d/main"+path, nil), "/d/main/events/"+eventID)
		}
	}
	show("")
	unknown("after the event is hidden")
}

// Aliases work over three gateways while the events service is down, also at a gateway that has just started, and also if
// nobody requested an alias before. 100,000 of them fit into the memory of a gateway and into Redis.
func TestAliasesOutliveTheEventsService(t *testing.T) {
	const count = 100_000
	w := newWorld(t)
	a := newAliased(w)
	var paths []string
	for i := range count {
		paths = append(paths, fmt.Sprintf("incidents/%012x", i*7919))
	}
	slices.Sort(paths)
	var table peer.AliasTable
	for i, path := range paths {
		table = table.Add(path, fmt.Sprintf("events/01890a5d-ac96-774b-bcce-%012x", i))
	}
	if len(table) > 16<<20 {
		t.Errorf("the table has %d bytes", len(table))
	}
	gateways := []*door{w.gateway(t, nil), w.gateway(t, nil), w.gateway(t, nil)}
	a.set(1, peer.AliasTable(nil).Add("incidents/first", "history"))
	wantStatus(t, gateways[0].get(t, "/d/main/", plainly(nil)), 200)
	last := fmt.Sprintf("events/01890a5d-ac96-774b-bcce-%012x", count-1)
	a.setMedia(last, htmlType)
	a.set(2, table)
	wantMove(t, "the last one", gateways[1].get(t, "/d/main/"+paths[count-1], nil), "/d/main/"+last)
	eventually(t, "the table is in Redis", func() bool {
		wantStatus(t, gateways[0].get(t, "/d/main/", plainly(nil)), 200)
		return w.redis.HGet(t.Context(), "pages-aliases:dashboard-1", "number").Val() == "2"
	})
	if bytes := w.redis.HStrLen(t.Context(), "pages-aliases:dashboard-1", "aliases").Val(); bytes > 4<<20 {
		t.Errorf("the table has %d bytes in Redis", bytes)
	}
	w.services[events].server.Close()
	for _, d := range append(gateways, w.gateway(t, nil)) {
		for _, i := range []int{0, 1, count / 2, count - 1} {
			wantMove(t, paths[i], d.get(t, "/d/main/"+paths[i], nil), fmt.Sprintf("/d/main/events/01890a5d-ac96-774b-bcce-%012x", i))
		}
		wantStatus(t, d.get(t, "/d/main/incidents/none", plainly(nil)), 404)
		wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200) // the table has not displaced the page
	}
}
