package endpoint

import (
	"time"

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
