package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// transport is the library's Transport, but no connection to an ended broker stays in it. The library notices only at
// the next request that an idle connection was closed. It has as many of them as it had requests at the same time, and
// each of them would cost a failure and a pause. After a restart of Kafka, this took up to 12 s.
type transport struct{ *kafka.Transport }

// RoundTrip sends the request. If a connection broke or there was no response in time, or if no broker told the metadata
// yet, the next request connects again and asks for the metadata again.
func (t transport) RoundTrip(ctx context.Context, brokers net.Addr, request kafka.Request) (kafka.Response, error) {
	response, err := t.Transport.RoundTrip(ctx, brokers, request)
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return response, err
	}
	again := brokeConnection(err)
	if ctx.Err() == nil {
		// The library asks for the metadata again after up to two seconds. Until then it reports that a topic is unknown.
		if _, cause := t.Transport.RoundTrip(ctx, brokers, &metadata.Request{}); cause != nil {
			again, err = true, cause
		}
	}
	if again {
		t.CloseIdleConnections()
	}
	return response, err
}

// brokeConnection reports whether the error of a request is that of its connection, and not that of a new one.
func brokeConnection(err error) bool {
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
		return false
	}
	return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, os.ErrDeadlineExceeded, context.DeadlineExceeded},
		func(cause error) bool { return errors.Is(err, cause) })
}
