package document

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// outboxIndex is the index of the documents with waiting messages.
const outboxIndex = ".outbox"

// migrationTime bounds a migration, which may build large indexes.
const migrationTime = time.Hour

// migrate runs steps that can be repeated, also beside other processes. It computes fields of a record only while the
// record has the version that was read, and stores the declaration only after that.
func (e *mongoEngine) migrate(ctx context.Context, shapes []*shape) error {
	db, err := e.connect()
	if err != nil {
		return err
	}
	if err := e.ping(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, migrationTime)
	defer cancel()
	if err := e.markFormat(ctx, db); err != nil {
		return err
	}
	if _, err := db.Collection(doubtsName).Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "since", Value: 1}}}); err != nil {
		return mongoError(err)
	}
	for _, s := range shapes {
		c := db.Collection(s.name)
		wanted := s.mongoIndexes()
		err := e.dropIndexes(ctx, c, wanted)
		if err == nil {
			err = e.backfill(ctx, db, s)
		}
		if err == nil {
			err = e.createIndexes(ctx, c, wanted)
		}
		if err != nil {
			return fmt.Errorf("collection %s: %w", s.name, err)
		}
	}
	return nil
}

type mongoIndex struct {
	Name   string `bson:"name"`
	Key    bson.D `bson:"key"`
	Unique bool   `bson:"unique"`
	Sparse bool   `bson:"sparse"` // documents without the value are not in it
}

// mongoIndexes returns the indexes that the declaration needs. Each index ends with the key. A unique index has a second
// one that enforces it, over a value that a record without one of the fields lacks.
func (s *shape) mongoIndexes() []mongoIndex {
	out := []mongoIndex{{Name: outboxIndex, Key: bson.D{{Key: "p", Value: 1}}, Sparse: true}}
	for i := range s.indexes {
		ix := &s.indexes[i]
		keys := bson.D{}
		for _, f := range ix.fields {
			keys = append(keys, bson.E{Key: path(s.fields[f].name), Value: 1})
		}
		out = append(out, mongoIndex{Name: ix.name, Key: append(keys, bson.E{Key: "_id", Value: 1})})
		if ix.unique {
			out = append(out, mongoIndex{Name: ix.name + uniqueSuffix, Key: bson.D{{Key: uniquePath + ix.name, Value: 1}}, Unique: true, Sparse: true})
		}
	}
	return out
}

// definition returns the index as a text. Servers return directions in different number types, which this text hides.
func (x mongoIndex) definition() string { return fmt.Sprint([]bson.E(x.Key), x.Unique, x.Sparse) }

const (
	codeNamespaceNotFound = 26
	codeIndexNotFound     = 27
)

func hasCode(err error, code int) bool {
	server, ok := errors.AsType[mongo.ServerError](err)
	return ok && server.HasErrorCode(code)
}

// dropIndexes drops the indexes that are not declared or have another definition.
func (e *mongoEngine) dropIndexes(ctx context.Context, c *mongo.Collection, wanted []mongoIndex) error {
	cursor, err := c.Indexes().List(ctx)
	if hasCode(err, codeNamespaceNotFound) {
		return nil
	}
	if err != nil {
		return mongoError(err)
	}
	var stored []mongoIndex
	if err := cursor.All(ctx, &stored); err != nil {
		return mongoError(err)
	}
	declared := make(map[string]mongoIndex, len(wanted))
	for _, w := range wanted {
		declared[w.Name] = w
	}
	for _, have := range stored {
		w, ok := declared[have.Name]
		if have.Name == "_id_" || ok && have.definition() == w.definition() {
			continue
		}
		if ok {
			// It drops by the former keys, because another process may have created the new index of this name meanwhile.
			err = c.Indexes().DropWithKey(ctx, have.Key)
		} else {
			err = c.Indexes().DropOne(ctx, have.Name)
		}
		if err != nil && !hasCode(err, codeIndexNotFound) {
			return mongoError(err)
		}
	}
	return nil
}

func (e *mongoEngine) createIndexes(ctx context.Context, c *mongo.Collection, wanted []mongoIndex) error {
	models := make([]mongo.IndexModel, len(wanted))
	for i, w := range wanted {
		how := options.Index().SetName(w.Name)
		if w.Unique {
			how.SetUnique(true)
		}
		if w.Sparse {
			how.SetSparse(true)
		}
		models[i] = mongo.IndexModel{Keys: w.Key, Options: how}
	}
	_, err := c.Indexes().CreateMany(ctx, models)
	return storedViolate(err)
}

// storedViolate turns a conflict into an error about stored records.
func storedViolate(err error) error {
	err = mongoError(err)
	if conflict, ok := errors.AsType[*conflictError](err); ok {
		return fmt.Errorf("stored records violate %s: %w", conflict.index, conflict.err)
	}
	return err
}

// mongoDeclaration is the stored declaration of a collection at its last migration.
type mongoDeclaration struct {
	Fields []declaredField `bson:"fields"`
	Unique []string        `bson:"unique"`
}

// uniques describes the unique indexes, on which the values of u depend.
func (s *shape) uniques() []string {
	out := []string{}
	for i := range s.indexes {
		if s.indexes[i].unique {
			out = append(out, s.indexes[i].name+":"+strings.Join(s.names(s.indexes[i].fields), ","))
		}
	}
	return out
}

func (e *mongoEngine) backfill(ctx context.Context, db *mongo.Database, s *shape) error {
	id := bson.D{{Key: "_id", Value: s.name}}
	var stored mongoDeclaration
	err := db.Collection(declarations).FindOne(ctx, id).Decode(&stored)
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return mongoError(err)
	}
	if s.outdated(stored.Fields) || !slices.Equal(stored.Unique, s.uniques()) {
		if err := e.refill(ctx, db.Collection(s.name), s); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		_, err = db.Collection(declarations).UpdateOne(ctx, id,
			bson.D{{Key: "$set", Value: mongoDeclaration{Fields: s.declaration(), Unique: s.uniques()}}}, options.UpdateOne().SetUpsert(true))
		if !mongo.IsDuplicateKeyError(err) || try == maxTries || !backoff(ctx, try) { // another process creates the document
			return mongoError(err)
		}
	}
}

func (e *mongoEngine) refill(ctx context.Context, c *mongo.Collection, s *shape) error {
	cursor, err := c.Find(ctx, bson.D{there("b", true)}, options.Find().SetProjection(bson.D{{Key: "v", Value: 1}, {Key: "b", Value: 1}}))
	if err != nil {
		return mongoError(err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var models []mongo.WriteModel
	flush := func() error {
		if len(models) == 0 {
			return nil
		}
		_, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
		models = nil
		return storedViolate(err)
	}
	for cursor.Next(ctx) {
		var d mongoDocument
		if err := cursor.Decode(&d); err != nil {
			return err
		}
		r := d.record()
		if r.fields, err = s.refield(r.body); err != nil {
			return fmt.Errorf("record %s: %w", r.key, err)
		}
		// The version stays the same. If another writer replaces the record meanwhile, that write computes the fields.
		models = append(models, mongo.NewUpdateOneModel().
			SetFilter(bson.D{{Key: "_id", Value: r.key}, {Key: "v", Value: r.version}}).
			SetUpdate(bson.D{{Key: "$set", Value: contents(s, r)[2:]}}))
		if len(models) == batchSize {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := cursor.Err(); err != nil {
		return mongoError(err)
	}
	return flush()
}
