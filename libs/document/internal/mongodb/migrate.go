package mongodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// outboxIndex is the name of the index of the documents with waiting messages.
const outboxIndex = ".outbox"

// migrationTime bounds a migration, which may build large indexes.
const migrationTime = time.Hour

// Migrate runs steps that can be repeated, also while other processes run them. It writes the computed fields of a
// record only while the record has the version that was read. It stores the new declaration when all fields are
// written.
//
// Processes of the former version serve until the new ones do. So Migrate keeps an undeclared index for upgradeTime,
// unless the index is in the way of a declared one (see dropIndexes). The records that the former processes write do
// not have the new stamp, so Settle finds them.
func (e *Engine) Migrate(ctx context.Context, shapes []*plan.Shape) error {
	db, err := e.connect()
	if err != nil {
		return err
	}
	if err := e.Ping(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, migrationTime)
	defer cancel()
	if err := e.markFormat(ctx, db); err != nil {
		return err
	}
	if _, err := db.Collection(repetitions).Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "since", Value: 1}}}); err != nil {
		return classified(err)
	}
	for _, s := range shapes {
		c := db.Collection(s.Name)
		wanted := indexesOf(s)
		err := e.backfill(ctx, db, s, wanted)
		if err == nil {
			err = e.dropIndexes(ctx, db, s, wanted, false)
		}
		if err == nil {
			err = e.createIndexes(ctx, c, wanted)
		}
		if err != nil {
			return fmt.Errorf("collection %s: %w", s.Name, err)
		}
	}
	return nil
}

// ShardKey returns the shard key of a collection, or nil if the collection stays on one shard.
func ShardKey(s *plan.Shape) bson.D {
	switch {
	case s.Shard.ByKey:
		return bson.D{{Key: "_id", Value: "hashed"}}
	case s.Shard.ByField:
		return bson.D{{Key: path(s.Fields[s.Shard.Field].Name), Value: 1}, {Key: "_id", Value: 1}}
	}
	return nil
}

type index struct {
	Name   string `bson:"name"`
	Key    bson.D `bson:"key"`
	Unique bool   `bson:"unique"`
	Sparse bool   `bson:"sparse"` // the index omits documents without the value
}

// indexesOf returns the indexes that the declaration needs. Each index for queries ends with the key. Each unique
// index has a second, sparse index that enforces uniqueness. It is over a value (field u of document) that combines
// the fields of the index. A record that lacks one of the fields has no such value, so it is not in the second index.
func indexesOf(s *plan.Shape) []index {
	out := []index{{Name: outboxIndex, Key: bson.D{{Key: "p", Value: 1}}, Sparse: true}}
	for i := range s.Indexes {
		ix := &s.Indexes[i]
		keys := find.Values(ix.Fields, func(f int) bson.E { return bson.E{Key: path(s.Fields[f].Name), Value: 1} })
		out = append(out, index{Name: ix.Name, Key: append(keys, bson.E{Key: "_id", Value: 1})})
		if ix.Unique {
			out = append(out, index{Name: ix.Name + uniqueSuffix, Key: bson.D{{Key: uniquePath + ix.Name, Value: 1}}, Unique: true, Sparse: true})
		}
	}
	return out
}

// definition returns the index as a text. Servers return directions in different number types, which this text hides.
func (x index) definition() string { return fmt.Sprint([]bson.E(x.Key), x.Unique, x.Sparse) }

const (
	codeNamespaceNotFound = 26
	codeIndexNotFound     = 27
)

func hasCode(err error, code int) bool {
	server, ok := errors.AsType[mongo.ServerError](err)
	return ok && server.HasErrorCode(code)
}

// upgradeTime is longer than the time in which all processes are replaced by those of a new version.
const upgradeTime = 24 * time.Hour

// unused is an undeclared index, with the time at which Migrate first found it undeclared.
type unused struct {
	Name  string    `bson:"name"`
	Since time.Time `bson:"since"`
}

