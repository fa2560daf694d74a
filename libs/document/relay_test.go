package document_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// broker stores the published records.
type broker struct {
	mu      sync.Mutex
	records []stream.Record
	changed chan struct{}
}

func newBroker() *broker { return &broker{changed: make(chan struct{}, 1)} }

func (b *broker) publish(_ context.Context, records []stream.Record) error {
	b.mu.Lock()
	b.records = append(b.records, records...)
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
	return nil
}

func (b *broker) all() []stream.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.records)
}

// wait waits until n different messages are published.
func (b *broker) wait(t *testing.T, n int) []stream.Record {
	t.Helper()
	patience := time.After(60 * time.Second)
	for {
		all := b.all()
		ids := map[string]bool{}
		for _, r := range all {
			ids[r.Headers[document.HeaderID]] = true
		}
		if len(ids) >= n {
			return all
		}
		select {
		case <-b.changed:
		case <-patience:
			t.Fatalf("%d of %d messages were published", len(ids), n)
		}
	}
}

// run relays db until the returned function is called.
func run(t *testing.T, db *document.Database, publish func(context.Context, []stream.Record) error) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- db.Relay(ctx, publish) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// relayed relays until n different messages are published and the outbox is cleared.
func relayed(t *testing.T, db *document.Database, n int) []stream.Record {
	t.Helper()
	b := newBroker()
	stop := run(t, db, b.publish)
	records := b.wait(t, n)
	stop()
	return records
}

// tripsOf returns the trips of a boat in the order of their first publication.
func tripsOf(t *testing.T, records []stream.Record, boat string) []int {
	t.Helper()
	var trips []int
	for _, r := range records {
		var s sailed
		must(t, json.Unmarshal(r.Value, &s))
		if s.Boat == boat && !slices.Contains(trips, s.Trip) {
			trips = append(trips, s.Trip)
		}
	}
	return trips
}

func trips(key string, from, to int) []topic.Message {
	var out []topic.Message
	for n := from; n <= to; n++ {
		out = append(out, sailed{key, n})
	}
	return out
}

// berthed is a message with a partition of its own.
type berthed struct {
	sailed
	Berth int
}

func (b berthed) Partition() int { return b.Berth }

func TestTheRelayKeepsThePartitionOfAMessage(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, c := fleet(t, address)
		must(t, c.Insert(t.Context(), vessel("a", 1), berthed{sailed{"a/0001", 1}, 7}, sailed{"a/0001", 2}))
		for _, r := range relayed(t, db, 2) {
			var s berthed
			must(t, json.Unmarshal(r.Value, &s))
			if placed := r.Partition != nil && *r.Partition == 7; placed != (s.Berth == 7) {
				t.Errorf("%s is for partition %v", r.Value, r.Partition)
			}
		}
	})
}

func TestRelayPublishesWhatWasWritten(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, c := fleet(t, address)
		b := newBroker()
		stop := run(t, db, b.publish)
		span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}, TraceFlags: trace.FlagsSampled})
		ctx := trace.ContextWithSpanContext(t.Context(), span)
		must(t, c.Insert(ctx, vessel("a", 1), trips("a/0001", 1, 2)...))
		b.wait(t, 2)
		_, err := c.Update(ctx, "a/0001", func(*boat) ([]topic.Message, error) { return trips("a/0001", 3, 3), nil })
		must(t, err)
		b.wait(t, 3)
		must(t, c.Delete(ctx, "a/0001", func(*boat) ([]topic.Message, error) { return trips("a/0001", 4, 4), nil }))
		records := b.wait(t, 4)
		stop()
		if got := tripsOf(t, records, "a/0001"); !slices.Equal(got, []int{1, 2, 3, 4}) {
			t.Errorf("relayed %v", got)
		}
		for _, r := range records {
			id, err := uuid.Parse(r.Headers[document.HeaderID])
			if err != nil || id.Version() != 7 || r.Topic != "sailings" || r.Key != "a/0001" ||
				!strings.Contains(r.Headers["traceparent"], span.TraceID().String()) {
				t.Errorf("record %+v", r)
			}
		}
		assertNothingWaits(t, db)
	})
}

// assertNothingWaits relays once more. A published message must not be published again.
func assertNothingWaits(t *testing.T, db *document.Database) {
	t.Helper()
	probe := document.Declare(db, document.Schema[boat]{Name: "probe", Shard: document.ByKey(), Key: func(b *boat) string { return b.ID }})
	migrate(t, db)
	must(t, probe.Insert(t.Context(), boat{ID: "probe"}, sailed{"probe", 1}))
	if records := relayed(t, db, 1); len(records) != 1 {
		t.Errorf("%d messages were still waiting: %v", len(records)-1, records)
	}
}

