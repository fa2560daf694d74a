// Package dispatch takes a change of an event to those who asked to be told. It
// plans who is concerned (Planner), and sends (Sender): fresh state, one turn per
// recipient, an attempt, a durable row, and a later attempt where that may help.
//
// Decisions it embodies:
//
//   - At least once. A shard's claim is done when each of its members has a durable
//     row and its outcome is published. A shard that comes again sends only to members
//     without a row, and publishes the outcomes of the others again; while the first is still in hand, each
//     member is looked up when its turn comes. So kill -9 loses nothing and repeats at most the attempts in
//     flight and one commit batch, and a plan that is repeated repeats nothing.
//   - A row is inserted once and the first insert wins; whatever changes it later is an
//     update guarded by its version. Rows that wait for another attempt live in the database; the
//     owner of their partition keeps their due times in memory.
//   - One recipient, one attempt at a time (turns). A delivery's turn ends when its
//     row is durable, so that no repetition after a crash can overtake a newer one. While a
//     delivery waits for another attempt, a newer one of the same event takes its place.
//   - What a recipient's state was is good for staleAfter; a member that waits longer for its
//     slot is resolved again, so that pausing holds for whatever starts later.
//   - Organizations take turns for slots (queue), so one's flood does not hold up another; an
//     attempt gives its slot back after handover and goes on in the slow lane (lanes).
//
// It knows no Kafka, no HTTP and no database: those are the interfaces below.
package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Store keeps deliveries and the changes they tell of. Errors are faults.
type Store interface {
	// SaveChange keeps a change's first version.
	SaveChange(ctx context.Context, change topic.EventChange) error
	Change(ctx context.Context, id string) (topic.EventChange, error)
	// Deliveries finds those of the ids that have a row.
	Deliveries(ctx context.Context, ids []string) ([]Delivery, error)
	// Insert keeps the rows whose ids are new and returns those; durable when it returns.
	Insert(ctx context.Context, rows []Delivery) ([]Delivery, error)
	// Amend changes a row, guarded against others; the outcome, if any, is published at
	// least once. fault.ErrUnchanged from change leaves the row as it is, without an error.
	Amend(ctx context.Context, id string, change func(*Delivery) (*topic.Outcome, error)) (Delivery, error)
	// Waiting lists a partition's rows that wait for another attempt, the earliest due first.
	// after is a former answer's position, empty for the start; so is the returned one at the end.
	Waiting(ctx context.Context, partition int, after string, limit int) (rows []Delivery, next string, err error)
	// Prune deletes up to limit deliveries and changes from before the time, and returns how many.
	Prune(ctx context.Context, before time.Time, limit int) (int64, error)
}

// Bus is how plans and outcomes leave; both are durable when the call returns.
type Bus interface {
	Shards(ctx context.Context, shards []topic.Shard) error
	Outcomes(ctx context.Context, outcomes []topic.Outcome) error
}

// Recipients knows who wants to be told on some channels, and where they live.
type Recipients interface {
	Concerned(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientPage, error)
	// Resolve returns the destinations in the order of ids.
	Resolve(ctx context.Context, organization string, ids []string) ([]topic.Destination, error)
}

// Channel makes one attempt to reach a destination. It is called at the same time for
// many, and returns within its own time limit.
type Channel interface {
	Send(ctx context.Context, message Message) Result
}

// Route is a channel, and who knows its recipients.
type Route struct {
	Channel    Channel
	Recipients Recipients
}

// Traces lets work go on in the trace that caused it, after the context it came in is gone.
type Traces interface {
	// Adopt puts the trace of from into ctx.
	Adopt(ctx, from context.Context) context.Context
	// Carry writes the trace of ctx down, Resume takes it up again.
	Carry(ctx context.Context) string
	Resume(ctx context.Context, carried string) context.Context
}

// Observer is told what happens, for metrics.
type Observer interface {
	Attempted(channel topic.Channel, result string, took time.Duration)
	InFlight(delta int)
	SlowLane(delta int)
	Waiting(deliveries int)
	Planned(lag time.Duration)
}

// Parts are what a Planner and a Sender are made of.
type Parts struct {
	Store    Store
	Bus      Bus
	Routes   map[topic.Channel]Route
	Policy   Policy
	Timeout  time.Duration // of one attempt
	Now      func() time.Time
	Log      *slog.Logger
	Traces   Traces
	Observer Observer
}

// Message is one delivery to be attempted.
type Message struct {
	DeliveryID string
	Change     *Snapshot
	To         *topic.Destination
	Components []topic.Component // of the change's, those this destination hears of
	At         time.Time
}

// Result is how an attempt went. An empty Code is success; CodeHeld says that there was none,
// because the channel had no room for it.
type Result struct {
	HTTPStatus int
	Code       Code
	RetryAfter time.Duration // what the receiver asked for, 0 when nothing
	Again      Again
}

// Again is whether another attempt is wanted, from a channel that knows better than the status.
type Again int

// What a channel may want after an attempt that failed.
const (
	ByStatus  Again = iota
	Never           // it would be refused again, or might tell the recipient twice
	AsPlanned       // as long as there are waits: the operator can put right what was refused
)
