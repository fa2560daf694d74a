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

// lease is the duration of a claim that is not renewed. The messages that a killed process had claimed wait so long.
// Two renewals may fail. The clocks of processes should differ by less than half of it. A process whose clock is ahead
// by more claims documents that another still publishes, and consumers get their messages twice.
const lease = 4 * time.Second

// claim finds documents whose p has passed and moves p into the future. Of several processes that do so, the one that
// finds the p it has read gets the document.
func (e *mongoEngine) claim(ctx context.Context, shapes []*shape, limit int, skip func(collection, key string) bool) ([]claim, error) {
	db, err := e.connect()
	if err != nil {
		return nil, err
	}
	var claims []claim
	for _, s := range shapes {
		if len(claims) >= limit {
			break
		}
		found, err := e.claimIn(ctx, db.Collection(s.name), s, limit-len(claims), skip)
		if err != nil {
			return claims, err
		}
		claims = append(claims, found...)
	}
	return claims, nil
}

func (e *mongoEngine) claimIn(ctx context.Context, c *mongo.Collection, s *shape, limit int, skip func(collection, key string) bool) ([]claim, error) {
	due := bson.D{{Key: "p", Value: bson.D{{Key: "$lte", Value: time.Now().UTC()}}}}
	type outbox struct {
		ID     string    `bson:"_id"`
		P      time.Time `bson:"p"`
		Token  string    `bson:"c"`
		Unique bson.Raw  `bson:"u"`
		Outbox []entry   `bson:"o"`
	}
	waiting, err := mongoFind[outbox](ctx, c, due, options.Find().SetSort(bson.D{{Key: "p", Value: 1}}).SetLimit(int64(limit)).
		SetProjection(bson.D{{Key: "p", Value: 1}, {Key: "c", Value: 1}, {Key: "u", Value: 1}, {Key: "o", Value: 1}}))
	if err != nil {
		return nil, err
	}
	token := uuid.NewString()
	until := time.Now().UTC().Add(lease)
	var models []mongo.WriteModel
	var claims []claim
	for _, w := range waiting {
		if skip(s.name, w.ID) {
			continue
		}
		// Messages that were appended since the search are left to the next claim.
		first := w.Outbox[:min(len(w.Outbox), relayMessages)]
		claims = append(claims, claim{shape: s, key: w.ID, entries: first, token: token, deleted: w.Unique == nil, abandoned: w.Token != ""})
		models = append(models, mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: w.ID}, {Key: "p", Value: w.P}}).
			SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "p", Value: until}, {Key: "c", Value: token}}}}))
	}
	if len(models) == 0 {
		return nil, nil
	}
	result, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if err != nil {
		return nil, mongoError(err)
	}
	if result.MatchedCount == int64(len(models)) {
		return claims, nil
	}
	return e.claimed(ctx, c, claims, token)
}

// claimed returns those of claims that this process has got.
func (e *mongoEngine) claimed(ctx context.Context, c *mongo.Collection, claims []claim, token string) ([]claim, error) {
	got, err := mongoFind[mongoDocument](ctx, c, bson.D{oneOfMany(keysOf(claims)), {Key: "c", Value: token}},
		options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}}))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(claims, func(mine claim) bool {
		return !slices.ContainsFunc(got, func(d mongoDocument) bool { return d.ID == mine.key })
	}), nil
}

func keysOf(claims []claim) []string {
	keys := make([]string, len(claims))
	for i, c := range claims {
		keys[i] = c.key
	}
	return keys
}

// each calls do for the claims of each collection.
func (e *mongoEngine) each(claims []claim, do func(c *mongo.Collection, claims []claim) error) error {
	db, err := e.connect()
	if err != nil {
		return err
	}
	byShape := make(map[*shape][]claim)
	for _, c := range claims {
		byShape[c.shape] = append(byShape[c.shape], c)
	}
	for s, claims := range byShape {
		if err := do(db.Collection(s.name), claims); err != nil {
			return mongoError(err)
		}
	}
	return nil
}

func (c *claim) mine() bson.D {
	return bson.D{{Key: "_id", Value: c.key}, {Key: "c", Value: c.token}}
}

// unset returns the part of an update that removes fields.
func unset(fields ...string) bson.E {
	var all bson.D
	for _, f := range fields {
		all = append(all, bson.E{Key: f, Value: ""})
	}
	return bson.E{Key: "$unset", Value: all}
}

