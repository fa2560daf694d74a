package channel

import (
	"crypto/rand"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// noticed returns a message about an endpoint.
func noticed(kind topic.Kind, report *topic.EndpointReport) dispatch.Message {
	return dispatch.Message{
		DeliveryID: "d1", At: time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC),
		Change: &dispatch.Snapshot{EventChange: topic.EventChange{ID: "n", Kind: kind}, Notice: &topic.Notice{Endpoint: report}},
		To:     &topic.Destination{Dashboard: dashboard, Address: "ops@example.com", Link: "https://status.test/public/endpoints/page?token=a&b=c"},
	}
}

func report() *topic.EndpointReport {
	since := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	return &topic.EndpointReport{Channel: topic.Webhook, URLDisplay: "hooks.test/abc…", Failures: 5, Since: &since, HTTPStatus: 500, ErrorCode: "http_5xx"}
}

// The whole text of each mail about an endpoint.
func TestTheMailsAboutEndpointsAreAsDocumented(t *testing.T) {
	const link = ": https://status.test/public/endpoints/page?token=a&b=c\n"
	const footer = "\n--\nYou get this email because your address is the management address of this endpoint.\n"
	failures := "Failures in a row: 5\nFirst failure: 4 March 2026, 05:06 UTC\nLast error: HTTP 500, the receiver reported an internal error\n"
	for kind, want := range map[topic.Kind]string{
		topic.EndpointVerify: "Confirm your webhook\n\nSomebody asked to send notifications from the dashboard Status to this webhook.\n\nWebhook: hooks.test/abc…\n\nConfirm" + link +
			"\nThe link works once and for a limited time. Nothing is sent to the webhook before you confirm.\n\nIf you did not ask for this, ignore this email.\n",
		topic.EndpointManage: "Manage your webhook\n\nThis webhook gets notifications from the dashboard Status.\n\nWebhook: hooks.test/abc…\n\nChange or remove" + link +
			"\nEverybody who has this link can change or remove the webhook.\n",
		topic.EndpointFailing: "Notifications to your webhook fail\n\nThis webhook did not accept the last notifications from the dashboard Status.\n\nWebhook: hooks.test/abc…\n" + failures + "\nChange or remove" + link +
			"\nPlease check the receiver. Notifications are still sent.\n\nIf more notifications fail in a row, the webhook is suppressed. Then nothing is sent to it until the suppression is cleared.\n",
		topic.EndpointSuppressed: "Your webhook is suppressed\n\nNothing is sent to this webhook of the dashboard Status until the suppression is cleared.\n\nWebhook: hooks.test/abc…\n" + failures + "\nChange or remove" + link +
			"\nPlease repair the receiver first.\n\nA user of the organization with the role admin or subscriber can then clear the suppression.\n",
	} {
		got, err := mailTo(t, noticed(kind, report()))
		title, _, _ := strings.Cut(want, "\n")
		if err != nil || got.subject != "[Status] "+title {
			t.Errorf("%s: the subject is %q (%v)", kind, got.subject, err)
		}
		if want = "Status\n\n" + want + footer; got.plain != want {
			t.Errorf("%s: got\n%s\nwant\n%s", kind, got.plain, want)
		}
		// The HTML says the same.
		shown := strings.NewReplacer("<strong>", "", "</strong>", "", "&amp;", "&").Replace(got.html)
		for line := range strings.Lines(want) {
			name, value, pair := strings.Cut(strings.TrimSpace(line), ": https://")
			if line = strings.TrimSpace(line); line == "--" {
				continue
			}
			if pair {
				line = `<a href="https://` + value + `">` + name + "</a>"
			}
			if !strings.Contains(shown, line) {
				t.Errorf("%s: %q is not in %s", kind, line, got.html)
			}
		}
	}
}

