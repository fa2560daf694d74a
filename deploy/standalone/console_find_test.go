package main_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// A member finds records of every kind and pages, by words, by id and by the id of the legacy interface, without script. Nobody
// finds what the role may not open, or what another organization has.
func TestAMemberFindsRecordsAndPagesWithoutScript(t *testing.T) {
	t.Parallel()
	ada, of, base := member(t)
	create := func(path string, body map[string]any) (id string, legacy string) {
		got := send(t, http.MethodPost, base+"/app"+path, of.app(), body).expect(t, http.StatusCreated)
		number := regexp.MustCompile(`"legacyId":(\d+)`).FindStringSubmatch(string(got.body))
		if number == nil {
			number = []string{"", ""}
		}
		return regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(string(got.body))[1], number[1]
	}
	component, _ := create("/components", map[string]any{"name": "Lighthouse lamp"})
	event, legacy := create("/events", map[string]any{"type": "incident", "title": "The lighthouse is <b>dark</b>", "affectedComponents": []any{map[string]any{"componentId": component}}})
	dashboard, _ := create("/dashboards", map[string]any{"name": "Lighthouse board", "slug": "lights"})
	subscriber, _ := create("/subscribers/email", map[string]any{"email": "keeper@lighthouse.example", "dashboardId": of.DashboardID, "confirmed": true, "componentIds": nil})
	other := provision(t, base, "Rival", "rival-admin", "admin", "api")
	_, foreign := actor{t, other}.service("Lighthouse of the rival")

	found := func(who *consoleUser, text string) []string {
		who.open("/find?q="+url.QueryEscape(text), http.StatusOK)
		main := who.text[strings.Index(who.text, "<main"):]
		var paths []string
		for _, link := range regexp.MustCompile(`<div class="to"><a href="/console([^"]+)"`).FindAllStringSubmatch(main, -1) {
			paths = append(paths, link[1])
		}
		return paths
	}
	expect := func(who *consoleUser, text string, want ...string) {
		t.Helper()
		if got := found(who, text); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%q finds %v, want %v", text, got, want)
		}
	}
	expect(ada, "LIGHTHOUSE", "/events/"+event, "/components/"+component, "/dashboards/"+dashboard, "/subscribers/email/"+subscriber)
	ada.expect("/find", "The lighthouse is <b>dark</b>")
	expect(ada, "dark lighthouse", "/events/"+event)
	expect(ada, "lamp light", "/components/"+component)
	expect(ada, "board lighthouse", "/dashboards/"+dashboard)
	expect(ada, "lights", "/dashboards/"+dashboard)
	expect(ada, event, "/events/"+event)
	expect(ada, subscriber, "/subscribers/email/"+subscriber)
	expect(ada, foreign)
	expect(ada, "invite", "/users/new")
	expect(ada, "rival")
	ada.expect("/find", "Nothing matches")
	if got := found(ada, legacy); got[0] != "/events/"+event && got[1] != "/events/"+event {
		t.Errorf("%s finds %v", legacy, got)
	}
	for _, path := range found(ada, "lighthouse") {
		ada.open(path, http.StatusOK)
	}
	ada.open("/find", http.StatusOK).expect("/find", "Recent events", "The lighthouse is <b>dark</b>", "Audit log")
	ada.open("/find?q="+strings.Repeat("x", 201), http.StatusUnprocessableEntity).expect("/find", "Search for at most 200 characters.")
	ada.open("/dashboards?q=board", http.StatusOK).expect("/dashboards", "Lighthouse board")
	ada.open("/dashboards?q=nothing", http.StatusOK).expect("/dashboards", "No dashboard matches.")

	grace := addUser(t, of, "grace", "subscriber")
	var link struct{ URL string }
	send(t, http.MethodPost, base+"/operator/v1/users/"+grace.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &link)
	keeper := newConsoleUser(t, base)
	keeper.open(link.URL, http.StatusOK).fill("/welcome", typed("password", "a watch over the harbour"), http.StatusOK)
	expect(keeper, "lighthouse", "/components/"+component, "/dashboards/"+dashboard, "/subscribers/email/"+subscriber)
	expect(keeper, event)
	expect(keeper, "invite")
	keeper.open("/profile/shortcuts", http.StatusOK).expect("/profile/shortcuts", "Keyboard shortcuts", "Next and previous row")
	if strings.Contains(keeper.words(), "Report an incident") || strings.Contains(keeper.words(), "Audit log") {
		t.Errorf("the shortcuts of a subscriber are %s", keeper.words())
	}
	keeper.open("/profile", http.StatusOK).fill("/profile", url.Values{"shortcuts": nil}, http.StatusOK)
	keeper.open("/profile/shortcuts", http.StatusOK).expect("/profile/shortcuts", "They are switched off.")
}
