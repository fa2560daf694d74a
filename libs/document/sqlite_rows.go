package document

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Each collection has a table of its name with the columns id, key, version, body and one column per declared field
// ("f_" and its name; a list as JSON). An index with a multi-valued field is a table with a row for each value. One
// table holds the outbox entries of all collections in the order of the commits.

func column(field string) string { return "f_" + field }

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// scalar returns the form in which SQLite stores and compares a value.
func scalar(value any) any {
	switch v := value.(type) {
	case time.Time:
		return v.UnixMilli()
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	}
	return value
}

// cell returns the form of a value in a column of the collection's table.
func cell(value any) (any, error) {
	list, ok := value.([]any)
	if !ok {
		return scalar(value), nil
	}
	text, err := json.Marshal(scalars(list))
	return string(text), err
}

func (e *sqliteEngine) load(ctx context.Context, s *shape, key string) (*record, error) {
	var found *record
	q := clause{`SELECT version, body FROM ` + quote(s.name) + ` WHERE key = ?`, []any{key}}
	err := e.read(ctx, q, func(rows *sql.Rows) error {
		found = &record{key: key}
		return rows.Scan(&found.version, &found.body)
	})
	return found, err
}

func (e *sqliteEngine) loadMany(ctx context.Context, s *shape, keys []string) ([]*record, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	q := clause{`SELECT key, version, body FROM ` + quote(s.name) + ` WHERE key IN (SELECT value FROM json_each(?))`, []any{string(list)}}
	return e.records(ctx, q, 0, &filling{})
}

