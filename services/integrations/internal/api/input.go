package api

import (
	"bytes"
	"encoding/json"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/gin-gonic/gin"
)

// sent is a member of a body that knows whether it was there, so that a PATCH tells
// a null, which is an error, from a member left out.
type sent[T any] struct {
	value T
	given bool
	wrong bool
}

// UnmarshalJSON never fails: the reader names the member at fault, which is not
// known here.
func (s *sent[T]) UnmarshalJSON(text []byte) error {
	s.given = true
	s.wrong = bytes.Equal(text, []byte("null")) || json.Unmarshal(text, &s.value) != nil
	return nil
}

// query takes a text member from the query string when it is there.
func (s *sent[T]) query(c *gin.Context, name string) {
	text, given := c.GetQuery(name)
	if value, isText := any(&s.value).(*string); given && isText {
		*value, s.given = text, true
	}
}

// reader gathers the first fault of a body's members.
type reader struct{ err error }

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func required[T any](r *reader, field string, in sent[T]) T {
	if !in.given {
		r.fail(fault.Field(field, "is required"))
	}
	optional(r, field, in)
	return in.value
}

// optional is nil when the member was not sent.
func optional[T any](r *reader, field string, in sent[T]) *T {
	if !in.given {
		return nil
	}
	if in.wrong {
		r.fail(fault.Field(field, "has a value of the wrong type"))
	}
	return &in.value
}

// id and hash bring identifiers into their one form.
func (r *reader) id(field string, text *string) { r.parse(endpoint.ParseID, field, text) }

func (r *reader) hash(field string, text *string) { r.parse(endpoint.ParseURLHash, field, text) }

func (r *reader) parse(parse func(field, text string) (string, error), field string, text *string) {
	value, err := parse(field, *text)
	if err != nil {
		r.fail(err)
		return
	}
	*text = value
}
