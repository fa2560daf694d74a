package document

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
)

// Schema declares a collection of T. T is plain data: JSON struct tags, no embedded structs, no interface fields.
type Schema[T any] struct {
	Name string
	// Key returns the immutable key of the record. The engine enforces that keys are unique, so a natural key
	// makes its values unique.
	Key     func(*T) string
	Fields  []Field[T]
	Indexes []Index
	// Derive updates what depends on a record elsewhere, such as rows for lists. It is called with the stored
	// record, or nil if the record is deleted, after each Insert, Update, Upsert and Delete was committed.
	//
	// The write returns when Derive has returned: a caller then reads the new rows. If Derive fails, takes longer
	// than followTime (5 s), or ctx of the write ends, the write still returns no error, because it is committed.
	// The relay then repeats Derive, also after a kill of the process, and before it publishes the messages of the
	// write. The ctx of Derive is not the one of the write: it ends after deriveTime (10 s). Derive must return
	// soon then.
	//
	// One call serves all writes of the record that were committed before it. In one process there is one call at
	// a time for a record. Derive may run more often than the record is written, so it must be idempotent.
	Derive func(ctx context.Context, key string, current *T) error
}

// Field is a value of a record that queries and indexes can name.
type Field[T any] struct {
	Name string
	// Value returns a string, bool, integer, float or time.Time, a type based on one of them or a pointer to
	// one, a slice of them for a multi-valued field, or nil if the record lacks the field. An empty slice also
	// means that the record lacks it. Times are compared in whole milliseconds.
	Value func(*T) any
	// Many declares the field as multi-valued. It may be omitted if Value returns a slice (also a nil slice)
	// for the zero T.
	Many bool
	// Revision is the version of the declaration. Raise it if Value computes another value than before.
	// Migrate then computes the field of the stored records again.
	Revision int
}

// Index serves queries with equality conditions on the first of Fields that are sorted by the
// others. The key of the record is always the last part. At most one of Fields is multi-valued. No
// two indexes of a collection have the same Fields.
type Index struct {
	Name   string
	Fields []string
	// Unique: no two records have the same values in all Fields. Of a multi-valued field, no two records have
	// one of the values in common, and the values of a record must differ. A record that lacks one of Fields never violates the index.
	Unique bool
	// Counted: on SQLite, Count by equality conditions on all Fields but the last takes the same time for any
	// number of records, because each write updates their numbers. MongoDB cannot do that in the same write, so
	// it counts entries of the index.
	Counted bool
	// Numbered: the last field of a counted index is a whole number that every record has, such as one that counts up. On
	// SQLite, a page at an Offset by equality conditions on the other fields, in the order of the number, then takes about
	// the same time for any Offset. MongoDB walks over the entries of the index.
	Numbered bool
}

// shape is a Schema without its type, for the engines.
type shape struct {
	name    string
	fields  []field
	indexes []index
	derives bool
	texts   writeTexts // for SQLite
	// refield returns the declared fields of a stored body.
	refield func(body []byte) ([]any, error)
	// rederive runs Derive for the stored record of key.
	rederive func(ctx context.Context, key string) error
}

type field struct {
	name     string
	many     bool
	revision int
}

type index struct {
	name     string
	fields   []int
	unique   bool
	counted  bool
	numbered bool
	many     int // position of the multi-valued field in fields, or -1
}

func (s *shape) field(name string) int {
	return slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
}

var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// Declare returns a collection of db. It panics if the declaration is not valid, which is a
// programming error like a malformed regular expression. Declare collections before Migrate.
func Declare[T any](db *Database, schema Schema[T]) *Collection[T] {
	c := &Collection[T]{db: db, schema: schema}
	s, err := shapeOf(schema)
	if err != nil {
		panic(fmt.Sprintf("document: collection %q: %v", schema.Name, err))
	}
	s.refield = func(body []byte) ([]any, error) {
		var item T
		if err := decode(body, &item); err != nil {
			return nil, err
		}
		return c.values(&item)
	}
	s.rederive = c.rederive
	c.shape = s
	db.mu.Lock()
	defer db.mu.Unlock()
	if slices.ContainsFunc(db.shapes, func(o *shape) bool { return o.name == s.name }) {
		panic(fmt.Sprintf("document: collection %q is declared twice", s.name))
	}
	db.shapes = append(db.shapes, s)
	db.records = append(db.records, schema.declaration())
	return c
}

