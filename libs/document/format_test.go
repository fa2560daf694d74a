package document_test

import (
	"database/sql"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// A database of a newer program refuses this one with one line, and is not changed. A database without a number, of a
// program before there were numbers, gets one.
func TestMigrateRefusesADatabaseOfANewerProgram(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		first, c := fleet(t, address)
		must(t, c.Insert(t.Context(), vessel("a", 1)))
		if got := formatOf(t, address); got != document.Format {
			t.Errorf("a new database has format %d", got)
		}
		setFormat(t, address, 0)
		must(t, first.Migrate(t.Context()))
		if got := formatOf(t, address); got != document.Format {
			t.Errorf("a database without a number has format %d after the migration", got)
		}
		const newer = document.Format + 1
		setFormat(t, address, newer)
		db := open(t, address)
		document.Declare(db, smallBoats())
		err := db.Migrate(t.Context())
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "format 2, and this program knows formats up to 1; start the newer version") {
			t.Errorf("a newer database: %v", err)
		}
		if got := formatOf(t, address); got != newer {
			t.Errorf("the refused database has format %d", got)
		}
		if n, err := c.Count(t.Context(), find.Query{}); err != nil || n != 1 {
			t.Errorf("the newer program, which still runs, finds %d records, %v", n, err)
		}
	})
}

// formatOf returns the number in the database, and 0 if there is none.
func formatOf(t *testing.T, address string) (number int) {
	t.Helper()
	onFormat(t, address,
		func(db *sql.DB) error { return db.QueryRowContext(t.Context(), `PRAGMA user_version`).Scan(&number) },
		func(c *mongo.Collection, id bson.D) error {
			var stored struct{ Number int }
			err := c.FindOne(t.Context(), id).Decode(&stored)
			number = stored.Number
			return err
		})
	return number
}

// setFormat sets the number as a program with that format does. The number 0 deletes it.
func setFormat(t *testing.T, address string, number int) {
	t.Helper()
	onFormat(t, address,
		func(db *sql.DB) error {
			_, err := db.ExecContext(t.Context(), `PRAGMA user_version = `+strconv.Itoa(number))
			return err
		},
		func(c *mongo.Collection, id bson.D) error {
			if number == 0 {
				_, err := c.DeleteOne(t.Context(), id)
				return err
			}
			_, err := c.UpdateOne(t.Context(), id, bson.D{{Key: "$set", Value: bson.D{{Key: "number", Value: number}}}})
			return err
		})
}

func onFormat(t *testing.T, address string, sqlite func(*sql.DB) error, mongodb func(c *mongo.Collection, id bson.D) error) {
	t.Helper()
	if folder, is := strings.CutPrefix(address, "sqlite:"); is {
		db, err := sql.Open("sqlite", filepath.Join(folder, "conformance.db"))
		must(t, err)
		defer db.Close()
		must(t, sqlite(db))
		return
	}
	at := strings.LastIndex(address, "/")
	client, err := mongo.Connect(options.Client().ApplyURI(address[:at]))
	must(t, err)
	defer client.Disconnect(t.Context())
	must(t, mongodb(client.Database(address[at+1:]+"_conformance").Collection("_declared"), bson.D{{Key: "_id", Value: ".format"}}))
}
