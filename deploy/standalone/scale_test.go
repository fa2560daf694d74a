package main_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The number of delivery processes changes from 1 to 3 to 2 while 100,000 deliveries (fewer in the short form) are
// under way: ten updates of an event to each endpoint. None is lost, none overtakes another, and at most 0.1 % are
// repeated. Several processes need MongoDB, because a SQLite file belongs to
// one process. .ci/run starts a server for it.
func TestScaleOutDuringDeliveries(t *testing.T) {
	server := os.Getenv("BELLBUOY_TEST_MONGODB")
	if server == "" {
		t.Skip("BELLBUOY_TEST_MONGODB names no MongoDB server")
	}
	const updates = 10
	n := setting(t, "SCALE_DELIVERIES", 5000, 100_000) / updates
	l := newTally(t)
	cluster := startCluster(t, append(l.env, fmt.Sprintf("DOCUMENTS_URL=%s/scale%d", strings.TrimSuffix(server, "/"), time.Now().UnixNano()))...)
	first, second := cluster.processes["delivery"], cluster.processes["delivery-2"]
	if code := second.stop(); code != 0 {
		t.Fatalf("the second delivery process ended with code %d", code)
	}
	a := actor{t, provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")}
	_, component := a.service("Checkout")
	a.endpoints(n, component)

	// rate is the throughput of one fan-out, from its first delivery.
	rate := func() float64 {
		event := a.opens(component)
		l.await(1, func() int { return l.arrived(event, 1) })
		began := time.Now()
		end := l.await(n, func() int { return l.arrived(event, 1) })
		return float64(n) / end.Sub(began).Seconds()
	}
	rate() // warm
	one := rate()

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
	third := newProcess(t, "delivery-3", "delivery", append(second.env, "BELLBUOY_ADDR=127.0.0.1:0", "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0")...).start()
	began := time.Now()
	l.await(total*6/10, arrived)
	if code := third.stop(); code != 0 {
		t.Errorf("the third delivery process ended with code %d", code)
	}
	middle := time.Since(began)
	l.await(total, arrived)
	l.mu.Lock()
	repeats, inversions := l.repeats-repeats, l.inversions
	l.mu.Unlock()

	two := rate()
	t.Logf("deliveries/s of a fan-out to %d: %.0f by 1 process, %.0f by 2; from the start to the end of the third process %v", n, one, two, middle.Round(time.Millisecond))
	t.Logf("%d deliveries while the number of processes went from 1 to 3 to 2: %d repeated (%.3f %%), %d in the wrong order",
		total, repeats, 100*float64(repeats)/float64(total), inversions)
	if repeats*1000 > total || inversions > 0 {
		t.Errorf("%d of %d were repeated, %d in the wrong order", repeats, total, inversions)
	}
	if code := first.stop(); code != 0 {
		t.Errorf("the first delivery process ended with code %d", code)
	}
}
