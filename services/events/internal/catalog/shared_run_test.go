package catalog

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// TestSharedRun checks that callers who arrive during a run share the next run.
func TestSharedRun(t *testing.T) {
	var shared sharedRun[int, []int]
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
	waiting := func(n int) bool {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		next := shared.last["thing"]
		return !next.begun && len(next.items) == n
	}
	ask(0)
	<-begun
	for i := 1; i < 5; i++ {
		ask(i)
	}
	for !waiting(4) {
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shared.share(gone, "thing", nil, work); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a caller that gives up gets %v", err)
	}
	if got, err := shared.share(t.Context(), "other", []int{9}, func(_ context.Context, items []int) ([]int, error) {
		return items, nil
	}); err != nil || !slices.Equal(got, []int{9}) {
		t.Errorf("a run of another key waits: %v %v", got, err)
	}
	close(goOn)
	group.Wait()
	if !slices.Equal(outcomes[0], []int{0}) {
		t.Errorf("the first run had %v", outcomes[0])
	}
	for _, outcome := range outcomes[1:] {
		if slices.Sort(outcome); !slices.Equal(outcome, []int{1, 2, 3, 4}) {
			t.Errorf("the second run had %v", outcome)
		}
	}
	if len(shared.last) != 0 {
		t.Errorf("%d runs are left", len(shared.last))
	}
}

// TestSharedRunPanics checks that a run that panics fails for all callers, and that the next run works.
func TestSharedRunPanics(t *testing.T) {
	var shared sharedRun[int, int]
	mine, _ := shared.enter("thing", nil)
	func() {
		defer func() { _ = recover() }()
		shared.execute(t.Context(), "thing", mine, func(context.Context, []int) (int, error) { panic("broken") })
	}()
	if <-mine.done; mine.err == nil {
		t.Error("the run has succeeded")
	}
	if got, err := shared.share(t.Context(), "thing", nil, func(context.Context, []int) (int, error) { return 1, nil }); got != 1 || err != nil {
		t.Errorf("the next: %d, %v", got, err)
	}
}

// TestKeptRows checks that a page loads only components that were written or have no row.
func TestKeptRows(t *testing.T) {
	page := Page{Rows: []Row{{ComponentID: "a"}, {ComponentID: "b"}, {ComponentID: "c"}}}
	rows, stale := page.kept([]string{"a", "b", "d"}, []string{"b", "x"})
	if !slices.Equal(rows, []Row{{ComponentID: "a"}}) || !slices.Equal(stale, []string{"b", "d"}) {
		t.Errorf("kept %v, stale %v", rows, stale)
	}
	old := Page{Rows: []Row{{LegacyID: 1}}} // stored by a version without ComponentID
	if rows, stale = old.kept([]string{"a"}, nil); len(rows) != 0 || !slices.Equal(stale, []string{"a"}) {
		t.Errorf("kept %v, stale %v", rows, stale)
	}
}
