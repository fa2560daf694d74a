package deliverylog

import (
	"cmp"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Status is the status of a delivery.
type Status string

// The statuses of a delivery. All but StatusRetrying are final. With StatusRetrying the delivery waits for its next attempt,
// or for its first one if that was delayed.
const (
	StatusDelivered  = Status(topic.Delivered)
	StatusFailed     = Status(topic.Failed)
	StatusSkipped    = Status(topic.Skipped)
	StatusSuppressed = Status(topic.Suppressed)
	StatusRetrying   = Status("retrying")
)

// Code says why an attempt or a delivery did not succeed.
type Code string

// The first group are the codes of attempts. The second group are the codes of deliveries that ended, or were scheduled
// again, without an attempt. Channels have more codes.
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
	CodeOptedOut    Code = "opted_out" // the recipient asked the provider to send nothing more
	CodeAmbiguous   Code = "ambiguous" // the message may have been sent, and a repetition would cost money
	CodeBounce      Code = "bounce"    // the mail server of the recipient refuses all messages to the address

	CodePaused       Code = "paused"
	CodeSuppressed   Code = "suppressed"
	CodeNoRecipient  Code = "recipient_gone"
	CodeNotConcerned Code = "not_concerned"       // the recipient subscribes to none of the change's components, or its dashboard does not show the event
	CodeReplaced     Code = "replaced"            // a newer delivery of the same event replaced it
	CodeWithdrawn    Code = "event_withdrawn"     // while the delivery waited, the event was deleted or became a draft, or messages could name none of its components or dashboards
	CodeExpired      Code = "expired"             // the change was deleted after the retention time
	CodeHeld         Code = "held"                // the delivery waits for its first attempt, a turn under a rate limit, the end of a pause, or a free slot or connection
	CodeUnavailable  Code = "channel_unavailable" // this build has no such channel
	CodeNoService    Code = "no_integration"      // no service stores recipients of the channel
)

// Delivery is one message to one recipient. It never contains an address or a secret. From the endpoint's URL it contains only
// hashes and URLDisplay.
//
// The row of a delivery is also its first log. The first log is about the first attempt, or about the end of the
// delivery if it ended without an attempt. Each later attempt, and a later end without an attempt, adds a log. This log
// is a copy of the row at that time, with the id topic.LogID and its number in Log.
type Delivery struct {
	ID            string                 `json:"id,omitempty"`
	Log           int                    `json:"log,omitempty"` // 0: the row, which is the first log
	Organization  string                 `json:"organization,omitempty"`
	Channel       topic.Channel          `json:"channel,omitempty" audit:"kind"`
	Service       topic.RecipientService `json:"keeper,omitempty"` // the service that a topic.Notice names; empty: the service of the channel
	Recipient     string                 `json:"recipient,omitempty"`
	EventID       string                 `json:"eventId,omitempty" audit:"eventId"` // empty for a topic.Notice
	EventKind     topic.Kind             `json:"eventKind,omitempty" audit:"eventKind"`
	ChangeID      string                 `json:"changeId,omitempty"`
	Sequence      int64                  `json:"sequence,omitempty"`
	ReplayOf      string                 `json:"replayOf,omitempty" audit:"replayOf"` // id of the log that a user replayed
	Logged        `json:",inline"`
	MovedTo       string     `json:"movedTo,omitempty"` // hash of the URL of the last attempt, if it differs from URLHash
	Status        Status     `json:"status,omitempty"`
	ErrorCode     Code       `json:"errorCode,omitempty"` // code of the last attempt, or why there was no attempt
	Attempts      []Attempt  `json:"attempts,omitempty"`
	EndedAt       *time.Time `json:"endedAt,omitempty"`
	NextAttemptAt *time.Time `json:"nextAttemptAt,omitempty"` // while StatusRetrying; during an attempt: end of the lease
	Partition     int        `json:"partition,omitempty"`
	Trace         string     `json:"trace,omitempty"`     // while StatusRetrying: the result of dispatch.Traces.Carry
	SendingAt     *time.Time `json:"sendingAt,omitempty"` // during an attempt on an Account: when the attempt began
}

