package document

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
)

const (
	// deriveTime bounds one run of Derive.
	deriveTime = 10 * time.Second
	// followTime bounds the time for which a committed write waits for its run of Derive. It is much less than the time
	// limit of a request (20 s), so a request does not fail because Derive is slow.
	followTime = 5 * time.Second
)

var errSlowDerive = fmt.Errorf("Derive did not return within %v", followTime)

// derivations runs Derive for the documents of a Database. At most one run per document is in progress in this process,
// except for the runs of commitMany. A run serves all writes of the document that were committed before it started.
type derivations struct {
	mu        sync.Mutex
	documents map[string]*derivation
	derived   map[string]struct{} // ids of outbox entries whose Derive succeeded in this process
}

// derivation is the state of one document. It exists while a write or a run of the document is in progress, or a run
// is due.
type derivation struct {
	users   int           // number of writes and runs that use the derivation
	running chan struct{} // capacity 1: filled by the current run
	next    *deriveRun    // the run that has not started
	fresh   bool          // a run has succeeded since the derivation was created and since the relay last claimed the document
}

// deriveWork runs Derive for a document. superseded reports whether another run is due.
type deriveWork func(ctx context.Context, superseded func() bool) error

type deriveRun struct {
	entries []engine.Entry // the entries of the writes that the run serves
	work    deriveWork
	done    chan struct{}
	err     error
}

// begin counts a write of the document that is about to be committed. Until the write calls end, the relay of this process
// publishes a message of the document only after Derive has succeeded for the message's write.
func (d *derivations) begin(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.documents == nil {
		d.documents = make(map[string]*derivation)
	}
	if d.documents[name] == nil {
		d.documents[name] = &derivation{running: make(chan struct{}, 1)}
	}
	d.documents[name].users++
}

// end undoes begin. Each caller of begin calls end when its work has ended or failed. A run calls end when the run has
// ended.
func (d *derivations) end(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.documents[name].users--; d.documents[name].users == 0 {
		delete(d.documents, name)
	}
}

// join adds entries to the run of the document that has not started, and returns the run. It creates the run if there
// is none. The run calls the work of the last caller. This work may have an older record than that of another caller,
// but derive compares its record with the stored one. When the run ends, it calls notify of the caller that
// created the run. The caller must have called begin.
func (d *derivations) join(ctx context.Context, name string, entries []engine.Entry, work deriveWork, notify func()) *deriveRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	document := d.documents[name]
	if document.next == nil {
		document.next = &deriveRun{done: make(chan struct{})}
		document.users++
		go d.run(context.WithoutCancel(ctx), name, document, document.next, notify)
	}
	run := document.next
	run.entries, run.work = append(run.entries, entries...), work
	return run
}

func (d *derivations) run(ctx context.Context, name string, document *derivation, run *deriveRun, notify func()) {
	document.running <- struct{}{}
	d.mu.Lock()
	document.next = nil
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, derivingKey{}, name), deriveTime)
	defer cancel()
	run.err = recovered(func() error {
		return run.work(ctx, func() bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return document.next != nil
		})
	})
	<-document.running
	if run.err == nil {
		d.succeeded(document, run.entries)
	}
	d.end(name)
	close(run.done)
	notify()
}

// recovered turns a panic of work into an error. A run has its own goroutine, in which no caller can recover.
func recovered(work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("Derive panicked: %v", cause)
		}
	}()
	return work()
}

// wait returns the result of the run. It returns an error if ctx or followTime ends first. The run continues then.
func (r *deriveRun) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(followTime):
		return errSlowDerive
	}
}

// maxDerived bounds the number of ids in derivations.derived. The relay removes an id when it claims the entry. On
// MongoDB the relay of another process may publish the entry, and then the id is not removed. When the set is full,
// it is emptied. The only effect is that Derive runs again for some entries.
const maxDerived = 10000

func (d *derivations) succeeded(document *derivation, entries []engine.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.derived == nil || len(d.derived) > maxDerived {
		d.derived = make(map[string]struct{})
	}
	for i := range entries {
		d.derived[entries[i].ID] = struct{}{}
	}
	document.fresh = true
}

