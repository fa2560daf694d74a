package endpoint

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Reason is why a URL was suppressed.
type Reason string

const (
	ReasonFailures Reason = "consecutive_failures" // the policy's limit was reached
	ReasonGone     Reason = "gone"                 // the receiver answered 410
)

// Suppression says that nothing is sent to a URL any more, whichever endpoint of
// the organization names it. It is there as long as some endpoint does.
type Suppression struct {
	OrganizationID      string        `json:"organizationId"`
	Channel             topic.Channel `json:"channel"`
	URLHash             string        `json:"urlHash"`
	URLDisplay          string        `json:"urlDisplay"`
	Reason              Reason        `json:"reason"`
	ConsecutiveFailures int           `json:"consecutiveFailures"`
	FirstFailureAt      *time.Time    `json:"firstFailureAt,omitempty"`
	SuppressedAt        time.Time     `json:"suppressedAt"`
	LastHTTPStatus      int           `json:"lastHttpStatus,omitempty"`
	LastError           string        `json:"lastError,omitempty"`
}

// Key is the suppression's natural key.
func (s Suppression) Key() string { return suppressionKey(s.OrganizationID, s.Channel, s.URLHash) }

func suppressionKey(organization string, channel topic.Channel, urlHash string) string {
	return organization + "/" + string(channel) + "/" + urlHash
}

// suppression is the key of the one that would hold for the endpoint.
func (e Endpoint) suppression() string {
	return suppressionKey(e.OrganizationID, e.Channel, e.URLHash)
}

// suppress makes the suppression that follows from an endpoint's tally.
func suppress(e Endpoint, t Tally, reason Reason, now time.Time) Suppression {
	return Suppression{
		OrganizationID: e.OrganizationID, Channel: e.Channel, URLHash: e.URLHash, URLDisplay: e.URLDisplay,
		Reason: reason, ConsecutiveFailures: t.ConsecutiveFailures, FirstFailureAt: t.FirstFailureAt, SuppressedAt: now,
		LastHTTPStatus: t.LastHTTPStatus, LastError: t.LastError,
	}
}
