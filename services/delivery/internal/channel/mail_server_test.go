package channel

import (
	"log/slog"
	"net"
	"net/url"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// A mail that may no longer be sent when it gets a connection to the server is not sent. The connection is free again.
func TestAMailThatIsNoLongerWantedMakesNoAttempt(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil { // an attempt fails
		t.Fatal(err)
	}
	server := newMailServer(&url.URL{Scheme: "smtp", Host: address}, Options{Timeout: time.Minute, Tracer: noop.NewTracerProvider(), Log: slog.New(slog.DiscardHandler)})
	for range 2 * maxConnections {
		if result := server.attempt(t.Context(), letter{fresh: func() bool { return false }}); result.Code != deliverylog.CodeHeld || result.RetryAfter != 0 {
			t.Fatalf("%+v", result)
		}
	}
	if result := server.attempt(t.Context(), letter{fresh: func() bool { return true }}); result.Code != deliverylog.CodeConnect {
		t.Errorf("a mail that is wanted: %+v", result)
	}
}
