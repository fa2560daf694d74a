package service_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/service"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func TestStartRefusesRecordsOfAnotherSecret(t *testing.T) {
	onEachEngine(t, func(t *testing.T, documents string) {
		for _, secret := range []string{"a", "a"} {
			if err := serve(t, documents, secret); err != nil {
				t.Fatal(err)
			}
		}
		err := serve(t, documents, "b")
		if err == nil || !strings.Contains(err.Error(), "BELLBUOY_SECRET is not the secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("another secret: %v", err)
		}
	})
}

// If an older version stored no mark in the database, the start stores a mark of the present secret.
func TestStartAdoptsRecordsWithoutAMark(t *testing.T) {
	onEachEngine(t, func(t *testing.T, documents string) {
		if err := serve(t, documents, "a"); err != nil {
			t.Fatal(err)
		}
		db, err := document.Open(documents, "service", document.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		type record struct {
			ID string `json:"id"`
		}
		marks := document.Declare(db, document.Schema[record]{Name: "secret_marks", Shard: document.Whole("a test"), Key: func(r *record) string { return r.ID }})
		if err := marks.Delete(t.Context(), "secret", func(*record) ([]topic.Message, error) { return nil, nil }); err != nil {
			t.Fatal(err)
		}
		if err := serve(t, documents, "b"); err != nil {
			t.Fatal(err)
		}
		if err := serve(t, documents, "a"); err == nil {
			t.Error("the mark of the second secret is not stored")
		}
	})
}

// Services with different secrets start at the same time on an empty database. Only those with one of the secrets
// succeed.
func TestOneSecretWinsAmongServicesThatStartAtOnce(t *testing.T) {
	onEachEngine(t, func(t *testing.T, documents string) {
		secrets := strings.Split("abcabcabc", "")
		failures := make([]error, len(secrets))
		var group sync.WaitGroup
		for i, secret := range secrets {
			group.Go(func() { failures[i] = serve(t, documents, secret) })
		}
		group.Wait()
		winners := map[string]int{}
		for i, err := range failures {
			if err == nil {
				winners[secrets[i]]++
			} else if !strings.Contains(err.Error(), "BELLBUOY_SECRET is not the secret") {
				t.Error(err)
			}
		}
		if len(winners) != 1 || winners["a"]+winners["b"]+winners["c"] != 3 {
			t.Errorf("these started: %v", winners)
		}
	})
}

// onEachEngine runs test with an empty SQLite database. If BELLBUOY_TEST_MONGODB names a server, it also runs test with
// an empty database on that server.
func onEachEngine(t *testing.T, test func(t *testing.T, documents string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+t.TempDir()) })
	if server := os.Getenv("BELLBUOY_TEST_MONGODB"); server != "" {
		t.Run("mongodb", func(t *testing.T) {
			t.Setenv("BELLBUOY_TEST_DOCUMENTS", server)
			test(t, apitest.Documents(t))
		})
	}
}

// serve runs a service until its start has ended. It returns the error that prevented the start, or nil.
func serve(t *testing.T, documents, secret string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s, err := service.Open("service", boot.Process{
		Name: "service", Listener: listener, Log: slog.New(slog.DiscardHandler), Tracer: noop.NewTracerProvider(),
		Propagator: propagation.TraceContext{}, Metrics: prometheus.NewRegistry(), Now: time.Now,
	}, boot.Documents{DocumentsURL: documents}, boot.Kafka{KafkaBrokers: []string{"127.0.0.1:1"}}, boot.Secret{Secret: strings.Repeat(secret, 32)})
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	return s.Serve(ctx, service.Work{Background: []func(context.Context) error{func(context.Context) error { stop(); return nil }}})
}
