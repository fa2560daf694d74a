package document

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
)

// mongoDocument is the part of a stored document that is read. A document has these fields:
//   - _id: the key of the record
//   - v: its version
//   - b: its body; a document without b is a tombstone, which is stored until its outbox is cleared
//   - f: the declared fields that the record has
//   - u: the values of each unique index, unless the record lacks one of them
//   - o: the outbox
//   - p: the time from which the outbox may be claimed
//   - c: the token of the claim
type mongoDocument struct {
	ID      string   `bson:"_id"`
	Version int64    `bson:"v"`
	Body    bson.Raw `bson:"b,omitempty"`
}

func (d *mongoDocument) record() *record { return &record{key: d.ID, version: d.Version, body: d.Body} }

// contents returns the fields of a document that a write replaces.
func contents(s *shape, r *record) bson.D {
	fields, unique := bson.D{}, bson.D{}
	for i, value := range r.fields {
		if list, ok := value.([]any); ok {
			fields = append(fields, bson.E{Key: s.fields[i].name, Value: bson.A(list)})
		} else if value != nil {
			fields = append(fields, bson.E{Key: s.fields[i].name, Value: value})
		}
	}
	for i := range s.indexes {
		ix := &s.indexes[i]
		if !ix.unique {
			continue
		}
		if entries := s.uniqueEntries(ix, r); len(entries) == 1 {
			unique = append(unique, bson.E{Key: ix.name, Value: entries[0]})
		} else if len(entries) > 1 {
			unique = append(unique, bson.E{Key: ix.name, Value: entries})
		}
	}
	return bson.D{{Key: "v", Value: r.version}, {Key: "b", Value: bson.Raw(r.body)}, {Key: "f", Value: fields}, {Key: "u", Value: unique}}
}

// uniqueEntries returns the values of a unique index: one document, one for each value of a multi-valued field, or none
// if the record lacks a field.
func (s *shape) uniqueEntries(ix *index, r *record) bson.A {
	entries := []bson.D{{}}
	for _, f := range ix.fields {
		values, list := r.fields[f].([]any)
		if !list {
			values = []any{r.fields[f]}
		}
		var longer []bson.D
		for _, entry := range entries {
			for _, value := range values {
				if value != nil {
					longer = append(longer, append(slices.Clone(entry), bson.E{Key: s.fields[f].name, Value: value}))
				}
			}
		}
		entries = longer
	}
	out := make(bson.A, len(entries))
	for i, entry := range entries {
		out[i] = entry
	}
	return out
}

// change returns the update that sets fields and appends entries. It does not lower a later p, which belongs to a
// claim.
func change(set bson.D, entries []entry) bson.D {
	update := bson.D{{Key: "$set", Value: set}}
	if len(entries) > 0 {
		update = append(update,
			bson.E{Key: "$push", Value: bson.D{{Key: "o", Value: bson.D{{Key: "$each", Value: entries}}}}},
			bson.E{Key: "$max", Value: bson.D{{Key: "p", Value: time.Now().UTC()}}})
	}
	return update
}

// bury returns the update that makes a document a tombstone.
func bury(version int64, entries []entry) bson.D {
	return append(change(bson.D{{Key: "v", Value: version}}, entries),
		unset("b", "f", "u"))
}

func (e *mongoEngine) load(ctx context.Context, s *shape, key string) (*record, error) {
	c, err := e.collection(s)
	if err != nil {
		return nil, err
	}
	var d mongoDocument
	err = c.FindOne(ctx, bson.D{{Key: "_id", Value: key}}, options.FindOne().SetProjection(bson.D{{Key: "v", Value: 1}, {Key: "b", Value: 1}})).Decode(&d)
	if errors.Is(err, mongo.ErrNoDocuments) || err == nil && d.Body == nil {
		return nil, nil
	}
	if err != nil {
		return nil, mongoError(err)
	}
	return d.record(), nil
}

func (e *mongoEngine) loadMany(ctx context.Context, s *shape, keys []string) ([]*record, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return e.records(ctx, s, bson.D{oneOfMany(keys), there("b", true)}, options.Find(), &filling{})
}

