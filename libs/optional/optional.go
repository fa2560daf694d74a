// Package optional declares a member of a JSON request that may be absent or null. A PATCH
// needs all three cases: an absent member keeps the stored value, null clears it, and a
// value replaces it.
package optional

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Value is one such member. Its zero value is an absent member.
type Value[T any] struct {
	Sent  bool // the request has the member
	Null  bool // the member is null
	Value T    // the zero value if the member is absent or null
}

// Of returns a member that was sent with the value.
func Of[T any](value T) Value[T] { return Value[T]{Sent: true, Value: value} }

// Pointer returns nil if the member is absent or null.
func (v Value[T]) Pointer() *T {
	if !v.Sent || v.Null {
		return nil
	}
	return &v.Value
}

// SetNullable stores a member that was sent in a field for which nil means null.
func (v Value[T]) SetNullable(field **T) {
	if v.Sent {
		*field = v.Pointer()
	}
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. The decoder calls it only for members
// that the request has.
func (v *Value[T]) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	*v = Value[T]{Sent: true}
	if decoder.PeekKind() == 'n' {
		v.Null = true
		return decoder.SkipValue()
	}
	return json.UnmarshalDecode(decoder, &v.Value)
}

// State reports whether the member was sent, and whether it is null. Package web reads it
// without knowing T.
func (v Value[T]) State() (sent, null bool) { return v.Sent, v.Null }

// Element returns the zero T. The document generator reads the member's type from it.
func (v Value[T]) Element() any { return v.Value }

// OrNull returns nil, which JSON writes as null, for the zero T. For others it returns a pointer to value.
func OrNull[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}
