package main_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

const (
	crowdRate    = 5000 // requests in a second
	crowdTime    = 25 * time.Second
	crowdDomain  = "status.acme.example"
	pageLifetime = 11 * time.Second // the age of a page that a cache may serve
)

// BenchmarkCrowds (goal S3) puts nginx and Varnish, with the files of deploy/cache, in front of the platform. 5,000 visitors a
// second request the files of a dashboard. It measures how many requests for one file reach the gateway in 10 s, and how long
// after a write a visitor sees the page from before. It fails if a private page or the response to a key reaches another
// caller, if an error of the gateway is stored, or if the files are not served while the gateway is down. It needs
// the Debian packages nginx-light and varnish:
//
//	go test -run '^$' -bench '^BenchmarkCrowds$' -benchtime 1x ./deploy/standalone
func BenchmarkCrowds(b *testing.B) {
	for _, front := range []struct {
		program string
		start   func(b *testing.B, origin string) string
		forgets bool // no copy from before a dashboard became private is served
	}{{"nginx", startCachingNginx, false}, {"varnishd", startVarnish, true}} {
		b.Run(front.program, func(b *testing.B) {
			if _, err := exec.LookPath(front.program); err != nil {
				b.Skipf("%s is not installed: apt-get install nginx-light varnish", front.program)
			}
			_, base := started(b, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_TRUSTED_PROXIES=127.0.0.1/32",
				"LEGACY_RATE_PER_HOUR=100000", "APP_RATE_PER_MINUTE=100000")
			from := startOrigin(b, base)
			c := visitorCrowd{b: b, actor: actor{b, provision(b, base, "Acme", "acme-admin", "admin", "api")}, origin: from, front: front.start(b, from.address)}
			c.prepare()
			for b.Loop() {
				c.come()
				c.arriveAfterQuiet()
				c.passConditions()
				c.keepPrivate(front.forgets)
				c.outlive()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// origin is a proxy between the cache and the gateway. It counts the requests that reach the gateway, and it can fail.
type origin struct {
	address string
	handler http.Handler
	server  *http.Server
	mu      sync.Mutex
	seen    map[string][]time.Time        // by method, host and address
	failing atomic.Bool                   // every response is an error 503
	hanging atomic.Pointer[chan struct{}] // no response is sent before it is closed
}

func startOrigin(b *testing.B, base string) *origin {
	b.Helper()
	target, err := url.Parse(base)
	if err != nil {
		b.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto"} {
				r.Out.Header[name] = r.In.Header[name]
			}
		},
	}
	o := &origin{address: apitest.FreeAddress(b), seen: map[string][]time.Time{}}
	o.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			key := r.Method + " " + r.Host + " " + r.RequestURI + " "
			o.mu.Lock()
			o.seen[key] = append(o.seen[key], time.Now())
			o.mu.Unlock()
		}
		if until := o.hanging.Load(); until != nil {
			<-*until
		}
		if o.failing.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		forward.ServeHTTP(w, r)
	})
	o.start(b)
	b.Cleanup(func() { o.stop(b) })
	return o
}

func (o *origin) start(b *testing.B) {
	b.Helper()
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		b.Fatal(err)
	}
	o.server = &http.Server{Handler: o.handler}
	go o.server.Serve(listener)
}

func (o *origin) stop(b *testing.B) {
	b.Helper()
	if err := o.server.Close(); err != nil {
		b.Error(err)
	}
}

// forget starts to count anew.
func (o *origin) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.seen)
}

// count returns how many requests for a file whose name contains text have reached the gateway.
func (o *origin) count(text string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, times := range o.seen {
		if strings.Contains(key, text) {
			n += len(times)
		}
	}
	return n
}

// most returns the largest number of requests in 10 s for one file, that file, and the number of all requests.
func (o *origin) most() (ofFile int, file string, all int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, times := range o.seen {
		all += len(times)
		if n := atMost(times); n > ofFile {
			ofFile, file = n, name
		}
	}
	return ofFile, file, all
}

