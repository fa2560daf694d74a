package mongodb

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// query is a plan in the form of MongoDB.
type query struct{ *plan.Plan }

// Find returns the records of a page.
func (e *Engine) Find(ctx context.Context, asked *plan.Plan) ([]*engine.Record, error) {
	p := query{asked}
	how := options.Find().SetHint(p.hint()).SetSort(p.sort()).SetSkip(int64(p.Offset)).SetLimit(int64(p.Limit))
	if !p.Sorted {
		how.SetAllowDiskUse(true)
	}
	return e.records(ctx, p.Shape, p.filter(), how, &engine.Page{Limit: p.Bytes})
}

func (e *Engine) Keys(ctx context.Context, asked *plan.Plan, fields []int) ([][]any, error) {
	p := query{asked}
	c, err := e.collection(p.Shape)
	if err != nil {
		return nil, err
	}
	projection := bson.D{{Key: "_id", Value: 1}}
	for _, f := range slices.Compact(slices.Sorted(slices.Values(fields))) { // a server returns an error for a path that is named twice
		projection = append(projection, bson.E{Key: p.path(f), Value: 1})
	}
	found, err := findAll[struct {
		ID     string         `bson:"_id"`
		Fields map[string]any `bson:"f"`
	}](ctx, c, p.filter(), options.Find().SetHint(p.hint()).SetSort(p.sort()).SetSkip(int64(p.Offset)).SetLimit(int64(p.Limit)).SetProjection(projection))
	out := make([][]any, len(found))
	for i, one := range found {
		out[i] = append(out[i], one.ID)
		for _, f := range fields {
			out[i] = append(out[i], one.Fields[p.Shape.Fields[f].Name])
		}
	}
	return out, err
}

func (e *Engine) Count(ctx context.Context, asked *plan.Plan, distinct int) (int64, error) {
	p := query{asked}
	var steps mongo.Pipeline
	if p.Limit > 0 {
		steps = append(steps, bson.D{{Key: "$limit", Value: int64(p.Limit)}})
	}
	if distinct != plan.KeyField {
		steps = append(steps, bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$" + p.path(distinct)}}}},
			bson.D{{Key: "$match", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$ne", Value: nil}}}}}})
	}
	return e.aggregate(ctx, p, append(steps, bson.D{{Key: "$count", Value: "n"}}))
}

func (e *Engine) Sum(ctx context.Context, asked *plan.Plan, field int) (int64, error) {
	p := query{asked}
	total := bson.D{{Key: "_id", Value: nil}, {Key: "n", Value: bson.D{{Key: "$sum", Value: "$" + p.path(field)}}}}
	return e.aggregate(ctx, p, mongo.Pipeline{{{Key: "$group", Value: total}}})
}

// aggregate runs the steps of a pipeline over the records of the plan, and returns the field n of the only result.
// Without a result it returns 0.
func (e *Engine) aggregate(ctx context.Context, p query, steps mongo.Pipeline) (int64, error) {
	c, err := e.collection(p.Shape)
	if err != nil {
		return 0, err
	}
	steps = append(mongo.Pipeline{{{Key: "$match", Value: p.filter()}}}, steps...)
	cursor, err := c.Aggregate(ctx, steps, options.Aggregate().SetHint(p.hint()))
	if err != nil {
		return 0, classified(err)
	}
	var result []struct {
		N int64 `bson:"n"`
	}
	if err := cursor.All(ctx, &result); err != nil || len(result) == 0 {
		return 0, classified(err)
	}
	return result[0].N, nil
}

// hint returns the name of the chosen index. The hint prevents that the server chooses another index.
func (p query) hint() string {
	if p.Index == nil {
		return "_id_"
	}
	return p.Index.Name
}

func (p query) sort() bson.D {
	return find.Values(p.Order, func(t plan.Term) bson.E { return bson.E{Key: p.path(t.Field), Value: sign(t.Descending)} })
}

func (p query) path(f int) string {
	if f == plan.KeyField {
		return "_id"
	}
	return path(p.Shape.Fields[f].Name)
}

func sign(descending bool) int {
	if descending {
		return -1
	}
	return 1
}

func (p query) filter() bson.D {
	var all bson.A
	for _, c := range p.Where {
		all = append(all, bson.D{p.match(c)})
	}
	// A tombstone has no fields, so it matches only if all conditions are for absent fields.
	if !slices.ContainsFunc(p.Where, func(c plan.Condition) bool { return c.Op != find.OpAbsent || !c.Absent }) {
		all = append(all, bson.D{there("b", true)})
	}
	if p.After != nil {
		all = append(all, p.following()...)
	}
	if len(all) == 1 {
		return all[0].(bson.D)
	}
	return bson.D{{Key: "$and", Value: all}}
}

func (p query) match(c plan.Condition) bson.E {
	name := p.path(c.Field)
	with := func(operator string) bson.E {
		return bson.E{Key: name, Value: bson.D{{Key: operator, Value: c.Values[0]}}}
	}
	switch c.Op {
	case find.OpAbsent:
		if c.Absent {
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
	case find.OpAll:
		return bson.E{Key: name, Value: bson.D{{Key: "$all", Value: bson.A(c.Values)}}}
	case find.OpText:
		return bson.E{Key: name, Value: regex(c)}
	}
	if len(c.Values) == 1 {
		return bson.E{Key: name, Value: c.Values[0]}
	}
	return bson.E{Key: name, Value: bson.D{{Key: "$in", Value: bson.A(c.Values)}}}
}

// regex returns a text condition as a regular expression. The end of the text is written as \z, because $ would also
// match before a final line break.
func regex(c plan.Condition) bson.Regex {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(c.Values[0].(string)), "\x00", `\x00`) // BSON ends an expression at a NUL
	if c.Match == find.Whole || c.Match == find.Prefix {
		pattern = "^" + pattern
	}
	if c.Match == find.Whole || c.Match == find.Suffix {
		pattern += `\z`
	}
	r := bson.Regex{Pattern: pattern}
	if c.Fold {
		r.Options = "i"
	}
	return r
}

// following returns the conditions for the records after the position. If the position excludes values of the first
// field of the order, one condition bounds this field, so that the server starts at the position in the index.
func (p query) following() bson.A {
	var ranges bson.A
	for _, conditions := range p.Beyond() {
		ranges = append(ranges, bson.D(find.Values(conditions, p.match)))
	}
	if len(ranges) == 1 {
		return ranges
	}
	first, name, value := p.Order[0], p.path(p.Order[0].Field), p.After[0]
	out := bson.A{bson.D{{Key: "$or", Value: ranges}}}
	switch {
	case value == nil && first.Descending:
		return append(out, bson.D{{Key: name, Value: nil}})
	case value == nil:
		return out
	case first.Descending: // no comparison with a value matches absent values
		return append(out, bson.D{{Key: name, Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$gt", Value: value}}}}}})
	}
	return append(out, bson.D{{Key: name, Value: bson.D{{Key: "$gte", Value: value}}}})
}
