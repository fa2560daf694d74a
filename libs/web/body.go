package web

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/gin-gonic/gin"
)

// Body reads the request's JSON object into a T, strictly: another media type,
// an unknown field, a value of the wrong type or anything behind the object is an
// Invalid fault that names the field.
func Body[T any](c *gin.Context) (T, error) {
	var in T
	media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	if err != nil || media != "application/json" {
		return in, fault.New(fault.Invalid, "The body must be JSON, with the header Content-Type: application/json.")
	}
	decoder := json.NewDecoder(c.Request.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return in, bodyFault(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return in, fault.New(fault.Invalid, "The body must be one JSON object and nothing behind it.")
	}
	return in, nil
}

// OptionalBody is Body where a request may have none.
func OptionalBody[T any](c *gin.Context) (T, error) {
	if c.Request.ContentLength == 0 || c.Request.Body == http.NoBody {
		var none T
		return none, nil
	}
	return Body[T](c)
}

func bodyFault(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fault.New(fault.TooLarge, "The body is larger than %d bytes.", MaxBody)
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if mismatch.Field == "" {
			return fault.New(fault.Invalid, "The body must be a JSON object.")
		}
		return fault.Field(mismatch.Field, "has a value of the wrong type (%s)", mismatch.Value)
	}
	if name, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
		return fault.Field(strings.Trim(name, `"`), "is not a field of this request")
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	return fault.Wrap(fault.Invalid, err, "The body is not valid JSON.")
}
