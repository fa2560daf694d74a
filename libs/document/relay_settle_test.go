package document

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/failurelog"
)

// settledStorage records when Settle is called. Settle returns an error for the call with the number fails.
type settledStorage struct {
	sharedStorage
	begin time.Time
	fails int
	calls []time.Duration
}

func (s *settledStorage) Settle(context.Context, []*plan.Shape) error {
	if s.calls = append(s.calls, time.Since(s.begin)); len(s.calls) == s.fails {
		return errors.New("no primary")
	}
	return nil
}

// If the last search fails, the next one is soon enough to be in the day in which the engine searches at all.
func TestTheRelaySearchesAgainAfterTheLastSearchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		storage := &settledStorage{begin: time.Now(), fails: 2}
		r := &relay{shared: storage, db: &Database{name: "test", log: log, outages: failurelog.New(log), settleAfter: []time.Duration{time.Minute, 12 * time.Hour}}}
		r.settle(t.Context())
		again := 12 * time.Hour
		if want := []time.Duration{time.Minute, again, again + time.Minute, again + 12*time.Hour}; !slices.Equal(storage.calls, want) {
			t.Errorf("the searches are after %v, want %v", storage.calls, want)
		}
	})
}
