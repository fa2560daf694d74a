package boot_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
)

// If a check fails, the service is not ready, unless the request excludes the check.
func TestReadyzIgnoresAnExcludedCheck(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := func(context.Context) error { return errors.New("down") }
	up := func(context.Context) error { return nil }
	p := boot.Process{Name: "events", Listener: listener, Log: slog.New(slog.DiscardHandler)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- p.Serve(ctx, boot.Service{Handler: http.NotFoundHandler(), Ready: map[string]func(context.Context) error{"kafka": down, "database": up, "redis": down}})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	get := func(query string) (int, string) {
		response, err := http.Get("http://" + listener.Addr().String() + "/readyz" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	apitest.Eventually(t, "the start to end", func() bool { _, body := get(""); return body != "events: starting\n" })
	for _, row := range []struct {
		query  string
		status int
		body   string
	}{
		{"", 503, "events: kafka is not ready\nevents: redis is not ready\n"},
		{"?exclude=kafka", 503, "events: redis is not ready\n"},
		{"?exclude=kafka&exclude=redis", 200, "events: ready\n"},
		{"?exclude=kafak", 400, "events: exclude must be one of: database, kafka, redis\n"},
		{"?exclude=", 400, "events: exclude must be one of: database, kafka, redis\n"},
	} {
		if status, body := get(row.query); status != row.status || body != row.body {
			t.Errorf("/readyz%s: %d %q, not %d %q", row.query, status, body, row.status, row.body)
		}
	}
}

// A connection that is used all the time ends after ConnectionAge, so that the client connects again, perhaps to another
// process. The response on it is complete.
func TestABusyConnectionEndsAtItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		listener := &single{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
		listener.conn <- far
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- boot.ServeHTTP(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "whole") }))
		}()
		in, began := bufio.NewReader(near), time.Now()
		for closes := false; !closes; time.Sleep(time.Second) {
			age := time.Since(began)
			if _, err := io.WriteString(near, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatalf("after %v: %v", age, err)
			}
			response, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("after %v: %v", age, err)
			}
			if body, err := io.ReadAll(response.Body); string(body) != "whole" || err != nil {
				t.Errorf("after %v: %q %v", age, body, err)
			}
			if closes = response.Close; closes != (age >= boot.ConnectionAge) {
				t.Fatalf("after %v: the response closes the connection: %t", age, closes)
			}
		}
		if _, err := in.ReadByte(); err != io.EOF {
			t.Errorf("the connection is open: %v", err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// single is a listener with one connection.
type single struct {
	conn   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (s *single) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conn:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *single) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *single) Addr() net.Addr { return &net.TCPAddr{} }
