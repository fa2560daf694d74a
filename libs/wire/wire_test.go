package wire_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/wire"
)

// server is a server for every host name that counts its connections.
type server struct {
	*httptest.Server
	made, ended atomic.Int64
}

func serve(t *testing.T, secure bool, handle http.HandlerFunc) *server {
	s := &server{Server: httptest.NewUnstartedServer(handle)}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.made.Add(1)
		case http.StateClosed:
			s.ended.Add(1)
		}
	}
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *server) dial(ctx context.Context, _ string) (net.Conn, error) {
	plain, err := new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
	if err != nil || s.TLS == nil {
		return plain, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	secured := tls.Client(plain, &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS13})
	return secured, secured.HandshakeContext(ctx)
}

func (s *server) client(change func(*wire.Options)) *wire.Client {
	o := wire.Options{PerHost: 4, Total: 8, Idle: time.Minute, MaxHead: 8 << 10, Dial: s.dial}
	if change != nil {
		change(&o)
	}
	return wire.New(o)
}

// ask sends a request and reads the whole response.
func ask(ctx context.Context, c *wire.Client, method, address, body string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("X-Name", "value")
	answer, err := c.Do(r, []byte(body), method == http.MethodGet)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), errors.Join(err, answer.Body.Close())
}

func wantAnswer(t *testing.T, c *wire.Client, method, address, body string, status int, text string) {
	t.Helper()
	if gotStatus, got, err := ask(t.Context(), c, method, address, body); err != nil || gotStatus != status || got != text {
		t.Fatalf("%s %s: %d %.80q, %v", method, address, gotStatus, got, err)
	}
}

func TestAResponseIsReturned(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			large := strings.Repeat("x", 300<<10)
			s := serve(t, secure, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/echo":
					body, _ := io.ReadAll(r.Body)
					fmt.Fprintf(w, "%s %s %s %d %s", r.Method, r.Host, r.Header.Get("X-Name"), r.ContentLength, body)
				case "/chunks":
					io.WriteString(w, "one")
					w.(http.Flusher).Flush()
					io.WriteString(w, " two")
				case "/large":
					io.WriteString(w, large)
				case "/hints":
					w.WriteHeader(http.StatusEarlyHints)
					io.WriteString(w, "after hints")
				case "/nothing":
					w.WriteHeader(http.StatusNoContent)
				case "/elsewhere":
					http.Redirect(w, r, "/echo", http.StatusFound)
				}
			})
			c := s.client(nil)
			for range 3 {
				wantAnswer(t, c, "GET", "http://a.test/echo?q", "", 200, "GET a.test value 0 ")
				wantAnswer(t, c, "POST", "http://a.test/echo", "", 200, "POST a.test value 0 ")
				body := strings.Repeat("y", wire.MaxBody)
				wantAnswer(t, c, "PUT", "http://a.test/echo", body, 200, fmt.Sprintf("PUT a.test value %d %s", len(body), body))
				wantAnswer(t, c, "GET", "http://a.test/chunks", "", 200, "one two")
				wantAnswer(t, c, "GET", "http://a.test/large", "", 200, large)
				wantAnswer(t, c, "HEAD", "http://a.test/large", "", 200, "")
				wantAnswer(t, c, "GET", "http://a.test/hints", "", 200, "after hints")
				wantAnswer(t, c, "DELETE", "http://a.test/nothing", "", 204, "")
				wantAnswer(t, c, "POST", "http://a.test/elsewhere", "", 302, "")
			}
			if n := s.made.Load(); n != 1 {
				t.Errorf("%d connections for requests one after another", n)
			}
		})
	}
}

func TestAConnectionThatTheServerClosedIsNotUsed(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			s := serve(t, secure, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
			c := s.client(nil)
			for range 20 {
				wantAnswer(t, c, "POST", "http://a.test/", "body", 200, "ok")
				before := s.ended.Load()
				s.CloseClientConnections()
				apitest.Eventually(t, "the connection to be closed", func() bool { return s.ended.Load() > before })
			}
		})
	}
}

