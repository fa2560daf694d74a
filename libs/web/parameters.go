package web

import (
	"cmp"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// parameterFields returns the fields of a struct of parameters, including those of embedded structs.
func parameterFields(of reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(of), func(field reflect.StructField) bool { return field.Anonymous })
}

// bindParameters reads the path and the query into the struct that into points to. A path parameter with a wrong
// format is a NotFound fault, because no record has such an id. The tag record names the kind of record for this
// fault. An unknown, repeated, missing or wrong query parameter is an Invalid fault that names the parameter.
func bindParameters(c *gin.Context, into any) error {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "The query must be URL-encoded parameters.")
	}
	target := reflect.ValueOf(into).Elem()
	var known []string
	var failure error
	for _, field := range parameterFields(target.Type()) {
		if name := field.Tag.Get("path"); name != "" {
			if set(target.FieldByIndex(field.Index), field.Tag, name, c.Param(name)) != nil {
				return fault.New(fault.NotFound, "There is no such %s.", cmp.Or(field.Tag.Get("record"), "record"))
			}
			continue
		}
		name := field.Tag.Get("query")
		known = append(known, name)
		if err := bindQuery(target.FieldByIndex(field.Index), field.Tag, name, query[name]); err != nil && failure == nil {
			failure = err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			return fault.Field(name, "is not a query parameter of this request")
		}
	}
	return failure
}

func bindQuery(into reflect.Value, tag reflect.StructTag, name string, values []string) error {
	switch {
	case len(values) > 1:
		return fault.Field(name, "must be sent once")
	case len(values) == 1:
		return set(into, tag, name, values[0])
	case tag.Get("required") == "true":
		return fault.Field(name, "is required")
	case tag.Get("default") != "":
		return set(into, tag, name, tag.Get("default"))
	}
	return nil
}

// set parses text into a string, an int, a bool, a time, or a pointer to one of them. It checks the tags format,
// enum, minimum and maximum, which the OpenAPI document also shows.
func set(into reflect.Value, tag reflect.StructTag, name, text string) error {
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	if into.Kind() == reflect.Int {
		least, _ := strconv.Atoi(tag.Get("minimum"))
		most, _ := strconv.Atoi(tag.Get("maximum"))
		number, err := strconv.Atoi(text)
		if err != nil || number < least || number > most {
			return fault.Field(name, "must be a whole number from %d to %d", least, most)
		}
		into.SetInt(int64(number))
		return nil
	}
	if into.Kind() == reflect.Bool {
		if text != "true" && text != "false" {
			return fault.Field(name, "must be true or false")
		}
		into.SetBool(text == "true")
		return nil
	}
	if into.Type() == reflect.TypeFor[time.Time]() {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return fault.Field(name, "must be a time such as 2026-01-31T09:30:00Z")
		}
		into.Set(reflect.ValueOf(at.UTC()))
		return nil
	}
	text, err := parseFormat(tag, name, text)
	if err != nil {
		return err
	}
	into.SetString(text)
	return nil
}

// parseFormat checks a text by the tags enum and format: a uuid, which it returns in lower case, or a sha256. Other
// formats only appear in the OpenAPI document.
func parseFormat(tag reflect.StructTag, name, text string) (string, error) {
	if choices := tag.Get("enum"); choices != "" && !slices.Contains(strings.Split(choices, ","), text) {
		return "", fault.Field(name, "must be one of %s", strings.ReplaceAll(choices, ",", ", "))
	}
	switch tag.Get("format") {
	case "uuid":
		if err := uuid.Validate(text); err != nil || len(text) != len(uuid.Nil.String()) {
			return "", fault.Field(name, "must be a UUID")
		}
		return strings.ToLower(text), nil
	case "sha256":
		if len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "" {
			return "", fault.Field(name, "must be 64 lower-case hexadecimal digits")
		}
	}
	return text, nil
}
