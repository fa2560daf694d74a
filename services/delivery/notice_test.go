package delivery_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const managementLink = "https://status.test/public/endpoints/verify?token=of-the-endpoint"

// manager lets the mail about an endpoint go to the address of the tests.
func (w *world) manager(id string) {
	w.peer.mu.Lock()
	defer w.peer.mu.Unlock()
	w.peer.managed[id] = topic.Destination{
		ID: id, Channel: topic.Email, State: topic.RecipientActive, Address: mailAddress, Link: managementLink,
		Dashboard: topic.Dashboard{ID: dashboardID, Name: "Status", URL: "https://status.test/d/main"},
	}
}

// mailAbout returns a notice like integrations publishes it: mail about an endpoint.
func mailAbout(id string, kind topic.Kind) topic.Notice {
	since := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	return topic.Notice{
		ID: uuid.Must(uuid.NewV7()).String(), Kind: kind, Organization: organization, OccurredAt: time.Now().UTC().Truncate(time.Millisecond),
		Channel: topic.Email, Service: topic.Integrations, Recipient: id, Destination: fmt.Sprintf("%064x", 1),
		Endpoint: &topic.EndpointReport{Channel: topic.Webhook, URLDisplay: "hooks.test/…", Failures: 5, Since: &since, HTTPStatus: 500, ErrorCode: "http_5xx"},
	}
}

// testOf returns a notice for the test of an endpoint. Its example event is about a component that nobody has.
func testOf(id string, channel topic.Channel) topic.Notice {
	example := change("0190a000-0000-7000-8000-0000000000e1", 1).Event
	example.Components = []topic.Component{{ID: "0190a000-0000-7000-8000-0000000000c9", Name: "Example"}}
	return topic.Notice{
		ID: uuid.Must(uuid.NewV7()).String(), Kind: topic.EndpointTest, Organization: organization, OccurredAt: time.Now().UTC().Truncate(time.Millisecond),
		Channel: channel, Service: topic.Integrations, Recipient: id, Destination: fmt.Sprintf("%064x", 1), Event: &example,
	}
}

// retrying waits until a delivery waits for its retry.
func (w *world) retrying(id string) {
	w.t.Helper()
	apitest.Eventually(w.t, "the delivery to wait for its retry", func() bool {
		rows := w.rows(id)
		return len(rows) == 1 && rows[0].Status == deliverylog.StatusRetrying
	})
}

