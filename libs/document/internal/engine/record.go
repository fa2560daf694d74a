// Package engine contains what the two engines of package document share beside the query plan: stored records with
// their outboxes, errors, and the number of the format.
package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
)

const (
	// BatchSize bounds the number of records in one operation of an engine. So a bulk write delays other writes for
	// milliseconds only.
	BatchSize = 500
	// RelayBatch is the largest number of documents whose messages are published together.
	RelayBatch = 200
	// RelayMessages is the approximate maximum number of messages that are published together. On MongoDB it is also the
	// maximum number of messages of one document that are published together.
	RelayMessages = 1000
)

// Record is a stored record in the form that both engines use.
type Record struct {
	Key     string
	Version int64
	Body    []byte
	Fields  []any   // in the order of the shape's fields
	Entries []Entry // the messages that the write appends to the outbox
}

// Write is the write of one record in a WriteMany. The record is inserted if Before is 0, and removed if Body is nil.
type Write struct {
	Record
	Before int64 // stored version; 0: the record does not exist
}

// Entry is a message in an outbox. An entry without a topic is not published. It only records that Derive is due. If
// the process is killed before Derive has run, the relay runs it.
type Entry struct {
	ID      string            `bson:"id"`
	Topic   string            `bson:"topic,omitempty"`
	Key     string            `bson:"key,omitempty"`
	Value   []byte            `bson:"value,omitempty"`
	Headers map[string]string `bson:"headers,omitempty"`
	// Partition is set for a topic.Placed.
	Partition *int `bson:"partition,omitempty"`
}

// Waiting counts the messages in the outboxes.
type Waiting struct {
	Messages int
	Oldest   string // id of the oldest message; empty: no message waits
}

// Claim holds waiting messages of one document that only this process may publish now.
type Claim struct {
	Shape   *plan.Shape
	Key     string
	Entries []Entry
	Rows    []int64 // on SQLite: the numbers of the table rows that contain Entries

	// The following fields are used only with an engine that several processes share.
	Token     string    // identifies the claim
	Deleted   bool      // the record is deleted; only its messages are stored
	Abandoned bool      // an earlier claim left its token, so Derive may have been interrupted or may have written outdated rows
	Repeat    bool      // the relay ran Derive, but the process that wrote the record may be running Derive too
	NotBefore time.Time // for Release: the earliest time of the next claim
}

// Name returns the name of the document: its collection and key.
func (c *Claim) Name() string { return c.Shape.Name + "/" + c.Key }

// Repetition is a document whose outbox was cleared while another process may have been running Derive. If that
// process was killed, the rows that Derive writes may be incomplete. So the relay of any process runs Derive again.
type Repetition struct {
	Name       string    `bson:"_id"` // collection/key
	Collection string    `bson:"s"`
	Key        string    `bson:"k"`
	Since      time.Time `bson:"since"` // whole milliseconds
}

// Page counts the bytes of a page while an engine reads its records.
type Page struct{ Limit, bytes int }

// Full adds r to the page and returns false, unless the records before r have Limit bytes or more. Then it returns
// true, and r belongs to the next page. If Limit is 0, Full always returns false.
func (p *Page) Full(r *Record) bool {
	was := p.bytes
	p.bytes += len(r.Body)
	return p.Limit > 0 && was >= p.Limit
}

// Backoff waits for a random time, so that the writers of one document do not try again at the same moment. It
// returns false if ctx ended first.
func Backoff(ctx context.Context, try int) bool {
	limit := min(time.Millisecond<<min(try, 6), 50*time.Millisecond)
	return Sleep(ctx, time.Duration(rand.Int64N(int64(limit))))
}

// Sleep waits for d. It returns false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
