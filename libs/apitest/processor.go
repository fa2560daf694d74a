package apitest

import (
	"syscall"
	"testing"
	"time"
)

// Quiet waits until the processor time that cpu returns hardly grows, and returns it. At rest, the timers of all services
// need a few hundredths of a core.
func Quiet(t testing.TB, cpu func() time.Duration) time.Duration {
	t.Helper()
	used, since, began := cpu(), time.Now(), time.Now()
	for ; time.Since(since) < 400*time.Millisecond; time.Sleep(longest) {
		if now := cpu(); now-used > 20*time.Millisecond {
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
