package legacy

import "time"

// Input is a checked body, or a checked child or object within a body. A getter returns nil for a field that was not
// sent or was sent as null, unless the field has got its default. The operation then keeps the stored value, or clears it
// if Null returns true. A getter also returns nil for a name that is not declared or has another type.
type Input struct {
	id     int64
	values map[string]any
}

// ID returns the integer id of the stored child that an item names by resource_uri, id or pk; 0 for a new child.
func (in Input) ID() int64 { return in.id }

// Null reports whether a Nullable field was sent as null, to clear it.
func (in Input) Null(name string) bool {
	value, sent := in.values[name]
	return sent && value == nil
}

// Text returns the value of a String field.
func (in Input) Text(name string) *string { return value[string](in, name) }

// Flag returns the value of a Boolean field.
func (in Input) Flag(name string) *bool { return value[bool](in, name) }

// Time returns the value of a Datetime field, in UTC, truncated to milliseconds.
func (in Input) Time(name string) *time.Time { return value[time.Time](in, name) }

// Ref returns the value of a to-one Related field.
func (in Input) Ref(name string) *Ref { return value[Ref](in, name) }

// Key returns the key of the record to which a to-one Related field refers. It returns nil if the field was not sent,
// was sent as null, or has a record that may have to be created (Ref.New).
func (in Input) Key(name string) *string {
	ref := in.Ref(name)
	if ref == nil || ref.New != nil {
		return nil
	}
	return &ref.Key
}

// Object returns the value of an Object field.
func (in Input) Object(name string) *Input { return value[Input](in, name) }

// Items returns the children of a to-many Related field, and nil if the field was not sent. The result for an empty
// list is not nil.
func (in Input) Items(name string) []Input {
	items, _ := in.values[name].([]Input)
	return items
}

// Texts returns the values of a List field, numbers as text.
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
	Key string // the key that Relation.Resolve or Named returned; without them the decimal ID
	New *Input // set if the record was sent by value and may have to be created
}
