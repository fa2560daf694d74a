// Package deliverylog contains the records of deliveries: what the delivery log, the progress of an event's deliveries and
// the outcomes say about each.
//
// Decisions:
//
//   - A delivery that succeeds quickly at the first attempt is the member of a Block. Every other delivery is a row. So a
//     fan-out stores one record for each batch and bucket, not one for each delivery.
//   - Each attempt has one log, which never changes. The row or member is the first log. A later log is a copy of the row.
//   - Logs never show a secret. Deliveries of a change with the same text share one stored request. The response is
//     stored after every spelling of the URL, the signatures and the address was replaced.
//
// Package dispatch makes the deliveries and imports this package.
package deliverylog

import (
	"context"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Store reads the stored deliveries, and deletes old ones. Its errors are faults.
type Store interface {
	// Deliveries returns the rows that exist for the ids.
	Deliveries(ctx context.Context, ids []string) ([]Delivery, error)
	// InBlocks returns the member of a block that is the log, if there is one.
	InBlocks(ctx context.Context, key Key) ([]Delivery, error)
	// Logs returns a page of logs, newest first: rows, later logs, and the members of blocks.
	Logs(ctx context.Context, q Query) (find.Page[Delivery], error)
	Request(ctx context.Context, id string) (Request, error)
	// Planned returns the number of recipients on the pages of an event, by channel.
	Planned(ctx context.Context, organization, event string) (map[topic.Channel]int64, error)
	// Progress counts the deliveries of an event on a channel. It leaves Planned 0.
	Progress(ctx context.Context, organization, event string, channel topic.Channel) (Progress, error)
	// Prune deletes up to limit logs of ended deliveries and up to limit changes from before the time, and up to limit
	// requests from before the time for requests. It returns the number of deleted records.
	Prune(ctx context.Context, before, requestsBefore time.Time, limit int) (int64, error)
}

// Logs reads the delivery log and the progress of deliveries, and deletes old logs.
type Logs struct {
	Store Store
	// EventState returns fault.NotFound unless the event is one of the organization.
	EventState func(ctx context.Context, organization, id string) (topic.EventState, error)
	Now        func() time.Time
	Log        *slog.Logger
}
