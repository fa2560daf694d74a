package endpoint

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/outcome"
)

// Key returns the key of the record.
func (s Suppression) Key() string { return suppressionKey(s.OrganizationID, s.Channel, s.URLHash) }

// AuditEntity implements audit.Record.
func (s Suppression) AuditEntity() audit.Entity {
	return audit.Entity{Organization: s.OrganizationID, Type: "suppression", ID: s.ID, Name: s.URLDisplay}
}

func suppressionKey(organization string, channel topic.Channel, urlHash string) string {
	return organization + "/" + string(channel) + "/" + urlHash
}

// suppressionKey returns the key of a suppression of the endpoint's URL.
func (e Endpoint) suppressionKey() string {
	return suppressionKey(e.OrganizationID, e.Channel, e.URLHash)
}

// newSuppression returns the suppression of the endpoint's URL, with the failures in the endpoint's counters.
func newSuppression(e Endpoint, c outcome.Counters, reason Reason, now time.Time) Suppression {
	return Suppression{
		ID: topic.NewID(), OrganizationID: e.OrganizationID, Channel: e.Channel, URLHash: e.URLHash, URLDisplay: e.URLDisplay,
		Reason: reason, ConsecutiveFailures: c.ConsecutiveFailures, FirstFailureAt: c.FirstFailureAt, SuppressedAt: now,
		LastHTTPStatus: c.LastHTTPStatus, LastError: c.LastError,
	}
}

// movedTo returns s, a suppression of the endpoint's former URL, as a suppression of its present URL.
func (s Suppression) movedTo(e Endpoint) Suppression {
	s.ID, s.URLHash, s.URLDisplay = topic.NewID(), e.URLHash, e.URLDisplay
	return s
}

// reconcile makes the suppression of a URL agree with the verified endpoints that have the URL:
//   - If no endpoint has the URL, reconcile deletes the suppression.
//   - If every endpoint with the URL has a MovedSuppression, that of the first endpoint becomes the suppression of the URL.
//   - If an endpoint with the URL has no MovedSuppression, reconcile does not change the suppression of the URL.
//
// Then it removes MovedSuppression from the endpoints. The write of the new URL also stores MovedSuppression, so a kill at
// any point loses no suppression.
//
// A move or delete first writes the endpoint and then calls reconcile. suppress first writes the suppression and then
// reads the endpoint that caused it. So the later of the two sees both writes. Create, move and verify also call
// reconcile for the new URL before they write. The suppression of an endpoint with a MovedSuppression is read only
// after a call of reconcile.
func (s *Endpoints) reconcile(ctx context.Context, organization string, channel topic.Channel, urlHash string) error {
	for {
		again, err := s.reconcileOnce(ctx, organization, channel, urlHash)
		if err != nil || !again {
			return err
		}
	}
}

