package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Value is implemented by a type that an entry shows as another value. For example, a rich text is shown as its plain
// text.
type Value interface{ AuditValue() any }

// The options of the tag audit:"name,option,...". name is the name of the member on the App interface. A field
// without the tag, or with the name "-", is not shown. A struct in a record is shown as an object that contains only
// its tagged fields.
const (
	// optionNull shows the zero value as null.
	optionNull = "null"
	// optionQuiet omits a member from changedFields. It is for a member that every write changes.
	optionQuiet = "quiet"
	// optionChanged shows only the difference: for a list the elements that the other side does not have, and any
	// other value only if it differs. If there is no difference, neither side has the member.
	optionChanged = "changed"
)

// member is a tagged field of a record.
type member struct {
	field   reflect.Value // difference computes value from the fields of both sides if the options contain optionChanged
	value   any
	options []string
}

// compare returns the two sides of a write as JSON objects of bounded size, and the sorted names of the members that
// differ and do not have optionQuiet. The JSON of a nil side is null.
func compare[T any](before, after *T) (former, next json.RawMessage, changed []string) {
	one, other := members(before), members(after)
	changed = []string{}
	names := slices.AppendSeq(slices.Collect(maps.Keys(one)), maps.Keys(other))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		a, b := one[name], other[name]
		options := append(a.options, b.options...)
		if slices.Contains(options, optionChanged) {
			a.value, b.value = difference(a.field, b.field)
			put(one, name, a)
			put(other, name, b)
			if empty(a.value) && empty(b.value) {
				delete(one, name)
				delete(other, name)
				continue
			}
		}
		if !slices.Contains(options, optionQuiet) && !reflect.DeepEqual(a.value, b.value) {
			changed = append(changed, name)
		}
	}
	return bounded(one), bounded(other), changed
}

func put(side map[string]member, name string, m member) {
	if side != nil {
		side[name] = m
	}
}

// difference compares two values. Of two lists, it returns the elements that the other list does not have. It returns
// other values whole if they differ, and nil if they are equal. If a or b is invalid, because that side has no record,
// difference returns the other value whole. Long lists usually change little, so difference skips the equal elements at
// the beginning and the end.
func difference(a, b reflect.Value) (onlyA, onlyB any) {
	switch {
	case !a.IsValid():
		return nil, plain(b)
	case !b.IsValid():
		return plain(a), nil
	case a.Kind() != reflect.Slice:
		if reflect.DeepEqual(a.Interface(), b.Interface()) {
			return nil, nil
		}
		return plain(a), plain(b)
	}
	same := func(i, j int) bool { return reflect.DeepEqual(a.Index(i).Interface(), b.Index(j).Interface()) }
	from, endA, endB := 0, a.Len(), b.Len()
	for from < min(endA, endB) && same(from, from) {
		from++
	}
	for from < min(endA, endB) && same(endA-1, endB-1) {
		endA, endB = endA-1, endB-1
	}
	listA, _ := plain(a.Slice(from, endA)).([]any)
	listB, _ := plain(b.Slice(from, endB)).([]any)
	return without(listA, listB), without(listB, listA)
}

// without returns the items of a list that are not in other.
func without(list, other []any) []any {
	return slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		return slices.ContainsFunc(other, func(o any) bool { return reflect.DeepEqual(item, o) })
	})
}

func empty(value any) bool {
	list, isList := value.([]any)
	return value == nil || isList && len(list) == 0
}

// members returns the tagged fields of a record by name, or nil for no record.
func members[T any](record *T) map[string]member {
	if record == nil {
		return nil
	}
	out := map[string]member{}
	eachTagged(reflect.ValueOf(record).Elem(), func(name string, options []string, value reflect.Value) {
		m := member{field: value, options: options}
		if !slices.Contains(options, optionChanged) {
			m.value = shown(value, options)
		}
		out[name] = m
	})
	return out
}

// eachTagged visits the tagged fields of a struct, and those of the structs that it embeds.
func eachTagged(of reflect.Value, visit func(name string, options []string, value reflect.Value)) {
	for field, value := range of.Fields() {
		parts := strings.Split(field.Tag.Get("audit"), ",")
		switch {
		case field.Anonymous && field.Type.Kind() == reflect.Struct:
			eachTagged(value, visit)
		case parts[0] != "" && parts[0] != "-":
			visit(parts[0], parts[1:], value)
		}
	}
}

func shown(value reflect.Value, options []string) any {
	if slices.Contains(options, optionNull) && value.IsZero() {
		return nil
	}
	return plain(value)
}

// plain returns a value in the form of decoded JSON, with the tagged fields of structs only.
func plain(value reflect.Value) any {
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return nil
		}
		value = value.Elem()
	}
	switch known := value.Interface().(type) {
	case time.Time:
		text, _ := topic.Time(known).MarshalText() // never fails
		return string(text)
	case Value:
		return known.AuditValue()
	}
	switch value.Kind() {
	case reflect.Slice, reflect.Array:
		out := make([]any, value.Len())
		for i := range out {
			out[i] = plain(value.Index(i))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for key, inner := range value.Seq2() {
			out[fmt.Sprint(key.Interface())] = plain(inner)
		}
		return out
	case reflect.Struct:
		out := map[string]any{}
		eachTagged(value, func(name string, options []string, inner reflect.Value) { out[name] = shown(inner, options) })
		return out
	case reflect.String:
		return value.String()
	}
	return value.Interface()
}
