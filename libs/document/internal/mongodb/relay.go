package mongodb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// lease is the duration of a claim that is not renewed. After a kill of a process, its claimed messages wait for this
// time. A claim survives one failed renewal. The clocks of the processes should differ by less than half of lease. A
// process whose clock is further ahead may claim documents that another process still publishes. Consumers then get the
// messages of these documents twice.
const lease = 4 * time.Second

// othersWait is the age up to which Claim leaves messages of a collection with a Derive to the process that wrote them. That
// process knows whether Derive has succeeded. Another process would have to run Derive again, at once and a second time after
// repeatTime of package document.
const othersWait = time.Second

// Claim finds documents whose p has passed, and moves p into the future. The update of a document matches only if p
// still has the value that was read, so only one of several processes gets the document. If the collection has a
// Derive, Claim leaves a document to the process that last added to its outbox, unless a claim of the document has
// expired, or its oldest message is older than othersWait.
func (e *Engine) Claim(ctx context.Context, shapes []*plan.Shape, limit int, skip func(collection, key string) bool) ([]engine.Claim, error) {
	db, err := e.connect()
	if err != nil {
		return nil, err
	}
	var claims []engine.Claim
	messages := 0
	for _, s := range shapes {
		if len(claims) >= limit || messages >= engine.RelayMessages {
			break
		}
		found, err := e.claimIn(ctx, db.Collection(s.Name), s, limit-len(claims), engine.RelayMessages-messages, skip)
		if err != nil {
			return claims, err
		}
		for i := range found {
			messages += len(found[i].Entries)
		}
		claims = append(claims, found...)
	}
	return claims, nil
}

// claimIn claims up to limit documents of a collection. It claims no further document once it has claimed enough messages.
func (e *Engine) claimIn(ctx context.Context, c *mongo.Collection, s *plan.Shape, limit, enough int, skip func(collection, key string) bool) ([]engine.Claim, error) {
	now := time.Now().UTC()
	due := bson.D{{Key: "p", Value: bson.D{{Key: "$lte", Value: now}}}}
	if s.Derives {
		due = append(due, bson.E{Key: "$or", Value: bson.A{
			bson.D{{Key: "w", Value: e.id}}, bson.D{there("c", true)}, bson.D{{Key: "o.0.id", Value: bson.D{{Key: "$lt", Value: firstID(now.Add(-othersWait))}}}},
		}})
	}
	type outbox struct {
		ID     string         `bson:"_id"`
		P      time.Time      `bson:"p"`
		Token  string         `bson:"c"`
		Unique bson.Raw       `bson:"u"`
		Outbox []engine.Entry `bson:"o"`
	}
	waiting, err := findAll[outbox](ctx, c, due, options.Find().SetSort(bson.D{{Key: "p", Value: 1}}).SetLimit(int64(limit)).
		SetProjection(bson.D{{Key: "p", Value: 1}, {Key: "c", Value: 1}, {Key: "u", Value: 1}, {Key: "o", Value: 1}}))
	if err != nil {
		return nil, err
	}
	token := uuid.NewString()
	until := time.Now().UTC().Add(lease)
	var models []mongo.WriteModel
	var claims []engine.Claim
	for _, w := range waiting {
		if enough <= 0 {
			break
		}
		if skip(s.Name, w.ID) {
			continue
		}
		// At most RelayMessages messages of a document are claimed. The others, and messages that are appended later, belong
		// to the next claim.
		first := w.Outbox[:min(len(w.Outbox), engine.RelayMessages)]
		enough -= len(first)
		claims = append(claims, engine.Claim{Shape: s, Key: w.ID, Entries: first, Token: token, Deleted: w.Unique == nil, Abandoned: w.Token != ""})
		models = append(models, mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: w.ID}, {Key: "p", Value: w.P}}).
			SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "p", Value: until}, {Key: "c", Value: token}}}}))
	}
	if len(models) == 0 {
		return nil, nil
	}
	result, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if err != nil {
		return nil, classified(err)
	}
	if result.MatchedCount == int64(len(models)) {
		return claims, nil
	}
	return e.claimed(ctx, c, claims, token)
}