// atMost returns how many of the times are within 10 s at most.
func atMost(times []time.Time) (most int) {
	for i := range times {
		n := 1
		for n < len(times)-i && times[i+n].Sub(times[i]) < 10*time.Second {
			n++
		}
		most = max(most, n)
	}
	return most
}

// configured writes a copy of a file with changes to the folder, and returns its path.
func configured(b *testing.B, file, folder string, changes ...string) string {
	b.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < len(changes); i += 2 {
		if !bytes.Contains(content, []byte(changes[i])) {
			b.Fatalf("%s does not contain %s", file, changes[i])
		}
		content = bytes.ReplaceAll(content, []byte(changes[i]), []byte(changes[i+1]))
	}
	changed := filepath.Join(folder, filepath.Base(file))
	if err := os.WriteFile(changed, content, 0o600); err != nil {
		b.Fatal(err)
	}
	return changed
}

// startCachingNginx starts nginx with Debian's settings and with deploy/cache/nginx.conf, as deploy/README.md describes, and
// returns its URL. Its worker_connections are for a crowd, as deploy/README.md says.
func startCachingNginx(b *testing.B, origin string) string {
	b.Helper()
	folder, address := b.TempDir(), apitest.FreeAddress(b)
	owner, err := user.Current()
	if err != nil {
		b.Fatal(err)
	}
	sites := filepath.Join(folder, "conf.d")
	if err := os.Mkdir(sites, 0o700); err != nil {
		b.Fatal(err)
	}
	configured(b, "../cache/nginx.conf", sites, "127.0.0.1:8080", origin, "listen 80 ", "listen "+address+" ", "127.0.0.1:8090", apitest.FreeAddress(b),
		"/var/lib/nginx/", folder+"/", "status.example.com platform;", "127.0.0.1 platform;", "    listen [::]:80 default_server;\n", "")
	test := fmt.Sprintf(`keepalive_requests 1000000000;
client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
`, folder)
	if err := os.WriteFile(filepath.Join(sites, "test.conf"), []byte(test), 0o600); err != nil {
		b.Fatal(err)
	}
	main := configured(b, "/etc/nginx/nginx.conf", folder, "user www-data;", "daemon off; user "+owner.Username+";", "/run/nginx.pid", folder+"/pid",
		"/var/log/nginx/error.log", "stderr", "/var/log/nginx/access.log", "off", "worker_connections 768;", "worker_connections 1024;",
		"/etc/nginx/conf.d/", sites+"/", "include /etc/nginx/sites-enabled/*;", "")
	p := newProcess(b, "nginx", "")
	p.endWithTest("nginx", "-c", main, "-e", "stderr")
	p.start()
	eventually(b, 30*time.Second, "nginx", listens(address))
	return "http://" + address
}

// startVarnish starts Varnish with deploy/cache/default.vcl and returns its URL.
func startVarnish(b *testing.B, origin string) string {
	b.Helper()
	address := apitest.FreeAddress(b)
	host, port, err := net.SplitHostPort(origin)
	if err != nil {
		b.Fatal(err)
	}
	file := configured(b, "../cache/default.vcl", b.TempDir(), `"127.0.0.1"`, `"`+host+`"`, `"8080"`, `"`+port+`"`, `"status.example.com"`, `"127.0.0.1"`)
	p := newProcess(b, "varnishd", "")
	p.endWithTest("varnishd", "-F", "-j", "none", "-a", address, "-f", file, "-n", b.TempDir(), "-s", "malloc,64m")
	p.start()
	eventually(b, 60*time.Second, "Varnish", listens(address))
	return "http://" + address
}

// visitorCrowd are the visitors of a dashboard behind a cache.
type visitorCrowd struct {
	actor
	b      *testing.B
	origin *origin
	front  string // URL of the cache
	files  []crowdFile
	client *http.Transport
	uri    string // resource_uri of a service of the legacy interface
	event  string
	writes int
}

// crowdFile is a file that visitors request.
type crowdFile struct {
	host, path string
	status     int
}