func (e *mongoEngine) records(ctx context.Context, s *shape, filter bson.D, how *options.FindOptionsBuilder, page *filling) ([]*record, error) {
	c, err := e.collection(s)
	if err != nil {
		return nil, err
	}
	cursor, err := c.Find(ctx, filter, how.SetProjection(bson.D{{Key: "v", Value: 1}, {Key: "b", Value: 1}}))
	if err != nil {
		return nil, mongoError(err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var out []*record
	for cursor.Next(ctx) {
		var d mongoDocument
		if err := cursor.Decode(&d); err != nil {
			return nil, mongoError(err)
		}
		out = append(out, d.record())
		if page.full(out[len(out)-1]) {
			break
		}
	}
	return out, mongoError(cursor.Err())
}

// mongoFind returns all results of a query.
func mongoFind[D any](ctx context.Context, c *mongo.Collection, filter bson.D, how *options.FindOptionsBuilder) ([]D, error) {
	var out []D
	cursor, err := c.Find(ctx, filter, how)
	if err == nil {
		err = cursor.All(ctx, &out)
	}
	return out, mongoError(err)
}

func (e *mongoEngine) insert(ctx context.Context, s *shape, r *record) error {
	c, err := e.collection(s)
	if err != nil {
		return err
	}
	d := append(bson.D{{Key: "_id", Value: r.key}}, contents(s, r)...)
	if len(r.entries) > 0 {
		d = append(d, bson.E{Key: "o", Value: r.entries}, bson.E{Key: "p", Value: time.Now().UTC()})
	}
	for try := 0; ; try++ {
		_, err = c.InsertOne(ctx, d)
		conflict, ok := errors.AsType[*conflictError](mongoError(err))
		if !ok || conflict.index != "" {
			return mongoError(err)
		}
		// It replaces a tombstone of the key.
		err = e.guarded(ctx, s, bson.D{{Key: "_id", Value: r.key}, there("b", false)}, change(contents(s, r), r.entries))
		if !errors.Is(err, errStale) {
			return err
		}
		// If the key was that of a tombstone, a relay may have removed it meanwhile. Then the key is free.
		found, err := e.load(ctx, s, r.key)
		if err != nil || found != nil || try == maxTries || !backoff(ctx, try) {
			return cmp.Or(err, ctx.Err(), error(conflict))
		}
	}
}

// maxTries bounds the repetitions of a write after a conflict that should not occur twice.
const maxTries = 10

func (e *mongoEngine) replace(ctx context.Context, s *shape, r *record, version int64) error {
	return e.guarded(ctx, s, bson.D{{Key: "_id", Value: r.key}, {Key: "v", Value: version}, there("b", true)}, change(contents(s, r), r.entries))
}

// guarded runs an update. It returns errStale if no document matches filter.
func (e *mongoEngine) guarded(ctx context.Context, s *shape, filter, update bson.D) error {
	c, err := e.collection(s)
	if err != nil {
		return err
	}
	result, err := c.UpdateOne(ctx, filter, update)
	if err != nil {
		return mongoError(err)
	}
	if result.MatchedCount == 0 {
		return errStale
	}
	return nil
}

func (e *mongoEngine) remove(ctx context.Context, s *shape, key string, version int64, entries []entry) error {
	at := bson.D{{Key: "_id", Value: key}, {Key: "v", Value: version}, there("b", true)}
	if len(entries) > 0 {
		return e.guarded(ctx, s, at, bury(version+1, entries))
	}
	c, err := e.collection(s)
	if err != nil {
		return err
	}
	result, err := c.DeleteOne(ctx, append(at, there("o", false)))
	if err != nil {
		return mongoError(err)
	}
	if result.DeletedCount == 1 {
		return nil
	}
	return e.guarded(ctx, s, append(at[:3:3], there("o", true)), bury(version+1, nil))
}

func (e *mongoEngine) replaceMany(ctx context.Context, s *shape, records []*record) error {
	c, err := e.collection(s)
	if err != nil {
		return err
	}
	models := make([]mongo.WriteModel, len(records))
	for i, r := range records {
		models[i] = mongo.NewUpdateOneModel().SetUpdate(change(contents(s, r), r.entries)).
			SetFilter(bson.D{{Key: "_id", Value: r.key}, {Key: "v", Value: r.version - 1}, there("b", true)})
	}
	result, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if err != nil {
		return mongoError(err)
	}
	if result.MatchedCount < int64(len(records)) {
		return errStale
	}
	return nil
}

func (e *mongoEngine) putMany(ctx context.Context, s *shape, records []*record) error {
	c, err := e.collection(s)
	if err != nil {
		return err
	}
	for try := 0; len(records) > 0; try++ {
		models := make([]mongo.WriteModel, len(records))
		for i, r := range records {
			models[i] = mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: r.key}}).
				SetUpdate(change(contents(s, r), nil)).SetUpsert(true)
		}
		_, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
		lost, err := duplicates(err)
		if err != nil {
			return err
		}
		// Another process has inserted these keys at the same time. The next try replaces its records.
		again := make([]*record, len(lost))
		for i, at := range lost {
			again[i] = records[at]
		}
		records = again
		if len(lost) > 0 && (try == maxTries || !backoff(ctx, try)) {
			return cmp.Or(ctx.Err(), error(&conflictError{err: errors.New("a key exists, but cannot be replaced")}))
		}
	}
	return nil
}

