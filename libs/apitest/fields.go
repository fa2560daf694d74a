package apitest

import (
	"reflect"
	"testing"
	"time"
)

// WithEachField returns a struct for each field of T, by the name of the field: a T in which this field has a value and the
// others have none. A time is in 2100. Tests call WithEachField with the filter of a list, so that a test fails if the query
// has no condition for a field of the filter.
func WithEachField[T any](t testing.TB) map[string]T {
	t.Helper()
	structs := map[string]T{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		var made T
		value := reflect.ValueOf(&made).Elem().FieldByIndex(field.Index)
		if value.Kind() == reflect.Pointer {
			value.Set(reflect.New(field.Type.Elem()))
			value = value.Elem()
		}
		switch {
		case value.Type() == reflect.TypeFor[time.Time]():
			value.Set(reflect.ValueOf(time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)))
		case value.Kind() == reflect.String:
			value.SetString("wanted")
		case value.Kind() == reflect.Bool:
			value.SetBool(true)
		case value.CanInt():
			value.SetInt(1)
		default:
			t.Fatalf("the field %s has the type %s, for which WithEachField makes no value", field.Name, field.Type)
		}
		structs[field.Name] = made
	}
	return structs
}