// clear unsets an outbox whose entries are all published, and deletes a tombstone. From an outbox with other entries
// it removes the published ones, and the document can be claimed again.
func (e *mongoEngine) clear(ctx context.Context, claims []claim) (left bool, err error) {
	if err := e.noteDoubts(ctx, claims); err != nil {
		return false, err
	}
	return left, e.each(claims, func(c *mongo.Collection, claims []claim) error {
		// Models of one kind after another go to the server in one command. Each command waits for a majority.
		var whole, buried, rest []mongo.WriteModel
		for i := range claims {
			p := &claims[i]
			all := append(p.mine(), bson.E{Key: "o", Value: bson.D{{Key: "$size", Value: len(p.entries)}}}, there("b", !p.deleted))
			if p.deleted {
				buried = append(buried, mongo.NewDeleteOneModel().SetFilter(all))
			} else {
				whole = append(whole, mongo.NewUpdateOneModel().SetFilter(all).
					SetUpdate(bson.D{unset("o", "p", "c")}))
			}
			ids := make([]string, len(p.entries))
			for j := range p.entries {
				ids[j] = p.entries[j].ID
			}
			rest = append(rest, mongo.NewUpdateOneModel().SetFilter(p.mine()).SetUpdate(bson.D{
				{Key: "$pull", Value: bson.D{{Key: "o", Value: bson.D{{Key: "id", Value: bson.D{{Key: "$in", Value: ids}}}}}}},
				{Key: "$set", Value: bson.D{{Key: "p", Value: time.Now().UTC()}}}, unset("c")}))
		}
		result, err := c.BulkWrite(ctx, slices.Concat(whole, buried))
		if err != nil || result.MatchedCount+result.DeletedCount == int64(len(claims)) {
			return err
		}
		left = true
		_, err = c.BulkWrite(ctx, rest)
		return err
	})
}

// release sets the time of the next claim. It keeps the token where Derive failed: the next process that claims the
// document must run Derive, because this one may have written outdated rows.
func (e *mongoEngine) release(ctx context.Context, claims []claim) error {
	return e.each(claims, func(c *mongo.Collection, claims []claim) error {
		models := make([]mongo.WriteModel, len(claims))
		for i := range claims {
			due := time.Now()
			if claims[i].notBefore.After(due) {
				due = claims[i].notBefore
			}
			update := bson.D{{Key: "$set", Value: bson.D{{Key: "p", Value: due.UTC()}}}}
			if !claims[i].doubtful {
				update = append(update, unset("c"))
			}
			models[i] = mongo.NewUpdateOneModel().SetFilter(claims[i].mine()).SetUpdate(update)
		}
		_, err := c.BulkWrite(ctx, models)
		return err
	})
}

// renew extends the claims. If that fails, they end. Then another process may publish messages a second time, which
// at-least-once allows.
func (e *mongoEngine) renew(ctx context.Context, claims []claim) {
	for sleep(ctx, lease/3) {
		_ = e.each(claims, func(c *mongo.Collection, claims []claim) error {
			_, err := c.UpdateMany(ctx, bson.D{oneOfMany(keysOf(claims)), {Key: "c", Value: claims[0].token}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "p", Value: time.Now().UTC().Add(lease)}}}})
			return err
		})
	}
}

func (e *mongoEngine) noteDoubts(ctx context.Context, claims []claim) error {
	var models []mongo.WriteModel
	for _, c := range claims {
		if c.doubtful {
			models = append(models, mongo.NewReplaceOneModel().SetFilter(bson.D{{Key: "_id", Value: c.name()}}).
				SetReplacement(doubt{c.name(), c.shape.name, c.key, time.Now()}).SetUpsert(true))
		}
	}
	if len(models) == 0 {
		return nil
	}
	db, err := e.connect()
	if err != nil {
		return err
	}
	_, err = db.Collection(doubtsName).BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	_, err = duplicates(err) // another relay has stored the same doubt at the same time
	return err
}

func (e *mongoEngine) doubts(ctx context.Context, before time.Time, limit int) ([]doubt, error) {
	db, err := e.connect()
	if err != nil {
		return nil, err
	}
	c := db.Collection(doubtsName)
	stored, err := mongoFind[doubt](ctx, c, bson.D{{Key: "since", Value: bson.D{{Key: "$lte", Value: before}}}}, options.Find().SetLimit(int64(limit)))
	if err != nil {
		return nil, err
	}
	var reserved []doubt
	for _, d := range stored {
		// A new time reserves the doubt. If this process is killed, the doubt is due again after doubtTime.
		now := time.UnixMilli(time.Now().UnixMilli())
		result, err := c.UpdateOne(ctx, d.filter(), bson.D{{Key: "$set", Value: bson.D{{Key: "since", Value: now}}}})
		if err != nil {
			return reserved, mongoError(err)
		}
		if d.Since = now; result.MatchedCount == 1 {
			reserved = append(reserved, d)
		}
	}
	return reserved, nil
}

func (e *mongoEngine) dispel(ctx context.Context, d doubt) error {
	db, err := e.connect()
	if err != nil {
		return err
	}
	_, err = db.Collection(doubtsName).DeleteOne(ctx, d.filter())
	return mongoError(err)
}

func (d *doubt) filter() bson.D {
	return bson.D{{Key: "_id", Value: d.Name}, {Key: "since", Value: d.Since}}
}
