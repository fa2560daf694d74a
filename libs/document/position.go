package document

import (
	"encoding/base64"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// position is a place in the order of a plan: after the record with these values and this key. It has values and no
// count, so it remains right when records are added or deleted, also that record.
type position struct {
	values []any // of the fields of the order
	key    string
}

// positionText is the form of a position outside of this package: BSON in base64. Package web signs it.
type positionText struct {
	Order  string `bson:"o"`
	Values bson.A `bson:"v"`
	Key    string `bson:"k"`
}

// signature names the order that a position belongs to.
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

func (p *plan) position(r *record) (string, error) {
	out := positionText{Order: p.signature(), Key: r.key}
	for _, t := range p.order {
		out.Values = append(out.Values, r.fields[t.field])
	}
	raw, err := bson.Marshal(out)
	return base64.RawURLEncoding.EncodeToString(raw), err
}

func parsePosition(text string, p *plan) (*position, error) {
	var in positionText
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = bson.Unmarshal(raw, &in)
	}
	if err != nil || in.Order != p.signature() || len(in.Values) != len(p.order) {
		return nil, fault.New(fault.Invalid, "The position in the list is not valid.")
	}
	for i, value := range in.Values {
		switch v := value.(type) {
		case bson.DateTime:
			in.Values[i] = v.Time().UTC()
		case nil, string, bool, int64, float64:
		default:
			return nil, fault.New(fault.Invalid, "The position in the list is not valid.")
		}
	}
	return &position{values: in.Values, key: in.Key}, nil
}
