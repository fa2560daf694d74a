package catalog

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// TestRounds: who comes while a round runs is of the next one, with all others who came.
func TestRounds(t *testing.T) {
	var shared rounds[int, []int]
	begun, goOn := make(chan struct{}, 2), make(chan struct{})
	work := func(_ context.Context, items []int) ([]int, error) {
		begun <- struct{}{}
		<-goOn
		return items, nil
	}
	var group sync.WaitGroup
	outcomes := make([][]int, 5)
	ask := func(i int) {
		group.Go(func() {
			var err error
			if outcomes[i], err = shared.share(t.Context(), "thing", []int{i}, work); err != nil {
				t.Error(err)
			}
		})
	}
	callers := func(n int) bool {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		return shared.lanes["thing"].callers == n
	}
	ask(0)
	<-begun
	for i := 1; i < 5; i++ {
		ask(i)
	}
	for !callers(5) {
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shared.share(gone, "thing", nil, work); !fault.Is(err, fault.Unavailable) {
		t.Errorf("who does not wait is told %v", err)
	}
	if got, err := shared.share(t.Context(), "other", []int{9}, func(_ context.Context, items []int) ([]int, error) {
		return items, nil
	}); err != nil || !slices.Equal(got, []int{9}) {
		t.Errorf("another thing has to wait: %v %v", got, err)
	}
	close(goOn)
	group.Wait()
	if !slices.Equal(outcomes[0], []int{0}) {
		t.Errorf("the first round had %v", outcomes[0])
	}
	for _, outcome := range outcomes[1:] {
		if slices.Sort(outcome); !slices.Equal(outcome, []int{1, 2, 3, 4}) {
			t.Errorf("the second round had %v", outcome)
		}
	}
	if len(shared.lanes) != 0 {
		t.Errorf("%d lanes are left", len(shared.lanes))
	}
}

// TestRoundPanics: a round that breaks has failed for all of it, and the next one runs.
func TestRoundPanics(t *testing.T) {
	var shared rounds[int, int]
	at, mine, _ := shared.enter("thing", nil)
	func() {
		defer func() { _ = recover() }()
		shared.run(t.Context(), at, mine, func(context.Context, []int) (int, error) { panic("broken") })
	}()
	if <-mine.done; mine.err == nil {
		t.Error("it has succeeded")
	}
	if got, err := shared.share(t.Context(), "thing", nil, func(context.Context, []int) (int, error) { return 1, nil }); got != 1 || err != nil {
		t.Errorf("the next: %d, %v", got, err)
	}
}

// TestKeptRows: only what was written, or has no row, is read for a page.
func TestKeptRows(t *testing.T) {
	page := Page{Rows: []Row{{ComponentID: "a"}, {ComponentID: "b"}, {ComponentID: "c"}}}
	rows, stale := page.kept([]string{"a", "b", "d"}, []string{"b", "x"})
	if !slices.Equal(rows, []Row{{ComponentID: "a"}}) || !slices.Equal(stale, []string{"b", "d"}) {
		t.Errorf("kept %v, stale %v", rows, stale)
	}
	old := Page{Rows: []Row{{LegacyID: 1}}} // of a version that did not say whose row it is
	if rows, stale = old.kept([]string{"a"}, nil); len(rows) != 0 || !slices.Equal(stale, []string{"a"}) {
		t.Errorf("kept %v, stale %v", rows, stale)
	}
}
