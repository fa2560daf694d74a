// Package optional declares a member of a JSON request that may be absent or null. A PATCH
// needs all three cases: an absent member keeps the stored value, null clears it, and a
// value replaces it.
package optional

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Value is a member of a JSON request. The zero value means that the member is absent.
type Value[T any] struct {
	Sent  bool // the request contains the member
	Null  bool // the member is null
	Value T    // the zero value if the member is absent or null
}

// Of returns a member that was sent with this value.
func Of[T any](value T) Value[T] { return Value[T]{Sent: true, Value: value} }

// Pointer returns a pointer to the value. It returns nil if the member is absent or null.
func (v Value[T]) Pointer() *T {
	if !v.Sent || v.Null {
		return nil
	}
	return &v.Value
}

// SetNullable sets *field to a pointer to the value, or to nil if the member is null. It does nothing if the member is
// absent.
func (v Value[T]) SetNullable(field **T) {
	if v.Sent {
		*field = v.Pointer()
	}
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. The decoder calls it only for members that the request contains.
func (v *Value[T]) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	*v = Value[T]{Sent: true}
	if decoder.PeekKind() == 'n' {
		v.Null = true
		return decoder.SkipValue()
	}
	return json.UnmarshalDecode(decoder, &v.Value)
}

// State reports whether the member was sent and whether it is null. Package web calls State, because it does not know T.
func (v Value[T]) State() (sent, null bool) { return v.Sent, v.Null }

// Element returns Value, which is the zero T in a zero member. deploy/standalone/generate reads the type T from the result.
func (v Value[T]) Element() any { return v.Value }

// OrNull returns nil for the zero T, so that JSON contains null. For any other value it returns a pointer to the value.
func OrNull[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// OrZero returns *value, or the zero T if value is nil.
func OrZero[T any](value *T) T {
	if value == nil {
		return *new(T)
	}
	return *value
}

// Assign sets *field to *sent if sent is not nil.
func Assign[T any](field, sent *T) {
	if sent != nil {
		*field = *sent
	}
}
