package integrations_test

import (
	"net/http"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations"
)

// Endpoints of one space of Google Chat have the same destination, so that delivery keeps the limit of the space. A
// moved endpoint has that of its new space.
func TestEndpointsOfASpaceShareALimit(t *testing.T) {
	const gchat = "/app/integrations/gchat/endpoints"
	p := start(t, func(c *integrations.Config) { c.GChatHosts = []string{"chat.googleapis.com"} })
	o := p.organization(25)
	create := func(space, token string) record {
		return p.call(o, http.StatusCreated, http.MethodPost, gchat, object{
			"dashboardId": o.dashboard, "managementEmail": "ops@example.com", "componentIds": []string{o.one},
			"url": "https://chat.googleapis.com/v1/spaces/" + space + "/messages?key=k&token=" + token,
		}).Endpoint
	}
	one := create("AAAA", "one")
	create("AAAA", "two")
	third := create("BBBB", "three")
	inbox := p.mailbox()
	list := func() []topic.Recipient {
		t.Helper()
		query := topic.RecipientQuery{Kind: topic.IncidentCreated, Channel: topic.GChat, Components: []string{o.one}, Limit: 10}
		page, err := p.recipients().Concerned(t.Context(), o.id, query)
		if err != nil || len(page.Recipients) != 3 {
			t.Fatalf("%+v %v", page, err)
		}
		return page.Recipients
	}
	limits := func() []string {
		t.Helper()
		var out []string
		for _, recipient := range list() {
			destination := p.resolve(o, recipient.ID)[0]
			if destination.Paced != recipient.Destination || destination.Paced == "" || destination.Paced == destination.URLHash {
				t.Errorf("%+v, but the destination is %+v", recipient, destination)
			}
			out = append(out, recipient.Destination)
		}
		return out
	}
	if got := limits(); got[0] != got[1] || got[0] == got[2] {
		t.Errorf("two endpoints of one space and one of another: %q", got)
	}
	p.call(o, http.StatusOK, http.MethodPatch, gchat, object{"dashboardId": o.dashboard, "urlHash": third.URLHash,
		"url": "https://chat.googleapis.com/v1/spaces/AAAA/messages?key=k&token=three"})
	if got := limits(); got[0] != got[1] || got[0] != got[2] {
		t.Errorf("three endpoints of one space: %q", got)
	}

	// A test is a message to the space too.
	recipient, shared := list()[0].ID, list()[0].Destination
	p.call(o, http.StatusAccepted, http.MethodPost, gchat+"/test", object{"dashboardId": o.dashboard, "urlHash": one.URLHash})
	apitest.Eventually(t, "the test", func() bool { return len(inbox.to(recipient, topic.EndpointTest)) == 1 })
	if notice := inbox.to(recipient, topic.EndpointTest)[0]; notice.Destination != shared {
		t.Errorf("the notice is %+v", notice)
	}
}