// codings are values of Accept-Encoding as browsers and programs send them.
var codings = []string{"gzip, deflate, br, zstd", "gzip, deflate, br", "gzip, deflate", "gzip", "identity", "", "br;q=1.0, gzip;q=0.8, *;q=0.1", "gzip;q=1.0,deflate;q=0.6,identity;q=0.3"}

// prepare writes the incidents and lists the files, with the statuses that the gateway itself returns.
func (c *visitorCrowd) prepare() {
	c.b.Helper()
	c.client = &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true}
	c.b.Cleanup(c.client.CloseIdleConnections)
	component := ""
	c.uri, component = c.service("Checkout")
	send(c.b, http.MethodPatch, c.BaseURL+"/app/dashboards/"+c.DashboardID, c.app(), map[string]any{"customDomains": []string{crowdDomain}}).expect(c.b, http.StatusOK)
	c.write()
	var open struct{ Incidents []struct{ ID string } }
	direct := looker{t: c.b, base: c.BaseURL}
	direct.visit("GET", "/d/"+c.DashboardSlug+"/api/v2/incidents/unresolved.json", nil).expect(c.b, http.StatusOK).into(c.b, &open)
	c.event = open.Incidents[0].ID
	paths := append(filePaths(component, c.event), "/nothing", "/incidents/"+c.event, "/api/v2/nothing.json", "/feed.rss/")
	for _, path := range paths {
		if strings.HasSuffix(path, "/api/v1/dashboard/") {
			continue // no cache may store the legacy list
		}
		c.files = append(c.files, crowdFile{"", "/d/" + c.DashboardSlug + path, 0}, crowdFile{crowdDomain, path, 0})
	}
	c.files = append(c.files, crowdFile{"", "/d/" + c.DashboardSlug, 0}, crowdFile{"", "/d/nobody/", 0}, crowdFile{"other.example", "/", 0})
	for i, file := range c.files {
		direct.host = file.host
		c.files[i].status = direct.visit("GET", file.path, nil).status
	}
}

// write opens an incident with the next number in its text, and returns the time of the response.
func (c *visitorCrowd) write() time.Time {
	c.writes++
	send(c.b, http.MethodPost, c.BaseURL+"/api/v1/event/list/", c.legacy(), incident(c.uri, fmt.Sprintf("Incident number %d.", c.writes))).expect(c.b, http.StatusCreated)
	return time.Now()
}

// newest returns the highest number of an incident on a page.
func (c *visitorCrowd) newest(page []byte) int {
	for n := 100; n > 0; n-- {
		if bytes.Contains(page, fmt.Appendf(nil, "Incident number %d.", n)) {
			return n
		}
	}
	return 0
}

// request sends one request to the cache.
func (c *visitorCrowd) request(file crowdFile, path string, header ...string) (answer, error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, c.front+path, nil)
	if err != nil {
		return answer{}, err
	}
	request.Host = file.host
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.client.RoundTrip(request)
	if err != nil {
		return answer{}, err
	}
	return readAnswer(response)
}

