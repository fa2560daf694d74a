// Package dispatch sends changes of events and notices to their recipients. The Planner finds the recipients and groups
// them into shards. The Sender resolves each recipient, makes an attempt, stores the result, and makes later attempts.
//
// Decisions:
//
//   - Deliveries are made at least once, and on an Account at most once. A shard is done when each of its deliveries
//     is durable and the outcomes of the ended ones are published. When Kafka delivers a shard again, the Sender sends
//     only the deliveries that are not stored, and publishes the outcomes of the stored ones again. If the shard's
//     first copy is still in progress, the Sender checks right before each attempt of the second copy whether the
//     delivery is stored. So kill -9 loses nothing. It repeats at most the attempts in fast slots and the results
//     that are not stored (maxFastSlots + batchRows = 208), and attempts in slow slots. A repeated plan repeats no
//     delivery, with one exception: the URL of an endpoint has changed since the first plan. Then the owner of the
//     new bucket makes the delivery again, with the same id and to the new URL. The log and the progress may show
//     both deliveries.
//   - Before a process loses a partition in an orderly way, it starts no more deliveries of this partition, waits
//     for those in progress, and stores their results. Only then does the next owner get the partition, so nothing
//     is repeated (libs/stream).
//   - Only the owner of a partition stores first attempts. If a result arrives after the partition has moved, the
//     result is dropped, because the new owner makes the delivery. So no delivery is stored twice. The exception
//     is a process that has lost its partition and does not know it yet: then the log shows both attempts.
//   - A row is inserted once, and the first insert wins. Later changes are updates that check the row's version.
//     Rows that wait for a retry are in the database. The owner of their partition has an index of them in memory,
//     and the earliest due time of the partition (retryIndex).
//   - The log of a later attempt is stored before the row changes. If two processes store a log with the same number,
//     the first one wins. So no log is stored twice or lost after kill -9.
//   - Each recipient of a channel has at most one attempt at a time. The recipient is locked until the row is
//     durable, so that no repetition after a crash overtakes a newer delivery. While a delivery waits for a retry, a
//     newer delivery of the same event replaces it. If the URL of the endpoint has changed meanwhile, the newer delivery was
//     in the bucket of the new URL. Then the retry finds the newer delivery in the store, and is replaced. The retry
//     does not find a newer delivery whose first attempt is in progress at this moment.
//   - A resolved destination is valid for staleAfter. A delivery that waits longer for a slot is resolved again,
//     so that a user's pause of the recipient applies to all attempts that start later.
//   - Organizations use slots in turn (queue), so that one organization with many deliveries does not delay
//     another. An organization whose deliveries come later does not wait for the turns of all others. The queue has
//     only a share of the due rows of an organization (retryIndex). A slow attempt moves to a slow slot (slots), so
//     that it does not delay fast attempts.
//   - An attempt on an Account (SMS, WhatsApp) sends at most one message. SendingAt is stored before the request.
//     If the process is killed before the result is stored, the delivery fails with CodeAmbiguous.
//
// Package dispatch uses Kafka, HTTP and the database only through the interfaces below.
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
	// SaveContent stores the content if no content with its id is stored.
	SaveContent(ctx context.Context, content Content) error
	Content(ctx context.Context, id string) (Content, error)
	// Deliveries returns the stored rows and later logs that have one of the ids, in the order of the ids.
	Deliveries(ctx context.Context, ids []string) ([]deliverylog.Delivery, error)
	// Insert stores those rows and logs whose ids are not stored yet, and returns them. They are durable when it
	// returns.
	Insert(ctx context.Context, rows []deliverylog.Delivery) ([]deliverylog.Delivery, error)
	// InsertBlocks stores the blocks whose ids are not stored yet. They are durable when it returns.
	InsertBlocks(ctx context.Context, blocks []deliverylog.Block) error
	// Stored returns the stored deliveries of the change in the partitions: the rows that have one of the ids, and those
	// members of blocks whose recipient is in recipients. It returns each member as a row.
	Stored(ctx context.Context, change string, partitions []int, ids []string, recipients deliverylog.Wanted) ([]deliverylog.Delivery, error)
	// Amend changes a row. It calls change again if the row's version has changed meanwhile. If change returns an outcome,
	// Amend publishes this outcome at least once. If change returns fault.ErrUnchanged, Amend returns the unchanged row and
	// no error.
	Amend(ctx context.Context, id string, change func(*deliverylog.Delivery) (*topic.Outcome, error)) (deliverylog.Delivery, error)
	// Schedule stores a new row that waits for its first attempt. It publishes the messages at least once. It returns
	// fault.Conflict if a row with this id is stored.
	Schedule(ctx context.Context, row deliverylog.Delivery, messages ...topic.Message) error
	// SaveRequests stores the requests whose ids are not stored yet.
	SaveRequests(ctx context.Context, requests []deliverylog.Request) error
	// SavePages stores the pages whose ids are not stored yet.
	SavePages(ctx context.Context, pages ...deliverylog.PlannedPage) error
	// ChangesOf returns up to limit stored changes of an event, newest first.
	ChangesOf(ctx context.Context, organization, event string, limit int) ([]topic.EventChange, error)
	// PlannedPages returns those ids with which a PlannedPage is stored.
	PlannedPages(ctx context.Context, ids []string) (map[string]bool, error)
	// Recorded returns the stored deliveries of each change to each recipient: the rows of all partitions, and the members of
	// the blocks of the recipient's partition. It returns each member as a row.
	Recorded(ctx context.Context, changes []string, recipients []Placed) ([]deliverylog.Delivery, error)
	// Replays returns the rows whose ReplayOf is one of the logs.
	Replays(ctx context.Context, logs []string) ([]deliverylog.Delivery, error)
	// Waiting returns rows of the partition that wait for a retry and are due at from or later, ordered by due time. after
	// is the result next of the call before, or "" for the first rows. next is "" if there are no more rows.
	Waiting(ctx context.Context, partition int, from time.Time, after string, limit int) (rows []deliverylog.Delivery, next string, err error)
}

