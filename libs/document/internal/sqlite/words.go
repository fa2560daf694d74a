package sqlite

import (
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
)

// worded returns the FTS5 table and the triggers that implement an index of words. The table stores for each word the
// rows of the records with the word. It does not store the words of a row, so a trigger passes the former words of the
// record to FTS5 to remove them.
func (s shape) worded(ix *plan.Index) []object {
	name := s.sideTable(ix)
	table, words := quote(name), quote(column(s.Fields[ix.Fields[0]].Name))
	added := func(record, from string) string {
		return `INSERT INTO ` + table + ` (rowid, words) SELECT ` + record + `.id, ` + record + `.` + words + from + ` WHERE ` + record + `.` + words + ` IS NOT NULL`
	}
	removed := `INSERT INTO ` + table + ` (` + table + `, rowid, words) SELECT 'delete', OLD.id, OLD.` + words + ` WHERE OLD.` + words + ` IS NOT NULL; `
	return []object{
		{name: name, sql: `CREATE VIRTUAL TABLE ` + table + ` USING fts5(words, content='', columnsize=0, detail=none, tokenize='ascii')`,
			fill: added("d", " FROM "+quote(s.Name)+" d")},
		s.trigger(name, "INSERT", "", added("NEW", "")+`; `),
		s.trigger(name, "DELETE", "", removed),
		s.trigger(name, "UPDATE OF "+words, `OLD.`+words+` IS NOT NEW.`+words, removed+added("NEW", "")+`; `),
	}
}

// allOf returns the query of FTS5 for the records with all words.
func allOf(words []any) string {
	var text strings.Builder
	for _, word := range words {
		text.WriteString(`"` + word.(string) + `" `)
	}
	return text.String()
}
