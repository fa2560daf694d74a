package wire

import (
	"testing"
	"testing/synctest"
	"time"
)

// A process that was suspended takes no connection of before, also if its first request comes before the late sweep.
func TestAConnectionThatWasIdleForTooLongIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool{Options: Options{PerHost: 1, Total: 1, Idle: time.Second}, hosts: make(map[string]int)}
		p.sweeping = true // so that no sweep is scheduled
		p.keep(&conn{host: "a.test"})
		time.Sleep(time.Second - 1)
		kept := p.take("a.test")
		if kept == nil {
			t.Fatal("a connection that was idle for less than a second is not used")
		}
		p.keep(kept)
		time.Sleep(time.Second)
		if p.take("a.test") != nil {
			t.Error("a connection that was idle for a second is used")
		}
	})
}
