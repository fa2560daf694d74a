package endpoint

import (
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// remembered is how many deliveries a tally knows again. Outcomes are told at least
// once; what is told again after a crash are the last ones.
const remembered = 32

// Tally is how the deliveries of one endpoint went, whichever URL it had. The consumer of
// outcomes is the only one who writes it, in bulk; it is there as long as its endpoint.
type Tally struct {
	ID                  string     `json:"id"` // the endpoint's
	ConsecutiveFailures int        `json:"consecutiveFailures"`
	FirstFailureAt      *time.Time `json:"firstFailureAt,omitempty"`
	LastSuccessAt       *time.Time `json:"lastSuccessAt,omitempty"`
	LastHTTPStatus      int        `json:"lastHttpStatus,omitempty"`
	LastError           string     `json:"lastError,omitempty"`
	Recent              []string   `json:"recent,omitempty"` // delivery ids, oldest first
}

// remember notes a delivery and reports whether it is a new one.
func (t *Tally) remember(delivery string) bool {
	if slices.Contains(t.Recent, delivery) {
		return false
	}
	t.Recent = append(t.Recent, delivery)
	if extra := len(t.Recent) - remembered; extra > 0 {
		t.Recent = slices.Delete(t.Recent, 0, extra)
	}
	return true
}

// succeed notes a success; one of the endpoint's former URL says nothing of the failures.
func (t *Tally) succeed(e Endpoint, o topic.Outcome) {
	if !e.late(o) {
		t.ConsecutiveFailures, t.FirstFailureAt, t.LastHTTPStatus, t.LastError = 0, nil, 0, ""
	}
	if t.LastSuccessAt == nil || t.LastSuccessAt.Before(o.At) {
		at := o.At
		t.LastSuccessAt = &at
	}
}

// fail counts a failure of the URL the endpoint has now and reports whether it was one;
// what its former URL did wrong was counted in time or is forgotten.
func (t *Tally) fail(e Endpoint, o topic.Outcome) bool {
	if e.late(o) {
		return false
	}
	t.ConsecutiveFailures++
	if t.FirstFailureAt == nil {
		at := o.At
		t.FirstFailureAt = &at
	}
	t.LastHTTPStatus, t.LastError = o.HTTPStatus, o.ErrorCode
	return true
}
