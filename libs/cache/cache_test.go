package cache_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/cache"
)

func TestTheLeastRecentlyUsedValuesLeaveAFullCache(t *testing.T) {
	var removed []string
	c := cache.NewSized(10, func(key string, _ int) { removed = append(removed, key) })
	c.Add("a", 1, 4)
	c.Add("b", 2, 4)
	if value, is := c.Get("a"); !is || value != 1 {
		t.Errorf("a is %d, %v", value, is)
	}
	if value, is := c.Peek("b"); !is || value != 2 { // which is no use
		t.Errorf("b is %d, %v", value, is)
	}
	c.Add("c", 3, 3)
	if _, is := c.Get("b"); is || !slices.Equal(removed, []string{"b"}) || c.Size() != 7 {
		t.Errorf("removed are %v, and the size is %d", removed, c.Size())
	}
	if keys := c.Keys(); !slices.Equal(keys, []string{"a", "c"}) {
		t.Errorf("cached are %v", keys)
	}
}

func TestAReplacedValueNoLongerCounts(t *testing.T) {
	var removed []int
	c := cache.NewSized(10, func(_ string, value int) { removed = append(removed, value) })
	c.Add("a", 1, 9)
	c.Add("a", 2, 3)
	if value, _ := c.Get("a"); value != 2 || c.Size() != 3 || !slices.Equal(removed, []int{1}) {
		t.Errorf("a is %d, the size is %d, and removed are %v", value, c.Size(), removed)
	}
	if value := c.GetOrAdd("a", 3, 5); value != 2 || c.Size() != 3 {
		t.Errorf("a is %d, and the size is %d", value, c.Size())
	}
	c.Remove("a")
	c.Remove("a")
	if c.Size() != 0 || len(removed) != 2 {
		t.Errorf("the size of the empty cache is %d, and removed are %v", c.Size(), removed)
	}
}

// A value larger than the limit is cached until the next one is added.
func TestTheLastValueStays(t *testing.T) {
	c := cache.NewSized[string, int](10, nil)
	c.Add("a", 1, 4)
	c.Add("large", 2, 50)
	if value, is := c.Get("large"); !is || value != 2 || c.Size() != 50 {
		t.Errorf("the large value is %d, %v, and the size is %d", value, is, c.Size())
	}
	c.Add("b", 3, 4)
	if keys := c.Keys(); !slices.Equal(keys, []string{"b"}) || c.Size() != 4 {
		t.Errorf("cached are %v, and the size is %d", keys, c.Size())
	}
}

func TestTheSizeIsRightAfterConcurrentUse(t *testing.T) {
	c := cache.NewSized[string, int](100, nil)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for n := range 2000 {
				key := strconv.Itoa(n % 40)
				switch n % 3 {
				case 0:
					c.Add(key, n, 1+n%9)
				case 1:
					c.GetOrAdd(key, n, 1+n%9)
				default:
					c.Remove(key)
				}
			}
		})
	}
	group.Wait()
	if c.Size() > 100 {
		t.Errorf("the size is %d", c.Size())
	}
	for _, key := range c.Keys() {
		c.Remove(key)
	}
	if c.Size() != 0 {
		t.Errorf("the size of the empty cache is %d", c.Size())
	}
}

func TestAResultIsSharedForItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		c := cache.NewRecent[string, string](time.Second, 10, time.Now)
		ask := func(key string) string {
			return c.Get(key, func() string {
				time.Sleep(100 * time.Millisecond)
				return fmt.Sprint(key, calls.Add(1))
			})
		}
		var callers sync.WaitGroup
		for range 5 { // at the same time
			callers.Go(func() {
				if got := ask("a"); got != "a1" {
					t.Errorf("the result is %s", got)
				}
			})
		}
		callers.Wait()
		time.Sleep(900 * time.Millisecond) // a second after the begin of the call
		if got := ask("a"); got != "a1" {
			t.Errorf("after a second, the result is %s", got)
		}
		if got := ask("b"); got != "b2" {
			t.Errorf("the result of another key is %s", got)
		}
		time.Sleep(time.Millisecond)
		if got := ask("a"); got != "a3" {
			t.Errorf("after more than a second, the result is %s", got)
		}
	})
}

// A key that is asked for stays, no matter for how many other keys results are requested meanwhile.
func TestTheNumberOfResultsIsBounded(t *testing.T) {
	var calls int
	c := cache.NewRecent[int, int](time.Hour, 3, time.Now)
	count := func() int { calls++; return calls }
	for n := range 100 {
		c.Get(n, count)
		if got := c.Get(0, count); got != 1 {
			t.Fatalf("the result of the key in use is %d", got)
		}
	}
	if got := c.Get(1, count); got == 2 {
		t.Error("the result of a key that was not in use is still cached")
	}
}
