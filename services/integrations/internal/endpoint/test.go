package endpoint

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// maxTestComponents is the maximum number of components in the example that tests an endpoint.
const maxTestComponents = 100

// Test sends an example to the endpoint with the URL on the dashboard. It returns the id of the delivery. The example
// is sent no matter which event kinds the endpoint has chosen, and its outcome is not counted. Quota limits the
// number of tests, because a receiver may belong to somebody else. Quota counts a test only after the checks of the
// endpoint.
func (s *Endpoints) Test(ctx context.Context, organization string, kind Kind, dashboardID, urlHash string) (string, error) {
	dashboard, err := s.dashboard(ctx, organization, dashboardID)
	if err != nil {
		return "", err
	}
	e, err := s.one(ctx, organization, kind.Channel, Target{DashboardID: dashboardID, URLHash: urlHash})
	if err != nil {
		return "", err
	}
	suppressions, err := s.suppressions(ctx, e)
	if err != nil {
		return "", err
	}
	if _, suppressed := suppressions[e.suppressionKey()]; suppressed {
		return "", fault.New(fault.Conflict, "The URL is suppressed: nothing is sent to it. Clear the suppression, then test the endpoint.")
	}
	if err := e.testable(); err != nil {
		return "", err
	}
	if wait := s.Quota.EndpointTest(ctx, organization, urlHash); wait > 0 {
		return "", fault.Wrap(fault.TooMany, fault.Throttled{Wait: wait}, "Too many test messages were sent to this URL or by your organization within this hour. Try again later.")
	}
	id, now := topic.NewID(), s.Now()
	e, err = s.Store.Endpoints.Update(ctx, e.ID, func(e *Endpoint) ([]topic.Message, error) {
		if e.URLHash != urlHash {
			return nil, missing()
		}
		if err := e.testable(); err != nil {
			return nil, err
		}
		return append(audit.Entry(audit.From(ctx), "endpoint.test", now, e, e), test(*e, dashboard, id, now)), nil
	})
	return topic.DeliveryID(id, e.ID), fault.IfMissing(err, missing())
}

// testable returns an error if nothing is sent to the endpoint, because it is unverified or paused.
func (e *Endpoint) testable() error {
	switch {
	case e.VerifiedAt == nil:
		return fault.New(fault.Conflict, "The endpoint is not verified: nothing is sent to it before.")
	case e.Paused:
		return fault.New(fault.Conflict, "The endpoint is paused: nothing is sent to it. Resume it, then test it.")
	}
	return nil
}

// test returns the notice with the example: an incident that no dashboard shows, on the endpoint's components.
func test(e Endpoint, dashboard topic.DashboardRecord, id string, now time.Time) topic.Notice {
	const text = "This is a test of the endpoint. There is no incident."
	event := topic.Event{
		ID: id, Type: "incident", Title: "Test: there is no incident", DescriptionText: text, DescriptionHTML: "<p>" + text + "</p>",
		Status: "investigating", StartAt: now, Hidden: true, Components: []topic.Component{},
	}
	for _, c := range dashboard.Components {
		if !c.HiddenFromNotifications && slices.Contains(e.ComponentIDs, c.ID) && len(event.Components) < maxTestComponents {
			event.Components = append(event.Components, topic.Component{
				ID: c.ID, Name: c.Name, Group: c.Group, Impact: "operational", Dashboards: []string{dashboard.ID},
			})
		}
	}
	return topic.Notice{
		ID: id, Kind: topic.EndpointTest, Organization: e.OrganizationID, OccurredAt: now,
		Channel: e.Channel, Service: topic.Integrations, Recipient: e.ID, Destination: e.Limit(), Event: &event,
	}
}
