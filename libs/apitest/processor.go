package apitest

import (
	"syscall"
	"testing"
	"time"
)

// AtRest is the share of a core that the timers of all services need.
const AtRest = 0.05

// Quiet waits until the processor time that cpu returns has grown by at most share of a core during 400 ms. It returns the
// processor time at the beginning of these 400 ms. It fails the test after five minutes.
func Quiet(t testing.TB, share float64, cpu func() time.Duration) time.Duration {
	t.Helper()
	const span = 400 * time.Millisecond
	used, since, began := cpu(), time.Now(), time.Now()
	for ; time.Since(since) < span; time.Sleep(longest) {
		if now := cpu(); now-used > time.Duration(share*float64(span)) {
			used, since = now, time.Now()
		}
		if time.Since(began) > 5*time.Minute {
			t.Fatal("the process is busy for five minutes")
		}
	}
	return used
}

// UsedCPU returns the processor time of this process.
func UsedCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail for this process
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
