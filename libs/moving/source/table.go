package source

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	_ "modernc.org/sqlite" // the driver of openDatabase
)

// row is a row of a table as text. A column that is NULL or missing has no entry.
type row map[string]string

func (r row) is(column string) bool { return r[column] == "1" || r[column] == "true" }

func (r row) number(column string) int {
	n, err := strconv.Atoi(r[column])
	if err != nil {
		return 0
	}
	return n
}

// by returns the rows for each value of a column.
func by(rows []row, column string) map[string][]row {
	found := map[string][]row{}
	for _, r := range rows {
		found[r[column]] = append(found[r[column]], r)
	}
	return found
}

// database is a file of SQLite, opened for reading.
type database struct {
	db     *sql.DB
	tables map[string]bool
}

// openDatabase opens a file of SQLite. A file without a write-ahead log beside it is opened as immutable, so that it
// can be in a folder in which nothing may be written.
func openDatabase(ctx context.Context, path string) (*database, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; give the file of the database", path)
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	query := url.Values{"mode": {"ro"}, "_pragma": {"trusted_schema(0)", "query_only(1)"}}
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
		query.Set("immutable", "1")
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: whole}).EscapedPath()+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	d := &database{db: db, tables: map[string]bool{}}
	rows, err := db.QueryContext(ctx, "SELECT name FROM sqlite_master WHERE type = 'table'")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s is no readable database of SQLite: %w", path, err), db.Close())
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		d.tables[name] = true
	}
	if err := rows.Err(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return d, nil
}

func (d *database) close() error { return d.db.Close() }

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// rows returns the rows of a table that condition selects, each value as the text in the file. For a table that the file does
// not have, because the version of the product had none, it returns no rows and no error.
func (d *database) rows(ctx context.Context, b *builder, table, condition string) ([]row, error) {
	if !d.tables[table] {
		return nil, nil
	}
	columns, err := d.columns(ctx, table)
	if err != nil {
		return nil, err
	}
	casts := make([]string, len(columns))
	for i, column := range columns {
		casts[i] = "CAST(" + quoted(column) + " AS TEXT)"
	}
	query := fmt.Sprintf("SELECT %s FROM %s %s", strings.Join(casts, ", "), quoted(table), condition)
	found, err := d.db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", table, err)
	}
	defer found.Close()
	var out []row
	for found.Next() {
		if err := b.next(0); err != nil {
			return out, err
		}
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, fmt.Errorf("table %s: %w", table, err)
		}
		r := row{}
		for i, value := range values {
			if value.Valid {
				r[columns[i]] = strings.ToValidUTF8(value.String, "\uFFFD")
			}
		}
		out = append(out, r)
	}
	if err := found.Err(); err != nil {
		return out, fmt.Errorf("table %s is damaged: %w", table, err)
	}
	return out, nil
}

func (d *database) columns(ctx context.Context, table string) ([]string, error) {
	found, err := d.db.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var columns []string
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			return nil, err
		}
		columns = append(columns, name)
	}
	return columns, found.Err()
}

// read returns the rows of a table that condition selects; without a condition it returns all rows in the order of the
// first column. If rows returns an error, for example because the table is damaged, read adds a warning.
func (d *database) read(ctx context.Context, b *builder, source, table, condition string) []row {
	rows, err := d.rows(ctx, b, table, cmp.Or(condition, "ORDER BY 1"))
	if err != nil {
		b.warn(source+":table:"+table, "", "%s", err)
	}
	return rows
}

// flat turns a JSON object into a row. A member that is an object becomes columns such as status.value. A member that is a
// list stays JSON. A member that is null has no column.
func flat(value jsontext.Value) row {
	r := row{}
	addMembers(r, "", value, 0)
	return r
}

func addMembers(r row, prefix string, value jsontext.Value, depth int) {
	var members map[string]jsontext.Value
	if depth > 3 || json.Unmarshal(value, &members, jsontext.AllowDuplicateNames(true)) != nil {
		return
	}
	for name, member := range members {
		switch member.Kind() {
		case '{':
			addMembers(r, prefix+name+".", member, depth+1)
		case '"':
			var text string
			if json.Unmarshal(member, &text) == nil {
				r[prefix+name] = text
			}
		case 'n':
		default:
			r[prefix+name] = string(member)
		}
	}
}

// readCSV returns the rows of a CSV file with a line of headings. A field that is empty, NULL or \N counts as missing.
func (b *builder) readCSV(content []byte) ([]row, error) {
	in := csv.NewReader(bytes.NewReader(content))
	in.FieldsPerRecord = -1
	in.LazyQuotes = true
	headings, err := in.Read()
	if err != nil {
		return nil, errors.New("has no line of headings")
	}
	var out []row
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("is wrong CSV after %d rows", len(out))
		}
		if err := b.next(0); err != nil {
			return out, err
		}
		r := row{}
		for i, field := range fields {
			if i < len(headings) && field != "" && field != "NULL" && field != `\N` {
				r[strings.TrimSpace(headings[i])] = field
			}
		}
		out = append(out, r)
	}
}
