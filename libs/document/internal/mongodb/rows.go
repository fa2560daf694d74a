package mongodb

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// document is the part of a stored document that is read. A document has these fields:
//   - _id: the key of the record
//   - v: its version
//   - b: its body; a document without b is a tombstone, which is stored until its outbox is cleared
//   - f: the declared fields that the record has, and the stamp of their declaration
//   - u: the values of each unique index, unless the record lacks a field of the index
//   - o: the outbox
//   - p: the time from which the outbox may be claimed
//   - w: Engine.id of the last process that added to the outbox
//   - c: the token of the claim
type document struct {
	ID      string   `bson:"_id"`
	Version int64    `bson:"v"`
	Body    bson.Raw `bson:"b,omitempty"`
}

// stampName is the member of f with the stamp. No field has this name, because the name of a field is an identifier.
const stampName = "~"

func (d *document) record() *engine.Record {
	return &engine.Record{Key: d.ID, Version: d.Version, Body: d.Body}
}

// contents returns the fields v, b, f and u of a document, which a write replaces.
func contents(s *plan.Shape, r *engine.Record) bson.D {
	fields, unique := bson.D{}, bson.D{}
	for i, value := range r.Fields {
		if list, ok := value.([]any); ok {
			fields = append(fields, bson.E{Key: s.Fields[i].Name, Value: bson.A(list)})
		} else if value != nil {
			fields = append(fields, bson.E{Key: s.Fields[i].Name, Value: value})
		}
	}
	for i := range s.Indexes {
		ix := &s.Indexes[i]
		if !ix.Unique {
			continue
		}
		if entries := uniqueEntries(s, ix, r); len(entries) == 1 {
			unique = append(unique, bson.E{Key: ix.Name, Value: entries[0]})
		} else if len(entries) > 1 {
			unique = append(unique, bson.E{Key: ix.Name, Value: entries})
		}
	}
	// Each writer replaces f as a whole, so the stamp is that of the last writer.
	fields = append(fields, bson.E{Key: stampName, Value: s.Stamp})
	return bson.D{{Key: "v", Value: r.Version}, {Key: "b", Value: bson.Raw(r.Body)}, {Key: "f", Value: fields}, {Key: "u", Value: unique}}
}

// uniqueEntries returns the values of a unique index for a record: one document, or one for each value of a
// multi-valued field. It returns none if the record lacks a field of the index.
func uniqueEntries(s *plan.Shape, ix *plan.Index, r *engine.Record) bson.A {
	entries := []bson.D{{}}
	for _, f := range ix.Fields {
		values, list := r.Fields[f].([]any)
		if !list {
			values = []any{r.Fields[f]}
		}
		var longer []bson.D
		for _, entry := range entries {
			for _, value := range values {
				if value != nil {
					longer = append(longer, append(slices.Clone(entry), bson.E{Key: s.Fields[f].Name, Value: value}))
				}
			}
		}
		entries = longer
	}
	return find.Values(entries, func(entry bson.D) any { return entry })
}

// change returns the update that sets the fields in set and appends entries. It does not replace a later time in the field p,
// because that is the end of a claim.
func (e *Engine) change(set bson.D, entries []engine.Entry) bson.D {
	if len(entries) > 0 {
		set = append(set, bson.E{Key: "w", Value: e.id})
	}
	update := bson.D{{Key: "$set", Value: set}}
	if len(entries) > 0 {
		update = append(update,
			bson.E{Key: "$push", Value: bson.D{{Key: "o", Value: bson.D{{Key: "$each", Value: entries}}}}},
			bson.E{Key: "$max", Value: bson.D{{Key: "p", Value: time.Now().UTC()}}})
	}
	return update
}

// waiting returns the fields o, p and w of a new document with entries.
func (e *Engine) waiting(entries []engine.Entry) bson.D {
	return bson.D{{Key: "o", Value: entries}, {Key: "p", Value: time.Now().UTC()}, {Key: "w", Value: e.id}}
}