// come sends crowdRate requests a second for crowdTime. Their query strings, languages, cookies and content codings are those of
// many visitors. Each time when the gateway has sent the page, an incident is written, so that the cache has just stored the
// page from before.
func (c *visitorCrowd) come() {
	c.b.Helper()
	c.origin.forget()
	page, pageKey := crowdFile{"", "/d/" + c.DashboardSlug + "/", http.StatusOK}, "/d/"+c.DashboardSlug+"/ "
	total := int64(crowdRate * crowdTime.Seconds())
	var next, failed, oldest atomic.Int64
	var mu sync.Mutex
	written := []time.Time{{}} // the time of the response to each write
	times := make([]time.Duration, total)
	begin := time.Now()
	var visitors sync.WaitGroup
	for range 64 {
		visitors.Go(func() {
			random := rand.New(rand.NewPCG(rand.Uint64(), 1))
			for {
				n := next.Add(1) - 1
				if n >= total {
					return
				}
				file, coding := c.files[random.IntN(len(c.files))], codings[random.IntN(len(codings))]
				looks := n%8 == 0
				if looks {
					file, coding = page, "identity"
				}
				time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / crowdRate)))
				at := time.Now()
				got, err := c.request(file, file.path+fmt.Sprintf("?utm_source=mail&x=%d", random.Int()), "Accept-Encoding", coding,
					"Accept-Language", []string{"de", "en-GB,en;q=0.8", "ja"}[random.IntN(3)], "Cookie", fmt.Sprintf("_ga=%d", random.Int()),
					"X-Request-Id", fmt.Sprintf("visitor-%d", n), "User-Agent", fmt.Sprintf("Mozilla/5.0 %d", n%50))
				times[n] = time.Since(at)
				if err != nil || got.status != file.status || got.header.Get("Set-Cookie") != "" {
					if failed.Add(1) <= 5 {
						c.b.Errorf("%s%s: %v, status %d instead of %d: %.200s", file.host, file.path, err, got.status, file.status, got.body)
					}
				}
				if looks {
					seen := c.newest(got.body)
					mu.Lock()
					if seen < len(written) && at.After(written[seen]) && seen > 0 {
						oldest.Store(max(oldest.Load(), int64(at.Sub(written[seen]))))
					}
					mu.Unlock()
				}
			}
		})
	}
	for n, ended := 1, false; !ended; {
		ended = next.Load() >= total
		if c.origin.count(pageKey) >= n {
			n = c.origin.count(pageKey) + 1
			mu.Lock()
			written = append(written, c.write())
			mu.Unlock()
		}
		time.Sleep(5 * time.Millisecond)
	}
	visitors.Wait()
	took := time.Since(begin)
	slices.Sort(times)
	most, of, all := c.origin.most()
	c.b.Logf("%d requests in %v; %d reached the gateway, at most %d in 10 s for one file (%s)", total, took.Round(time.Millisecond), all, most, of)
	c.b.ReportMetric(float64(total)/took.Seconds(), "req/s")
	c.b.ReportMetric(float64(most), "of-a-file-in-10s")
	c.b.ReportMetric(float64(all), "at-the-gateway")
	c.b.ReportMetric(time.Duration(oldest.Load()).Seconds(), "s-old")
	c.b.ReportMetric(float64(times[total*99/100].Microseconds())/1000, "ms-p99")
	c.b.ReportMetric(float64(times[total-1].Microseconds())/1000, "ms-most")
	if failed.Load() > 0 {
		c.b.Errorf("%d requests failed", failed.Load())
	}
}

// rest waits until the copies of the cache are too old to be served.
func (c *visitorCrowd) rest() { time.Sleep(pageLifetime + time.Second) }

// arriveAfterQuiet sends 256 requests at once for files whose copies are old. All visitors see the last write, and one request
// for each file reaches the gateway.
func (c *visitorCrowd) arriveAfterQuiet() {
	c.b.Helper()
	c.rest()
	c.write()
	c.origin.forget()
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1300 * time.Millisecond))) // nginx counts seconds of the clock
	var visitors sync.WaitGroup
	for n := range 256 {
		visitors.Go(func() {
			file := crowdFile{"", "/d/" + c.DashboardSlug + "/", 0}
			if n%2 == 1 {
				file = crowdFile{crowdDomain, "/feed.rss", 0}
			}
			got, err := c.request(file, fmt.Sprintf("%s?x=%d", file.path, n), "Accept-Encoding", "identity")
			if err != nil || got.status != http.StatusOK || c.newest(got.body) != c.writes {
				c.b.Errorf("%s after a quiet time: %v, %d, incident %d of %d", file.path, err, got.status, c.newest(got.body), c.writes)
			}
		})
	}
	visitors.Wait()
	most, of, all := c.origin.most()
	if c.b.ReportMetric(float64(most), "of-a-file-after-quiet"); most != 1 || all != 2 {
		c.b.Errorf("256 visitors after a quiet time: %d requests reached the gateway, %d for %s", all, most, of)
	}
}

