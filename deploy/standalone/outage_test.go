package main_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// view is a request for a file of a dashboard, with the expected status.
type view struct {
	url, cookie string
	status      int
}

// read sends the request once. It returns an error for another status, or if the response takes longer than limit.
func (v view) read(browser *http.Client, limit time.Duration) (body string, header http.Header, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url, nil)
	if err != nil {
		return "", nil, err
	}
	if v.cookie != "" {
		request.Header.Set("Cookie", v.cookie)
	}
	response, err := browser.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != v.status {
		err = fmt.Errorf("%s: status %d instead of %d: %s", v.url, response.StatusCode, v.status, text)
	}
	return string(text), response.Header, err
}

// audience has several readers. Each requests all views again and again until the audience stops.
type audience struct {
	limit time.Duration
	stop  context.CancelFunc
	group sync.WaitGroup

	mu       sync.Mutex
	reads    int
	slowest  time.Duration
	failures []string
}

func watch(views []view, limit time.Duration) *audience {
	ctx, stop := context.WithCancel(context.Background())
	a := &audience{limit: limit, stop: stop}
	for n := range 4 {
		a.group.Go(func() {
			browser := &http.Client{Transport: &http.Transport{}}
			defer browser.CloseIdleConnections()
			pace := time.NewTicker(20 * time.Millisecond)
			defer pace.Stop()
			for i := n * len(views) / 4; ctx.Err() == nil; i++ {
				began := time.Now()
				_, _, err := views[i%len(views)].read(browser, limit)
				a.count(time.Since(began), err)
				<-pace.C
			}
		})
	}
	return a
}

func (a *audience) count(took time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reads++
	a.slowest = max(a.slowest, took)
	if err != nil {
		a.failures = append(a.failures, fmt.Sprintf("after %v: %v", took.Round(time.Millisecond), err))
	}
}

// report stops the readers and fails the test if a read failed.
func (a *audience) report(t *testing.T, what string) {
	t.Helper()
	a.stop()
	a.group.Wait()
	t.Logf("%-28s %5d reads, the slowest took %v", what, a.reads, a.slowest.Round(time.Millisecond))
	if n := len(a.failures); n > 0 || a.reads == 0 {
		t.Errorf("%s: %d of %d reads failed or took longer than %v:\n%s", what, n, a.reads, a.limit, strings.Join(a.failures[:min(n, 5)], "\n"))
	}
}

// link is a proxy in front of a server that the test cannot kill. It forwards connections until it is cut.
type link struct {
	t               *testing.T
	address, server string
	mu              sync.Mutex
	listener        net.Listener
	open            []net.Conn
}

func newLink(t *testing.T, server string) *link {
	t.Helper()
	l := &link{t: t, address: "127.0.0.1:0", server: server}
	l.join()
	t.Cleanup(l.cut)
	return l
}

// join accepts connections again.
func (l *link) join() {
	l.t.Helper()
	listener, err := net.Listen("tcp", l.address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	l.listener, l.address = listener, listener.Addr().String()
	l.mu.Unlock()
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", l.server)
			if err != nil {
				from.Close()
				continue
			}
			l.mu.Lock()
			l.open = append(l.open, from, to)
			l.mu.Unlock()
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					defer pair[0].Close()
					_, _ = io.Copy(pair[0], pair[1]) // ends when one of the connections ends
				}()
			}
		}
	}()
}

// cut closes all connections and refuses new ones.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listener.Close()
	for _, connection := range l.open {
		connection.Close()
	}
	l.open = nil
}

// outage can stop and restart an engine or a service.
type outage struct {
	name       string
	begin, end func()
	// unknown is set if the events service cannot confirm an edition during the outage.
	unknown bool
}

// While the events service, the store, Kafka or Redis is down, each file of a dashboard that was served before is
// served within a second. After a successful write, every visitor sees the new state: at once while the events service
// and the store are up, and otherwise within a second after they return. A gateway that starts while everything but
// Redis is down serves the files saved in Redis. The short form of the test allows more time, because other tests run
// at the same time.
func TestPagesOutliveOutages(t *testing.T) {
	t.Parallel()
	eachDocuments(t, outlive)
}

