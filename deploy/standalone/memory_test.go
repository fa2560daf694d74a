package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The memory limit of the garbage collector grows with the live heap, so that the collector does not run all the time
// when the live heap exceeds memoryFloor.
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
	follows := func(what string, holds func() bool) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for ; !holds(); runtime.GC() {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the limit is %d", what, limit())
			}
		}
	}
	live := make([]byte, 2*memoryFloor)
	follows("a large heap", func() bool { return limit() >= int64(len(live))*5/4+memorySpare })
	runtime.KeepAlive(live)
	live = nil
	follows("a small heap", func() bool { return limit() < 2*memoryFloor })
}
