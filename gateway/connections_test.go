package gateway

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/wire"
)

func TestConnectionsToServicesAreKept(t *testing.T) {
	w := newWorld(t)
	var made atomic.Int64
	plain := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch r.URL.RawQuery {
		case "chunked":
			io.WriteString(out, "one")
			out.(http.Flusher).Flush()
			io.WriteString(out, " two")
		case "hints":
			out.WriteHeader(http.StatusEarlyHints)
			io.WriteString(out, "after hints")
		case "large":
			io.WriteString(out, strings.Repeat("x", 200<<10))
		case "nothing":
			out.WriteHeader(http.StatusNoContent)
		case "not-modified":
			out.Header().Set("Etag", `"1"`)
			out.WriteHeader(http.StatusNotModified)
		case "close":
			out.Header().Set("Connection", "close")
			io.WriteString(out, "last")
		default:
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			out.Write(body)
		}
	}))
	plain.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	plain.Start()
	defer plain.Close()
	d := w.gateway(t, func(c *Config) { c.EventsURL = plain.URL })
	m := w.keys.member(func(c *peer.Credential) { c.Limits.LegacyPerHour = 1 << 20 })
	header := map[string]string{"Authorization": m.apiKey()}
	check := func(method, query, body, want string, status int) {
		t.Helper()
		g := d.do(t, method, "/api/v1/service/?"+query, body, header)
		if g.status != status || g.body != want {
			t.Fatalf("%s %s: %d %.80q", method, query, g.status, g.body)
		}
	}
	all := func() {
		t.Helper()
		check("GET", "chunked", "", "one two", 200)
		check("HEAD", "large", "", "", 200)
		check("GET", "hints", "", "after hints", 200)
		check("GET", "large", "", strings.Repeat("x", 200<<10), 200)
		check("GET", "nothing", "", "", 204)
		check("GET", "not-modified", "", "", 304)
		check("POST", "echo", `{"a":1}`, `{"a":1}`, 200)
		check("POST", "echo", "", "", 200)
		check("POST", "echo", strings.Repeat("y", wire.MaxBody), strings.Repeat("y", wire.MaxBody), 200)
	}
	before := made.Load()
	all()
	all()
	if n := made.Load() - before; n != 1 {
		t.Errorf("%d connections for requests one after another", n)
	}
	check("GET", "close", "", "last", 200)
	all()
	// A connection that the service has closed is not used again, even for a write, which cannot be repeated.
	for range 5 {
		plain.CloseClientConnections()
		check("POST", "echo", "again", "again", 200)
	}
}

func TestOnlyReadsAreSentTwice(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	header := map[string]string{"Authorization": w.keys.member(nil).apiKey()}
	for method, want := range map[string]int64{"GET": 2, "POST": 1} {
		w.services[events].handle(func(out http.ResponseWriter, _ *http.Request) { io.WriteString(out, "kept") })
		wantStatus(t, d.get(t, "/api/v1/service/", header), 200) // this leaves a kept connection
		w.services[events].handle(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		before := w.services[events].calls.Load()
		wantError(t, d.do(t, method, "/api/v1/service/", "", header), 503, noService)
		if n := w.services[events].calls.Load() - before; n != want {
			t.Errorf("%s arrived %d times", method, n)
		}
	}
}

func TestABodyThatBreaksOffReachesNoService(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST /api/v1/service/ HTTP/1.1\r\nHost: x\r\nAuthorization: "+m.apiKey()+"\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	response, err := io.ReadAll(conn)
	conn.Close()
	if err == nil && len(response) > 0 && !(strings.HasPrefix(string(response), "HTTP/1.1 400 ") && strings.Contains(string(response), brokenOffBody)) {
		t.Errorf("%q", response)
	}
	if n := w.services[events].calls.Load(); n != 0 {
		t.Errorf("the service was called %d times", n)
	}
}
