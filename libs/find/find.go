// Package find is the vocabulary in which a domain asks its store for records:
// conditions on declared fields, an order, a limit and a position. It is pure
// data without an engine in it, so that a domain, the legacy filters and the two
// engines of package document share one form of a query and none is translated twice.
package find

// Op is how a condition compares a field with its value.
type Op string

const (
	OpEq     Op = "eq"     // the field equals Value
	OpIn     Op = "in"     // the field is one of Values
	OpGt     Op = "gt"     // greater than Value
	OpGte    Op = "gte"    // greater than or equal to Value
	OpLt     Op = "lt"     // less than Value
	OpLte    Op = "lte"    // less than or equal to Value
	OpAbsent Op = "absent" // Value is a bool: the field has no value, or has one
	OpHas    Op = "has"    // the multi-valued field holds one of Values
	OpText   Op = "text"   // the text field matches Value by Match and Fold
)

// Match is which part of a text an OpText condition compares.
type Match string

const (
	Whole     Match = "whole"
	Prefix    Match = "prefix"
	Suffix    Match = "suffix"
	Substring Match = "substring"
)

// Condition restricts one declared field. Values are string, bool, int64,
// float64 or time.Time, the type the field is declared with.
type Condition struct {
	Field  string
	Op     Op
	Value  any
	Values []any
	Match  Match
	Fold   bool // compare without regard to case
}

// Eq holds when field equals value.
func Eq(field string, value any) Condition { return Condition{Field: field, Op: OpEq, Value: value} }

// In holds when field is one of values; with none it holds for no record.
func In[V any](field string, values ...V) Condition {
	return Condition{Field: field, Op: OpIn, Values: list(values)}
}

// Gt holds when field is greater than value.
func Gt(field string, value any) Condition { return Condition{Field: field, Op: OpGt, Value: value} }

// Gte holds when field is at least value.
func Gte(field string, value any) Condition { return Condition{Field: field, Op: OpGte, Value: value} }

// Lt holds when field is less than value.
func Lt(field string, value any) Condition { return Condition{Field: field, Op: OpLt, Value: value} }

// Lte holds when field is at most value.
func Lte(field string, value any) Condition { return Condition{Field: field, Op: OpLte, Value: value} }

// Absent holds when field has no value.
func Absent(field string) Condition { return Condition{Field: field, Op: OpAbsent, Value: true} }

// Present holds when field has a value.
func Present(field string) Condition { return Condition{Field: field, Op: OpAbsent, Value: false} }

// Has holds when the multi-valued field contains at least one of values.
func Has[V any](field string, values ...V) Condition {
	return Condition{Field: field, Op: OpHas, Values: list(values)}
}

// Text holds when the part of the text field that match names is value; fold
// disregards case (Unicode simple folding).
func Text(field string, match Match, value string, fold bool) Condition {
	return Condition{Field: field, Op: OpText, Value: value, Match: match, Fold: fold}
}

// Order sorts by a declared field. The key of a record is always the last tie-breaker.
type Order struct {
	Field      string
	Descending bool
}

// Query asks for the records for which all of Where hold.
type Query struct {
	Where []Condition
	Order []Order
	// Limit is how many records at the most; 0 means all.
	Limit int
	// Offset skips records; for the legacy interface, which pages by offset.
	Offset int
	// After is a Page's Next: the position behind which this page starts.
	After string
	// Scan names the declared index within whose equality prefix records may be
	// examined one by one, for conditions or an order no index serves. Empty: the
	// query must be served by an index altogether.
	Scan string
}

// Page is a slice of what a query finds.
type Page[T any] struct {
	Items []T
	// Next is the position behind the last item; empty when nothing follows.
	Next string
}

func list[V any](values []V) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}
