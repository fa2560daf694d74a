package main_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A member adds a component, sets its state by hand, writes a template for it, reports an incident from the template, and
// deletes all, without script. The public page and the App interface show each step.
func TestAMemberKeepsComponentsAndTemplatesWithoutScript(t *testing.T) {
	t.Parallel()
	ada, of, _ := member(t)
	public := func(text string, shown bool) {
		t.Helper()
		eventually(t, 30*time.Second, "the public page", func() error {
			if got := send(t, http.MethodGet, of.DashboardURL, "", nil); strings.Contains(string(got.body), text) != shown {
				return errors.New("it does not show the step: " + text)
			}
			return nil
		})
	}

	ada.open("/components/new", http.StatusOK)
	ada.fill("/components/new", typed("name", ""), http.StatusUnprocessableEntity).expect("/components/new", "Enter the name.")
	ada.fill("/components/new", typed("name", "Search index", "groupName", "Finding"), http.StatusOK)
	at := strings.TrimPrefix(ada.at.Path, "/console")
	ada.expect(at, "Search index is added.", "Operational", "No open event affects it")
	public("Search index", true)
	ada.open("/components?q=SEARCH", http.StatusOK).expect("/components", "Finding", "Search index", "On 1 dashboard")
	ada.open("/components?q=nothing-like-it", http.StatusOK).expect("/components", "No component matches.")

	ada.open(at, http.StatusOK).fill(at+"/state", typed("status", "degraded_performance", "until", "2020-01-01T00:00"), http.StatusUnprocessableEntity)
	until := time.Now().UTC().Add(2 * time.Hour).Format("2006-01-02T15:04")
	ada.fill(at+"/state", typed("until", until), http.StatusOK).expect(at, "Saved.", "Degraded performance", "Set by hand")
	ada.open("/components?status=degraded_performance", http.StatusOK).expect("/components", "Search index", "set by hand")
	public("Degraded", true)
	ada.open(at, http.StatusOK).fill(at+"/state", typed("status", "operational"), http.StatusOK).expect(at, "Operational")

	// An event without components is on the dashboards that the form names.
	ada.open("/events/new", http.StatusOK)
	ada.fill("/events/new", typed("title", "The phone line is down", "dashboards", of.DashboardID), http.StatusOK)
	alone := strings.TrimPrefix(ada.at.Path, "/console")
	ada.expect(alone, "No component", "Shown on ")
	public("The phone line is down", true)
	ada.open(alone+"/edit", http.StatusOK).fill(alone+"/edit", typed("title", "The phone line is closed"), http.StatusOK).expect(alone, "Saved.", "Shown on ")
	public("The phone line is closed", true)
	ada.open(alone+"/delete", http.StatusOK).fill(alone+"/delete", nil, http.StatusOK)
	public("The phone line is closed", false)

	id := strings.TrimPrefix(at, "/components/")
	ada.open("/templates/new", http.StatusOK).action("/templates/new", "/console/parts/text?name=message")
	ada.fill("/parts/text", typed("message", "We look for the **cause**."), http.StatusOK)
	if !strings.Contains(ada.text, "look for the <strong>cause</strong>.") {
		t.Errorf("the preview of the text is %s", ada.words())
	}
	ada.open("/templates/new", http.StatusOK)
	ada.fill("/templates/new", typed("name", "Slow search", "title", "Search is slow", "message", "We look for the **cause**.", "status", "identified", "severity", "minor_performance", "components", id), http.StatusOK).
		expect("/templates", "Saved.", "Slow search", "Identified")
	template := "/templates/" + regexp.MustCompile(`/console/templates/([0-9a-f-]{36})`).FindStringSubmatch(ada.text)[1]
	ada.open(template, http.StatusOK).fill(template, typed("title", "Search is very slow"), http.StatusOK).expect("/templates", "Search is very slow")
	ada.open("/events/new?template="+strings.TrimPrefix(template, "/templates/"), http.StatusOK)
	ada.fill("/events/new", typed("components", id), http.StatusOK)
	event := strings.TrimPrefix(ada.at.Path, "/console")
	public("Search is very slow", true)
	public("look for the <strong>cause</strong>.", true)

	ada.open(at+"/delete", http.StatusOK).expect(at+"/delete", "It disappears from", "An open event affects it.")
	ada.fill(at+"/delete", nil, http.StatusUnprocessableEntity).expect(at+"/delete", "There is a problem")
	ada.open(event+"/delete", http.StatusOK).fill(event+"/delete", nil, http.StatusOK)
	ada.open(at+"/delete", http.StatusOK).fill(at+"/delete", nil, http.StatusOK).expect("/components", "Search index is deleted.")
	public("Search index", false)
	ada.open(template, http.StatusOK)
	if strings.Contains(ada.text, id) {
		t.Error("the template keeps a deleted component")
	}
	ada.open(template+"/delete", http.StatusOK).fill(template+"/delete", nil, http.StatusOK).expect("/templates", "Slow search is deleted.")
}
