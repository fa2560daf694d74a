package legacy

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// Type is the type of a field, with the name that the schema uses.
type Type string

const (
	String   Type = "string"
	Integer  Type = "integer" // filters only
	Boolean  Type = "boolean"
	Datetime Type = "datetime"
	Related  Type = "related" // with Relation
	Object   Type = "dict"    // input only, with Fields
	List     Type = "list"    // input only: strings or numbers, read with Input.Texts
)

// Field declares how a field is read from a body, shown in the schema, filtered and ordered by.
type Field struct {
	Name string
	Type Type
	Help string

	Required   bool // on create; a String must then not be blank, also on PUT
	Readonly   bool // output only: ignored in a body
	InputOnly  bool // never in the output; lists cannot be filtered or ordered by the field
	Nullable   bool // may be null in output; a null in a body clears the field (Input.Null)
	Unique     bool // for the schema; the domain enforces it
	Max        int  // most characters of a String; 0 means no limit
	Default    any  // string or bool: the value if a create omits the field; nil means none
	ResetOnPut bool // an update that omits the field sets the Default too

	// Keywords are added to the field's JSON schema in the document of the interface: {"maxItems": 500}.
	Keywords map[string]any

	Fields   []Field   // the members of an Object
	Relation *Relation // the target of a Related field

	// Find is the declared find field that filters and ordering use. Its value is a string, int64, bool or time.Time.
	// For a Related field the value is the key that Resolve and Match return. Without Find, filters and ordering by the
	// field give 400. Without Relation.Match, filters by Relation.FindID and on Relation.Fields need no Find.
	Find string
	// Compared is a find field for a String whose values are not compared as written. It contains the normal form of
	// the text, and two values with the same normal form are equal. The lookups exact, iexact and in use it. Normal
	// returns the normal form of a text. It returns false if no record can have the text.
	Compared string
	Normal   func(text string) (string, bool)
	// Multi means that Find has several values (a list of keys). Filters use find.Has, and ordering gives 400.
	Multi bool
}

// Relation says which resource a Related field refers to, how a reference in a body is resolved, and which filters
// reach over the relation.
type Relation struct {
	To   string // name of the related resource: "service"
	Many bool   // to-many: children, sent as an array
	URI  bool   // the output has the resource_uri of the related record instead of the record
	// Any is a find field of this record, for a to-many relation. The field is absent if the record has no related
	// records. The lookup isnull uses Any.
	Any string

	// Resolve returns the key under which the record stores the related record with the integer id. It returns
	// fault.NotFound if the caller's organization has no such record. Without Resolve the key is the id in decimal.
	Resolve func(ctx context.Context, caller passport.Passport, id int64) (key string, err error)
	// Named returns a related record that a body names by its value: {"status": "investigating"}. The name of the member
	// is the last part of To.
	Named func(value string) (id int64, key string, found bool)
	// New are the fields of a related record that a body may send as an object without id or URI: {"email":
	// "x@example.com"} becomes Ref.New. The operation then finds or creates this record in its own atomic write.
	New []Field

	// Items are the fields of one child in a to-many field. A child with a resource_uri, id or pk may omit required
	// fields.
	Items []Field
	// Bare is the field of an item that gets the URI, if the body sends a plain URI instead of an object as the item.
	Bare string

	// Fields are the fields of the related resource that filters can name after "__".
	Fields []Field
	// FindID is the find field with the integer id of the related record. With Match it is a field of the related
	// records, and "" means "legacyId". Without Match it is a field of this record, and "" means that filters by id
	// are not allowed.
	FindID string
	// Match returns the keys of the organization's related records that fulfil all conditions. The filter then requires
	// that the value of Field.Find is one of these keys.
	Match func(ctx context.Context, caller passport.Passport, where []find.Condition) (keys []string, err error)
}
