package bodytemplate

import "sync"

// shape is the type of a value of the payload.
type shape struct {
	fields  map[string]*shape // the members of an object
	element *shape            // the shape of the elements of a list
}

// scalar is the shape of texts, numbers and booleans. mixed is the shape of the result of "and" and "or" if the
// arguments have different shapes. Neither shape changes.
var (
	scalar = &shape{}
	mixed  = &shape{fields: map[string]*shape{}}
)

func (s *shape) isScalar() bool { return s == scalar }

// payloadShape returns the shape of the payload. The samples together have every member of the payload.
var payloadShape = sync.OnceValue(func() *shape {
	var all []any
	for _, sample := range documents() {
		all = append(all, sample)
	}
	return shapeOf(all)
})

// shapeOf returns the common shape of the values. A null has no effect on the shape.
func shapeOf(values []any) *shape {
	members := make(map[string][]any)
	var elements []any
	isObject, isList := false, false
	for _, value := range values {
		switch value := value.(type) {
		case map[string]any:
			isObject = true
			for name, member := range value {
				members[name] = append(members[name], member)
			}
		case []any:
			isList = true
			elements = append(elements, value...)
		}
	}
	switch {
	case isList:
		return &shape{element: shapeOf(elements)}
	case isObject:
		of := &shape{fields: make(map[string]*shape, len(members))}
		for name, values := range members {
			of.fields[name] = shapeOf(values)
		}
		return of
	}
	return scalar
}
