package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// gcPercent lets a small heap grow to three times its live size. A fan-out allocates much and keeps little. With
	// the default of 100, the garbage collector used a sixth of the processor time of a fan-out. GOGC overrides
	// gcPercent.
	gcPercent = 200
	// memoryFloor is the lowest memory limit of the Go runtime, in bytes. Below it, only gcPercent decides when the
	// collector runs.
	memoryFloor = 112 << 20
	// memorySpare is added to the limit for garbage and for memory of the Go runtime outside of the heap, in bytes.
	memorySpare = 48 << 20
)

// boundMemory sets gcPercent unless the environment sets GOGC, and the memory limit unless it sets GOMEMLIMIT.
//
// Decision. The limit follows the live heap: after each collection it is five quarters of the live heap plus
// memorySpare, but at least memoryFloor. So a large heap grows less than threefold. A fixed limit below the live heap
// would make the collector run all the time.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		followHeap()
	}
}

// followHeap sets the memory limit from the size of the live heap, now and after each collection.
func followHeap() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetMemoryLimit(memoryLimit(live[0].Value.Uint64()))
	runtime.AddCleanup(new([64]byte), func(struct{}) { followHeap() }, struct{}{})
}

func memoryLimit(live uint64) int64 { return max(memoryFloor, int64(live)*5/4+memorySpare) }
