package outcome

import (
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Counters hold the failures of the deliveries to one endpoint, under all URLs that the endpoint has had. The consumer of
// outcomes writes them in bulk, and clearing a suppression resets them. They exist as long as the endpoint.
type Counters struct {
	ID                  string     `json:"id"` // id of the endpoint
	ConsecutiveFailures int        `json:"consecutiveFailures"`
	FirstFailureAt      *time.Time `json:"firstFailureAt,omitempty"`
	LastSuccessAt       *time.Time `json:"lastSuccessAt,omitempty"`
	LastHTTPStatus      int        `json:"lastHttpStatus,omitempty"`
	LastError           string     `json:"lastError,omitempty"`
	// CountFrom is the earliest end of a failure that may still count. Counted marks the failures that ended since then
	// and were counted.
	CountFrom time.Time `json:"countFrom"`
	Counted   marks     `json:"counted,omitempty"`
	// Groups are the keys of the LastSuccesses that may have a later success: one for each bucket that the endpoint has had.
	Groups []string `json:"groups,omitempty"`
}

// Failing returns FieldFailing.
func (c *Counters) Failing() []string {
	if c.ConsecutiveFailures == 0 {
		return nil
	}
	return c.Groups
}

// Count adds an outcome to the counters of an endpoint that has the URL now. It returns true for a failure that counts.
func (c *Counters) Count(urlHash string, o topic.Outcome) bool {
	if key := group(o); !slices.Contains(c.Groups, key) {
		c.Groups = append(c.Groups, key)
	}
	if o.Result == topic.Delivered {
		c.succeed(urlHash, o)
		return false
	}
	return c.remember(o) && c.fail(urlHash, o)
}

// Has reports whether the failure is counted.
func (c *Counters) Has(o topic.Outcome) bool { return c.Counted.has(markOf(o)) }

// Reset sets the failures to 0. Deliveries that ended before now do not count any more.
func (c *Counters) Reset(now time.Time) {
	*c = Counters{ID: c.ID, LastSuccessAt: c.LastSuccessAt, CountFrom: now, Groups: c.Groups}
}

// remember marks a failure. It returns false if the failure must not count.
//
// A failure never counts twice, however late Kafka or delivery repeats its outcome: it is marked until CountFrom is later
// than its end. A failure does not count either if its outcome arrives for the first time after those of keptMarks later
// failures of the endpoint, the newest of them more than keptFor later, or of maxMarks later failures.
func (c *Counters) remember(o topic.Outcome) bool {
	mark := markOf(o)
	if o.At.Before(c.CountFrom) || c.Counted.has(mark) {
		return false
	}
	for c.Counted = c.Counted.add(mark); c.Counted.spare(); c.Counted = c.Counted[markSize:] {
		c.CountFrom = c.Counted.ended(0).Add(time.Millisecond)
	}
	return true
}

// succeed counts a success. A success of a former URL does not reset ConsecutiveFailures, nor does one before the first
// of the failures: delivery publishes the outcomes of retries by another way than those of first attempts.
func (c *Counters) succeed(urlHash string, o topic.Outcome) {
	if before := c.FirstFailureAt != nil && o.At.Before(*c.FirstFailureAt); !before && o.URLHash == urlHash {
		c.ConsecutiveFailures, c.FirstFailureAt, c.LastHTTPStatus, c.LastError = 0, nil, 0, ""
	}
	c.succeededAt(o.At)
}

// succeededAt sets LastSuccessAt to the time of a later success.
func (c *Counters) succeededAt(at time.Time) {
	if c.LastSuccessAt == nil || c.LastSuccessAt.Before(at) {
		c.LastSuccessAt = &at
	}
}

// fail counts a failure. It returns false for a failure of a former URL, which does not count.
func (c *Counters) fail(urlHash string, o topic.Outcome) bool {
	if o.URLHash != urlHash {
		return false
	}
	c.ConsecutiveFailures++
	if c.FirstFailureAt == nil {
		c.FirstFailureAt = &o.At
	}
	c.LastHTTPStatus, c.LastError = o.HTTPStatus, o.ErrorCode
	return true
}
