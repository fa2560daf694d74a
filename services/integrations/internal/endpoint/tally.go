package endpoint

import (
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// remembered is how many deliveries a tally knows again. Outcomes are told at least
// once; what is told again after a crash are the last ones.
const remembered = 32

// Tally is how the deliveries of one endpoint went. The consumer of outcomes is the
// only one who writes it, in bulk; it is there as long as its endpoint.
type Tally struct {
	ID                  string     `json:"id"`      // the endpoint's
	URLHash             string     `json:"urlHash"` // the URL whose failures are counted
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

func (t *Tally) succeed(o topic.Outcome) {
	t.ConsecutiveFailures, t.FirstFailureAt, t.LastHTTPStatus, t.LastError = 0, nil, 0, ""
	if t.LastSuccessAt == nil || t.LastSuccessAt.Before(o.At) {
		at := o.At
		t.LastSuccessAt = &at
	}
}

// fail counts a failure of the URL the endpoint has now and reports whether it was
// one; what its former URL did wrong is forgotten, counted already or told late.
func (t *Tally) fail(e Endpoint, o topic.Outcome) bool {
	if t.URLHash != e.URLHash {
		t.URLHash, t.ConsecutiveFailures, t.FirstFailureAt = e.URLHash, 0, nil
	}
	if o.At.Before(e.URLSince) {
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

// failures are those that count against the endpoint's present URL.
func (t Tally) failures(e Endpoint) int {
	if t.URLHash != e.URLHash {
		return 0
	}
	return t.ConsecutiveFailures
}
