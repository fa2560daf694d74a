package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// publisher posts incidents one after the other. It records the descriptions of those that got a 201.
type publisher struct {
	credentials
	service string
	mu      sync.Mutex
	posted  []string // acknowledged descriptions
}

// until posts incidents until ctx ends. It continues after refusals and broken connections.
func (p *publisher) until(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		description := fmt.Sprintf("incident %d", len(p.acknowledged())+n*100_000)
		got, err := try(ctx, http.MethodPost, p.BaseURL+"/api/v1/event/list/", p.legacy(), incident(p.service, description))
		if err == nil && got.status == http.StatusCreated {
			p.mu.Lock()
			p.posted = append(p.posted, description)
			p.mu.Unlock()
		}
		select {
		case <-time.After(20 * time.Millisecond): // the rate of a team, not of an attack
		case <-ctx.Done():
		}
	}
}

func (p *publisher) acknowledged() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.posted)
}

// progress waits until n more incidents are acknowledged.
func (p *publisher) progress(t *testing.T, n int) {
	t.Helper()
	enough := len(p.acknowledged()) + n
	eventually(t, 60*time.Second, fmt.Sprintf("%d more incidents acknowledged", n), func() error {
		if now := len(p.acknowledged()); now < enough {
			return fmt.Errorf("%d of %d are acknowledged", now, enough)
		}
		return nil
	})
}

// titles returns the number of requests by title and by webhook-id.
func titles(t testing.TB, requests []receiver.Request) (byTitle, byID map[string]int) {
	byTitle, byID = map[string]int{}, map[string]int{}
	for _, request := range requests {
		byTitle[read(t, request).Event.Title]++
		byID[request.ID()]++
	}
	return byTitle, byID
}

// everyPosted returns a function that reports whether the requests contain every title. The function decodes only the
// requests that were not in its former call.
func everyPosted(t testing.TB, posted []string) func([]receiver.Request) bool {
	missing, decoded := map[string]bool{}, 0
	for _, title := range posted {
		missing[title] = true
	}
	return func(requests []receiver.Request) bool {
		for _, request := range requests[decoded:] {
			delete(missing, read(t, request).Event.Title)
		}
		decoded = len(requests)
		return len(missing) == 0
	}
}

// expectEveryPosted waits until the receiver has got every incident in posted. It fails the test if nothing arrives for
// a minute.
func expectEveryPosted(t *testing.T, r *receiver.Receiver, posted []string) {
	t.Helper()
	all := everyPosted(t, posted)
	requests := r.Requests()
	for !all(requests) {
		before := len(requests)
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		var err error
		requests, err = r.Wait(ctx, func(now []receiver.Request) bool { return len(now) > before })
		cancel()
		if err == nil {
			continue
		}
		byTitle, _ := titles(t, requests)
		for _, title := range posted {
			if byTitle[title] == 0 {
				t.Errorf("acknowledged, but never delivered: %s", title)
			}
		}
		t.Fatalf("%d of %d acknowledged incidents were delivered: %v", len(byTitle), len(posted), err)
	}
	_, byID := titles(t, requests)
	repeated := 0
	for _, n := range byID {
		repeated += n - 1
	}
	t.Logf("%d incidents acknowledged, %d requests arrived, %d of them repeated", len(posted), len(requests), repeated)
}

func TestKillOfTheWholeProcessLosesNothing(t *testing.T) {
	t.Parallel()
	r, env := startReceiver(t)
	p, base := started(t, env...)
	c := seeded(t, p)
	a := actor{t, c}
	uri, id := a.service("Checkout")
	a.endpoint("https://"+receiverHost+"/hooks/1", id)

	poster := &publisher{credentials: c, service: uri}
	for range 4 {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); poster.until(ctx) }()
		before := len(poster.acknowledged())
		eventually(t, time.Minute, "three acknowledged incidents", func() error {
			if n := len(poster.acknowledged()) - before; n < 3 {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		<-time.After(time.Duration(rand.IntN(600)) * time.Millisecond) // a random moment for the kill
		p.kill()
		stop()
		<-done
		p.start()
		eventually(t, 30*time.Second, "ready again", ready(base))
	}
	expectEveryPosted(t, r, poster.acknowledged())

	// A delivery that is stored as delivered is not sent again: the platform is killed and started once more while
	// nothing is being sent.
	var before int
	eventually(t, time.Minute, "all deliveries are logged as delivered", func() error {
		before = quiet(t, r)
		delivered := a.delivered()
		_, byID := titles(t, r.Requests())
		for id := range byID {
			if !delivered[id] {
				return fmt.Errorf("%s is not", id)
			}
		}
		return nil
	})
	p.kill()
	p.start()
	eventually(t, 30*time.Second, "ready again", ready(base))
	send(t, http.MethodPost, base+"/api/v1/event/list/", c.legacy(), incident(uri, "after it all")).expect(t, http.StatusCreated)
	expectEveryPosted(t, r, append(poster.acknowledged(), "after it all"))
	if again := quiet(t, r) - before; again != 1 {
		t.Errorf("%d requests arrived after the last start instead of the one new", again)
	}
}

// quiet waits until nothing has arrived for two seconds, and returns the number of requests. Only retries have longer
// pauses.
func quiet(t *testing.T, r *receiver.Receiver) int {
	t.Helper()
	for {
		n := len(r.Requests())
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := r.Wait(ctx, func(all []receiver.Request) bool { return len(all) > n })
		cancel()
		if err != nil {
			return n
		}
	}
}

func TestKillOfAnyOneProcessLosesNothing(t *testing.T) {
	t.Parallel()
	eachDocuments(t, killEachProcess)
}

func killEachProcess(t *testing.T, documents string) {
	r, env := startReceiver(t)
	cluster := startCluster(t, append(env, documents)...)
	c := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")
	a := actor{t, c}
	uri, id := a.service("Checkout")
	a.endpoint("https://"+receiverHost+"/hooks/1", id)

	poster := &publisher{credentials: c, service: uri}
	for _, name := range cluster.names {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); poster.until(ctx) }()
		poster.progress(t, 1)
		<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond) // a random moment for the kill
		cluster.processes[name].kill()
		<-time.After(time.Duration(rand.IntN(200)) * time.Millisecond) // the time until the process starts again
		cluster.processes[name].start()
		eventually(t, 60*time.Second, name+" ready again", ready("http://"+cluster.addresses[name]))
		eventually(t, 60*time.Second, "the platform ready again", ready(cluster.base))
		poster.progress(t, 2) // through the restarted process
		stop()
		<-done
	}
	expectEveryPosted(t, r, poster.acknowledged())
}

func readJSON(t testing.TB, file string, out any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, out); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
