package store_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/inbound"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/store"
)

type everyPlan struct{}

func (everyPlan) HasIntegrations(context.Context, string) (bool, error) { return true, nil }
func (everyPlan) Ingest(context.Context, string, topic.InboundMessage) (topic.InboundResult, error) {
	return topic.InboundResult{}, nil
}

// listener is the domain with a clock that the test moves.
type listener struct {
	*inbound.Inbound
	second *inbound.Inbound // another process; nil: none
	t      *testing.T
	now    time.Time
	key    inbound.Key
}

// process returns a process of the service.
func (l *listener) process() *inbound.Inbound {
	return &inbound.Inbound{Store: l.Store, Services: everyPlan{}, Box: seal.NewBox("s", "inbound"), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return l.now }}
}

func (l *listener) restart() { l.Inbound = l.process() }

func newListener(t *testing.T) (*listener, *document.Database) {
	t.Helper()
	db, err := document.Open(apitest.Documents(t), "integrations", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	records := store.NewInbound(db)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := &listener{Inbound: &inbound.Inbound{Store: records}, t: t, now: time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)}
	l.restart()
	return l, db
}

// pass lets time pass while the service runs.
func (l *listener) pass(by time.Duration) {
	l.t.Helper()
	for until := l.now.Add(by); l.now.Before(until); {
		l.now = l.now.Add(min(30*time.Second, until.Sub(l.now)))
		l.listen()
	}
}

func (l *listener) listen() {
	l.t.Helper()
	var group errgroup.Group
	group.Go(func() error { return l.Listen(l.t.Context()) })
	if l.second != nil {
		group.Go(func() error { return l.second.Listen(l.t.Context()) })
	}
	if err := group.Wait(); err != nil {
		l.t.Fatal(err)
	}
}

// beat sends a request with the key.
func (l *listener) beat(secret string) {
	l.t.Helper()
	_, err := l.Receive(l.t.Context(), inbound.Request{Format: "generic", KeyID: l.key.ID, Token: secret, Read: func(out *inbound.Report) error {
		out.Ignored = "The action is heartbeat."
		return nil
	}})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *listener) expect(what string, silent bool) {
	l.t.Helper()
	page, err := l.Keys(l.t.Context(), "o", 1, "")
	if err != nil {
		l.t.Fatal(err)
	}
	if since := page.Items[0].SilentSince; (since != nil) != silent {
		l.t.Errorf("%s: silent since %v", what, since)
	}
}

// A tool that is silent for longer than its key expects causes one mail, the next after a new request. The time in which
// the service does not run does not count.
func TestASilentKeyIsReportedOnce(t *testing.T) {
	l, db := newListener(t)
	l.listen()
	var secret string
	var err error
	l.key, secret, err = l.CreateKey(t.Context(), "o", inbound.Author{}, func(k *inbound.Key) error {
		k.Name, k.Bearer, k.ExpectEvery, k.ManagementEmail = "Gatus", true, inbound.Wait(5*time.Minute), "ops@example.com"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l.pass(4 * time.Minute)
	l.beat(secret)
	l.pass(5*time.Minute - time.Second)
	l.expect("within the time", false)
	l.now = l.now.Add(3 * time.Hour) // the service does not run
	l.pass(time.Second)
	l.expect("after a downtime", false)
	l.pass(2 * time.Minute)
	l.expect("2 min later", true)
	l.pass(time.Hour)
	l.beat(secret)
	l.expect("after a request", false)
	l.pass(5 * time.Minute)
	l.expect("5 min after it", false)
	l.pass(90 * time.Second)
	l.expect("6 min after it", true)
	l.now = l.now.Add(time.Hour)
	l.restart() // a request arrives before the first look for silence
	l.beat(secret)
	l.pass(5*time.Minute + 90*time.Second)
	l.expect("6 min after a request right after a start", true)
	l.beat(secret)
	l.pass(3 * time.Minute)
	l.restart()
	l.pass(2*time.Minute - time.Second)
	l.expect("within the time, after a start", false)
	l.second = l.process() // both see the silence at the same moment
	l.pass(90 * time.Second)
	l.expect("6 min later, with two processes", true)

	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	var sent []topic.Notice
	relayed := make(chan error, 1)
	go func() {
		relayed <- db.Relay(ctx, func(_ context.Context, records []stream.Record) error {
			for _, record := range records {
				var notice topic.Notice
				if json.Unmarshal(record.Value, &notice) == nil && notice.Kind == topic.InboundSilent {
					sent = append(sent, notice)
				}
			}
			if len(sent) >= 4 {
				stop()
			}
			return nil
		})
	}()
	<-relayed
	if len(sent) != 4 || sent[0].Recipient != l.key.ID || sent[0].Inbound.KeyName != "Gatus" || !sent[0].Inbound.Since.Equal(time.Date(2026, 1, 31, 9, 34, 0, 0, time.UTC)) {
		t.Errorf("the mails are %+v", sent)
	}
	for organization, want := range map[string]topic.RecipientState{"o": topic.RecipientActive, "another": topic.RecipientGone} {
		to, err := l.Resolve(t.Context(), organization, []string{l.key.ID})
		if err != nil || to[0].State != want || (want == topic.RecipientActive) != (to[0].Address == "ops@example.com") {
			t.Errorf("%s resolves %+v %v", organization, to, err)
		}
	}
}
