package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A form whose record cannot be read is not sent. The link leads to its page, where the script restores what was typed.
func TestAFormThatIsNotReadIsRestoredOnItsPage(t *testing.T) {
	b := open(t, "Ada")
	send := func(path, referer string) response {
		t.Helper()
		return b.send(post, path, url.Values{"firstName": {"Grace"}}, "Referer", "https://console.example.com"+referer)
	}
	at := "/console/users/" + other
	b.app.answer("GET /app/users/"+other, answer{503, `{}`, false})
	for referer, back := range map[string]string{
		at:                       at + "?kept=1",
		at + "?q=a&kept=1":       at + "?kept=1&amp;q=a",
		"/elsewhere":             at + "?kept=1",
		at + "/invitation?x=1":   at + "?kept=1", // the path of a form only
		"/console/nothing/there": at + "?kept=1",
	} {
		got := send(at, referer)
		b.expect(got, http.StatusServiceUnavailable, `href="`+back+`">Try again`, "data-keep")
		if strings.Contains(got.text, `href=""`) {
			t.Errorf("the link repeats a form without its text: %s", got.text)
		}
	}
	b.app.answer("GET /app/events/"+other, answer{503, `{}`, false})
	withdraw := "/console/events/" + other + "/withdraw" // its form is in a dialog of the event's page
	got := b.send(post, withdraw, url.Values{}, "Referer", "https://console.example.com/console/events/"+other)
	b.expect(got, http.StatusServiceUnavailable, `href="`+withdraw+`?kept=1">Try again`)
	b.app.forget("GET /app/events/" + other)
	b.expect(b.get(at+"?kept=1"), http.StatusServiceUnavailable, `href="">Try again`, "data-keep")
	b.app.forget("GET /app/users/" + other)
	b.expect(b.get(at+"?kept=1"), http.StatusOK, "data-kept", "Check the form, and send it again.")
	if got := b.get(at); strings.Contains(got.text, "data-kept") {
		t.Error("a page restores a form that was sent")
	}

	b.app.answer("PATCH /app/users/"+other, answer{503, `{}`, false})
	b.expect(b.send(post, at+"/disable", url.Values{}), http.StatusServiceUnavailable, `href="`+at+`">Try again`)

	b.member.Session = ""
	if got := send("/console/events/"+other+"/timeline", "/console/events/"+other+"/publish").header.Get("Location"); got != "/console/sign-in?kept=1&next=%2Fconsole%2Fevents%2F"+other {
		t.Errorf("an ended session leads to %s", got)
	}
}

// The form that an error page shows again is sent with the query of its page, which names the dashboard of a subscriber.
func TestAFormThatIsSentAgainHasTheQueryOfItsPage(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("POST /app/subscribers/email", answer{500, `{}`, false})
	at := "/console/subscribers/email/new?dashboard=" + other
	b.expect(b.post(at, "address", "ann@example.com", "scope", "all"), http.StatusInternalServerError, "What you typed", `action="`+at+`&amp;once=`, "ann@example.com")
}
