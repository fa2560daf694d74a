package document

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"reflect"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// encode returns item as BSON with its JSON names. Both engines store this form, so both return the same record: times
// lose fractions of a millisecond, and an empty list differs from a missing list.
func encode(item any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := bson.NewEncoder(bson.NewDocumentWriter(&buffer))
	encoder.UseJSONStructTags()
	if err := encoder.Encode(item); err != nil {
		return nil, fmt.Errorf("encode %T: %w", item, err)
	}
	return buffer.Bytes(), nil
}

func decode(body []byte, item any) error { return newDecoder().decode(body, item) }

// decoder decodes many bodies with one buffer, which NewDocumentReader would else make for each.
type decoder struct {
	body   bytes.Reader
	buffer *bufio.Reader
}

func newDecoder() *decoder {
	d := &decoder{}
	d.buffer = bufio.NewReader(&d.body)
	return d
}

func (d *decoder) decode(body []byte, item any) error {
	d.body.Reset(body)
	d.buffer.Reset(&d.body)
	decoder := bson.NewDecoder(bson.NewDocumentReader(d.buffer))
	decoder.UseJSONStructTags()
	if err := decoder.Decode(item); err != nil {
		return fmt.Errorf("decode %T: %w", item, err)
	}
	return nil
}

// normal returns the value of a field or condition in one of these forms: nil, string, bool, int64, float64, time.Time
// (UTC, whole milliseconds), or []any of them for a list.
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
		v, err := normal(r.Index(i).Interface())
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