// unfinished reports whether the document has a derivation that is not fresh. Then a write or run of the document is in
// progress or due, and the relay does not claim the document.
func (d *derivations) unfinished(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	document := d.documents[name]
	return document != nil && !document.fresh
}

// take counts the leading entries whose Derive succeeded in this process, and removes their ids from d.derived. It
// stops at the first other entry. busy reports whether a write or run of the document is in progress or due. If busy
// is true, take resets fresh, so that the relay does not claim the document until another run succeeds or the last
// write or run ends.
func (d *derivations) take(name string, entries []engine.Entry) (derived int, busy bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	document, busy := d.documents[name]
	if busy {
		document.fresh = false
	}
	for derived < len(entries) {
		if _, ok := d.derived[entries[derived].ID]; !ok {
			break
		}
		delete(d.derived, entries[derived].ID)
		derived++
	}
	return derived, busy
}

// commit calls write, which stores the record or, if stored is nil, deletes it, together with entries. Then commit
// calls leave, which lets the next writer of the record continue, and waits for Derive. Once write has succeeded,
// commit returns nil, even if Derive is slow or fails: the entries are in the outbox, so the relay repeats Derive.
func (c *Collection[T]) commit(ctx context.Context, key string, stored *engine.Record, entries []engine.Entry, leave func(), write func() error) error {
	name := c.shape.Name + "/" + key
	if c.shape.Derives {
		c.db.derivations.begin(name)
		defer c.db.derivations.end(name)
	}
	if err := write(); err != nil {
		return err
	}
	leave()
	if !c.shape.Derives {
		if len(entries) > 0 {
			c.db.notify(c.shape)
		}
		return nil
	}
	run := c.join(ctx, name, entries, func(ctx context.Context, superseded func() bool) error {
		return c.derive(ctx, key, stored, superseded)
	})
	if ctx.Value(derivingKey{}) == name {
		return nil // Derive of this record made the write. That run of Derive must end before the new run starts, so do not wait.
	}
	if err := run.wait(ctx); err != nil {
		c.db.log.LogAttrs(ctx, slog.LevelWarn, "Derive failed or is slow; the relay repeats it",
			slog.String("collection", c.shape.Name), slog.String("key", key), slog.String("error", err.Error()))
	}
	return nil
}

// commitMany makes the writes and waits for DeriveMany, as commit does for one write.
func (c *Collection[T]) commitMany(ctx context.Context, writes []engine.Write) error {
	names := make([]string, len(writes))
	for i := range writes {
		names[i] = c.shape.Name + "/" + writes[i].Key
		c.db.derivations.begin(names[i])
	}
	end := func() {
		for _, name := range names {
			c.db.derivations.end(name)
		}
		c.db.notify(c.shape)
	}
	if err := c.db.engine.WriteMany(ctx, c.shape, writes); err != nil {
		end() // the relay runs Derive for the writes that were made
		return err
	}
	done := make(chan struct{})
	run := &deriveRun{done: done}
	lasting := context.WithoutCancel(ctx)
	go func() {
		defer close(done)
		defer end()
		ctx, cancel := context.WithTimeout(lasting, deriveTime)
		defer cancel()
		if run.err = recovered(func() error { return c.deriveMany(ctx, writes) }); run.err != nil {
			return
		}
		for i, name := range names {
			c.db.derivations.mu.Lock()
			document := c.db.derivations.documents[name]
			c.db.derivations.mu.Unlock()
			c.db.derivations.succeeded(document, writes[i].Entries)
		}
	}()
	if err := run.wait(ctx); err != nil {
		c.db.log.LogAttrs(ctx, slog.LevelWarn, "Derive of several records failed or is slow; the relay repeats it",
			slog.String("collection", c.shape.Name), slog.Int("records", len(writes)), slog.String("error", err.Error()))
	}
	return nil
}

