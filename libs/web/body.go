package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/gin-gonic/gin"
)

// Body reads the request's JSON object into a T, strictly: another media type,
// an unknown field (names are compared in their exact case), a value of the wrong
// type, null for the object or anything behind it is an Invalid fault that names the
// field.
func Body[T any](c *gin.Context) (T, error) {
	var in T
	media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	if err != nil || media != "application/json" {
		return in, fault.New(fault.Invalid, "The body must be JSON, with the header Content-Type: application/json.")
	}
	text, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return in, bodyFault(err)
	}
	if !utf8.Valid(text) {
		return in, fault.New(fault.Invalid, "The body must be JSON in UTF-8.")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return in, bodyFault(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return in, fault.New(fault.Invalid, "The body must be one JSON object and nothing behind it.")
	}
	if of := reflect.TypeFor[T](); of.Kind() == reflect.Struct {
		if bytes.Equal(bytes.TrimSpace(text), []byte("null")) {
			return in, notObject()
		}
		return in, exactNames(of, text)
	}
	return in, nil
}

// exactNames refuses what encoding/json takes for a field although its name is written
// in another case. The text was decoded into the type before.
func exactNames(of reflect.Type, text []byte) error {
	if reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil // reads its text in its own way
	}
	switch of.Kind() {
	case reflect.Pointer:
		return exactNames(of.Elem(), text)
	case reflect.Struct, reflect.Slice:
	default:
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') && start != json.Delim('[') {
		return nil // null, or the text of a type that is read from one
	}
	for decoder.More() {
		member, err := memberType(of, decoder)
		if err != nil {
			return err
		}
		var inner json.RawMessage
		if err := decoder.Decode(&inner); err != nil {
			return bodyFault(err)
		}
		if err := exactNames(member, inner); err != nil {
			return err
		}
	}
	return nil
}

// memberType is the type of the next member: a slice's element, or the struct's field
// whose name is read here.
func memberType(of reflect.Type, decoder *json.Decoder) (reflect.Type, error) {
	if of.Kind() == reflect.Slice {
		return of.Elem(), nil
	}
	token, err := decoder.Token()
	name, isName := token.(string)
	if err != nil || !isName {
		return nil, notObject()
	}
	for field := range of.Fields() {
		tagged, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tagged == "" {
			tagged = field.Name
		}
		if tagged == name {
			return field.Type, nil
		}
	}
	return nil, unknownField(name)
}

func notObject() error { return fault.New(fault.Invalid, "The body must be a JSON object.") }

func unknownField(name string) error { return fault.Field(name, "is not a field of this request") }

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
			return notObject()
		}
		return fault.Field(mismatch.Field, "has a value of the wrong type (%s)", mismatch.Value)
	}
	if name, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
		return unknownField(strings.Trim(name, `"`))
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	return fault.Wrap(fault.Invalid, err, "The body is not valid JSON.")
}
