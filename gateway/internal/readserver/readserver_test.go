package readserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/readserver"
	"github.com/bellbuoy/bellbuoy/libs/boot"
)

const large = 32 << 20 // more bytes than the buffers of a connection hold

// site returns a handler whose responses show the request that it received. It counts the requests in served.
func site(served *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		h := w.Header()
		h["X-Twice"] = []string{"one", "two"}
		switch r.URL.Path {
		case "/read/not-modified":
			w.WriteHeader(http.StatusNotModified)
			return
		case "/read/moved":
			h.Set("Location", "/elsewhere")
			h.Set("Content-Length", "0")
			w.WriteHeader(http.StatusPermanentRedirect)
			return
		case "/read/panic":
			panic(http.ErrAbortHandler)
		}
		h.Set("Content-Type", "text/plain")
		body := fmt.Sprintf("%s %s %s %s from %t\n", r.Method, r.Host, r.RequestURI, r.URL.Path, r.RemoteAddr != "")
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			body += fmt.Sprintf("%s: %q\n", name, r.Header[name])
		}
		if r.URL.Path == "/read/large" {
			body += strings.Repeat("x", large)
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		if r.URL.Path == "/read/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
		if r.URL.Path == "/read/short" {
			body = body[1:]
		}
		half := len(body) / 2
		io.WriteString(w, body[:half])
		io.WriteString(w, body[half:])
	})
}

// start starts a server of net/http and returns its address. If both is true, package readserver serves the reads below
// /read/.
func start(t testing.TB, both bool) (address string, quick, usual *atomic.Int64, stop func() error) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	quick, usual = &atomic.Int64{}, &atomic.Int64{}
	listener, wait := inner, func() {}
	if both {
		own := readserver.Listen(inner, func(r *http.Request) http.Handler {
			if strings.HasPrefix(r.URL.Path, "/read/") {
				return site(quick)
			}
			return nil
		})
		listener, wait = own, own.Wait
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := boot.ServeHTTP(ctx, listener, site(usual))
		wait()
		ended <- err
	}()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return inner.Addr().String(), quick, usual, stop
}

