package integrations_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/outcome"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/store"
)

// UpdateMany counts as one write, which follows the read.
func (c cutCollection[T]) UpdateMany(ctx context.Context, keys []string, change func([]*T) (map[string][]topic.Message, error)) error {
	return c.Collection.UpdateMany(ctx, keys, func(items []*T) (messages map[string][]topic.Message, err error) {
		_, err = c.cut.change(func() ([]topic.Message, error) { messages, err = change(items); return nil, err })
		if err == nil {
			err = c.cut.write(func() error { return nil })
		}
		return messages, err
	})
}

// cutCounting is a second process that c kills while it counts.
func (p *platform) cutCounting(o organization, c *cut) *endpoint.Endpoints {
	return p.second(o, func(s *endpoint.Store) {
		s.Results.Counters = cutCollection[outcome.Counters]{s.Results.Counters, c}
		s.Suppressions = cutCollection[endpoint.Suppression]{s.Suppressions, c}
	})
}

// A process is killed at each write of counting a batch that crosses both numbers. Kafka repeats the batch. Each
// failure counts once, and each record of the URL has each mail once.
func TestKillAtAnyWriteOfCounting(t *testing.T) {
	p := start(t, nil)
	mail := p.mailbox()
	const url = "https://hooks.example.com/"
	ended := false
	for writes := 0; !ended; writes++ {
		for _, gone := range []bool{false, true} {
			o := p.organization(25)
			made := p.create(o, url, nil)
			p.create(o, url, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
			recipient, beside := p.only(o, o.one), p.only(o, o.elsewhere)
			batch, failures, alerts := p.failures(o, recipient, 10), 10, 1
			if gone {
				batch, failures, alerts = batch[:1], 1, 0
				batch[0].Gone = true
			}
			err := p.cutCounting(o, &cut{writes: writes}).Count(t.Context(), batch)
			if ended = err == nil; !ended && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			if !ended {
				if shown := p.shown(o, made.URLHash); shown.ConsecutiveFailures != 0 || shown.Suppressed != (writes > 0) {
					t.Errorf("killed after %d writes: %+v", writes, shown)
				}
			}
			p.publishOutcomes(append(batch, batch...)...)
			p.counted(o, made.URLHash, failures)
			if !p.shown(o, made.URLHash).Suppressed {
				t.Errorf("killed after %d writes: not suppressed", writes)
			}
			mail.complete(p)
			mail.expect(t, "killed", recipient, alerts, 1)
			mail.expect(t, "killed, the other record", beside, 0, 1)
		}
	}
}

// A process is killed after it stored a suppression and before it stored the counters. The suppression is cleared
// before Kafka repeats the batch. The repeated failures do not suppress the URL again.
func TestClearingBeforeAKilledBatchIsRepeated(t *testing.T) {
	p := start(t, nil)
	mail := p.mailbox()
	for _, gone := range []bool{false, true} {
		o := p.organization(25)
		made := p.create(o, "https://hooks.example.com/", nil)
		recipient := p.only(o, o.one)
		batch := p.failures(o, recipient, 10)
		batch[0].Gone = gone
		if err := p.cutCounting(o, &cut{writes: 1}).Count(t.Context(), batch); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		p.ahead.Add(int64(1e9))
		p.call(o, http.StatusNoContent, http.MethodDelete, suppressionPath, object{"urlHash": made.URLHash})
		p.publishOutcomes(append(batch, p.failures(o, recipient, 1)...)...)
		p.counted(o, made.URLHash, 1)
		if p.shown(o, made.URLHash).Suppressed {
			t.Error("suppressed again")
		}
		mail.complete(p)
		mail.expect(t, "cleared", recipient, 0, 1)
	}
}

// Several processes count the same batch at the same time, as after a rebalance, and in different orders.
func TestProcessesThatCountTheSameBatchCountItOnce(t *testing.T) {
	p := start(t, nil)
	mail := p.mailbox()
	o := p.organization(25)
	const url = "https://hooks.example.com/"
	made := p.create(o, url, nil)
	p.create(o, url, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	recipient, beside := p.only(o, o.one), p.only(o, o.elsewhere)
	first, second := p.second(o, func(*endpoint.Store) {}), p.second(o, func(*endpoint.Store) {})
	batch := append(p.failures(o, recipient, 12), p.failures(o, beside, 4)...)
	var group sync.WaitGroup
	for _, process := range []*endpoint.Endpoints{first, second, first, second} {
		own := shuffled(batch)
		group.Go(func() {
			for len(own) > 0 {
				n := min(3, len(own))
				if err := process.Count(context.WithoutCancel(t.Context()), own[:n]); err != nil {
					t.Error(err)
				}
				own = own[n:]
			}
		})
	}
	p.publishOutcomes(shuffled(batch)...)
	group.Wait()
	p.counted(o, made.URLHash, 12)
	p.publishOutcomes(append(shuffled(batch), p.failures(o, recipient, 1)...)...)
	p.counted(o, made.URLHash, 13)
	mail.complete(p)
	mail.expect(t, "the one that failed", recipient, 1, 1)
	mail.expect(t, "the other record", beside, 0, 1)
}

// A process freezes between the read and the write of a batch, for longer than its session. What others count or clear
// meanwhile stays.
func TestAFrozenProcessOverwritesNothing(t *testing.T) {
	p := start(t, nil)
	mail := p.mailbox()
	other := func(t *testing.T, o organization, outcomes ...topic.Outcome) {
		t.Helper()
		if err := p.second(o, func(*endpoint.Store) {}).Count(t.Context(), outcomes); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		before     int // failures that are counted before
		batch      int // failures in the batch of the frozen process; the other one counts the first half
		meanwhile  func(t *testing.T, o organization, recipient, urlHash string, batch []topic.Outcome)
		failures   int
		suppressed bool
		alerts     int
	}{
		"others count": {
			before: 2, batch: 6, failures: 9, alerts: 1,
			meanwhile: func(t *testing.T, o organization, recipient, _ string, batch []topic.Outcome) {
				other(t, o, append(batch[:3:3], p.failures(o, recipient, 1)...)...)
			},
		},
		"a success": {
			before: 4, batch: 1, failures: 1,
			meanwhile: func(t *testing.T, o organization, recipient, _ string, _ []topic.Outcome) {
				other(t, o, p.outcome(o, recipient, topic.Delivered))
			},
		},
		"others suppress, and it is cleared": {
			before: 9, batch: 2, failures: 0, alerts: 1,
			meanwhile: func(t *testing.T, o organization, _, urlHash string, batch []topic.Outcome) {
				p.ahead.Add(int64(1e9))
				p.call(o, http.StatusNoContent, http.MethodDelete, suppressionPath, object{"urlHash": urlHash})
			},
		},
		"the endpoint is deleted": {
			before: 9, batch: 1, failures: -1, alerts: 1,
			meanwhile: func(t *testing.T, o organization, _, urlHash string, _ []topic.Outcome) {
				p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "urlHash": urlHash})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := p.organization(25)
			made := p.create(o, "https://hooks.example.com/", nil)
			recipient := p.only(o, o.one)
			p.publishOutcomes(p.failures(o, recipient, test.before)...)
			p.counted(o, made.URLHash, test.before)
			batch := p.failures(o, recipient, test.batch)
			frozen, met := &cut{writes: 100}, false
			frozen.before = func(int) {
				if met {
					return
				}
				met = true
				if test.before == 9 { // the write of the suppression; freeze before the one of the counters
					frozen.before = func(int) {
						frozen.before = nil
						test.meanwhile(t, o, recipient, made.URLHash, batch)
					}
					return
				}
				test.meanwhile(t, o, recipient, made.URLHash, batch)
			}
			if err := p.cutCounting(o, frozen).Count(t.Context(), batch); err != nil || !met {
				t.Fatal(err)
			}
			if test.failures < 0 {
				if again := p.create(o, "https://hooks.example.com/", nil); again.Suppressed {
					t.Error("the URL is suppressed, with nobody there")
				}
				return
			}
			if shown := p.shown(o, made.URLHash); shown.ConsecutiveFailures != test.failures || shown.Suppressed {
				t.Errorf("%+v, want %d failures", shown, test.failures)
			}
			mail.complete(p)
			mail.expect(t, name, recipient, test.alerts, len(mail.to(recipient, topic.EndpointSuppressed)))
		})
	}
}

