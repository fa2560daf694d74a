package document

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

func (e *mongoEngine) find(ctx context.Context, p *plan) ([]*record, error) {
	how := options.Find().SetHint(p.hint()).SetSort(p.sort()).SetSkip(int64(p.offset)).SetLimit(int64(p.limit))
	if !p.sorted {
		how.SetAllowDiskUse(true)
	}
	return e.records(ctx, p.shape, p.filter(), how)
}

func (e *mongoEngine) count(ctx context.Context, p *plan) (int64, error) {
	c, err := e.collection(p.shape)
	if err != nil {
		return 0, err
	}
	n, err := c.CountDocuments(ctx, p.filter(), options.Count().SetHint(p.hint()))
	return n, mongoError(err)
}

func (e *mongoEngine) countDistinct(ctx context.Context, p *plan, field int) (int64, error) {
	c, err := e.collection(p.shape)
	if err != nil {
		return 0, err
	}
	cursor, err := c.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: p.filter()}},
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$" + path(p.shape.fields[field].name)}}}},
		{{Key: "$match", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$ne", Value: nil}}}}}},
		{{Key: "$count", Value: "n"}},
	}, options.Aggregate().SetHint(p.hint()))
	if err != nil {
		return 0, mongoError(err)
	}
	var result []struct {
		N int64 `bson:"n"`
	}
	if err := cursor.All(ctx, &result); err != nil || len(result) == 0 {
		return 0, mongoError(err)
	}
	return result[0].N, nil
}

// hint returns the name of the chosen index. With it the server does not choose another.
func (p *plan) hint() string {
	if p.index == nil {
		return "_id_"
	}
	return p.index.name
}

func (p *plan) sort() bson.D {
	var out bson.D
	for _, t := range p.order {
		out = append(out, bson.E{Key: path(p.shape.fields[t.field].name), Value: sign(t.descending)})
	}
	return append(out, bson.E{Key: "_id", Value: sign(p.last)})
}

func sign(descending bool) int {
	if descending {
		return -1
	}
	return 1
}

func (p *plan) filter() bson.D {
	var all bson.A
	for _, c := range p.where {
		all = append(all, bson.D{p.match(c)})
	}
	// A tombstone has no fields, so only conditions for absent fields could match it.
	if !slices.ContainsFunc(p.where, func(c condition) bool { return c.op != find.OpAbsent || !c.absent }) {
		all = append(all, bson.D{there("b", true)})
	}
	if p.after != nil {
		all = append(all, p.beyond()...)
	}
	if len(all) == 1 {
		return all[0].(bson.D)
	}
	return bson.D{{Key: "$and", Value: all}}
}

func (p *plan) match(c condition) bson.E {
	name := path(p.shape.fields[c.field].name)
	with := func(operator string) bson.E {
		return bson.E{Key: name, Value: bson.D{{Key: operator, Value: c.values[0]}}}
	}
	switch c.op {
	case find.OpAbsent:
		if c.absent {
			return bson.E{Key: name, Value: nil}
		}
		return bson.E{Key: name, Value: bson.D{{Key: "$ne", Value: nil}}}
	case find.OpGt:
		return with("$gt")
	case find.OpGte:
		return with("$gte")
	case find.OpLt:
		return with("$lt")
	case find.OpLte:
		return with("$lte")
	case find.OpText:
		return bson.E{Key: name, Value: c.regex()}
	}
	if len(c.values) == 1 {
		return bson.E{Key: name, Value: c.values[0]}
	}
	return bson.E{Key: name, Value: bson.D{{Key: "$in", Value: bson.A(c.values)}}}
}

// regex returns a text condition as a regular expression. It ends with \z, because $ would also match before a final
// line break.
func (c *condition) regex() bson.Regex {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(c.values[0].(string)), "\x00", `\x00`) // BSON ends an expression at a NUL
	if c.match == find.Whole || c.match == find.Prefix {
		pattern = "^" + pattern
	}
	if c.match == find.Whole || c.match == find.Suffix {
		pattern += `\z`
	}
	r := bson.Regex{Pattern: pattern}
	if c.fold {
		r.Options = "i"
	}
	return r
}

// beyond returns the conditions for the records after the position. For each field of the order, and last for the key,
// there is an alternative with the position's values in the fields before it and a later value in it. A bound on the
// first field makes the server enter the index there.
func (p *plan) beyond() bson.A {
	var ranges, out bson.A
	var equal bson.D
	for i, t := range p.order {
		name, value := path(p.shape.fields[t.field].name), p.after.values[i]
		alternatives, bound := past(name, value, t.descending)
		if i == 0 && bound != nil {
			out = append(out, bound)
		}
		for _, a := range alternatives {
			ranges = append(ranges, append(slices.Clone(equal), a))
		}
		equal = append(equal, bson.E{Key: name, Value: value})
	}
	operator := "$gt"
	if p.last {
		operator = "$lt"
	}
	last := bson.E{Key: "_id", Value: bson.D{{Key: operator, Value: p.after.key}}}
	if len(p.order) == 0 {
		return bson.A{bson.D{last}}
	}
	return append(out, bson.D{{Key: "$or", Value: append(ranges, append(equal, last))}})
}

// past returns conditions on a field for the values after value, and a range that contains value and those after it.
// Absent values sort before all others, and no comparison with a value matches them.
func past(name string, value any, descending bool) (alternatives []bson.E, bound bson.D) {
	is := func(operator string) bson.E {
		return bson.E{Key: name, Value: bson.D{{Key: operator, Value: value}}}
	}
	switch {
	case value == nil && descending:
		return nil, bson.D{{Key: name, Value: nil}}
	case value == nil:
		return []bson.E{is("$ne")}, nil
	case descending:
		return []bson.E{is("$lt"), {Key: name, Value: nil}}, bson.D{{Key: name, Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$gt", Value: value}}}}}}
	}
	return []bson.E{is("$gt")}, bson.D{is("$gte")}
}
