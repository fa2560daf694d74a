//go:build soak

package main_test

import (
	"cmp"
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
	soakHooks = 40              // number of endpoints that get each event
	soakKeeps = 20              // number of events that a writer keeps
	soakPause = 5 * time.Second // time between two outages
)

// TestTheSoakLosesNothing runs the platform as separate processes for SOAK_MINUTES (20). Writers on all interfaces and
// visitors send requests all the time. After the first sixth of the time, services and engines are killed and started
// again, one after the other in a random order. In the last third nothing is killed. scripts/soak lists the conditions
// that are checked at the end.
func TestTheSoakLosesNothing(t *testing.T) {
	minutes := setting(t, "SOAK_MINUTES", 20, 20)
	span := time.Duration(minutes) * time.Minute
	s := newSoak(t)
	s.progress()

	s.load(span/6, func(context.Context) {})
	before := s.settled()
	s.load(span/2, s.kills)
	s.drain()
	s.repeats = append(s.repeats, soakRepeats{"", s.repeated()})
	s.load(span/3, func(context.Context) {})
	after := s.settled()
	s.leaks(before, after)
	s.explained()
	s.lost()
	s.repeatedBy()
	s.removes()
}

// soak is a platform under load.
type soak struct {
	actor
	began               time.Time
	cluster             *cluster
	engines             map[*process]string
	hooks               *tally
	documents           string // folder of the databases
	service, component  string
	other, otherService string // a component that no event is about
	tool                signer
	channels            *soakChannels
	loud                string // component of channelWriter
	repeats             []soakRepeats
	ada                 *consoleUser
	rowsBefore          map[string]int

	mu       sync.Mutex
	outages  []soakOutage
	failures []soakFailure
	wrong    []string           // responses that no outage explains, because the request was refused
	entries  []soakEntry        // acknowledged entries of channelWriter
	runs     []string           // imports that could not be taken back
	updates  map[string][]int64 // acknowledged writes that notify: their numbers, by title of the event
	events   map[string]string  // acknowledged events that were not deleted: their paths, by title
	counts   map[string]int     // numbers of requests, kills and acknowledged writes
}

func newSoak(t *testing.T) *soak {
	s := &soak{
		began: time.Now(), hooks: newTally(t), documents: filepath.Join(t.TempDir(), "documents"),
		updates: map[string][]int64{}, events: map[string]string{}, counts: map[string]int{},
	}
	engineEnv, channelEnv := []string{}, []string{}
	s.engines, engineEnv = engineProcesses(t)
	s.channels, channelEnv = startSoakChannels(t, s.hooks)
	s.cluster = startCluster(t, slices.Concat(engineEnv, channelEnv, []string{
		"DOCUMENTS_URL=sqlite:" + s.documents, "LEGACY_RATE_PER_HOUR=100000000", "APP_RATE_PER_MINUTE=1000000",
	})...)
	for name, address := range s.cluster.addresses { // a gateway is ready before services that dashboards do not need
		eventually(t, 60*time.Second, name, ready("http://"+address))
	}
	s.actor = actor{t, provision(t, s.cluster.base, "Acme", "acme-admin", "admin", "api")}
	s.service, s.component = s.actor.service("Checkout")
	s.otherService, s.other = s.actor.service("Other")
	send(t, http.MethodPatch, s.BaseURL+"/app/components/"+s.other, s.app(), map[string]any{"externalRefs": []string{soakRef}}).expect(t, http.StatusOK)
	s.endpoints(soakHooks, s.component)
	s.tool = s.signer("tool")
	s.listens()
	s.ada = invited(t, s.cluster.base, s.credentials)
	s.rowsBefore = s.rows()
	return s
}

// progress prints the numbers of counts twice a minute until the test ends.
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

// load runs the writers, the visitors and disturb for the duration span.
func (s *soak) load(span time.Duration, disturb func(context.Context)) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), span)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	for n, work := range []func(context.Context, string, string){s.legacyWriter, s.appWriter, s.inboundWriter, s.churn, s.visitor, s.visitor, s.channelWriter, s.importWriter, s.member} {
		gateway := []string{"gateway", "gateway-2"}[n%2]
		group.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				work(ctx, gateway, fmt.Sprintf("%d-%d-%d", n, round, time.Now().UnixMilli()))
			}
		})
	}
	disturb(ctx)
	<-ctx.Done()
	group.Wait()
	s.say("this part of the load is over: %s", s.summary())
}

// kills kills one process after the other and starts each again.
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
	s.outages = append(s.outages, soakOutage{process: victim.name, from: time.Now()})
	s.mu.Unlock()
	s.repeats = append(s.repeats, soakRepeats{victim.name, s.repeated()})
	victim.kill()
	<-time.After(time.Duration(rand.IntN(2000)) * time.Millisecond) // the time until the process starts again
	victim.start()
	began := time.Now()
	if address, engine := s.engines[victim]; engine {
		eventually(s.t, 2*time.Minute, victim.name, listens(address))
	} else {
		eventually(s.t, 2*time.Minute, victim.name, ready("http://"+s.cluster.addresses[victim.name]))
	}
	s.mu.Lock()
	s.outages[at].to = time.Now()
	s.mu.Unlock()
	s.count("killed: " + victim.name)
	s.say("%s was killed, and back %v after its start", victim.name, time.Since(began).Round(time.Millisecond))
}

// drain waits until every acknowledged update has reached every endpoint and all outboxes are empty. It also returns
// when nothing has arrived for 90 s. The check in lost then fails.
func (s *soak) drain() {
	s.t.Helper()
	total := func() int { return s.hooks.total() + s.channels.total() }
	arrived, latest := total(), time.Now()
	for time.Since(latest) < 90*time.Second {
		unheard, _ := s.unheard()
		if missing, _ := s.missing(); len(missing) == 0 && len(unheard) == 0 && s.waiting() == 0 {
			return
		}
		if now := total(); now > arrived {
			arrived, latest = now, time.Now()
		}
		<-time.After(time.Second)
	}
}

