package boot_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

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
