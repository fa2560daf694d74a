package pages

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

const sentAt = "2026-01-31T09:30:00.000Z"

func TestTheListOfDeliveriesHasItsFilterInTheAddress(t *testing.T) {
	b := open(t, "hooks.example.com")
	got := b.get("/console/deliveries/webhook?status=failed&event=" + other + "&endpoint=abc&from=2026-01-30&to=2026-01-31&after=x")
	b.expect(got, http.StatusOK, "Incident created to <bdi>hooks.example.com", "Attempt 7 of 7", `href="/console/deliveries/webhook/`+other+"/"+sentAt, `value="failed" selected`, "Of one event", "To one endpoint", "after=next%26token")
	want := "eventId=" + other + "&from=2026-01-29T23%3A00%3A00.000Z&limit=50&nextToken=x&status=failed&to=2026-01-31T23%3A00%3A00.000Z&urlHash=abc"
	if sent := b.app.queries("GET /app/notifications/webhook/logs"); !slices.Equal(sent, []string{want}) {
		t.Error(sent)
	}
	b.expect(b.get("/console/deliveries/sms?from=soon"), http.StatusUnprocessableEntity, "Enter a date as year-month-day.")
	b.app.answer("GET /app/notifications/sms/logs", answer{400, `{"error": "to: must be after from"}`, false})
	b.expect(b.get("/console/deliveries/sms?from=2026-01-31&to=2026-01-01"), http.StatusUnprocessableEntity, "must be after from")
	b.app.answer("GET /app/notifications/email/logs", answer{200, `{"logs": [{"eventKind": "member.totp_added", "status": "delivered"}], "nextToken": null}`, false})
	b.expect(b.get("/console/deliveries/email"), http.StatusOK, "Account mail: totp added")
	b.app.forget("GET /app/notifications/email/logs")
	b.app.change(func(s *service) { s.empty = true })
	b.expect(b.get("/console/deliveries/email"), http.StatusOK, "Nothing was sent in the last 30 days.")
	b.expect(b.get("/console/deliveries/email?status=failed"), http.StatusOK, "No delivery matches.", "Show all deliveries")
	b.expect(b.get("/console/deliveries/pigeon"), http.StatusNotFound)
}

func TestADeliveryShowsEachAttemptAndWhatWasSent(t *testing.T) {
	b := open(t, "masked")
	at := "/console/deliveries/webhook/" + other + "/" + sentAt
	got := b.get(at)
	b.expect(got, http.StatusOK, "The receiver did not respond in time.", "12 ms", "2300 ms", `href="/console/deliveries/webhook/`+member+"/2026-01-31T09:29:00.000Z", "Webhook-Signature: masked", "Status 500",
		"/console/events/"+other, "/console/deliveries/webhook?event="+other, "/console/deliveries/webhook?endpoint=masked", at+"/replay")
	if sent := b.app.queries("GET /app/notifications/webhook/logs/" + other); !slices.Equal(sent, []string{"sentAt=2026-01-31T09%3A30%3A00.000Z"}) {
		t.Error(sent)
	}
	b.member.Roles, b.member.Features.Integrations = []string{"subscriber"}, false
	if got := b.get(at); strings.Contains(got.text, "/replay") || strings.Contains(got.text, `href="/console/events/`) {
		t.Errorf("links to pages that the member may not open: %s", got.text)
	}
	b.app.answer("GET /app/notifications/webhook/logs/"+other, answer{400, `{"error": "sentAt: must be a time"}`, false})
	b.expect(b.get(at), http.StatusNotFound)
}

func TestADeliveryToAFileIsNotCalledArrived(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("GET /app/notifications/channels", answer{200, `{"channels": {"email": {"configured": false, "server": null, "from": null, "missing": "SMTP_URL"}}}`, false})
	log := `{"logId": "` + other + `", "sentAt": "` + sentAt + `", "eventKind": "incident.created", "status": "delivered"}`
	b.app.answer("GET /app/notifications/email/logs", answer{200, `{"logs": [` + log + `], "nextToken": null}`, false})
	b.app.answer("GET /app/notifications/email/logs/"+other, answer{200, `{"log": ` + strings.TrimSuffix(log, "}") + `, "attempts": [{"logId": "` + other + `", "at": "` + sentAt + `", "durationMs": 1, "httpStatus": null, "errorCode": null}]}}`, false})
	at := "/console/deliveries/email/" + other + "/" + sentAt
	for path, texts := range map[string][]string{
		"/console/deliveries/email": {"Messages are written to files, because no mail server is set up.", "Written to a file"},
		at:                          {"Messages are written to files, because no mail server is set up.", "Written to a file", "It was written to a file."},
		at + "/replay":              {"Messages are written to files, because no mail server is set up. This one is written to another file."},
	} {
		got := b.get(path)
		b.expect(got, http.StatusOK, texts...)
		if strings.Contains(got.text, "arrived") {
			t.Errorf("%s: %s", path, got.text)
		}
	}
}

func TestADeliveryIsSentAgainAfterAQuestion(t *testing.T) {
	b := open(t, "Ada")
	at := "/console/deliveries/webhook/" + other + "/" + sentAt
	b.expect(b.get(at+"/replay"), http.StatusOK, "Send this message again?", "Incident created.", "Send again", at)
	got := b.post(at + "/replay")
	if body := b.app.body("POST /app/notifications/webhook/logs/" + other + "/replay"); got.status != http.StatusSeeOther || got.header.Get("Location") != at || body != `{"sentAt":"`+sentAt+`"}` {
		t.Errorf("%d to %s after %s", got.status, got.header.Get("Location"), body)
	}
	b.expect(b.get(at), http.StatusOK, "The message is sent again.")
	b.app.answer("POST /app/notifications/webhook/logs/"+other+"/replay", answer{409, `{"error": "The recipient is paused. Resume it, then replay the delivery."}`, false})
	b.expect(b.post(at+"/replay"), http.StatusUnprocessableEntity, "The recipient is paused. Resume it, then replay the delivery.")
	gone := answer{404, `{"error": "The recipient of this log no longer exists."}`, false}
	b.app.answer("POST /app/notifications/webhook/logs/"+other+"/replay", gone)
	b.expect(b.post(at+"/replay"), http.StatusUnprocessableEntity, "The recipient of this log no longer exists.")
}
