package account

import (
	"encoding/json"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Sent is a field of a change, which tells apart what was not sent, null and a value.
type Sent[T any] struct {
	Is    bool // it was sent
	Value *T   // nil when it was null
}

// UnmarshalJSON is called for what was sent only, null included.
func (s *Sent[T]) UnmarshalJSON(text []byte) error {
	s.Is, s.Value = true, nil
	return json.Unmarshal(text, &s.Value)
}

// required is the value of a field that cannot be null.
func (s Sent[T]) required(field string) (T, error) {
	if s.Value == nil {
		var none T
		return none, fault.Field(field, "must not be null")
	}
	return *s.Value, nil
}

// set writes what was sent into an optional field.
func (s Sent[T]) set(field **T) {
	if s.Is {
		*field = s.Value
	}
}