// firstID returns the lowest UUID v7 of a time. The ids of messages are UUIDs v7.
func firstID(at time.Time) string {
	ms := fmt.Sprintf("%012x", at.UnixMilli())
	return ms[:8] + "-" + ms[8:] + "-7000-8000-000000000000"
}

// claimed returns those of claims whose documents have token. Another process has claimed the other documents.
func (e *Engine) claimed(ctx context.Context, c *mongo.Collection, claims []engine.Claim, token string) ([]engine.Claim, error) {
	got, err := findAll[document](ctx, c, bson.D{oneOfMany(keysOf(claims)), {Key: "c", Value: token}},
		options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}}))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(claims, func(mine engine.Claim) bool {
		return !slices.ContainsFunc(got, func(d document) bool { return d.ID == mine.Key })
	}), nil
}

func keysOf(claims []engine.Claim) []string {
	return find.Values(claims, func(c engine.Claim) string { return c.Key })
}

// each calls do for the claims of each collection.
func (e *Engine) each(claims []engine.Claim, do func(c *mongo.Collection, claims []engine.Claim) error) error {
	db, err := e.connect()
	if err != nil {
		return err
	}
	byShape := make(map[*plan.Shape][]engine.Claim)
	for _, c := range claims {
		byShape[c.Shape] = append(byShape[c.Shape], c)
	}
	for s, claims := range byShape {
		if err := do(db.Collection(s.Name), claims); err != nil {
			return classified(err)
		}
	}
	return nil
}

func mine(c *engine.Claim) bson.D {
	return bson.D{{Key: "_id", Value: c.Key}, {Key: "c", Value: c.Token}}
}

// unset returns the $unset of an update, which removes fields.
func unset(fields ...string) bson.E {
	return bson.E{Key: "$unset", Value: bson.D(find.Values(fields, func(f string) bson.E { return bson.E{Key: f, Value: ""} }))}
}

