package stream_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"golang.org/x/sync/errgroup"
)

// A failing handler, for example because the database is down, is called again and again. The log has one line about
// the failures, and one when the handler succeeds.
func TestAFailingHandlerIsLoggedAsOneOutage(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		var log apitest.Log
		client := connect(t, addr, stream.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		topic, group := newTopic(t, client, 4), unique("group")
		const failures = 12 // failures of all partitions together
		var tries atomic.Int64
		for i := range 20 {
			publish(t, client, stream.Record{Topic: topic, Key: strconv.Itoa(i), Value: []byte("{}")})
		}
		start(t, func(ctx context.Context) error {
			return client.ConsumeBatches(ctx, stream.Subscription{Group: group, Topics: []string{topic}}, func(context.Context, []stream.Record) error {
				if tries.Add(1) <= failures {
					return errors.New("no database")
				}
				return nil
			})
		})
		eventually(t, "the outage to be over", func() bool { return strings.Contains(log.String(), "An outage is over.") })
		if n := strings.Count(log.String(), "a batch failed"); n > 2 { // the last line contains the text, too
			t.Errorf("%d lines: %s", n, log.String())
		}
	})
}

// A broker that ends closes every idle connection. One that loses its power closes none, and does not respond on them.
// Only the first request after that fails, because the client then uses none of the others.
func TestOneRequestFindsThatNoIdleConnectionWorks(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*relay){"closed": (*relay).close, "silent": (*relay).silence} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const connections = 6
			relay := newRelay(t, startBroker(t))
			client := connect(t, relay.listener.Addr().String(), stream.Options{})
			stream.Patient(client)
			ping := func() error { return client.Ping(t.Context()) }
			if err := ping(); err != nil {
				t.Fatal(err)
			}
			relay.hold(connections)
			var pings errgroup.Group
			for range connections {
				pings.Go(ping)
			}
			if err := pings.Wait(); err != nil {
				t.Fatal(err)
			}
			end(relay)
			once, cancel := context.WithTimeout(t.Context(), 2*time.Second) // on a silent connection it would wait for a minute
			defer cancel()
			if client.Ping(once) == nil {
				return
			}
			if err := ping(); err != nil {
				t.Errorf("a second request failed: %v", err)
			}
		})
	}
}

// relay passes connections on to a broker.
type relay struct {
	listener net.Listener
	mu       sync.Mutex // guards the fields below
	changed  *sync.Cond // signals that open has changed
	wanted   int        // no request is passed on while fewer connections are open
	open     []net.Conn // connections from the client
	silent   []net.Conn // those on which nothing is passed on any more
}

func newRelay(t *testing.T, broker string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: listener}
	r.changed = sync.NewCond(&r.mu)
	t.Cleanup(func() {
		listener.Close()
		r.close()
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go r.pass(client, broker)
		}
	}()
	return r
}

func (r *relay) pass(client net.Conn, broker string) {
	defer client.Close()
	server, err := net.Dial("tcp", broker)
	if err != nil {
		return
	}
	defer server.Close()
	r.mu.Lock()
	r.open = append(r.open, client)
	r.changed.Broadcast()
	r.mu.Unlock()
	go func() { _, _ = io.Copy(client, server) }()
	_, _ = io.Copy(writer(func(request []byte) (int, error) {
		r.mu.Lock()
		for len(r.open) < r.wanted {
			r.changed.Wait()
		}
		silent := slices.Contains(r.silent, client)
		r.mu.Unlock()
		if silent {
			return len(request), nil
		}
		return server.Write(request)
	}), client)
}

type writer func([]byte) (int, error)

func (w writer) Write(bytes []byte) (int, error) { return w(bytes) }

// hold passes no request on until the given number of connections are open, so that the client opens as many.
func (r *relay) hold(connections int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = connections
}

// silence passes nothing on any more from the open connections.
func (r *relay) silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent, r.open, r.wanted = append(r.silent, r.open...), nil, 0
}

// close closes the connections, as a broker that ends, and then accepts others.
func (r *relay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, each := range append(r.open, r.silent...) {
		_ = each.Close()
	}
	r.open, r.silent, r.wanted = nil, nil, 0
	r.changed.Broadcast()
}
