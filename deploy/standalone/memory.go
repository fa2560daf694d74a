package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// gcPercent lets a small heap grow to three times its live size. A fan-out allocates much and keeps little, and with the
	// default the collector took a sixth of its processor time. GOGC overrides it.
	gcPercent = 200
	// memoryFloor is the memory of the Go runtime, in bytes, up to which only gcPercent decides when the collector runs.
	memoryFloor = 112 << 20
	// memorySpare is for what the Go runtime uses beside the heap, and for garbage, in bytes.
	memorySpare = 48 << 20
)

// boundMemory sets the percentage and the memory limit of the garbage collector unless GOGC or GOMEMLIMIT does.
//
// Decision. The limit follows the live heap: after each collection it is memoryFloor, or five quarters of the live heap and
// memorySpare if that is more. So a large heap grows less than threefold. A fixed limit below the live heap would make the
// collector run all the time.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		followHeap()
	}
}

// followHeap sets the memory limit by the live heap, now and after each collection.
func followHeap() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetMemoryLimit(memoryLimit(live[0].Value.Uint64()))
	runtime.AddCleanup(new([64]byte), func(struct{}) { followHeap() }, struct{}{})
}

// memoryLimit returns the memory limit for the bytes of a live heap.
func memoryLimit(live uint64) int64 { return max(memoryFloor, int64(live)*5/4+memorySpare) }
