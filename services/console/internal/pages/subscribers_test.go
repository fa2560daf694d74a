package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const mails = "/console/subscribers/email"

func TestTheListOfSubscribersHasItsFilterInTheAddress(t *testing.T) {
	b := open(t, "ada@example.com")
	got := b.get(mails + "?state=paused&q=ada&dashboard=" + other + "&after=x")
	b.expect(got, http.StatusOK, "1,204", `href="/console/subscribers/email?dashboard=`+other+`&amp;q=ada&amp;state=suppressed"`, `aria-current="true"><b class="num m">3</b>`,
		"2 components", "all components", "Not confirmed", "Locked", "after=next%26token", `name="state" value="paused"`, mails+"/new?dashboard="+other)
	if sent := b.app.queries("GET /app/subscribers/email"); !slices.Equal(sent, []string{"dashboardId=" + other + "&limit=50&nextToken=x&q=ada&state=paused"}) {
		t.Error(sent)
	}
	if sent := b.app.queries("GET /app/subscribers/email/counts"); !slices.Equal(sent, []string{"dashboardId=" + other}) {
		t.Error(sent)
	}
	b.app.change(func(s *service) { s.empty = true })
	b.expect(b.get(mails), http.StatusOK, "Nobody has subscribed by mail yet.")
	b.expect(b.get(mails+"?q=x"), http.StatusOK, "No subscriber matches.", "Show all subscribers")
}

func TestAWrongFilterOfAListIsShownAtItsField(t *testing.T) {
	b := open(t, "ada@example.com")
	for query, x := range map[string]struct{ refusal, text string }{
		"state=nonsense": {"state: must be one of confirmed, paused", "There is no such state. Choose one below."},
		"q=long":         {"q: must have at most 254 characters", `id="q-problem"`},
		"dashboard=zz":   {"dashboardId: must be a UUID", `id="dashboard-problem"`},
	} {
		b.app.answer("GET /app/subscribers/email", answer{400, `{"error": "` + x.refusal + `"}`, false})
		b.expect(b.get(mails+"?"+query), http.StatusUnprocessableEntity, "There is a problem", x.text, `id="q"`, "1,204")
	}
	for _, list := range []string{"events", "components", "dashboards"} {
		b.app.answer("GET /app/"+list, answer{400, `{"error": "q: must be at most 255 characters"}`, false})
		b.expect(b.get("/console/"+list+"?view=all&q=long"), http.StatusUnprocessableEntity, "There is a problem", `id="q-problem"`, `value="long"`)
	}
	b.expect(b.get(mails+"/export?state=nonsense"), http.StatusBadRequest)
}

func TestATabOfAChannelThatIsNotSetUpSaysWhy(t *testing.T) {
	b := open(t, "SMS_URL")
	b.expect(b.get(mails), http.StatusOK, "SMS (not set up)", "WhatsApp (not set up)")
	b.expect(b.get("/console/subscribers/sms"), http.StatusOK, "has not set the channel up", "Missing: SMS_URL.")
	if got := b.get(mails); strings.Contains(got.text, "has not set the channel up") {
		t.Error("mail is set up")
	}
}

func TestAListOfSubscribersWorksWithoutItsNumbersAndDashboards(t *testing.T) {
	b := open(t, "ada@example.com")
	for _, at := range []string{"GET /app/subscribers/email/counts", "GET /app/notifications/channels", "GET /app/dashboards"} {
		b.app.answer(at, answer{503, `{}`, false})
	}
	b.expect(b.get(mails), http.StatusOK, "The numbers cannot be shown right now.", "ada@example.com")
	b.app.answer("GET /app/dashboards/"+other, answer{503, `{}`, false})
	b.expect(b.get(mails+"/"+other), http.StatusOK, "The dashboard cannot be shown right now.", "Resume")
	b.app.answer("GET /app/subscribers/email", answer{503, `{}`, false})
	b.expect(b.get(mails), http.StatusServiceUnavailable, "request-1")
}

