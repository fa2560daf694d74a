package document

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// position is a place in the order of a plan: behind the record with these values of the order's
// fields and this key. It stays right while records come and go, for it refers to values, not to
// counts or to a record that must still be there.
type position struct {
	values []any
	key    string
}

// written is a position as text: JSON in base64. It is not signed; package web does that.
type written struct {
	Order  string   `json:"o"`
	Values []string `json:"v,omitempty"`
	Key    string   `json:"k"`
}

// signature names the order a position belongs to.
func (p *plan) signature() string {
	var text strings.Builder
	for _, t := range p.order {
		if t.descending {
			text.WriteByte('-')
		}
		text.WriteString(p.shape.fields[t.field].name)
		text.WriteByte(',')
	}
	if p.last {
		text.WriteByte('-')
	}
	return text.String()
}

func (p *plan) position(r *record) string {
	w := written{Order: p.signature(), Key: r.key}
	for _, t := range p.order {
		w.Values = append(w.Values, writeValue(r.fields[t.field]))
	}
	text, err := json.Marshal(w)
	if err != nil { // strings only: it cannot fail
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parsePosition(text string, p *plan) (*position, error) {
	invalid := fault.New(fault.Invalid, "The position in the list is not valid.")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, invalid
	}
	var w written
	if json.Unmarshal(raw, &w) != nil || w.Order != p.signature() || len(w.Values) != len(p.order) {
		return nil, invalid
	}
	pos := &position{key: w.Key}
	for _, v := range w.Values {
		value, ok := readValue(v)
		if !ok {
			return nil, invalid
		}
		pos.values = append(pos.values, value)
	}
	return pos, nil
}

// writeValue puts a letter for the type before the value; an absent value is the empty text.
func writeValue(value any) string {
	switch v := value.(type) {
	case string:
		return "s" + v
	case bool:
		return "b" + strconv.FormatBool(v)
	case int64:
		return "i" + strconv.FormatInt(v, 10)
	case float64:
		return "f" + strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return "t" + strconv.FormatInt(v.UnixMilli(), 10)
	}
	return ""
}

func readValue(text string) (any, bool) {
	if text == "" {
		return nil, true
	}
	rest := text[1:]
	switch text[0] {
	case 's':
		return rest, true
	case 'b':
		v, err := strconv.ParseBool(rest)
		return v, err == nil
	case 'i':
		v, err := strconv.ParseInt(rest, 10, 64)
		return v, err == nil
	case 'f':
		v, err := strconv.ParseFloat(rest, 64)
		return v, err == nil
	case 't':
		v, err := strconv.ParseInt(rest, 10, 64)
		return time.UnixMilli(v).UTC(), err == nil
	}
	return nil, false
}
