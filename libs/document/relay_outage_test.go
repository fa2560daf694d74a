package document_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/stream"
)

// journal holds a log. It is safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// While the broker is down, the relay fails again and again, but logs one line. It logs another when the broker is back.
func TestAnOutageOfTheRelayIsLoggedOnce(t *testing.T) {
	var log journal
	db, err := document.Open("sqlite:"+t.TempDir(), "conformance", document.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	c := document.Declare(db, boats())
	must(t, db.Migrate(t.Context()))
	const n, failures = 50, 8
	for i := range n {
		must(t, c.Insert(t.Context(), vessel("a", i), sailed{vessel("a", i).ID, i}))
	}
	var tries atomic.Int64
	b := newBroker()
	stop := run(t, db, func(ctx context.Context, records []stream.Record) error {
		if tries.Add(1) <= failures {
			return errors.New("no broker")
		}
		return b.publish(ctx, records)
	})
	b.wait(t, n)
	apitest.Eventually(t, "the end of the outage to be logged", func() bool { return strings.Contains(log.String(), "An outage is over.") })
	stop()
	if lines := strings.Split(strings.TrimSpace(log.String()), "\n"); len(lines) != 2 || !strings.Contains(lines[0], "relaying failed") || !strings.Contains(lines[1], "failures=8") {
		t.Errorf("%d lines: %s", len(lines), log.String())
	}
}

// The messages of few documents fail alone, so all of them are held back for a time, in which the relay publishes
// nothing. That is no end of the outage. Each attempt of the real client takes ten seconds.
func TestRelayLogsOneOutageWhileItsDocumentsAreHeldBack(t *testing.T) {
	for name, boats := range map[string]int{"one document": 1, "three documents": 3} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { relayDown(t, boats, 150*time.Second) }) })
	}
}

func relayDown(t *testing.T, n int, down time.Duration) {
	var log journal
	db, err := document.Open("sqlite:"+t.TempDir(), "conformance", document.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	defer db.Close()
	c := document.Declare(db, boats())
	must(t, db.Migrate(t.Context()))
	for i := range n {
		must(t, c.Insert(t.Context(), vessel("a", i), sailed{vessel("a", i).ID, i}))
	}
	began, b := time.Now(), newBroker()
	ctx, stop := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		must(t, db.Relay(ctx, func(ctx context.Context, records []stream.Record) error {
			if time.Since(began) > down {
				return b.publish(ctx, records)
			}
			time.Sleep(10 * time.Second)
			return errors.New("no broker")
		}))
	})
	time.Sleep(down + time.Minute)
	stop()
	ended.Wait()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 4 { // the begin, two minutes, the end
		t.Fatalf("%d lines:\n%s", len(lines), log.String())
	}
	for _, line := range lines[:3] {
		if !strings.Contains(line, "relaying failed") {
			t.Error(line)
		}
	}
	_, lasted, _ := strings.Cut(lines[3], "lasted=")
	took, err := time.ParseDuration(lasted)
	if err != nil || !strings.Contains(lines[3], "An outage is over.") || (took-down).Abs() > 15*time.Second {
		t.Errorf("the end of an outage of %v: %s", down, lines[3])
	}
}
