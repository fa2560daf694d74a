package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const whyAddress = "/console/deliveries/why"

// whyOne is a response with one result.
func whyOne(code, status, more string) answer {
	return answer{200, `{"why": {"messages": [{"eventKind": "incident.created", "occurredAt": "2026-01-31T09:30:00.000Z", "statusId": null, "results": [
		{"dashboardId": "` + other + `", "recipientId": "` + member + `", "status": "` + status + `", "code": "` + code + `", "text": "The rule.", "asOfToday": false, "since": null, "suppression": null, "log": null, "attempts": 0, "nextAttemptAt": null, "replays": []` +
		more + `}]}], "more": false, "keptFrom": "2026-01-02T09:30:00.000Z", "older": false}}`, false}
}

func TestWhyAPersonGotNothingIsAskedWithoutTheAddressInAnyURL(t *testing.T) {
	b := open(t, "Acme")
	b.expect(b.get(whyAddress), http.StatusOK, "Choose an event", `value="`+other+`">`, "Mail address", `method="post" action="/console/deliveries/why?kind=email"`)
	b.expect(b.get(whyAddress+"?event="+other+"&kind=sms"), http.StatusOK, `value="`+other+`" selected`, "Phone number", "kind=email")
	got := b.post(whyAddress+"?kind=email", "event", other, "address", "ann@example.com")
	b.expect(got, http.StatusOK, "<bdi>ann@example.com</bdi> got none of 3 messages", "Incident resolved", "Incident created", "Failed", "Not sent", "7 attempts", "because messages came back",
		"This is the rule of today.", "The newest 100 are shown.", "older than the records", "2 Jan 2026", "Tried again later",
		"/console/deliveries/email/"+other+"/"+sentAt+`"`, "/console/deliveries/email/"+other+"/"+sentAt+`/replay"`, "/console/subscribers/email/"+other+`"`, "/console/events/"+other+`"`)
	if body := b.app.body("POST /app/notifications/why"); body != `{"eventId":"`+other+`","kind":"email","email":"ann@example.com"}` {
		t.Error(body)
	}
	if shown := strings.Count(got.text, "<bdi>ann@") + strings.Count(got.text, `value="ann@`); strings.Count(got.text, "ann@") != shown || strings.Contains(got.text, "ann%40") || got.header.Get("Location") != "" {
		t.Errorf("the page has the address in a link: %s", got.text)
	}
	b.post(whyAddress+"?kind=sms", "event", other, "address", "+49 30 901820")
	if body := b.app.body("POST /app/notifications/why"); body != `{"eventId":"`+other+`","kind":"sms","phone":"+49 30 901820"}` {
		t.Error(body)
	}
}

func TestALinkToWhyShowsTheResultAtOnce(t *testing.T) {
	b := open(t, "hooks.example.com")
	b.expect(b.get(whyAddress+"?kind=webhook&event="+other+"&endpoint="+other), http.StatusOK, "<bdi>hooks.example.com</bdi> got none of 3 messages", "/console/integrations/webhook/"+other+"/"+other+`"`, `value="`+other+`" selected>hooks`)
	if body := b.app.body("POST /app/notifications/why"); body != `{"eventId":"`+other+`","kind":"webhook","urlHash":"`+other+`"}` {
		t.Error(body)
	}
	b.app.change(func(s *service) { s.text = "ann@example.com" })
	b.expect(b.get(whyAddress+"?kind=email&event="+other+"&subscriber="+member), http.StatusOK, "<bdi>ann@example.com</bdi> got none of 3 messages")
	b.expect(b.get(whyAddress+"?kind=email&subscriber="+member), http.StatusOK, `value="ann@example.com"`, "Choose an event")
	b.app.answer("POST /app/notifications/why", answer{400, `{"error": "urlHash: must be a SHA-256 hash"}`, false})
	b.expect(b.get(whyAddress+"?kind=teams&event="+other+"&endpoint=x"), http.StatusUnprocessableEntity, "There is a problem", "An endpoint that no longer exists")
	b.app.answer("GET /app/events/"+member, answer{404, `{"error": "There is no such event."}`, false})
	b.expect(b.get(whyAddress+"?event="+member), http.StatusNotFound)
	b.app.answer("POST /app/notifications/why", answer{404, `{"error": "There is no such endpoint."}`, false})
	b.expect(b.get(whyAddress+"?kind=teams&event="+other+"&endpoint="+other), http.StatusNotFound, "request-1")
}