func TestOutboxIsWrittenWithItsDocumentOrNotAtAll(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		db, c := fleet(t, address)
		must(t, c.Insert(ctx, vessel("a", 1), trips("ok", 1, 1)...))
		must(t, c.Insert(ctx, vessel("a", 2)))
		veto := errors.New("no")
		other := vessel("a", 1)
		other.ID = "other"
		for name, write := range map[string]func() error{
			"insert of a key":    func() error { return c.Insert(ctx, vessel("a", 1), trips("lost", 1, 1)...) },
			"insert of a number": func() error { return c.Insert(ctx, other, trips("lost", 2, 2)...) },
			"update to a number": func() error {
				_, err := c.Update(ctx, "a/0002", func(b *boat) ([]topic.Message, error) { b.Number = 1; return trips("lost", 3, 3), nil })
				return err
			},
			"vetoed update": func() error {
				_, err := c.Update(ctx, "a/0002", func(b *boat) ([]topic.Message, error) { return trips("lost", 4, 4), veto })
				return err
			},
			"vetoed delete": func() error {
				return c.Delete(ctx, "a/0002", func(b *boat) ([]topic.Message, error) { return trips("lost", 5, 5), veto })
			},
			"cancelled insert": func() error {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return c.Insert(ctx, vessel("a", 9), trips("lost", 6, 6)...)
			},
		} {
			if write() == nil {
				t.Errorf("%s succeeded", name)
			}
		}
		must(t, c.Insert(ctx, vessel("a", 3), trips("ok", 2, 2)...))
		records := relayed(t, db, 2)
		if lost := tripsOf(t, records, "lost"); len(records) != 2 || len(lost) != 0 {
			t.Errorf("relayed %v", records)
		}
	})
}

func TestRelayAfterReinsert(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		db, c := fleet(t, address)
		must(t, c.Insert(ctx, vessel("a", 1), trips("a", 1, 2)...))
		must(t, c.Delete(ctx, "a/0001", func(*boat) ([]topic.Message, error) { return trips("a", 3, 3), nil }))
		if n, err := c.Count(ctx, find.Query{}); err != nil || n != 0 {
			t.Errorf("%d records are left, %v", n, err)
		}
		if page, err := c.Find(ctx, find.Query{Where: []find.Condition{find.Eq("owner", nil)}}); err != nil || len(page.Items) != 0 {
			t.Errorf("a deleted record is found: %v, %v", page.Items, err)
		}
		if items, err := c.GetMany(ctx, []string{"a/0001"}); err != nil || len(items) != 0 {
			t.Errorf("a deleted record is loaded: %v, %v", items, err)
		}
		must(t, c.Insert(ctx, vessel("a", 1), trips("a", 4, 4)...))
		must(t, c.Delete(ctx, "a/0001", nil))
		must(t, c.Insert(ctx, vessel("a", 1)))
		must(t, c.Delete(ctx, "a/0001", nil))
		_, err := c.Upsert(ctx, "a/0001", func(b *boat, exists bool) ([]topic.Message, error) {
			if exists {
				t.Error("a deleted record exists")
			}
			*b = vessel("a", 1)
			return trips("a", 5, 5), nil
		})
		must(t, err)
		if got := tripsOf(t, relayed(t, db, 5), "a"); !slices.Equal(got, []int{1, 2, 3, 4, 5}) {
			t.Errorf("relayed %v", got)
		}
		if _, err := c.Get(ctx, "a/0001"); err != nil {
			t.Errorf("the record is gone: %v", err)
		}
		assertNothingWaits(t, db)
	})
}

func TestRelayRepeatsWhatFailed(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, c := fleet(t, address)
		for n := 1; n <= 20; n++ {
			id := fmt.Sprintf("a/%04d", n)
			must(t, c.Insert(t.Context(), vessel("a", n), trips(id, 1, 3)...))
		}
		b := newBroker()
		calls := 0
		stop := run(t, db, func(ctx context.Context, records []stream.Record) error {
			calls++ // a relay calls publish from one goroutine
			switch {
			case calls%3 == 1: // all were stored and the response was lost
				return errors.Join(b.publish(ctx, records), errors.New("timeout"))
			case slices.ContainsFunc(records, func(r stream.Record) bool { return r.Key == "a/0007" }) && len(b.all()) < 100:
				return errors.New("a record the broker refuses")
			}
			return b.publish(ctx, records)
		})
		records := b.wait(t, 60)
		stop()
		for n := 1; n <= 20; n++ {
			if got := tripsOf(t, records, fmt.Sprintf("a/%04d", n)); !slices.Equal(got, []int{1, 2, 3}) {
				t.Errorf("boat %d: relayed %v", n, got)
			}
		}
	})
}

