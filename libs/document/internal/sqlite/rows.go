package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Each collection has a table with the name of the collection. Its columns are id, key, version, body and one column
// per declared field: "f_" and the field's name. A list is stored as JSON. An index with a multi-valued field is a
// table with one row for each value, and an index of words is an FTS5 table. One table contains the outbox entries of
// all collections in the order of the commits.

func column(field string) string { return "f_" + field }

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// cell returns the form of a value in a column of the collection's table.
func cell(value any) (any, error) {
	list, ok := value.([]any)
	if !ok {
		return plan.Scalar(value), nil
	}
	text, err := json.Marshal(scalars(list))
	return string(text), err
}

func (e *Engine) Load(ctx context.Context, s *plan.Shape, key string) (*engine.Record, error) {
	var found *engine.Record
	q := clause{`SELECT version, body FROM ` + quote(s.Name) + ` WHERE key = ?`, []any{key}}
	err := e.read(ctx, q, func(rows *sql.Rows) error {
		found = &engine.Record{Key: key}
		return rows.Scan(&found.Version, &found.Body)
	})
	return found, err
}

func (e *Engine) LoadMany(ctx context.Context, s *plan.Shape, keys []string) ([]*engine.Record, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	q := clause{`SELECT key, version, body FROM ` + quote(s.Name) + ` WHERE key IN (SELECT value FROM json_each(?))`, []any{string(list)}}
	return e.records(ctx, q, 0, &engine.Page{})
}

// errFull ends the scan of rows when the page is full.
var errFull = errors.New("the page is full")