// tombstone returns the update that turns a document into a tombstone.
func (e *Engine) tombstone(version int64, entries []engine.Entry) bson.D {
	return append(e.change(bson.D{{Key: "v", Value: version}}, entries),
		unset("b", "f", "u"))
}

func (e *Engine) Load(ctx context.Context, s *plan.Shape, key string) (*engine.Record, error) {
	c, err := e.collection(s)
	if err != nil {
		return nil, err
	}
	var d document
	err = c.FindOne(ctx, bson.D{{Key: "_id", Value: key}}, options.FindOne().SetProjection(bson.D{{Key: "v", Value: 1}, {Key: "b", Value: 1}})).Decode(&d)
	if errors.Is(err, mongo.ErrNoDocuments) || err == nil && d.Body == nil {
		return nil, nil
	}
	if err != nil {
		return nil, classified(err)
	}
	return d.record(), nil
}

func (e *Engine) LoadMany(ctx context.Context, s *plan.Shape, keys []string) ([]*engine.Record, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return e.records(ctx, s, bson.D{oneOfMany(keys), there("b", true)}, options.Find(), &engine.Page{})
}

func (e *Engine) records(ctx context.Context, s *plan.Shape, filter bson.D, how *options.FindOptionsBuilder, page *engine.Page) ([]*engine.Record, error) {
	c, err := e.collection(s)
	if err != nil {
		return nil, err
	}
	cursor, err := c.Find(ctx, filter, how.SetProjection(bson.D{{Key: "v", Value: 1}, {Key: "b", Value: 1}}))
	if err != nil {
		return nil, classified(err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var out []*engine.Record
	for cursor.Next(ctx) {
		var d document
		if err := cursor.Decode(&d); err != nil {
			return nil, classified(err)
		}
		out = append(out, d.record())
		if page.Full(out[len(out)-1]) {
			break
		}
	}
	return out, classified(cursor.Err())
}

// findAll returns all results of a query.
func findAll[D any](ctx context.Context, c *mongo.Collection, filter bson.D, how *options.FindOptionsBuilder) ([]D, error) {
	var out []D
	cursor, err := c.Find(ctx, filter, how)
	if err == nil {
		err = cursor.All(ctx, &out)
	}
	return out, classified(err)
}

func (e *Engine) Insert(ctx context.Context, s *plan.Shape, r *engine.Record) error {
	c, err := e.collection(s)
	if err != nil {
		return err
	}
	d := append(bson.D{{Key: "_id", Value: r.Key}}, contents(s, r)...)
	if len(r.Entries) > 0 {
		d = append(d, e.waiting(r.Entries)...)
	}
	for try := 0; ; try++ {
		_, err = c.InsertOne(ctx, d)
		conflict, ok := errors.AsType[*engine.ConflictError](classified(err))
		if !ok || conflict.Index != "" {
			return classified(err)
		}
		// If the key belongs to a tombstone, the new record replaces the tombstone.
		err = e.guarded(ctx, s, bson.D{{Key: "_id", Value: r.Key}, there("b", false)}, e.change(contents(s, r), r.Entries))
		if !errors.Is(err, engine.ErrStale) {
			return err
		}
		// There was a document with the key, but no tombstone to replace. A relay may have removed the tombstone in
		// between. Then the key is free, and the insert is tried again.
		found, err := e.Load(ctx, s, r.Key)
		if err != nil || found != nil || try == maxTries || !engine.Backoff(ctx, try) {
			return cmp.Or(err, ctx.Err(), error(conflict))
		}
	}
}

// maxTries bounds the number of tries of a write whose conflict should not occur again.
const maxTries = 10

func (e *Engine) Replace(ctx context.Context, s *plan.Shape, r *engine.Record, version int64) error {
	return e.guarded(ctx, s, bson.D{{Key: "_id", Value: r.Key}, {Key: "v", Value: version}, there("b", true)}, e.change(contents(s, r), r.Entries))
}

// guarded runs an update. It returns engine.ErrStale if no document matches filter.
func (e *Engine) guarded(ctx context.Context, s *plan.Shape, filter, update bson.D) error {
	c, err := e.collection(s)
	if err != nil {
		return err
	}
	result, err := c.UpdateOne(ctx, filter, update)
	if err != nil {
		return classified(err)
	}
	if result.MatchedCount == 0 {
		return engine.ErrStale
	}
	return nil
}

func (e *Engine) Remove(ctx context.Context, s *plan.Shape, key string, version int64, entries []engine.Entry) error {
	at := bson.D{{Key: "_id", Value: key}, {Key: "v", Value: version}, there("b", true)}
	if len(entries) > 0 {
		return e.guarded(ctx, s, at, e.tombstone(version+1, entries))
	}
	c, err := e.collection(s)
	if err != nil {
		return err
	}
	result, err := c.DeleteOne(ctx, append(at, there("o", false)))
	if err != nil {
		return classified(err)
	}
	if result.DeletedCount == 1 {
		return nil
	}
	return e.guarded(ctx, s, append(at[:3:3], there("o", true)), e.tombstone(version+1, nil))
}

func (e *Engine) ReplaceMany(ctx context.Context, s *plan.Shape, records []*engine.Record) error {
	c, err := e.collection(s)
	if err != nil {
		return err
	}
	models := find.Values(records, func(r *engine.Record) mongo.WriteModel {
		return mongo.NewUpdateOneModel().SetUpdate(e.change(contents(s, r), r.Entries)).
			SetFilter(bson.D{{Key: "_id", Value: r.Key}, {Key: "v", Value: r.Version - 1}, there("b", true)})
	})
	result, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if err != nil {
		return classified(err)
	}
	if result.MatchedCount < int64(len(records)) {
		return engine.ErrStale
	}
	return nil
}

func (e *Engine) WriteMany(ctx context.Context, s *plan.Shape, writes []engine.Write) error {
	c, err := e.collection(s)
	if err != nil {
		return err
	}
	// The first write is made alone, so that no write is made if the first one fails.
	if err := e.bulkWrite(ctx, c, s, writes[:1]); err != nil || len(writes) == 1 {
		return err
	}
	if err := e.bulkWrite(ctx, c, s, writes[1:]); err != nil {
		return errors.Join(find.ErrPartlyWritten, err)
	}
	return nil
}

func (e *Engine) bulkWrite(ctx context.Context, c *mongo.Collection, s *plan.Shape, writes []engine.Write) error {
	guarded := int64(0)
	models := make([]mongo.WriteModel, len(writes))
	for i := range writes {
		r := &writes[i].Record
		if writes[i].Before == 0 {
			// The key belongs to no tombstone, because the key of a record that is inserted is new.
			d := append(bson.D{{Key: "_id", Value: r.Key}}, contents(s, r)...)
			models[i] = mongo.NewInsertOneModel().SetDocument(append(d, e.waiting(r.Entries)...))
			continue
		}
		guarded++
		update := e.tombstone(r.Version, r.Entries)
		if r.Body != nil {
			update = e.change(contents(s, r), r.Entries)
		}
		models[i] = mongo.NewUpdateOneModel().SetUpdate(update).
			SetFilter(bson.D{{Key: "_id", Value: r.Key}, {Key: "v", Value: writes[i].Before}, there("b", true)})
	}
	result, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if err != nil {
		return classified(err)
	}
	if result.MatchedCount < guarded {
		return engine.ErrStale
	}
	return nil
}

func (e *Engine) PutMany(ctx context.Context, s *plan.Shape, records []*engine.Record) error {
	c, err := e.collection(s)
	if err != nil {
		return err
	}
	for try := 0; len(records) > 0; try++ {
		models := find.Values(records, func(r *engine.Record) mongo.WriteModel {
			return mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: r.Key}}).
				SetUpdate(e.change(contents(s, r), nil)).SetUpsert(true)
		})
		_, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
		lost, err := duplicates(err)
		if err != nil {
			return err
		}
		// Another process has inserted these keys at the same time. The next try replaces its records.
		records = find.Values(lost, func(at int) *engine.Record { return records[at] })
		if len(lost) > 0 && (try == maxTries || !engine.Backoff(ctx, try)) {
			return cmp.Or(ctx.Err(), error(&engine.ConflictError{Err: errors.New("a key exists, but cannot be replaced")}))
		}
	}
	return nil
}