func TestWrongInputOfWhyKeepsWhatWasTyped(t *testing.T) {
	b := open(t, "Acme")
	b.expect(b.post(whyAddress+"?kind=email", "event", "", "address", "ann@"), http.StatusUnprocessableEntity, "There is a problem", "Choose an event.", `value="ann@"`)
	b.expect(b.post(whyAddress+"?kind=webhook", "event", other, "endpoint", ""), http.StatusUnprocessableEntity, "Choose an endpoint.", `value="`+other+`" selected`)
	b.app.answer("POST /app/notifications/why", answer{400, `{"error": "email: must be a mail address"}`, false})
	b.expect(b.post(whyAddress+"?kind=email", "event", other, "address", "ann@"), http.StatusUnprocessableEntity, "Mail address must be a mail address.", `href="#address"`, `value="ann@"`, `value="`+other+`" selected`)
	b.app.answer("POST /app/notifications/why", answer{503, `{}`, false})
	b.expect(b.post(whyAddress+"?kind=email", "event", other, "address", "ann@"), http.StatusServiceUnavailable, "messages", `value="ann@"`)
	b.app.answer("POST /app/notifications/why", answer{404, `{"error": "There is no such event."}`, false})
	b.expect(b.post(whyAddress+"?kind=email", "event", other, "address", "ann@"), http.StatusNotFound, "There is no such event.", `value="ann@"`)
	b.expect(b.post(whyAddress+"?kind=pigeon", "event", other, "address", "ann@", "more", "x"), http.StatusBadRequest, "more is not a field")
}

func TestWhyWorksWithoutTheListsThatAMemberMayNotRead(t *testing.T) {
	b := open(t, "Acme")
	b.member.Roles, b.member.Features.Integrations = []string{"subscriber"}, false
	b.expect(b.get(whyAddress+"?kind=webhook&event="+other), http.StatusOK, `name="event" type="text"`, `value="`+other+`"`, "The hash of its URL", "Webhooks")
	got := b.post(whyAddress+"?kind=webhook", "event", other, "endpoint", other)
	b.expect(got, http.StatusOK, "<bdi>Acme</bdi> got none of 3 messages")
	for _, not := range []string{"/replay", "/console/integrations", `href="/console/events`, "Google Chat"} {
		if strings.Contains(got.text, not) {
			t.Errorf("the page has %s, which the member may not open: %s", not, got.text)
		}
	}
	b.app.answer("POST /app/notifications/why", answer{404, `{"error": "There is no such event."}`, false})
	b.expect(b.post(whyAddress+"?kind=email", "event", "x", "address", "ann@"), http.StatusNotFound, `href="#event"`, "There is no such event.", `value="ann@"`)
	b.member.Roles, b.member.Features.Integrations = []string{"admin"}, true
	b.app.answer("GET /app/events", answer{503, `{}`, false})
	b.expect(b.get(whyAddress+"?kind=webhook"), http.StatusOK, `name="event" type="text"`, "Choose an endpoint")
	b.app.forget("GET /app/events")
	b.app.change(func(s *service) { s.empty = true })
	b.expect(b.get(whyAddress), http.StatusOK, "There is no event yet", "Report an incident")
}

