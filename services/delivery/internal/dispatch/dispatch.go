// Package dispatch sends a change of an event to its recipients. The Planner finds the recipients and groups
// them into shards. The Sender resolves each recipient, makes an attempt, stores the result, and makes
// later attempts.
//
// Decisions:
//
//   - At least once. A shard is done when each of its deliveries is durable and its outcome is published. When a shard
//     comes again, the Sender sends only the deliveries that are not stored, and publishes the outcomes of the others
//     again. While the first copy of a shard is in progress, the Sender looks for a stored delivery right before each attempt. So
//     kill -9 loses nothing. It repeats at most the attempts in fast slots and the results that are not stored
//     (maxFastSlots + batchRows = 208), and attempts in slow slots. A repeated plan repeats no delivery, unless
//     the URL of an endpoint has changed since the first: the owner of the new bucket then makes the delivery again, with the
//     same id to the new URL. The log and the progress show both.
//   - A process that is to give a partition away starts no more of its deliveries, waits for those under way, and stores
//     their results. Only then does the next owner get the partition, so nothing is repeated (libs/stream).
//   - Only the owner of a partition stores first attempts. A result that arrives after the partition has moved all the same
//     is dropped, because the new owner makes the delivery. So no delivery is stored twice. The exception is a process that
//     has lost its partition and does not know it yet. Then the log shows both attempts.
//   - A row is inserted once, and the first insert wins. Later changes are updates guarded by the row's
//     version. Rows that wait for a retry are in the database. The owner of their partition keeps the
//     due times in memory.
//   - The log of a later attempt is stored before its row changes, and the first log with a number wins. So kill -9 stores
//     no log twice and loses none.
//   - Each recipient has at most one attempt at a time. Its lock is held until the row is durable, so that
//     no repetition after a crash overtakes a newer delivery. While a delivery waits for a retry, a newer
//     delivery of the same event replaces it.
//   - A resolved destination is valid for staleAfter. A delivery that waits longer for a slot is resolved
//     again, so that a pause applies to all attempts that start later.
//   - Organizations use slots in turn (queue), so that one organization with many deliveries does not delay
//     another. A slow attempt moves to a slow slot (slots), so that it does not delay fast attempts.
//   - A delivery on an Account (texts, WhatsApp) is at most once per attempt: it is stored as sending before the request,
//     and a delivery that was sending when its process was killed fails as ambiguous.
//
// The package uses Kafka, HTTP and the database only through the interfaces below.
package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// Store stores deliveries and their changes. Its errors are faults.
type Store interface {
	// SaveContent stores the content unless it is stored already.
	SaveContent(ctx context.Context, content Content) error
	Content(ctx context.Context, id string) (Content, error)
	// Deliveries returns the rows that exist for the ids.
	Deliveries(ctx context.Context, ids []string) ([]deliverylog.Delivery, error)
	// Insert stores the rows with new ids and returns them. They are durable when it returns.
	Insert(ctx context.Context, rows []deliverylog.Delivery) ([]deliverylog.Delivery, error)
	// InsertBlocks stores the blocks with new ids. They are durable when it returns.
	InsertBlocks(ctx context.Context, blocks []deliverylog.Block) error
	// Stored returns the stored deliveries of a change in a partition: the rows with the ids, and the members of blocks with
	// the recipients, as rows.
	Stored(ctx context.Context, change string, partition int, ids []string, recipients deliverylog.Wanted) ([]deliverylog.Delivery, error)
	// Amend changes a row, guarded by its version. It publishes the outcome, if any, at least once. If change
	// returns fault.ErrUnchanged, Amend returns the unchanged row without an error.
	Amend(ctx context.Context, id string, change func(*deliverylog.Delivery) (*topic.Outcome, error)) (deliverylog.Delivery, error)
	// Schedule stores a new row that waits for a retry. It publishes the messages at least once.
	Schedule(ctx context.Context, row deliverylog.Delivery, messages ...topic.Message) error
	// SaveRequests stores the requests with new ids.
	SaveRequests(ctx context.Context, requests []deliverylog.Request) error
	// SavePage stores the page unless it is stored already.
	SavePage(ctx context.Context, page deliverylog.PlannedPage) error
	// Waiting returns the rows of the partition that wait for a retry, ordered by due time. next is the
	// position after the last row, and "" at the end. after is the next of an earlier call, or "".
	Waiting(ctx context.Context, partition int, after string, limit int) (rows []deliverylog.Delivery, next string, err error)
}