// The headers of a mail about an endpoint. It has List-Unsubscribe only if integrations names a link that unsubscribes.
func TestAMailAboutAnEndpointHasListUnsubscribeOnlyWithALink(t *testing.T) {
	e := email{from: &mail.Address{Name: "Status", Address: "status@bellbuoy.test"}, locales: locales(t), mark: rand.Text()}
	written, err := e.write(t.Context(), noticed(topic.EndpointFailing, report()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := mail.ReadMessage(strings.NewReader(string(written.content)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Header.Get("Subject") != "[Status] Notifications to your webhook fail" || got.Header.Get("Message-Id") != "<d1@bellbuoy.test>" ||
		got.Header.Get("List-Unsubscribe") != "" || got.Header.Get("List-Unsubscribe-Post") != "" || got.Header.Get("Auto-Submitted") != "auto-generated" {
		t.Errorf("the headers are %v", got.Header)
	}
	manage := noticed(topic.EndpointManage, report())
	manage.To.Unsubscribe = "https://status.test/public/endpoints/unsubscribe?token=a"
	if written, err = e.write(t.Context(), manage); err != nil {
		t.Fatal(err)
	}
	if got, err = mail.ReadMessage(strings.NewReader(string(written.content))); err != nil || got.Header.Get("List-Unsubscribe") != "<"+manage.To.Unsubscribe+">" {
		t.Errorf("%s (%v)", written.content, err)
	}
	text, err := mailTo(t, manage)
	if err != nil || !strings.HasSuffix(text.plain, "\nUnsubscribe: "+manage.To.Unsubscribe+"\n") || !strings.Contains(text.html, `<a href="`+manage.To.Unsubscribe+`">Unsubscribe</a>`) {
		t.Errorf("%+v (%v)", text, err)
	}
}

// The words for the kinds of endpoints and for the last failure. What is unknown is left out.
func TestAMailAboutAnEndpointOmitsUnknownFailures(t *testing.T) {
	for _, c := range []struct {
		set        func(*topic.EndpointReport)
		has, lacks string
	}{
		{func(r *topic.EndpointReport) { r.Channel = topic.Teams }, "\nTeams endpoint: hooks.test", "webhook"},
		{func(r *topic.EndpointReport) { r.Channel = topic.GChat }, "Your Google Chat endpoint is suppressed", "webhook"},
		{func(r *topic.EndpointReport) { r.Failures, r.Since = 0, nil }, "Last error:", "First failure"},
		{func(r *topic.EndpointReport) { r.HTTPStatus, r.ErrorCode = 0, "" }, "First failure", "Last error"},
		{func(r *topic.EndpointReport) { r.HTTPStatus, r.ErrorCode = 0, "timeout" }, "Last error: the receiver did not respond in time\n", "HTTP"},
		{func(r *topic.EndpointReport) { r.HTTPStatus, r.ErrorCode = 410, "gone" }, "Last error: HTTP 410, the receiver does not exist any more\n", "gone"},
		{func(r *topic.EndpointReport) { r.HTTPStatus, r.ErrorCode = 404, "http_4xx" }, "HTTP 404, the receiver refused the request\n", "4xx"},
		{func(r *topic.EndpointReport) { r.HTTPStatus, r.ErrorCode = 302, "http_3xx" }, "HTTP 302, the receiver redirected", "3xx"},
		{func(r *topic.EndpointReport) { r.HTTPStatus, r.ErrorCode = 429, "rate_limited" }, "HTTP 429, the receiver got too many requests\n", "rate"},
		{func(r *topic.EndpointReport) { r.HTTPStatus, r.ErrorCode = 0, "dns" }, "the host name was not found\n", "dns"},
		{func(r *topic.EndpointReport) { r.HTTPStatus, r.ErrorCode = 0, "connect" }, "the receiver did not accept the connection\n", "HTTP"},
		{func(r *topic.EndpointReport) { r.HTTPStatus, r.ErrorCode = 0, "tls" }, "the connection is not secure", "HTTP"},
		{func(r *topic.EndpointReport) { r.HTTPStatus, r.ErrorCode = 0, "blocked_address" }, "the address of the host is not public\n", "HTTP"},
		{func(r *topic.EndpointReport) { r.HTTPStatus, r.ErrorCode = 0, "unsendable" }, "Last error: Unsendable\n", "HTTP"},
	} {
		r := report()
		c.set(r)
		got, err := mailTo(t, noticed(topic.EndpointSuppressed, r))
		if err != nil || !strings.Contains(got.plain, c.has) || strings.Contains(got.plain, c.lacks) {
			t.Errorf("%+v: %s (%v)", r, got.plain, err)
		}
	}
}

// Names cannot add a line or an element.
func TestNamesAddNoLineOrElementToAMailAboutAnEndpoint(t *testing.T) {
	const evil = "x\r\nBcc: evil@example.com\r\n\r\n<script>alert(1)</script>"
	message := noticed(topic.EndpointSuppressed, report())
	message.To.Dashboard.Name, message.Change.Notice.Endpoint.URLDisplay = evil, evil
	message.To.Link = "javascript:alert(1)"
	got, err := mailTo(t, message)
	if err != nil || strings.ContainsAny(got.subject, "\r\n") || strings.Contains(got.plain, "\nBcc") || strings.Contains(got.html, "<script") || strings.Contains(got.html, `href="javascript`) {
		t.Errorf("%+v (%v)", got, err)
	}
}

// A mail without its endpoint or its link is not sent, and never an empty mail about an event.
func TestAMailWithoutItsEndpointOrLinkIsNotSent(t *testing.T) {
	linkless := noticed(topic.EndpointVerify, report())
	linkless.To.Link = ""
	for name, message := range map[string]dispatch.Message{
		"no endpoint": noticed(topic.EndpointFailing, nil), "no link": linkless, "another kind": noticed("endpoint.other", report()),
	} {
		if got := (email{from: &mail.Address{Address: "status@bellbuoy.test"}, locales: locales(t)}).Send(t.Context(), message); got.Code != codeUnsendable || !got.Final {
			t.Errorf("%s: %+v", name, got)
		}
	}
	shown := noticed(topic.EndpointFailing, report()) // an endpoint without a page of its own
	shown.To.Link = dashboard.URL
	if got, err := mailTo(t, shown); err != nil || strings.Contains(got.plain, "Change or remove") || !strings.Contains(got.plain, "\nOpen the dashboard: "+dashboard.URL+"\n") {
		t.Errorf("%+v (%v)", got, err)
	}
	operators := noticed(topic.EndpointFailing, report()) // without any page
	operators.To.Link = ""
	if got, err := mailTo(t, operators); err != nil || strings.Contains(got.plain, "Change or remove") || strings.Contains(got.html, "<a ") {
		t.Errorf("%+v (%v)", got, err)
	}
}

// A mail to a member has the link only if the mail is about the link. Without its link it is not sent.
func TestAMailToAMemberHasALinkOnlyIfItIsAboutTheLink(t *testing.T) {
	until := time.Date(2026, 3, 7, 5, 6, 0, 0, time.UTC)
	for _, kind := range append(topic.MemberKinds(), "member.other") {
		message := noticed(kind, nil)
		message.To.Link, message.To.Names = "https://status.test/console/welcome?token=secret", []string{"ada"}
		message.Change.Notice.Member = &topic.MemberReport{Name: "laptop", Until: &until}
		linked := kind == topic.MemberInvitation || kind == topic.MemberForgotten
		got, err := mailTo(t, message)
		if (err != nil) != (kind == "member.other") {
			t.Fatalf("%s: %v", kind, err)
		}
		if err == nil && (strings.Contains(got.plain+got.html, "token=secret") != linked || !strings.Contains(got.plain, "ada") || strings.ContainsAny(got.plain, "{}")) {
			t.Errorf("%s: %+v", kind, got)
		}
		message.To.Link = ""
		if _, err := mailTo(t, message); linked && err == nil {
			t.Errorf("%s is sent without its link", kind)
		}
	}
}
