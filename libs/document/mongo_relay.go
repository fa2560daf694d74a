package document

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// lease is how long a claim lasts unless it is renewed, and so how long the messages of a killed process
// wait that it had claimed. Two renewals may fail to come. Clocks of processes should differ by less than half of
// it: one that is ahead by more takes over what another still publishes, and consumers get it twice.
const lease = 4 * time.Second

// claim takes documents whose outbox is due by moving their p into the future: whoever still finds the p he
// has read has won.
func (e *mongoEngine) claim(ctx context.Context, shapes []*shape, limit int, skip func(collection, key string) bool) ([]parcel, error) {
	db, err := e.connect()
	if err != nil {
		return nil, err
	}
	var parcels []parcel
	for _, s := range shapes {
		if len(parcels) >= limit {
			break
		}
		claimed, err := e.claimIn(ctx, db.Collection(s.name), s, limit-len(parcels), skip)
		if err != nil {
			return parcels, err
		}
		parcels = append(parcels, claimed...)
	}
	return parcels, nil
}

func (e *mongoEngine) claimIn(ctx context.Context, c *mongo.Collection, s *shape, limit int, skip func(collection, key string) bool) ([]parcel, error) {
	due := bson.D{{Key: "p", Value: bson.D{{Key: "$lte", Value: time.Now().UTC()}}}}
	cursor, err := c.Find(ctx, due, options.Find().SetSort(bson.D{{Key: "p", Value: 1}}).SetLimit(int64(limit)).
		SetProjection(bson.D{{Key: "p", Value: 1}}))
	if err != nil {
		return nil, mongoError(err)
	}
	var waiting []struct {
		ID string    `bson:"_id"`
		P  time.Time `bson:"p"`
	}
	if err := cursor.All(ctx, &waiting); err != nil {
		return nil, mongoError(err)
	}
	claim := uuid.NewString()
	until := time.Now().UTC().Add(lease)
	var models []mongo.WriteModel
	var keys []string
	for _, w := range waiting {
		if skip(s.name, w.ID) {
			continue
		}
		keys = append(keys, w.ID)
		models = append(models, mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: w.ID}, {Key: "p", Value: w.P}}).
			SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "p", Value: until}, {Key: "c", Value: claim}}}}))
	}
	if len(models) == 0 {
		return nil, nil
	}
	if _, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false)); err != nil {
		return nil, mongoError(err)
	}
	return e.claimed(ctx, c, s, keys, claim)
}

// claimed reads what has been claimed.
func (e *mongoEngine) claimed(ctx context.Context, c *mongo.Collection, s *shape, keys []string, claim string) ([]parcel, error) {
	cursor, err := c.Find(ctx, bson.D{oneOfMany(keys), {Key: "c", Value: claim}},
		options.Find().SetProjection(bson.D{{Key: "o", Value: 1}, {Key: "v", Value: 1}}))
	if err != nil {
		return nil, mongoError(err)
	}
	var documents []mongoDocument
	if err := cursor.All(ctx, &documents); err != nil {
		return nil, mongoError(err)
	}
	parcels := make([]parcel, len(documents))
	for i, d := range documents {
		first := d.Outbox[:min(len(d.Outbox), relayMessages)]
		parcels[i] = parcel{shape: s, key: d.ID, entries: first, claim: claim}
	}
	return parcels, nil
}

// each hands the parcels of one claim to do.
func (e *mongoEngine) each(parcels []parcel, do func(c *mongo.Collection, claim string, parcels []parcel) error) error {
	db, err := e.connect()
	if err != nil {
		return err
	}
	byClaim := make(map[string][]parcel)
	for _, p := range parcels {
		byClaim[p.claim] = append(byClaim[p.claim], p)
	}
	for claim, of := range byClaim { // a claim is of one collection
		if err := do(db.Collection(of[0].shape.name), claim, of); err != nil {
			return mongoError(err)
		}
	}
	return nil
}

