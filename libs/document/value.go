package document

import (
	"fmt"
	"math"
	"reflect"
	"time"
)

// normal brings a field's or a condition's value into one of few forms: nil, string, bool, int64,
// float64, time.Time (UTC, whole milliseconds), or for a list []any of these.
func normal(value any) (any, error) {
	switch v := value.(type) {
	case nil, string, bool, int64, float64:
		return v, nil
	case time.Time:
		return time.UnixMilli(v.UnixMilli()).UTC(), nil
	case int:
		return int64(v), nil
	}
	r := reflect.ValueOf(value)
	switch r.Kind() {
	case reflect.Pointer:
		if r.IsNil() {
			return nil, nil
		}
		return normal(r.Elem().Interface())
	case reflect.String:
		return r.String(), nil
	case reflect.Bool:
		return r.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return r.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if r.Uint() > math.MaxInt64 {
			return nil, fmt.Errorf("%d does not fit into int64", r.Uint())
		}
		return int64(r.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return r.Float(), nil
	case reflect.Slice:
		return normalList(r)
	}
	return nil, fmt.Errorf("a %T cannot be the value of a field", value)
}

func normalList(r reflect.Value) (any, error) {
	if r.Len() == 0 {
		return nil, nil
	}
	list := make([]any, 0, r.Len())
	seen := make(map[any]bool, r.Len())
	for i := range r.Len() {
		v, err := normal(r.Index(i).Interface())
		if err != nil {
			return nil, err
		}
		switch v.(type) {
		case nil, []any:
			return nil, fmt.Errorf("a list holds values only, not lists or absent ones")
		}
		if !seen[v] {
			seen[v] = true
			list = append(list, v)
		}
	}
	return list, nil
}
