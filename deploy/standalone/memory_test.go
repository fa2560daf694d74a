package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The memory limit of the garbage collector grows with the live heap, so that the collector does not run all the time
// when the live heap exceeds memoryFloor. It is lower when the process is at rest.
func TestTheMemoryLimitFollowsTheLiveHeap(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv(name, "")
	}
	t.Cleanup(func() {
		debug.SetGCPercent(100)
	})
	boundMemory()
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	if got := limit(); got < memoryFloor || got == math.MaxInt64 {
		t.Fatalf("the limit is %d", got)
	}
	follows := func(what string, work func(), holds func() bool) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for ; !holds(); work() {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the limit is %d", what, limit())
			}
		}
	}
	live := make([]byte, 2*memoryFloor)
	follows("a large heap", runtime.GC, func() bool { return limit() >= int64(len(live))+workSpare })
	runtime.KeepAlive(live)
	live = nil
	for range 2 {
		follows("a small heap", runtime.GC, func() bool { return limit() > memoryFloor && limit() < 2*memoryFloor })
		atWork := limit()
		follows("a process at rest", func() { <-time.After(10 * time.Millisecond) }, func() bool { return limit() < atWork-(workSpare-memorySpare)/2 || limit() == memoryFloor })
	}
}
