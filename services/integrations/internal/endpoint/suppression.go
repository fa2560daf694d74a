package endpoint

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Reason is why a URL was suppressed.
type Reason string

const (
	ReasonFailures Reason = "consecutive_failures" // the policy's limit was reached
	ReasonGone     Reason = "gone"                 // the receiver answered 410
)

// Suppression says that nothing is sent to a URL any more, whichever endpoint of
// the organization names it. It is there as long as some endpoint does, and an
// endpoint that gets another URL takes it along.
type Suppression struct {
	ID                  string        `json:"id"` // random: tells it from one that took its place
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
		ID: rand.Text(), OrganizationID: e.OrganizationID, Channel: e.Channel, URLHash: e.URLHash, URLDisplay: e.URLDisplay,
		Reason: reason, ConsecutiveFailures: t.ConsecutiveFailures, FirstFailureAt: t.FirstFailureAt, SuppressedAt: now,
		LastHTTPStatus: t.LastHTTPStatus, LastError: t.LastError,
	}
}

// follow is the suppression of an endpoint's former URL as that of the one it has now.
func (s Suppression) follow(e Endpoint) Suppression {
	s.ID, s.URLHash, s.URLDisplay = rand.Text(), e.URLHash, e.URLDisplay
	return s
}

// settle brings the suppression of a URL in line with the endpoints that have it, after
// some came or went. With none left it is forgotten. One that came from a suppressed URL
// carries that suppression in its own record, written together with the new URL, so that
// nothing is lost wherever a process is killed; it becomes this URL's, unless others
// have the URL already: then what holds for them holds for it.
//
// Whoever needs a URL's suppression settles the URL first when an endpoint still carries
// one, and whoever brings an endpoint to a URL does so in any case. It may run at the same time in many
// places: each writes first and looks again afterwards, so that the last to look sees all.
func (s *Endpoints) settle(ctx context.Context, organization string, channel topic.Channel, urlHash string) error {
	for {
		again, err := s.settleOnce(ctx, organization, channel, urlHash)
		if err != nil || !again {
			return err
		}
	}
}

// settleOnce reports whether an endpoint went away meanwhile.
func (s *Endpoints) settleOnce(ctx context.Context, organization string, channel topic.Channel, urlHash string) (again bool, err error) {
	// What may have to go is read before the endpoints are: had one come after that, its
	// suppression is another one and stays.
	former, err := s.store.Suppressions(ctx, []string{suppressionKey(organization, channel, urlHash)})
	if err != nil {
		return false, err
	}
	// As many as the organization has dashboards, at the most.
	page, err := s.store.Find(ctx, find.Query{Where: ofURL(organization, channel, urlHash)})
	if err != nil {
		return false, err
	}
	if len(page.Items) == 0 {
		for _, suppression := range former {
			err = s.store.RemoveSuppression(ctx, suppression)
		}
		return false, err
	}
	var came []Endpoint
	for _, e := range page.Items {
		if e.Carried != nil {
			came = append(came, e)
		}
	}
	if len(came) > 0 && len(came) == len(page.Items) {
		if err := s.store.PutSuppression(ctx, came[0].Carried.follow(came[0])); err != nil {
			return false, err
		}
	}
	for _, e := range came {
		carried := *e.Carried
		changed, err := s.store.Change(ctx, e.ID, func(e *Endpoint) error {
			if e.Carried == nil || e.Carried.ID != carried.ID {
				return fault.ErrUnchanged
			}
			e.Carried = nil
			return nil
		})
		switch {
		case fault.Is(err, fault.NotFound) || err == nil && changed.URLHash != urlHash:
			again = true
		case err != nil:
			return false, err
		}
	}
	return again, nil
}

// suppressions are those that hold for the endpoints, by key.
func (s *Endpoints) suppressions(ctx context.Context, endpoints []Endpoint) (map[string]Suppression, error) {
	var keys unique
	for _, e := range endpoints {
		keys.add(e.suppression())
		if e.Carried == nil {
			continue
		}
		if err := s.settle(ctx, e.OrganizationID, e.Channel, e.URLHash); err != nil {
			return nil, err
		}
	}
	return s.store.Suppressions(ctx, keys.list)
}