// passConditions compares the responses through the cache with those of the gateway: headers, HEAD, and 304.
func (c *visitorCrowd) passConditions() {
	c.b.Helper()
	behind, direct := looker{t: c.b, base: c.front}, looker{t: c.b, base: c.BaseURL} // visit would repeat requests until the cache has no copy
	c.rest()
	for _, path := range []string{"/", "/feed.rss", "/api/v2/summary.json", "/badge.svg", "/maintenance.ics", "/embed.js"} {
		at := "/d/" + c.DashboardSlug + path
		got, want := behind.once("GET", at, nil, "Accept-Encoding", "gzip").expect(c.b, http.StatusOK), direct.visit("GET", at, nil, "Accept-Encoding", "gzip").expect(c.b, http.StatusOK)
		for _, name := range []string{"Content-Type", "Content-Encoding", "Etag", "Cache-Control", "Vary", "Content-Security-Policy", "Access-Control-Allow-Origin", "X-Content-Type-Options"} {
			if got.header.Get(name) != want.header.Get(name) {
				c.b.Errorf("%s: %s %q instead of %q", path, name, got.header.Get(name), want.header.Get(name))
			}
		}
		if !bytes.Equal(got.body, want.body) || got.header.Get("X-Request-Id") == want.header.Get("X-Request-Id") {
			c.b.Errorf("%s: another body, or the request id of another visitor: %v", path, got.header)
		}
		c.origin.forget()
		if head := behind.once("HEAD", at, nil, "Accept-Encoding", "gzip").expect(c.b, http.StatusOK); len(head.body) != 0 || head.header.Get("Etag") != want.header.Get("Etag") {
			c.b.Errorf("HEAD %s: %v", path, head.header)
		}
		behind.once("GET", at, nil, "Accept-Encoding", "gzip", "If-None-Match", want.header.Get("Etag")).expect(c.b, http.StatusNotModified)
		if n := c.origin.count(path); n > 0 {
			c.b.Errorf("HEAD or If-None-Match of %s reached the gateway %d times", path, n)
		}
	}
	browser := behind.once("GET", "/d/nobody/", nil, "Accept", "text/html,*/*").expect(c.b, http.StatusNotFound)
	program := behind.once("GET", "/d/nobody/", nil, "Accept", "*/*").expect(c.b, http.StatusNotFound)
	if !bytes.Contains(browser.body, []byte("<html")) || bytes.Contains(program.body, []byte("<html")) {
		c.b.Errorf("an unknown dashboard for a browser and a program: %.80s; %.80s", browser.body, program.body)
	}
}

// from returns a visitor with another address. Its own X-Forwarded-For has no effect.
func (c *visitorCrowd) from(ip string) func(method, path string, form url.Values, header ...string) answer {
	transport := &http.Transport{DisableCompression: true, DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).DialContext}
	c.b.Cleanup(transport.CloseIdleConnections)
	return func(method, path string, form url.Values, header ...string) answer {
		c.b.Helper()
		request, err := http.NewRequestWithContext(c.b.Context(), method, c.front+path, strings.NewReader(form.Encode()))
		if err != nil {
			c.b.Fatal(err)
		}
		if form != nil {
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			c.b.Fatal(err)
		}
		got, err := readAnswer(response)
		if err != nil {
			c.b.Fatal(err)
		}
		return got
	}
}