func dial(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil { // for a slow machine
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// exchange sends the bytes and returns what the server sends until the connection ends. The result shows whether the
// connection was reset, but not how.
func exchange(t testing.TB, address string, sent []byte) string {
	t.Helper()
	conn := dial(t, address)
	defer conn.Close()
	if _, err := conn.Write(sent); err == nil {
		_ = conn.CloseWrite() // fails if the server has closed the connection
	}
	received, err := io.ReadAll(conn)
	if err, ok := errors.AsType[net.Error](err); ok && err.Timeout() {
		t.Fatalf("no end of the connection after %q", sent)
	}
	return readable(received, sent)
}

// readable returns the responses, each with its headers sorted and without the date. It omits a 400 that follows
// another response: after wrong bytes between requests, net/http sometimes sends no 400.
func readable(received, sent []byte) string {
	var out strings.Builder
	in, requests := bufio.NewReader(bytes.NewReader(received)), bufio.NewReader(bytes.NewReader(sent))
	for {
		request, err := http.ReadRequest(requests) // ReadResponse needs the method to know whether a response has a body
		if err == nil {
			io.Copy(io.Discard, request.Body)
		}
		response, err := http.ReadResponse(in, request)
		if err != nil {
			if rest, _ := io.ReadAll(in); len(rest) > 0 { // bytes that are no response
				fmt.Fprintf(&out, "rest %q", rest)
			}
			return out.String()
		}
		if response.StatusCode == http.StatusBadRequest && out.Len() > 0 {
			return out.String()
		}
		body, err := io.ReadAll(response.Body)
		if _, err := http.ParseTime(response.Header.Get("Date")); err != nil && response.StatusCode < 400 {
			fmt.Fprintf(&out, "date: %v", err)
		}
		response.Header.Del("Date")
		fmt.Fprintf(&out, "%s %s %q %v\n%s\n%v\n", response.Proto, response.Status, response.Header, response.ContentLength, body, err)
	}
}

// requests are valid and invalid requests that clients send.
var requests = []string{
	"GET /read/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"HEAD /read/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/a?b=c&d HTTP/1.1\r\nHost: x:80\r\nAccept-Encoding: gzip, br\r\naccept-encoding: x\r\nX-Request-Id:  padded\t \r\n\r\n",
	"GET /read/%61%2Fb HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nCookie: a=b\r\n\r\n",
	"GET /read/not-modified HTTP/1.1\r\nHost: x\r\n\r\nGET /read/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/moved HTTP/1.1\r\nHost: x\r\n\r\nHEAD /read/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/moved HTTP/1.1\r\nHost: x\r\n\r\nHEAD /read/a HTTP/1.1\r\nHost: x\r\n\r\n*",
	"GET /read/missing HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/large HTTP/1.1\r\nHost: x\r\n\r\nGET /read/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/panic HTTP/1.1\r\nHost: x\r\n\r\nGET /read/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/short HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\n\r\nGET /other HTTP/1.1\r\nHost: x\r\n\r\nGET /read/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\n\r\nPOST /read/b HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbodyGET /read/c HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbodyGET /read/c HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: a\r\n\r\n",
	"GET /read/a HTTP/1.0\r\n\r\n",
	"GET /read/a HTTP/1.0\r\nConnection: keep-alive\r\nHost: x\r\n\r\n",
	"GET /read/a HTTP/1.1\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost:\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost:\r\nHost: y\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x y\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nname\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\n: no name\r\n\r\n",
	"GET /read/a HTTP/1.1\r\n Host: x\r\n\r\n",
	"GET /read/a HTTP/1.1\nHost: x\n\n",
	"GET /read/a HTTP/1.1\nHost: x\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
	"\r\n\r\nGET /read/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET http://y/read/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET //read/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/a b HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/% HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/a\x7f HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/a#b HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET  /read/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/a HTTP/1.1 \r\nHost: x\r\n\r\n",
	"get /read/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 8<<10) + "\r\n\r\nGET /read/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 64<<10) + "\r\n\r\n",
	"GET /read/" + strings.Repeat("a", 5000) + " HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /read/a HTTP/1.1\r\nHost: x\r\n",
	"G",
	"",
}

// For each request, the client receives the same bytes as from net/http alone.
func TestResponsesAreThoseOfNetHTTP(t *testing.T) {
	address, quick, _, _ := start(t, true)
	control, _, _, _ := start(t, false)
	for _, request := range requests {
		got, want := exchange(t, address, []byte(request)), exchange(t, control, []byte(request))
		if got != want {
			t.Errorf("%.200q\ngot  %.1000s\nwant %.1000s", request, got, want)
		}
	}
	if n := quick.Load(); n < 15 {
		t.Errorf("package readserver has served only %d requests", n)
	}
}

func FuzzResponsesAreThoseOfNetHTTP(f *testing.F) {
	address, _, _, _ := start(f, true)
	control, _, _, _ := start(f, false)
	for _, request := range requests {
		f.Add([]byte(request))
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		got, want := exchange(t, address, request), exchange(t, control, request)
		if strings.Contains(got, "HTTP/1.0 has no Transfer-Encoding") {
			return // TestARequestThatHidesItsEndIsRefused tests this case
		}
		if got != want {
			t.Errorf("%q\ngot  %s\nwant %s", request, got, want)
		}
	})
}

// net/http serves a request with both Content-Length and Transfer-Encoding, and the request that follows. Package
// readserver refuses both.
func TestARequestThatHidesItsEndIsRefused(t *testing.T) {
	address, _, usual, _ := start(t, true)
	for _, request := range []string{
		"GET /read/a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST /other HTTP/1.1\r\nHost: x\r\ntransfer-encoding:\r\n chunked\r\nCONTENT-LENGTH:4\r\n\r\n",
		"POST /other HTTP/1.1\nHost: x\nContent-Length: 4\nTransfer-Encoding: chunked\n\n",
		"POST /other HTTP/1.0\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n",
	} {
		conn := dial(t, address)
		io.WriteString(conn, "HEAD /read/a HTTP/1.1\r\nHost: x\r\n\r\n"+request+"0\r\n\r\nGET /read/b HTTP/1.1\r\nHost: x\r\n\r\n")
		in := bufio.NewReader(conn)
		for _, want := range []int{200, 400} {
			response, err := http.ReadResponse(in, &http.Request{Method: map[int]string{200: "HEAD"}[want]})
			if err != nil {
				t.Fatalf("%q: %v instead of %d", request, err, want)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != want || want == 400 && (!response.Close || !json.Valid(body)) {
				t.Errorf("%q: %d %q %v", request, response.StatusCode, body, err)
			}
		}
		if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
			t.Errorf("%q: then %q %v", request, rest, err)
		}
	}
	if n := usual.Load(); n > 0 {
		t.Errorf("net/http has served %d requests", n)
	}
}

