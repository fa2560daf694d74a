package endpoint

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Counters hold the results of the deliveries to one endpoint, under all URLs that it has had. The consumer of outcomes
// writes them in bulk, and Clear resets them. They exist as long as the endpoint.
type Counters struct {
	ID                  string     `json:"id"` // of the endpoint
	ConsecutiveFailures int        `json:"consecutiveFailures"`
	FirstFailureAt      *time.Time `json:"firstFailureAt,omitempty"`
	LastSuccessAt       *time.Time `json:"lastSuccessAt,omitempty"`
	LastHTTPStatus      int        `json:"lastHttpStatus,omitempty"`
	LastError           string     `json:"lastError,omitempty"`
	// CountFrom is the earliest end of a delivery that may still count. Counted are the deliveries that ended since
	// then and were counted.
	CountFrom time.Time `json:"countFrom"`
	Counted   marks     `json:"counted,omitempty"`
	// Healthy is the group that has the later successes; nil: none.
	Healthy *membership `json:"healthy,omitempty"`
}

// remember notes a delivery. It returns false if its outcome must not count.
//
// An outcome never counts twice, however late Kafka or delivery repeats it: a delivery is marked until CountFrom is
// later than its end. The price is an outcome that arrives for the first time after keptMarks outcomes of deliveries
// to the same endpoint that ended later, the newest of them more than keptFor later, or after maxMarks of them. It
// does not count.
func (c *Counters) remember(o topic.Outcome) bool {
	mark := markOf(o)
	if o.At.Before(c.CountFrom) || c.Counted.has(mark) {
		return false
	}
	c.keep(mark)
	return true
}

// keep adds a mark, and removes those that need not be kept.
func (c *Counters) keep(mark []byte) {
	for c.Counted = c.Counted.add(mark); c.Counted.spare(); c.Counted = c.Counted[markSize:] {
		c.CountFrom = c.Counted.ended(0).Add(time.Millisecond)
	}
}

// reset forgets the failures. Deliveries that ended before now do not count any more.
func (c *Counters) reset(now time.Time) {
	*c = Counters{ID: c.ID, LastSuccessAt: c.LastSuccessAt, CountFrom: now}
}

// succeed counts a success. A success of a former URL does not reset ConsecutiveFailures, nor does one before the first
// of the failures: delivery publishes the outcomes of retries by another way than those of first attempts.
func (c *Counters) succeed(e Endpoint, o topic.Outcome) {
	if before := c.FirstFailureAt != nil && o.At.Before(*c.FirstFailureAt); !before && !e.late(o) {
		c.ConsecutiveFailures, c.FirstFailureAt, c.LastHTTPStatus, c.LastError = 0, nil, 0, ""
	}
	c.succeededAt(o.At)
}

// succeededAt notes the time of a success.
func (c *Counters) succeededAt(at time.Time) {
	if c.LastSuccessAt == nil || c.LastSuccessAt.Before(at) {
		c.LastSuccessAt = &at
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