func TestRelayGoesOnBesideAMessageThatCannotBeSent(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, c := fleet(t, address)
		must(t, c.Insert(t.Context(), vessel("a", 1), trips("stuck", 1, 1)...))
		for n := 2; n <= 30; n++ {
			must(t, c.Insert(t.Context(), vessel("a", n), trips("free", n, n)...))
		}
		b := newBroker()
		run(t, db, func(ctx context.Context, records []stream.Record) error {
			if slices.ContainsFunc(records, func(r stream.Record) bool { return r.Key == "stuck" }) {
				return errors.New("too large")
			}
			return b.publish(ctx, records)
		})
		b.wait(t, 29)
	})
}

// Within seconds after an outage of the broker, however long it was, all messages are published.
func TestRelayGoesOnSoonAfterAnOutage(t *testing.T) {
	for _, waiting := range []int{1, 40} {
		t.Run(strconv.Itoa(waiting), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, c := fleet(t, "sqlite:"+t.TempDir())
				for n := 1; n <= waiting; n++ {
					must(t, c.Insert(t.Context(), vessel("a", n), trips("a", n, n)...))
				}
				over := time.Now().Add(100 * time.Second)
				b := newBroker()
				stop := run(t, db, func(ctx context.Context, records []stream.Record) error {
					if time.Now().Before(over) {
						return errors.New("no broker answers")
					}
					return b.publish(ctx, records)
				})
				time.Sleep(time.Until(over))
				b.wait(t, waiting)
				if took := time.Since(over); took > 4*time.Second {
					t.Errorf("the messages came %v after the outage", took)
				}
				stop()
			})
		})
	}
}

// A backlog of few documents is published in parts, each small enough for the time limit of a publication.
func TestRelayPublishesABacklogPieceByPiece(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		db, c := fleet(t, address)
		const documents, each = 3, 1500
		for n := 1; n <= documents; n++ {
			must(t, c.Insert(t.Context(), vessel("a", n), trips(strconv.Itoa(n), 1, each)...))
		}
		b := newBroker()
		run(t, db, func(ctx context.Context, records []stream.Record) error {
			if len(records) > 2000 {
				t.Errorf("%d records at once", len(records))
			}
			return b.publish(ctx, records)
		})
		records := b.wait(t, documents*each)
		for n := 1; n <= documents; n++ {
			boat := strconv.Itoa(n)
			if got := tripsOf(t, records, boat); len(got) != each || !slices.IsSorted(got) {
				t.Errorf("boat %s: %d trips, in order %t", boat, len(got), slices.IsSorted(got))
			}
		}
	})
}

func TestRelaysOfTwoProcesses(t *testing.T) {
	onShared(t, func(t *testing.T, address string) {
		one, c := fleet(t, address)
		two, d := fleet(t, address)
		b := newBroker()
		run(t, one, b.publish)
		run(t, two, b.publish)
		for n := range 20 {
			id := fmt.Sprintf("a/%d", n)
			must(t, c.Insert(t.Context(), boat{ID: id, Owner: "a"}, trips(id, 0, 0)...))
		}
		var writers sync.WaitGroup
		for n := range 20 {
			writers.Go(func() {
				id := fmt.Sprintf("a/%d", n)
				for k := 1; k <= 10; k++ {
					from := []*document.Collection[boat]{c, d}[k%2]
					if _, err := from.Update(t.Context(), id, func(*boat) ([]topic.Message, error) { return trips(id, k, k), nil }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		records := b.wait(t, 220)
		if len(records) != 220 {
			t.Errorf("%d records were published for 220 messages, and no process was killed", len(records))
		}
		for n := range 20 {
			if got := tripsOf(t, records, fmt.Sprintf("a/%d", n)); len(got) != 11 || !slices.IsSorted(got) {
				t.Errorf("boat %d: relayed %v", n, got)
			}
		}
	})
}

// A process that has written knows whether Derive has succeeded. If the relay of another process published the message, it would
// run Derive again.
func TestARelayLeavesAMessageToTheProcessThatWroteItForASecond(t *testing.T) {
	onShared(t, func(t *testing.T, address string) {
		_, c, _ := derivedFleet(t, address, nil) // without a relay, as if it were killed
		two, _, _ := derivedFleet(t, address, nil)
		b := newBroker()
		run(t, two, b.publish)
		began := time.Now()
		must(t, c.Insert(t.Context(), vessel("a", 1), trips("a", 1, 1)...))
		b.wait(t, 1)
		if took := time.Since(began); took < time.Second {
			t.Errorf("the relay of another process published the message after %v", took)
		}
	})
}

func TestRelayTakesOverFromAnother(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		one, c := fleet(t, address)
		two, _ := fleet(t, address)
		b := newBroker()
		stop := run(t, one, b.publish)
		must(t, c.Insert(t.Context(), vessel("a", 1), trips("a", 1, 1)...))
		b.wait(t, 1)
		run(t, two, b.publish)
		stop()
		must(t, c.Insert(t.Context(), vessel("a", 2), trips("a", 2, 2)...))
		b.wait(t, 2)
	})
}
