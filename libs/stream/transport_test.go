package stream

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/segmentio/kafka-go"
)

// A broker that cannot be reached breaks no connection: those to other brokers stay open.
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
