package audit

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

const (
	// MaxSnapshot is the maximum size of Before and of After in an entry, in bytes of JSON. Kafka refuses a message above
	// 1 MB. One write of a record may contain the entries of many concurrent changes, so the limit is far smaller.
	MaxSnapshot = 64 << 10
	// longest is the first limit for the texts (in characters) and for the lists and maps (in elements) of a snapshot above
	// MaxSnapshot. The limit is halved until the snapshot fits.
	longest = 16_384
	// Truncated is the name of a member with the value true in a snapshot that was cut. A cut text ends with an
	// ellipsis.
	Truncated = "truncated"
)

// bounded returns the members as a JSON object of at most MaxSnapshot bytes, or null for nil.
func bounded(side map[string]member) json.RawMessage {
	if side == nil {
		return encode(nil)
	}
	values := make(map[string]any, len(side)+1)
	for name, m := range side {
		values[name] = m.value
	}
	text := encode(values)
	for limit := longest; len(text) > MaxSnapshot && limit > 0; limit /= 2 {
		for name, value := range values {
			values[name] = cut(value, limit)
		}
		values[Truncated] = true
		text = encode(values)
	}
	return text
}

// cut returns the value with each text cut to limit characters, and each list and each map to limit elements. A map keeps
// the elements whose names are the first in the order of the alphabet. A name is a text, too.
func cut(value any, limit int) any {
	switch known := value.(type) {
	case string:
		return richtext.Shorten(known, limit)
	case []any:
		out := make([]any, min(len(known), limit))
		for i := range out {
			out[i] = cut(known[i], limit)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(known))[:min(len(known), limit)] {
			out[cut(name, limit).(string)] = cut(known[name], limit)
		}
		return out
	}
	return value
}
