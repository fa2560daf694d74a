package integrations_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/outcome"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/store"
)

// expected is what the counters of an endpoint must show.
type expected struct {
	seen     map[string]bool
	failures int
	first    time.Time
	last     time.Time
}

// count counts outcomes by the rules, without any limit of memory. A failure counts once. A repeated success has the
// effect of a success.
func (e expected) count(outcomes []topic.Outcome) expected {
	seen := map[string]bool{}
	for id := range e.seen {
		seen[id] = true
	}
	e.seen = seen
	for _, o := range outcomes {
		if o.Result == topic.Delivered {
			if !o.At.Before(e.first) {
				e.failures, e.first = 0, time.Time{}
			}
			if o.At.After(e.last) {
				e.last = o.At
			}
			continue
		}
		if seen[o.DeliveryID] {
			continue
		}
		seen[o.DeliveryID] = true
		if e.failures++; e.failures == 1 {
			e.first = o.At
		}
	}
	return e
}

func (e expected) String() string {
	return fmt.Sprintf("%d failures since %v, success at %v", e.failures, e.first, e.last)
}

// ledger is a database on which processes count, and what it must show.
type ledger struct {
	o         organization
	records   endpoint.Store
	endpoints []endpoint.Endpoint
	random    *rand.Rand
	now       time.Time
	posted    []topic.Outcome
}

func newLedger(t *testing.T, seed uint64, endpoints int) *ledger {
	t.Helper()
	db, err := document.Open("sqlite:"+t.TempDir(), "integrations", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	l := &ledger{records: store.New(db), o: organization{id: id()}, random: rand.New(rand.NewPCG(seed, 1)), now: time.Now().UTC().Truncate(time.Millisecond)}
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range endpoints {
		e := endpoint.Endpoint{ID: id(), OrganizationID: l.o.id, Channel: topic.Webhook, DashboardID: id(), URLHash: id()}
		if err := errors.Join(l.records.Results.Counters.Insert(t.Context(), outcome.Counters{ID: e.ID}), l.records.Endpoints.Insert(t.Context(), e)); err != nil {
			t.Fatal(err)
		}
		l.endpoints = append(l.endpoints, e)
	}
	return l
}

// process is one of the processes. c kills or freezes it.
func (l *ledger) process(c *cut) *endpoint.Endpoints {
	records := l.records
	records.Results.Counters = cutCollection[outcome.Counters]{records.Results.Counters, c}
	records.Results.Successes = cutCollection[outcome.LastSuccesses]{records.Results.Successes, c}
	return &endpoint.Endpoints{
		Store: records, Services: services{o: l.o}, AlertAfter: 1 << 30, SuppressAfter: 1 << 30,
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return l.now },
	}
}

// batch returns outcomes: new ones, some of which ended before others that were counted, and repeated ones.
func (l *ledger) batch() (batch []topic.Outcome) {
	for range 1 + l.random.IntN(8) {
		if len(l.posted) > 0 && l.random.IntN(3) == 0 {
			batch = append(batch, l.posted[l.random.IntN(len(l.posted))])
			continue
		}
		l.now = l.now.Add(time.Duration(l.random.IntN(3)) * time.Millisecond)
		e := l.endpoints[l.random.IntN(len(l.endpoints))]
		o := topic.Outcome{
			DeliveryID: id(), Organization: l.o.id, Channel: topic.Webhook, Recipient: e.ID, URLHash: e.URLHash, Result: topic.Delivered,
			At: l.now.Add(-time.Duration(l.random.IntN(6)) * time.Millisecond),
		}
		if l.random.IntN(4) == 0 {
			o.Result = topic.Failed
		}
		batch, l.posted = append(batch, o), append(l.posted, o)
	}
	return batch
}

