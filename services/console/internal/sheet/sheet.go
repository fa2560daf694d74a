// Package sheet reads and writes lists of subscribers as CSV, as spreadsheets and other services write them. Read
// returns the cells that a Writer has written, without the white space at their ends.
package sheet

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxRecord is the maximum length of a record, in bytes.
const MaxRecord = 32 << 10

// Column is the kind of content in a column of a list.
type Column string

const (
	Address    Column = "address"
	Components Column = "components"
	Confirmed  Column = "confirmed"
	Locale     Column = "locale"
	Dashboard  Column = "dashboard"
)

// Columns of the address. A list may have both.
const (
	mail  Column = "mail"
	phone Column = "phone"
)

// names returns the columns by their names in a header, in the form that named returns. The names are English and German.
func names() map[string]Column {
	return map[string]Column{
		"email": mail, "emailaddress": mail, "mail": mail, "mailaddress": mail, "emailadresse": mail, "mailadresse": mail,
		"address": Address, "recipient": Address, "adresse": Address,
		"phone": phone, "phonenumber": phone, "number": phone, "mobile": phone, "mobilenumber": phone, "cell": phone, "telephone": phone, "tel": phone, "sms": phone, "whatsapp": phone,
		"telefon": phone, "telefonnummer": phone, "telefonnr": phone, "handy": phone, "handynummer": phone, "handynr": phone,
		"mobil": phone, "mobilnummer": phone, "mobiltelefon": phone, "rufnummer": phone, "nummer": phone,
		"components": Components, "component": Components, "componentids": Components, "services": Components, "service": Components,
		"komponenten": Components, "komponente": Components, "dienste": Components, "dienst": Components,
		"confirmed": Confirmed, "optin": Confirmed, "bestätigt": Confirmed, "bestatigt": Confirmed, // the second is the result of named if the ä consists of two characters
		"locale": Locale, "language": Locale, "lang": Locale, "sprache": Locale,
		"dashboard": Dashboard, "dashboardid": Dashboard,
	}
}

// named returns a name of a column in lower case and without the characters that are no letters.
func named(cell string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, cell)
}

// Error says what is wrong with a list, and where.
type Error struct {
	Line    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("Line %d: %s", e.Line, e.Message) }

// Head is what the first record of a list says about all records.
type Head struct {
	Names []string // names of all columns; nil: the list has no header, and its first column is the address
	// Unread are the names of the columns that are not read.
	Unread []string
	comma  rune
	at     map[Column]int
}

// Row is a record of a list that is not the header.
type Row struct {
	Line  int // number of the first line of the record
	Cells []string
	head  *Head
}

// Cell returns the content of a column, or "" if the list or the row does not have it.
func (r Row) Cell(column Column) string {
	at, known := r.head.at[column]
	if !known || at >= len(r.Cells) {
		return ""
	}
	return r.Cells[at]
}

// Record returns the cells, at least as many as the header has, or only the address if the list has no header.
func (r Row) Record() []string {
	if r.head.Names == nil {
		return r.Cells[:1]
	}
	return append(slices.Clone(r.Cells), make([]string, max(0, len(r.head.Names)-len(r.Cells)))...)
}

// Has reports whether the list has the column.
func (h Head) Has(column Column) bool {
	_, has := h.at[column]
	return has
}

// separation matches a first line that names the separator for Excel.
var separation = regexp.MustCompile(`(?i)^"?sep=."?(\n|$)`)

// plain returns the text with LF as the only line end, and without a byte order mark and the line that separation matches. It
// also returns the number of removed lines.
func plain(text string) (string, int) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\ufeff"))
	if line := separation.FindString(text); line != "" {
		return text[len(line):], 1
	}
	return text, 0
}

// First returns the first record that is not empty, unparsed. The text may begin with a byte order mark.
func First(text string) string {
	text, _ = plain(text)
	quoted, begin := false, 0
	for i, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '\n' && !quoted:
			if record := text[begin:i]; strings.Trim(record, " \t\r\n,;\"") != "" {
				return record
			}
			begin = i + 1
		}
	}
	return text[begin:]
}