// Bus publishes shards and outcomes. They are durable when the call returns.
type Bus interface {
	Shards(ctx context.Context, shards []topic.Shard) error
	Outcomes(ctx context.Context, outcomes []topic.Outcome) error
}

// Recipients finds and resolves the recipients of some channels.
type Recipients interface {
	Concerned(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientPage, error)
	// Resolve returns the destinations in the order of query.IDs.
	Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error)
}

// Channel makes one attempt to reach a destination. Send is called concurrently, and returns within its own
// time limit.
type Channel interface {
	Send(ctx context.Context, message Message) Result
}

// Traces continues a trace after the context that carried it has ended.
type Traces interface {
	// Adopt returns ctx with the trace of from.
	Adopt(ctx, from context.Context) context.Context
	// Carry returns the trace of ctx as text. Resume returns ctx with the trace of a text from Carry.
	Carry(ctx context.Context) string
	Resume(ctx context.Context, carried string) context.Context
}

// Observer counts for metrics.
type Observer interface {
	Attempted(channel topic.Channel, result string, took time.Duration)
	InFlight(delta int)
	SlowSlots(delta int)
	Waiting(deliveries int)
	Planned(lag time.Duration)
}

// Parts are the dependencies and settings of a Planner and a Sender.
type Parts struct {
	Store      Store
	Logs       *deliverylog.Logs // for replays
	Bus        Bus
	Channels   map[topic.Channel]Channel // the channels whose recipients a service stores
	Recipients map[topic.RecipientService]Recipients
	Events     Events
	Policy     Policy
	Timeout    time.Duration // time limit of one attempt
	Now        func() time.Time
	Log        *slog.Logger
	Traces     Traces
	Observer   Observer
	outages    *failurelog.Log // set by NewPlanner and NewSender
}

// Work is a Kafka message in progress. Done reports that its effect is durable. Abandon gives it back.
type Work interface {
	Done()
	Abandon()
}

// Ownership is a partition of this process, from its assignment until it is given back.
type Ownership struct {
	Partition int
	Open      context.Context // ends when no delivery of the partition may begin any more
	Owned     context.Context // ends when the partition is given back
	// Held returns false once another process may have got the partition: it was given back, or this process stood still.
	Held func() bool
	// Hold delays the end of Owned until release is called. It returns nil if Open has ended.
	Hold func() (release func())
}

// Message is the input of one attempt.
type Message struct {
	DeliveryID string
	Change     *Snapshot
	To         *topic.Destination
	Components []topic.Component // the change's components that the destination subscribed to
	At         time.Time
}

// Result is the result of one attempt. An empty Code means success. CodeHeld means that the channel made no
// attempt because all its connections were in use, or because its provider asked for a pause of RetryAfter.
type Result struct {
	HTTPStatus int
	Code       deliverylog.Code
	RetryAfter time.Duration // requested by the receiver; 0: nothing requested
	Again      Again
	Sent       deliverylog.Sent
	Received   deliverylog.Received
}

// Again says whether the channel wants another attempt.
type Again int

// What a channel wants after a failed attempt.
const (
	ByStatus  Again = iota
	Never           // the receiver would refuse again, or the recipient might receive the message twice
	AsPlanned       // use all retries: the operator can fix the cause
)

// signal wakes a goroutine that receives from it. Its capacity is 1.
type signal chan struct{}

func (s signal) set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// rest waits for the pause, or until one of the contexts ends.
func rest(a, b context.Context, pause time.Duration) {
	select {
	case <-a.Done():
	case <-b.Done():
	case <-time.After(pause):
	}
}
