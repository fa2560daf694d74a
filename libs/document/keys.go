package document

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Keys returns the keys of the records that match q, each key once, with the values of fields. It does not load the bodies.
// With q.Limit and without q.Scan, the cost does not depend on the number of matching records, even for a condition with up
// to find.MaxMerged values of a multi-valued field. For such a condition, Find on SQLite reads all matching records.
func (c *Collection[T]) Keys(ctx context.Context, q find.Query, fields ...string) ([]find.Row, error) {
	defer c.span(&ctx, "keys")()
	p, err := c.shape.Plan(q)
	if err != nil || p.Empty {
		return nil, err
	}
	wanted := make([]int, 0, len(p.Order)-1+len(fields))
	for _, t := range p.Order[:len(p.Order)-1] {
		wanted = append(wanted, t.Field)
	}
	for _, name := range fields {
		at := c.shape.Field(name)
		if at < 0 || c.shape.Fields[at].Many {
			return nil, fault.New(fault.Internal, "document: %q must be a declared single-valued field of %s", name, c.shape.Name)
		}
		wanted = append(wanted, at)
	}
	found, err := c.db.engine.Keys(ctx, p, wanted)
	if err != nil {
		return nil, c.opaque(err, "find keys")
	}
	rows := make([]find.Row, len(found))
	for i, values := range found {
		key, _ := values[0].(string)
		rows[i] = find.Row{Key: key, Values: values[len(p.Order):]}
		if rows[i].Position, err = p.PositionText(append(slices.Clone(values[1:len(p.Order)]), key)); err != nil {
			return nil, c.opaque(err, "find keys")
		}
		for j, value := range rows[i].Values {
			if at, ok := value.(bson.DateTime); ok {
				rows[i].Values[j] = int64(at)
			}
		}
	}
	return rows, nil
}
