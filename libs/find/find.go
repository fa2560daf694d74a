// Package find defines queries for records: conditions on declared fields, an order, a limit and a position. It
// contains data only. Domains, the legacy filters and both engines of package document use these types, so each query
// is translated only once.
package find

import (
	"strings"
	"unicode"
)

// Op is the comparison of a condition.
type Op string

const (
	OpEq     Op = "eq"     // the field equals Value
	OpIn     Op = "in"     // the field is one of Values
	OpGt     Op = "gt"     // the field is greater than Value
	OpGte    Op = "gte"    // the field is greater than or equal to Value
	OpLt     Op = "lt"     // the field is less than Value
	OpLte    Op = "lte"    // the field is less than or equal to Value
	OpAbsent Op = "absent" // Value is a bool: true matches records without the field, false matches records with it
	OpHas    Op = "has"    // the multi-valued field contains one of Values
	OpAll    Op = "all"    // the multi-valued field contains all of Values
	OpText   Op = "text"   // the text field matches Value, as Match and Fold define
)

// Match is the part of a text that an OpText condition compares.
type Match string

const (
	Whole     Match = "whole"
	Prefix    Match = "prefix"
	Suffix    Match = "suffix"
	Substring Match = "substring"
)

// Condition restricts one declared field. A value has the type of the field: string, bool, int64,
// float64 or time.Time.
type Condition struct {
	Field  string
	Op     Op
	Value  any
	Values []any
	Match  Match
	Fold   bool // ignore case
}

// Eq matches records whose field equals value.
func Eq(field string, value any) Condition { return Condition{Field: field, Op: OpEq, Value: value} }

// In matches records whose field is one of values. Without values it matches none.
func In[V any](field string, values ...V) Condition {
	return Condition{Field: field, Op: OpIn, Values: list(values)}
}

// Gt matches records whose field is greater than value.
func Gt(field string, value any) Condition { return Condition{Field: field, Op: OpGt, Value: value} }

// Gte matches records whose field is at least value.
func Gte(field string, value any) Condition { return Condition{Field: field, Op: OpGte, Value: value} }

// Lt matches records whose field is less than value.
func Lt(field string, value any) Condition { return Condition{Field: field, Op: OpLt, Value: value} }

// Lte matches records whose field is at most value.
func Lte(field string, value any) Condition { return Condition{Field: field, Op: OpLte, Value: value} }

// Absent matches records without the field.
func Absent(field string) Condition { return Condition{Field: field, Op: OpAbsent, Value: true} }

// Present matches records with the field.
func Present(field string) Condition { return Condition{Field: field, Op: OpAbsent, Value: false} }

// Has matches records whose multi-valued field contains at least one of values.
func Has[V any](field string, values ...V) Condition {
	return Condition{Field: field, Op: OpHas, Values: list(values)}
}

// All matches records whose multi-valued field of words contains all of words. The query must name an index of words in Scan.
func All(field string, words []string) Condition {
	return Condition{Field: field, Op: OpAll, Values: list(words)}
}

// Text matches records whose text field equals value, or begins with, ends with or contains it, as match says. With fold
// it ignores case (Unicode simple folding).
func Text(field string, match Match, value string, fold bool) Condition {
	return Condition{Field: field, Op: OpText, Value: value, Match: match, Fold: fold}
}

// Order sorts by a declared field. Records with equal fields are sorted by their key.
type Order struct {
	Field      string
	Descending bool
}

// Query selects the records that match all of Where.
type Query struct {
	Where []Condition
	Order []Order
	// Limit is the maximum number of records; 0 means all.
	Limit int
	// MaxBytes limits the size of a page: the page ends after the record that brings the total size of its stored
	// records to at least MaxBytes. The page may then have fewer records than Limit, and Next is set. 0 means no
	// limit. Only Find of a collection supports MaxBytes.
	MaxBytes int
	// Offset is the number of records to skip. The legacy interface pages by offset.
	Offset int
	// After is the Next of the previous Page, or a Row.Position. The result starts after this position.
	After string
	// Scan names a declared index for conditions or an order that no index serves. The records that match
	// the conditions on the first fields of this index are then examined one by one. If Scan is empty, an index must
	// serve the whole query.
	Scan string
}

// Page is a part of the result of a query.
type Page[T any] struct {
	Items []T
	// Next is the position after the last item. It is empty on the last page.
	Next string
}

// Row contains the key of a record and the values of some of its fields.
type Row struct {
	Key    string
	Values []any // string, int64, float64 or nil; a time as int64 milliseconds since 1970
	// Position is the value of After for a query in the same order that starts after this record.
	Position string
}

// MaxMerged is the maximum number of values of one condition for which an engine merges the index ranges of the values in
// the order of the index.
const MaxMerged = 64

func list[V any](values []V) []any {
	return Values(values, func(v V) any { return v })
}

// Matches reports whether text equals part, or begins with, ends with or contains it, as m says. If folded is true, it
// ignores case.
func (m Match) Matches(text, part string, folded bool) bool {
	if folded {
		text, part = Fold(text), Fold(part)
	}
	switch m {
	case Whole:
		return text == part
	case Prefix:
		return strings.HasPrefix(text, part)
	case Suffix:
		return strings.HasSuffix(text, part)
	default:
		return strings.Contains(text, part)
	}
}

// Fold replaces each letter by one representative of the letters that are equal under Unicode simple folding, as
// MongoDB does in case-insensitive expressions.
func Fold(text string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII {
			if 'A' <= r && r <= 'Z' {
				return r + 'a' - 'A'
			}
			if r != 'k' && r != 's' {
				return r
			}
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		if 'A' <= least && least <= 'Z' {
			return least + 'a' - 'A'
		}
		return least
	}, text)
}
