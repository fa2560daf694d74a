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
	return e.records(ctx, p.shape, p.filter(), how, &filling{limit: p.bytes})
}

func (e *mongoEngine) keys(ctx context.Context, p *plan, fields []int) ([][]any, error) {
	c, err := e.collection(p.shape)
	if err != nil {
		return nil, err
	}
	projection := bson.D{{Key: "_id", Value: 1}}
	for _, f := range slices.Compact(slices.Sorted(slices.Values(fields))) { // a server refuses a path that is named twice
		projection = append(projection, bson.E{Key: p.path(f), Value: 1})
	}
	found, err := mongoFind[struct {
		ID     string         `bson:"_id"`
		Fields map[string]any `bson:"f"`
	}](ctx, c, p.filter(), options.Find().SetHint(p.hint()).SetSort(p.sort()).SetSkip(int64(p.offset)).SetLimit(int64(p.limit)).SetProjection(projection))
	out := make([][]any, len(found))
	for i, one := range found {
		out[i] = append(out[i], one.ID)
		for _, f := range fields {
			out[i] = append(out[i], one.Fields[p.shape.fields[f].name])
		}
	}
	return out, err
}

func (e *mongoEngine) count(ctx context.Context, p *plan, distinct int) (int64, error) {
	var steps mongo.Pipeline
	if distinct != keyField {
		steps = append(steps, bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$" + p.path(distinct)}}}},
			bson.D{{Key: "$match", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$ne", Value: nil}}}}}})
	}
	return e.aggregate(ctx, p, append(steps, bson.D{{Key: "$count", Value: "n"}}))
}

func (e *mongoEngine) sum(ctx context.Context, p *plan, field int) (int64, error) {
	total := bson.D{{Key: "_id", Value: nil}, {Key: "n", Value: bson.D{{Key: "$sum", Value: "$" + p.path(field)}}}}
	return e.aggregate(ctx, p, mongo.Pipeline{{{Key: "$group", Value: total}}})
}

// aggregate returns the n that the steps compute from the records of the plan, or 0 without a result.
func (e *mongoEngine) aggregate(ctx context.Context, p *plan, steps mongo.Pipeline) (int64, error) {
	c, err := e.collection(p.shape)
	if err != nil {
		return 0, err
	}
	steps = append(mongo.Pipeline{{{Key: "$match", Value: p.filter()}}}, steps...)
	cursor, err := c.Aggregate(ctx, steps, options.Aggregate().SetHint(p.hint()))
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
		out = append(out, bson.E{Key: p.path(t.field), Value: sign(t.descending)})
	}
	return out
}

func (p *plan) path(f int) string {
	if f == keyField {
		return "_id"
	}
	return path(p.shape.fields[f].name)
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
		all = append(all, p.following()...)
	}
	if len(all) == 1 {
		return all[0].(bson.D)
	}
	return bson.D{{Key: "$and", Value: all}}
}

func (p *plan) match(c condition) bson.E {
	name := p.path(c.field)
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

// following returns the conditions for the records after the position. One of them bounds the first field of the order,
// which makes the server enter the index there.
func (p *plan) following() bson.A {
	var ranges bson.A
	for _, conditions := range p.beyond() {
		var all bson.D
		for _, c := range conditions {
			all = append(all, p.match(c))
		}
		ranges = append(ranges, all)
	}
	if len(ranges) == 1 {
		return ranges
	}
	first, name, value := p.order[0], p.path(p.order[0].field), p.after[0]
	out := bson.A{bson.D{{Key: "$or", Value: ranges}}}
	switch {
	case value == nil && first.descending:
		return append(out, bson.D{{Key: name, Value: nil}})
	case value == nil:
		return out
	case first.descending: // no comparison with a value matches absent values
		return append(out, bson.D{{Key: name, Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$gt", Value: value}}}}}})
	}
	return append(out, bson.D{{Key: name, Value: bson.D{{Key: "$gte", Value: value}}}})
}
