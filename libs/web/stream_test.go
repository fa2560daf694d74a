package web_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

func TestAStreamOutlastsTheLimitOfARequestAndEndsWithItsClient(t *testing.T) {
	signer := passport.NewSigner(strings.Repeat("s", 32), time.Now)
	engine := web.NewEngine("things", boot.Process{
		Log: slog.New(slog.DiscardHandler), Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{}, Metrics: prometheus.NewRegistry(), Now: time.Now,
	}, signer)
	ended := make(chan error, 1)
	engine.GET("/download", func(c *gin.Context) {
		stream, end := web.NewStream(c, time.Hour)
		defer end()
		if until, limited := stream.Deadline(); !limited || time.Until(until) < 59*time.Minute {
			t.Errorf("the stream ends at %v", until)
		}
		if passport.From(stream).User != "ada" {
			t.Error("the stream has not the caller of the request")
		}
		if _, err := io.WriteString(stream, "first"); err != nil {
			t.Error(err)
		}
		<-stream.Done()
		_, err := io.WriteString(stream, "second")
		ended <- err
	})
	server := httptest.NewServer(engine)
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/download", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(passport.Header, signer.Sign(passport.Passport{Audience: "things", User: "ada"}))
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	first := make([]byte, len("first"))
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "first" || response.Header.Get(passport.Stream) == "" {
		t.Errorf("%q, %v", first, err)
	}
	leave()
	if err := <-ended; err == nil {
		t.Error("a stream writes to a client who has left")
	}
}
