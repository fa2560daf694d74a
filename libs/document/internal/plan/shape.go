// Package plan turns a query into a plan that both engines can execute: it checks the query against the declaration of
// the collection, and chooses the index that serves it.
package plan

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Shape is the declaration of a collection without its Go type.
type Shape struct {
	Name    string
	Fields  []Field
	Indexes []Index
	Derives bool
	Shard   Shard
	// Stamp identifies the declaration of the fields and the unique indexes.
	Stamp int64
	// Refield returns the declared fields of a stored body.
	Refield func(body []byte) ([]any, error)
	// Rederive runs Derive for the stored record of key.
	Rederive func(ctx context.Context, key string) error
}

// Shard is the shard key of a collection. With ByField it is the field at position Field, followed by the key of the
// record. With ByKey it is the key of the record. Otherwise the collection stays on one shard, for the reason Whole.
type Shard struct {
	ByKey   bool
	ByField bool
	Field   int
	Whole   string
}

// Shards reports whether MongoDB can shard the collection now. It cannot if the shard key is a field and the collection has
// a unique index: each shard enforces a unique index for its own records only, so the index must begin with the shard key.
// The index with which the engine enforces uniqueness is over one combined value, so it cannot begin with the shard key.
func (s *Shape) Shards() bool {
	return s.Shard.ByKey || s.Shard.ByField && !slices.ContainsFunc(s.Indexes, func(ix Index) bool { return ix.Unique })
}

// SetShard sets the shard key, after all indexes were added. It returns an error if there is no valid shard key or an
// index contradicts it.
func (s *Shape) SetShard(byKey bool, field, whole string) error {
	s.Shard = Shard{ByKey: byKey, Whole: whole, ByField: field != "", Field: s.Field(field)}
	if !byKey && field == "" && whole == "" {
		return fmt.Errorf("it must declare its Shard")
	}
	if s.Shard.ByField && (s.Shard.Field < 0 || s.Fields[s.Shard.Field].Many) {
		return fmt.Errorf("its shard key must be a declared single-valued field, not %q", field)
	}
	for i := range s.Indexes {
		ix := &s.Indexes[i]
		leads := s.Shard.ByField && ix.Fields[0] == s.Shard.Field
		switch {
		case whole != "" && ix.Scatter != "":
			return fmt.Errorf("index %q must have no Scatter: the collection stays on one shard", ix.Name)
		case whole != "":
		case ix.Unique && !leads:
			return fmt.Errorf("index %q must begin with the shard key: each shard enforces a unique index for its own records only", ix.Name)
		case leads && ix.Scatter != "":
			return fmt.Errorf("index %q must have no Scatter: it begins with the shard key", ix.Name)
		case !slices.Contains(ix.Fields, s.Shard.Field) && ix.Scatter == "":
			return fmt.Errorf("index %q must say in Scatter why its queries ask every shard", ix.Name)
		}
	}
	return nil
}

// Field is the declaration of a field.
type Field struct {
	Name     string
	Many     bool
	Revision int
}

// Index is the declaration of an index. Its fields are positions in Shape.Fields.
type Index struct {
	Name     string
	Fields   []int
	Unique   bool
	Counted  bool
	Numbered bool
	Words    bool
	Scatter  string // reason why its queries may ask every shard
	Many     int    // position of the multi-valued field in Fields, or -1
}

var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// IsIdentifier reports whether name may be the name of a collection, a field or an index.
func IsIdentifier(name string) bool { return identifier.MatchString(name) }

var word = regexp.MustCompile(`^[a-z0-9]+$`)

// AddIndex adds an index with the names of its fields. It returns an error if the declaration is not valid.
func (s *Shape) AddIndex(ix Index, fields []string) error {
	if !IsIdentifier(ix.Name) || s.indexNamed(ix.Name) != nil {
		return fmt.Errorf("must be an identifier and be declared once")
	}
	if len(fields) == 0 {
		return fmt.Errorf("must have fields")
	}
	ix.Many = -1
	for i, name := range fields {
		at := s.Field(name)
		switch {
		case at < 0:
			return fmt.Errorf("must not name the undeclared field %q", name)
		case slices.Contains(ix.Fields, at):
			return fmt.Errorf("must not name the field %q twice", name)
		case s.Fields[at].Many && ix.Many >= 0:
			return fmt.Errorf("must not have two multi-valued fields")
		case s.Fields[at].Many:
			ix.Many = i
		}
		ix.Fields = append(ix.Fields, at)
	}
	if ix.Counted && (ix.Many >= 0 || len(ix.Fields) < 2) {
		return fmt.Errorf("must not be counted: it has a multi-valued field or only one field")
	}
	if ix.Numbered && !ix.Counted {
		return fmt.Errorf("must not be numbered: it is not counted")
	}
	if ix.Words && (ix.Many != 0 || ix.Unique) {
		return fmt.Errorf("must not be of words: its first field is not multi-valued, or it is unique")
	}
	for i := range s.Indexes {
		if slices.Equal(s.Indexes[i].Fields, ix.Fields) { // MongoDB cannot have two indexes of the same fields
			return fmt.Errorf("must not have the same fields as index %q", s.Indexes[i].Name)
		}
	}
	s.Indexes = append(s.Indexes, ix)
	return nil
}

// Field returns the position of a field, or -1.
func (s *Shape) Field(name string) int {
	return slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
}

// indexNamed returns an index, or nil.
func (s *Shape) indexNamed(name string) *Index {
	at := slices.IndexFunc(s.Indexes, func(ix Index) bool { return ix.Name == name })
	if at < 0 {
		return nil
	}
	return &s.Indexes[at]
}

// Names returns the names of the fields at the positions.
func (s *Shape) Names(fields []int) []string {
	return find.Values(fields, func(f int) string { return s.Fields[f].Name })
}

// Declared is the form in which an engine stores the declaration of a field.
type Declared struct {
	Name     string `json:"name"`
	Many     bool   `json:"many,omitempty"`
	Revision int    `json:"revision,omitempty"`
}

// Declaration returns the declared fields.
func (s *Shape) Declaration() []Declared {
	return find.Values(s.Fields, func(f Field) Declared { return Declared(f) })
}

// Uniques returns a text for each unique index: its name and the names of its fields.
func (s *Shape) Uniques() []string {
	out := []string{}
	for i := range s.Indexes {
		if s.Indexes[i].Unique {
			out = append(out, s.Indexes[i].Name+":"+strings.Join(s.Names(s.Indexes[i].Fields), ","))
		}
	}
	return out
}

// SetStamp sets the stamp, after all indexes were added. The order in which fields and indexes are declared does not
// matter.
func (s *Shape) SetStamp() {
	parts := append(find.Values(s.Declaration(), func(f Declared) string { return fmt.Sprint(f) }), s.Uniques()...)
	slices.Sort(parts)
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%q", parts)
	s.Stamp = int64(sum.Sum64())
}

// Outdated reports whether stored lacks a declared field, or contains it with another declaration.
func (s *Shape) Outdated(stored []Declared) bool {
	return slices.ContainsFunc(s.Declaration(), func(f Declared) bool { return !slices.Contains(stored, f) })
}
