package coalesce_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/coalesce"
)

// slow returns the items after a second.
func slow(_ context.Context, items []int) ([]int, error) {
	time.Sleep(time.Second)
	return items, nil
}

func TestCallersDuringARunShareTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group coalesce.Group[int, []int]
		var callers sync.WaitGroup
		results := make([][]int, 5)
		for i := range results {
			callers.Go(func() {
				var err error
				if results[i], err = group.Do(t.Context(), "key", []int{i}, slow); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(10 * time.Millisecond)
		}
		began := time.Now()
		callers.Wait()
		if !slices.Equal(results[0], []int{0}) {
			t.Errorf("the first run had the items %v", results[0])
		}
		for _, result := range results[1:] {
			if !slices.Equal(result, []int{1, 2, 3, 4}) {
				t.Errorf("the second run had the items %v", result)
			}
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the callers waited for %v", took)
		}
	})
}

func TestRunsOfAnotherKeyDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group coalesce.Group[int, []int]
		first := group.Start(t.Context(), "one", nil, slow)
		synctest.Wait()
		got, err := group.Do(t.Context(), "other", []int{9}, func(_ context.Context, items []int) ([]int, error) { return items, nil })
		if err != nil || !slices.Equal(got, []int{9}) {
			t.Errorf("got %v, %v", got, err)
		}
		select {
		case <-first.Done():
			t.Error("the run of the other key has ended")
		default:
		}
		<-first.Done()
	})
}

func TestACallerThatGivesUpDoesNotEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group coalesce.Group[int, []int]
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		run := group.Start(ctx, "key", []int{1}, func(ctx context.Context, items []int) ([]int, error) {
			time.Sleep(time.Second)
			return items, ctx.Err()
		})
		cancel(gone)
		if _, err := run.Wait(ctx); err != gone {
			t.Errorf("the caller that gives up gets %v", err)
		}
		<-run.Done()
		if got, err := run.Wait(ctx); err != nil || !slices.Equal(got, []int{1}) {
			t.Errorf("the run ended with %v, %v", got, err)
		}
	})
}

func TestCallersDuringBeforeShareTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := coalesce.Group[int, []int]{Before: func(key string) {
			if key == "key" {
				time.Sleep(time.Second)
			}
		}}
		first := group.Start(t.Context(), "key", []int{1}, slow)
		time.Sleep(500 * time.Millisecond)
		if group.Start(t.Context(), "key", []int{2}, slow) != first {
			t.Error("a caller during Before gets another run")
		}
		time.Sleep(time.Second)
		next := group.Start(t.Context(), "key", []int{3}, slow)
		if next == first {
			t.Error("a caller after Before shares the run")
		}
		<-next.Done()
		if got, err := first.Wait(t.Context()); err != nil || !slices.Equal(got, []int{1, 2}) {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestTheRunAfterAPanicWorks(t *testing.T) {
	var group coalesce.Group[int, int]
	one := func(context.Context, []int) (int, error) { return 1, nil }
	if _, err := group.Do(t.Context(), "key", nil, func(context.Context, []int) (int, error) { panic("broken") }); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("the run that panicked returned %v", err)
	}
	if got, err := group.Do(t.Context(), "key", nil, one); got != 1 || err != nil {
		t.Errorf("the run after a panic: %d, %v", got, err)
	}
	if _, err := group.Do(t.Context(), "key", nil, func(context.Context, []int) (int, error) { runtime.Goexit(); return 0, nil }); err == nil {
		t.Error("the run whose goroutine ended is successful")
	}
	if got, err := group.Do(t.Context(), "key", nil, one); got != 1 || err != nil {
		t.Errorf("the run after an ended goroutine: %d, %v", got, err)
	}
}

func TestNoRunBeganBeforeTheCallOfACaller(t *testing.T) {
	var group coalesce.Group[int, int64]
	var clock atomic.Int64
	var runs atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 200 {
				called := clock.Add(1)
				began, err := group.Do(t.Context(), "key", nil, func(context.Context, []int) (int64, error) {
					runs.Add(1)
					return clock.Add(1), nil
				})
				if err != nil || began <= called {
					t.Errorf("called at %d, the run began at %d: %v", called, began, err)
				}
			}
		})
	}
	callers.Wait()
	t.Logf("%d runs served 1600 calls", runs.Load())
}
