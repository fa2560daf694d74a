package document

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/stream"
)

const (
	// relayPoll is the pause between two searches for messages of other processes.
	relayPoll = 500 * time.Millisecond
	// relayRetry is the longest pause after a failure.
	relayRetry = time.Second
	// A document whose messages fail alone, or whose Derive fails, is not claimed again for firstHold, and after further
	// failures for up to longestHold. firstHold is longer than relayRetry, so the next attempt is for other documents.
	firstHold, longestHold = 2 * relayRetry, 30 * relayRetry
	// repeatTime is the age at which a repetition is due. It is longer than deriveTime, so a run of Derive that was
	// in progress when the repetition was stored has ended.
	repeatTime = deriveTime + time.Second
	// clearTime bounds the time to store the result of a publication.
	clearTime = 10 * time.Second
	// A document whose publication failed counts as waiting until unsentTime after its next claim is due. Another
	// process may have claimed the document meanwhile. unsentTime is longer than an attempt of that process.
	unsentTime = 15 * time.Second
)

// Relay publishes the messages of the outboxes and clears them until ctx ends. It publishes each message at least once,
// and the messages of one document in the order of their writes. If the Derive of a write failed or the process of the
// write was killed, Relay repeats Derive before it publishes the messages of the write. A write of this process wakes
// Relay. Several processes may relay one MongoDB database. Relay finds messages of other processes within relayPoll. In
// collections with a Derive, it publishes them only if the other process has not published them within a second. Call
// Relay once per Database.
//
// publish returns nil when the broker has stored all records. Relay repeats a failed publication.
// If the messages of only one document fail, those of the others are published.
func (db *Database) Relay(ctx context.Context, publish func(context.Context, []stream.Record) error) error {
	r := &relay{db: db, publish: publish, limit: engine.RelayBatch, held: make(map[string]heldBack), unsent: make(map[string]time.Time)}
	r.shared, _ = db.engine.(sharedStorage)
	var settling sync.WaitGroup
	defer settling.Wait()
	settling.Go(func() { r.settle(ctx) })
	cause := failurelog.Cause{Message: "relaying failed", Of: db.name}
	var pause time.Duration
	var searched time.Time
	for ctx.Err() == nil {
		r.repeat(ctx)
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
		engine.Sleep(ctx, pause)
	}
	return nil
}

// settle computes, at each time of settleAfter, the fields of records that processes of a former version have written. It
// does nothing if the engine is not shared. If the computation at the last time fails, settle begins again with the first.
func (r *relay) settle(ctx context.Context) {
	cause := failurelog.Cause{Message: "computing the fields of records of a former version failed", Of: r.db.name}
	begin := time.Now()
	for i := 0; i < len(r.db.settleAfter) && r.shared != nil; i++ {
		if !engine.Sleep(ctx, time.Until(begin.Add(r.db.settleAfter[i]))) {
			return
		}
		err := r.shared.Settle(ctx, r.db.declared())
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			r.db.outages.Over(ctx, cause)
		} else if r.db.outages.Failed(ctx, cause, err); i == len(r.db.settleAfter)-1 {
			begin, i = time.Now(), -1
		}
	}
}

// notify wakes the relay of this process for a collection.
func (db *Database) notify(s *plan.Shape) {
	db.mu.Lock()
	db.written[s] = true
	db.mu.Unlock()
	select {
	case db.wake <- struct{}{}:
	default:
	}
}

// takeWritten returns the collections that notify was called for since the last takeWritten, in the order of their
// declaration.
func (db *Database) takeWritten() []*plan.Shape {
	db.mu.Lock()
	defer db.mu.Unlock()
	written := slices.DeleteFunc(slices.Clone(db.shapes), func(s *plan.Shape) bool { return !db.written[s] })
	clear(db.written)
	return written
}

type relay struct {
	db      *Database
	shared  sharedStorage // nil if no other process uses the engine
	publish func(context.Context, []stream.Record) error
	limit   int
	held    map[string]heldBack
	unsent  map[string]time.Time // documents whose last publication failed, with the time until which they count as waiting
	cleared int                  // number of calls of clear
	looked  time.Time            // time of the last search for repetitions
}

// heldBack describes a document that the relay does not claim before until.
type heldBack struct {
	until   time.Time
	pause   time.Duration
	oldest  time.Time // time of the oldest of its messages
	cleared int       // relay.cleared at the time when the document was held back
}

// round claims, derives, publishes and clears once. It returns true if claimable messages may be left.
func (r *relay) round(ctx context.Context, shapes []*plan.Shape) (more bool, err error) {
	claims, err := r.db.engine.Claim(ctx, shapes, r.limit, r.skips)
	if err != nil || len(claims) == 0 {
		return false, err
	}
	r.db.backlog.claimed(claims, r.held)
	// If ctx ends after the claim, clear and Release still run, so that the result of a publication is stored.
	lasting := context.WithoutCancel(ctx)
	if r.shared != nil {
		renewing, stop := context.WithCancel(lasting)
		defer stop()
		go r.shared.Renew(renewing, claims)
	}
	more = len(claims) >= r.limit
	ready, failed := r.deriveAll(ctx, claims)
	var records []stream.Record
	for i := range ready {
		for j := range ready[i].Entries {
			if ready[i].Entries[j].Topic != "" {
				records = append(records, recordOf(&ready[i].Entries[j]))
			}
		}
	}
	more = more || len(records) >= engine.RelayMessages
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
			failed[i].NotBefore = r.held[failed[i].Name()].until
		}
		if failure := r.shared.Release(after, failed); failure != nil && err == nil {
			err = fmt.Errorf("release a claim: %w", failure)
		}
	}
	return more, err
}