// The suppression that a batch leads to is stored only after the URL's former suppression was cleared. That must not
// undo the clearing.
func TestClearingWhileAnotherSuppressionIsDue(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	const url = "https://hooks.example.com/"
	made := p.create(o, url, nil)
	p.create(o, url, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	recipient, beside := p.only(o, o.one), p.only(o, o.elsewhere)
	p.publishOutcomes(p.failures(o, recipient, 9)...)
	p.counted(o, made.URLHash, 9)
	gone := p.outcome(o, beside, topic.Failed)
	gone.Gone = true
	p.publish(gone)
	apitest.Eventually(t, "suppressed by the other record", func() bool { return p.shown(o, made.URLHash).Suppressed })

	batch := p.failures(o, recipient, 1)
	c := &cut{writes: 100}
	c.before = func(int) { // the write of the suppression
		c.before = nil
		p.ahead.Add(int64(1e9))
		p.call(o, http.StatusNoContent, http.MethodDelete, suppressionPath, object{"urlHash": made.URLHash})
	}
	if err := p.cutCounting(o, c).Count(t.Context(), batch); err != nil || c.before != nil {
		t.Fatal(err)
	}
	if shown := p.shown(o, made.URLHash); shown.Suppressed || shown.ConsecutiveFailures != 0 {
		t.Errorf("after clearing: %+v", shown)
	}
	p.publishOutcomes(p.failures(o, recipient, 1)...)
	p.counted(o, made.URLHash, 1)
	if p.shown(o, made.URLHash).Suppressed {
		t.Error("one failure after clearing suppresses the URL")
	}
}

// The endpoint that failed is deleted, and another endpoint of the URL is created, while the URL is being suppressed.
// The suppression belongs to nobody then.
func TestANewEndpointBesideALateSuppressionIsFree(t *testing.T) {
	p := start(t, func(c *integrations.Config) { c.SuppressAfter = 10 })
	for writes := range 2 {
		o := p.organization(25)
		const url = "https://hooks.example.com/"
		made := p.create(o, url, nil)
		batch := p.failures(o, p.only(o, o.one), 10)
		c := &cut{writes: 100}
		c.before = func(left int) {
			if left != 100-writes {
				return
			}
			c.before = nil
			p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash})
			if other := p.create(o, url, nil); other.Suppressed {
				t.Errorf("before write %d: %+v", writes, other)
			}
		}
		if err := p.cutCounting(o, c).Count(t.Context(), batch); err != nil || c.before != nil {
			t.Fatal(err)
		}
		if shown := p.shown(o, made.URLHash); shown.Suppressed || shown.ConsecutiveFailures != 0 {
			t.Errorf("before write %d: %+v", writes, shown)
		}
		if d := p.resolve(o, p.only(o, o.one))[0]; d.State != topic.RecipientActive {
			t.Errorf("before write %d: it resolves to %s", writes, d.State)
		}
	}
}