// dropIndexes drops the indexes that have been undeclared for upgradeTime. It drops an index at once if the index has the
// name of a declared index and another definition, or the fields of a declared index and another name. If refusing is true,
// it drops at once the undeclared indexes that refuse records with the declared fields, and no others. It keeps the index of
// the shard key, which a sharded collection needs and the operator creates.
func (e *Engine) dropIndexes(ctx context.Context, db *mongo.Database, s *plan.Shape, wanted []index, refusing bool) error {
	c := db.Collection(s.Name)
	cursor, err := c.Indexes().List(ctx)
	if hasCode(err, codeNamespaceNotFound) {
		return nil
	}
	if err != nil {
		return classified(err)
	}
	var stored []index
	if err := cursor.All(ctx, &stored); err != nil {
		return classified(err)
	}
	former, err := e.declared(ctx, db, s)
	if err != nil {
		return err
	}
	declared, sharding := find.Index(wanted, func(w index) string { return w.Name }), index{Key: ShardKey(s)}.definition()
	kept := []unused{}
	for _, have := range stored {
		w, ok := declared[have.Name]
		if have.Name == "_id_" || have.definition() == sharding || ok && have.definition() == w.definition() {
			continue
		}
		if refusing && !have.refuses(s) {
			continue
		}
		inTheWay := slices.ContainsFunc(wanted, func(w index) bool { return w.Name == have.Name || fmt.Sprint(w.Key) == fmt.Sprint(have.Key) })
		if one := former.unused(have.Name); !refusing && !inTheWay && time.Since(one.Since) < upgradeTime {
			kept = append(kept, one)
			continue
		}
		if ok {
			// Drop the index by its keys and not by its name, because another process may have created the new index with
			// this name meanwhile.
			err = c.Indexes().DropWithKey(ctx, have.Key)
		} else {
			err = c.Indexes().DropOne(ctx, have.Name)
		}
		if err != nil && !hasCode(err, codeIndexNotFound) {
			return classified(err)
		}
	}
	if refusing || slices.Equal(kept, former.Unused) {
		return nil
	}
	_, err = db.Collection(declarations).UpdateByID(ctx, s.Name, bson.D{{Key: "$set", Value: bson.D{{Key: "unused", Value: kept}}}})
	return classified(err)
}

// unused returns the stored entry of the index in d.Unused, or a new entry with the current time.
func (d *declaration) unused(name string) unused {
	for _, one := range d.Unused {
		if one.Name == name {
			return one
		}
	}
	return unused{name, time.Now().UTC().Truncate(time.Millisecond)}
}

// refuses reports whether the index refuses records, because several of its fields are multi-valued now.
func (x index) refuses(s *plan.Shape) bool {
	lists := 0
	for _, key := range x.Key {
		if at := s.Field(strings.TrimPrefix(key.Key, path(""))); at >= 0 && s.Fields[at].Many {
			lists++
		}
	}
	return lists > 1
}

func (e *Engine) createIndexes(ctx context.Context, c *mongo.Collection, wanted []index) error {
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

// storedViolate turns a conflict into an error that says that stored records violate the new index.
func storedViolate(err error) error {
	err = classified(err)
	if conflict, ok := errors.AsType[*engine.ConflictError](err); ok {
		return fmt.Errorf("stored records violate %s: %w", conflict.Index, conflict.Err)
	}
	return err
}

// declaration is the stored declaration of a collection at its last migration. The field u of document depends on Unique.
type declaration struct {
	Fields []plan.Declared `bson:"fields"`
	Unique []string        `bson:"unique"`
	Stamp  int64           `bson:"stamp"`
	Since  time.Time       `bson:"since"`            // time of the last change
	Unused []unused        `bson:"unused,omitempty"` // set by dropIndexes
}

// declared returns the stored declaration of a collection, or the zero declaration.
func (e *Engine) declared(ctx context.Context, db *mongo.Database, s *plan.Shape) (declaration, error) {
	var stored declaration
	err := db.Collection(declarations).FindOne(ctx, bson.D{{Key: "_id", Value: s.Name}}).Decode(&stored)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = nil
	}
	return stored, classified(err)
}