// If a kept connection breaks during a request, the client sends only a repeatable request again.
func TestOnlyARepeatableRequestIsSentAgain(t *testing.T) {
	var breaks atomic.Bool
	var calls atomic.Int64
	s := serve(t, false, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		if breaks.Load() {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, "ok")
	})
	for method, want := range map[string]int64{"GET": 2, "POST": 1} {
		c := s.client(nil)
		breaks.Store(false)
		wantAnswer(t, c, method, "http://a.test/", "", 200, "ok")
		breaks.Store(true)
		before := calls.Load()
		if status, _, err := ask(t.Context(), c, method, "http://a.test/", ""); err == nil {
			t.Errorf("%s answered %d", method, status)
		}
		if n := calls.Load() - before; n != want {
			t.Errorf("%s arrived %d times", method, n)
		}
	}
}

// If a server closes each connection, it gets a repeatable request twice, for every number of kept connections.
func TestARepeatableRequestIsSentAtMostTwice(t *testing.T) {
	const kept = 8
	var breaks atomic.Bool
	var calls atomic.Int64
	all := make(chan struct{})
	s := serve(t, false, func(w http.ResponseWriter, _ *http.Request) {
		n := calls.Add(1)
		switch {
		case breaks.Load():
			panic(http.ErrAbortHandler)
		case n == kept:
			close(all)
		}
		<-all
		io.WriteString(w, "ok")
	})
	c := s.client(nil)
	var first sync.WaitGroup
	for range kept {
		first.Go(func() { wantAnswer(t, c, "GET", "http://a.test/", "", 200, "ok") })
	}
	first.Wait()
	breaks.Store(true)
	if status, _, err := ask(t.Context(), c, "GET", "http://a.test/", ""); err == nil {
		t.Errorf("the server answered %d", status)
	}
	if n := calls.Load() - kept; n != 2 {
		t.Errorf("the request arrived %d times", n)
	}
}

func TestTheEndOfTheContextInterruptsARequest(t *testing.T) {
	entered := make(chan struct{})
	s := serve(t, true, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // without reading, the server does not notice that the connection is closed
		if r.URL.Path == "/body" {
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
		}
		entered <- struct{}{}
		<-r.Context().Done()
	})
	c := s.client(nil)
	for _, path := range []string{"/head", "/body"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("enough")
		go func() { <-entered; cancel(reason) }()
		_, _, err := ask(ctx, c, "POST", "http://a.test"+path, "body")
		if path == "/head" && !errors.Is(err, reason) || err == nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	go func() { <-entered }()
	if _, _, err := ask(ctx, c, "POST", "http://a.test/head", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	apitest.Eventually(t, "the three connections to be closed", func() bool { return s.made.Load() == 3 && s.ended.Load() == 3 })
}

func TestAWrongResponseIsAnError(t *testing.T) {
	for name, answer := range map[string]string{
		"no end of the head":  "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 64<<10),
		"many headers":        "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Y: z\r\n", 8<<10) + "\r\n",
		"interim only":        strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100),
		"not HTTP":            "220 mail.test ESMTP\r\n",
		"two lengths":         "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
		"half an answer":      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
		"half a chunk":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha",
		"no such chunk":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
		"hangs up at once":    "",
		"an unknown encoding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := answering(t, answer)
			if status, text, err := ask(t.Context(), c, "POST", "http://a.test/", "body"); err == nil {
				t.Errorf("%d %.80q", status, text)
			}
		})
	}
}

// Bytes that follow a response are never read as the next response.
func TestAConnectionWithMoreThanAResponseIsNotKept(t *testing.T) {
	c := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
	for range 3 {
		wantAnswer(t, c, "POST", "http://a.test/", "", 200, "ok")
	}
}

