package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

func TestFindShowsEveryKindWithItsFilteredList(t *testing.T) {
	b := open(t, "Checkout")
	got := b.get("/console/find?q=check%26out")
	b.expect(got, http.StatusOK, `href="/console/events/`+other+`"><bdi>Checkout`, `href="/console/components/`+other, `href="/console/dashboards/`+other, `href="/console/subscribers/sms/`+other,
		`href="/console/events?view=all&amp;q=check%26out">Show all`, `href="/console/components?q=check%26out">Show all`, `href="/console/dashboards?q=check%26out">Show all`, `href="/console/subscribers/whatsapp?q=check%26out">Show all`, `value="check&amp;out"`)
	for _, at := range []string{"events", "components", "dashboards", "subscribers/email", "subscribers/sms", "subscribers/whatsapp"} {
		if sent := b.app.queries("GET /app/" + at); !slices.Contains(sent, "limit=6&q=check%26out") {
			t.Errorf("%s is asked for %v", at, sent)
		}
	}
	b.expect(b.get("/console/find?q=checkout"), http.StatusOK, `href="/console/users/`+other)
	b.expect(b.get("/console/parts/find?q=check"), http.StatusOK, `role="option"`, `data-said="`, `id="hit-0-0"`)
	b.expect(b.get("/console/events?view=all&q=x"), http.StatusOK, `aria-current="page">All`)
	if sent := b.app.queries("GET /app/events"); !slices.Contains(sent, "limit=25&q=x") {
		t.Error(sent)
	}
}

func TestFindKnowsThePagesThatTheMemberMayOpen(t *testing.T) {
	b := open(t, "Acme")
	b.app.change(func(s *service) { s.empty = true })
	b.expect(b.get("/console/find?q=COLLEAGUE+invite"), http.StatusOK, `href="/console/users/new"><bdi>Invite a member`)
	for text, path := range map[string]string{
		"suppression": "/integrations/webhook/suppression", "time zone": "/profile", "two-factor": "/profile/security", "import sms": "/subscribers/sms/import", "subscriber mail add": "/subscribers/email/new", "sign-on": "/sign-on",
	} {
		b.expect(b.get("/console/find?q="+url.QueryEscape(text)), http.StatusOK, `href="/console`+path+`"><bdi>`)
	}
	b.expect(b.get("/console/find?q=availability"), http.StatusOK, `href="/console/reports/uptime"`)
	b.expect(b.get("/console/find"), http.StatusOK, `href="/console/profile/shortcuts"`, `href="/console/audit"`)
	b.expect(b.get("/console/find?q=nothing+like+that"), http.StatusOK, "Nothing matches “<bdi>nothing like that</bdi>”.")
	b.member.Roles, b.member.Features.UptimeReports = []string{"subscriber"}, false
	got := b.get("/console/find")
	main := got.text[strings.Index(got.text, "<main"):]
	for _, path := range []string{"/users", "/audit", "/events", "/reports/uptime", "/components/new"} {
		if strings.Contains(main, `href="/console`+path+`"`) {
			t.Errorf("a subscriber finds %s", path)
		}
	}
	before := len(b.app.queries("GET /app/users")) + len(b.app.queries("GET /app/events"))
	b.expect(b.get("/console/find?q=a"), http.StatusOK)
	if now := len(b.app.queries("GET /app/users")) + len(b.app.queries("GET /app/events")); now != before {
		t.Error("a search asks for what the member may not read")
	}
}

