package document

import (
	"encoding/base64"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// positionText is the form of a position outside of this package: BSON in base64. Package web signs it. A position has
// the values of the order's fields and the key of the last record of a page. It has no count, so it remains right when
// records are added or deleted, also that record.
type positionText struct {
	Order  string `bson:"o"`
	Values bson.A `bson:"v"`
}

// signature names the order that a position belongs to.
func (p *plan) signature() string {
	var text strings.Builder
	for _, t := range p.order {
		if t.descending {
			text.WriteByte('-')
		}
		if t.field != keyField {
			text.WriteString(p.shape.fields[t.field].name + ",")
		}
	}
	return text.String()
}

func (p *plan) position(r *record) (string, error) {
	var values bson.A
	for _, t := range p.order {
		if t.field == keyField {
			values = append(values, r.key)
		} else {
			values = append(values, r.fields[t.field])
		}
	}
	return p.positionText(values)
}

// positionText returns the position of the record with the values of the order.
func (p *plan) positionText(values bson.A) (string, error) {
	raw, err := bson.Marshal(positionText{Order: p.signature(), Values: values})
	return base64.RawURLEncoding.EncodeToString(raw), err
}

// parsePosition returns the values of a position in the order of p.
func parsePosition(text string, p *plan) ([]any, error) {
	var in positionText
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = bson.Unmarshal(raw, &in)
	}
	valid := err == nil && in.Order == p.signature() && len(in.Values) == len(p.order)
	for i, value := range in.Values {
		switch v := value.(type) {
		case bson.DateTime:
			in.Values[i] = v.Time().UTC()
		case nil, string, bool, int64, float64:
		default:
			valid = false
		}
	}
	if valid {
		_, valid = in.Values[len(in.Values)-1].(string)
	}
	if !valid {
		return nil, fault.New(fault.Invalid, "The position in the list is not valid.")
	}
	return in.Values, nil
}