// A process is killed after it deleted the last endpoint of a suppressed URL. The suppression is not listed.
func TestASuppressionThatAKilledProcessLeftIsNotListed(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	kind := endpoint.Kinds(endpoint.Providers{})[0]
	for writes := 1; ; writes++ {
		made := p.create(o, "https://hooks.example.com/", nil)
		p.suppress(o, p.only(o, o.one), made.URLHash)
		err := p.cutShort(o, &cut{writes: writes}).Delete(t.Context(), o.id, kind, endpoint.Target{DashboardID: o.dashboard, URLHash: made.URLHash})
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		left := len(p.call(o, http.StatusOK, http.MethodGet, path, nil).Endpoints)
		if got := p.call(o, http.StatusOK, http.MethodGet, suppressionPath, nil); strings.Count(got.text, made.URLHash) != left {
			t.Errorf("killed after %d writes: %d endpoints, and %s", writes, left, got.text)
		}
		if err == nil {
			return
		}
		if left > 0 {
			p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash})
		}
	}
}

// A batch of outcomes costs one read, one write and one query while nothing fails, after the first success of each
// endpoint. A repetition is not written.
func TestSuccessesCostOneReadOneWriteAndOneQuery(t *testing.T) {
	p := start(t, nil)
	var operations []string
	db, err := document.Open(p.documents, "integrations", document.Options{Observe: func(operation string) { operations = append(operations, operation) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	records := store.New(db)
	var outcomes []topic.Outcome
	for range 400 {
		recipient := id()
		if err := records.Results.Counters.Insert(t.Context(), outcome.Counters{ID: recipient}); err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, topic.Outcome{DeliveryID: id(), Recipient: recipient, Channel: topic.Webhook, Result: topic.Delivered, At: p.now()})
	}
	endpoints := &endpoint.Endpoints{Store: records, AlertAfter: 5, SuppressAfter: 10, Log: slog.New(slog.DiscardHandler), Now: p.now}
	for _, want := range []int{-1, 3, 2} {
		operations = nil
		if err := endpoints.Count(t.Context(), outcomes); err != nil {
			t.Fatal(err)
		}
		if n := len(operations); n != want && want >= 0 {
			t.Errorf("%d operations, want %d: %v", n, want, operations)
		}
		if want < 0 {
			for i := range outcomes {
				outcomes[i].DeliveryID, outcomes[i].At = id(), outcomes[i].At.Add(time.Second)
			}
		}
	}
}