// soakRepeats is the number of messages that had arrived again when a process was killed, and at last when all had arrived.
type soakRepeats struct {
	killed string
	before int
}

// repeated returns the number of messages that have arrived again.
func (s *soak) repeated() int {
	_, messages := s.unheard()
	return s.hooks.repeated() + messages
}

// repeatedBy checks that each kill of delivery repeats few messages, and that nothing else repeats any. A retry that delivery
// had begun is repeated when its lease ends, which can be two kills later.
func (s *soak) repeatedBy() {
	s.t.Helper()
	const later = 2
	var each []int // by kill of delivery
	var others []string
	since := later + 1 // kills since the last one of delivery
	for i, kill := range s.repeats[:len(s.repeats)-1] {
		since++
		if kill.killed == "delivery" {
			since, each = 0, append(each, 0)
		}
		switch n := s.repeats[i+1].before - kill.before; {
		case since <= later:
			each[len(each)-1] += n
		case n > 0:
			others = append(others, fmt.Sprintf("%s %d", kill.killed, n))
		}
	}
	last := s.repeats[len(s.repeats)-1].before
	s.check("no kill of delivery repeats more than 256", slices.Max(append(each, 0)) <= 256, "%v", each)
	s.check("no kill of another process repeats a message", s.repeats[0].before == 0 && len(others) == 0, "%d before the first kill; %v", s.repeats[0].before, others)
	s.check("no message is repeated without a kill", s.repeated() == last, "%d", s.repeated()-last)
}

// waiting returns the number of messages in outboxes.
func (s *soak) waiting() (messages int) {
	s.t.Helper()
	for table, n := range s.rows() {
		if strings.HasSuffix(table, "~outbox") {
			messages += n
		}
	}
	return messages
}

// missing returns the number of deliveries that endpoints have not received, by the title of the event, and a text for each of
// their updates.
func (s *soak) missing() (deliveries map[string]int, updates []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	deliveries = map[string]int{}
	for title, sequences := range s.updates {
		for _, sequence := range sequences {
			if n := s.hooks.reached(title, sequence); n < soakHooks {
				deliveries[title] += soakHooks - n
				updates = append(updates, fmt.Sprintf("%s, update %d of %d: at %d endpoints", title, sequence, slices.Max(sequences), n))
			}
		}
	}
	return deliveries, updates
}

// replaced returns how many of the missing deliveries were replaced by a newer update while they waited for a retry, and what
// the logs say of the others.
func (s *soak) replaced(missing map[string]int) (deliveries int, others []string) {
	s.t.Helper()
	for title, n := range missing {
		logged := map[string]int{} // by status and error code
		for _, status := range []string{"skipped", "failed", "retrying"} {
			var list struct{ Logs []struct{ ErrorCode *string } }
			send(s.t, http.MethodGet, s.BaseURL+"/app/notifications/webhook/logs?limit=100&status="+status+"&eventId="+s.hooks.id(title), s.app(), nil).
				expect(s.t, http.StatusOK).into(s.t, &list)
			for _, log := range list.Logs {
				logged[status+" "+*cmp.Or(log.ErrorCode, new(string))]++
			}
		}
		found := min(n, logged["skipped replaced"])
		if deliveries += found; found < n {
			others = append(others, fmt.Sprintf("%s: %d of %d; %v", title, found, n, logged))
		}
	}
	return deliveries, others
}

// id returns the id of the event with the title.
func (l *tally) id(title string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids[title]
}

// reached returns the number of endpoints that have received the update of the event.
func (l *tally) reached(title string, sequence int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.seen[update(l.ids[title], sequence)])
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
	rest, by := unexplained(s.failures, s.outages)
	lines := slices.Clone(s.wrong)
	for _, f := range rest {
		lines = append(lines, fmt.Sprintf("%.3f s to %.3f s, %s: %s: %s", f.from.Sub(s.began).Seconds(), f.to.Sub(s.began).Seconds(), f.gateway, f.request, f.cause))
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(lines)))
	s.check("an outage explains every failure", len(lines) == 0, "%d requests failed in %d outages %v, %d unexplained: %q",
		len(s.failures), len(s.outages), by, len(lines), distinct[:min(10, len(distinct))])
}

// lost checks that the platform has every acknowledged event, and that every endpoint has received every acknowledged
// update.
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
	missing, updates := s.missing()
	replaced, lost := s.replaced(missing)
	waiting := s.waiting()
	s.check("no delivery is lost", len(lost) == 0 && waiting == 0 && s.counts["updates"] > 0,
		"%d deliveries of %d acknowledged updates of %d events to %d endpoints; %d updates are incomplete (%v): %d deliveries were replaced by newer ones, others are lost: %q; %d messages in outboxes",
		s.hooks.total(), s.counts["updates"], len(s.updates), soakHooks, len(updates), updates[:min(10, len(updates))], replaced, lost, waiting)
	unheard, _ := s.unheard()
	unsure := s.logged(unheard, "failed", "ambiguous") // a kill during the request; a repetition would cost money
	s.check("no message is lost on any channel", len(unheard) == unsure && len(s.entries) > 0,
		"%d entries on 7 other channels; %d messages are missing, of them %d texts that were not sent again after a kill, %d replaced by newer ones: %v",
		len(s.entries), len(unheard), unsure, s.logged(unheard, "skipped", "replaced"), unheard[:min(10, len(unheard))])
}