// HeadOf returns what the first record of a list says. The record is a header if it has a known name of an address column.
// If a header has several address columns, the address is in the first of mail, Address and phone, or in the first of
// phone, Address and mail if byPhone is true.
func HeadOf(first string, byPhone bool) (Head, error) {
	head := Head{comma: separator(first), at: map[Column]int{Address: 0}}
	rows, err := head.records(first, 1)
	if err != nil || len(rows) == 0 {
		return head, err
	}
	found, known := map[Column]int{}, names()
	for i, cell := range rows[0].Cells {
		column, is := known[named(cell)]
		if _, twice := found[column]; is && !twice {
			found[column] = i
		}
	}
	order := []Column{mail, Address, phone}
	if byPhone {
		order = []Column{phone, Address, mail}
	}
	at := slices.IndexFunc(order, func(column Column) bool { _, is := found[column]; return is })
	if at < 0 {
		return head, nil
	}
	found[Address] = found[order[at]]
	delete(found, mail)
	delete(found, phone)
	head.Names, head.at = rows[0].Cells, found
	for i, name := range head.Names {
		if name != "" && !head.reads(i) {
			head.Unread = append(head.Unread, name)
		}
	}
	return head, nil
}

// separator returns the comma, semicolon or tab that occurs most often in a record outside quotation marks.
func separator(record string) rune {
	count, quoted := map[rune]int{}, false
	for _, r := range record {
		if r == '"' {
			quoted = !quoted
		} else if !quoted {
			count[r]++
		}
	}
	best := ','
	for _, r := range ";\t" {
		if count[r] > count[best] {
			best = r
		}
	}
	return best
}

// Read returns the rows of a part of a list, without the header and empty records. line is the number of the part's
// first line. The part with line 1 contains the header, if the list has one.
func (h Head) Read(text string, line int) ([]Row, error) {
	whole := line == 1
	if whole {
		var removed int
		text, removed = plain(text)
		line += removed
	}
	rows, err := h.records(text, line)
	if err == nil && whole && h.Names != nil && len(rows) > 0 {
		rows = rows[1:]
	}
	return rows, err
}

// reads reports whether h.at contains the index column.
func (h Head) reads(column int) bool {
	for _, at := range h.at {
		if at == column {
			return true
		}
	}
	return false
}

func (h Head) records(text string, line int) ([]Row, error) {
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\ufffd") { // a browser sends U+FFFD instead of wrong bytes
		return nil, &Error{line, "The list must be text in UTF-8. Save it as “CSV UTF-8”."}
	}
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comma, reader.FieldsPerRecord = h.comma, -1
	var rows []Row
	for before := int64(0); ; before = reader.InputOffset() {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, malformed(err, line)
		}
		at, _ := reader.FieldPos(0)
		row := Row{Line: line + at - 1, Cells: cells, head: &h}
		if reader.InputOffset()-before > MaxRecord {
			return nil, &Error{row.Line, fmt.Sprintf("A row has at most %d KiB. Perhaps a quotation mark is not closed.", MaxRecord>>10)}
		}
		empty := true
		for i, cell := range cells {
			if h.reads(i) && strings.ContainsFunc(cell, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
				return nil, &Error{row.Line, "The row has a control character."}
			}
			cells[i] = strings.TrimSpace(unguarded(cell))
			empty = empty && cells[i] == ""
		}
		if !empty {
			rows = append(rows, row)
		}
	}
}

// malformed returns a syntax error of package csv as an Error with a text for people, and any other error unchanged.
func malformed(err error, line int) error {
	parse, is := errors.AsType[*csv.ParseError](err)
	if !is {
		return err
	}
	text := "A field is in quotation marks only partly, or its quotation mark is not closed. A quotation mark inside such a field is written twice."
	if errors.Is(parse.Err, csv.ErrBareQuote) {
		text = "A field has a quotation mark, but does not begin with one. Put the field into quotation marks, and write those inside twice."
	}
	return &Error{line + parse.StartLine - 1, text}
}

// formula are the characters with which a formula of a spreadsheet may begin.
const formula = "=+-@\t\r"

// guarded puts an apostrophe before a cell that begins with a character of formula, also after other apostrophes.
func guarded(cell string) string {
	if text := strings.TrimLeft(cell, "'"); text != "" && strings.ContainsRune(formula, rune(text[0])) {
		return "'" + cell
	}
	return cell
}

// unguarded is the reverse of guarded.
func unguarded(cell string) string {
	if text, is := strings.CutPrefix(cell, "'"); is && guarded(text) != text {
		return text
	}
	return cell
}

// Writer writes a list.
type Writer struct{ out *csv.Writer }

// NewWriter returns a Writer to out.
func NewWriter(out io.Writer) Writer { return Writer{csv.NewWriter(out)} }

// Write writes a record. Its cells are guarded, so that spreadsheets interpret none of them as a formula.
func (w Writer) Write(cells ...string) error {
	guardedCells := make([]string, len(cells))
	for i, cell := range cells {
		guardedCells[i] = guarded(cell)
	}
	return w.out.Write(guardedCells)
}

// Flush writes what is buffered.
func (w Writer) Flush() error {
	w.out.Flush()
	return w.out.Error()
}
