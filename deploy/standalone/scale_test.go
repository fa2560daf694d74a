package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// unhurried returns the time that a receiver takes: 1 s for a tenth of the endpoints, 0.4 s for another tenth, and 0.1
// s for all others.
func unhurried(endpoint int) time.Duration {
	switch endpoint % 10 {
	case 0:
		return time.Second
	case 1:
		return 400 * time.Millisecond
	}
	return 100 * time.Millisecond
}

// scaled starts a platform with one delivery process and with n endpoints of a component. It returns this delivery
// process, and a second one that is not started. The test needs MongoDB, because several processes cannot use a SQLite
// file. .ci/run starts a server for it.
func scaled(t *testing.T, n int) (l *tally, a actor, component string, first, second *process) {
	server := os.Getenv("BELLBUOY_TEST_MONGODB")
	if server == "" {
		t.Skip("BELLBUOY_TEST_MONGODB names no MongoDB server")
	}
	l = newTally(t)
	cluster := startCluster(t, append(l.env, fmt.Sprintf("DOCUMENTS_URL=%s/scale%d", strings.TrimSuffix(server, "/"), time.Now().UnixNano()))...)
	first, second = cluster.processes["delivery"], cluster.processes["delivery-2"]
	leave(t, second)
	a = actor{t, provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")}
	_, component = a.service("Checkout")
	a.endpoints(n, component)
	return l, a, component, first, second
}

// another starts one more delivery process.
func another(t *testing.T, like *process, name string) *process {
	return newProcess(t, name, "delivery", append(slices.Clone(like.env), "BELLBUOY_ADDR=127.0.0.1:0", "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0")...).start()
}

func leave(t testing.TB, p *process) {
	t.Helper()
	if code := p.stop(); code != 0 {
		t.Errorf("%s ended with code %d", p.name, code)
	}
}

// The number of delivery processes changes from 1 to 3 to 2 during 100,000 deliveries (fewer in the short form): ten
// updates of an event to each endpoint. Some receivers take 0.4 s or 1 s. No delivery is lost, no update overtakes an
// earlier one, and at most 0.1 % of the deliveries are repeated.
func TestAScaleOutDuringDeliveriesLosesNothing(t *testing.T) {
	t.Parallel()
	const updates = 10
	n := setting(t, "SCALE_DELIVERIES", 2000, 100_000) / updates
	l, a, component, first, second := scaled(t, n)

	// rate returns the throughput of one fan-out, measured from its first delivery.
	rate := func() float64 {
		event := a.opens(component)
		l.await(1, func() int { return l.arrived(event, 1) })
		began := time.Now()
		end := l.await(n, func() int { return l.arrived(event, 1) })
		return float64(n) / end.Sub(began).Seconds()
	}
	rate() // fills caches before the measurement
	one := rate()

	l.mu.Lock()
	l.takes = unhurried
	l.mu.Unlock()
	event := a.opens(component)
	for range updates - 1 {
		a.adds(event)
	}
	arrived := func() (deliveries int) {
		for sequence := range updates {
			deliveries += l.arrived(event, int64(sequence)+1)
		}
		return deliveries
	}
	l.mu.Lock()
	repeats := l.repeats
	l.mu.Unlock()
	total := n * updates
	l.await(total/10, arrived)
	second.start()
	third := another(t, second, "delivery-3")
	began := time.Now()
	l.await(total*6/10, arrived)
	leave(t, third)
	middle := time.Since(began)
	l.await(total, arrived)
	l.mu.Lock()
	repeats, inversions := l.repeats-repeats, l.inversions
	l.takes = nil
	l.mu.Unlock()

	two := rate()
	t.Logf("deliveries/s of a fan-out to %d: %.0f by 1 process, %.0f by 2; from the start to the end of the third process %v", n, one, two, middle.Round(time.Millisecond))
	t.Logf("%d deliveries while the number of processes went from 1 to 3 to 2: %d repeated (%.3f %%), %d in the wrong order",
		total, repeats, 100*float64(repeats)/float64(total), inversions)
	if repeats*1000 > total || inversions > 0 {
		t.Errorf("%d of %d were repeated, %d in the wrong order", repeats, total, inversions)
	}
	leave(t, first)
}

// Delivery processes start and stop at random moments (20 times in the long form) while an event is updated again and
// again. A process that stops gets SIGTERM and has 15 s to end. No delivery is lost, repeated or overtaken by a later
// one.
func TestProcessesComeAndGoDuringDeliveries(t *testing.T) {
	t.Parallel()
	changes, n := setting(t, "SCALE_CHANGES", 2, 20), setting(t, "SCALE_ENDPOINTS", 100, 500)
	seed := uint64(setting(t, "SCALE_SEED", int(time.Now().UnixNano()), int(time.Now().UnixNano())))
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a fixed seed repeats the test
	l, a, component, first, second := scaled(t, n)
	l.mu.Lock()
	l.takes = unhurried
	l.mu.Unlock()
	event, sequence := a.opens(component), 1
	arrived := func() (deliveries int) {
		for i := range sequence {
			deliveries += l.arrived(event, int64(i)+1)
		}
		return deliveries
	}
	running, outs, ins, most := []*process{first}, 0, 0, 1
	var leaving sync.WaitGroup
	for change := range changes {
		for range 2 {
			a.adds(event)
			sequence++
		}
		l.await((sequence-2)*n+random.IntN(n), arrived)
		if len(running) == 1 || len(running) < 4 && random.IntN(2) == 0 {
			running = append(running, another(t, second, fmt.Sprintf("delivery-%d", change+3)))
			outs, most = outs+1, max(most, len(running))
			continue
		}
		i := random.IntN(len(running))
		p := running[i]
		leaving.Go(func() { leave(t, p) })
		running, ins = slices.Delete(running, i, i+1), ins+1
	}
	l.await(sequence*n, arrived)
	leaving.Wait()
	for _, p := range running {
		leave(t, p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.Logf("SCALE_SEED=%d: %d scale-outs and %d scale-ins, at most %d processes, %d deliveries: %d repeated, %d in the wrong order",
		seed, outs, ins, most, sequence*n, l.repeats, l.inversions)
	if l.repeats > 0 || l.inversions > 0 {
		t.Error("deliveries were repeated or overtaken")
	}
}
