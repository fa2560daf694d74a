package document

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Format is the number of the form in which this program stores data: the records of all services, the tables and indexes
// of their databases, and the files of a data folder. Each database and each data folder has the number of the newest
// program that has used it (user_version of SQLite, the document formatKey of MongoDB, the file format of the folder;
// none: 0). A program refuses data with a higher number than its own.
//
// Raise it in the commit after which the program may store what the program before that commit cannot read, or would drop
// or change when it writes a record again. A new field that the program before ignores without harm needs no new number:
// then the former version works after a rollback. Run scripts/old-data for the commit before.
const Format = 1

// formatKey is the key of the number among the declarations. The name of a collection cannot start with a dot.
const formatKey = ".format"

// newerError means that a newer program has written the data.
type newerError struct {
	place  string
	stored int
}

func (e *newerError) Error() string {
	return fmt.Sprintf("%s has data of format %d, and this program knows formats up to %d; start the newer version that has used them, or restore a backup from before the upgrade",
		e.place, e.stored, Format)
}

// CheckFormat returns an error if the place has data of a higher format than Format.
func CheckFormat(place string, stored int) error {
	if stored > Format {
		return &newerError{place, stored}
	}
	return nil
}

// markFormat sets the number in the file. It returns an error if the file has a higher one.
func (w *sqliteWriter) markFormat(path string) error {
	var stored int
	if err := w.row(`PRAGMA user_version`, nil, &stored); err != nil {
		return err
	}
	if err := CheckFormat(path, stored); err != nil || stored == Format {
		return err
	}
	return w.define(fmt.Sprintf(`PRAGMA user_version = %d`, Format))
}

// markFormat sets the number in the database. It returns an error if the database has a higher one. Another process may
// set a higher one at the same time: each write is guarded by the number that was read.
func (e *mongoEngine) markFormat(ctx context.Context, db *mongo.Database) error {
	id := bson.E{Key: "_id", Value: formatKey}
	for try := 0; ; try++ {
		var stored struct {
			Number int `bson:"number"`
		}
		err := db.Collection(declarations).FindOne(ctx, bson.D{id}).Decode(&stored)
		if errors.Is(err, mongo.ErrNoDocuments) {
			if _, err = db.Collection(declarations).InsertOne(ctx, bson.D{id, {Key: "number", Value: Format}}); err == nil {
				return nil
			}
		} else if err == nil {
			if err := CheckFormat("the database "+e.database, stored.Number); err != nil || stored.Number == Format {
				return err
			}
			result, failed := db.Collection(declarations).UpdateOne(ctx, bson.D{id, {Key: "number", Value: stored.Number}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "number", Value: Format}}}})
			if err = failed; err == nil && result.MatchedCount == 1 {
				return nil
			}
		}
		if err != nil && !mongo.IsDuplicateKeyError(err) {
			return mongoError(err)
		}
		if !backoff(ctx, try) {
			return ctx.Err()
		}
	}
}
