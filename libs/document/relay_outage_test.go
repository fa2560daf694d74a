package document_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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
func TestRelay_outageLines(t *testing.T) {
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