// Each mail about an endpoint is sent, also while the endpoint is suppressed. A newer mail does not replace an older
// one that waits for its retry. Nothing but the mail has the address and the link.
func TestEachMailAboutAnEndpointIsSentWhileTheEndpointIsSuppressedToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{content: replies(reply(451, smtp.EnhancedCodeNotSet), nil)})
	w.peer.add("h1", "https://hooks.test/1")
	w.peer.set("h1", func(d *topic.Destination) { d.State = topic.RecipientSuppressed })
	w.manager("h1")
	c := w.config(10 * time.Second) // long enough for what follows on a busy machine
	c.LogLevel = "debug"
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	s := w.start(c)
	notices := []topic.Notice{mailAbout("h1", topic.EndpointFailing), mailAbout("h1", topic.EndpointSuppressed), mailAbout("h1", topic.EndpointVerify)}
	w.publish(notices[0], nil)
	w.retrying(topic.DeliveryID(notices[0].ID, "h1"))
	w.publish(notices[1], nil)
	w.publish(notices[1], nil) // again
	w.publish(notices[2], nil)
	for i, n := range notices {
		row := w.ended(n.ID, "h1")[0]
		attempts := 1
		if i == 0 {
			attempts = 2
		}
		if row.Status != deliverylog.StatusDelivered || len(row.Attempts) != attempts || row.EventID != "" || row.EventKind != n.Kind ||
			row.Channel != topic.Email || row.Service != topic.Integrations || row.DashboardID != dashboardID {
			t.Errorf("row %+v", row)
		}
		outcome := w.outcomes.of(t, row.ID)
		if outcome.EventKind != n.Kind || outcome.EventID != "" || outcome.Channel != topic.Email || outcome.Recipient != "h1" || outcome.Result != topic.Delivered {
			t.Errorf("outcome %+v", outcome)
		}
		logged := fmt.Sprintf("%+v %+v %s", row, outcome, s.logs)
		for _, private := range []string{mailAddress, "of-the-endpoint"} {
			if strings.Contains(logged, private) {
				t.Errorf("%q is in a row, an outcome or a log", private)
			}
		}
	}
	mails, _, _ := office.got()
	if len(mails) != 4 {
		t.Fatalf("%d mails arrived", len(mails))
	}
	subjects := map[string]int{}
	for _, m := range mails {
		subjects[m.header.Get("Subject")]++
		if m.to[0] != mailAddress || m.header.Get("List-Unsubscribe") != "" || !strings.Contains(m.body, "hooks.test") ||
			!strings.Contains(strings.ReplaceAll(m.body, "=\r\n", ""), "of-the-endpoint") {
			t.Errorf("the mail is %+v", m)
		}
	}
	want := map[string]int{"[Status] Notifications to your webhook fail": 2, "[Status] Your webhook is suppressed": 1, "[Status] Confirm your webhook": 1}
	if fmt.Sprint(subjects) != fmt.Sprint(want) {
		t.Errorf("the subjects are %v", subjects)
	}
}

// Mail about an endpoint does not wait for the subscribers service, which keeps all other recipients of mail, and not
// for the receiver of the endpoint.
func TestMailAboutAnEndpointDoesNotWaitForOtherServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{})
	cut := w.hanging("hooks.test")
	w.peer.add("h1", "https://hooks.test/1")
	w.manager("h1")
	c := w.config()
	c.Timeout = time.Minute
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	people := w.person(&c, reader("p1"))
	w.start(c)
	t.Cleanup(cut) // the service stops when its attempts have ended
	sent := change(newEvent(), 1)
	sent.Notify = topic.Notify{topic.Email: {}, topic.Webhook: {}}
	hang, asked := make(chan struct{}), make(chan struct{}, 100)
	t.Cleanup(func() { close(hang) })
	people.mu.Lock()
	people.resolved = func([]string) { asked <- struct{}{}; <-hang }
	people.mu.Unlock()
	w.publish(sent, nil)
	<-asked
	apitest.Eventually(t, "the webhook to be sent", func() bool { return w.peer.questions() > 0 })
	notice := mailAbout("h1", topic.EndpointFailing)
	w.publish(notice, nil)
	if row := w.ended(notice.ID, "h1")[0]; row.Status != deliverylog.StatusDelivered {
		t.Errorf("row %+v", row)
	}
}

