// Package deliverylog contains the records of deliveries. The delivery log, the progress of an event's deliveries and
// the outcomes are made from them.
//
// Decisions:
//
//   - A delivery that succeeds quickly at the first attempt is stored as a member of a Block. Every other delivery
//     is stored as a row. So a fan-out stores about one record for each batch and bucket, and not one for each
//     delivery.
//   - Each attempt, and each end without an attempt, has one log, which never changes. The row, or the member of a
//     block, is the first log. Each later log is a copy of the row at that time.
//   - Logs never show a secret. Deliveries of a change with the same text share one stored request. Before a
//     response is stored, every spelling of the URL, the signatures and the address in it is replaced.
//
// Package dispatch sends the deliveries. It imports this package.
package deliverylog

import (
	"context"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Store reads the stored deliveries, and deletes old ones. Its errors are errors of package fault.
type Store interface {
	// Deliveries returns the rows and later logs that have one of the ids.
	Deliveries(ctx context.Context, ids []string) ([]Delivery, error)
	// InBlocks returns the log with the key, as a row, if it is a member of a block.
	InBlocks(ctx context.Context, key Key) ([]Delivery, error)
	// Logs returns one page of the list of logs, newest first. It contains rows, later logs, and the members of blocks.
	Logs(ctx context.Context, q Query) (find.Page[Delivery], error)
	Request(ctx context.Context, id string) (Request, error)
	// Planned returns the sum of PlannedPage.Recipients of an event, by channel.
	Planned(ctx context.Context, organization, event string) (map[topic.Channel]int64, error)
	// Progress counts the deliveries of an event on a channel. It does not set Progress.Planned.
	Progress(ctx context.Context, organization, event string, channel topic.Channel) (Progress, error)
	// Counts counts the logs with a final status that were sent at since or later, and the deliveries that wait now.
	Counts(ctx context.Context, organization string, channel topic.Channel, since time.Time) (Counts, error)
	// Prune deletes the logs of ended deliveries, the changes and the planned pages that are older than before, and the
	// requests that are older than requestsBefore. It deletes up to limit records of each kind, and returns the number of
	// deleted records.
	Prune(ctx context.Context, before, requestsBefore time.Time, limit int) (int64, error)
}

// Logs reads the delivery log and the progress of deliveries, and deletes old logs.
type Logs struct {
	Options
	recents recents
}

// Options are what Logs uses.
type Options struct {
	Store Store
	// EventState returns fault.NotFound if the organization has no event with the id.
	EventState func(ctx context.Context, organization, id string) (topic.EventState, error)
	Now        func() time.Time
	Log        *slog.Logger
}

// New returns Logs.
func New(o Options) *Logs { return &Logs{Options: o, recents: newRecents()} }
