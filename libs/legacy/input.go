package legacy

import "time"

// Input is a checked body, or a child or object in one. Its getters return nil for
// what was not sent (or sent as null where null means nothing), so that an operation
// tells "keep" from "set". Getters of names that are not declared, or declared with
// another type, return nil.
type Input struct {
	id     int64
	values map[string]any
}

// ID is the integer id of the existing child that an item refers to by resource_uri,
// id or pk; 0 for a new one.
func (in Input) ID() int64 { return in.id }

// Sent reports whether the field has a value, null included where it is Nullable.
func (in Input) Sent(name string) bool {
	_, sent := in.values[name]
	return sent
}

// Null reports whether a Nullable field was sent as null, to clear it.
func (in Input) Null(name string) bool {
	value, sent := in.values[name]
	return sent && value == nil
}

// Text is the value of a String field.
func (in Input) Text(name string) *string { return value[string](in, name) }

// Flag is the value of a Boolean field.
func (in Input) Flag(name string) *bool { return value[bool](in, name) }

// Number is the value of an Integer field.
func (in Input) Number(name string) *int64 { return value[int64](in, name) }

// Time is the value of a Datetime field, in UTC, truncated to milliseconds.
func (in Input) Time(name string) *time.Time { return value[time.Time](in, name) }

// Ref is the value of a to-one Related field.
func (in Input) Ref(name string) *Ref { return value[Ref](in, name) }

// Key is the key of a to-one Related field's record; nil as well when it is to be created.
func (in Input) Key(name string) *string {
	ref := in.Ref(name)
	if ref == nil || ref.New != nil {
		return nil
	}
	return &ref.Key
}

// Object is the value of an Object field.
func (in Input) Object(name string) *Input { return value[Input](in, name) }

// Items are the children of a to-many Related field; nil when none were sent.
func (in Input) Items(name string) []Input {
	items, _ := in.values[name].([]Input)
	return items
}

// Texts is the value of a List field; numbers are given as their text.
func (in Input) Texts(name string) []string {
	texts, _ := in.values[name].([]string)
	return texts
}

func value[V any](in Input, name string) *V {
	v, ok := in.values[name].(V)
	if !ok {
		return nil
	}
	return &v
}

// Ref is a resolved reference to another record.
type Ref struct {
	ID  int64  // integer id; 0 with New
	Key string // what Relation.Resolve or Named gave for it
	New *Input // set when the record was given by value and may have to be created
}