func TestASubscriberIsAddedWithComponentsOfADashboard(t *testing.T) {
	b := open(t, "Checkout")
	b.expect(b.get(mails+"/new?dashboard="+other), http.StatusOK, `name="components" value="`+member+`"`, `action="/console/subscribers/email/new?dashboard=`+other+`&amp;once=`)
	at := mails + "/new?dashboard=" + other
	fields := []string{"address", "ada@example.com", "scope", "some", "locale", "de", "locked", "", "paused", "on"}
	b.expect(b.post(at, fields...), http.StatusUnprocessableEntity, "Choose a component, or all.", `value="ada@example.com"`)
	got := b.post(at, append(fields, "components", other)...)
	if b.expect(got, http.StatusSeeOther); got.header.Get("Location") != mails+"/"+other {
		t.Error(got.header.Get("Location"))
	}
	if body := b.app.body("POST /app/subscribers/email"); body != `{"dashboardId":"`+other+`","componentIds":["`+other+`"],"confirmed":false,"paused":true,"locked":false,"locale":"de","email":"ada@example.com"}` {
		t.Error(body)
	}
	b.expect(b.get(mails), http.StatusOK, "The owner is asked for a confirmation.")
	b.post("/console/subscribers/sms/new", "address", "+49 151 1", "scope", "all", "locale", "", "confirmed", "on")
	if body := b.app.body("POST /app/subscribers/sms"); !strings.Contains(body, `"componentIds":null,"confirmed":true`) || !strings.Contains(body, `"locale":null,"phone":"+49 151 1"`) {
		t.Error(body)
	}
	b.app.answer("POST /app/subscribers/email", answer{409, `{"error": "The dashboard already has a subscriber with this address."}`, false})
	b.expect(b.post(at, "address", "ada@example.com", "scope", "all", "locale", ""), http.StatusUnprocessableEntity, "already has a subscriber")
	b.app.answer("POST /app/subscribers/email", answer{400, `{"error": "email: must be an email address."}`, false})
	b.expect(b.post(at, "address", "ada", "scope", "all", "locale", ""), http.StatusUnprocessableEntity, "Mail address must be an email address.", `href="#address"`)
}

func TestASubscriberSaysWhyItGetsNoMessages(t *testing.T) {
	b := open(t, "ada@example.com")
	at := mails + "/" + other
	b.expect(b.get(at), http.StatusOK, "Gets no messages", "Messages to the address come back.", "The owner has not confirmed.", "Messages are paused.", "Unlock", at+"/clear", "the owner of the address", "The owner cannot be asked now")
	b.app.answer("GET /app/subscribers/email/"+other, answer{200, `{"subscriber": {"id": "` + other + `", "dashboardId": "` + other + `", "email": "ada@example.com", "componentIds": ["` + other + `"], "confirmed": false, "partlyConfirmed": true}}`, false})
	if got := b.get(at); strings.Contains(got.text, "Gets no messages") || !strings.Contains(got.text, "The owner has confirmed some of the components only") || !strings.Contains(got.text, "Partly confirmed") {
		t.Errorf("the page of a mixed confirmation is %s", got.text)
	}
	b.app.answer("GET /app/subscribers/email/"+other, answer{200, `{"subscriber": {"id": "` + other + `", "dashboardId": "` + other + `", "email": "ada@example.com", "componentIds": null, "confirmed": true, "confirmedAt": "2026-01-31T09:30:00.000Z"}}`, false})
	got := b.get(at)
	if b.expect(got, http.StatusOK, "Gets messages by mail", "About all components", "Pause", "Lock"); strings.Contains(got.text, "/clear") || strings.Contains(got.text, "/confirm\"") || strings.Contains(got.text, "/resend") {
		t.Errorf("the page offers what is done: %s", got.text)
	}
}

