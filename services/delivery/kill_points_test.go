package delivery_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// mostRepeated bounds the deliveries that one kill may repeat, of 10,000, and usuallyRepeated those of 99 of 100 kills (goal D5).
const mostRepeated, usuallyRepeated = 256, 208

// long says that the tests run in their long form.
func long() bool { return os.Getenv("BELLBUOY_TEST_LONG") != "" }

// setting returns a number of the environment, or the number for the long or the short form.
func setting(t testing.TB, name string, short, whole int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		if long() {
			return whole
		}
		return short
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// point is a place in the pipeline where the service can die. arm arranges that the service dies there.
type point struct {
	name string
	arm  func(w *world, l *arrivalLog, p *tap, die func())
}

// step arms a point at a request to the broker.
func step(name string) func(*world, *arrivalLog, *tap, func()) {
	return func(_ *world, _ *arrivalLog, p *tap, die func()) {
		p.tells(func(now string) {
			if now == name {
				die()
			}
		})
	}
}

// points are all places between two steps of the pipeline, in its order.
func points() []point {
	return []point{
		{"change read, no recipient asked for", func(w *world, _ *arrivalLog, _ *tap, die func()) {
			w.peer.lists(func(string) bool { die(); return false })
		}},
		{"first page of recipients read, its shards not published", step("before produce " + topic.Deliveries)},
		{"some shards published", step("after produce " + topic.Deliveries)},
		{"shards of the first page published, the second page not asked for", func(w *world, _ *arrivalLog, _ *tap, die func()) {
			w.peer.lists(func(after string) bool {
				if after != "" {
					die()
				}
				return after == ""
			})
		}},
		{"change planned, its offset not committed", step("before commit delivery-plan")},
		{"offset of the change committed", step("after commit delivery-plan")},
		{"shard read, destinations not resolved", func(w *world, _ *arrivalLog, _ *tap, die func()) {
			w.peer.resolves(func([]string) { die() })
		}},
		{"attempt under way", func(_ *world, l *arrivalLog, _ *tap, die func()) {
			l.hears(func(answer func(int)) { die(); answer(0) })
		}},
		{"attempt answered, not recorded", func(_ *world, l *arrivalLog, _ *tap, die func()) {
			l.hears(func(answer func(int)) { answer(0); die() })
		}},
		{"deliveries recorded, outcomes not published", step("before produce " + topic.DeliveryOutcomes)},
		{"outcomes published", step("after produce " + topic.DeliveryOutcomes)},
		{"shard done, its offset not committed", step("before commit delivery-send")},
		{"offset of the shard committed", step("after commit delivery-send")},
	}
}

// retryPoints are the places where deliveries die that failed before. Each tenth endpoint refuses the first attempt.
func retryPoints() []point {
	return []point{
		{"refused, the retry not recorded", func(_ *world, l *arrivalLog, _ *tap, die func()) {
			var refused atomic.Int64
			l.hears(func(answer func(int)) {
				answer(0)
				if refused.Add(1) == int64(len(l.endpoints)/2) {
					die()
				}
			})
		}},
		{"retry recorded, not due", step("before commit delivery-send")},
		{"retry under way", func(_ *world, l *arrivalLog, _ *tap, die func()) {
			var all atomic.Int64
			l.hears(func(answer func(int)) {
				if all.Add(1) > int64(len(l.endpoints)) {
					die()
				}
				answer(0)
			})
		}},
	}
}

// The service dies at every named point of the pipeline, the first time that it comes there. Afterwards no delivery is
// lost, few are repeated, none more than 3 times, and the updates of the event are in order.
func TestAKillAtEveryPointOfDeliveryLosesNothing(t *testing.T) {
	t.Parallel()
	n := setting(t, "KILL_ENDPOINTS", 300, 10000)
	w := newWorld(t)
	w.peer.page = n/2 + 1 // two pages
	l := newArrivalLog(w, n)
	p := newTap(t, w.broker.Addr())
	event, sequence := newEvent(), int64(0)
	start := func() *child {
		return w.child("KAFKA_BROKERS="+p.address, "DELIVERY_RETRY_SCHEDULE=100ms,100ms,100ms,100ms,100ms,100ms")
	}
	c := start()
	kill := func(at point) {
		sequence++
		e := l.expect(change(event, sequence))
		died := make(chan struct{})
		at.arm(w, l, p, sync.OnceFunc(func() {
			_ = c.command.Process.Kill()
			close(died)
		}))
		w.publish(e.sent, nil)
		select {
		case <-died:
		case <-time.After(patience):
			t.Fatalf("the service never came to the point %q", at.name)
		}
		c.kill()
		w.forgetMembers()
		l.killed()
		p.tells(nil)
		l.hears(nil)
		w.peer.lists(nil)
		w.peer.resolves(nil)
		before := l.arrived(e)
		c = start()
		l.complete(e)
		w.outcomes.all(t, e.ids)
		w.settled()
		kills := l.repeated()
		repeats, most := kills[len(kills)-1], l.most(e)
		t.Logf("%-66s %5d of %d arrived before, %3d repeated", at.name, before, n, repeats)
		if repeats > mostRepeated || most > 3 {
			t.Errorf("%s: %d of %d were repeated, one arrived %d times", at.name, repeats, n, most)
		}
		l.forget(e)
	}
	for _, at := range points() {
		kill(at)
	}
	l.mu.Lock()
	l.failing = func(endpoint, times int) bool { return endpoint%10 == 0 && times == 1 }
	l.mu.Unlock()
	for _, at := range retryPoints() {
		kill(at)
	}
	repeats := l.repeated()
	t.Logf("%d points, at most %d repeated", len(repeats), slices.Max(repeats))
}

// The service dies at random moments while a change is sent to all endpoints: mostly when so many have arrived, sometimes
// while it starts, sometimes after the end. Each second change comes before the change before it is complete. KILL_SEED
// repeats the moments of a run.
func TestKillsOfDeliveryAtRandomMomentsLoseNothing(t *testing.T) {
	t.Parallel()
	n, kills := setting(t, "KILL_ENDPOINTS", 600, 10000), setting(t, "KILLS", 8, 200)
	seed := setting(t, "KILL_SEED", int(time.Now().UnixNano()), int(time.Now().UnixNano()))
	t.Logf("KILL_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	w := newWorld(t)
	l := newArrivalLog(w, n)
	event, sequence := newEvent(), int64(0)
	publish := func() *entry {
		if sequence++; sequence > 4 {
			event, sequence = newEvent(), 1
		}
		e := l.expect(change(event, sequence))
		w.publish(e.sent, nil)
		return e
	}
	c := w.child()
	var open []*entry
	for kill := range kills {
		e := publish()
		open = append(open, e)
		switch moment := random.IntN(20); moment {
		case 0:
			<-time.After(time.Duration(random.IntN(500)) * time.Millisecond) // a moment of the start
		case 1:
			l.complete(e)
			<-time.After(time.Duration(random.IntN(200)) * time.Millisecond) // a moment of the end
		default:
			l.reach(e, 1+random.IntN(n))
		}
		before := l.arrived(e)
		c.kill()
		l.killed()
		t.Logf("kill %3d: %5d of %d had arrived", kill, before, n)
		if kill%10 > 0 { // each tenth time the broker has to notice by itself
			w.forgetMembers()
		}
		c = w.child()
		if kill%2 == 0 && kill < kills-1 {
			continue
		}
		for _, e := range open {
			l.complete(e)
			w.outcomes.all(t, e.ids)
			if most := l.most(e); most > 3 {
				t.Errorf("kill %d: a delivery arrived %d times", kill, most)
			}
			l.forget(e)
		}
		open = nil
		if kill%10 == 9 {
			t.Logf("repeated by each kill so far: %v", l.repeated())
		}
	}
	repeats, unusual := l.repeated(), 0
	for kill, repeated := range repeats {
		if repeated > mostRepeated {
			t.Errorf("kill %d: %d were repeated", kill, repeated)
		}
		if repeated > usuallyRepeated {
			unusual++
		}
	}
	if kills >= 100 && unusual > kills/100 {
		t.Errorf("%d of %d kills repeated more than %d", unusual, kills, usuallyRepeated)
	}
	t.Logf("repeated by each kill: %v", repeats)
	t.Logf("repeated by %d kills at %d endpoints: %s", kills, n, distribution(repeats))
}
