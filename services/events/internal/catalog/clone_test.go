package catalog

import (
	"reflect"
	"testing"
)

func TestACloneSharesNoSlice(t *testing.T) {
	for _, record := range []any{&Component{}, &Event{}} {
		original := reflect.ValueOf(record).Elem()
		for i := range original.NumField() {
			if field := original.Field(i); field.Kind() == reflect.Slice {
				field.Set(reflect.MakeSlice(field.Type(), 1, 1))
			}
		}
		var clone reflect.Value
		switch record := record.(type) {
		case *Component:
			clone = reflect.ValueOf(record.clone()).Elem()
		case *Event:
			clone = reflect.ValueOf(record.clone()).Elem()
		}
		if !reflect.DeepEqual(original.Interface(), clone.Interface()) {
			t.Errorf("the clone of %s differs", original.Type())
		}
		for i := range original.NumField() {
			if field := original.Field(i); field.Kind() == reflect.Slice && field.Pointer() == clone.Field(i).Pointer() {
				t.Errorf("a change of %s.%s changes the clone", original.Type(), original.Type().Field(i).Name)
			}
		}
	}
}
