package endpoint

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/outcome"
)

// alerts reports whether the management address is notified of o, the failure that was counted last. The mail about a
// suppression replaces an alert that does not come before it.
func (s *Endpoints) alerts(c outcome.Counters, o topic.Outcome) bool {
	return !o.Gone && c.ConsecutiveFailures == s.AlertAfter && s.AlertAfter < s.SuppressAfter
}

// failing returns the notice of an endpoint's failures. The counters' write stores it, so there is one notice for each
// series of failures that reaches the number. o is the outcome that does.
func failing(e Endpoint, c outcome.Counters, o topic.Outcome, now time.Time) topic.Notice {
	return alert(topic.EndpointFailing, topic.DeriveID(o.DeliveryID, string(topic.EndpointFailing)), e, now, topic.EndpointReport{
		Channel: e.Channel, URLDisplay: e.URLDisplay, Failures: c.ConsecutiveFailures, Since: c.FirstFailureAt,
		HTTPStatus: c.LastHTTPStatus, ErrorCode: c.LastError,
	})
}

// suppressed returns the notice of a suppression to one endpoint of the URL.
func (s Suppression) suppressed(e Endpoint) topic.Notice {
	return alert(topic.EndpointSuppressed, topic.DeriveID(s.ID, string(topic.EndpointSuppressed), e.ID), e, s.SuppressedAt, topic.EndpointReport{
		Channel: s.Channel, URLDisplay: s.URLDisplay, Failures: s.ConsecutiveFailures, Since: s.FirstFailureAt,
		HTTPStatus: s.LastHTTPStatus, ErrorCode: s.LastError,
	})
}

// alert returns a mail about an endpoint to its management address.
func alert(kind topic.Kind, id string, e Endpoint, now time.Time, report topic.EndpointReport) topic.Notice {
	return topic.Notice{
		ID: id, Kind: kind, Organization: e.OrganizationID, OccurredAt: now, Channel: topic.Email, Service: topic.Integrations,
		Recipient: e.ID, Destination: e.ID, Endpoint: &report,
	}
}

// suppress stores a suppression unless the URL is suppressed already. It returns true if it stored the suppression.
// The write has the notices to the verified endpoints of the URL, so each gets one. If the endpoint that caused the
// suppression leaves the URL meanwhile, suppress deletes the suppression. If it leaves later, it finds the suppression.
func (s *Endpoints) suppress(ctx context.Context, d due) (bool, error) {
	suppression := d.suppression
	page, err := s.Store.Endpoints.Find(ctx, find.Query{Where: ofURL(suppression.OrganizationID, suppression.Channel, suppression.URLHash)})
	if err != nil {
		return false, err
	}
	var notices []topic.Message
	for _, e := range page.Items {
		notices = append(notices, suppression.suppressed(e))
	}
	err = s.Store.Suppressions.Insert(ctx, suppression, notices...)
	if fault.Is(err, fault.Conflict) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.Log.InfoContext(ctx, "endpoint suppressed", "organization", suppression.OrganizationID, "channel", suppression.Channel,
		"url_hash", suppression.URLHash, "reason", suppression.Reason, "failures", suppression.ConsecutiveFailures)
	present, err := s.Store.Endpoints.GetMany(ctx, []string{d.cause.ID})
	if err == nil && (len(present) == 0 || present[0].URLHash != suppression.URLHash) {
		return false, s.unsuppress(ctx, suppression)
	}
	return true, err
}