// clear deletes published messages. It returns true if other messages of the documents may be left.
func (r *relay) clear(ctx context.Context, published []engine.Claim) (bool, error) {
	r.limit = min(2*r.limit, engine.RelayBatch)
	r.cleared++
	for i := range published {
		delete(r.held, published[i].Name())
		delete(r.unsent, published[i].Name())
	}
	left, err := r.db.engine.Clear(ctx, published)
	if err != nil {
		err = fmt.Errorf("clear the outbox: %w", err)
	}
	return left, err
}

// deriveAll runs Derive for the claims whose Derive has not succeeded in this process, and for abandoned claims. In ready it
// returns the claims whose messages can be published. It holds back the claims for which Derive fails, and returns them in
// failed.
func (r *relay) deriveAll(ctx context.Context, claims []engine.Claim) (ready, failed []engine.Claim) {
	for _, c := range claims {
		if !c.Shape.Derives {
			ready = append(ready, c)
			continue
		}
		derived, busy := r.db.derivations.take(c.Name(), c.Entries)
		switch {
		case !c.Abandoned && derived == len(c.Entries):
		case !c.Abandoned && busy && derived > 0: // publish the derived entries; a run in progress or due serves the others
			c.Entries = c.Entries[:derived]
		default:
			c.Repeat = true
			cause := failurelog.Cause{Message: "Derive failed", Of: r.db.name + "/" + c.Shape.Name}
			if err := c.Shape.Rederive(ctx, c.Key); err != nil {
				r.hold(c)
				r.db.outages.Failed(ctx, cause, err, "key", c.Key)
				failed = append(failed, c)
				continue
			}
			r.db.outages.Over(ctx, cause)
		}
		ready = append(ready, c)
	}
	return ready, failed
}

// repeat runs Derive again for documents whose repetition is older than repeatTime, and deletes the repetition if Derive
// succeeds. It does this at most once per relayRetry, for at most engine.RelayBatch repetitions. It does nothing if the
// engine is not shared.
func (r *relay) repeat(ctx context.Context) {
	if r.shared == nil || time.Since(r.looked) < relayRetry {
		return
	}
	r.looked = time.Now()
	deriving := make(map[string]*plan.Shape)
	for _, s := range r.db.declared() {
		if s.Derives {
			deriving[s.Name] = s
		}
	}
	if len(deriving) == 0 {
		return
	}
	due, err := r.shared.Repetitions(ctx, time.Now().Add(-repeatTime), engine.RelayBatch)
	for _, d := range due {
		s := deriving[d.Collection]
		if s == nil {
			continue
		}
		failed := s.Rederive(ctx, d.Key)
		if failed == nil {
			failed = r.shared.DeleteRepetition(ctx, d)
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

// shrink halves the limit of the next claim after a failed publication. If a document failed alone, shrink holds it
// back, so that the others are published.
func (r *relay) shrink(claims []engine.Claim) {
	if len(claims) == 1 {
		r.hold(claims[0])
	}
	for i := range claims {
		due := time.Now()
		if h := r.held[claims[i].Name()]; h.until.After(due) {
			due = h.until
		}
		r.unsent[claims[i].Name()] = due.Add(unsentTime)
	}
	r.limit = max(1, min(r.limit, len(claims))/2)
}

// waiting reports whether there are messages whose publication failed and that are not published. The relay needs it
// because a round without an error does not show that the broker is back: a round claims nothing while all documents
// are held back. waiting also removes documents from unsent whose time has passed, because another process may have
// published their messages.
func (r *relay) waiting() bool {
	maps.DeleteFunc(r.unsent, func(_ string, until time.Time) bool { return time.Now().After(until) })
	return len(r.unsent) > 0
}

// hold sets the time of the document's next claim. The first pause is firstHold. If the relay has called clear since
// the last hold, the next pause is twice the last one, at most longestHold. Otherwise the next pause is as long as the
// last one: in an outage all documents fail, and a longer pause would delay this document after the outage.
func (r *relay) hold(c engine.Claim) {
	last := r.held[c.Name()]
	pause := max(last.pause, firstHold)
	if last.pause > 0 && last.cleared != r.cleared {
		pause = min(2*pause, longestHold)
	}
	r.held[c.Name()] = heldBack{until: time.Now().Add(pause), pause: pause, oldest: oldest([]engine.Claim{c}), cleared: r.cleared}
}

// skips reports whether the relay must not claim a document now.
func (r *relay) skips(collection, key string) bool {
	name := collection + "/" + key
	h, held := r.held[name]
	return held && time.Now().Before(h.until) || r.db.derivations.unfinished(name)
}