// keepPrivate checks what no cache may store: a dashboard with a password or a list of addresses, and responses to keys. The
// gateway sees the address of each visitor.
func (c *visitorCrowd) keepPrivate(forgets bool) {
	c.b.Helper()
	closed := actor{c.b, provision(c.b, c.BaseURL, fmt.Sprint("Closed ", c.writes), fmt.Sprint("closed-", c.writes), "admin", "api")}
	service, _ := closed.service("Ledger")
	send(c.b, http.MethodPost, c.BaseURL+"/api/v1/event/list/", closed.legacy(), incident(service, "Words for members")).expect(c.b, http.StatusCreated)
	page := "/d/" + closed.DashboardSlug + "/"
	words := []byte("Words for members")
	access := func(of map[string]any) {
		send(c.b, http.MethodPatch, c.BaseURL+"/app/dashboards/"+closed.DashboardID, closed.app(), map[string]any{"access": of}).expect(c.b, http.StatusOK)
	}
	one, two, three := c.from("127.0.0.1"), c.from("127.0.0.2"), c.from("127.0.0.3")
	one("GET", page, nil).expect(c.b, http.StatusOK)
	one("GET", page+"history", nil).expect(c.b, http.StatusOK)
	unchanged := []string{page + "badge.svg", page + "maintenance.ics"} // their bytes are the same after the dashboard became private
	for _, path := range unchanged {
		one("GET", path, nil).expect(c.b, http.StatusOK)
	}
	access(map[string]any{"mode": "password", "password": "correct horse"})
	c.rest()
	refused := func(visit func(string, string, url.Values, ...string) answer, header ...string) {
		c.b.Helper()
		if got := visit("GET", page, nil, header...).expect(c.b, http.StatusForbidden); bytes.Contains(got.body, words) || got.header.Get("Cache-Control") != "private, no-store" {
			c.b.Errorf("refused: %v %.200s", got.header, got.body)
		}
	}
	refused(one)
	entered := two("POST", page+"enter", url.Values{"password": {"correct horse"}}).expect(c.b, http.StatusSeeOther)
	cookie, _, _ := strings.Cut(entered.header.Get("Set-Cookie"), ";")
	if !strings.HasPrefix(cookie, peer.PasswordCookie+"=") {
		c.b.Errorf("no cookie after the password: %v", entered.header)
	}
	for range 3 {
		if got := two("GET", page, nil, "Cookie", cookie).expect(c.b, http.StatusOK); !bytes.Contains(got.body, words) {
			c.b.Errorf("the page lacks its words: %.200s", got.body)
		}
		refused(one)
		refused(one, "Cookie", "_ga=1")
	}
	feed := feedAddress(c.b, two("GET", page, nil, "Cookie", cookie).body, "feed.rss")
	for range 2 {
		two("GET", page+feed, nil).expect(c.b, http.StatusOK)
		one("GET", page+"feed.rss", nil).expect(c.b, http.StatusForbidden)
		one("GET", page+"feed.rss?key=other", nil).expect(c.b, http.StatusForbidden)
	}
	for n := range 10 { // each try has another invented address
		three("POST", page+"enter", url.Values{"password": {"wrong"}}, "X-Forwarded-For", fmt.Sprint("198.51.100.", n)).expect(c.b, http.StatusForbidden)
	}
	three("POST", page+"enter", url.Values{"password": {"correct horse"}}, "X-Forwarded-For", "198.51.100.99").expect(c.b, http.StatusTooManyRequests)
	one("POST", page+"enter", url.Values{"password": {"correct horse"}}).expect(c.b, http.StatusSeeOther)

	access(map[string]any{"mode": "ipAllowlist", "allowedIps": []string{"127.0.0.2"}})
	var visitors sync.WaitGroup
	for range 8 {
		visitors.Go(func() {
			if got := two("GET", page, nil); got.status != http.StatusOK || !bytes.Contains(got.body, words) {
				c.b.Errorf("a visitor from a listed address gets %d", got.status)
			}
		})
		visitors.Go(func() {
			for _, name := range []string{"X-Forwarded-For", "Forwarded", "X-Real-IP"} {
				if got := one("GET", page, nil, name, map[bool]string{true: "for=127.0.0.2", false: "127.0.0.2"}[name == "Forwarded"]); got.status != http.StatusForbidden {
					c.b.Errorf("a visitor who invents %s gets %d", name, got.status)
				}
			}
		})
	}
	visitors.Wait()
	for _, path := range unchanged {
		for range 2 {
			two("GET", path, nil).expect(c.b, http.StatusOK)
			one("GET", path, nil).expect(c.b, http.StatusForbidden)
		}
	}

	for _, of := range []struct{ path, authorization string }{
		{"/app/components", closed.app()}, {"/app/dashboards/" + closed.DashboardID, closed.app()}, {"/api/v1/service/", closed.legacy()},
		{"/operator/v1/organizations", closed.operator()},
	} {
		for range 2 {
			if got := one("GET", of.path, nil, "Authorization", of.authorization); got.status != http.StatusOK {
				c.b.Errorf("%s with a key: %d", of.path, got.status)
			}
			if got := one("GET", of.path, nil); got.status == http.StatusOK {
				c.b.Errorf("%s without a key: %d", of.path, got.status)
			}
		}
	}
	list := "/d/" + c.DashboardSlug + "/api/v1/dashboard/"
	for _, path := range []string{list, list + "?limit=1", "/public/manage?token=a", "/public/confirm?token=a", "/public/endpoints/manage?token=a", "/console/sign-in", "/"} {
		c.origin.forget()
		one("GET", path, nil)
		two("GET", path, nil)
		if n := c.origin.count(" " + path + " "); n != 2 {
			c.b.Errorf("%s reached the gateway %d times instead of 2", path, n)
		}
	}

	c.origin.stop(c.b)
	for _, path := range []string{"", "history", "feed.rss"} {
		if got := one("GET", page+path, nil); got.status < 500 && (forgets || path == "feed.rss") {
			c.b.Errorf("%q of a private dashboard, while the gateway is down: %d %.200s", path, got.status, got.body)
		}
	}
	c.origin.start(c.b)
}

