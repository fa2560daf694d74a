package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/segmentio/kafka-go"
)

// A broker that cannot be dialed breaks no connection. Those to other brokers stay open.
func TestOnlyAConnectionInUseBreaks(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("read the size: %w", io.EOF), true},
		{io.ErrUnexpectedEOF, true},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true},
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, true},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, true},
		{context.DeadlineExceeded, true},
		{&net.OpError{Op: "dial", Err: context.DeadlineExceeded}, false},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, false},
		{kafka.NotLeaderForPartition, false},
	} {
		if got := brokeConnection(test.err); got != test.want {
			t.Errorf("%v: %v", test.err, got)
		}
	}
}

// The connections are given up only for others that work: not while no broker responds, and not because of a request that
// began on former ones.
func TestATransportIsReplacedByOneThatWorks(t *testing.T) {
	t.Parallel()
	broker, err := engines.StartKafka(t.Context(), engines.Kafka{Addr: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	transport := newTransport(func() *kafka.Transport { return &kafka.Transport{} })
	transport.renewTimeout = time.Minute
	first := transport.current.Load()
	transport.renew(t.Context(), first, kafka.TCP(broker.Addr()))
	second := transport.current.Load()
	if second == first {
		t.Error("it is not replaced although the broker responds")
	}
	transport.renew(t.Context(), first, kafka.TCP(broker.Addr()))
	if transport.current.Load() != second {
		t.Error("it is replaced because of a request that began before it")
	}
	if err := broker.Close(); err != nil {
		t.Fatal(err)
	}
	transport.renew(t.Context(), second, kafka.TCP(broker.Addr()))
	if transport.current.Load() != second {
		t.Error("it is replaced although no broker responds")
	}
	transport.close()
}

// The Writer retries a request for which the metadata has no leader, as in the first moments of a broker.
func TestARequestWithoutALeaderCanBeRetried(t *testing.T) {
	t.Parallel()
	broker, err := engines.StartKafka(t.Context(), engines.Kafka{Addr: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	transport := newTransport(func() *kafka.Transport { return &kafka.Transport{} })
	defer transport.close()
	request := fetchRequest([]wanted{{partition: &partition{topic: "missing"}}}, 0, 1)
	_, err = transport.RoundTrip(t.Context(), kafka.TCP(broker.Addr()), request)
	if code, ok := errors.AsType[kafka.Error](err); !ok || !code.Temporary() {
		t.Errorf("%v", err)
	}
}