// Logged contains the columns about the attempt, or the end, of one log. In the row they have the values of the first log.
type Logged struct {
	DashboardID string    `json:"dashboardId,omitempty" audit:"dashboardId"`
	URLHash     string    `json:"urlHash,omitempty"`
	URLDisplay  string    `json:"urlDisplay,omitempty" audit:"urlDisplay"`
	MaxAttempts int       `json:"maxAttempts,omitempty"` // maximum number of attempts that the policy allows, as of this attempt
	Request     int64     `json:"request,omitempty"`     // the key of requestID; 0: no request
	Response    *Response `json:"response,omitempty"`
	SentAt      time.Time `json:"sentAt,omitzero"` // start of the attempt, or end without an attempt; before the first attempt: creation of the row
}

// AuditEntity implements audit.Record. Only replays and test messages add entries to the audit log.
func (d Delivery) AuditEntity() audit.Entity {
	return audit.Entity{Organization: d.Organization, Type: "delivery", ID: d.ID, Name: string(d.EventKind)}
}

// NewDelivery returns the row of a delivery that starts now. attempts is the maximum number of attempts.
func NewDelivery(id string, channel topic.Channel, recipient string, change *topic.EventChange, attempts int, now time.Time) Delivery {
	return Delivery{
		ID: id, Organization: change.Organization, Channel: channel, Recipient: recipient,
		EventID: change.Event.ID, EventKind: change.Kind, ChangeID: change.ID, Sequence: change.Sequence,
		Logged: Logged{MaxAttempts: attempts, SentAt: now},
	}
}

// Attempt is one attempt to reach the receiver.
type Attempt struct {
	At         time.Time `json:"at"`
	DurationMS int64     `json:"durationMs"`
	HTTPStatus int       `json:"httpStatus,omitempty"`
	ErrorCode  Code      `json:"errorCode,omitempty"`
	// NextAttemptAt is the due time of the next attempt, as it was scheduled right after this attempt. It is nil if
	// this attempt was the last one.
	NextAttemptAt *time.Time `json:"nextAttemptAt,omitempty"`
}

// Subject returns the id of the event or the notice. Deliveries with the same subject to the same recipient stay in
// order, and a newer delivery replaces an older one that waits for a retry. The subject of a replay is its own id, so a
// replay replaces no delivery.
func (d *Delivery) Subject() string {
	if d.ReplayOf != "" {
		return d.ID
	}
	return cmp.Or(d.EventID, d.ChangeID)
}

// Finish sets a final status and EndedAt.
func (d *Delivery) Finish(status Status, code Code, at time.Time) {
	d.Status, d.ErrorCode, d.EndedAt, d.NextAttemptAt, d.Trace, d.SendingAt = status, code, &at, nil, "", nil
}

// Skip ends the delivery without another attempt. SentAt becomes the time of the end.
func (d *Delivery) Skip(status Status, code Code, at time.Time) {
	// The log of this end has no attempt, so it keeps no other column of the log before.
	d.Logged = Logged{DashboardID: d.DashboardID, URLHash: d.URLHash, URLDisplay: d.URLDisplay, MaxAttempts: d.MaxAttempts, SentAt: at}
	d.Finish(status, code, at)
}

// Advance replaces the state of the row by next and returns true, if the row waits for a retry and the number of its attempts
// is number. Otherwise it changes nothing and returns false. After an attempt, the row still has the id and the Logged
// values of the first log.
func (d *Delivery) Advance(number int, next *Delivery) bool {
	if d.Status != StatusRetrying || len(d.Attempts) != number {
		return false
	}
	first := *d
	*d = *next
	d.ID, d.Log = first.ID, 0
	if number > 0 {
		d.Logged = first.Logged
		if next.URLHash != first.URLHash {
			d.MovedTo = next.URLHash
		}
	}
	return true
}

// AsLog returns a copy of the row as the log with the number.
func (d *Delivery) AsLog(number int) Delivery {
	log := *d
	log.ID, log.Log = topic.LogID(d.ID, uint8(number)), number //nolint:gosec // the schedule has at most 20 waits
	return log
}

// ScheduleRetry sets the status retrying and NextAttemptAt.
func (d *Delivery) ScheduleRetry(code Code, until time.Time, trace string) {
	d.Status, d.ErrorCode, d.NextAttemptAt, d.Trace, d.SendingAt = StatusRetrying, code, &until, trace, nil
}
