package web

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Body reads the request's JSON into a T. An unknown, wrongly cased or repeated member and a value of the wrong type cause
// an Invalid fault that names the member. Text after the value causes an Invalid fault, too.
func Body[T any](c *gin.Context) (T, error) {
	var in T
	text, err := readJSON(c)
	if err != nil {
		return in, err
	}
	return in, decode(text, &in, true)
}

// Row is an element of a bulk request. It is decoded separately, so that an invalid row does not make the others
// fail.
type Row[T any] struct{ text jsontext.Value }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (r *Row[T]) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	text, err := decoder.ReadValue()
	r.text = text.Clone()
	return err
}

// Read returns the element. It makes the same checks as Body.
func (r Row[T]) Read() (T, error) {
	var in T
	if r.text.Kind() != '{' {
		return in, fault.New(fault.Invalid, "The row must be a JSON object.")
	}
	return in, decode(r.text, &in, true)
}

// Element returns the zero T. The document generator reads the element's type from it.
func (r Row[T]) Element() any { return *new(T) }

func readJSON(c *gin.Context) ([]byte, error) {
	sent := c.GetHeader("Content-Type")
	media, _, err := mime.ParseMediaType(sent)
	needless := sent == "" && c.Request.Method == http.MethodDelete
	if (err != nil || media != "application/json") && !needless {
		return nil, fault.New(fault.Invalid, "The body must be JSON, with the header Content-Type: application/json.")
	}
	text, err := io.ReadAll(c.Request.Body)
	if large, is := errors.AsType[*http.MaxBytesError](err); is {
		return nil, fault.New(fault.TooLarge, "The body must be at most %d bytes.", large.Limit)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "The body could not be read.")
	}
	if !utf8.Valid(text) {
		return nil, fault.New(fault.Invalid, "The body must be JSON in UTF-8.")
	}
	return text, nil
}

// decode reads text into the value that into points to. It returns an Invalid fault for text that is not JSON of the
// value's type, for an absent required member, and for null in a member that is not nullable. If strict is true, it
// also returns an Invalid fault for an unknown member.
func decode(text []byte, into any, strict bool) error {
	target := reflect.ValueOf(into).Elem()
	if err := checkJSON(text, target.Type()); err != nil {
		return err
	}
	if err := json.Unmarshal(text, into, json.RejectUnknownMembers(strict)); err != nil {
		return decodeFault(err)
	}
	return checkMembers("", target)
}

// checkJSON returns an Invalid fault if text is not one JSON value. If of is a struct type, text must be a JSON object.
func checkJSON(text []byte, of reflect.Type) error {
	value := jsontext.Value(text)
	if !value.IsValid(jsontext.AllowDuplicateNames(true)) {
		return fault.New(fault.Invalid, "The body must be one valid JSON value.")
	}
	if of.Kind() == reflect.Struct && value.Kind() != '{' {
		return fault.New(fault.Invalid, "The body must be a JSON object.")
	}
	return nil
}

// decodeFault turns an error of the decoder into an Invalid fault, which names the member if the JSON is valid.
func decodeFault(err error) error {
	syntax, _ := errors.AsType[*jsontext.SyntacticError](err)
	semantic, ok := errors.AsType[*json.SemanticError](err)
	refused, _ := errors.AsType[*fault.Error](err) // from a type with its own decoder
	switch {
	case syntax != nil && errors.Is(err, jsontext.ErrDuplicateName):
		return fault.Field(memberPath(syntax.JSONPointer), "must be sent once")
	case !ok || syntax != nil:
		return fault.Wrap(fault.Invalid, err, "The body must be one valid JSON value.")
	case refused != nil:
		return fault.Field(strings.TrimSuffix(memberPath(semantic.JSONPointer)+"."+refused.Field, "."), "%s", refused.Message)
	case errors.Is(err, json.ErrUnknownName):
		return fault.Field(memberPath(semantic.JSONPointer), "is not a field of this request")
	}
	return fault.Field(memberPath(semantic.JSONPointer), "must be %s", kindName(semantic.GoType))
}

// memberPath writes a JSON pointer (RFC 6901) as clients write it: rows[1].id.
func memberPath(pointer jsontext.Pointer) string {
	var path strings.Builder
	for token := range pointer.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			fmt.Fprintf(&path, "[%s]", token)
		case path.Len() == 0:
			path.WriteString(token)
		default:
			path.WriteString("." + token)
		}
	}
	return path.String()
}

// kindName names the JSON type that a Go type is read from.
func kindName(of reflect.Type) string {
	switch of {
	case nil:
		return "of another type"
	case reflect.TypeFor[time.Time]():
		return "a time such as 2026-01-31T09:30:00.000Z"
	}
	switch of.Kind() {
	case reflect.Pointer:
		return kindName(of.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a string"
}

// member is an optional.Value of any type.
type member interface {
	State() (sent, null bool)
	Element() any
}

// checkMembers checks the members of a decoded value against their tags: required:"true" and nullable:"true" (null is
// allowed) of an optional.Value, format and enum of a text (see parseFormat). It converts times to UTC in whole
// milliseconds, and returns an error for a year outside 1 to 9999.
func checkMembers(path string, value reflect.Value) error {
	switch value.Kind() {
	case reflect.Slice:
		if value.Type().Elem().Kind() != reflect.Struct {
			return nil
		}
		for i := range value.Len() {
			if err := checkMembers(fmt.Sprintf("%s[%d]", path, i), value.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for field, inner := range value.Fields() {
			if field.Anonymous {
				if err := checkMembers(path, inner); err != nil {
					return err
				}
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			if path != "" {
				name = path + "." + name
			}
			if m, ok := inner.Interface().(member); ok {
				sent, null := m.State()
				switch {
				case !sent && field.Tag.Get("required") == "true":
					return fault.Field(name, "is required")
				case null && field.Tag.Get("nullable") != "true":
					return fault.Field(name, "must not be null")
				case !sent || null:
					continue
				}
				inner = inner.FieldByName("Value")
			}
			if inner.Kind() == reflect.String {
				text, err := parseFormat(field.Tag, name, inner.String())
				if err != nil {
					return err
				}
				inner.SetString(text)
				continue
			}
			if at, is := inner.Interface().(time.Time); is {
				if at = at.UTC().Truncate(time.Millisecond); at.Year() < 1 || at.Year() > 9999 {
					return fault.Field(name, "must be in the years 1 to 9999")
				}
				inner.Set(reflect.ValueOf(at))
				continue
			}
			if err := checkMembers(name, inner); err != nil {
				return err
			}
		}
	}
	return nil
}
