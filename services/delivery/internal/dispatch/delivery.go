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
	CodeOptedOut    Code = "opted_out" // the recipient asked the provider to send nothing more
	CodeAmbiguous   Code = "ambiguous" // the message may have been sent, and a repetition would cost money
	CodeBounce      Code = "bounce"    // the mail server of the recipient refuses all messages to the address

	CodePaused       Code = "paused"
	CodeSuppressed   Code = "suppressed"
	CodeNoRecipient  Code = "recipient_gone"
	CodeNotConcerned Code = "not_concerned"       // the recipient subscribes to none of the change's components
	CodeReplaced     Code = "replaced"            // by a newer delivery of the same event
	CodeWithdrawn    Code = "event_withdrawn"     // the event was deleted, or may not be shown any more, while the delivery waited
	CodeExpired      Code = "expired"             // the change was deleted after the retention time
	CodeHeld         Code = "held"                // not attempted yet: the receiver asked for a pause, or is slow
	CodeUnavailable  Code = "channel_unavailable" // this build has no such channel
	CodeNoService    Code = "no_integration"      // topic.Nobody keeps recipients of the channel
)

// Delivery is one message to one recipient. It never holds an address, a URL or a secret.
//
// Its row is also its first log: of the first attempt, or of the end without an attempt. Each later attempt, and a later
// end without an attempt, adds a log: a copy of the row as it is then, with the id topic.LogID and the number Log.
type Delivery struct {
	ID            string                 `json:"id,omitempty"`
	Log           int                    `json:"log,omitempty"` // 0: the row
	Organization  string                 `json:"organization,omitempty"`
	Channel       topic.Channel          `json:"channel,omitempty"`
	Service       topic.RecipientService `json:"keeper,omitempty"` // service of a topic.Notice; empty: the channel's
	Recipient     string                 `json:"recipient,omitempty"`
	EventID       string                 `json:"eventId,omitempty"` // empty for a topic.Notice
	EventKind     topic.Kind             `json:"eventKind,omitempty"`
	ChangeID      string                 `json:"changeId,omitempty"`
	Sequence      int64                  `json:"sequence,omitempty"`
	ReplayOf      string                 `json:"replayOf,omitempty"` // id of the log that a user replayed
	Logged        `json:",inline"`
	MovedTo       string     `json:"movedTo,omitempty"` // hash of the last attempt's URL, if it is not URLHash
	Status        Status     `json:"status,omitempty"`
	ErrorCode     Code       `json:"errorCode,omitempty"` // code of the last attempt, or why there was no attempt
	Attempts      []Attempt  `json:"attempts,omitempty"`
	EndedAt       *time.Time `json:"endedAt,omitempty"`
	NextAttemptAt *time.Time `json:"nextAttemptAt,omitempty"` // while retrying; during an attempt, the end of the lease
	Partition     int        `json:"partition,omitempty"`
	Trace         string     `json:"trace,omitempty"`     // while retrying: Traces.Carry
	SendingAt     *time.Time `json:"sendingAt,omitempty"` // during an attempt on an Account: its begin
}

// Logged holds the columns of one log. In the row they keep the values of the first log. A later log has its own values.
type Logged struct {
	DashboardID string    `json:"dashboardId,omitempty"`
	URLHash     string    `json:"urlHash,omitempty"`
	URLDisplay  string    `json:"urlDisplay,omitempty"`
	MaxAttempts int       `json:"maxAttempts,omitempty"` // what the policy grants after the log's attempt
	Request     int64     `json:"request,omitempty"`     // key for requestID
	Response    *Response `json:"response,omitempty"`
	SentAt      time.Time `json:"sentAt,omitzero"` // the start of the log's attempt, or the end without an attempt
}

// newDelivery returns the row of a delivery that starts now.
func newDelivery(id string, channel topic.Channel, recipient string, change *topic.EventChange, policy Policy, now time.Time) Delivery {
	return Delivery{
		ID: id, Organization: change.Organization, Channel: channel, Recipient: recipient,
		EventID: change.Event.ID, EventKind: change.Kind, ChangeID: change.ID, Sequence: change.Sequence,
		Logged: Logged{MaxAttempts: policy.attempts(), SentAt: now},
	}
}