func TestAnIdLeadsToItsRecord(t *testing.T) {
	b := open(t, "Checkout")
	for _, at := range []string{"/app/dashboards/", "/app/subscribers/email/", "/app/subscribers/sms/", "/app/subscribers/whatsapp/", "/app/users/", "/app/components/"} {
		b.app.answer("GET "+at+other, answer{404, `{"error": "There is none."}`, false})
	}
	b.app.change(func(s *service) { s.empty = true })
	got := b.get("/console/find?q=" + other)
	b.expect(got, http.StatusOK, "Exactly this", `href="/console/events/`+other+`"><bdi>Checkout`)
	if strings.Contains(got.text, `href="/console/components/`+other) {
		t.Error("a record that is not there is found")
	}
	b.app.change(func(s *service) { s.empty = false })
	b.expect(b.get("/console/find?q=%2312"), http.StatusOK, "Exactly this")
	for _, at := range []string{"events", "components", "dashboards"} {
		if sent := b.app.queries("GET /app/" + at); !slices.Contains(sent, "legacyId=12&limit=1") {
			t.Errorf("%s is asked for %v", at, sent)
		}
	}
	b.expect(b.get("/console/find?q=12"), http.StatusOK, "Exactly this")
}

func TestFindNamesTheKindThatCannotBeSearched(t *testing.T) {
	b := open(t, "Checkout")
	b.app.answer("GET /app/subscribers/sms", answer{503, `{}`, false})
	b.app.answer("GET /app/components", answer{400, `{"error": "q: must be shorter"}`, false})
	b.expect(b.get("/console/find?q=check"), http.StatusOK, "Subscribers by SMS cannot be searched right now.", `href="/console/events/`+other)
	b.expect(b.get("/console/parts/find?q=check"), http.StatusOK, "Not reachable right now: Subscribers by SMS.")
	if got := b.get("/console/find?q=check"); strings.Contains(got.text, "Components cannot") {
		t.Error("a refusal is called an outage")
	}
	b.expect(b.get("/console/find?q="+strings.Repeat("x", findMax+1)), http.StatusUnprocessableEntity, "Search for at most 200 characters.")
	b.expect(b.get("/console/find?q="+url.QueryEscape(strings.Repeat("ä", findMax))), http.StatusOK)
	b.expect(b.get("/console/parts/find?q="+strings.Repeat("x", findMax+1)), http.StatusOK, `data-said="Search for at most 200 characters."`)
	b.app.answer("GET /app/events", answer{200, `{"events": [], "nextToken": "more"}`, false})
	b.expect(b.get("/console/find?q=check"), http.StatusOK, "None of the newest matches.", `href="/console/events?view=all&amp;q=check">Show all`)
}

func TestTheShortcutsAreThoseOfTheMember(t *testing.T) {
	b := open(t, "Ada")
	list := func(roles ...string) string {
		b.member.Roles = roles
		got := b.get("/console/profile/shortcuts")
		b.expect(got, http.StatusOK, "Ctrl", "/console/find")
		_, dialog, _ := strings.Cut(got.text, `<dialog id="shortcut-list"`)
		return dialog
	}
	if admin := list("admin"); !strings.Contains(admin, `href="/console/audit" data-key="a"`) || !strings.Contains(admin, "Report an incident") {
		t.Error(admin)
	}
	if subscriber := list("subscriber"); strings.Contains(subscriber, "/console/audit") || strings.Contains(subscriber, "/console/events") || strings.Contains(subscriber, "Report an incident") || !strings.Contains(subscriber, `data-key="u"`) {
		t.Error(subscriber)
	}
	b.app.answer("GET /app/profile", answer{200, `{"profile": {"username": "ada", "organization": {"name": "Acme"}, "preferences": {"timeZone": "UTC", "theme": "light", "density": "compact", "shortcuts": false}}}`, false})
	got := b.get("/console/profile/shortcuts")
	b.expect(got, http.StatusOK, "They are switched off.", `data-density="compact"`)
	if strings.Contains(got.text, "data-shortcuts") || strings.Contains(got.text, "<dialog id=\"shortcut-list\"") {
		t.Error("shortcuts that are switched off are in the page")
	}
}

func TestAMemberIsFoundByItsNamesInAnyOrder(t *testing.T) {
	ada := app.User{FirstName: "Ada", LastName: "Lovelace", Username: "countess", Email: "ada@example.com"}
	for text, want := range map[string]bool{"Lovelace Ada": true, "ada  lovelace": true, "LOVE": true, "countess ada@": true, "": true, "Ada Byron": false, "adalovelace": false} {
		if got := isMember(ada, text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
