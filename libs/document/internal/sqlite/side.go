package sqlite

import (
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// An index with a multi-valued field is a table with a row for each value, or one row for a record without values. An
// index of words is another table (see worded). Triggers update the table with each write.

// shape is the declaration of a collection in the form of SQLite.
type shape struct{ *plan.Shape }

// sideTable returns the name of the table that implements an index with a multi-valued field.
func (s shape) sideTable(ix *plan.Index) string { return s.Name + "~" + ix.Name }

// valued returns the table, index and triggers that implement an index with a multi-valued field. An update of a
// record writes only the rows whose values changed: one new value beside hundreds costs one row.
func (s shape) valued(ix *plan.Index) []object {
	name := s.sideTable(ix)
	side, list := quote(name), quote(column(s.Fields[ix.Fields[ix.Many]].Name))
	columns := s.each(ix.Fields, "?", ", ")
	others := slices.Delete(slices.Clone(ix.Fields), ix.Many, ix.Many+1)
	rows := func(record string) string {
		values := s.each(ix.Fields[:ix.Many], record+".?, ", "") + "j.value" + s.each(ix.Fields[ix.Many+1:], ", "+record+".?", "")
		return `INSERT INTO ` + side + ` SELECT ` + record + `.id, ` + record + `.key, ` + values + ` FROM `
	}
	valuesOf := func(record string) string { return ` LEFT JOIN json_each(` + record + `.` + list + `) j` }
	removed := `DELETE FROM ` + side + ` WHERE doc = OLD.id`
	outdated := s.each(others, `? IS NOT NEW.? OR `, "") + list + ` IS NULL OR ` + list +
		` IN (SELECT ` + list + ` FROM ` + side + ` WHERE doc = OLD.id EXCEPT SELECT value FROM json_each(NEW.` + list + `))`
	missing := `(SELECT j.value FROM (SELECT 1)` + valuesOf("NEW") + ` EXCEPT SELECT ` + list + ` FROM ` + side + ` WHERE doc = NEW.id) j`
	objects := []object{
		{name: name, sql: `CREATE TABLE ` + side + ` (doc INTEGER NOT NULL, key TEXT NOT NULL, ` + columns + `)`,
			fill: rows("d") + quote(s.Name) + ` d` + valuesOf("d")},
		{name: name + ".doc", sql: `CREATE INDEX ` + quote(name+".doc") + ` ON ` + side + ` (doc, ` + list + `)`},
		{name: s.sqlIndex(ix), sql: `CREATE INDEX ` + quote(s.sqlIndex(ix)) + ` ON ` + side + ` (` + columns + `, key, doc)`},
		s.trigger(name, "INSERT", "", rows("NEW")+`(SELECT 1)`+valuesOf("NEW")+`; `),
		s.trigger(name, "DELETE", "", removed+`; `),
		s.trigger(name, "UPDATE OF "+columns, s.each(ix.Fields, "OLD.? IS NOT NEW.?", " OR "), removed+` AND (`+outdated+`); `+rows("NEW")+missing+`; `),
	}
	if ix.Unique {
		objects = append(objects, object{name: name + ".unique",
			sql: `CREATE UNIQUE INDEX ` + quote(name+".unique") + ` ON ` + side + ` (` + columns + `)`})
	}
	return objects
}

// trigger returns a trigger that maintains an index's table. name is the name of the table.
func (s shape) trigger(name, event, when, body string) object {
	if when != "" {
		when = ` WHEN ` + when
	}
	called := name + "." + strings.ToLower(strings.Fields(event)[0])
	return object{name: called,
		sql: `CREATE TRIGGER ` + quote(called) + ` AFTER ` + event + ` ON ` + quote(s.Name) + when + ` BEGIN ` + body + `END`}
}

// each repeats text for each field, joined by separator, with the field's column in place of "?".
func (s shape) each(fields []int, text, separator string) string {
	parts := find.Values(fields, func(f int) string { return strings.ReplaceAll(text, "?", quote(column(s.Fields[f].Name))) })
	return strings.Join(parts, separator)
}
