package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
)

// Migrate runs in one transaction, so a killed process leaves no partial migration.
func (e *Engine) Migrate(ctx context.Context, shapes []*plan.Shape) error {
	err := e.write(ctx, nil, func(w *writer) error {
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
				return fmt.Errorf("collection %s: %w", s.Name, err)
			}
		}
		return nil
	})
	if damaged := damage(err); damaged != nil {
		return &engine.UnusableError{Path: e.path, Err: damaged}
	}
	return err
}

func (w *writer) migrate(s *plan.Shape) error {
	// Without a declared type SQLite does not convert values.
	text := `CREATE TABLE IF NOT EXISTS ` + quote(s.Name) + ` (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, body BLOB NOT NULL`
	for _, f := range s.Fields {
		text += `, ` + quote(column(f.Name))
	}
	if err := w.define(text + `)`); err != nil {
		return err
	}
	if err := w.addColumns(s); err != nil {
		return err
	}
	wanted := shape{s}.objects()
	there, err := w.dropObjects(s, wanted)
	if err != nil {
		return err
	}
	if err := w.backfill(s); err != nil {
		return err
	}
	for _, object := range wanted {
		if there[object.name] {
			continue
		}
		if err := w.create(s, object); err != nil {
			return err
		}
	}
	return nil
}

// addColumns adds the missing columns to the table of a collection. A new table has all columns from the start,
// because SQLite reads its whole schema again after each added column. addColumns does not drop the columns of
// undeclared fields, so that the former version of the program works after a rollback.
func (w *writer) addColumns(s *plan.Shape) error {
	have := map[string]bool{}
	err := w.rows(`SELECT name FROM pragma_table_info(?)`, []any{s.Name}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		have[name] = true
		return err
	})
	for _, f := range s.Fields {
		if err == nil && !have[column(f.Name)] {
			err = w.define(`ALTER TABLE ` + quote(s.Name) + ` ADD COLUMN ` + quote(column(f.Name)))
		}
	}
	return err
}

// object is an index, a trigger, or a table that implements an index or its counts. sql is the statement that creates
// the object. fill is the statement that inserts the rows of a new table; it is empty for other objects.
type object struct {
	name, sql, fill string
}

// objects returns the SQL indexes, tables and triggers that implement the declared indexes. A unique index has two
// SQL indexes, as on MongoDB: the one for queries ends with the key, and the other enforces uniqueness.
func (s shape) objects() []object {
	var out []object
	for i := range s.Indexes {
		ix := &s.Indexes[i]
		if ix.Words {
			out = append(out, s.worded(ix)...)
			continue
		}
		if ix.Many >= 0 {
			out = append(out, s.valued(ix)...)
			continue
		}
		list, name := s.each(ix.Fields, "?", ", "), s.sqlIndex(ix)
		out = append(out, object{name: name, sql: `CREATE INDEX ` + quote(name) + ` ON ` + quote(s.Name) + ` (` + list + `, key)`})
		if ix.Unique {
			out = append(out, object{name: name + ".unique", sql: `CREATE UNIQUE INDEX ` + quote(name+".unique") + ` ON ` + quote(s.Name) + ` (` + list + `)`})
		}
		if ix.Counted {
			out = append(out, s.counted(ix)...)
		}
	}
	return out
}

// dropObjects drops the objects that are not declared or have another definition. With an index of words, SQLite drops
// the tables that FTS5 has created for the index. In the result, the names of the objects that exist as declared are
// true.
func (w *writer) dropObjects(s *plan.Shape, wanted []object) (map[string]bool, error) {
	declared, there := map[string]string{}, map[string]bool{}
	for _, o := range wanted {
		declared[o.name] = o.sql
	}
	var drops []string
	err := w.rows(`SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name GLOB ?
		AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow') ORDER BY type`,
		[]any{s.Name + "[.~]*"}, func(rows *sql.Rows) error {
			var kind, name, text string
			if err := rows.Scan(&kind, &name, &text); err != nil {
				return err
			}
			if there[name] = declared[name] == text; !there[name] {
				drops = append(drops, `DROP `+strings.ToUpper(kind)+` IF EXISTS `+quote(name))
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	for _, text := range drops {
		if err := w.define(text); err != nil {
			return nil, err
		}
	}
	return there, nil
}

func (w *writer) create(s *plan.Shape, o object) error {
	if err := w.define(o.sql); err != nil {
		if conflict, ok := errors.AsType[*engine.ConflictError](classified(err, s)); ok {
			return fmt.Errorf("stored records violate %s: %w", o.name, conflict.Err)
		}
		return err
	}
	if o.fill == "" {
		return nil
	}
	return w.define(o.fill)
}

// backfill computes the fields of the stored records if their declaration has changed.
func (w *writer) backfill(s *plan.Shape) error {
	var text string
	err := w.row(`SELECT fields FROM "~declared" WHERE collection = ?`, []any{s.Name}, &text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var stored []plan.Declared
	if text != "" {
		if err := json.Unmarshal([]byte(text), &stored); err != nil {
			return err
		}
	}
	if s.Outdated(stored) {
		if err := w.refill(s); err != nil {
			return err
		}
	}
	now, err := json.Marshal(s.Declaration())
	if err != nil {
		return err
	}
	if string(now) == text {
		return nil
	}
	return w.exec(`INSERT INTO "~declared" (collection, fields) VALUES (?, ?) ON CONFLICT (collection) DO UPDATE SET fields = excluded.fields`, s.Name, string(now))
}

func (w *writer) refill(s *plan.Shape) error {
	var last int64
	for {
		var page []*engine.Record
		var ids []int64
		err := w.rows(`SELECT id, key, version, body FROM `+quote(s.Name)+` WHERE id > ? ORDER BY id LIMIT ?`, []any{last, engine.BatchSize}, func(rows *sql.Rows) error {
			r := &engine.Record{}
			err := rows.Scan(&last, &r.Key, &r.Version, &r.Body)
			page, ids = append(page, r), append(ids, last)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for i, r := range page {
			if r.Fields, err = s.Refield(r.Body); err != nil {
				return fmt.Errorf("record %s: %w", r.Key, err)
			}
			args, err := cells(nil, r)
			if err != nil {
				return err
			}
			if err := w.exec(textsOf(s).refill, append(args, ids[i])...); err != nil {
				return err
			}
		}
	}
}

// markFormat stores engine.Format in the file. It returns an error if the file has a higher number.
func (w *writer) markFormat(path string) error {
	var stored int
	if err := w.row(`PRAGMA user_version`, nil, &stored); err != nil {
		return err
	}
	if err := engine.CheckFormat(path, stored); err != nil || stored == engine.Format {
		return err
	}
	return w.define(fmt.Sprintf(`PRAGMA user_version = %d`, engine.Format))
}
