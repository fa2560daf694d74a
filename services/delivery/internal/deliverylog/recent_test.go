package deliverylog

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// countedStore counts how often an organization was counted. A count takes takes.
type countedStore struct {
	Store
	takes time.Duration
	mu    sync.Mutex
	calls map[string]int
}

func (s *countedStore) Counts(_ context.Context, organization string, channel topic.Channel, _ time.Time) (Counts, error) {
	if channel != topic.Email {
		return Counts{}, nil
	}
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[organization]++
	return Counts{Delivered: int64(s.calls[organization])}, nil
}

// Many overviews that request the counts again and again cost one count in 5 s for each organization, or a fiftieth of the
// time if a count takes longer. Each organization has its own counts.
func TestOverviewsShareACountOfTheirOrganization(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		most  int
	}{{0, 12}, {time.Second, 2}} {
		synctest.Test(t, func(t *testing.T) {
			store := &countedStore{takes: c.takes, calls: map[string]int{}}
			logs := New(Options{Store: store, Now: time.Now})
			var overviews sync.WaitGroup
			for i := range 100 {
				overviews.Go(func() {
					organization := []string{"a", "b"}[i%2]
					for range 60 {
						found, err := logs.Recent(t.Context(), organization)
						if err != nil || found.Channels[topic.Email].Delivered == 0 || time.Since(found.Since) < RecentTime {
							t.Errorf("%+v, %v", found, err)
						}
						time.Sleep(time.Second)
					}
				})
			}
			overviews.Wait()
			for organization, n := range store.calls {
				if n > c.most+1 {
					t.Errorf("a count of %v: %s was counted %d times in a minute", c.takes, organization, n)
				}
			}
			if len(store.calls) != 2 {
				t.Errorf("counted %v", store.calls)
			}
		})
	}
}