// duplicates returns the positions of the writes of a bulk whose key exists already. It returns any other error of the
// bulk.
func duplicates(err error) ([]int, error) {
	if err == nil {
		return nil, nil
	}
	bulk, ok := errors.AsType[mongo.BulkWriteException](err)
	if !ok || unconfirmed(err) {
		return nil, mongoError(err)
	}
	taken := make([]int, len(bulk.WriteErrors))
	for i, w := range bulk.WriteErrors {
		conflict, ok := errors.AsType[*conflictError](mongoError(w.WriteError))
		if !ok || conflict.index != "" {
			return nil, mongoError(w.WriteError)
		}
		taken[i] = w.Index
	}
	return taken, nil
}

func (e *mongoEngine) insertMany(ctx context.Context, s *shape, records []*record) ([]bool, error) {
	c, err := e.collection(s)
	if err != nil {
		return nil, err
	}
	documents := make([]any, len(records))
	isNew := make([]bool, len(records))
	for i, r := range records {
		documents[i] = append(bson.D{{Key: "_id", Value: r.key}}, contents(s, r)...)
		isNew[i] = true
	}
	_, err = c.InsertMany(ctx, documents, options.InsertMany().SetOrdered(false))
	taken, err := duplicates(err)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(taken))
	for at, i := range taken {
		keys[at], isNew[i] = records[i].key, false
	}
	found, err := e.loadMany(ctx, s, keys)
	if err != nil {
		return isNew, err
	}
	there := make(map[string]bool, len(found))
	for _, r := range found {
		there[r.key] = true
	}
	for _, i := range taken {
		if there[records[i].key] {
			continue
		}
		// The key is or was that of a tombstone.
		err := e.insert(ctx, s, records[i])
		if conflict, ok := errors.AsType[*conflictError](err); ok && conflict.index == "" {
			continue
		}
		if err != nil {
			return isNew, err
		}
		isNew[i] = true
	}
	return isNew, nil
}

func (e *mongoEngine) deleteSome(ctx context.Context, p *plan, limit int) (int64, error) {
	c, err := e.collection(p.shape)
	if err != nil {
		return 0, err
	}
	// A record that changes meanwhile is not deleted. So it ends when none is found, not when fewer are deleted than found.
	for deleted := int64(0); ; {
		found, err := mongoFind[mongoDocument](ctx, c, p.filter(), options.Find().SetHint(p.hint()).
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
		// The filter has the conditions again, because a record may have changed since.
		these := bson.D{oneOfMany(keys), {Key: "$and", Value: bson.A{p.filter(), bson.D{there("b", true)}}}}
		gone, err := c.DeleteMany(ctx, append(these[:2:2], there("o", false)))
		if err != nil {
			return deleted, mongoError(err)
		}
		deleted += gone.DeletedCount
		buried, err := c.UpdateMany(ctx, append(these[:2:2], there("o", true)), bury(rand.Int64N(1<<62), nil))
		if err != nil {
			return deleted, mongoError(err)
		}
		if deleted += buried.ModifiedCount; deleted >= int64(limit) {
			return deleted, nil
		}
	}
}