// duplicates returns the positions of the writes in a bulk write that failed. It returns as err the first error that is
// another one than that the key exists already. The positions are nil if the result of the bulk write is not known.
func duplicates(err error) ([]int, error) {
	if err == nil {
		return nil, nil
	}
	bulk, ok := errors.AsType[mongo.BulkWriteException](err)
	if !ok || unconfirmed(err) {
		return nil, classified(err)
	}
	failed, err := make([]int, len(bulk.WriteErrors)), nil
	for i, w := range bulk.WriteErrors {
		conflict, ok := errors.AsType[*engine.ConflictError](classified(w.WriteError))
		if err == nil && (!ok || conflict.Index != "") {
			err = classified(w.WriteError)
		}
		failed[i] = w.Index
	}
	return failed, err
}

func (e *Engine) InsertMany(ctx context.Context, s *plan.Shape, records []*engine.Record) ([]bool, error) {
	c, err := e.collection(s)
	if err != nil {
		return nil, err
	}
	documents := make([]any, len(records))
	isNew := make([]bool, len(records))
	for i, r := range records {
		documents[i] = append(bson.D{{Key: "_id", Value: r.Key}}, contents(s, r)...)
		isNew[i] = true
	}
	_, err = c.InsertMany(ctx, documents, options.InsertMany().SetOrdered(false))
	taken, err := duplicates(err)
	if err != nil && taken == nil {
		return nil, err
	}
	keys := make([]string, len(taken))
	for at, i := range taken {
		keys[at], isNew[i] = records[i].Key, false
	}
	if err != nil {
		return isNew, err
	}
	found, err := e.LoadMany(ctx, s, keys)
	if err != nil {
		return isNew, err
	}
	there := make(map[string]bool, len(found))
	for _, r := range found {
		there[r.Key] = true
	}
	for _, i := range taken {
		if there[records[i].Key] {
			continue
		}
		// A tombstone has the key, or had it until now. Insert handles both cases.
		err := e.Insert(ctx, s, records[i])
		if conflict, ok := errors.AsType[*engine.ConflictError](err); ok && conflict.Index == "" {
			continue
		}
		if err != nil {
			return isNew, err
		}
		isNew[i] = true
	}
	return isNew, nil
}

