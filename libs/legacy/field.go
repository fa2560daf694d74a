package legacy

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// Type is what a field holds, by its name in the schema.
type Type string

const (
	String   Type = "string"
	Integer  Type = "integer"
	Boolean  Type = "boolean"
	Datetime Type = "datetime"
	Related  Type = "related" // Relation says to what
	Object   Type = "dict"    // input only: Fields says what is in it
	List     Type = "list"    // input only: texts or numbers, read with Input.Texts
)

// Field declares one field of a resource: how it is read from a body, shown in the
// schema, filtered and ordered by.
type Field struct {
	Name string
	Type Type
	Help string

	Required   bool // on create; a text must then not be empty or white space, on PUT neither
	Readonly   bool // output only: ignored in a body
	InputOnly  bool // never in an output, so not filtered or ordered by either
	Nullable   bool // may be null in output; a sent null then clears it (Input.Null)
	Unique     bool // for the schema; the domain holds it
	Max        int  // characters of a String at the most; 0 is no limit
	Default    any  // string, int64 or bool: filled in when a create omits the field; nil is none
	ResetOnPut bool // an update that omits the field gets the Default too

	// Fields are those of an Object.
	Fields []Field
	// Relation says what a Related field refers to.
	Relation *Relation

	// Find is the declared find field behind this one: of the type string, int64, bool
	// or time.Time, and for a Related field the key that Resolve and Match speak of.
	// Empty: there are no filters on the field and no ordering by it (400), except
	// over a Relation whose own Fields have names.
	Find string
	// Multi says that Find holds several values (a list of keys): find.Has is asked
	// of it, and there is no ordering by it.
	Multi bool
}

// Relation says what a Related field refers to, how a reference in a body is
// resolved and how filters reach over it.
type Relation struct {
	To   string // name of the related resource: "service"
	Many bool   // to-many: children, sent as an array
	// Any is, of a to-many relation, a find field of this record that is absent when it has
	// no related ones; for isnull. Empty: there is no asking.
	Any string

	// Resolve returns the key under which the record refers to the related one with
	// the integer id; fault.NotFound when the caller's organization has none. Without
	// it the key is the id in decimal.
	Resolve func(ctx context.Context, caller passport.Passport, id int64) (key string, err error)
	// Named finds a related record by its value: {"status": "investigating"}; the
	// member is named like the last part of To.
	Named func(value string) (id int64, key string, found bool)
	// New are the fields of a related record that may be given by value and is found or
	// created by the operation itself, in its own atomic write: {"email": "x@example.com"}
	// arrives as Ref.New.
	New []Field

	// Items are the fields of one child in a to-many field of a body. A child that
	// carries its resource_uri may omit required ones.
	Items []Field
	// Bare is the item field meant by an item that is a plain URI instead of an object.
	Bare string

	// Fields are those of the related resource that filters can name behind "__".
	Fields []Field
	// FindID is the find field with the related integer id, among the related records
	// (with Match) or denormalised in this record (without); "legacyId" when empty and
	// Match is set. Both empty and no Match: only filters on Fields are possible.
	FindID string
	// Match returns the keys of the caller's related records for which all conditions
	// hold; they become a condition on the field's Find.
	Match func(ctx context.Context, caller passport.Passport, where []find.Condition) (keys []string, err error)
}
