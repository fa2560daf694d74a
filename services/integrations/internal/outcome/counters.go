package outcome

import (
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Counters count the failed deliveries to one endpoint. A change of the endpoint's URL does not reset them. The
// consumer of outcomes writes Counters in bulk. If a suppression is cleared, the Counters of all endpoints with the URL are
// reset. Counters are stored before an endpoint is created or verified, and deleted together with the endpoint.
type Counters struct {
	ID string `json:"id"` // id of the endpoint
	Series
	LastSuccessAt *time.Time `json:"lastSuccessAt,omitempty"`
	// CountFrom is the earliest end of a failed delivery that may still be counted. Counted marks the counted failures
	// that ended at this time or later.
	CountFrom time.Time `json:"countFrom"`
	Counted   marks     `json:"counted,omitempty"`
	// Groups are the keys of the LastSuccesses that may have a later success of the endpoint. There is one for each
	// bucket in which the endpoint has been.
	Groups []string `json:"groups,omitempty"`
}

// Series counts the failures since the last success. A success at the current URL resets all fields (see Counters.succeed).
type Series struct {
	ConsecutiveFailures int        `json:"consecutiveFailures"`
	FirstFailureAt      *time.Time `json:"firstFailureAt,omitempty"`
	LastHTTPStatus      int        `json:"lastHttpStatus,omitempty"`
	LastError           string     `json:"lastError,omitempty"`
}

// Failing returns the value of FieldFailing.
func (c *Counters) Failing() []string {
	if c.ConsecutiveFailures == 0 {
		return nil
	}
	return c.Groups
}

// Count adds an outcome to the counters. urlHash is the hash of the endpoint's current URL. Count returns true if the
// outcome is a failure and was counted.
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

// Has reports whether the failure is marked as counted.
func (c *Counters) Has(o topic.Outcome) bool { return c.Counted.has(markOf(o)) }

// Reset sets the number of failures to 0. Failures that ended before now are not counted afterwards.
func (c *Counters) Reset(now time.Time) {
	*c = Counters{ID: c.ID, LastSuccessAt: c.LastSuccessAt, CountFrom: now, Groups: c.Groups}
}

// remember marks a failure. It returns false if the failure must not be counted.
//
// A failure is never counted twice, no matter how late Kafka or delivery repeats its outcome. It is marked until
// CountFrom is later than its end, and then it is too old to count. A failure is also too old if its outcome arrives
// very late: after the outcomes of keptMarks later failures of the endpoint, of which the newest ended more than
// keptFor later, or after those of maxMarks later failures.
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

// succeed counts a success. A success at a former URL does not reset the Series. Neither does a success that ended
// before the first failure of the Series. The outcome of such a success can arrive late, because delivery publishes
// outcomes of retries in another way than those of first attempts.
func (c *Counters) succeed(urlHash string, o topic.Outcome) {
	if before := c.FirstFailureAt != nil && o.At.Before(*c.FirstFailureAt); !before && o.URLHash == urlHash {
		c.Series = Series{}
	}
	c.succeededAt(o.At)
}

// succeededAt sets LastSuccessAt if the time is later.
func (c *Counters) succeededAt(at time.Time) {
	if c.LastSuccessAt == nil || c.LastSuccessAt.Before(at) {
		c.LastSuccessAt = &at
	}
}

// fail counts a failure. It does not count a failure at a former URL, and returns false for it.
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
