package document

import (
	"database/sql"
	"strings"
)

// sideTable returns the name of the table that implements an index with a multi-valued field.
func (s *shape) sideTable(ix *index) string { return s.name + "~" + ix.name }

// side writes the rows of the indexes with multi-valued fields. If the record existed before, it writes only the rows
// that differ: a new value among hundreds costs one row.
func (w *sqliteWriter) side(s *shape, id int64, r *record, existed bool) error {
	for i := range s.indexes {
		ix := &s.indexes[i]
		if ix.many < 0 {
			continue
		}
		values, ok := r.fields[ix.fields[ix.many]].([]any)
		if !ok {
			values = []any{nil}
		}
		kept := map[any]bool{}
		if existed {
			var err error
			if kept, err = w.keepSide(s, ix, id, r, values); err != nil {
				return err
			}
		}
		text := `INSERT INTO ` + quote(s.sideTable(ix)) + ` VALUES (?, ?` + strings.Repeat(", ?", len(ix.fields)) + `)`
		for _, value := range values {
			if kept[scalar(value)] {
				continue
			}
			args := []any{id, r.key}
			for at, f := range ix.fields {
				if at == ix.many {
					args = append(args, scalar(value))
				} else {
					args = append(args, scalar(r.fields[f]))
				}
			}
			if err := w.exec(text, args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepSide deletes the rows of a record that r does not have any more. It returns the values of the other rows.
func (w *sqliteWriter) keepSide(s *shape, ix *index, id int64, r *record, values []any) (map[any]bool, error) {
	wanted := make(map[any]bool, len(values))
	for _, value := range values {
		wanted[scalar(value)] = true
	}
	table := quote(s.sideTable(ix))
	same, args := "1", []any(nil)
	for at, f := range ix.fields {
		if at != ix.many {
			same += ` AND ` + quote(column(s.fields[f].name)) + ` IS ?`
			args = append(args, scalar(r.fields[f]))
		}
	}
	kept := make(map[any]bool, len(values))
	var gone []int64
	text := `SELECT rowid, ` + quote(column(s.fields[ix.fields[ix.many]].name)) + `, ` + same + ` FROM ` + table + ` WHERE doc = ?`
	err := w.rows(text, append(args, id), func(rows *sql.Rows) error {
		var row int64
		var value any
		var still bool
		if err := rows.Scan(&row, &value, &still); err != nil {
			return err
		}
		if still && wanted[value] && !kept[value] {
			kept[value] = true
		} else {
			gone = append(gone, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(kept) == 0 && len(gone) > 0 {
		return kept, w.exec(`DELETE FROM `+table+` WHERE doc = ?`, id)
	}
	for _, row := range gone {
		if err := w.exec(`DELETE FROM `+table+` WHERE rowid = ?`, row); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// unside deletes the rows of a record.
func (w *sqliteWriter) unside(s *shape, id int64) error {
	for i := range s.indexes {
		if s.indexes[i].many >= 0 {
			if err := w.exec(`DELETE FROM `+quote(s.sideTable(&s.indexes[i]))+` WHERE doc = ?`, id); err != nil {
				return err
			}
		}
	}
	return nil
}
