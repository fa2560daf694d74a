package document

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/stream"
)

// claim holds waiting messages of one document that only this process may publish now.
type claim struct {
	shape   *shape
	key     string
	entries []entry
	rows    []int64 // on SQLite: the rows of entries

	// The others are of an engine that several processes share.
	token     string    // identifies the claim
	deleted   bool      // the record is deleted; only its messages are stored
	abandoned bool      // another process claimed the document and did not finish, perhaps in the middle of Derive
	doubtful  bool      // the relay ran Derive, but the process that wrote the record may be running it, too
	notBefore time.Time // when released: the time of the next claim
}

// doubt is a document whose outbox was cleared while another process may have been running Derive. If that process was
// killed, it may have left incomplete rows. The relay therefore runs Derive again when doubtTime has passed.
type doubt struct {
	Name       string    `bson:"_id"` // collection/key
	Collection string    `bson:"s"`
	Key        string    `bson:"k"`
	Since      time.Time `bson:"since"` // whole milliseconds
}

const (
	// relayBatch is the number of documents whose messages are published together.
	relayBatch = 200
	// relayMessages is the approximate number of messages that are published together.
	relayMessages = 1000
	// relayPoll is the pause between two searches for messages that other processes left.
	relayPoll = 500 * time.Millisecond
	// relayRetry is the longest pause after a failure.
	relayRetry = time.Second
	// A document that fails on its own is held back for longer than relayRetry, so the next attempt is for others.
	firstHold, longestHold = 2 * relayRetry, 30 * relayRetry
	// doubtTime is longer than deriveTime: a run that was in progress when the doubt was noted has ended.
	doubtTime = deriveTime + time.Second
	// clearTime bounds the time to store the result of a publication.
	clearTime = 10 * time.Second
	// A document whose messages failed counts as waiting for this time after its next claim is due. It is longer than an
	// attempt of another process that may have claimed the document since.
	unsentTime = 15 * time.Second
)

// Relay publishes the messages of the outboxes and clears them until ctx ends. It publishes each
// message at least once, and the messages of one document in the order of their writes. It also
// repeats Derive where that failed or its process was killed, before it publishes the messages of
// the write. A write of this process wakes it. Messages of other processes are found within
// relayPoll. Several processes may relay one MongoDB database; a Database calls Relay once.
//
// publish returns nil when the broker has stored all records. Relay repeats a failed publication.
// If the messages of only one document fail, those of the others are published.
func (db *Database) Relay(ctx context.Context, publish func(context.Context, []stream.Record) error) error {
	r := &relay{db: db, publish: publish, limit: relayBatch, held: make(map[string]heldBack), unsent: make(map[string]time.Time)}
	r.shared, _ = db.engine.(sharedEngine)
	cause := failurelog.Cause{Message: "relaying failed", Of: db.name}
	var pause time.Duration
	var searched time.Time
	for ctx.Err() == nil {
		r.dispel(ctx)
		shapes := db.takeWritten()
		if time.Since(searched) >= relayPoll {
			shapes, searched = db.declared(), time.Now()
		}
		if len(shapes) == 0 {
			select {
			case <-ctx.Done():
			case <-db.wake:
			case <-time.After(relayPoll - time.Since(searched)):
			}
			continue
		}
		more, err := r.round(ctx, shapes)
		db.backlog.ended(err, r.held)
		if more || err != nil {
			searched = time.Time{}
		}
		if err == nil || ctx.Err() != nil {
			pause = 0
			if !r.waiting() {
				db.outages.Over(ctx, cause)
			}
			continue
		}
		pause = min(max(2*pause, 50*time.Millisecond), relayRetry)
		db.outages.Failed(ctx, cause, err)
		sleep(ctx, pause)
	}
	return nil
}

// notify wakes the relay of this process for a collection.
func (db *Database) notify(s *shape) {
	db.mu.Lock()
	db.written[s] = true
	db.mu.Unlock()
	select {
	case db.wake <- struct{}{}:
	default:
	}
}

// takeWritten returns the collections of notify since the last call, in the order of their declaration.
func (db *Database) takeWritten() []*shape {
	db.mu.Lock()
	defer db.mu.Unlock()
	written := slices.DeleteFunc(slices.Clone(db.shapes), func(s *shape) bool { return !db.written[s] })
	clear(db.written)
	return written
}

type relay struct {
	db      *Database
	shared  sharedEngine // nil if no other process uses the engine
	publish func(context.Context, []stream.Record) error
	limit   int
	held    map[string]heldBack
	unsent  map[string]time.Time // documents whose last publication failed, and until when that is known
	cleared int                  // number of rounds that cleared an outbox
	looked  time.Time            // for doubts
}

// heldBack is a document whose messages cannot be published for the time being.
type heldBack struct {
	until   time.Time
	pause   time.Duration
	oldest  time.Time // of its messages
	cleared int       // relay.cleared at that time
}