// settle clears an outbox as it was read. When there is more, or the record was buried since, what was
// published is taken out and the document is due again.
func (e *mongoEngine) settle(ctx context.Context, parcels []parcel) error {
	if err := e.note(ctx, parcels); err != nil {
		return err
	}
	return e.each(parcels, func(c *mongo.Collection, claim string, parcels []parcel) error {
		// Kind by kind, because what is alike goes in one command; each waits for a majority.
		var whole, buried, rest []mongo.WriteModel
		for _, p := range parcels {
			mine := bson.D{{Key: "_id", Value: p.key}, {Key: "c", Value: claim}}
			same := append(mine[:2:2], bson.E{Key: "o", Value: bson.D{{Key: "$size", Value: len(p.entries)}}})
			ids := make([]string, len(p.entries))
			for i := range p.entries {
				ids[i] = p.entries[i].ID
			}
			whole = append(whole, mongo.NewUpdateOneModel().SetFilter(append(same[:3:3], there("b", true))).
				SetUpdate(bson.D{{Key: "$unset", Value: bson.D{{Key: "o", Value: ""}, {Key: "p", Value: ""}, {Key: "c", Value: ""}}}}))
			buried = append(buried, mongo.NewDeleteOneModel().SetFilter(append(same[:3:3], there("b", false))))
			rest = append(rest, mongo.NewUpdateOneModel().SetFilter(mine).SetUpdate(bson.D{
				{Key: "$pull", Value: bson.D{{Key: "o", Value: bson.D{{Key: "id", Value: bson.D{{Key: "$in", Value: ids}}}}}}},
				{Key: "$set", Value: bson.D{{Key: "p", Value: time.Now().UTC()}}},
				{Key: "$unset", Value: bson.D{{Key: "c", Value: ""}}}}))
		}
		_, err := c.BulkWrite(ctx, slices.Concat(whole, buried, rest))
		return err
	})
}

// mongoDoubt is a document of the doubts, by collection and key.
type mongoDoubt struct {
	ID         string    `bson:"_id"`
	Collection string    `bson:"s"`
	Key        string    `bson:"k"`
	Since      time.Time `bson:"since"`
}

// note stores the doubts of parcels.
func (e *mongoEngine) note(ctx context.Context, parcels []parcel) error {
	var models []mongo.WriteModel
	for _, p := range parcels {
		if p.doubtful {
			d := mongoDoubt{ID: p.name(), Collection: p.shape.name, Key: p.key, Since: time.Now().UTC()}
			models = append(models, mongo.NewReplaceOneModel().SetFilter(bson.D{{Key: "_id", Value: d.ID}}).SetReplacement(d).SetUpsert(true))
		}
	}
	if len(models) == 0 {
		return nil
	}
	db, err := e.connect()
	if err != nil {
		return err
	}
	_, err = db.Collection(doubtful).BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	_, err = keyTaken(err) // what another relay notes in the same moment is as good
	return err
}

func (e *mongoEngine) doubts(ctx context.Context, before time.Time, limit int) ([]doubt, error) {
	db, err := e.connect()
	if err != nil {
		return nil, err
	}
	cursor, err := db.Collection(doubtful).Find(ctx, bson.D{{Key: "since", Value: bson.D{{Key: "$lte", Value: before.UTC()}}}}, options.Find().SetLimit(int64(limit)))
	if err != nil {
		return nil, mongoError(err)
	}
	var stored []mongoDoubt
	if err := cursor.All(ctx, &stored); err != nil {
		return nil, mongoError(err)
	}
	out := make([]doubt, len(stored))
	for i, d := range stored {
		out[i] = doubt{d.Collection, d.Key, d.Since}
	}
	return out, nil
}

func (e *mongoEngine) cleared(ctx context.Context, d doubt) error {
	db, err := e.connect()
	if err != nil {
		return err
	}
	_, err = db.Collection(doubtful).DeleteOne(ctx, bson.D{{Key: "_id", Value: d.collection + "/" + d.key}, {Key: "since", Value: d.since}})
	return mongoError(err)
}

// release makes documents due again, those that are held back only later.
func (e *mongoEngine) release(ctx context.Context, parcels []parcel) error {
	return e.each(parcels, func(c *mongo.Collection, claim string, parcels []parcel) error {
		models := make([]mongo.WriteModel, len(parcels))
		for i, p := range parcels {
			due := time.Now()
			if p.again.After(due) {
				due = p.again
			}
			models[i] = mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: p.key}, {Key: "c", Value: claim}}).
				SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "p", Value: due.UTC()}}}, {Key: "$unset", Value: bson.D{{Key: "c", Value: ""}}}})
		}
		_, err := c.BulkWrite(ctx, models)
		return err
	})
}

// hold renews the claims. Should it fail, they run out: then another process publishes again what this one may
// have published, which at-least-once allows.
func (e *mongoEngine) hold(ctx context.Context, parcels []parcel) {
	for sleep(ctx, lease/3) {
		_ = e.each(parcels, func(c *mongo.Collection, claim string, parcels []parcel) error {
			keys := make([]string, len(parcels))
			for i, p := range parcels {
				keys[i] = p.key
			}
			_, err := c.UpdateMany(ctx, bson.D{oneOfMany(keys), {Key: "c", Value: claim}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "p", Value: time.Now().UTC().Add(lease)}}}})
			return err
		})
	}
}

func (e *mongoEngine) idle(ctx context.Context, wake <-chan struct{}, atMost time.Duration) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}

// yield has nothing to give up: claims are given back one by one.
func (e *mongoEngine) yield() {}