// Bus publishes shards and outcomes. They are durable when the method returns.
type Bus interface {
	Shards(ctx context.Context, shards []topic.Shard) error
	Outcomes(ctx context.Context, outcomes []topic.Outcome) error
}

// Recipients is a service that stores the recipients of some channels.
type Recipients interface {
	Concerned(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientPage, error)
	// Resolve returns the destinations in the order of query.IDs.
	Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error)
}

// Counter counts the recipients of a service by an index. Recipients whose state is not active are not counted.
type Counter interface {
	Count(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientCount, error)
}

// Explainer finds the recipients of a service by an address or a URL. For each change it returns whether the change concerns
// them, and otherwise the rule that excludes them.
type Explainer interface {
	Explain(ctx context.Context, organization string, query topic.ExplainQuery) (topic.Explanation, error)
}

// Placed is a recipient and the partition of its deliveries.
type Placed struct {
	Recipient string
	Partition int
}

// Channel makes one attempt to reach a destination. Send is called concurrently, and returns within its own
// time limit.
type Channel interface {
	Send(ctx context.Context, message Message) Result
}

// Traces lets a trace continue after the context of its request has ended.
type Traces interface {
	// Adopt returns a context derived from ctx, with the trace of from.
	Adopt(ctx, from context.Context) context.Context
	// Carry returns the trace of ctx as a text. Resume returns a context derived from ctx, with the trace of carried, which
	// is a result of Carry.
	Carry(ctx context.Context) string
	Resume(ctx context.Context, carried string) context.Context
}

// Observer gets the values of the metrics.
type Observer interface {
	Attempted(channel topic.Channel, result string, took time.Duration)
	InFlight(delta int)
	SlowSlots(delta int)
	Waiting(deliveries int)
	Planned(lag time.Duration)
	HostPaused(until time.Time)
}

// Parts are the dependencies and settings of a Planner and a Sender.
type Parts struct {
	Store       Store
	Logs        *deliverylog.Logs // for Replay and Why
	Bus         Bus
	Channels    map[topic.Channel]Channel // the channels whose recipients a service stores
	Recipients  map[topic.RecipientService]Recipients
	Subscribers Counter
	Explainers  map[topic.RecipientService]Explainer
	Events      Events
	Policy      Policy
	Timeout     time.Duration // time limit of one attempt
	Now         func() time.Time
	Log         *slog.Logger
	Traces      Traces
	Observer    Observer
	// StateTimeout is the time limit of one request for the state of an event; 0: stateTimeout.
	StateTimeout time.Duration
	outages      *failurelog.Log // set by NewPlanner and NewSender
}

// Work is a Kafka message in progress. Done means that its effect is durable. Abandon means that the message must be
// processed again.
type Work interface {
	Done()
	Abandon()
}

// Ownership is the time in which this process owns a partition: from the assignment of the partition until its return.
type Ownership struct {
	Partition int
	Open      context.Context // ends when no delivery of the partition may begin any more
	Owned     context.Context // ends when the partition is given back
	// Held returns false if another process may own the partition: the partition was given back, or this process was
	// suspended for too long.
	Held func() bool
	// Hold delays the end of Owned until release is called. It returns nil if Open has ended.
	Hold func() (release func())
}

// Message is the input of one attempt.
type Message struct {
	DeliveryID string
	Change     *Snapshot
	To         *topic.Destination
	Components []topic.Component // the change's components about which the recipient is notified
	At         time.Time
	// Fresh reports whether the message may still be sent. If the destination was resolved long ago, Fresh resolves it again.
	// A channel that has waited calls Fresh before it sends. If Fresh returns false, the channel makes no attempt and returns
	// CodeHeld.
	Fresh func() bool
}

// Result is the result of one attempt. An empty Code means success. CodeHeld means that the channel made no attempt because
// all its connections were in use, its provider asked for a pause, or Message.Fresh returned false. RetryAfter is then the
// time until the next try, and 0 means fullPause.
type Result struct {
	HTTPStatus int
	Code       deliverylog.Code
	RetryAfter time.Duration // requested by the receiver, or by the channel with CodeHeld; 0: nothing requested
	Rest       time.Duration // how long the destination wants no request, also after a success
	HostPause  time.Duration // how long the host that all destinations of the channel share wants no request
	Final      bool          // no other attempt: the receiver would refuse it, or the recipient might receive the message twice
	Sent       deliverylog.Sent
	Received   deliverylog.Received
}

// signal wakes a goroutine that receives from it. Its capacity is 1.
type signal chan struct{}

func (s signal) set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// rest waits until the pause is over or one of the contexts ends.
func rest(a, b context.Context, pause time.Duration) {
	select {
	case <-a.Done():
	case <-b.Done():
	case <-time.After(pause):
	}
}
