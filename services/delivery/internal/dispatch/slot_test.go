package dispatch

import (
	"testing"
	"testing/synctest"
	"time"
)

// A delivery moves to a slow slot after fastTime. It moves after overtakeTime if many others have ended since it started.
func TestSlots(t *testing.T) {
	for name, c := range map[string]struct {
		others int // that end at once
		moves  time.Duration
	}{
		"the machine is slow":  {0, fastTime},
		"others end":           {31, fastTime},
		"the receiver is slow": {32, overtakeTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &slots{fast: make(chan struct{}, 4), slow: make(chan struct{}, 4), observer: unobserved{}}
				acquire := func() *slot {
					s := l.acquire(t.Context())
					s.start()
					return s
				}
				hanging := acquire()
				for range c.others {
					acquire().release()
				}
				time.Sleep(c.moves - time.Millisecond)
				synctest.Wait()
				if len(l.slow) != 0 || len(l.fast) != 1 {
					t.Errorf("before %v there are %d slow and %d fast deliveries", c.moves, len(l.slow), len(l.fast))
				}
				time.Sleep(time.Millisecond)
				synctest.Wait()
				if len(l.slow) != 1 || len(l.fast) != 0 {
					t.Errorf("after %v there are %d slow and %d fast deliveries", c.moves, len(l.slow), len(l.fast))
				}
				hanging.release()
				time.Sleep(fastTime) // the last timer
				if len(l.slow) != 0 || l.watching {
					t.Errorf("%d slow slots are in use; watching: %v", len(l.slow), l.watching)
				}
			})
		})
	}
}