// The server responds and closes the connection before it has read the request.
func TestAResponseBeforeTheEndOfTheRequestIsReturned(t *testing.T) {
	c := answering(t, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
	wantAnswer(t, c, "POST", "http://a.test/", strings.Repeat("x", wire.MaxBody), 413, "no")
}

// answering returns a client of a server. On every connection, the server sends the same bytes, and closes the
// connection when the client does.
func answering(t *testing.T, text string) *wire.Client {
	var conns sync.WaitGroup
	t.Cleanup(conns.Wait)
	return wire.New(wire.Options{PerHost: 1, Total: 1, Idle: 50 * time.Millisecond, MaxHead: 8 << 10,
		Dial: func(context.Context, string) (net.Conn, error) {
			near, far := net.Pipe()
			conns.Go(func() { _, _ = io.Copy(io.Discard, far) })
			conns.Go(func() {
				_, _ = io.Copy(far, bytes.NewReader([]byte(text)))
				if !strings.HasSuffix(text, "evil") {
					far.Close()
				}
			})
			return near, nil
		}})
}

func TestThePoolKeepsAtMostItsLimits(t *testing.T) {
	release := make(chan struct{})
	var waiting atomic.Int64
	s := serve(t, false, func(http.ResponseWriter, *http.Request) { waiting.Add(1); <-release })
	c := s.client(func(o *wire.Options) { o.PerHost, o.Total = 3, 5 })
	at := func(hosts ...string) {
		t.Helper()
		waiting.Store(0)
		var all sync.WaitGroup
		for _, host := range hosts {
			all.Go(func() {
				if _, _, err := ask(t.Context(), c, "POST", "http://"+host+"/", ""); err != nil {
					t.Error(err)
				}
			})
		}
		apitest.Eventually(t, "all requests to be there", func() bool { return waiting.Load() == int64(len(hosts)) })
		for range hosts {
			release <- struct{}{}
		}
		all.Wait()
	}
	open := func(want int64) {
		t.Helper()
		apitest.Eventually(t, fmt.Sprintf("%d connections to be left", want), func() bool { return s.made.Load()-s.ended.Load() == want })
	}
	at("a.test", "a.test", "a.test", "a.test", "a.test")
	open(3)
	at("b.test", "b.test", "b.test")
	open(5)
	before := s.made.Load()
	at("b.test", "b.test", "b.test")
	if n := s.made.Load() - before; n != 0 {
		t.Errorf("%d connections were made although the host's were kept", n)
	}
	at("c.test", "d.test", "e.test", "f.test", "g.test", "h.test")
	open(5)
	before = s.made.Load()
	at("a.test", "b.test")
	if n := s.made.Load() - before; n != 2 {
		t.Errorf("%d connections were made, although those idle longest had to go", n)
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	s := serve(t, true, func(http.ResponseWriter, *http.Request) {})
	c := s.client(func(o *wire.Options) { o.Idle = 20 * time.Millisecond })
	for range 3 {
		before := s.made.Load()
		for _, host := range []string{"a.test", "b.test", "c.test"} {
			wantAnswer(t, c, "POST", "http://"+host+"/", "", 200, "")
		}
		if s.made.Load() == before {
			t.Error("a connection that was idle for too long was used")
		}
		apitest.Eventually(t, "idle connections to be closed", func() bool { return s.made.Load() == s.ended.Load() })
	}
}

// If a response is not read to its end, its connection is closed.
func TestAConnectionWithAnUnreadBodyIsNotKept(t *testing.T) {
	s := serve(t, false, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 100<<10)) })
	c := s.client(nil)
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://a.test/", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Do(r, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, answer.Body, 10); err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if n, err := answer.Body.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("%d bytes were read of a closed body, %v", n, err)
		}
	}
	apitest.Eventually(t, "both connections to be closed", func() bool { return s.ended.Load() == 2 && s.made.Load() == 2 })
}

// The limit bounds a request together with its response's body. For each request on a kept connection it starts anew.
func TestTheLimitCoversTheBody(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			t.Parallel()
			const limit = 3 * time.Second
			s := serve(t, secure, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // without reading, the server does not notice that the connection is closed
				switch r.URL.Path {
				case "/body":
					io.WriteString(w, "half")
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				case "/head":
					<-r.Context().Done()
				}
			})
			c := s.client(func(o *wire.Options) { o.Limit = limit })
			wantAnswer(t, c, "POST", "http://a.test/", "body", 200, "")
			time.Sleep(limit + limit/4) // the deadline of the first request has passed
			wantAnswer(t, c, "POST", "http://a.test/", "body", 200, "")
			if n := s.made.Load(); n != 1 {
				t.Errorf("%d connections", n)
			}
			var both sync.WaitGroup
			defer both.Wait()
			for _, path := range []string{"/head", "/body"} {
				both.Go(func() {
					began := time.Now()
					_, _, err := ask(t.Context(), c, "POST", "http://a.test"+path, "body")
					var network net.Error
					if took := time.Since(began); !errors.As(err, &network) || !network.Timeout() || took < limit || took > 10*limit {
						t.Errorf("%s: %v after %v", path, err, took)
					}
				})
			}
		})
	}
	c := wire.New(wire.Options{PerHost: 1, Total: 1, Idle: time.Minute, MaxHead: 8 << 10, Limit: 50 * time.Millisecond,
		Dial: func(ctx context.Context, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }})
	if _, _, err := ask(t.Context(), c, "POST", "http://a.test/", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("connecting: %v", err)
	}
}