// deriveMany calls DeriveMany with the written records, and then loads them. It runs Derive for each record that has
// changed since its write. So the last of several runs has seen the newest record, as with derive.
func (c *Collection[T]) deriveMany(ctx context.Context, writes []engine.Write) error {
	current := make(map[string]*T, len(writes))
	keys := make([]string, len(writes))
	for i := range writes {
		keys[i] = writes[i].Key
		if current[keys[i]] = nil; writes[i].Body == nil {
			continue
		}
		item := new(T)
		if err := decode(writes[i].Body, item); err != nil {
			return err
		}
		current[keys[i]] = item
	}
	if err := c.schema.DeriveMany(ctx, current); err != nil {
		return err
	}
	loaded, err := c.db.engine.LoadMany(ctx, c.shape, keys)
	if err != nil {
		return err
	}
	now := make(map[string]*engine.Record, len(loaded))
	for _, r := range loaded {
		now[r.Key] = r
	}
	for i := range writes {
		written := &writes[i].Record
		if written.Body == nil {
			written = nil
		}
		if latest := now[keys[i]]; !sameVersion(latest, written) {
			if err := c.derive(ctx, keys[i], latest, func() bool { return false }); err != nil {
				return err
			}
		}
	}
	return nil
}

// derivingKey is the context key in the context of Derive. Its value is the name of the record that Derive is called
// for.
type derivingKey struct{}

func (c *Collection[T]) join(ctx context.Context, name string, entries []engine.Entry, work deriveWork) *deriveRun {
	return c.db.derivations.join(ctx, name, entries, work, func() { c.db.notify(c.shape) })
}

// rederive runs Derive for the stored record of key. The relay calls rederive. If rederive returns an error because the
// run is slow, the run continues.
func (c *Collection[T]) rederive(ctx context.Context, key string) error {
	name := c.shape.Name + "/" + key
	c.db.derivations.begin(name)
	defer c.db.derivations.end(name)
	return c.join(ctx, name, nil, func(ctx context.Context, superseded func() bool) error {
		stored, err := c.db.engine.Load(ctx, c.shape, key)
		if err != nil {
			return err
		}
		return c.derive(ctx, key, stored, superseded)
	}).wait(ctx)
}

// derive calls Derive with stored, and then loads the record. If the record has changed since, derive starts over
// with the new record. So if several processes run Derive at the same time, the last of them has seen the newest
// record. derive does not check for a change if the run is superseded, because the next run of this process loads the
// newest record.
func (c *Collection[T]) derive(ctx context.Context, key string, stored *engine.Record, superseded func() bool) error {
	for {
		var item *T
		if stored != nil {
			item = new(T)
			if err := decode(stored.Body, item); err != nil {
				return err
			}
		}
		if err := c.schema.Derive(ctx, key, item); err != nil || superseded() {
			return err
		}
		now, err := c.db.engine.Load(ctx, c.shape, key)
		if err != nil || sameVersion(now, stored) {
			return err
		}
		stored = now
	}
}

func sameVersion(a, b *engine.Record) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Version == b.Version
}

// gate admits one writer of this process to a document at a time. Without it, concurrent writers would conflict with
// each other and repeat their work. A writer waits for at most gateTime and then continues without a turn. This loses no
// update, because the version of the record guards each write.
type gate struct {
	mu    sync.Mutex
	turns map[string]*turn
}

type turn struct {
	taken chan struct{} // capacity 1
	users int
}

const gateTime = 2 * time.Second

// enter waits for the caller's turn, until ctx or gateTime ends. It returns a function that ends the turn or the wait.
func (g *gate) enter(ctx context.Context, name string) func() {
	g.mu.Lock()
	if g.turns == nil {
		g.turns = make(map[string]*turn)
	}
	at := g.turns[name]
	if at == nil {
		at = &turn{taken: make(chan struct{}, 1)}
		g.turns[name] = at
	}
	at.users++
	g.mu.Unlock()
	entered := false
	select {
	case at.taken <- struct{}{}:
		entered = true
	case <-ctx.Done():
	case <-time.After(gateTime):
	}
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if entered {
			<-at.taken
		}
		if at.users--; at.users == 0 {
			delete(g.turns, name)
		}
	})
}
