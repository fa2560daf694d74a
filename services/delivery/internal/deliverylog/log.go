package deliverylog

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Statuses returns the statuses that a log can have.
func Statuses() []Status {
	return []Status{StatusDelivered, StatusRetrying, StatusFailed, StatusSkipped, StatusSuppressed}
}

// Made returns the attempt that a log is about. d is a row, which is the first log, or a later log. Made returns nil if
// there is no such attempt: the delivery ended without it, or waits for it.
func (d *Delivery) Made() *Attempt {
	if d.Log < len(d.Attempts) {
		return &d.Attempts[d.Log]
	}
	return nil
}

// LastLog returns the id and SentAt of the newest log of the row's delivery. It returns false if the delivery waits for
// its first attempt.
func (d *Delivery) LastLog() (id string, sentAt time.Time, logged bool) {
	n := len(d.Attempts)
	switch {
	case n > 0 && (d.EndedAt == nil || d.Attempts[n-1].NextAttemptAt == nil):
		return topic.LogID(d.ID, uint8(n-1)), d.Attempts[n-1].At, true //nolint:gosec // at most 21 attempts
	case d.EndedAt != nil:
		return topic.LogID(d.ID, uint8(n)), *d.EndedAt, true //nolint:gosec // at most 21 attempts
	}
	return "", time.Time{}, false
}

// LogIDs returns the ids of all logs that the row's delivery can have by now.
func (d *Delivery) LogIDs() []string {
	ids := make([]string, 0, len(d.Attempts)+1)
	for n := range len(d.Attempts) + 1 {
		ids = append(ids, topic.LogID(d.ID, uint8(n))) //nolint:gosec // at most 21 attempts
	}
	return ids
}

// LogStatus returns the status that the log shows. d is a row, which is the first log, or a later log. LogStatus
// returns false for a row that waits for its first attempt. Such a row is no log yet.
func (d *Delivery) LogStatus() (Status, bool) {
	switch made := d.Made(); {
	case made == nil:
		return d.Status, d.EndedAt != nil
	case made.ErrorCode == "":
		return StatusDelivered, true
	case made.NextAttemptAt != nil:
		return StatusRetrying, true
	default:
		return StatusFailed, true
	}
}

// Filter restricts a list of logs. A field with the zero value does not restrict it.
type Filter struct {
	DashboardID string
	URLHash     string
	EventID     string
	Status      Status
	From, To    time.Time // SentAt in [From, To)
}

// clockSkew is the largest expected difference between the clocks of two processes.
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
func (l *Logs) List(ctx context.Context, q Query) (find.Page[Delivery], error) {
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		return find.Page[Delivery]{}, fault.Field("to", "must be after from")
	}
	kept, latest := l.Now().Add(-retention), l.Now().Add(clockSkew)
	if q.From.Before(kept) {
		q.From = kept
	}
	if q.To.IsZero() || q.To.After(latest) {
		q.To = latest
	}
	page, err := l.Store.Logs(ctx, q)
	page.Items = slices.DeleteFunc(page.Items, func(d Delivery) bool {
		_, logged := d.LogStatus()
		return !logged
	})
	return page, err
}

// Key names one log.
type Key struct {
	Organization string
	Channel      topic.Channel
	ID           string
	SentAt       time.Time
}

// Exchange is a log with the row of its delivery and with its request. The row has all attempts.
type Exchange struct {
	Log, Row Delivery
	Request  *Request // nil: there was no request, or it is no longer stored
}

// Get returns the log with the key, the row of its delivery and its request. It returns fault.NotFound if Find does.
func (l *Logs) Get(ctx context.Context, key Key) (out Exchange, err error) {
	out.Log, out.Row, err = l.Find(ctx, key)
	if err != nil || out.Log.Request == 0 {
		return out, err
	}
	request, err := l.Store.Request(ctx, requestID(out.Log.ChangeID, out.Log.Request))
	if fault.Is(err, fault.NotFound) {
		return out, nil
	}
	shown := request.shown(&out.Log)
	out.Request = &shown
	return out, err
}

// Find returns the stored log and the row of its delivery. If the delivery is a member of a block, log and row are both this
// member. Find returns fault.NotFound if no log has the key, or if the log is older than the retention time.
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
	if _, logged := log.LogStatus(); !logged || log.ID != key.ID || log.Channel != key.Channel || log.Organization != key.Organization ||
		!log.SentAt.Equal(key.SentAt) || log.SentAt.Before(l.Now().Add(-retention)) {
		return log, row, unknown
	}
	return log, row, nil
}