// Clear stores the repetitions of the claims with Repeat, and then removes published entries. If all entries of a
// document are published, it unsets the outbox, or deletes the document if that is a tombstone. Otherwise it removes
// only the published entries and ends the claim, and left is true. It changes no document that another process has
// claimed since, and then left is true too.
func (e *Engine) Clear(ctx context.Context, claims []engine.Claim) (left bool, err error) {
	if err := e.storeRepetitions(ctx, claims); err != nil {
		return false, err
	}
	err = e.each(claims, func(c *mongo.Collection, claims []engine.Claim) error {
		// The driver sends consecutive models of one kind in one command, and each command waits for a majority. So
		// the models are sorted by kind.
		var whole, buried, rest []mongo.WriteModel
		for i := range claims {
			p := &claims[i]
			all := append(mine(p), bson.E{Key: "o", Value: bson.D{{Key: "$size", Value: len(p.Entries)}}}, there("b", !p.Deleted))
			if p.Deleted {
				buried = append(buried, mongo.NewDeleteOneModel().SetFilter(all))
			} else {
				whole = append(whole, mongo.NewUpdateOneModel().SetFilter(all).
					SetUpdate(bson.D{unset("o", "p", "w", "c")}))
			}
			ids := find.Values(p.Entries, func(e engine.Entry) string { return e.ID })
			rest = append(rest, mongo.NewUpdateOneModel().SetFilter(mine(p)).SetUpdate(bson.D{
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
	return left, err
}

// Release ends the claims and sets the time of the next claim. It keeps the token of a claim with Repeat, so that the next
// process to claim the document runs Derive again. Derive in this process may have written outdated rows.
func (e *Engine) Release(ctx context.Context, claims []engine.Claim) error {
	return e.each(claims, func(c *mongo.Collection, claims []engine.Claim) error {
		models := make([]mongo.WriteModel, len(claims))
		for i := range claims {
			due := time.Now()
			if claims[i].NotBefore.After(due) {
				due = claims[i].NotBefore
			}
			update := bson.D{{Key: "$set", Value: bson.D{{Key: "p", Value: due.UTC()}}}}
			if !claims[i].Repeat {
				update = append(update, unset("c"))
			}
			models[i] = mongo.NewUpdateOneModel().SetFilter(mine(&claims[i])).SetUpdate(update)
		}
		_, err := c.BulkWrite(ctx, models)
		return err
	})
}

// Renew extends the claims until ctx ends. If an extension fails, the claims expire. Another process may then publish
// their messages again, which at-least-once delivery allows.
func (e *Engine) Renew(ctx context.Context, claims []engine.Claim) {
	for engine.Sleep(ctx, lease/3) {
		_ = e.each(claims, func(c *mongo.Collection, claims []engine.Claim) error {
			_, err := c.UpdateMany(ctx, bson.D{oneOfMany(keysOf(claims)), {Key: "c", Value: claims[0].Token}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "p", Value: time.Now().UTC().Add(lease)}}}})
			return err
		})
	}
}

func (e *Engine) storeRepetitions(ctx context.Context, claims []engine.Claim) error {
	var models []mongo.WriteModel
	for _, c := range claims {
		if c.Repeat {
			models = append(models, mongo.NewReplaceOneModel().SetFilter(bson.D{{Key: "_id", Value: c.Name()}}).
				SetReplacement(engine.Repetition{Name: c.Name(), Collection: c.Shape.Name, Key: c.Key, Since: time.Now()}).SetUpsert(true))
		}
	}
	if len(models) == 0 {
		return nil
	}
	db, err := e.connect()
	if err != nil {
		return err
	}
	_, err = db.Collection(repetitions).BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	_, err = duplicates(err) // another relay has stored the same repetition at the same time
	return err
}

func (e *Engine) Repetitions(ctx context.Context, before time.Time, limit int) ([]engine.Repetition, error) {
	db, err := e.connect()
	if err != nil {
		return nil, err
	}
	c := db.Collection(repetitions)
	stored, err := findAll[engine.Repetition](ctx, c, bson.D{{Key: "since", Value: bson.D{{Key: "$lte", Value: before}}}}, options.Find().SetLimit(int64(limit)))
	if err != nil {
		return nil, err
	}
	var reserved []engine.Repetition
	for _, d := range stored {
		// The new time reserves the repetition for this process. If this process is killed, the repetition is due
		// again later.
		now := time.UnixMilli(time.Now().UnixMilli())
		result, err := c.UpdateOne(ctx, filterOf(&d), bson.D{{Key: "$set", Value: bson.D{{Key: "since", Value: now}}}})
		if err != nil {
			return reserved, classified(err)
		}
		if d.Since = now; result.MatchedCount == 1 {
			reserved = append(reserved, d)
		}
	}
	return reserved, nil
}

func (e *Engine) DeleteRepetition(ctx context.Context, d engine.Repetition) error {
	db, err := e.connect()
	if err != nil {
		return err
	}
	_, err = db.Collection(repetitions).DeleteOne(ctx, filterOf(&d))
	return classified(err)
}

func filterOf(d *engine.Repetition) bson.D {
	return bson.D{{Key: "_id", Value: d.Name}, {Key: "since", Value: d.Since}}
}

// Waiting implements the interface of package document. It finds the documents with waiting messages by outboxIndex.
func (e *Engine) Waiting(ctx context.Context, shapes []*plan.Shape, most int) (w engine.Waiting, err error) {
	db, err := e.connect()
	if err != nil {
		return w, err
	}
	steps := mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: "p", Value: bson.D{{Key: "$gte", Value: time.Time{}}}}}}},
		{{Key: "$limit", Value: most}},
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: nil}, {Key: "messages", Value: bson.D{{Key: "$sum", Value: bson.D{{Key: "$size", Value: "$o"}}}}},
			{Key: "oldest", Value: bson.D{{Key: "$min", Value: bson.D{{Key: "$arrayElemAt", Value: bson.A{"$o.id", 0}}}}}}, // a UUID v7 begins with its time
		}}},
	}
	for _, s := range shapes {
		cursor, err := db.Collection(s.Name).Aggregate(ctx, steps, options.Aggregate().SetHint(outboxIndex))
		if err != nil {
			return w, classified(err)
		}
		var found []struct {
			Messages int
			Oldest   string
		}
		if err := cursor.All(ctx, &found); err != nil {
			return w, classified(err)
		}
		for _, in := range found {
			w.Messages += in.Messages
			if w.Oldest == "" || in.Oldest < w.Oldest {
				w.Oldest = in.Oldest
			}
		}
	}
	return w, nil
}
