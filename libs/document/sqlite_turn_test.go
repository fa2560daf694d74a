package document_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Beside a process that writes all the time another writes every few transactions, and not when it is lucky.
func TestWritersOfTwoProcessesTakeTurns(t *testing.T) {
	address := "sqlite:" + t.TempDir()
	_, busy := fleet(t, address)
	_, other := fleet(t, address)
	ctx, cancel := context.WithCancel(t.Context())
	var written atomic.Int64
	var writers sync.WaitGroup
	const together = 32
	for n := 1; n <= together; n++ {
		must(t, busy.Insert(ctx, vessel("a", n)))
		writers.Go(func() {
			for ctx.Err() == nil {
				_, err := busy.Update(ctx, vessel("a", n).ID, func(b *boat) ([]topic.Message, error) { b.Length++; return nil, nil })
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				written.Add(1)
			}
		})
	}
	most := int64(0)
	for n := range 100 {
		before := written.Load()
		must(t, other.Insert(ctx, vessel("b", n+1)))
		most = max(most, written.Load()-before)
	}
	cancel()
	writers.Wait()
	t.Logf("%d writes at the most before one of the other", most)
	if most > 8*together {
		t.Errorf("%d writes came before one of the other", most)
	}
}