// The test of an endpoint reaches each kind of endpoint, also one that subscribed to none of the example's components.
// Two tests are two deliveries.
func TestTheTestOfAnEndpointReachesEachKindOfEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hooks := w.receiver("hooks.test", status(http.StatusOK))
	flows := w.receiver("flows.test", status(http.StatusAccepted))
	chat := w.receiver("chat.test", inTurn(status(http.StatusServiceUnavailable), status(http.StatusOK)))
	w.peer.add("h1", "https://hooks.test/1")
	w.workflow("t1", "https://flows.test/workflows/x")
	w.space("g1", chatSpace+"key=k&token=t", "")
	w.start(w.config())
	for id, channel := range map[string]topic.Channel{"h1": topic.Webhook, "t1": topic.Teams, "g1": topic.GChat} {
		for range 2 {
			notice := testOf(id, channel)
			w.publish(notice, nil)
			row := w.ended(notice.ID, id)[0]
			outcome := w.outcomes.of(t, row.ID)
			if row.Status != deliverylog.StatusDelivered || row.EventID != "" || row.EventKind != topic.EndpointTest || row.Channel != channel ||
				outcome.EventKind != topic.EndpointTest || outcome.EventID != "" || outcome.Channel != channel {
				t.Errorf("row %+v, outcome %+v", row, outcome)
			}
		}
	}
	var payload struct {
		ID, Kind string
		Event    struct {
			ID                 string
			AffectedComponents []struct{ Name string }
		}
		Dashboard struct{ Name string }
	}
	got := hooks.got()
	if len(got) != 2 || got[0].id() == got[1].id() {
		t.Fatalf("%d tests of the webhook arrived", len(got))
	}
	if err := json.Unmarshal(got[0].body, &payload); err != nil || payload.ID != got[0].id() || payload.Kind != "endpoint.test" || payload.Event.ID == "" ||
		len(payload.Event.AffectedComponents) != 1 || payload.Dashboard.Name != "Status" || got[0].header.Get("Webhook-Signature") == "" {
		t.Errorf("%v: %s", err, got[0].body)
	}
	cards, messages := flows.got(), chat.got()
	if len(cards) != 2 || len(messages) != 3 {
		t.Fatalf("%d cards and %d messages arrived", len(cards), len(messages))
	}
	for _, a := range append(cards, messages...) {
		if !strings.Contains(string(a.body), "This is a test. Nothing happened") {
			t.Errorf("the card is %s", a.body)
		}
	}
	if messages[0].query != messages[1].query || messages[1].query == messages[2].query {
		t.Errorf("the requests are %s, %s and %s", messages[0].query, messages[1].query, messages[2].query)
	}
	first, _ := threadOf(t, messages[1])
	if second, _ := threadOf(t, messages[2]); first == second {
		t.Error("two tests are in one thread")
	}
}

