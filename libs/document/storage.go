package document

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
)

// storage is implemented by MongoDB and SQLite. The rest of the package is common to both.
type storage interface {
	Ping(ctx context.Context) error
	Close() error
	Migrate(ctx context.Context, shapes []*plan.Shape) error
	Next(ctx context.Context, counter string, n int64) (int64, error)
	Last(ctx context.Context, counter string) (int64, error)

	Load(ctx context.Context, s *plan.Shape, key string) (*engine.Record, error) // nil: no record has the key
	LoadMany(ctx context.Context, s *plan.Shape, keys []string) ([]*engine.Record, error)
	Insert(ctx context.Context, s *plan.Shape, r *engine.Record) error
	Replace(ctx context.Context, s *plan.Shape, r *engine.Record, version int64) error
	Remove(ctx context.Context, s *plan.Shape, key string, version int64, entries []engine.Entry) error

	// ReplaceMany replaces records together with their entries. The stored version of each record must be one less
	// than the new one. Otherwise ReplaceMany returns engine.ErrStale, and may have replaced some of the records.
	ReplaceMany(ctx context.Context, s *plan.Shape, records []*engine.Record) error
	// WriteMany inserts, replaces and removes records together with their entries. It returns engine.ErrStale if a stored
	// record has another version than Before, and engine.ConflictError if a key or a value of a unique index exists. If the
	// error is find.ErrPartlyWritten too, WriteMany has made the first write, and perhaps others.
	WriteMany(ctx context.Context, s *plan.Shape, writes []engine.Write) error
	PutMany(ctx context.Context, s *plan.Shape, records []*engine.Record) error
	InsertMany(ctx context.Context, s *plan.Shape, records []*engine.Record) ([]bool, error)
	DeleteSome(ctx context.Context, p *plan.Plan, limit int) (int64, error)

	Find(ctx context.Context, p *plan.Plan) ([]*engine.Record, error)
	// Keys returns, for each record, the key and the values of fields. A time is a number of milliseconds (int64) on
	// SQLite, and a bson.DateTime on MongoDB.
	Keys(ctx context.Context, p *plan.Plan, fields []int) ([][]any, error)
	// Count returns the number of different values of the field distinct, or the number of records if distinct is
	// plan.KeyField.
	Count(ctx context.Context, p *plan.Plan, distinct int) (int64, error)
	// Sum returns the sum of the whole numbers in a field.
	Sum(ctx context.Context, p *plan.Plan, field int) (int64, error)

	// Claim claims up to limit documents of shapes that have waiting messages, except those for which skip returns
	// true. No other process may publish the messages of a claim while the claim lasts.
	Claim(ctx context.Context, shapes []*plan.Shape, limit int, skip func(collection, key string) bool) ([]engine.Claim, error)
	// Clear deletes the messages of claims from the outboxes. On MongoDB it returns true if the outboxes may have other
	// messages. On SQLite it returns false.
	Clear(ctx context.Context, claims []engine.Claim) (bool, error)
	// Waiting counts the waiting messages. The parameter most bounds the number of messages (SQLite), or of documents in
	// each collection (MongoDB), that it reads.
	Waiting(ctx context.Context, shapes []*plan.Shape, most int) (engine.Waiting, error)
}

// sharedStorage is implemented by an engine that several processes use at once.
type sharedStorage interface {
	// Settle computes the fields of records that processes of a former version have written since Migrate.
	Settle(ctx context.Context, shapes []*plan.Shape) error
	// Release ends the claims, so that any process can claim the documents again from NotBefore on.
	Release(ctx context.Context, claims []engine.Claim) error
	// Renew extends the claims until ctx ends.
	Renew(ctx context.Context, claims []engine.Claim)
	// Repetitions returns up to limit repetitions whose Since is not later than before, and reserves them for this process.
	Repetitions(ctx context.Context, before time.Time, limit int) ([]engine.Repetition, error)
	// DeleteRepetition deletes a repetition unless it was stored again meanwhile.
	DeleteRepetition(ctx context.Context, d engine.Repetition) error
}
