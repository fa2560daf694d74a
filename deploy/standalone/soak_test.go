//go:build soak

package main_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	soakHooks  = 40               // endpoints of each fan-out
	soakWrites = 5                // the most writes to an event
	soakKeeps  = 20               // events that a writer keeps
	soakGrace  = 10 * time.Second // the time after a restart in which the outage still explains a failure
	soakPause  = 5 * time.Second  // the time without an outage between two
)

// TestSoak runs the platform as separate processes for SOAK_MINUTES (20). In the first sixth of the time, writers on all
// interfaces and visitors work. Then each service and engine is killed and started again, in a random order, again and
// again. In the last third nothing is killed. scripts/soak explains what must be true at the end.
func TestSoak(t *testing.T) {
	minutes := setting(t, "SOAK_MINUTES", 20, 20)
	span := time.Duration(minutes) * time.Minute
	s := newSoak(t)
	s.progress()

	s.load(span/6, func(context.Context) {})
	before := s.settled()
	s.load(span/2, s.kills)
	s.drain()
	kills, repeats := s.counts["killed: delivery"], s.hooks.repeated()
	s.load(span/3, func(context.Context) {})
	after := s.settled()
	s.leaks(before, after)
	s.explained()
	s.lost()
	s.check("no delivery is repeated beyond the bound", repeats <= 256*kills, "%d repeated by %d kills of delivery (at most 256 each)", repeats, kills)
	s.check("no delivery is repeated without a kill", s.hooks.repeated() == repeats, "%d repeated", s.hooks.repeated()-repeats)
	s.removes()
}

// soak is a platform under load.
type soak struct {
	actor
	began               time.Time
	cluster             *cluster
	engines             map[*process]string
	hooks               *tally
	documents           string // folder
	service, component  string
	other, otherService string // no event is about it
	tool                signer
	rowsBefore          map[string]int

	mu       sync.Mutex
	outages  []soakOutage
	failures []soakFailure
	wrong    []string          // responses that no outage explains: the request was refused
	told     map[string]int    // acknowledged writes that notify, by the title of the event
	events   map[string]string // acknowledged events that are not deleted: paths by title
	counts   map[string]int    // of what was done
}

// soakOutage is the time in which a process was down, or just back.
type soakOutage struct {
	name     string
	from, to time.Time
}

// soakFailure is a 5xx or a broken connection.
type soakFailure struct {
	from, to time.Time
	gateway  string // the process
	page     bool   // a read of a public page
	text     string
}

// explains reports whether the outage may cause the failure: a gateway breaks its own connections only, and a public page
// needs nothing but the gateway.
func (o soakOutage) explains(f soakFailure) bool {
	if o.to.Before(f.from) || o.from.After(f.to) {
		return false
	}
	if strings.HasPrefix(o.name, "gateway") {
		return o.name == f.gateway
	}
	return !f.page
}

func newSoak(t *testing.T) *soak {
	s := &soak{began: time.Now(), hooks: newTally(t), documents: filepath.Join(t.TempDir(), "documents"), told: map[string]int{}, events: map[string]string{}, counts: map[string]int{}}
	var env []string
	s.engines, env = engineProcesses(t)
	s.cluster = startCluster(t, append(append(env, s.hooks.env...), "DOCUMENTS_URL=sqlite:"+s.documents, "LEGACY_RATE_PER_HOUR=100000000", "APP_RATE_PER_MINUTE=1000000")...)
	s.actor = actor{t, provision(t, s.cluster.base, "Acme", "acme-admin", "admin", "api")}
	s.service, s.component = s.actor.service("Checkout")
	s.otherService, s.other = s.actor.service("Other")
	s.endpoints(soakHooks, s.component)
	s.tool = s.signer("tool")
	s.rowsBefore = s.rows()
	return s
}

// progress prints what was done, twice a minute, until the test ends.
func (s *soak) progress() {
	done := make(chan struct{})
	var printer sync.WaitGroup
	printer.Go(func() {
		ticker := time.NewTicker(30 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				s.say("%s", s.summary())
			case <-done:
				return
			}
		}
	})
	s.t.Cleanup(func() {
		close(done)
		printer.Wait()
	})
}

func (s *soak) summary() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, s.counts[what]))
	}
	return fmt.Sprintf("%s; failed %d; deliveries %d", strings.Join(parts, ", "), len(s.failures), s.hooks.total())
}

func (s *soak) say(format string, values ...any) {
	s.t.Logf("%4.0f s  %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, values...))
}

// check prints the result of a check and fails the test if it is false.
func (s *soak) check(what string, good bool, format string, values ...any) {
	s.t.Helper()
	if good {
		s.say("ok      %s: %s", what, fmt.Sprintf(format, values...))
		return
	}
	s.t.Errorf("FAILED  %s: %s", what, fmt.Sprintf(format, values...))
}

func (s *soak) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

// load runs the writers, the visitors and disturb for the time.
func (s *soak) load(span time.Duration, disturb func(context.Context)) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), span)
	defer stop()
	var group sync.WaitGroup
	for n, work := range []func(context.Context, string, string){s.legacyWriter, s.appWriter, s.inboundWriter, s.churn, s.visitor, s.visitor} {
		gateway := []string{"gateway", "gateway-2"}[n%2]
		group.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				work(ctx, gateway, fmt.Sprintf("%d-%d-%d", n, round, time.Now().UnixMilli()))
			}
		})
	}
	group.Go(func() { disturb(ctx) })
	group.Wait()
	s.say("this part of the load is over: %s", s.summary())
}

