package document

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"sync"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// relayLock lets one process at a time relay the file's outbox. It is a lock of the operating system, which
// gives it to another the moment its holder dies.
type relayLock struct {
	path string
	mu   sync.Mutex
	file *os.File
}

func (l *relayLock) lock() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		return true, nil
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, &unavailableError{err}
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close() // nothing was written
		if err == syscall.EWOULDBLOCK {
			return false, nil
		}
		return false, &unavailableError{err}
	}
	l.file = file
	return true, nil
}

// unlock lets another process relay.
func (l *relayLock) unlock() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// claim reads the outbox from its beginning: whoever holds the lock has claimed all of it.
func (e *sqliteEngine) claim(ctx context.Context, shapes []*shape, limit int, skip func(collection, key string) bool) ([]parcel, error) {
	f, err := e.file(ctx)
	if err != nil {
		return nil, err
	}
	if mine, err := f.relay.lock(); err != nil || !mine {
		return nil, err
	}
	byName := make(map[string]*shape, len(shapes))
	for _, s := range shapes {
		byName[s.name] = s
	}
	type document struct{ collection, key string }
	at := make(map[document]int)
	var parcels []parcel
	// Not more is read than is enough, for a backlog may be of a few documents only.
	taken := 0
	for last, full := int64(0), true; full && len(parcels) < limit && taken < relayMessages; {
		full = false
		rows := 0
		q := newStatement(`SELECT seq, collection, key, entry FROM "~outbox" WHERE seq > ? ORDER BY seq LIMIT ?`).with(last, relayBatch)
		err := e.read(ctx, q, func(r *sql.Rows) error {
			var doc document
			var raw []byte
			if err := r.Scan(&last, &doc.collection, &doc.key, &raw); err != nil {
				return err
			}
			rows++
			s := byName[doc.collection]
			if s == nil || skip(doc.collection, doc.key) {
				return nil
			}
			var waiting entry
			if err := bson.Unmarshal(raw, &waiting); err != nil {
				return err
			}
			i, ok := at[doc]
			if !ok {
				if len(parcels) == limit {
					return nil
				}
				i = len(parcels)
				at[doc] = i
				parcels = append(parcels, parcel{shape: s, key: doc.key})
			}
			parcels[i].entries = append(parcels[i].entries, waiting)
			parcels[i].seqs = append(parcels[i].seqs, last)
			taken++
			return nil
		})
		if err != nil {
			return nil, err
		}
		full = rows == relayBatch
	}
	return parcels, nil
}

func (e *sqliteEngine) settle(ctx context.Context, parcels []parcel) error {
	var seqs []int64
	for i := range parcels {
		seqs = append(seqs, parcels[i].seqs...)
	}
	list, err := json.Marshal(seqs)
	if err != nil {
		return err
	}
	return e.write(ctx, nil, func(w *sqliteWriter) error {
		for i := range parcels {
			if !parcels[i].doubtful {
				continue
			}
			if err := w.exec(`INSERT INTO "~doubts" (collection, key, since) VALUES (?, ?, ?)
				ON CONFLICT (collection, key) DO UPDATE SET since = excluded.since`, parcels[i].shape.name, parcels[i].key, time.Now().UnixMilli()); err != nil {
				return err
			}
		}
		return w.exec(`DELETE FROM "~outbox" WHERE seq IN (SELECT value FROM json_each(?))`, string(list))
	})
}

func (e *sqliteEngine) doubts(ctx context.Context, before time.Time, limit int) ([]doubt, error) {
	f, err := e.file(ctx)
	if err != nil {
		return nil, err
	}
	if mine, err := f.relay.lock(); err != nil || !mine {
		return nil, err
	}
	var out []doubt
	q := newStatement(`SELECT collection, key, since FROM "~doubts" WHERE since <= ? LIMIT ?`).with(before.UnixMilli(), limit)
	err = e.read(ctx, q, func(r *sql.Rows) error {
		var d doubt
		var since int64
		err := r.Scan(&d.collection, &d.key, &since)
		d.since = time.UnixMilli(since).UTC()
		out = append(out, d)
		return err
	})
	return out, err
}

func (e *sqliteEngine) cleared(ctx context.Context, d doubt) error {
	return e.write(ctx, nil, func(w *sqliteWriter) error {
		return w.exec(`DELETE FROM "~doubts" WHERE collection = ? AND key = ? AND since = ?`, d.collection, d.key, d.since.UnixMilli())
	})
}

// release and hold have nothing to do: the lock is held as long as the process lives and relays.
func (e *sqliteEngine) release(context.Context, []parcel) error { return nil }

func (e *sqliteEngine) hold(ctx context.Context, _ []parcel) { <-ctx.Done() }

// idle looks often whether another process has written, which costs a few microseconds, for a file
// wakes nobody.
func (e *sqliteEngine) idle(ctx context.Context, wake <-chan struct{}, atMost time.Duration) {
	const look = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, min(atMost, look))
	defer cancel()
	select {
	case <-ctx.Done():
	case <-wake:
	}
}

func (e *sqliteEngine) yield() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.opened != nil {
		_ = e.opened.relay.unlock() // closing a file that was never written to
	}
}