func (e *Engine) DeleteSome(ctx context.Context, asked *plan.Plan, limit int) (int64, error) {
	p := query{asked}
	c, err := e.collection(p.Shape)
	if err != nil {
		return 0, err
	}
	// A record that changes after the search, so that the query does not match any more, is not deleted. So the loop
	// ends when no record is found, and not when fewer records were deleted than found.
	for deleted := int64(0); ; {
		found, err := findAll[document](ctx, c, p.filter(), options.Find().SetHint(p.hint()).
			SetProjection(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(limit)-deleted))
		if err != nil {
			return deleted, err
		}
		if len(found) == 0 {
			return deleted, nil
		}
		keys := make([]string, len(found))
		for i := range found {
			keys[i] = found[i].ID
		}
		// The filter repeats the conditions of the query, because a record may have changed since the search.
		these := bson.D{oneOfMany(keys), {Key: "$and", Value: bson.A{p.filter(), bson.D{there("b", true)}}}}
		gone, err := c.DeleteMany(ctx, append(these[:2:2], there("o", false)))
		if err != nil {
			return deleted, classified(err)
		}
		deleted += gone.DeletedCount
		buried, err := c.UpdateMany(ctx, append(these[:2:2], there("o", true)), e.tombstone(rand.Int64N(1<<62), nil))
		if err != nil {
			return deleted, classified(err)
		}
		if deleted += buried.ModifiedCount; deleted >= int64(limit) {
			return deleted, nil
		}
	}
}
