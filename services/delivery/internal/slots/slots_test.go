package slots

import (
	"testing"
	"testing/synctest"
	"time"
)

const (
	fastTime     = 200 * time.Millisecond
	overtakeTime = 75 * time.Millisecond
)

func TestWorkMovesToASlowSlotSoonerIfManyOthersHaveEndedSinceItsStart(t *testing.T) {
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
				l := &Slots{Fast: make(chan struct{}, 4), Slow: make(chan struct{}, 4), FastTime: fastTime, OvertakeTime: overtakeTime, Overtakers: 8, Moved: func(int) {}}
				acquire := func() *Slot {
					s := l.Acquire(t.Context())
					s.Start()
					return s
				}
				hanging := acquire()
				for range c.others {
					acquire().Release()
				}
				time.Sleep(c.moves - time.Millisecond)
				synctest.Wait()
				if len(l.Slow) != 0 || len(l.Fast) != 1 {
					t.Errorf("before %v there are %d slow and %d fast deliveries", c.moves, len(l.Slow), len(l.Fast))
				}
				time.Sleep(time.Millisecond)
				synctest.Wait()
				if len(l.Slow) != 1 || len(l.Fast) != 0 {
					t.Errorf("after %v there are %d slow and %d fast deliveries", c.moves, len(l.Slow), len(l.Fast))
				}
				hanging.Release()
				time.Sleep(fastTime) // the last timer
				if len(l.Slow) != 0 || l.watching {
					t.Errorf("%d slow slots are in use; watching: %v", len(l.Slow), l.watching)
				}
			})
		})
	}
}