// records reads key, version and body. It ignores the extra columns after them, which are selected for ORDER BY only.
func (e *Engine) records(ctx context.Context, q clause, extra int, page *engine.Page) ([]*engine.Record, error) {
	var out []*engine.Record
	dest := make([]any, 3+extra)
	for i := range dest {
		dest[i] = new(any)
	}
	err := e.read(ctx, q, func(rows *sql.Rows) error {
		r := &engine.Record{}
		dest[0], dest[1], dest[2] = &r.Key, &r.Version, &r.Body
		out = append(out, r)
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if page.Full(r) {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return out, err
}

func (e *Engine) Insert(ctx context.Context, s *plan.Shape, r *engine.Record) error {
	args, err := cells([]any{r.Key}, r)
	if err != nil {
		return err
	}
	return e.writeOne(ctx, s, r.Key, r.Entries, e.texts(s).insert, args...)
}

func (e *Engine) Replace(ctx context.Context, s *plan.Shape, r *engine.Record, version int64) error {
	args, err := cells(nil, r)
	if err != nil {
		return err
	}
	return e.writeOne(ctx, s, r.Key, r.Entries, e.texts(s).replace, append(args, r.Key, version)...)
}

func (e *Engine) Remove(ctx context.Context, s *plan.Shape, key string, version int64, entries []engine.Entry) error {
	return e.writeOne(ctx, s, key, entries, `DELETE FROM `+quote(s.Name)+` WHERE key = ? AND version = ?`, key, version)
}

// writeOne runs text, which changes the record of key, and appends entries to the outbox. It returns engine.ErrStale
// if text changes no record.
func (e *Engine) writeOne(ctx context.Context, s *plan.Shape, key string, entries []engine.Entry, text string, args ...any) error {
	return e.write(ctx, s, func(w *writer) error { return w.change(s, key, entries, text, args...) })
}

// change is writeOne within a transaction.
func (w *writer) change(s *plan.Shape, key string, entries []engine.Entry, text string, args ...any) error {
	n, err := w.changes(text, args...)
	if err == nil && n == 0 {
		err = engine.ErrStale
	}
	if err != nil {
		return err
	}
	for i := range entries {
		text, err := bson.Marshal(&entries[i])
		if err != nil {
			return err
		}
		if err := w.exec(`INSERT INTO "~outbox" (collection, key, entry) VALUES (?, ?, ?)`, s.Name, key, text); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) ReplaceMany(ctx context.Context, s *plan.Shape, records []*engine.Record) error {
	return e.write(ctx, s, func(w *writer) error {
		for _, r := range records {
			args, err := cells(nil, r)
			if err == nil {
				err = w.change(s, r.Key, r.Entries, e.texts(s).replace, append(args, r.Key, r.Version-1)...)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Engine) WriteMany(ctx context.Context, s *plan.Shape, writes []engine.Write) error {
	texts := e.texts(s)
	return e.write(ctx, s, func(w *writer) error {
		for i := range writes {
			r := &writes[i].Record
			text, args, err := `DELETE FROM `+quote(s.Name)+` WHERE key = ? AND version = ?`, []any{r.Key, writes[i].Before}, error(nil)
			switch {
			case writes[i].Before == 0:
				text = texts.insert
				args, err = cells([]any{r.Key}, r)
			case r.Body != nil:
				text = texts.replace
				args, err = cells(nil, r)
				args = append(args, r.Key, writes[i].Before)
			}
			if err == nil {
				err = w.change(s, r.Key, r.Entries, text, args...)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Engine) PutMany(ctx context.Context, s *plan.Shape, records []*engine.Record) error {
	return e.write(ctx, s, func(w *writer) error {
		for _, r := range records {
			args, err := cells([]any{r.Key}, r)
			if err == nil {
				err = w.exec(e.texts(s).upsert, args...)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Engine) InsertMany(ctx context.Context, s *plan.Shape, records []*engine.Record) ([]bool, error) {
	isNew := make([]bool, len(records))
	err := e.write(ctx, s, func(w *writer) error { return w.insertNew(s, e.texts(s), records, isNew) })
	if err != nil {
		return nil, err
	}
	return isNew, nil
}

// runLengths are the numbers of records that one INSERT can contain. Several records share the fixed cost of a
// statement, which is mostly the cost of the journal.
var runLengths = [...]int{64, 8, 1}

// insertNew inserts the records whose keys do not exist, and marks them in isNew. Several records share a statement.
// It does not use RETURNING, which costs 3 microseconds per record. Instead it counts the inserted records. Only if a
// statement has ignored a record, which is rare, insertNew reads the stored versions: a record is new if its own
// random version is stored.
func (w *writer) insertNew(s *plan.Shape, texts *writeTexts, records []*engine.Record, isNew []bool) error {
	var args []any
	var err error
	for i, n := range runLengths {
		for ; len(records) >= n; records, isNew = records[n:], isNew[n:] {
			args = args[:0]
			for _, r := range records[:n] {
				if args, err = cells(append(args, r.Key), r); err != nil {
					return err
				}
			}
			inserted, err := w.changes(texts.insertRuns[i], args...)
			if err != nil {
				return err
			}
			var stored map[string]int64
			if inserted < int64(n) {
				if stored, err = w.known(s, records[:n]); err != nil {
					return err
				}
			}
			for at, r := range records[:n] {
				isNew[at] = inserted == int64(n) || stored[r.Key] == r.Version
			}
		}
	}
	return nil
}

// known returns the stored versions of records, by key.
func (w *writer) known(s *plan.Shape, records []*engine.Record) (map[string]int64, error) {
	keys := find.Values(records, func(r *engine.Record) string { return r.Key })
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	known := make(map[string]int64, len(records))
	err = w.rows(`SELECT key, version FROM `+quote(s.Name)+` WHERE key IN (SELECT value FROM json_each(?))`, []any{string(list)}, func(rows *sql.Rows) error {
		var key string
		var version int64
		err := rows.Scan(&key, &version)
		known[key] = version
		return err
	})
	return known, err
}

// cells appends the values of the record's columns to args: version, body and fields.
func cells(args []any, r *engine.Record) ([]any, error) {
	args = append(args, r.Version, r.Body)
	for _, value := range r.Fields {
		c, err := cell(value)
		if err != nil {
			return nil, err
		}
		args = append(args, c)
	}
	return args, nil
}

// writeTexts are the statements that write to a collection.
type writeTexts struct {
	insert, replace, upsert, refill string
	insertRuns                      [len(runLengths)]string
}

// texts returns the statements that write to a collection. It creates them at the first call for the collection.
func (e *Engine) texts(s *plan.Shape) *writeTexts {
	if known, ok := e.written.Load(s); ok {
		return known.(*writeTexts)
	}
	made, _ := e.written.LoadOrStore(s, textsOf(s))
	return made.(*writeTexts)
}

func textsOf(s *plan.Shape) *writeTexts {
	var columns, sets, excluded strings.Builder
	for _, f := range s.Fields {
		name := quote(column(f.Name))
		columns.WriteString(", " + name)
		sets.WriteString(", " + name + " = ?")
		excluded.WriteString(", " + name + " = excluded." + name)
	}
	table := quote(s.Name)
	update := `UPDATE ` + table + ` SET version = ?, body = ?` + sets.String()
	marks := "(?, ?, ?" + strings.Repeat(", ?", len(s.Fields)) + ")"
	insert := `INSERT INTO ` + table + ` (key, version, body` + columns.String() + `) VALUES ` + marks
	texts := &writeTexts{
		insert:  insert,
		replace: update + ` WHERE key = ? AND version = ?`,
		upsert:  insert + ` ON CONFLICT (key) DO UPDATE SET version = excluded.version, body = excluded.body` + excluded.String(),
		refill:  update + ` WHERE id = ?`,
	}
	// OR FAIL: after an error SQLite does not undo the rows that the statement has inserted. The job or the transaction
	// is rolled back anyway. ABORT, the default, copies each page before the statement changes the page, so that SQLite
	// can undo the statement alone.
	runs := strings.Replace(insert, "INSERT", "INSERT OR FAIL", 1)
	for i, n := range runLengths {
		texts.insertRuns[i] = runs + strings.Repeat(", "+marks, n-1) + ` ON CONFLICT (key) DO NOTHING`
	}
	return texts
}
