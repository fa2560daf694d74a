package document

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
)

// backlog measures the age of the outbox: the age of the oldest message that the relay of this process has claimed and
// not published. It needs no query. While the broker is down, each relay claims only some of the messages. The age
// grows until all claimed messages are published.
type backlog struct {
	since   atomic.Int64 // time of the oldest waiting message, in Unix milliseconds; 0: no message waits
	failing time.Time    // time of the oldest message of the failed rounds; zero if the last round was successful
}

func (b *backlog) gauge() prometheus.GaugeFunc {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "bellbuoy_outbox_age_seconds",
		Help: "Age of the oldest message that this process tries to publish; 0 if it publishes all messages at once.",
	}, func() float64 {
		since := b.since.Load()
		if since == 0 {
			return 0
		}
		return max(0, time.Since(time.UnixMilli(since)).Seconds())
	})
}

// claimed sets the age when the relay is about to publish claims. held has the documents that wait for a later round.
func (b *backlog) claimed(claims []engine.Claim, held map[string]heldBack) {
	b.set(earlier(b.waiting(held), oldest(claims)))
}

// ended notes the end of a round. The messages of a successful round are published, and those of a failed round wait.
func (b *backlog) ended(err error, held map[string]heldBack) {
	if b.failing = (time.Time{}); err != nil && b.since.Load() != 0 {
		b.failing = time.UnixMilli(b.since.Load())
	}
	b.set(b.waiting(held))
}

// waiting returns the time of the oldest message that waits for another round. A held document counts until firstHold
// after the end of its pause. This relay should have claimed the document by then. If it has not, another process has
// published the messages.
func (b *backlog) waiting(held map[string]heldBack) time.Time {
	oldest := b.failing
	for _, h := range held {
		if time.Since(h.until) < firstHold {
			oldest = earlier(oldest, h.oldest)
		}
	}
	return oldest
}

func (b *backlog) set(since time.Time) {
	if since.IsZero() {
		b.since.Store(0)
		return
	}
	b.since.Store(since.UnixMilli())
}

// oldest returns the time of the oldest message of claims, from its id.
func oldest(claims []engine.Claim) (first time.Time) {
	for i := range claims {
		if len(claims[i].Entries) == 0 {
			continue
		}
		if id, err := uuid.Parse(claims[i].Entries[0].ID); err == nil {
			first = earlier(first, time.Unix(id.Time().UnixTime()))
		}
	}
	return first
}

// Waiting describes the messages that are stored and not yet published.
type Waiting struct {
	Messages int       // at most MostWaiting are counted
	Oldest   time.Time // when the oldest was written; zero: no message waits
}

// MostWaiting is the number up to which Waiting counts messages.
const MostWaiting = 10_000

// Waiting counts the messages of all processes that use the database. It includes messages that are about to be
// published, and outbox entries without a topic, which only record that Derive is due.
func (db *Database) Waiting(ctx context.Context) (Waiting, error) {
	found, err := db.engine.Waiting(ctx, db.declared(), MostWaiting)
	if err != nil {
		return Waiting{}, engine.Opaque(err, "count the waiting messages")
	}
	waiting := Waiting{Messages: min(found.Messages, MostWaiting)}
	if id, err := uuid.Parse(found.Oldest); err == nil {
		waiting.Oldest = time.Unix(id.Time().UnixTime())
	}
	return waiting, nil
}

// earlier returns the earlier of two times. It ignores a zero time.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