// Declaration describes a declared collection for package documenttest.
type Declaration struct {
	Name   string
	Record reflect.Type
	Fields []DeclaredField
}

// DeclaredField is a field of a Declaration. Value returns what the field has for a record, which is a pointer to a Record.
type DeclaredField struct {
	Name     string
	Revision int
	Value    func(record any) (any, error)
}

func (s *Schema[T]) declaration() Declaration {
	out := Declaration{Name: s.Name, Record: reflect.TypeFor[T]()}
	for _, f := range s.Fields {
		out.Fields = append(out.Fields, DeclaredField{f.Name, f.Revision, func(record any) (any, error) { return normal(f.Value(record.(*T))) }})
	}
	return out
}

// Declarations returns the declared collections in the order of their declaration.
func (db *Database) Declarations() []Declaration {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Clone(db.records)
}

func shapeOf[T any](schema Schema[T]) (*shape, error) {
	if !identifier.MatchString(schema.Name) {
		return nil, fmt.Errorf("its name must be an identifier")
	}
	if schema.Key == nil {
		return nil, fmt.Errorf("it must have a Key")
	}
	s := &shape{name: schema.Name, derives: schema.Derive != nil}
	for _, f := range schema.Fields {
		if !identifier.MatchString(f.Name) || s.field(f.Name) >= 0 {
			return nil, fmt.Errorf("field %q must be an identifier and be declared once", f.Name)
		}
		if f.Value == nil {
			return nil, fmt.Errorf("field %q must have a Value", f.Name)
		}
		s.fields = append(s.fields, field{name: f.Name, many: f.Many || yieldsList(f.Value), revision: f.Revision})
	}
	for _, declared := range schema.Indexes {
		ix, err := s.index(declared)
		if err != nil {
			return nil, fmt.Errorf("index %q %w", declared.Name, err)
		}
		s.indexes = append(s.indexes, ix)
	}
	s.texts = s.writeTexts()
	return s, nil
}

func (s *shape) index(declared Index) (index, error) {
	ix := index{name: declared.Name, unique: declared.Unique, counted: declared.Counted, numbered: declared.Numbered, many: -1}
	if !identifier.MatchString(declared.Name) || s.indexNamed(declared.Name) != nil {
		return ix, fmt.Errorf("must be an identifier and be declared once")
	}
	if len(declared.Fields) == 0 {
		return ix, fmt.Errorf("must have fields")
	}
	for i, name := range declared.Fields {
		at := s.field(name)
		switch {
		case at < 0:
			return ix, fmt.Errorf("must not name the undeclared field %q", name)
		case slices.Contains(ix.fields, at):
			return ix, fmt.Errorf("must not name the field %q twice", name)
		case s.fields[at].many && ix.many >= 0:
			return ix, fmt.Errorf("must not have two multi-valued fields")
		case s.fields[at].many:
			ix.many = i
		}
		ix.fields = append(ix.fields, at)
	}
	if ix.counted && (ix.many >= 0 || len(ix.fields) < 2) {
		return ix, fmt.Errorf("must not be counted: it has a multi-valued field or only one field")
	}
	if ix.numbered && !ix.counted {
		return ix, fmt.Errorf("must not be numbered: it is not counted")
	}
	for i := range s.indexes {
		if slices.Equal(s.indexes[i].fields, ix.fields) { // MongoDB refuses a second index of the same fields
			return ix, fmt.Errorf("must not have the same fields as index %q", s.indexes[i].name)
		}
	}
	return ix, nil
}

func (s *shape) indexNamed(name string) *index {
	for i := range s.indexes {
		if s.indexes[i].name == name {
			return &s.indexes[i]
		}
	}
	return nil
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
