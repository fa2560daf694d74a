package dispatch

import (
	"crypto/sha256"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/google/uuid"
)

// Status is where a delivery stands.
type Status string

// The statuses of a delivery; all but Retrying are its end.
const (
	StatusDelivered  Status = "delivered"
	StatusRetrying   Status = "retrying"
	StatusFailed     Status = "failed"
	StatusSkipped    Status = "skipped"
	StatusSuppressed Status = "suppressed"
)

// Code says why an attempt or a delivery did not succeed.
type Code string

// The codes of attempts, then those of deliveries that ended without one.
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
	CodeNotConcerned Code = "not_concerned"       // none of the change's components is the recipient's any more
	CodeReplaced     Code = "replaced"            // a newer update of the same event took its place
	CodeExpired      Code = "expired"             // what it tells of is not kept any longer
	CodeHeld         Code = "held"                // not attempted yet: the receiver asked for a rest, or is slow
	CodeUnavailable  Code = "channel_unavailable" // this build has no such channel
	CodeNoService    Code = "no_integration"      // the platform has no integration behind the channel
)

// Delivery is one message to one recipient: the row that the delivery log lists. It
// never holds an address, a URL or a secret.
type Delivery struct {
	ID            string        `json:"id"`
	Organization  string        `json:"organization"`
	Channel       topic.Channel `json:"channel"`
	Recipient     string        `json:"recipient,omitempty"`
	DashboardID   string        `json:"dashboardId,omitempty"`
	URLHash       string        `json:"urlHash,omitempty"`
	URLDisplay    string        `json:"urlDisplay,omitempty"`
	EventID       string        `json:"eventId"`
	EventKind     topic.Kind    `json:"eventKind"`
	ChangeID      string        `json:"changeId"`
	Sequence      int64         `json:"sequence"`
	Status        Status        `json:"status"`
	ErrorCode     Code          `json:"errorCode,omitempty"` // of the last attempt, or why there was none
	Attempts      []Attempt     `json:"attempts,omitempty"`
	MaxAttempts   int           `json:"maxAttempts"`
	SentAt        time.Time     `json:"sentAt"` // when the row was made: the first attempt
	EndedAt       *time.Time    `json:"endedAt,omitempty"`
	NextAttemptAt *time.Time    `json:"nextAttemptAt,omitempty"` // while retrying; during an attempt, when it counts as lost
	Partition     int           `json:"partition"`
	ReplayOf      string        `json:"replayOf,omitempty"`
	Trace         string        `json:"trace,omitempty"` // the trace it belongs to, while retrying
}

// Attempt is one try to reach the receiver.
type Attempt struct {
	At         time.Time `json:"at"`
	DurationMS int64     `json:"durationMs"`
	HTTPStatus int       `json:"httpStatus,omitempty"`
	ErrorCode  Code      `json:"errorCode,omitempty"`
}

// DeliveryID is the id of what a change tells a recipient: the same however often
// it is planned, sent or repeated.
func DeliveryID(change, recipient string) string { return derive(change, "delivery", recipient) }

// ChannelDeliveryID is the id of the row that says why a channel told nobody.
func ChannelDeliveryID(change string, channel topic.Channel) string {
	return derive(change, "channel", string(channel))
}

// derive makes a uuid v8 (RFC 9562, 5.8) in the name space of a change: 48 bits of the change's own id,
// which are its time, then a hash. So what tells of one change lies together in an index of ids, and what is
// new at its end, where a hash alone would be spread over the rows of a month.
func derive(change string, parts ...string) string {
	space, err := uuid.Parse(change)
	if err != nil {
		space = uuid.NewSHA1(uuid.Nil, []byte(change))
	}
	name := append(make([]byte, 0, 128), space[:]...)
	for _, part := range parts {
		name = append(append(name, part...), 0)
	}
	sum := sha256.Sum256(name)
	id := uuid.UUID(sum[:16])
	copy(id[:6], space[:6])
	id[6] = id[6]&0x0f | 0x80 // version 8
	id[8] = id[8]&0x3f | 0x80 // RFC 9562's variant
	return id.String()
}

// end puts the delivery to its end.
func (d *Delivery) end(status Status, code Code, at time.Time) {
	d.Status, d.ErrorCode, d.EndedAt, d.NextAttemptAt, d.Trace = status, code, &at, nil, ""
}

// wait puts the delivery off.
func (d *Delivery) wait(code Code, until time.Time, trace string) {
	d.Status, d.ErrorCode, d.NextAttemptAt, d.Trace = StatusRetrying, code, &until, trace
}

// outcome is what the recipient's owner is told of an ended delivery; nil when there
// is no recipient, or no end.
func (d *Delivery) outcome() *topic.Outcome {
	if d.Recipient == "" || d.EndedAt == nil {
		return nil
	}
	outcome := &topic.Outcome{
		DeliveryID: d.ID, Organization: d.Organization, Channel: d.Channel, Recipient: d.Recipient, URLHash: d.URLHash,
		EventID: d.EventID, Result: result(d.Status), Attempts: len(d.Attempts), ErrorCode: string(d.ErrorCode),
		Gone: d.ErrorCode == CodeGone, At: *d.EndedAt,
	}
	if n := len(d.Attempts); n > 0 {
		outcome.HTTPStatus = d.Attempts[n-1].HTTPStatus
	}
	return outcome
}

func result(status Status) topic.Result {
	switch status {
	case StatusDelivered:
		return topic.Delivered
	case StatusSkipped:
		return topic.Skipped
	case StatusSuppressed:
		return topic.Suppressed
	default:
		return topic.Failed
	}
}