// shown returns what a list shows of the endpoints, with the first failures.
func (l *ledger) shown(t *testing.T) map[string]string {
	t.Helper()
	page, _, err := l.process(&cut{writes: -1}).List(t.Context(), l.o.id, endpoint.Kinds(endpoint.Providers{})[0], endpoint.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, view := range page.Items {
		e := expected{failures: view.ConsecutiveFailures}
		counters, err := l.records.Results.Of(t.Context(), []string{view.Endpoint.ID})
		if err != nil {
			t.Fatal(err)
		}
		if first := counters[view.Endpoint.ID].FirstFailureAt; first != nil {
			e.first = *first
		}
		if view.LastSuccessAt != nil {
			e.last = *view.LastSuccessAt
		}
		shown[view.Endpoint.ID] = e.String()
	}
	return shown
}

// Random outcomes of a few endpoints are counted by processes that are killed, or frozen while another one counts. Each
// outcome counts in the order of one of the processes, and after a kill also in the order of the repetition.
func TestOutcomesCountInTheOrderOfOneOfTheProcesses(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l := newLedger(t, seed, 4)
			model := map[string]expected{}
			for range 12 {
				batch, others := l.batch(), []topic.Outcome(nil)
				c := &cut{writes: -1}
				switch at := l.random.IntN(6); l.random.IntN(3) {
				case 0:
					c.writes = at
				case 1:
					others, c.writes = l.batch(), 1000
					c.before = func(left int) {
						if left != 1000-at {
							return
						}
						c.before = nil
						if err := l.process(&cut{writes: -1}).Count(t.Context(), others); err != nil {
							t.Error(err)
						}
					}
				}
				err := l.process(c).Count(t.Context(), batch)
				killed := errors.Is(err, errKilled)
				if killed {
					err = l.process(&cut{writes: -1}).Count(t.Context(), batch)
				}
				if err != nil {
					t.Fatal(err)
				}
				if c.before != nil { // it had fewer writes
					err := l.process(&cut{writes: -1}).Count(t.Context(), others)
					if err != nil {
						t.Fatal(err)
					}
				}
				shown := l.shown(t)
				for _, e := range l.endpoints {
					of := func(outcomes []topic.Outcome) []topic.Outcome {
						return slices.DeleteFunc(slices.Clone(outcomes), func(o topic.Outcome) bool { return o.Recipient != e.ID })
					}
					first := model[e.ID].count(of(batch)).count(of(others))
					second := model[e.ID].count(of(others)).count(of(batch))
					if killed { // the killed process may have counted the batch before
						second = first.count(of(batch))
					}
					switch shown[e.ID] {
					case first.String():
						model[e.ID] = first
					case second.String():
						model[e.ID] = second
					default:
						t.Fatalf("%s, but the outcomes lead to %s or %s", shown[e.ID], first, second)
					}
				}
			}
		})
	}
}

// After the deletion of the endpoints, also by a process that is killed and repeated, nothing is left of them.
func TestDeletedEndpointsLeaveNothingInLastSuccesses(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	var hashes []string
	for i := range 5 {
		made := p.create(o, fmt.Sprintf("https://hooks.example.com/%d", i), nil)
		hashes = append(hashes, made.URLHash)
	}
	recipients := p.concerned(o, nil, o.one)
	for range 2 {
		for _, recipient := range recipients {
			p.publish(p.outcome(o, recipient, topic.Delivered))
		}
	}
	for _, hash := range hashes {
		apitest.Eventually(t, "a success", func() bool { return p.shown(o, hash).LastSuccessAt != nil })
	}
	db, err := document.Open(p.documents, "integrations", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	records := store.New(db)
	groups := func() int {
		t.Helper()
		var keys []string
		for part := range 4 {
			keys = append(keys, fmt.Sprintf("%s/0/%d", o.id, part))
		}
		found, err := records.Results.Successes.GetMany(t.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	if groups() == 0 {
		t.Fatal("no endpoint has a place")
	}
	for _, hash := range hashes {
		p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "urlHash": hash})
	}
	for _, recipient := range recipients { // late outcomes
		p.publish(p.outcome(o, recipient, topic.Delivered))
	}
	last := p.create(o, "https://hooks.example.com/last", nil)
	p.publish(p.outcome(o, p.concerned(o, nil, o.one)[0], topic.Failed))
	p.counted(o, last.URLHash, 1)
	if n := groups(); n != 0 {
		t.Errorf("%d groups are left", n)
	}
}
