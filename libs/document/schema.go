package document

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/mongodb"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
)

// Schema declares a collection of T. T is plain data: JSON struct tags, no embedded structs, no interface fields.
type Schema[T any] struct {
	Name string
	// Key returns the immutable key of the record. The engine enforces that keys are unique. So if the key
	// combines values of the record, no two records have the same combination.
	Key     func(*T) string
	Fields  []Field[T]
	Indexes []Index
	// Shard declares how the records are distributed if the operator shards MongoDB. On both engines, a query that would
	// ask every shard is refused, unless its index has a Scatter or the query has neither conditions nor an order.
	Shard Shard
	// Derive updates other data that depends on the record, such as rows for lists. It is called with the stored
	// record, or nil if the record is deleted, after an Insert, Update, Upsert or Delete was committed.
	//
	// The write returns when Derive has returned, so a caller then reads the new rows. If Derive fails, takes longer
	// than followTime (5 s), or ctx of the write ends, the write still returns no error, because it is committed. If
	// Derive does not succeed, or the process is killed, the relay repeats Derive before it publishes the messages of the
	// write. The ctx of Derive does not end with the ctx of the write. It ends after deriveTime (10 s), and Derive must
	// return soon then.
	//
	// One call serves all writes of the record that were committed before the call. In one process there is one call at
	// a time for a record, except for calls that WriteMany makes. Derive may run more often than the record is written,
	// so it must be idempotent.
	Derive func(ctx context.Context, key string, current *T) error
	// DeriveMany is Derive for all records of a WriteMany together. current has the records by key, and nil for a deleted
	// record. WriteMany needs both Derive and DeriveMany.
	DeriveMany func(ctx context.Context, current map[string]*T) error
}

// Shard is a shard key: one of ByKey, By and Whole.
type Shard struct {
	byKey        bool
	field, whole string
}

// ByKey distributes the records by a hash of their key. Reads and writes by key then ask one shard, and queries ask all. The
// collection must have no unique index. Its keys are still unique, because records with the same key belong to one shard.
func ByKey() Shard { return Shard{byKey: true} }

// By distributes the records by the value of a field, such as the organization, and then by their key. Queries with an
// equality on the field ask only the shards of its values. Reads by key ask all shards. Each unique index must begin
// with the field. While a collection has unique indexes, MongoDB cannot shard it yet (plan.Shape.Shards says why), but
// indexes and queries are ready. The field of a record must not change.
func By(field string) Shard { return Shard{field: field} }

// Whole keeps the collection on one shard, for a reason such as a value that must be unique in the whole installation.
func Whole(reason string) Shard { return Shard{whole: reason} }

// Field is a value of a record that queries and indexes can name.
type Field[T any] struct {
	Name string
	// Value returns the value of the field: a string, bool, integer or float, a type based on one of these, a time.Time,
	// or a pointer to such a value. For a multi-valued field it returns a slice of such values. It returns nil or an empty
	// slice if the record lacks the field. Times are compared in whole milliseconds.
	Value func(*T) any
	// Many declares the field as multi-valued. It may be omitted if Value returns a slice for the zero T; the slice
	// may be nil.
	Many bool
	// Revision is the version of the declaration. Raise it if Value computes another value than before.
	// Migrate then computes the field of the stored records again. On MongoDB a process of the former version may write
	// records with the former value meanwhile. Relay computes the fields of these records again (Options.SettleAfter).
	Revision int
}

// Index serves a query that has equality conditions on leading Fields and sorts by the Fields that follow them. The
// next field after the equality conditions may have a range condition. The key of the record follows the Fields as the
// last part of the index. At most one of Fields is multi-valued. No two indexes of a collection have the same Fields.
type Index struct {
	// Name identifies the index. If Fields change, give the index a new Name: on MongoDB a process of the former version
	// uses the former index until the process ends.
	Name   string
	Fields []string
	// Unique: no two records have the same values in all Fields. If one of Fields is multi-valued, two records with the same
	// values in the other Fields must not share a value of this field. A record that lacks one of Fields never violates the
	// index.
	Unique bool
	// Counted: on SQLite, Count by equality conditions on all Fields but the last takes the same time for any number of
	// records, because each write updates stored counts. MongoDB cannot update counts in the same write, so its Count
	// counts entries of the index.
	Counted bool
	// Numbered: the last field of a counted index is a whole number that every record has, such as the value of a
	// counter. On SQLite, a page then takes about the same time for any Offset, if its conditions are equalities with
	// one value on all other fields of the index, and its order is that of the number. On MongoDB the time grows with
	// the Offset.
	Numbered bool
	// Words: the first of Fields is a multi-valued field of words, which consist of ASCII lower-case letters and digits. A
	// query that names the index in Scan has a condition find.All on this field. It reads the records with all of the words
	// and sorts them. On SQLite, a word takes a few bytes. Other indexes of multi-valued fields take a row for each value.
	Words bool
	// Scatter is the reason why queries of this index may ask every shard. Queries of an index without a Scatter must have
	// an equality on the field of the shard key, unless Shard is Whole.
	Scatter string
}

