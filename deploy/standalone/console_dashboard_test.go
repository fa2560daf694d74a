package main_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A member changes each tab of a dashboard without script. The preview shows what is not saved, and the public page what is.
func TestAMemberChangesADashboardWithoutScript(t *testing.T) {
	t.Parallel()
	ada, of, _ := member(t)
	at := "/dashboards/" + of.DashboardID
	public := func(text string, shown bool) {
		t.Helper()
		eventually(t, 30*time.Second, "the public page", func() error {
			if got := send(t, http.MethodGet, of.DashboardURL, "", nil); strings.Contains(string(got.body), text) != shown {
				return errors.New("it does not show the step: " + text)
			}
			return nil
		})
	}
	if !strings.Contains(ada.text, `href="/console`+at+`"`) {
		t.Error("the navigation does not show the dashboard")
	}

	ada.open(at, http.StatusOK).preview(at, "", typed("name", "Acme of the preview"), http.StatusOK).expect(at+"/preview", "Acme of the preview")
	public("Acme of the preview", false)
	ada.open(at, http.StatusOK).preview(at, "", typed("primaryColor", "red"), http.StatusBadRequest).expect(at+"/preview", "No preview", "primaryColor")
	ada.open(at, http.StatusOK).fill(at, typed("name", "Acme at sea", "primaryColor", "red"), http.StatusUnprocessableEntity).expect(at, "There is a problem", "Colour must be a colour")
	ada.fill(at, typed("primaryColor", "#aa0000"), http.StatusOK).expect(at, "Saved.", "Acme at sea")
	public("Acme at sea", true)

	ada.open(at+"/content", http.StatusOK).fill(at+"/content", typed("announcement", "We **move** in May.", "move", "down announcement"), http.StatusOK).expect(at+"/content", "Announcement is at place 2 of 10.")
	ada.preview(at+"/content", "content", nil, http.StatusOK).expect(at+"/preview", "We move in May.")
	public("<strong>move</strong>", false)
	ada.open(at+"/content", http.StatusOK).fill(at+"/content", typed("announcement", "We **move** in May."), http.StatusOK).expect(at+"/content", "Saved.")
	public("<strong>move</strong>", true)

	for _, name := range []string{"Wharf", "Lighthouse"} {
		ada.open("/components/new", http.StatusOK).fill("/components/new", typed("name", name), http.StatusOK)
	}
	lighthouse := strings.TrimPrefix(ada.at.Path, "/console/components/")
	ada.open(at+"/components", http.StatusOK).fill(at+"/components", typed("move", "up "+lighthouse), http.StatusOK).expect(at+"/components", "Lighthouse is at place")
	ada.fill(at+"/components", nil, http.StatusOK).expect(at+"/components", "Saved.")
	if text := ada.text; strings.Index(text, `aria-label="Move Lighthouse up"`) > strings.Index(text, `aria-label="Move Wharf up"`) {
		t.Error("the order is not saved")
	}
	ada.fill(at+"/components", typed("move", "remove "+lighthouse), http.StatusOK).expect(at+"/components", "Lighthouse is taken off.")
	ada.fill(at+"/components", nil, http.StatusOK)
	public("Lighthouse", false)

	ada.open(at+"/subscriptions", http.StatusOK).fill(at+"/subscriptions", typed("channels", "email"), http.StatusOK).expect(at+"/subscriptions", "Saved.")
	ada.open(at+"/domains", http.StatusOK).fill(at+"/domains", typed("customDomains", "status.example.com"), http.StatusOK).expect(at+"/domains", "Saved.", "status.example.com")
	ada.open(at+"/access", http.StatusOK).fill(at+"/access", typed("mode", "password", "password", "short"), http.StatusUnprocessableEntity).expect(at+"/access", "There is a problem")
	ada.fill(at+"/access", typed("password", "a watch over the harbour"), http.StatusOK).expect(at+"/access", "Saved.")
	public("We <strong>move</strong>", false)

	ada.open(at+"/delete", http.StatusOK).fill(at+"/delete", nil, http.StatusUnprocessableEntity).expect(at+"/delete", "There is a problem")
	ada.open("/dashboards/new", http.StatusOK).fill("/dashboards/new", typed("name", "Partners"), http.StatusOK)
	partners := strings.TrimSuffix(strings.TrimPrefix(ada.at.Path, "/console"), "/components")
	ada.expect(partners+"/components", "Partners is added.", "The dashboard shows no component.")
	ada.open(partners+"/delete", http.StatusOK).fill(partners+"/delete", nil, http.StatusOK).expect("/dashboards", "Partners is deleted.")
}

// preview sends the form of a tab to its preview, as the button Preview does.
func (p *consoleUser) preview(form, tab string, changes map[string][]string, status int) *consoleUser {
	p.t.Helper()
	at, _, _ := strings.Cut(strings.TrimPrefix(form, "/dashboards/"), "/")
	p.action(form, "/console/dashboards/"+at+"/preview?tab="+tab)
	return p.fill("/dashboards/"+at+"/preview", changes, status)
}

// action sets the action of the form of the page, as a button with formaction does.
func (p *consoleUser) action(form, to string) {
	for node := range p.page.Descendants() {
		for i, a := range node.Attr {
			if target, _, _ := strings.Cut(a.Val, "?"); a.Key == "action" && target == "/console"+form {
				node.Attr[i].Val = to
			}
		}
	}
}
