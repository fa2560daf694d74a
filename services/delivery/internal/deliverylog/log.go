package deliverylog

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Log is what the delivery log shows of one attempt, or of the end of a delivery without another attempt.
type Log struct {
	ID            string
	DeliveryID    string
	SentAt        time.Time
	Channel       topic.Channel
	DashboardID   string
	URLHash       string
	URLDisplay    string
	EventID       string
	EventKind     topic.Kind
	Status        Status
	Attempt       int      // attempts of the delivery so far
	MaxAttempts   int      // what the policy grants after this attempt
	Made          *Attempt // nil: the delivery ended without another attempt
	ErrorCode     Code
	NextAttemptAt *time.Time
	ReplayOf      string
}

// Statuses returns the statuses of logs.
func Statuses() []Status {
	return []Status{StatusDelivered, StatusRetrying, StatusFailed, StatusSkipped, StatusSuppressed}
}

// LogStatus returns the status of the log of a stored row or log. It returns false for a row that waits without a log:
// its first attempt has not been made.
func (d *Delivery) LogStatus() (Status, bool) {
	if d.Log >= len(d.Attempts) {
		return d.Status, d.EndedAt != nil
	}
	switch made := &d.Attempts[d.Log]; {
	case made.ErrorCode == "":
		return StatusDelivered, true
	case made.NextAttemptAt != nil:
		return StatusRetrying, true
	default:
		return StatusFailed, true
	}
}

// ShownLog returns the log of a stored row or log. It returns false for a row without a log.
func (d *Delivery) ShownLog() (Log, bool) {
	status, logged := d.LogStatus()
	log := Log{
		ID: d.ID, DeliveryID: topic.LogID(d.ID, 0), SentAt: d.SentAt, Channel: d.Channel, DashboardID: d.DashboardID,
		URLHash: d.URLHash, URLDisplay: d.URLDisplay, EventID: d.EventID, EventKind: d.EventKind,
		Status: status, Attempt: min(len(d.Attempts), d.Log+1), MaxAttempts: d.MaxAttempts, ErrorCode: d.ErrorCode, ReplayOf: d.ReplayOf,
	}
	if d.Log < len(d.Attempts) {
		log.Made = &d.Attempts[d.Log]
		log.ErrorCode, log.NextAttemptAt = log.Made.ErrorCode, log.Made.NextAttemptAt
	}
	return log, logged
}

// Filter restricts a list of logs. Zero fields do not restrict it.
type Filter struct {
	DashboardID string
	URLHash     string
	EventID     string
	Status      Status
	From, To    time.Time // SentAt in [From, To)
}

// clockSkew is the largest expected difference between the times of two processes.
const clockSkew = time.Hour

// Query selects a page of an organization's logs on a channel.
type Query struct {
	Organization string
	Channel      topic.Channel
	Filter
	Limit int
	After string
}

// List returns a page of the logs that match q, newest first.
func (l *Logs) List(ctx context.Context, q Query) (find.Page[Log], error) {
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		return find.Page[Log]{}, fault.Field("to", "must be after from")
	}
	kept, latest := l.Now().Add(-retention), l.Now().Add(clockSkew)
	if q.From.Before(kept) {
		q.From = kept
	}
	if q.To.IsZero() || q.To.After(latest) {
		q.To = latest
	}
	rows, err := l.Store.Logs(ctx, q)
	page := find.Page[Log]{Items: make([]Log, 0, len(rows.Items)), Next: rows.Next}
	for i := range rows.Items {
		if log, logged := rows.Items[i].ShownLog(); logged {
			page.Items = append(page.Items, log)
		}
	}
	return page, err
}

// Key names one log.
type Key struct {
	Organization string
	Channel      topic.Channel
	ID           string
	SentAt       time.Time
}

// Exchange is a log with what was sent and received, and with the attempts of the whole delivery.
type Exchange struct {
	Log
	Request  *Request // nil: none was made, or it is no longer stored
	Response *Response
	Attempts []LoggedAttempt
}

// LoggedAttempt is an attempt with the id of its log.
type LoggedAttempt struct {
	Attempt
	LogID string
}

// Get returns one log.
func (l *Logs) Get(ctx context.Context, key Key) (Exchange, error) {
	stored, row, err := l.Find(ctx, key)
	if err != nil {
		return Exchange{}, err
	}
	log, _ := stored.ShownLog()
	out := Exchange{Log: log, Response: stored.Response}
	for i, attempt := range row.Attempts {
		out.Attempts = append(out.Attempts, LoggedAttempt{attempt, topic.LogID(row.ID, uint8(i))}) //nolint:gosec // at most 21 attempts
	}
	if stored.Request == 0 {
		return out, nil
	}
	request, err := l.Store.Request(ctx, requestID(stored.ChangeID, stored.Request))
	switch {
	case err == nil:
		shown := request.shown(&stored)
		out.Request = &shown
	case !fault.Is(err, fault.NotFound):
		return Exchange{}, err
	}
	return out, nil
}

// Find returns the stored log and the row of its delivery. Both may be the member of a block.
func (l *Logs) Find(ctx context.Context, key Key) (log, row Delivery, err error) {
	unknown := fault.New(fault.NotFound, "There is no such log. sentAt must be the sentAt of the log.")
	found, err := l.Store.Deliveries(ctx, slices.Compact([]string{topic.LogID(key.ID, 0), key.ID}))
	if err == nil && len(found) == 0 {
		found, err = l.Store.InBlocks(ctx, key)
	}
	if err != nil {
		return log, row, err
	}
	if len(found) == 0 {
		return log, row, unknown
	}
	row, log = found[0], found[len(found)-1]
	shown, logged := log.ShownLog()
	if log.ID != key.ID || !logged || shown.Channel != key.Channel || log.Organization != key.Organization ||
		!shown.SentAt.Equal(key.SentAt) || shown.SentAt.Before(l.Now().Add(-retention)) {
		return log, row, unknown
	}
	return log, row, nil
}