// kills kills one process after the other and starts it again.
func (s *soak) kills(ctx context.Context) {
	victims := slices.Collect(maps.Keys(s.engines))
	for _, name := range s.cluster.names {
		victims = append(victims, s.cluster.processes[name])
	}
	for {
		for _, n := range rand.Perm(len(victims)) {
			select {
			case <-time.After(soakPause):
			case <-ctx.Done():
				return
			}
			s.kill(victims[n])
		}
	}
}

func (s *soak) kill(victim *process) {
	s.t.Helper()
	s.mu.Lock()
	at := len(s.outages)
	s.outages = append(s.outages, soakOutage{victim.name, time.Now(), time.Now().Add(time.Hour)})
	s.mu.Unlock()
	victim.kill()
	<-time.After(time.Duration(rand.IntN(2000)) * time.Millisecond) // the time without the process
	victim.start()
	began := time.Now()
	if address, engine := s.engines[victim]; engine {
		eventually(s.t, 2*time.Minute, victim.name, listens(address))
	} else {
		eventually(s.t, 2*time.Minute, victim.name, ready("http://"+s.cluster.addresses[victim.name]))
	}
	s.mu.Lock()
	s.outages[at].to = time.Now().Add(soakGrace)
	s.mu.Unlock()
	s.count("killed: " + victim.name)
	s.say("%s was killed, and back %v after its start", victim.name, time.Since(began).Round(time.Millisecond))
}

// drain waits until every acknowledged write has reached every endpoint, and no message waits in an outbox.
func (s *soak) drain() {
	s.t.Helper()
	eventually(s.t, 2*time.Minute, "all deliveries", func() error {
		if missing := s.missing(); len(missing) > 0 {
			return fmt.Errorf("%d events are not delivered to all: %s", len(missing), strings.Join(missing[:min(5, len(missing))], "; "))
		}
		return nil
	})
	eventually(s.t, time.Minute, "empty outboxes", func() error {
		for table, n := range s.rows() {
			if strings.HasSuffix(table, "~outbox") && n > 0 {
				return fmt.Errorf("%d messages in %s", n, table)
			}
		}
		return nil
	})
}

// missing returns the events of which an endpoint lacks an acknowledged update.
func (s *soak) missing() (titles []string) {
	s.mu.Lock()
	told := maps.Clone(s.told)
	s.mu.Unlock()
	for title, n := range told {
		if got := s.hooks.complete(title, soakHooks); got < n {
			titles = append(titles, fmt.Sprintf("%s: %d of %d updates", title, got, n))
		}
	}
	return titles
}

// complete returns how many updates of the event have arrived at n endpoints.
func (l *tally) complete(title string, n int) (updates int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.ids[title]
	for sequence := int64(1); sequence <= soakWrites; sequence++ { // a write that does not notify has a number, too
		if len(l.seen[update(id, sequence)]) >= n {
			updates++
		}
	}
	return updates
}

func (l *tally) repeated() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.repeats
}

// explained checks that an outage explains each failure.
func (s *soak) explained() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	unexplained := slices.Clone(s.wrong)
	for _, failure := range s.failures {
		if !slices.ContainsFunc(s.outages, func(o soakOutage) bool { return o.explains(failure) }) {
			unexplained = append(unexplained, failure.from.Sub(s.began).Round(time.Millisecond).String()+" "+failure.gateway+": "+failure.text)
		}
	}
	s.check("an outage explains every failure", len(unexplained) == 0, "%d requests failed in %d outages, %d unexplained: %q",
		len(s.failures), len(s.outages), len(unexplained), unexplained[:min(10, len(unexplained))])
}

// lost checks that the platform has every acknowledged event, and that every endpoint got every acknowledged update.
func (s *soak) lost() {
	s.t.Helper()
	var gone []string
	for title, path := range s.events {
		authorization := s.app()
		if strings.HasPrefix(path, "/api/") {
			authorization = s.legacy()
		}
		if got := send(s.t, http.MethodGet, s.BaseURL+path, authorization, nil); got.status != http.StatusOK {
			gone = append(gone, fmt.Sprintf("%s: %d", title, got.status))
		}
	}
	s.check("no acknowledged event is lost", len(gone) == 0 && len(s.events) > 0, "%d of %d are missing: %v", len(gone), len(s.events), gone)
	missing, updates := s.missing(), 0
	for _, n := range s.told {
		updates += n
	}
	s.check("no delivery is lost", len(missing) == 0 && updates > 0, "%d deliveries of %d acknowledged updates of %d events to %d endpoints; incomplete: %v",
		s.hooks.total(), updates, len(s.told), soakHooks, missing)
}