func (e *Engine) backfill(ctx context.Context, db *mongo.Database, s *plan.Shape, wanted []index) error {
	stored, err := e.declared(ctx, db, s)
	if err != nil {
		return err
	}
	// A program version without stamps has stored no stamp in the declaration, and its documents have no stamp either.
	if s.Outdated(stored.Fields) || !slices.Equal(stored.Unique, s.Uniques()) || stored.Stamp != s.Stamp && stored.Stamp != 0 {
		if err := cmp.Or(e.dropIndexes(ctx, db, s, wanted, true), e.refill(ctx, db.Collection(s.Name), s)); err != nil {
			return err
		}
		if stored.Fields != nil { // else there are no processes of a former version
			stored.Since = time.Now().UTC()
		}
	}
	for try := 0; ; try++ {
		_, err = db.Collection(declarations).UpdateByID(ctx, s.Name, bson.D{{Key: "$set", Value: bson.D{
			{Key: "fields", Value: s.Declaration()}, {Key: "unique", Value: s.Uniques()}, {Key: "stamp", Value: s.Stamp}, {Key: "since", Value: stored.Since},
		}}}, options.UpdateOne().SetUpsert(true))
		if !mongo.IsDuplicateKeyError(err) || try == maxTries || !engine.Backoff(ctx, try) { // another process creates the document
			return classified(err)
		}
	}
}

// Settle computes the fields of the records that processes of a former version have written after the migration. It
// reads the collections whose declaration has changed within the last upgradeTime. After an error in a collection it
// continues with the next one, and returns the error at the end. It skips a collection if the stored declaration differs
// from the one of this process, because a process of another version has then migrated the collection.
func (e *Engine) Settle(ctx context.Context, shapes []*plan.Shape) error {
	db, err := e.connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, migrationTime)
	defer cancel()
	var failed []error
	for _, s := range shapes {
		stored, err := e.declared(ctx, db, s)
		if err == nil && stored.Stamp == s.Stamp && time.Since(stored.Since) < upgradeTime {
			err = e.refill(ctx, db.Collection(s.Name), s)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("collection %s: %w", s.Name, err))
		}
	}
	return errors.Join(failed...)
}

// refill computes the fields of the records that do not have the stamp of the shape.
func (e *Engine) refill(ctx context.Context, c *mongo.Collection, s *plan.Shape) error {
	cursor, err := c.Find(ctx, bson.D{there("b", true), {Key: path(stampName), Value: bson.D{{Key: "$ne", Value: s.Stamp}}}}, options.Find().SetProjection(bson.D{{Key: "v", Value: 1}, {Key: "b", Value: 1}}))
	if err != nil {
		return classified(err)
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
		var d document
		if err := cursor.Decode(&d); err != nil {
			return err
		}
		r := d.record()
		if r.Fields, err = s.Refield(r.Body); err != nil {
			return fmt.Errorf("record %s: %w", r.Key, err)
		}
		// The update does not change the version. If another writer replaces the record meanwhile, the update matches
		// nothing, and that writer has computed the fields.
		models = append(models, mongo.NewUpdateOneModel().
			SetFilter(bson.D{{Key: "_id", Value: r.Key}, {Key: "v", Value: r.Version}}).
			SetUpdate(bson.D{{Key: "$set", Value: contents(s, r)[2:]}}))
		if len(models) == engine.BatchSize {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := cursor.Err(); err != nil {
		return classified(err)
	}
	return flush()
}

// formatKey is the key of the document with the format number in the collection declarations. The name of a collection
// cannot start with a dot.
const formatKey = ".format"

// markFormat stores engine.Format in the database. It returns an error if the database has a higher number. Another process
// may store a higher number at the same time, so the write is guarded by the number that was read.
func (e *Engine) markFormat(ctx context.Context, db *mongo.Database) error {
	_, err := setNumber(ctx, db.Collection(declarations), formatKey, "number", func(stored int64) (int64, error) {
		return engine.Format, engine.CheckFormat("the database "+e.database, int(stored))
	})
	return err
}