func TestEachRuleOfWhyLeadsToWhereItCanBeChanged(t *testing.T) {
	b := open(t, "Acme")
	for code, want := range map[string]string{
		"paused": "subscribers/email/" + member, "not_subscribed": "subscribers/email/new", "not_configured": "setup", "channel_off": "events/" + other, "draft": "events/" + other,
		"components_hidden": "components", "other_dashboard": "dashboards/" + other + "/components",
	} {
		b.app.answer("POST /app/notifications/why", whyOne(code, "none", ""))
		got := b.post(whyAddress, "event", other, "address", "ann@example.com")
		b.expect(got, http.StatusOK, `<span class="acts"><a href="/console/`+want+`">`, "The rule.", "did not get the message")
	}
	for code, says := range map[string]bool{"paused": true, "not_subscribed": false, "changed_since": false, "chosen_later": false} {
		b.app.answer("POST /app/notifications/why", whyOne(code, "none", `, "asOfToday": true`))
		got := b.post(whyAddress, "event", other, "address", "ann@example.com")
		if audit := `href="/console/audit?entityId=` + member + `"`; strings.Contains(got.text, "This is the rule of today.") != says || strings.Contains(got.text, audit) != (code == "changed_since" || code == "chosen_later") {
			t.Errorf("%s: %s", code, got.text)
		}
	}
	b.app.answer("POST /app/notifications/why", whyOne("paused", "none", ""))
	b.expect(b.get(whyAddress+"?kind=gchat&event="+other+"&endpoint="+other), http.StatusOK, `<span class="acts"><a href="/console/integrations/gchat/`+other+"/"+other+`">`)
	b.app.answer("POST /app/notifications/why", whyOne("delivered", "delivered", ""))
	b.expect(b.post(whyAddress, "event", other, "address", "ann@example.com"), http.StatusOK, "got the message")
	b.app.answer("POST /app/notifications/why", whyOne("queued", "waiting", ""))
	b.expect(b.post(whyAddress, "event", other, "address", "ann@example.com"), http.StatusOK, "has not got the message yet")
	const log = `{"logId": "` + other + `", "sentAt": "` + sentAt + `", "status": "`
	b.app.answer("POST /app/notifications/why", whyOne("http_5xx", "failed", `, "log": `+log+`failed"}, "replays": [`+log+`delivered"}]`))
	got := b.post(whyAddress, "event", other, "address", "ann@example.com")
	b.expect(got, http.StatusOK, "got the message", "Sent again", "Show the attempts")
	if strings.Contains(got.text, "/replay") {
		t.Error("a message that arrived is offered again")
	}
	b.app.forget("POST /app/notifications/why")
	b.app.change(func(s *service) { s.empty = true })
	b.expect(b.get(whyAddress+"?event="+other+"&subscriber="+other), http.StatusOK, "got no message", "No message about this event is recorded any more.")
}

func TestThePagesOfMessagesLeadToWhy(t *testing.T) {
	b := open(t, other)
	for at, want := range map[string]string{
		"/events/" + other: "?event=" + other, "/events/" + other + "/failed": "?event=" + other, "/subscribers/email/" + other: "?kind=email&amp;subscriber=" + other,
		"/integrations/webhook/" + other + "/" + other: "?endpoint=" + other + "&amp;kind=webhook", "/deliveries/sms?event=" + other: "?event=" + other + "&amp;kind=sms",
		"/deliveries/webhook/" + other + "/" + sentAt: "?endpoint=" + other + "&amp;event=" + other + "&amp;kind=webhook",
	} {
		b.expect(b.get("/console"+at), http.StatusOK, `href="`+whyAddress+want+`"`)
	}
	b.expect(b.get("/console/events/"+other+"/failed"), http.StatusOK, `href="/console/deliveries/webhook/`+other+"/"+sentAt+`"`)
	b.expect(b.get("/console/deliveries/webhook/"+other+"/"+sentAt), http.StatusOK, `href="/console/integrations/webhook/`+other+`"`)
	if got := b.get("/console/deliveries/email/" + other + "/" + sentAt); strings.Contains(got.text, "Open the endpoint") {
		t.Error("a mail has an endpoint")
	}
	b.expect(b.get("/console/find?q=nothing"), http.StatusOK, `href="`+whyAddress+`"`)
}

func TestWhyShowsHostileTextAsText(t *testing.T) {
	for _, text := range []string{hostile, "", strings.Repeat("W", 5000)} {
		b := open(t, text)
		for _, query := range []url.Values{{"kind": {"webhook"}, "event": {other}, "endpoint": {text}}, {"event": {text}, "subscriber": {other}}, {"event": {other}, "subscriber": {other}}, {"kind": {text}}} {
			got := b.get(whyAddress + "?" + query.Encode())
			if !slices.Contains([]int{http.StatusOK, http.StatusUnprocessableEntity}, got.status) || strings.Contains(got.text, "<script>alert") || strings.Contains(got.text, "ZgotmplZ") {
				t.Errorf("%v: %d %s", query, got.status, got.text)
			}
		}
	}
	b := open(t, rightToLeft)
	b.isolates("why", b.get(whyAddress+"?event="+other+"&subscriber="+other))
	b.isolates("why", b.get(whyAddress+"?kind=webhook&event="+other+"&endpoint="+other))
}
