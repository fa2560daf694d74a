package plan

import (
	"fmt"
	"math"
	"reflect"
	"time"
)

// Normal returns the value of a field or condition in one of these forms: nil, string, bool, int64, float64, time.Time
// (UTC, whole milliseconds), or []any of them for a list. The []any has no duplicates. An empty list becomes nil.
func Normal(value any) (any, error) {
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
		return Normal(r.Elem().Interface())
	case reflect.String:
		return r.String(), nil
	case reflect.Bool:
		return r.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return r.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if r.Uint() > math.MaxInt64 {
			return nil, fmt.Errorf("%d must fit into int64", r.Uint())
		}
		return int64(r.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return r.Float(), nil
	case reflect.Slice:
		return normalList(r)
	}
	return nil, fmt.Errorf("the value of a field must not be a %T", value)
}

func normalList(r reflect.Value) (any, error) {
	if r.Len() == 0 {
		return nil, nil
	}
	list := make([]any, 0, r.Len())
	seen := make(map[any]bool, r.Len())
	for i := range r.Len() {
		v, err := Normal(r.Index(i).Interface())
		if err != nil {
			return nil, err
		}
		switch v.(type) {
		case nil, []any:
			return nil, fmt.Errorf("a list must not contain lists or nil")
		}
		if !seen[v] {
			seen[v] = true
			list = append(list, v)
		}
	}
	return list, nil
}

// Scalar returns the form in which values are compared, and stored by SQLite: a time as milliseconds, a bool as 0 or 1.
func Scalar(value any) any {
	switch v := value.(type) {
	case time.Time:
		return v.UnixMilli()
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	}
	return value
}