// outlive checks what visitors get while the gateway fails, and after it.
func (c *visitorCrowd) outlive() {
	c.b.Helper()
	page := crowdFile{"", "/d/" + c.DashboardSlug + "/", 0}
	eventually(c.b, 10*time.Second, "the gateway is back", func() error {
		got, err := c.request(page, page.path, "Accept-Encoding", "identity")
		if err == nil && got.status != http.StatusOK {
			err = fmt.Errorf("status %d", got.status)
		}
		return err
	})
	served := c.writes
	for _, failure := range []struct {
		name       string
		begin, end func()
	}{
		{"503", func() { c.origin.failing.Store(true) }, func() { c.origin.failing.Store(false) }},
		{"no gateway", func() { c.origin.stop(c.b) }, func() { c.origin.start(c.b) }},
		{"no response", func() { c.origin.hanging.Store(new(make(chan struct{}))) }, func() { close(*c.origin.hanging.Swap(nil)) }},
	} {
		c.rest()
		failure.begin()
		c.write()
		var visitors sync.WaitGroup
		for n := range 20 {
			visitors.Go(func() {
				began := time.Now()
				got, err := c.request(page, fmt.Sprintf("%s?x=%d", page.path, n), "Accept-Encoding", "identity")
				if waited := time.Since(began); waited > 20*time.Second { // the caches wait 7 s for a response
					c.b.Errorf("%s: a visitor waited %v", failure.name, waited)
				}
				if err != nil || got.status != http.StatusOK || c.newest(got.body) != served {
					c.b.Errorf("%s: %v, %d, incident %d instead of %d", failure.name, err, got.status, c.newest(got.body), served)
				}
			})
		}
		visitors.Wait()
		unknown := fmt.Sprintf("/d/%s/events/%s-%d", c.DashboardSlug, strings.ReplaceAll(failure.name, " ", "-"), c.writes)
		for range 3 {
			if got, err := c.request(page, unknown); err != nil || got.status < 500 {
				c.b.Errorf("%s, a file that was never stored: %v, %d", failure.name, err, got.status)
			}
		}
		failure.end()
		since := time.Now()
		eventually(c.b, 10*time.Second, "the gateway is back", func() error {
			got, err := c.request(page, unknown)
			if err == nil && got.status != http.StatusNotFound {
				err = fmt.Errorf("status %d", got.status)
			}
			return err
		})
		eventually(c.b, 10*time.Second, "the write during the failure is shown", func() error {
			got, err := c.request(page, page.path, "Accept-Encoding", "identity")
			if err == nil && c.newest(got.body) != c.writes {
				err = fmt.Errorf("incident %d instead of %d", c.newest(got.body), c.writes)
			}
			return err
		})
		c.b.Logf("%s: visitors see the write %v after its end", failure.name, time.Since(since).Round(time.Millisecond))
		served = c.writes
	}
}
