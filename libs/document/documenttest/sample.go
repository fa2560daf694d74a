package documenttest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// A sample is a record in which each member has a different value, which is computed from the member's path. fields
// computes the fields for a full sample and for variants of the sample. In a variant, one member has another value:
// the zero value, or one of values that has the member's type. Other variants change two members at the top of the
// record at once, because a field may depend on both a type and a status. A fingerprint covers the result for the
// full sample, and the results for variants that differ from it. So members that a field does not depend on have no
// effect on its fingerprint.
//
// In a full sample all booleans are true and all pointers are set. Some fields have no value for a full sample and its
// variants, for example because a member marks the record as deleted. So there is a bare sample with variants, too. At
// the top of its record all booleans are false and all pointers are nil.

// maxDepth bounds the depth of a sample, because types may contain themselves.
const maxDepth = 8

// changes has the values in which a variant differs from the full sample, by the path of the member.
type changes map[string]reflect.Value

// fields returns the lines of a collection. A collection without fields has one line, with "-" as the name of the
// field.
func fields(c document.Declaration, values []any) []line {
	full := sample{}
	before := compute(c, &full)
	texts := slices.Clone(before)
	all := variants(full.members, values)
	for _, variant := range all {
		for i, result := range compute(c, &sample{changes: variant}) {
			if result != before[i] {
				texts[i] += fmt.Sprintf("\n%v: %s", variant, result)
			}
		}
	}
	unset := unset(full.members)
	bare := compute(c, &sample{changes: unset})
	for i, result := range bare {
		texts[i] += "\nbare: " + result
	}
	note := func(name string, change changes) {
		for i, result := range compute(c, &sample{changes: change}) {
			if result != bare[i] {
				texts[i] += fmt.Sprintf("\nbare %s: %s", name, result)
			}
		}
	}
	for _, variant := range all {
		change := maps.Clone(unset)
		maps.Copy(change, variant)
		note(fmt.Sprint(variant), change)
	}
	for _, path := range slices.Sorted(maps.Keys(unset)) {
		change := maps.Clone(unset)
		delete(change, path)
		note(path, change)
	}
	if len(texts) == 0 {
		return []line{{c.Name, "-", 0, "-"}}
	}
	lines := make([]line, len(texts))
	for i, f := range c.Fields {
		sum := sha256.Sum256([]byte(texts[i]))
		lines[i] = line{c.Name, f.Name, f.Revision, hex.EncodeToString(sum[:6])}
	}
	return lines
}

func variants(members []member, values []any) (all []changes) {
	var chosen []changes // changes of one member at the top of the record to one of values
	for _, m := range members {
		all = append(all, changes{m.path: reflect.Zero(m.kind)})
		for _, value := range values {
			if v := reflect.ValueOf(value); v.Type() == m.kind {
				all = append(all, changes{m.path: v})
				if strings.Count(m.path, ".") == 1 {
					chosen = append(chosen, changes{m.path: v})
				}
			}
		}
	}
	for i, one := range chosen {
		for _, other := range chosen[i+1:] {
			both := maps.Clone(one)
			maps.Copy(both, other)
			all = append(all, both)
		}
	}
	return all
}

// unset returns the changes that make a full sample a bare one.
func unset(members []member) changes {
	all := changes{}
	for _, m := range members {
		if strings.Count(m.path, ".") == 1 && (m.kind.Kind() == reflect.Bool || m.kind.Kind() == reflect.Pointer) {
			all[m.path] = reflect.Zero(m.kind)
		}
	}
	return all
}

// compute returns what the fields compute for a sample, as texts.
func compute(c document.Declaration, s *sample) []string {
	record := reflect.New(c.Record)
	s.fill(record.Elem(), "", 0)
	return find.Values(c.Fields, func(f document.DeclaredField) string { return result(f, record.Interface()) })
}

func result(f document.DeclaredField, record any) (text string) {
	defer func() {
		if cause := recover(); cause != nil { // a field may panic for members that no stored record has
			text = fmt.Sprintf("panic: %v", cause)
		}
	}()
	value, err := f.Value(record)
	return fmt.Sprintf("%T %v %v", value, value, err)
}

// sample fills a record with values and lists the filled members.
type sample struct {
	changes changes
	members []member
}

type member struct {
	path string
	kind reflect.Type
}

func (s *sample) fill(v reflect.Value, path string, depth int) {
	if depth > maxDepth || !v.CanSet() {
		return
	}
	if path != "" {
		s.members = append(s.members, member{path, v.Type()})
	}
	if value, changed := s.changes[path]; changed {
		v.Set(value)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(path)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(number(path))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(number(path)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(number(path)))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		s.fill(v.Elem(), path+"*", depth+1)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(path))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			s.fill(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		s.fill(key, path+"{key}", depth+1)
		s.fill(value, path+"{}", depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_700_000_000+number(path)*86_400, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name != "-" { // a member with the name "-" is not stored
				s.fill(v.Field(i), path+"."+cmp.Or(name, v.Type().Field(i).Name), depth+1)
			}
		}
	}
}

// number returns a number from 1 to 100, so that it fits into every integer type.
func number(path string) int64 {
	h := fnv.New32a()
	h.Write([]byte(path))
	return int64(h.Sum32()%100) + 1
}
