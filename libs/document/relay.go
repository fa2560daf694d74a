package document

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/stream"
)

// parcel is the waiting messages of one document, claimed by this process.
type parcel struct {
	shape   *shape
	key     string
	entries []entry
	claim   string    // of MongoDB
	seqs    []int64   // of SQLite's rows
	again   time.Time // when released: not before
	// doubtful: the relay has run Derive, but whoever wrote may be running it still, and be killed with half of it
	// done, when nothing in the outbox tells of it any more.
	doubtful bool
}

// doubt is a document whose Derive is repeated some time after a doubtful parcel was settled.
type doubt struct {
	collection, key string
	since           time.Time // UTC, whole milliseconds
}

const (
	// relayBatch is how many documents' messages are published together.
	relayBatch = 200
	// relayMessages is how many messages of one document are published together, about.
	relayMessages = 1000
	// relayPoll is how often it is looked for what another process has left behind.
	relayPoll = 500 * time.Millisecond
	// relayRetry is the longest pause after a failure.
	relayRetry = time.Second
	// A document whose messages alone cannot be sent is held back for longer than that pause, so that the
	// next try is of others.
	firstHold, longestHold = 2 * relayRetry, 30 * relayRetry
	// doubtTime is more than a Derive takes: after it those that ran at the time of a doubt have ended, or have died.
	doubtTime = 2 * time.Second
	// settleTime is how long the outcome of a publishing may take to be recorded.
	settleTime = 10 * time.Second
)

// Relay publishes the messages of the outboxes and clears them, until ctx ends: at least once, and those of
// one document in the order they were written. It starts at once when this process has written, and finds by
// itself what others have left behind. Several processes may relay at once; one Database calls
// it once. publish returns when all records are safely with the broker; one that fails is repeated, and if
// it is a single document's messages that cannot be published, the others go on.
func (db *Database) Relay(ctx context.Context, publish func(context.Context, []stream.Record) error) error {
	r := &relay{db: db, publish: publish, limit: relayBatch, held: make(map[string]heldBack)}
	defer db.engine.yield()
	pause := time.Duration(0)
	for ctx.Err() == nil {
		r.dispel(ctx)
		busy, err := r.round(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			pause = min(max(2*pause, 50*time.Millisecond), relayRetry)
			db.log.LogAttrs(ctx, slog.LevelWarn, "relaying failed", slog.String("database", db.name),
				slog.String("error", err.Error()), slog.String("again_in", pause.String()))
			sleep(ctx, pause)
		case !busy:
			db.engine.idle(ctx, db.wake, relayPoll)
		default:
			pause = 0
		}
	}
	return nil
}

type relay struct {
	db      *Database
	publish func(context.Context, []stream.Record) error
	limit   int
	held    map[string]heldBack
	settled int       // rounds that settled something
	looked  time.Time // for doubts
}

// heldBack is a document whose messages cannot be sent for the time being.
type heldBack struct {
	until   time.Time
	pause   time.Duration
	settled int // the relay's, by then
}

// round claims, derives, publishes and clears once; it reports whether there was anything to do.
func (r *relay) round(ctx context.Context) (bool, error) {
	parcels, err := r.db.engine.claim(ctx, r.db.declared(), r.limit, r.skips)
	if err != nil || len(parcels) == 0 {
		return false, err
	}
	// Until the outcome is recorded, even when it is time to stop.
	holding, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go r.db.engine.hold(holding, parcels)

	ready, failed := r.deriveAll(ctx, parcels)
	var records []stream.Record
	for i := range ready {
		for j := range ready[i].entries {
			if ready[i].entries[j].Topic != "" {
				records = append(records, ready[i].entries[j].record())
			}
		}
	}
	if len(records) > 0 {
		err = r.publish(ctx, records)
	}
	// What has been published shall be cleared even when it is time to stop.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err != nil {
		r.shrink(ready)
		failed = append(failed, ready...)
		err = fmt.Errorf("publish %d records: %w", len(records), err)
	} else if err = r.settle(after, ready); err != nil {
		err = fmt.Errorf("clear the outbox: %w", err)
	}
	if len(failed) > 0 {
		for i := range failed {
			failed[i].again = r.held[failed[i].name()].until
		}
		if released := r.db.engine.release(after, failed); released != nil && err == nil {
			err = fmt.Errorf("release a claim: %w", released)
		}
	}
	return true, err
}

func (r *relay) settle(ctx context.Context, ready []parcel) error {
	if len(ready) == 0 {
		return nil
	}
	r.limit = min(2*r.limit, relayBatch)
	r.settled++
	for i := range ready {
		delete(r.held, ready[i].name())
	}
	return r.db.engine.settle(ctx, ready)
}

// deriveAll repeats Derive for those parcels for which this process has not seen it succeed. Those for which it
// fails are held back.
func (r *relay) deriveAll(ctx context.Context, parcels []parcel) (ready, failed []parcel) {
	for _, p := range parcels {
		if !p.shape.derives || r.db.derived.take(p.entries) {
			ready = append(ready, p)
			continue
		}
		if err := p.shape.rederive(ctx, p.key); err != nil {
			r.hold(p)
			r.db.log.LogAttrs(ctx, slog.LevelWarn, "deriving failed", slog.String("collection", p.shape.name),
				slog.String("key", p.key), slog.String("error", err.Error()))
			failed = append(failed, p)
			continue
		}
		p.doubtful = true
		ready = append(ready, p)
	}
	return ready, failed
}

// dispel repeats Derive for what was in doubt. What it cannot do stays noted.
func (r *relay) dispel(ctx context.Context) {
	if time.Since(r.looked) < doubtTime/2 {
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
	doubts, err := r.db.engine.doubts(ctx, time.Now().Add(-doubtTime), relayBatch)
	for _, d := range doubts {
		s := deriving[d.collection]
		if s == nil {
			continue
		}
		failed := s.rederive(ctx, d.key)
		if failed == nil {
			failed = r.db.engine.cleared(ctx, d)
		}
		err = errors.Join(err, failed)
	}
	if err != nil && ctx.Err() == nil {
		r.db.log.LogAttrs(ctx, slog.LevelWarn, "repeating Derive failed", slog.String("database", r.db.name), slog.String("error", err.Error()))
	}
}

// shrink tries fewer at once after a failure; what fails on its own is held back, so that it does not
// stand in the way of all others.
func (r *relay) shrink(parcels []parcel) {
	if len(parcels) == 1 {
		r.hold(parcels[0])
	}
	r.limit = max(1, min(r.limit, len(parcels))/2)
}

// hold holds a document back, for longer each time that others could be settled since the last. When none could, the
// fault is not its own, and all must go on soon after an outage.
func (r *relay) hold(p parcel) {
	last := r.held[p.name()]
	pause := max(last.pause, firstHold)
	if last.pause > 0 && last.settled != r.settled {
		pause = min(2*pause, longestHold)
	}
	r.held[p.name()] = heldBack{until: time.Now().Add(pause), pause: pause, settled: r.settled}
}

func (r *relay) skips(collection, key string) bool {
	h, ok := r.held[collection+"/"+key]
	return ok && time.Now().Before(h.until)
}

func (p *parcel) name() string { return p.shape.name + "/" + p.key }
