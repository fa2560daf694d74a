package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

const renewTimeout = time.Second

// transport replaces its kafka.Transport when a connection broke. The library notices only at the next request that an
// idle connection does not work any more. The library has as many idle connections as it had requests at the same time.
// After a restart of Kafka, each of them would cause a failure and a pause, which together took up to 12 s.
type transport struct {
	fresh    func() *kafka.Transport
	current  atomic.Pointer[kafka.Transport]
	renewing sync.Mutex
	// renewTimeout is the time within which a broker must return the metadata to a new kafka.Transport.
	renewTimeout time.Duration
}

func newTransport(fresh func() *kafka.Transport) *transport {
	t := &transport{fresh: fresh, renewTimeout: renewTimeout}
	t.current.Store(fresh())
	return t
}

// RoundTrip implements kafka.RoundTripper. The Writer gives up at once if the metadata lacks the topic, the partition
// or its leader. A broker that has just started returns such metadata. So RoundTrip adds kafka.LeaderNotAvailable to
// the error, which the Writer retries.
func (t *transport) RoundTrip(ctx context.Context, brokers net.Addr, request kafka.Request) (kafka.Response, error) {
	used := t.current.Load()
	response, err := used.RoundTrip(ctx, brokers, request)
	switch {
	case err == nil || errors.Is(ctx.Err(), context.Canceled):
	case brokeConnection(err):
		t.renew(ctx, used, brokers)
	case errors.Is(err, protocol.ErrNoLeader), errors.Is(err, protocol.ErrNoPartition), errors.Is(err, protocol.ErrNoTopic):
		err = fmt.Errorf("%w: %w", kafka.LeaderNotAvailable, err)
	}
	return response, err
}

// renew replaces the current kafka.Transport (used) if a broker returns the metadata to a new one. Otherwise used stays
// the current one, because its connections to other brokers may work.
func (t *transport) renew(ctx context.Context, used *kafka.Transport, brokers net.Addr) {
	if !t.renewing.TryLock() {
		return
	}
	defer t.renewing.Unlock()
	if t.current.Load() != used {
		return // it was replaced since the request began
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.renewTimeout)
	defer cancel()
	next := t.fresh()
	if _, err := next.RoundTrip(ctx, brokers, &metadata.Request{}); err != nil {
		next.CloseIdleConnections()
		return
	}
	t.current.Store(next)
	used.CloseIdleConnections()
}

// close closes the connections. Those in use are closed after their requests.
func (t *transport) close() { t.current.Load().CloseIdleConnections() }

// brokeConnection reports whether a request failed because its connection broke. It returns false if the broker could not
// be dialed.
func brokeConnection(err error) bool {
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
		return false
	}
	return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, os.ErrDeadlineExceeded, context.DeadlineExceeded},
		func(cause error) bool { return errors.Is(err, cause) })
}
