package document

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// migrate does everything in one transaction. A killed process leaves no part of it.
func (e *sqliteEngine) migrate(ctx context.Context, shapes []*shape) error {
	err := e.write(ctx, nil, func(w *sqliteWriter) error {
		if err := w.markFormat(e.path); err != nil {
			return err
		}
		for _, text := range []string{
			`CREATE TABLE IF NOT EXISTS "~counters" (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID`,
			`CREATE TABLE IF NOT EXISTS "~outbox" (seq INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, key TEXT NOT NULL, entry BLOB NOT NULL)`,
			`CREATE TABLE IF NOT EXISTS "~declared" (collection TEXT PRIMARY KEY, fields TEXT NOT NULL) WITHOUT ROWID`,
		} {
			if err := w.define(text); err != nil {
				return err
			}
		}
		for _, s := range shapes {
			if err := w.migrate(s); err != nil {
				return fmt.Errorf("collection %s: %w", s.name, err)
			}
		}
		return nil
	})
	if damaged := damage(err); damaged != nil {
		return &unusableError{e.path, damaged}
	}
	return err
}

func (w *sqliteWriter) migrate(s *shape) error {
	// Without a declared type SQLite does not convert values.
	text := `CREATE TABLE IF NOT EXISTS ` + quote(s.name) + ` (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, body BLOB NOT NULL`
	for _, f := range s.fields {
		text += `, ` + quote(column(f.name))
	}
	if err := w.define(text + `)`); err != nil {
		return err
	}
	if err := w.addColumns(s); err != nil {
		return err
	}
	wanted := s.sqlObjects()
	if err := w.dropObjects(s, wanted); err != nil {
		return err
	}
	if err := w.backfill(s); err != nil {
		return err
	}
	for _, object := range wanted {
		if err := w.create(s, object); err != nil {
			return err
		}
	}
	return nil
}

// addColumns adds the columns that the table lacks. A new table has all of them: SQLite reads its whole schema again
// after each added column. addColumns keeps the columns of fields that are no longer declared: the former version of
// the program works after a rollback.
func (w *sqliteWriter) addColumns(s *shape) error {
	have := map[string]bool{}
	err := w.rows(`SELECT name FROM pragma_table_info(?)`, []any{s.name}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		have[name] = true
		return err
	})
	for _, f := range s.fields {
		if err == nil && !have[column(f.name)] {
			err = w.define(`ALTER TABLE ` + quote(s.name) + ` ADD COLUMN ` + quote(column(f.name)))
		}
	}
	return err
}

// sqlObject is an index, a table that implements or counts an index, or a trigger. sql creates it, fill fills it.
type sqlObject struct {
	name, kind, sql, fill string
}

// sqlObjects returns what the declared indexes need. A unique index has a second index for queries, which ends with
// the key, as on MongoDB.
func (s *shape) sqlObjects() []sqlObject {
	var out []sqlObject
	for i := range s.indexes {
		ix := &s.indexes[i]
		if ix.many >= 0 {
			out = append(out, s.sqlSide(ix)...)
			continue
		}
		list, name := s.each(ix.fields, "?", ", "), s.sqlIndex(ix)
		out = append(out, sqlObject{name: name, kind: "index", sql: `CREATE INDEX ` + quote(name) + ` ON ` + quote(s.name) + ` (` + list + `, key)`})
		if ix.unique {
			out = append(out, sqlObject{name: name + ".unique", kind: "index", sql: `CREATE UNIQUE INDEX ` + quote(name+".unique") + ` ON ` + quote(s.name) + ` (` + list + `)`})
		}
		if ix.counted {
			out = append(out, s.sqlCounter(ix)...)
		}
	}
	return out
}

// dropObjects drops the objects that are not declared or have another definition.
func (w *sqliteWriter) dropObjects(s *shape, wanted []sqlObject) error {
	declared := map[string]string{}
	for _, o := range wanted {
		declared[o.name] = o.sql
	}
	var drops []string
	err := w.rows(`SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name GLOB ? ORDER BY type`,
		[]any{s.name + "[.~]*"}, func(rows *sql.Rows) error {
			var kind, name, text string
			if err := rows.Scan(&kind, &name, &text); err != nil {
				return err
			}
			if declared[name] != text {
				drops = append(drops, `DROP `+strings.ToUpper(kind)+` IF EXISTS `+quote(name))
			}
			return nil
		})
	if err != nil {
		return err
	}
	for _, text := range drops {
		if err := w.define(text); err != nil {
			return err
		}
	}
	return nil
}

func (w *sqliteWriter) create(s *shape, o sqlObject) error {
	err := w.row(`SELECT 1 FROM sqlite_schema WHERE name = ?`, []any{o.name}, new(int))
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := w.define(o.sql); err != nil {
		if conflict, ok := errors.AsType[*conflictError](sqliteError(err, s)); ok {
			return fmt.Errorf("stored records violate %s: %w", o.name, conflict.err)
		}
		return err
	}
	if o.fill == "" {
		return nil
	}
	return w.define(o.fill)
}

// declaredField is the stored declaration of a field. Migrate compares it with the current one.
type declaredField struct {
	Name     string `json:"name"`
	Many     bool   `json:"many,omitempty"`
	Revision int    `json:"revision,omitempty"`
}

func (s *shape) declaration() []declaredField {
	out := make([]declaredField, len(s.fields))
	for i, f := range s.fields {
		out[i] = declaredField{f.name, f.many, f.revision}
	}
	return out
}

// outdated reports whether a declared field is missing in stored or has another declaration there.
func (s *shape) outdated(stored []declaredField) bool {
	have := make(map[declaredField]bool, len(stored))
	for _, f := range stored {
		have[f] = true
	}
	for _, f := range s.declaration() {
		if !have[f] {
			return true
		}
	}
	return false
}

// backfill computes the fields of the stored records if their declaration has changed.
func (w *sqliteWriter) backfill(s *shape) error {
	var text string
	err := w.row(`SELECT fields FROM "~declared" WHERE collection = ?`, []any{s.name}, &text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var stored []declaredField
	if text != "" {
		if err := json.Unmarshal([]byte(text), &stored); err != nil {
			return err
		}
	}
	if s.outdated(stored) {
		if err := w.refill(s); err != nil {
			return err
		}
	}
	now, err := json.Marshal(s.declaration())
	if err != nil {
		return err
	}
	if string(now) == text {
		return nil
	}
	return w.exec(`INSERT INTO "~declared" (collection, fields) VALUES (?, ?) ON CONFLICT (collection) DO UPDATE SET fields = excluded.fields`, s.name, string(now))
}

func (w *sqliteWriter) refill(s *shape) error {
	var last int64
	for {
		var page []*record
		var ids []int64
		err := w.rows(`SELECT id, key, version, body FROM `+quote(s.name)+` WHERE id > ? ORDER BY id LIMIT ?`, []any{last, batchSize}, func(rows *sql.Rows) error {
			r := &record{}
			err := rows.Scan(&last, &r.key, &r.version, &r.body)
			page, ids = append(page, r), append(ids, last)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for i, r := range page {
			if r.fields, err = s.refield(r.body); err != nil {
				return fmt.Errorf("record %s: %w", r.key, err)
			}
			args, err := r.cells(nil)
			if err != nil {
				return err
			}
			if err := w.exec(s.texts.refill, append(args, ids[i])...); err != nil {
				return err
			}
		}
	}
}