// Attempt is one attempt to reach the receiver.
type Attempt struct {
	At         time.Time `json:"at"`
	DurationMS int64     `json:"durationMs"`
	HTTPStatus int       `json:"httpStatus,omitempty"`
	ErrorCode  Code      `json:"errorCode,omitempty"`
	// NextAttemptAt is when the next attempt was due, right after this one; nil: it was the last.
	NextAttemptAt *time.Time `json:"nextAttemptAt,omitempty"`
}

// subject returns what orders the deliveries to one recipient: the event, or the notice. A replay is ordered with no
// other delivery, so it replaces none.
func (d *Delivery) subject() string {
	if d.ReplayOf != "" {
		return d.ID
	}
	return cmp.Or(d.EventID, d.ChangeID)
}

// serviceOf returns the service that resolves the recipients of a delivery.
func serviceOf(channel topic.Channel, service topic.RecipientService) topic.RecipientService {
	return cmp.Or(service, channel.RecipientService())
}

// end sets a final status and EndedAt.
func (d *Delivery) end(status Status, code Code, at time.Time) {
	d.Status, d.ErrorCode, d.EndedAt, d.NextAttemptAt, d.Trace, d.SendingAt = status, code, &at, nil, "", nil
}

// skip ends the delivery without another attempt.
func (d *Delivery) skip(status Status, code Code, at time.Time) {
	d.SentAt, d.Request, d.Response = at, 0, nil
	d.end(status, code, at)
}

// advance makes next the state of a row that waits for a retry after the number of attempts. It returns false if the
// row is in another state.
func (d *Delivery) advance(number int, next *Delivery) bool {
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

// asLog returns the log of the state that follows the number of attempts.
func (d *Delivery) asLog(number int) Delivery {
	log := *d
	log.ID, log.Log = topic.LogID(d.ID, uint8(number)), number //nolint:gosec // the schedule has at most 20 waits
	return log
}

// wait sets the status retrying and NextAttemptAt.
func (d *Delivery) wait(code Code, until time.Time, trace string) {
	d.Status, d.ErrorCode, d.NextAttemptAt, d.Trace, d.SendingAt = StatusRetrying, code, &until, trace, nil
}

// outcome returns the message for the service that stores the recipient, and nil if the delivery has not ended or has
// no recipient.
func (d *Delivery) outcome() *topic.Outcome {
	if d.Recipient == "" || d.EndedAt == nil {
		return nil
	}
	outcome := &topic.Outcome{
		Bucket: d.Partition, DeliveryID: d.ID, Organization: d.Organization, Channel: d.Channel, Recipient: d.Recipient, URLHash: cmp.Or(d.MovedTo, d.URLHash),
		EventID: d.EventID, EventKind: d.EventKind, Result: topic.Result(d.Status), Attempts: len(d.Attempts), ErrorCode: string(d.ErrorCode),
		Gone: d.ErrorCode == CodeGone || d.ErrorCode == CodeOptedOut, At: *d.EndedAt,
	}
	if n := len(d.Attempts); n > 0 {
		outcome.HTTPStatus = d.Attempts[n-1].HTTPStatus
	}
	return outcome
}

// outcomesOf returns the outcomes of the rows. Deliveries of one change and bucket that succeeded at the first attempt
// have one in common.
func outcomesOf(rows []*Delivery) []topic.Outcome {
	var out []topic.Outcome
	groups := make(map[blockKey]int) // index in out
	for _, d := range rows {
		if d.Recipient == "" || d.EndedAt == nil || d.Status != StatusDelivered || len(d.Attempts) != 1 {
			if one := d.outcome(); one != nil {
				out = append(out, *one)
			}
			continue
		}
		key := blockKey{change: d.ChangeID, channel: d.Channel, service: d.Service, partition: d.Partition}
		at, grouped := groups[key]
		if !grouped || len(out[at].Successes) == maxSuccesses {
			at = len(out)
			groups[key], out = at, append(out, *d.outcome())
			out[at].DeliveryID, out[at].Recipient, out[at].URLHash, out[at].HTTPStatus, out[at].At = "", "", "", 0, time.Time{}
		}
		out[at].Successes = append(out[at].Successes, topic.Success{
			DeliveryID: d.ID, Recipient: d.Recipient, URLHash: cmp.Or(d.MovedTo, d.URLHash), HTTPStatus: d.Attempts[0].HTTPStatus, At: *d.EndedAt,
		})
	}
	return out
}
