package document

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
)

// Schema declares a collection of T. T is plain data: JSON struct tags, no embedded
// structs, no interface fields.
type Schema[T any] struct {
	Name string
	// Key is the record's immutable name within the collection. Natural keys make uniqueness the
	// engine's business.
	Key     func(*T) string
	Fields  []Field[T]
	Indexes []Index
	// Derive maintains what follows from a record elsewhere (rows for lists). It is called after
	// each Insert, Update, Upsert and Delete before the call returns, with nil once the record
	// is gone, and by the relay for a write whose process died in between. It is called with
	// what is stored then, possibly more than once, so it must be idempotent. Its failure is logged
	// and repeated by the relay; the write itself stands.
	Derive func(ctx context.Context, key string, current *T) error
}

// Field is a value of a record that queries and indexes may name.
type Field[T any] struct {
	Name string
	// Value is a string, bool, integer, float, time.Time, a pointer or a type based on one of
	// these, a slice of them for a multi-valued field, or nil when absent. An empty slice is absent too.
	// Times count in whole milliseconds.
	Value func(*T) any
	// Many says that the field is multi-valued. It need not be said when Value returns a slice
	// (a nil one will do) for the zero T.
	Many bool
	// Revision is raised when Value computes something else than before, so that the records
	// already stored are filled in anew.
	Revision int
}

// Index lets queries find by an equality prefix of Fields and sort by what follows; the key of
// the record is always its last part. It holds at most one multi-valued field.
type Index struct {
	Name   string
	Fields []string
	// Unique: no two records share the values of all Fields. Where one of them is absent nothing collides.
	Unique bool
	// Counted: Count of what has certain values in all Fields but the last takes the same time however many
	// records there are on SQLite, which then keeps their numbers with each write. MongoDB, which could
	// not do so in the same write, counts entries of the index.
	Counted bool
}

// shape is a Schema without its type, as the engines see it.
type shape struct {
	name    string
	fields  []field
	indexes []index
	derives bool
	texts   writeTexts // of SQLite
	// refield computes the declared fields of a stored body.
	refield func(body []byte) ([]any, error)
	// rederive runs Derive for what is stored under key now.
	rederive func(ctx context.Context, key string) error
}

type field struct {
	name     string
	many     bool
	revision int
}

type index struct {
	name    string
	fields  []int
	unique  bool
	counted bool
	many    int // position in fields of the multi-valued one, or -1
}

func (s *shape) field(name string) int {
	return slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
}

var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// Declare makes a collection of db. It panics on a declaration that contradicts itself, which is a
// programming error like a malformed regular expression. Collections are declared before Migrate.
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
	s.rederive = c.derive
	c.shape = s
	db.mu.Lock()
	defer db.mu.Unlock()
	if slices.ContainsFunc(db.shapes, func(o *shape) bool { return o.name == s.name }) {
		panic(fmt.Sprintf("document: collection %q is declared twice", s.name))
	}
	db.shapes = append(db.shapes, s)
	return c
}

func shapeOf[T any](schema Schema[T]) (*shape, error) {
	if !identifier.MatchString(schema.Name) {
		return nil, fmt.Errorf("its name is no identifier")
	}
	if schema.Key == nil {
		return nil, fmt.Errorf("it has no Key")
	}
	s := &shape{name: schema.Name, derives: schema.Derive != nil}
	for _, f := range schema.Fields {
		if !identifier.MatchString(f.Name) || s.field(f.Name) >= 0 {
			return nil, fmt.Errorf("field %q is no identifier or is declared twice", f.Name)
		}
		if f.Value == nil {
			return nil, fmt.Errorf("field %q has no Value", f.Name)
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
	ix := index{name: declared.Name, unique: declared.Unique, counted: declared.Counted, many: -1}
	if !identifier.MatchString(declared.Name) || s.indexNamed(declared.Name) != nil {
		return ix, fmt.Errorf("is no identifier or is declared twice")
	}
	if len(declared.Fields) == 0 {
		return ix, fmt.Errorf("has no fields")
	}
	for i, name := range declared.Fields {
		at := s.field(name)
		switch {
		case at < 0:
			return ix, fmt.Errorf("names the undeclared field %q", name)
		case slices.Contains(ix.fields, at):
			return ix, fmt.Errorf("names the field %q twice", name)
		case s.fields[at].many && ix.many >= 0:
			return ix, fmt.Errorf("has two multi-valued fields")
		case s.fields[at].many && declared.Unique:
			return ix, fmt.Errorf("is unique over a multi-valued field")
		case s.fields[at].many:
			ix.many = i
		}
		ix.fields = append(ix.fields, at)
	}
	if ix.counted && (ix.many >= 0 || len(ix.fields) < 2) {
		return ix, fmt.Errorf("is counted, but is over a multi-valued field or has no prefix")
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

// yieldsList asks value about a zero record. A function that cannot bear one is not multi-valued
// unless its field says so.
func yieldsList[T any](value func(*T) any) (list bool) {
	defer func() {
		if recover() != nil {
			list = false
		}
	}()
	kind := reflect.TypeOf(value(new(T)))
	return kind != nil && kind.Kind() == reflect.Slice
}
