package plan

import (
	"encoding/base64"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// positionText is the form of a position outside of package document: BSON in base64. Package web signs it. A position
// contains the order's fields and the key of the last record of a page. It contains no offset, so it remains valid when
// records are added or deleted, even if this last record is deleted.
type positionText struct {
	Order  string `bson:"o"`
	Values bson.A `bson:"v"`
}

// signature returns a text that identifies the order of p. A position belongs to one order.
func (p *Plan) signature() string {
	var text strings.Builder
	for _, t := range p.Order {
		if t.Descending {
			text.WriteByte('-')
		}
		if t.Field != KeyField {
			text.WriteString(p.Shape.Fields[t.Field].Name + ",")
		}
	}
	return text.String()
}

// Position returns the position of the record with key and fields, in the form of PositionText.
func (p *Plan) Position(key string, fields []any) (string, error) {
	var values bson.A
	for _, t := range p.Order {
		if t.Field == KeyField {
			values = append(values, key)
		} else {
			values = append(values, fields[t.Field])
		}
	}
	return p.PositionText(values)
}

// PositionText returns the position of a record, as a positionText in base64. values has the record's values of the
// terms of p.Order.
func (p *Plan) PositionText(values bson.A) (string, error) {
	raw, err := bson.Marshal(positionText{Order: p.signature(), Values: values})
	return base64.RawURLEncoding.EncodeToString(raw), err
}

// parsePosition returns the values of a position for the order of p. It returns an error if the position belongs to
// another order.
func parsePosition(text string, p *Plan) ([]any, error) {
	var in positionText
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = bson.Unmarshal(raw, &in)
	}
	valid := err == nil && in.Order == p.signature() && len(in.Values) == len(p.Order)
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