func outlive(t *testing.T, documents string) {
	limit := time.Duration(setting(t, "OUTAGE_READ_MS", 3000, 1000)) * time.Millisecond
	span := time.Duration(setting(t, "OUTAGE_MS", 1200, 5000)) * time.Millisecond
	engines, env := engineProcesses(t)
	var outages []outage
	down, up := []func(){}, []func(){} // stop and start the engines and the service that pages are made from
	if server, is := strings.CutPrefix(documents, "DOCUMENTS_URL=mongodb://"); is {
		host, database, _ := strings.Cut(server, "/")
		store := newLink(t, host)
		documents = "DOCUMENTS_URL=mongodb://" + store.address + "/" + database
		outages = append(outages, outage{"the store, cut off", store.cut, store.join, true})
		down, up = append(down, store.cut), append(up, store.join)
	}
	cluster := startCluster(t, append(env, documents, "LEGACY_RATE_PER_HOUR=1000000")...)
	events := cluster.processes["events"]
	var keeper *redis.Client
	for _, engine := range slices.SortedFunc(maps.Keys(engines), func(a, b *process) int { return strings.Compare(b.name, a.name) }) {
		address := engines[engine]
		back := func() {
			engine.start()
			eventually(t, time.Minute, engine.name, listens(address))
		}
		outages = append(outages, outage{engine.name + ", killed", engine.kill, back, false})
		if engine.name == "redis" {
			keeper = redis.NewClient(&redis.Options{Addr: address})
			defer keeper.Close()
			continue
		}
		down, up = append(down, engine.kill), append(up, back)
	}
	suspend := func(signal syscall.Signal) func() {
		return func() {
			if err := events.command.Process.Signal(signal); err != nil {
				t.Error(err)
			}
		}
	}
	outages = append(outages,
		outage{"events, killed", events.kill, func() { events.start() }, true},
		outage{"events, suspended", suspend(syscall.SIGSTOP), suspend(syscall.SIGCONT), true})

	a := actor{t, provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")}
	service, component := a.service("Checkout")
	private, views := privateViews(t, cluster.base)
	browser := &http.Client{Transport: &http.Transport{}}
	defer browser.CloseIdleConnections()
	titles := 0
	// post posts an incident. It returns the title, or "" if the write is refused, or takes longer than the time.
	post := func(within time.Duration) string {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		titles++
		title := fmt.Sprintf("change-%d.", titles)
		got, err := try(ctx, http.MethodPost, cluster.base+"/api/v1/event/list/", a.legacy(), incident(service, title))
		if err != nil || got.status != http.StatusCreated {
			return ""
		}
		return title
	}
	// shows returns an error unless the files that all gateways serve contain the title: errKept if the gateway responds
	// with a file that it kept, because the events service is slow.
	errKept := errors.New("the file was kept")
	shows := func(title string) error {
		for _, base := range cluster.gateways {
			for _, path := range []string{"/", "/feed.rss", "/api/v2/incidents/unresolved.json"} {
				body, header, err := view{base + "/d/" + a.DashboardSlug + path, "", http.StatusOK}.read(browser, limit)
				if err != nil {
					return err
				}
				if !strings.Contains(body, title) && header.Get("Age") != "" {
					return fmt.Errorf("%s of %s lacks %s: %w", path, base, title, errKept)
				} else if !strings.Contains(body, title) {
					return fmt.Errorf("%s of %s lacks %s", path, base, title)
				}
			}
		}
		return nil
	}
	// showsNow returns the result of shows when no file was kept.
	showsNow := func(title string) (err error) {
		eventually(t, time.Minute, "files that were not kept", func() error {
			if err = shows(title); errors.Is(err, errKept) {
				return err
			}
			return nil
		})
		return err
	}
	// posted posts incidents until the platform accepts one, and returns its title.
	posted := func(what string) (title string) {
		t.Helper()
		eventually(t, time.Minute, "a write "+what, func() error {
			if title = post(15 * time.Second); title == "" {
				return errors.New("it is refused")
			}
			return nil
		})
		return title
	}
	for range 5 {
		if err := showsNow(posted("without an outage")); err != nil {
			t.Error(err)
		}
	}
	var unresolved struct{ Incidents []struct{ ID string } }
	looker{t: t, base: a.DashboardURL}.visit("GET", "/api/v2/incidents/unresolved.json", nil).expect(t, http.StatusOK).into(t, &unresolved)
	month := time.Now().UTC().Format("2006-01")
	for _, path := range filePaths(component, unresolved.Incidents[0].ID) {
		views = append(views, view{a.DashboardURL + strings.Replace(path, "2020-01", month, 1), "", http.StatusOK})
	}
	for _, one := range views {
		if _, _, err := one.read(browser, time.Minute); err != nil {
			t.Fatal(err)
		}
	}

	// visible posts an incident as soon as the platform accepts it. It fails the test if visitors do not see the
	// incident within the time. If the time is 0, they must see it at once.
	visible := func(what string, within time.Duration) {
		t.Helper()
		title := posted("after " + what)
		began, look := time.Now(), shows
		if within == 0 {
			look = showsNow
		}
		for err := look(title); err != nil; err = look(title) {
			if time.Since(began) > within {
				t.Fatalf("%s is over for %v: %v", what, time.Since(began), err)
			}
		}
		t.Logf("%-28s the next change was seen %v after its response", what, time.Since(began).Round(time.Millisecond))
	}
	for _, outage := range outages {
		crowd := watch(views, limit)
		outage.begin()
		over := time.After(span)
		for title := post(2 * time.Second); !outage.unknown && title != ""; title = "" {
			if err := showsNow(title); err != nil {
				t.Errorf("%s: %v", outage.name, err)
			}
		}
		<-over
		crowd.report(t, outage.name)
		crowd = watch(views, limit)
		outage.end()
		if outage.unknown {
			visible(outage.name, limit)
		} else {
			visible(outage.name, 0)
		}
		crowd.report(t, outage.name+", and back")
	}
	if keeper == nil {
		t.Log("redis-server is not installed: no gateway starts during an outage")
		return
	}

	// Everything but Redis is down, and a gateway starts.
	eventually(t, time.Minute, "Redis keeps both dashboards", func() error {
		for _, one := range views {
			_, below, own := strings.Cut(one.url, a.DashboardURL+"/")
			if _, _, err := one.read(browser, limit); err != nil {
				return err
			}
			kept := keeper.HExists(t.Context(), "pages:"+a.DashboardID, "br "+below).Val() || keeper.HExists(t.Context(), "pages-asked:"+a.DashboardID, "gzip "+below).Val()
			if own && !kept && !strings.HasPrefix(below, "history.") && !strings.HasPrefix(below, "api/v1/") {
				return fmt.Errorf("%s is missing", below)
			}
		}
		for _, of := range []credentials{a.credentials, private} {
			if _, _, err := (view{of.DashboardURL + "/badge.svg", "", map[bool]int{true: 200, false: 403}[of.DashboardID == a.DashboardID]}).read(browser, limit); err != nil {
				return err
			}
			if n, err := keeper.Exists(t.Context(), "pages:"+of.DashboardID).Result(); n == 0 {
				return fmt.Errorf("%s is missing (%v)", of.DashboardSlug, err)
			}
		}
		return nil
	})
	for _, name := range cluster.names {
		if !strings.HasPrefix(name, "gateway") {
			cluster.processes[name].kill()
		}
	}
	for _, end := range down {
		end()
	}
	gateway := cluster.processes["gateway"]
	gateway.kill()
	gateway.start()
	eventually(t, time.Minute, "the gateway", listens(cluster.addresses["gateway"]))
	for _, one := range views {
		body, header, err := one.read(browser, limit)
		if err != nil {
			t.Errorf("after a start without events: %v", err)
		} else if one.status == http.StatusOK && header.Get("Age") == "" || one.status != http.StatusOK && strings.HasSuffix(one.url, "/nothing") && !strings.Contains(body, "<h1") {
			t.Errorf("after a start without events: %s: %v %s", one.url, header, body)
		}
	}
	crowd := watch(views, limit)
	for _, start := range up {
		start()
	}
	for _, name := range cluster.names {
		if !strings.HasPrefix(name, "gateway") {
			cluster.processes[name].start()
		}
	}
	visible("all but Redis", limit)
	crowd.report(t, "all but Redis, and back")
}

// privateViews creates an organization whose dashboard has a password. It returns its credentials, and views with and
// without the password.
func privateViews(t *testing.T, base string) (credentials, []view) {
	t.Helper()
	b := actor{t, provision(t, base, "Private", "private-admin", "admin", "api")}
	b.service("Vault")
	send(t, http.MethodPatch, base+"/app/dashboards/"+b.DashboardID, b.app(),
		map[string]any{"access": map[string]any{"mode": "password", "password": "correct horse"}}).expect(t, http.StatusOK)
	right := looker{t: t, base: b.DashboardURL}.visit("POST", "/enter", url.Values{"password": {"correct horse"}}).expect(t, http.StatusSeeOther)
	cookie, _, _ := strings.Cut(right.header.Get("Set-Cookie"), ";")
	at := b.DashboardURL
	return b.credentials, []view{
		{at + "/", "", http.StatusForbidden}, {at + "/events/none", "", http.StatusForbidden}, {at + "/feed.rss", "", http.StatusForbidden},
		{at + "/", cookie, http.StatusOK}, {at + "/feed.rss", cookie, http.StatusOK}, {at + "/api/v1/dashboard/", cookie, http.StatusOK},
		{at + "/nothing", cookie, http.StatusNotFound},
	}
}
