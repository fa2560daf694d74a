package pages

import (
	"net/http"
	"strings"
	"testing"
)

func TestTheOverviewShowsWhatDoesNotArrive(t *testing.T) {
	b := open(t, "hooks.example.com")
	b.expect(b.get("/console/"), http.StatusOK, "Failing endpoints", "hooks.example.com", "Webhooks of", "12 failed messages since", "Suppressed",
		"Messages of the last 24 hours", "1,204 delivered, 2 waiting, 1 failed, 4 suppressed, 3 skipped")
	if sent := b.app.queries("GET /app/integrations/webhooks/outbound/endpoints"); len(sent) != 1 || sent[0] != "limit=10&state=failing" {
		t.Error(sent)
	}
	b.app.answer("GET /app/notifications/counts", answer{200, `{"counts": {"email": {"delivered": 1204}, "webhook": {"delivered": 3}}}`, false})
	b.expect(b.get("/console/"), http.StatusOK, "Mail 1,204, Webhooks 3 delivered. None failed.")
	b.app.change(func(s *service) { s.empty = true })
	b.app.forget("GET /app/notifications/counts")
	got := b.get("/console/")
	b.expect(got, http.StatusOK, "None was sent.")
	if strings.Contains(got.text, "Failing endpoints") {
		t.Errorf("no endpoint fails: %s", got.text)
	}
}

// The part that the script repeats makes no call that only the checklist needs, and none for lists that are empty.
func TestThePartOfTheOverviewMakesFewCalls(t *testing.T) {
	b := open(t, "Ada")
	b.app.change(func(s *service) { s.empty = true })
	b.app.answer("GET /app/components/counts", answer{200, `{"counts": {"total": 4, "operational": 4}}`, false})
	b.expect(b.get("/console/parts/overview"), http.StatusOK, "Nothing needs your attention.")
	for at, most := range map[string]int{
		"GET /app/users": 0, "GET /app/notifications/channels": 0, "GET /app/dashboards": 0, "GET /app/components": 0, "GET /app/integrations/webhooks/outbound/endpoints": 0,
		"GET /app/events": 2, "GET /app/components/counts": 1, "GET /app/integrations/counts": 1, "GET /app/notifications/counts": 1,
	} {
		if n := len(b.app.queries(at)); n > most {
			t.Errorf("%s was called %d times", at, n)
		}
	}
}

func TestTheOverviewFollowsRolesAndPlan(t *testing.T) {
	b := open(t, "Ada")
	b.member.Features.Integrations = false
	if got := b.get("/console/"); strings.Contains(got.text, "Failing endpoints") || len(b.app.queries("GET /app/integrations/counts")) > 0 {
		t.Errorf("a plan without integrations: %s", got.text)
	}
	b.member.Features.Integrations, b.member.Roles = true, []string{"event"}
	got := b.get("/console/")
	for _, text := range []string{"Failing endpoints", "Messages of the last 24 hours", "Set up mail"} {
		if strings.Contains(got.text, text) {
			t.Errorf("a member without the role sees %q", text)
		}
	}
	b.member.Roles = []string{"subscriber"}
	b.expect(b.get("/console/"), http.StatusOK, "Failing endpoints", "Messages of the last 24 hours")
}

func TestAServiceThatIsDownLeavesItsPartOfTheOverviewOut(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("GET /app/notifications/counts", answer{503, `{}`, false})
	b.app.answer("GET /app/notifications/channels", answer{503, `{}`, false})
	b.app.answer("GET /app/integrations/counts", answer{503, `{}`, false})
	got := b.get("/console/")
	b.expect(got, http.StatusOK, "Open events", "Endpoints", "Messages", "cannot be shown right now. The rest of the page is complete.")
	if strings.Contains(got.text, "Nothing needs your attention") || strings.Contains(got.text, "None was sent") || strings.Contains(got.text, "Set up mail") {
		t.Errorf("the page claims what it does not know: %s", got.text)
	}
}

// The list begins with the newest start, so the next maintenance is on its last page. Drafts are left out.
func TestTheOverviewReadsAllPagesOfPlannedMaintenance(t *testing.T) {
	b := open(t, "Ada")
	b.expect(b.get("/console/parts/overview"), http.StatusOK, "Upcoming maintenance")
	const first = "limit=100&publish=true&status=planning"
	further := strings.Replace(first, "&", "&nextToken=next%26token&", 1)
	var n [2]int
	for _, query := range b.app.queries("GET /app/events") {
		for i, want := range []string{first, further} {
			if query == want {
				n[i]++
			}
		}
	}
	if n != [2]int{1, upcomingPages - 1} {
		t.Errorf("the overview reads %d first and %d further pages", n[0], n[1])
	}
}

func TestTheChecklistNamesTheMissingSettingOfMail(t *testing.T) {
	b := open(t, "Ada")
	b.app.change(func(s *service) { s.empty = true })
	b.app.answer("GET /app/notifications/channels", answer{200, `{"channels": {"email": {"configured": false, "from": null, "missing": "SMTP_URL"}}}`, false})
	b.expect(b.get("/console/"), http.StatusOK, "Set up mail", "Missing: SMTP_URL.")
	b.app.answer("GET /app/notifications/channels", answer{200, `{"channels": {"email": {"configured": true, "from": "status@example.com", "missing": null}}}`, false})
	if got := b.get("/console/"); strings.Contains(got.text, "Missing:") {
		t.Errorf("mail is set up: %s", got.text)
	}
}