// records reads key, version and body. It ignores extra columns after them, which serve the order only.
func (e *sqliteEngine) records(ctx context.Context, q clause, extra int, page *filling) ([]*record, error) {
	var out []*record
	dest := make([]any, 3+extra)
	for i := range dest {
		dest[i] = new(any)
	}
	err := e.read(ctx, q, func(rows *sql.Rows) error {
		r := &record{}
		dest[0], dest[1], dest[2] = &r.key, &r.version, &r.body
		out = append(out, r)
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if page.full(r) {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return out, err
}

func (e *sqliteEngine) insert(ctx context.Context, s *shape, r *record) error {
	args, err := r.cells([]any{r.key})
	if err != nil {
		return err
	}
	return e.writeOne(ctx, s, r.key, r.entries, s.texts.insert, args...)
}

func (e *sqliteEngine) replace(ctx context.Context, s *shape, r *record, version int64) error {
	args, err := r.cells(nil)
	if err != nil {
		return err
	}
	return e.writeOne(ctx, s, r.key, r.entries, s.texts.replace, append(args, r.key, version)...)
}

func (e *sqliteEngine) remove(ctx context.Context, s *shape, key string, version int64, entries []entry) error {
	return e.writeOne(ctx, s, key, entries, `DELETE FROM `+quote(s.name)+` WHERE key = ? AND version = ?`, key, version)
}

// writeOne changes the record of key and appends entries to the outbox. It returns errStale if text changes no record.
func (e *sqliteEngine) writeOne(ctx context.Context, s *shape, key string, entries []entry, text string, args ...any) error {
	return e.write(ctx, s, func(w *sqliteWriter) error {
		n, err := w.changes(text, args...)
		if err != nil {
			return err
		}
		if n == 0 {
			return errStale
		}
		return w.post(s, key, entries)
	})
}

func (w *sqliteWriter) post(s *shape, key string, entries []entry) error {
	for i := range entries {
		text, err := bson.Marshal(&entries[i])
		if err != nil {
			return err
		}
		if err := w.exec(`INSERT INTO "~outbox" (collection, key, entry) VALUES (?, ?, ?)`, s.name, key, text); err != nil {
			return err
		}
	}
	return nil
}

func (e *sqliteEngine) replaceMany(ctx context.Context, s *shape, records []*record) error {
	return e.write(ctx, s, func(w *sqliteWriter) error {
		for _, r := range records {
			args, err := r.cells(nil)
			if err != nil {
				return err
			}
			if n, err := w.changes(s.texts.replace, append(args, r.key, r.version-1)...); err != nil {
				return err
			} else if n == 0 {
				return errStale
			}
			if err := w.post(s, r.key, r.entries); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *sqliteEngine) putMany(ctx context.Context, s *shape, records []*record) error {
	return e.write(ctx, s, func(w *sqliteWriter) error {
		for _, r := range records {
			args, err := r.cells([]any{r.key})
			if err == nil {
				err = w.exec(s.texts.upsert, args...)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *sqliteEngine) insertMany(ctx context.Context, s *shape, records []*record) ([]bool, error) {
	isNew := make([]bool, len(records))
	err := e.write(ctx, s, func(w *sqliteWriter) error { return w.insertNew(s, records, isNew) })
	if err != nil {
		return nil, err
	}
	return isNew, nil
}

// runLengths are the numbers of records that one statement inserts. The records share the fixed cost of a statement,
// above all its journal.
var runLengths = [...]int{64, 8, 1}

// insertNew inserts the records whose keys do not exist, and marks them in isNew. Several records share a statement.
// RETURNING would cost 3 microseconds per record, so insertNew asks for the stored versions only if a statement has
// ignored a record, which is rare. A record is new if the stored version is its own random one.
func (w *sqliteWriter) insertNew(s *shape, records []*record, isNew []bool) error {
	var args []any
	var err error
	for i, n := range runLengths {
		for ; len(records) >= n; records, isNew = records[n:], isNew[n:] {
			args = args[:0]
			for _, r := range records[:n] {
				if args, err = r.cells(append(args, r.key)); err != nil {
					return err
				}
			}
			inserted, err := w.changes(s.texts.insertRuns[i], args...)
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
				isNew[at] = inserted == int64(n) || stored[r.key] == r.version
			}
		}
	}
	return nil
}

// known returns the versions of the stored records among records, by key.
func (w *sqliteWriter) known(s *shape, records []*record) (map[string]int64, error) {
	keys := make([]string, len(records))
	for i, r := range records {
		keys[i] = r.key
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	known := make(map[string]int64, len(records))
	err = w.rows(`SELECT key, version FROM `+quote(s.name)+` WHERE key IN (SELECT value FROM json_each(?))`, []any{string(list)}, func(rows *sql.Rows) error {
		var key string
		var version int64
		err := rows.Scan(&key, &version)
		known[key] = version
		return err
	})
	return known, err
}

// cells appends the version, the body and the fields of the record to args, in the form of their columns.
func (r *record) cells(args []any) ([]any, error) {
	args = append(args, r.version, r.body)
	for _, value := range r.fields {
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

func (s *shape) writeTexts() writeTexts {
	var columns, sets, excluded strings.Builder
	for _, f := range s.fields {
		name := quote(column(f.name))
		columns.WriteString(", " + name)
		sets.WriteString(", " + name + " = ?")
		excluded.WriteString(", " + name + " = excluded." + name)
	}
	table := quote(s.name)
	update := `UPDATE ` + table + ` SET version = ?, body = ?` + sets.String()
	marks := "(?, ?, ?" + strings.Repeat(", ?", len(s.fields)) + ")"
	insert := `INSERT INTO ` + table + ` (key, version, body` + columns.String() + `) VALUES ` + marks
	texts := writeTexts{
		insert:  insert,
		replace: update + ` WHERE key = ? AND version = ?`,
		upsert:  insert + ` ON CONFLICT (key) DO UPDATE SET version = excluded.version, body = excluded.body` + excluded.String(),
		refill:  update + ` WHERE id = ?`,
	}
	// After a wrong value FAIL keeps the rows before it, and the job or the transaction rolls them back. ABORT, the default,
	// copies each page before it changes, to undo the statement alone.
	runs := strings.Replace(insert, "INSERT", "INSERT OR FAIL", 1)
	for i, n := range runLengths {
		texts.insertRuns[i] = runs + strings.Repeat(", "+marks, n-1) + ` ON CONFLICT (key) DO NOTHING`
	}
	return texts
}
