package boot_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/boot"
)

// countingListener counts the writes of its connections.
type countingListener struct {
	net.Listener
	writes *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countingConn{c, l.writes}, err
}

type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countingConn) Write(data []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(data)
}

// A gathered response is one write. Others on the same connection, before and after it, are whole too.
func TestAGatheredResponseIsOneWrite(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- boot.ServeHTTP(ctx, countingListener{listener, &writes}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			size, _ := strconv.Atoi(r.URL.Query().Get("size"))
			w.Header().Set("Content-Length", strconv.Itoa(size))
			if r.URL.Path == "/gathered" {
				boot.Gather(r.Context(), size)
			}
			_, _ = io.WriteString(w, strings.Repeat("x", size))
		}))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for _, row := range []struct {
		path string
		size int
		once bool
	}{
		{"/gathered", 12_000, true}, {"/usual", 12_000, false}, {"/gathered", 1, true}, {"/gathered", 0, true}, {"/gathered", 65_536, true},
		{"/gathered", 100_000, false}, {"/usual", 10, true}, {"/gathered", 5_000, true},
	} {
		before := writes.Load()
		fmt.Fprintf(conn, "GET %s?size=%d HTTP/1.1\r\nHost: x\r\n\r\n", row.path, row.size)
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if n := writes.Load() - before; err != nil || len(body) != row.size || (n == 1) != row.once {
			t.Errorf("%s of %d bytes: %d bytes in %d writes, %v", row.path, row.size, len(body), n, err)
		}
	}
	// A client that leaves before the response ends only its own connection.
	fmt.Fprint(conn, "GET /gathered?size=60000 HTTP/1.1\r\nHost: x\r\n\r\n")
	if err := conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	response, err := http.Get("http://" + listener.Addr().String() + "/gathered?size=9000")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || len(body) != 9000 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	http.DefaultClient.CloseIdleConnections()
}
