package endpoint

import (
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// remembered is the number of deliveries whose outcomes are recognized when they are repeated. Outcomes
// are published at least once. After a crash the latest ones are repeated.
const remembered = 32

// Counters hold the results of the deliveries to one endpoint, under all URLs that it has had. Only the
// consumer of outcomes writes them, in bulk. They exist as long as the endpoint.
type Counters struct {
	ID                  string     `json:"id"` // of the endpoint
	ConsecutiveFailures int        `json:"consecutiveFailures"`
	FirstFailureAt      *time.Time `json:"firstFailureAt,omitempty"`
	LastSuccessAt       *time.Time `json:"lastSuccessAt,omitempty"`
	LastHTTPStatus      int        `json:"lastHttpStatus,omitempty"`
	LastError           string     `json:"lastError,omitempty"`
	Recent              []string   `json:"recent,omitempty"` // delivery ids, oldest first
}

// remember stores the id of a delivery. It returns false if the delivery was counted before.
func (c *Counters) remember(delivery string) bool {
	if slices.Contains(c.Recent, delivery) {
		return false
	}
	c.Recent = append(c.Recent, delivery)
	if extra := len(c.Recent) - remembered; extra > 0 {
		c.Recent = slices.Delete(c.Recent, 0, extra)
	}
	return true
}

// succeed counts a success. A success of a former URL does not reset ConsecutiveFailures.
func (c *Counters) succeed(e Endpoint, o topic.Outcome) {
	if !e.late(o) {
		c.ConsecutiveFailures, c.FirstFailureAt, c.LastHTTPStatus, c.LastError = 0, nil, 0, ""
	}
	if c.LastSuccessAt == nil || c.LastSuccessAt.Before(o.At) {
		c.LastSuccessAt = &o.At
	}
}

// fail counts a failure. It returns false for a failure of a former URL, which does not count.
func (c *Counters) fail(e Endpoint, o topic.Outcome) bool {
	if e.late(o) {
		return false
	}
	c.ConsecutiveFailures++
	if c.FirstFailureAt == nil {
		c.FirstFailureAt = &o.At
	}
	c.LastHTTPStatus, c.LastError = o.HTTPStatus, o.ErrorCode
	return true
}