// reconcileOnce does what reconcile does. It returns true if it must be called again, because an endpoint with the URL
// was deleted or got another URL during the call.
func (s *Endpoints) reconcileOnce(ctx context.Context, organization string, channel topic.Channel, urlHash string) (again bool, err error) {
	// The suppression is read before the endpoints. If an endpoint gets the URL later and is suppressed, this is
	// another suppression with another ID, and unsuppress does not delete it.
	former, err := s.Store.Suppressions.GetMany(ctx, []string{suppressionKey(organization, channel, urlHash)})
	if err != nil {
		return false, err
	}
	// Each dashboard of the organization has at most one endpoint with the URL.
	page, err := s.Store.Endpoints.Find(ctx, find.Query{Where: ofKind(organization, channel, find.Eq(FieldSlot, urlHash))})
	if err != nil {
		return false, err
	}
	if len(page.Items) == 0 {
		for _, suppression := range former {
			err = s.unsuppress(ctx, suppression)
		}
		return false, err
	}
	var moved []Endpoint
	for _, e := range page.Items {
		if e.MovedSuppression != nil {
			moved = append(moved, e)
		}
	}
	if len(moved) == len(page.Items) {
		suppression := moved[0].MovedSuppression.movedTo(moved[0])
		_, err := s.Store.Suppressions.Upsert(ctx, suppression.Key(), func(current *Suppression, _ bool) ([]topic.Message, error) {
			*current = suppression
			return nil, nil
		})
		if err != nil {
			return false, err
		}
	}
	for _, e := range moved {
		changed, err := s.Store.Endpoints.Change(ctx, e.ID, func(current *Endpoint) error {
			if current.MovedSuppression == nil || current.MovedSuppression.ID != e.MovedSuppression.ID {
				return fault.ErrUnchanged
			}
			current.MovedSuppression = nil
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

// unsuppress deletes the suppression. It does not delete another suppression that has replaced it.
func (s *Endpoints) unsuppress(ctx context.Context, suppression Suppression) error {
	return fault.UnlessMissing(s.Store.Suppressions.Delete(ctx, suppression.Key(), func(current *Suppression) ([]topic.Message, error) {
		if current.ID != suppression.ID {
			return nil, fault.ErrUnchanged
		}
		return nil, nil
	}))
}

// fewSuppressions is the maximum number of suppressions of an organization and channel that suppressions reads in one query.
const fewSuppressions = 32

// suppressions returns suppressions by suppressionKey, among them those of the endpoints' URLs. If there are more than
// fewSuppressions endpoints, all of one organization and channel, and this channel has at most fewSuppressions
// suppressions, one query reads all suppressions of the channel. Otherwise the suppressions are read by key.
func (s *Endpoints) suppressions(ctx context.Context, endpoints ...Endpoint) (map[string]Suppression, error) {
	keys, alike := make([]string, len(endpoints)), true
	for i, e := range endpoints {
		keys[i] = e.suppressionKey()
		alike = alike && e.OrganizationID == endpoints[0].OrganizationID && e.Channel == endpoints[0].Channel
		if e.MovedSuppression == nil {
			continue
		}
		if err := s.reconcile(ctx, e.OrganizationID, e.Channel, e.URLHash); err != nil {
			return nil, err
		}
	}
	if alike && len(keys) > fewSuppressions {
		all, err := s.Store.Suppressions.Find(ctx, find.Query{
			Where: ofKind(endpoints[0].OrganizationID, endpoints[0].Channel), Order: []find.Order{{Field: FieldSuppressedAt}}, Limit: fewSuppressions,
		})
		if err != nil || all.Next == "" {
			return find.Index(all.Items, Suppression.Key), err
		}
	}
	return find.ByKey(ctx, s.Store.Suppressions, distinct(keys), Suppression.Key)
}

// cleanUp calls reconcile for the URLs, even if the client disconnects.
func (s *Endpoints) cleanUp(ctx context.Context, e Endpoint, urlHashes ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	for _, hash := range urlHashes {
		if err := s.reconcile(ctx, e.OrganizationID, e.Channel, hash); err != nil {
			return err
		}
	}
	return nil
}

// failing returns the notice about an endpoint's failures. o is the failure with which ConsecutiveFailures reaches AlertAfter.
// The notice is published with the write of the counters, so there is one notice for each such series of failures.
func failing(e Endpoint, c outcome.Counters, o topic.Outcome, now time.Time) topic.Notice {
	return alert(topic.EndpointFailing, topic.DeriveID(o.DeliveryID, string(topic.EndpointFailing)), e, now, topic.EndpointReport{
		Channel: e.Channel, URLDisplay: e.URLDisplay, Failures: c.ConsecutiveFailures, Since: c.FirstFailureAt,
		HTTPStatus: c.LastHTTPStatus, ErrorCode: c.LastError,
	})
}

// suppressed returns the notice about the suppression for one endpoint with the URL.
func (s Suppression) suppressed(e Endpoint) topic.Notice {
	return alert(topic.EndpointSuppressed, topic.DeriveID(s.ID, string(topic.EndpointSuppressed), e.ID), e, s.SuppressedAt, topic.EndpointReport{
		Channel: s.Channel, URLDisplay: s.URLDisplay, Failures: s.ConsecutiveFailures, Since: s.FirstFailureAt,
		HTTPStatus: s.LastHTTPStatus, ErrorCode: s.LastError,
	})
}

// alert returns the notice for a mail about an endpoint to its management address.
func alert(kind topic.Kind, id string, e Endpoint, now time.Time, report topic.EndpointReport) topic.Notice {
	return topic.Notice{
		ID: id, Kind: kind, Organization: e.OrganizationID, OccurredAt: now, Channel: topic.Email, Service: topic.Integrations,
		Recipient: e.ID, Destination: e.ID, Endpoint: &report,
	}
}