func TestASubscriberIsChangedByItsFormAndByButtons(t *testing.T) {
	b := open(t, "ada@example.com")
	at, call := mails+"/"+other, "PATCH /app/subscribers/email/"+other
	for _, row := range []struct{ path, body, notice string }{
		{"/pause", `{"paused":true}`, at + "/resume"}, {"/resume", `{"paused":false}`, at + "/pause"}, {"/lock", `{"locked":true}`, at + "/unlock"}, {"/unlock", `{"locked":false}`, at + "/lock"},
		{"/confirm", `{"confirmed":true}`, "is confirmed."}, {"/clear", `{"suppressed":false}`, "has ended."},
	} {
		b.expect(b.send(post, at+row.path, url.Values{}), http.StatusSeeOther)
		if body := b.app.body(call); body != row.body {
			t.Errorf("%s: %s", row.path, body)
		}
		b.expect(b.get(at), http.StatusOK, row.notice)
	}
	b.expect(b.send(post, at+"/resend", url.Values{}), http.StatusSeeOther)
	b.expect(b.get(at), http.StatusOK, "A new confirmation is on its way.")
	b.app.answer("POST /app/subscribers/email/"+other+"/resend-confirmation", answer{409, `{"error": "The subscriber is confirmed."}`, false})
	b.expect(b.send(post, at+"/resend", url.Values{}), http.StatusConflict, "The subscriber is confirmed.")
	b.expect(b.post(at, "scope", "some", "components", member, "locale", "fr"), http.StatusSeeOther)
	if body := b.app.body(call); body != `{"componentIds":["`+member+`"],"locale":"fr"}` {
		t.Error(body)
	}
	b.expect(b.post(at, "scope", "all", "components", member, "locale", ""), http.StatusSeeOther)
	if body := b.app.body(call); body != `{"componentIds":null,"locale":null}` {
		t.Error(body)
	}
	b.expect(b.post(at, "scope", "some", "locale", ""), http.StatusUnprocessableEntity, "Choose a component, or all.")
	b.expect(b.get(at+"/delete"), http.StatusOK, "Delete ada@example.com?", "Its subscriptions of other dashboards stay.")
	if got := b.send(post, at+"/delete", url.Values{}); got.header.Get("Location") != mails {
		t.Errorf("%d to %s", got.status, got.header.Get("Location"))
	}
}

// versionIn returns the version that the form of a page has.
func versionIn(page string) string {
	_, after, _ := strings.Cut(page, `name="version" value="`)
	version, _, _ := strings.Cut(after, `"`)
	return version
}

func TestTwoMembersDoNotOverwriteEachOthersChangeOfASubscriber(t *testing.T) {
	b := open(t, "ada@example.com")
	at, call := mails+"/"+other, "/app/subscribers/email/"+other
	stored := func(components, locale string) {
		b.app.answer("GET "+call, answer{200, `{"subscriber": {"id": "` + other + `", "dashboardId": "` + other + `", "email": "ada@example.com", "componentIds": ["` + components + `"], "locale": "` + locale + `", "confirmed": true}}`, false})
	}
	stored(member, "de")
	version := versionIn(b.get(at).text)
	mine := []string{"scope", "some", "components", member, "locale", "es"}
	b.expect(b.post(at, append(mine, "version", version)...), http.StatusSeeOther)
	if body := b.app.body("PATCH " + call); body != `{"locale":"es"}` {
		t.Errorf("only the language has changed, and the console sends %s", body)
	}
	stored(other, "de")
	got := b.post(at, append(mine, "version", version)...)
	b.expect(got, http.StatusConflict, "Keep mine", "Take theirs", "<bdi>es</bdi>", "<bdi>de</bdi>")
	if body := b.app.body("PATCH " + call); body != `{"locale":"es"}` {
		t.Errorf("the change of somebody else is lost: %s", body)
	}
	b.expect(b.post(at, append(mine, "version", versionIn(got.text))...), http.StatusSeeOther)
	if body := b.app.body("PATCH " + call); body != `{"componentIds":["`+member+`"],"locale":"es"}` {
		t.Error(body)
	}
	stored(member, "pt-BR")
	page := b.get(at)
	b.expect(page, http.StatusOK, `value="pt-BR" selected`)
	b.expect(b.post(at, "scope", "some", "components", member, "locale", "pt-BR", "version", versionIn(page.text)), http.StatusSeeOther)
	if body := b.app.body("PATCH " + call); strings.Contains(body, "pt-BR") {
		t.Errorf("nothing has changed, and the console sends %s", body)
	}
}