// A head that arrives byte by byte is served like one that arrives as a whole. All reads on a connection are served by
// package readserver.
func TestAConnectionServesManyReads(t *testing.T) {
	address, quick, usual, _ := start(t, true)
	conn := dial(t, address)
	in := bufio.NewReader(conn)
	want := func(path string) {
		t.Helper()
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != 200 || !strings.Contains(string(body), " "+path+" ") {
			t.Fatalf("%d %q %v", response.StatusCode, body, err)
		}
	}
	for _, part := range strings.Split("GET /read/a HTTP/1.1\r\nHost: x\r\n\r\n", "") {
		if _, err := io.WriteString(conn, part); err != nil {
			t.Fatal(err)
		}
	}
	want("/read/a")
	io.WriteString(conn, "GET /read/b HTTP/1.1\r\nHost: x\r\n\r\nGET /read/c HTTP/1.1\r\nHost: x\r\n\r\nGET /read/d HT")
	want("/read/b")
	want("/read/c")
	io.WriteString(conn, "TP/1.1\r\nHost: x\r\n\r\n")
	want("/read/d")
	if quick.Load() != 4 || usual.Load() != 0 {
		t.Errorf("%d and %d", quick.Load(), usual.Load())
	}
	io.WriteString(conn, "GET /other HTTP/1.1\r\nHost: x\r\n\r\nGET /read/e HTTP/1.1\r\nHost: x\r\n\r\n")
	want("/other")
	want("/read/e")
	if quick.Load() != 4 || usual.Load() != 2 {
		t.Errorf("after a request for net/http: %d and %d", quick.Load(), usual.Load())
	}
}

// single is a listener with one connection.
type single struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (s single) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conn:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s single) Close() error {
	close(s.closed)
	return nil
}

func (s single) Addr() net.Addr { return nil }

// The header Date of each response on a connection is the time of this response.
func TestTheDateIsThatOfTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		inner := single{make(chan net.Conn, 1), make(chan struct{})}
		inner.conn <- server
		listener := readserver.Listen(inner, func(*http.Request) http.Handler { return site(&atomic.Int64{}) })
		in := bufio.NewReader(client)
		for range 4 {
			if _, err := io.WriteString(client, "GET /read/a HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Fatal(err)
			}
			if at, err := http.ParseTime(response.Header.Get("Date")); err != nil || !at.Equal(time.Now().Truncate(time.Second)) {
				t.Errorf("the date is %v at %v, %v", at, time.Now(), err)
			}
			time.Sleep(700 * time.Millisecond) // on synctest's clock
		}
		_ = client.Close()
		_ = listener.Close()
		listener.Wait()
	})
}

// The server closes the connection of a client that sends nothing, or only a part of a head.
func TestASilentClientIsDisconnected(t *testing.T) {
	t.Parallel()
	address, _, _, _ := start(t, true)
	for name, part := range map[string]string{"nothing": "", "part": "GET /read/a HTTP/1.1\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			conn := dial(t, address)
			io.WriteString(conn, part)
			if received, err := io.ReadAll(conn); len(received) > 0 || err != nil {
				t.Errorf("%q %v", received, err)
			}
			if waited := time.Since(began); waited < boot.HeaderTimeout-time.Second {
				t.Errorf("waited for %v only", waited)
			}
		})
	}
}

// A stop closes connections without a request at once. It waits for a response that the client reads slowly.
func TestAStopFinishesResponsesUnderWay(t *testing.T) {
	address, _, _, stop := start(t, true)
	idle, slow := dial(t, address), dial(t, address)
	fresh := bufio.NewReader(idle)
	io.WriteString(idle, "GET /read/a HTTP/1.1\r\nHost: x\r\n\r\n")
	if response, err := http.ReadResponse(fresh, nil); err != nil {
		t.Fatal(err)
	} else if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	io.WriteString(slow, "GET /read/large HTTP/1.1\r\nHost: x\r\n\r\n")
	first := make([]byte, 1)
	if _, err := io.ReadFull(slow, first); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	if _, err := fresh.ReadByte(); err != io.EOF {
		t.Errorf("the idle connection: %v", err)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("the listener is open")
	}
	select {
	case err := <-stopped:
		t.Fatalf("stopped during a response: %v", err)
	default:
	}
	response, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader(first), slow)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(response.Body); err != nil || len(body) < large {
		t.Errorf("%d bytes: %v", len(body), err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// BenchmarkRead compares a read of 8 KB through package readserver with the same read through net/http.
func BenchmarkRead(b *testing.B) {
	for name, both := range map[string]bool{"reads": true, "net-http": false} {
		b.Run(name, func(b *testing.B) {
			address, _, _, _ := start(b, both)
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for b.Loop() {
				response, err := client.Get("http://" + address + "/read/a")
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, response.Body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