// A notice whose recipient is gone, or paused, ends without an attempt.
func TestANoticeToAPausedOrDeletedRecipientEndsWithoutAnAttempt(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	w.peer.add("h1", "https://hooks.test/1")
	w.peer.set("h1", func(d *topic.Destination) { d.State = topic.RecipientPaused })
	w.start(w.config())
	for _, c := range []struct {
		notice topic.Notice
		code   deliverylog.Code
	}{
		{testOf("h1", topic.Webhook), deliverylog.CodePaused},
		{testOf("h2", topic.Webhook), deliverylog.CodeNoRecipient},
		{mailAbout("h1", topic.EndpointFailing), deliverylog.CodeNoRecipient}, // without an address
	} {
		w.publish(c.notice, nil)
		row := w.ended(c.notice.ID, c.notice.Recipient)[0]
		if outcome := w.outcomes.of(t, row.ID); row.Status != deliverylog.StatusSkipped || row.ErrorCode != c.code || outcome.EventKind != c.notice.Kind {
			t.Errorf("row %+v, outcome %+v", row, outcome)
		}
	}
	if n := len(hooks.got()); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// member adds the identity service, and makes it return the destination for the member m1.
func (w *world) member(c *delivery.Config) *integrations {
	w.t.Helper()
	identity := newPeer(w.t, "identity")
	c.IdentityURL = identity.server.URL
	identity.member("m1", mailAddress)
	return identity
}

// member adds a member as the identity service returns it.
func (i *integrations) member(id, address string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.managed[id] = topic.Destination{
		ID: id, Channel: topic.Email, State: topic.RecipientActive, Address: address, Link: memberLink, Locale: "en",
		Names: []string{"ada"}, Dashboard: topic.Dashboard{Name: "Acme"},
	}
}

const memberLink = "https://status.test/console/welcome?token=of-the-member"

// mailTo returns a notice like identity publishes it: mail to a member.
func mailTo(id string, kind topic.Kind) topic.Notice {
	until := time.Now().Add(72 * time.Hour).UTC()
	return topic.Notice{
		ID: uuid.Must(uuid.NewV7()).String(), Kind: kind, Organization: organization, OccurredAt: time.Now().UTC().Truncate(time.Millisecond),
		Channel: topic.Email, Service: topic.Identity, Recipient: id, Destination: fmt.Sprintf("%064x", 2),
		Member: &topic.MemberReport{Name: "laptop", Until: &until},
	}
}

// A mail to a member is retried, and has the address and the link that identity returns right before the attempt.
// Nothing but the mail has them. The mail is not sent once the link was used.
func TestAMailToAMemberHasTheAddressAndTheLinkOfTheMoment(t *testing.T) {
	w := newWorld(t)
	c := w.config(time.Second)
	identity := w.member(&c)
	var link topic.Destination
	office := newPostOffice(t, &postOffice{content: func(attempt int) error {
		switch attempt {
		case 1:
			return reply(451, smtp.EnhancedCodeNotSet)
		case 3: // the first attempt of the mail whose link is used meanwhile
			identity.mu.Lock()
			defer identity.mu.Unlock()
			link = identity.managed["m1"]
			identity.managed["m1"] = topic.Destination{ID: "m1", State: topic.RecipientGone}
			return reply(451, smtp.EnhancedCodeNotSet)
		}
		return nil
	}})
	c.LogLevel = "debug"
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	s := w.start(c)
	invitation, changed, used := mailTo("m1", topic.MemberInvitation), mailTo("m1", topic.MemberPassword), mailTo("m1", topic.MemberForgotten)
	w.publish(invitation, nil)
	row := w.ended(invitation.ID, "m1")[0]
	if row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 2 || row.Service != topic.Identity || row.EventKind != topic.MemberInvitation || row.DashboardID != "" {
		t.Errorf("row %+v", row)
	}
	w.publish(used, nil)
	if row := w.ended(used.ID, "m1")[0]; row.Status != deliverylog.StatusSkipped || row.ErrorCode != deliverylog.CodeNoRecipient || len(row.Attempts) != 1 {
		t.Errorf("row %+v", row)
	}
	identity.mu.Lock()
	identity.managed["m1"] = link
	identity.mu.Unlock()
	w.publish(changed, nil)
	w.ended(changed.ID, "m1")
	logs, _ := s.list(t, topic.Email, nil)
	for _, one := range logs {
		_, text := s.log(t, one)
		for _, private := range []string{mailAddress, "of-the-member"} {
			if strings.Contains(text+s.logs.String(), private) {
				t.Errorf("%q is in a log: %s", private, text)
			}
		}
	}
	mails, _, _ := office.got()
	var subjects []string
	for _, m := range mails {
		subjects = append(subjects, m.header.Get("Subject"))
		linked := strings.Contains(strings.ReplaceAll(m.body, "=\r\n", ""), "of-the-member")
		if m.to[0] != mailAddress || m.header.Get("List-Unsubscribe") != "" || linked == strings.Contains(m.header.Get("Subject"), "changed") {
			t.Errorf("the mail is %+v", m)
		}
	}
	want := []string{"[Acme] Your invitation", "[Acme] Your invitation", "[Acme] Choose a new password", "[Acme] Your password was changed"}
	if fmt.Sprint(subjects) != fmt.Sprint(want) {
		t.Errorf("the subjects are %q", subjects)
	}
}

// Kill -9 loses no mail to a member while it waits for its retry.
func TestAKillLosesNoMailToAMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{content: replies(reply(451, smtp.EnhancedCodeNotSet), nil)})
	var c delivery.Config
	w.member(&c)
	env := []string{"SMTP_URL=" + office.url("smtp", ""), "MAIL_FROM=status@bellbuoy.test", "DELIVERY_RETRY_SCHEDULE=10s,1s", "IDENTITY_URL=" + c.IdentityURL}
	notice := mailTo("m1", topic.MemberInvitation)
	w.publish(notice, nil) // before the service starts
	first := w.child(env...)
	apitest.Eventually(t, "the first attempt", func() bool { mails, _, _ := office.got(); return len(mails) > 0 })
	w.retrying(topic.DeliveryID(notice.ID, "m1"))
	first.kill()
	w.child(env...)
	if row := w.ended(notice.ID, "m1")[0]; row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 2 || row.Service != topic.Identity {
		t.Errorf("row %+v", row)
	}
}

