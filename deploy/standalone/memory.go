package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcPercent lets a small heap grow to three times its live size. A fan-out allocates much and keeps little. With
	// the default of 100, the garbage collector used a sixth of the processor time of a fan-out. GOGC overrides
	// gcPercent.
	gcPercent = 200
	// memoryFloor is the lowest memory limit of the Go runtime at rest, in bytes. While the process uses less memory, only
	// gcPercent decides when the collector runs.
	memoryFloor = 112 << 20
	// memorySpare is the part of the limit for garbage and for memory of the Go runtime outside of the heap, in bytes.
	memorySpare = 48 << 20
	// workSpare is the minimum difference between the limit and the live heap while the process works, in bytes. The process
	// is at rest if the last collection was more than restAfter ago. With memorySpare alone, the garbage collector used a
	// fifth of the processor time of events to 20 webhooks each.
	workSpare = 128 << 20
	restAfter = 2 * time.Second
)

// boundMemory sets gcPercent unless the environment sets GOGC, and the memory limit unless it sets GOMEMLIMIT.
//
// Decision. The limit follows the live heap. It is five quarters of the live heap plus memorySpare, but at least memoryFloor,
// and at work at least the live heap plus workSpare. So a large heap grows less than threefold, and the process returns memory
// to the operating system after its work. A fixed limit below the live heap would make the collector run all the time.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		followHeap()
	}
}

// followHeap sets the memory limit from the size of the live heap, now, after each collection, and at rest. The runtime calls
// collected after a collection, because nothing refers to the 64 bytes.
func followHeap() {
	rest := time.AfterFunc(restAfter, func() { limitMemory(0) })
	var collected func(struct{})
	collected = func(struct{}) {
		limitMemory(workSpare)
		rest.Reset(restAfter)
		runtime.AddCleanup(new([64]byte), collected, struct{}{})
	}
	collected(struct{}{})
}

// limitMemory sets the memory limit as boundMemory describes. spare is the minimum difference between the limit and the live
// heap, in bytes.
func limitMemory(spare int64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	live := int64(samples[0].Value.Uint64())
	debug.SetMemoryLimit(max(memoryFloor, live+max(live/4+memorySpare, spare)))
}
