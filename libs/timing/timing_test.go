package timing_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/timing"
)

func TestRunTakesAWholeNumberOfUnits(t *testing.T) {
	failed := errors.New("failed")
	for took, want := range map[time.Duration]time.Duration{
		0: timing.Unit, time.Millisecond: timing.Unit, timing.Unit - 1: timing.Unit, timing.Unit + 1: 2 * timing.Unit,
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			result, err := timing.Run(t.Context(), func() (int, error) {
				time.Sleep(took)
				return 7, failed
			})
			if got := time.Since(start); got != want || result != 7 || err != failed {
				t.Errorf("an operation of %s returns %d, %v after %s, want %s", took, result, err, got, want)
			}
		})
	}
}

// Run returns early if the request has ended, because nobody waits for its response.
func TestRunEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		_, _ = timing.Run(ctx, func() (int, error) { return 0, nil })
		if got := time.Since(start); got != time.Millisecond {
			t.Errorf("it returns after %s", got)
		}
	})
}