// Kill -9 loses no notice: not before it is planned, not between the plan and the attempt, and not while it waits for
// its retry. Each mail has the same Message-ID in all attempts.
func TestAKillLosesNoNotice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{content: replies(nil, reply(451, smtp.EnhancedCodeNotSet), nil)})
	w.manager("h1")
	env := []string{"SMTP_URL=" + office.url("smtp", ""), "MAIL_FROM=status@bellbuoy.test", "DELIVERY_RETRY_SCHEDULE=10s,1s"}
	notices := []topic.Notice{mailAbout("h1", topic.EndpointFailing), mailAbout("h1", topic.EndpointSuppressed)}

	w.publish(notices[0], nil) // before the service starts
	w.peer.setDown(true)
	c := w.child(env...)
	apitest.Eventually(t, "the notice to be planned, and its recipient to be resolved", func() bool { return w.peer.refused() > 0 })
	c.kill()
	w.peer.setDown(false)
	c = w.child(env...)
	if row := w.ended(notices[0].ID, "h1")[0]; row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 1 {
		t.Errorf("row %+v", row)
	}
	w.publish(notices[1], nil)
	w.retrying(topic.DeliveryID(notices[1].ID, "h1"))
	c.kill()
	w.child(env...)
	row := w.ended(notices[1].ID, "h1")[0]
	if row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 2 || row.Service != topic.Integrations {
		t.Errorf("row %+v", row)
	}
	ids := map[string]int{}
	mails, _, _ := office.got()
	for _, m := range mails {
		ids[m.header.Get("Message-Id")]++
	}
	first, second := "<"+topic.DeliveryID(notices[0].ID, "h1")+"@bellbuoy.test>", "<"+row.ID+"@bellbuoy.test>"
	if len(ids) != 2 || ids[first] != 1 || ids[second] != 2 {
		t.Errorf("the mails are %v", ids)
	}
}

// A test in the log has no event, and shows what was sent without the endpoint's URL. A replay sends it again: to the
// space as a new message, and without an event too.
func TestAReplayedTestHasNoEventEither(t *testing.T) {
	w := newWorld(t)
	chat := w.receiver("chat.test", status(http.StatusOK))
	w.space("g1", chatSpace+"key=the-key&token=the-token", "space-a")
	s := w.start(w.config())
	notice := testOf("g1", topic.GChat)
	w.publish(notice, nil)
	w.ended(notice.ID, "g1")
	logs, _ := s.list(t, topic.GChat, nil)
	if len(logs) != 1 || logs[0].EventID != nil || logs[0].EventKind != topic.EndpointTest {
		t.Fatalf("logs %+v", logs)
	}
	one, text := s.log(t, logs[0])
	if one.Request == nil || !strings.Contains(one.Request.Body, "This is a test.") || strings.Contains(text, "the-token") || strings.Contains(text, "the-key") {
		t.Errorf("the log is %s", text)
	}
	id := s.replay(t, logs[0])
	if outcome := w.outcomes.of(t, id); outcome.Result != topic.Delivered || outcome.EventID != "" || outcome.EventKind != topic.EndpointTest {
		t.Errorf("outcome %+v", outcome)
	}
	got := chat.got()
	if len(got) != 2 || !strings.HasSuffix(got[1].query, "&requestId="+id) || string(got[0].body) != string(got[1].body) {
		t.Errorf("%d messages: %+v", len(got), got)
	}
}
