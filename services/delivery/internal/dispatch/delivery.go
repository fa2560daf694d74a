package dispatch

import (
	"cmp"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Status is the status of a delivery.
type Status string

// The statuses of a delivery. All but StatusRetrying are final.
const (
	StatusDelivered  = Status(topic.Delivered)
	StatusFailed     = Status(topic.Failed)
	StatusSkipped    = Status(topic.Skipped)
	StatusSuppressed = Status(topic.Suppressed)
	StatusRetrying   = Status("retrying")
)

// Code says why an attempt or a delivery did not succeed.
type Code string

// The codes of attempts, then the codes of deliveries without an attempt.
const (
	CodeTimeout     Code = "timeout"
	CodeDNS         Code = "dns"
	CodeConnect     Code = "connect"
	CodeTLS         Code = "tls"
	CodeBlocked     Code = "blocked_address"
	CodeRedirect    Code = "http_3xx"
	CodeClientError Code = "http_4xx"
	CodeServerError Code = "http_5xx"
	CodeRateLimited Code = "rate_limited"
	CodeGone        Code = "gone"

	CodePaused       Code = "paused"
	CodeSuppressed   Code = "suppressed"
	CodeNoRecipient  Code = "recipient_gone"
	CodeNotConcerned Code = "not_concerned"       // the recipient subscribes to none of the change's components
	CodeReplaced     Code = "replaced"            // by a newer delivery of the same event
	CodeExpired      Code = "expired"             // the change was deleted after the retention time
	CodeHeld         Code = "held"                // not attempted yet: the receiver asked for a pause, or is slow
	CodeUnavailable  Code = "channel_unavailable" // this build has no such channel
	CodeNoService    Code = "no_integration"      // topic.Nobody keeps recipients of the channel
)

// Delivery is one message to one recipient. It is a row of the delivery log. It never holds an address, a
// URL or a secret.
type Delivery struct {
	ID            string        `json:"id"`
	Organization  string        `json:"organization"`
	Channel       topic.Channel `json:"channel"`
	Keeper        topic.Keeper  `json:"keeper,omitempty"` // of a topic.Notice; empty: the channel's
	Recipient     string        `json:"recipient,omitempty"`
	DashboardID   string        `json:"dashboardId,omitempty"`
	URLHash       string        `json:"urlHash,omitempty"`
	URLDisplay    string        `json:"urlDisplay,omitempty"`
	EventID       string        `json:"eventId"` // empty: of a topic.Notice
	EventKind     topic.Kind    `json:"eventKind"`
	ChangeID      string        `json:"changeId"`
	Sequence      int64         `json:"sequence"`
	Status        Status        `json:"status"`
	ErrorCode     Code          `json:"errorCode,omitempty"` // of the last attempt, or why there was no attempt
	Attempts      []Attempt     `json:"attempts,omitempty"`
	MaxAttempts   int           `json:"maxAttempts"`
	SentAt        time.Time     `json:"sentAt"` // the start of the first attempt
	EndedAt       *time.Time    `json:"endedAt,omitempty"`
	NextAttemptAt *time.Time    `json:"nextAttemptAt,omitempty"` // while retrying; during an attempt, the end of the lease
	Partition     int           `json:"partition"`
	Trace         string        `json:"trace,omitempty"` // while retrying: Traces.Carry
}

// newDelivery returns the row of a delivery that starts now.
func newDelivery(id string, channel topic.Channel, recipient string, change *topic.EventChange, policy Policy, now time.Time) Delivery {
	return Delivery{
		ID: id, Organization: change.Organization, Channel: channel, Recipient: recipient,
		EventID: change.Event.ID, EventKind: change.Kind, ChangeID: change.ID, Sequence: change.Sequence,
		MaxAttempts: policy.attempts(), SentAt: now,
	}
}

// Attempt is one attempt to reach the receiver.
type Attempt struct {
	At         time.Time `json:"at"`
	DurationMS int64     `json:"durationMs"`
	HTTPStatus int       `json:"httpStatus,omitempty"`
	ErrorCode  Code      `json:"errorCode,omitempty"`
}

// subject returns what orders the deliveries to one recipient: the event, or the notice.
func (d *Delivery) subject() string { return cmp.Or(d.EventID, d.ChangeID) }

// keeperOf returns the service that resolves the recipients of a delivery.
func keeperOf(channel topic.Channel, keeper topic.Keeper) topic.Keeper {
	return cmp.Or(keeper, channel.Keeper())
}

// end sets a final status and EndedAt.
func (d *Delivery) end(status Status, code Code, at time.Time) {
	d.Status, d.ErrorCode, d.EndedAt, d.NextAttemptAt, d.Trace = status, code, &at, nil, ""
}

// endWaiting ends a delivery that waits for a retry. It returns false if the delivery has ended already.
func (d *Delivery) endWaiting(status Status, code Code, at time.Time) bool {
	if d.Status != StatusRetrying {
		return false
	}
	d.end(status, code, at)
	return true
}

// wait sets the status retrying and NextAttemptAt.
func (d *Delivery) wait(code Code, until time.Time, trace string) {
	d.Status, d.ErrorCode, d.NextAttemptAt, d.Trace = StatusRetrying, code, &until, trace
}

// outcome returns the message for the keeper of the recipient, and nil if the delivery has not ended or has
// no recipient.
func (d *Delivery) outcome() *topic.Outcome {
	if d.Recipient == "" || d.EndedAt == nil {
		return nil
	}
	outcome := &topic.Outcome{
		DeliveryID: d.ID, Organization: d.Organization, Channel: d.Channel, Recipient: d.Recipient, URLHash: d.URLHash,
		EventID: d.EventID, EventKind: d.EventKind, Result: topic.Result(d.Status), Attempts: len(d.Attempts), ErrorCode: string(d.ErrorCode),
		Gone: d.ErrorCode == CodeGone, At: *d.EndedAt,
	}
	if n := len(d.Attempts); n > 0 {
		outcome.HTTPStatus = d.Attempts[n-1].HTTPStatus
	}
	return outcome
}