// Declare returns a collection of db. It panics if the declaration is not valid, which is a
// programming error like a malformed regular expression. Declare collections before Migrate.
func Declare[T any](db *Database, schema Schema[T]) *Collection[T] {
	c := &Collection[T]{db: db, schema: schema}
	s, err := shapeOf(schema)
	if err != nil {
		panic(fmt.Sprintf("document: collection %q: %v", schema.Name, err))
	}
	s.Refield = func(body []byte) ([]any, error) {
		var item T
		if err := decode(body, &item); err != nil {
			return nil, err
		}
		return c.values(&item)
	}
	s.Rederive = c.rederive
	c.shape = s
	db.mu.Lock()
	defer db.mu.Unlock()
	if slices.ContainsFunc(db.shapes, func(o *plan.Shape) bool { return o.Name == s.Name }) {
		panic(fmt.Sprintf("document: collection %q is declared twice", s.Name))
	}
	db.shapes = append(db.shapes, s)
	db.records = append(db.records, schema.declaration(s))
	return c
}

// Declaration describes a declared collection for package documenttest.
type Declaration struct {
	Name   string
	Record reflect.Type
	Fields []DeclaredField
	// Key returns the key of a record.
	Key func(record any) string
	// Shard is the shard key as JSON of MongoDB. It is empty if the collection stays on one shard for the reason Whole.
	Shard, Whole string
	// ShardField is the field of the shard key, or empty.
	ShardField string
	// Sharded reports whether MongoDB can shard the collection now (see plan.Shape.Shards).
	Sharded bool
	Indexes []Index
}

// DeclaredField is a field of a Declaration. Value returns the value of the field, in normal form, for a record, which is a
// pointer to the type Declaration.Record.
type DeclaredField struct {
	Name     string
	Revision int
	Value    func(record any) (any, error)
}

func (s *Schema[T]) declaration(shape *plan.Shape) Declaration {
	out := Declaration{
		Name: s.Name, Record: reflect.TypeFor[T](), Key: func(record any) string { return s.Key(record.(*T)) },
		Whole: s.Shard.whole, ShardField: s.Shard.field, Sharded: shape.Shards(), Indexes: s.Indexes,
	}
	if key := mongodb.ShardKey(shape); key != nil {
		text, err := bson.MarshalExtJSON(key, false, false)
		if err != nil {
			panic(err)
		}
		out.Shard = string(text)
	}
	for _, f := range s.Fields {
		out.Fields = append(out.Fields, DeclaredField{f.Name, f.Revision, func(record any) (any, error) { return plan.Normal(f.Value(record.(*T))) }})
	}
	return out
}

// Declarations returns the declared collections in the order of their declaration.
func (db *Database) Declarations() []Declaration {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Clone(db.records)
}

func shapeOf[T any](schema Schema[T]) (*plan.Shape, error) {
	if !plan.IsIdentifier(schema.Name) {
		return nil, fmt.Errorf("its name must be an identifier")
	}
	if schema.Key == nil {
		return nil, fmt.Errorf("it must have a Key")
	}
	s := &plan.Shape{Name: schema.Name, Derives: schema.Derive != nil}
	for _, f := range schema.Fields {
		if !plan.IsIdentifier(f.Name) || s.Field(f.Name) >= 0 {
			return nil, fmt.Errorf("field %q must be an identifier and be declared once", f.Name)
		}
		if f.Value == nil {
			return nil, fmt.Errorf("field %q must have a Value", f.Name)
		}
		s.Fields = append(s.Fields, plan.Field{Name: f.Name, Many: f.Many || yieldsList(f.Value), Revision: f.Revision})
	}
	for _, ix := range schema.Indexes {
		if err := s.AddIndex(plan.Index{Name: ix.Name, Unique: ix.Unique, Counted: ix.Counted, Numbered: ix.Numbered, Words: ix.Words, Scatter: ix.Scatter}, ix.Fields); err != nil {
			return nil, fmt.Errorf("index %q %w", ix.Name, err)
		}
	}
	if err := s.SetShard(schema.Shard.byKey, schema.Shard.field, schema.Shard.whole); err != nil {
		return nil, err
	}
	s.SetStamp()
	return s, nil
}

// yieldsList reports whether value returns a slice for the zero record. It returns false if value
// panics for the zero record.
func yieldsList[T any](value func(*T) any) (list bool) {
	defer func() {
		if recover() != nil {
			list = false
		}
	}()
	kind := reflect.TypeOf(value(new(T)))
	return kind != nil && kind.Kind() == reflect.Slice
}