// round claims, derives, publishes and clears once. It returns true if messages are left.
func (r *relay) round(ctx context.Context, shapes []*shape) (more bool, err error) {
	claims, err := r.db.engine.claim(ctx, shapes, r.limit, r.skips)
	if err != nil || len(claims) == 0 {
		return false, err
	}
	r.db.backlog.claimed(claims, r.held)
	// A stop of the relay does not interrupt the rest: the result of a publication is stored.
	lasting := context.WithoutCancel(ctx)
	if r.shared != nil {
		renewing, stop := context.WithCancel(lasting)
		defer stop()
		go r.shared.renew(renewing, claims)
	}
	more = len(claims) >= r.limit
	ready, failed := r.deriveAll(ctx, claims)
	var records []stream.Record
	for i := range ready {
		for j := range ready[i].entries {
			if ready[i].entries[j].Topic != "" {
				records = append(records, ready[i].entries[j].record())
			}
		}
	}
	more = more || len(records) >= relayMessages
	if len(records) > 0 {
		err = r.publish(ctx, records)
	}
	after, cancel := context.WithTimeout(lasting, clearTime)
	defer cancel()
	if err != nil {
		err = fmt.Errorf("publish %d records: %w", len(records), err)
		r.shrink(ready)
		failed = append(failed, ready...)
	} else if len(ready) > 0 {
		left, failure := r.clear(after, ready)
		more, err = more || left, failure
	}
	if r.shared != nil && len(failed) > 0 {
		for i := range failed {
			failed[i].notBefore = r.held[failed[i].name()].until
		}
		if failure := r.shared.release(after, failed); failure != nil && err == nil {
			err = fmt.Errorf("release a claim: %w", failure)
		}
	}
	return more, err
}

// clear deletes published messages. It returns true if other messages of the documents are left.
func (r *relay) clear(ctx context.Context, published []claim) (bool, error) {
	r.limit = min(2*r.limit, relayBatch)
	r.cleared++
	for i := range published {
		delete(r.held, published[i].name())
		delete(r.unsent, published[i].name())
	}
	left, err := r.db.engine.clear(ctx, published)
	if err != nil {
		err = fmt.Errorf("clear the outbox: %w", err)
	}
	return left, err
}

// deriveAll runs Derive for the claims whose Derive has not succeeded in this process. It holds
// back those for which Derive fails.
func (r *relay) deriveAll(ctx context.Context, claims []claim) (ready, failed []claim) {
	for _, c := range claims {
		if !c.shape.derives {
			ready = append(ready, c)
			continue
		}
		derived, busy := r.db.derivations.take(c.name(), c.entries)
		switch {
		case !c.abandoned && derived == len(c.entries):
		case !c.abandoned && busy && derived > 0: // a run in progress or due serves the other entries
			c.entries = c.entries[:derived]
		default:
			c.doubtful = true
			cause := failurelog.Cause{Message: "Derive failed", Of: r.db.name + "/" + c.shape.name}
			if err := c.shape.rederive(ctx, c.key); err != nil {
				r.hold(c)
				r.db.outages.Failed(ctx, cause, err, "key", c.key)
				failed = append(failed, c)
				continue
			}
			r.db.outages.Over(ctx, cause)
		}
		ready = append(ready, c)
	}
	return ready, failed
}

// dispel runs Derive again for documents whose doubt is older than doubtTime, and deletes the doubt if Derive succeeds.
// It does this at most once per relayRetry, for at most relayBatch doubts. It does nothing if the engine is not shared.
func (r *relay) dispel(ctx context.Context) {
	if r.shared == nil || time.Since(r.looked) < relayRetry {
		return
	}
	r.looked = time.Now()
	deriving := make(map[string]*shape)
	for _, s := range r.db.declared() {
		if s.derives {
			deriving[s.name] = s
		}
	}
	if len(deriving) == 0 {
		return
	}
	doubts, err := r.shared.doubts(ctx, time.Now().Add(-doubtTime), relayBatch)
	for _, d := range doubts {
		s := deriving[d.Collection]
		if s == nil {
			continue
		}
		failed := s.rederive(ctx, d.Key)
		if failed == nil {
			failed = r.shared.dispel(ctx, d)
		}
		err = errors.Join(err, failed)
	}
	cause := failurelog.Cause{Message: "repeating Derive failed", Of: r.db.name}
	switch {
	case err == nil:
		r.db.outages.Over(ctx, cause)
	case ctx.Err() == nil:
		r.db.outages.Failed(ctx, cause, err)
	}
}

// shrink halves the batch after a failure. It holds back a document that fails alone, so that the others are published.
func (r *relay) shrink(claims []claim) {
	if len(claims) == 1 {
		r.hold(claims[0])
	}
	for i := range claims {
		due := time.Now()
		if h := r.held[claims[i].name()]; h.until.After(due) {
			due = h.until
		}
		r.unsent[claims[i].name()] = due.Add(unsentTime)
	}
	r.limit = max(1, min(r.limit, len(claims))/2)
}

// waiting reports whether messages wait whose publication failed. A round without an error does not show that the broker
// is back: it claims nothing while all documents are held back. It forgets documents that another process has published.
func (r *relay) waiting() bool {
	maps.DeleteFunc(r.unsent, func(_ string, until time.Time) bool { return time.Now().After(until) })
	return len(r.unsent) > 0
}

// hold sets the time of the document's next claim. The first pause is firstHold. A later pause is twice the last, at most
// longestHold, if the relay has cleared an outbox since the last hold. Otherwise the last pause is used again: all
// documents may have failed in an outage, and a longer pause would delay this document after the outage.
func (r *relay) hold(c claim) {
	last := r.held[c.name()]
	pause := max(last.pause, firstHold)
	if last.pause > 0 && last.cleared != r.cleared {
		pause = min(2*pause, longestHold)
	}
	r.held[c.name()] = heldBack{until: time.Now().Add(pause), pause: pause, oldest: oldest([]claim{c}), cleared: r.cleared}
}

// skips reports whether the relay must not claim a document now.
func (r *relay) skips(collection, key string) bool {
	name := collection + "/" + key
	h, held := r.held[name]
	return held && time.Now().Before(h.until) || r.db.derivations.unfinished(name)
}

func (c *claim) name() string { return c.shape.name + "/" + c.key }
