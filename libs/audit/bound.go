package audit

import (
	"encoding/json"
)

const (
	// MaxSnapshot bounds Before and After of an entry, in bytes of JSON each. Kafka refuses a message above 1 MB,
	// and one write of a record may hold the entries of many concurrent changes.
	MaxSnapshot = 64 << 10
	// longest is the number of characters of a text, and of elements of a list, from which a snapshot that is too
	// large is cut. The limit is halved until the snapshot fits.
	longest = 16_384
	// Truncated is the member, true, of a snapshot that was cut. A cut text ends with an ellipsis.
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
		values, _ = cut(values, limit).(map[string]any)
		values[Truncated] = true
		text = encode(values)
	}
	return text
}

// cut shortens the texts and lists within a value to the limit.
func cut(value any, limit int) any {
	switch known := value.(type) {
	case string:
		if runes := []rune(known); len(runes) > limit {
			return string(runes[:limit-1]) + "…"
		}
	case []any:
		out := make([]any, min(len(known), limit))
		for i := range out {
			out[i] = cut(known[i], limit)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(known))
		for name, inner := range known {
			out[name] = cut(inner, limit)
		}
		return out
	}
	return value
}
