package main_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// countedUser is a consoleUser whose actions are counted: each link, button, field and choice is one.
type countedUser struct {
	*consoleUser
	actions int
}

// follow opens the link of the page whose address contains the text.
func (w *countedUser) follow(part string) {
	w.t.Helper()
	for node := range w.page.Descendants() {
		if target := attribute(node, "href"); node.DataAtom == atom.A && strings.Contains(target, part) {
			address, err := w.at.Parse(target)
			if err != nil {
				w.t.Fatal(err)
			}
			w.actions++
			w.load(http.MethodGet, address.String(), nil, http.StatusOK)
			return
		}
	}
	w.t.Fatalf("%s has no link to %s: %s", w.at, part, w.words())
}

// submit types and chooses the values, and sends the form.
func (w *countedUser) submit(action string, values url.Values) {
	w.t.Helper()
	w.actions++
	for _, chosen := range values {
		w.actions += len(chosen)
	}
	w.fill(action, values, http.StatusOK)
}

// choice returns the value of the checkbox or radio button with the name whose label contains the text.
func (p *consoleUser) choice(name, label string) string {
	p.t.Helper()
	for node := range p.page.Descendants() {
		if node.DataAtom == atom.Input && attribute(node, "name") == name && strings.Contains(textOf(node.Parent), label) {
			return attribute(node, "value")
		}
	}
	p.t.Fatalf("%s has no choice %q of %s: %s", p.at, label, name, p.words())
	return ""
}

// choices returns the values of the checkboxes or radio buttons with the name.
func (p *consoleUser) choices(name string) (values []string) {
	for node := range p.page.Descendants() {
		if node.DataAtom == atom.Input && attribute(node, "name") == name {
			values = append(values, attribute(node, "value"))
		}
	}
	return values
}

// button returns the value of the button with the name whose text contains the label.
func (p *consoleUser) button(name, label string) string {
	p.t.Helper()
	var found *html.Node
	for node := range p.page.Descendants() {
		if node.DataAtom == atom.Button && attribute(node, "name") == name && strings.Contains(textOf(node), label) {
			found = node
		}
	}
	if found == nil {
		p.t.Fatalf("%s has no button %q: %s", p.at, label, p.words())
	}
	return attribute(found, "value")
}

// shownEvent is what the tests read of an event.
type shownEvent struct {
	ID, Status, Title, Severity string
	Publish                     bool
	Version                     int
	AffectedComponents          []struct{ ComponentID, Impact string }
	Timeline                    []struct {
		Message  string
		Notified bool
		EditedAt *string
	}
	Notes      []struct{ Note string }
	PostMortem *struct{ Summary string }
}

func eventOf(t *testing.T, base string, of credentials, id string) shownEvent {
	t.Helper()
	var found struct{ Event shownEvent }
	send(t, http.MethodGet, base+"/app/events/"+id, of.app(), nil).expect(t, http.StatusOK).into(t, &found)
	return found.Event
}

func eventsOf(t *testing.T, base string, of credentials) []shownEvent {
	t.Helper()
	var found struct{ Events []shownEvent }
	send(t, http.MethodGet, base+"/app/events?limit=100", of.app(), nil).expect(t, http.StatusOK).into(t, &found)
	return found.Events
}

// The way from the link of the first start to a published and resolved incident has at most 25 actions, and each page leads
// to the next one. A second incident takes three taps and a title.
func TestTheFirstStartLeadsToAResolvedIncidentInFewActions(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	of := seeded(t, p)
	ada := &countedUser{consoleUser: newConsoleUser(t, base)}
	ada.open(of.ConsoleURL, http.StatusOK)
	ada.actions++
	ada.submit("/welcome", typed("password", memberPassword))
	ada.expect("/", "Get started", "Report a first incident", "nobody is notified")
	ada.follow("/console/events/new?first=1")
	ada.submit("/events/new", nil)
	made := eventsOf(t, base, of)
	if len(made) != 1 || made[0].Status != "investigating" || !made[0].Publish {
		t.Fatalf("the events are %+v", made)
	}
	first := "/events/" + made[0].ID
	ada.expect(first, "The event is published.", "Undo", "nobody notified", "Our first incident")
	ada.follow("/console/")
	ada.expect("/", "Open events", "Our first incident", "Components not operational", "Look at the public page")
	page := string(send(t, http.MethodGet, of.DashboardURL, "", nil).expect(t, http.StatusOK).body)
	if !strings.Contains(page, "Our first incident") {
		t.Errorf("the public page does not show the incident: %s", page)
	}
	ada.follow(first + "?status=resolved")
	ada.submit(first+"/timeline", nil)
	ada.expect(first, "The update is published.", "Resolved", "This problem is resolved.")
	if got := eventOf(t, base, of, made[0].ID); got.Status != "resolved" {
		t.Errorf("the incident is %s", got.Status)
	}
	if ada.actions > 25 {
		t.Errorf("the way has %d actions", ada.actions)
	}
	t.Logf("the way has %d actions", ada.actions)
	ada.follow("/console/")
	ada.expect("/", "Nothing needs your attention.", "Report a first incident (done)", "Resolve it (done)")

	ada.actions = 0
	ada.follow("/console/events/new")
	ada.submit("/events/new", typed("components", ada.choice("components", "API"), "title", "The API is slow"))
	if ada.expect("/events/"+eventsOf(t, base, of)[0].ID, "The API is slow"); ada.actions != 4 {
		t.Errorf("an incident takes %d taps and fields", ada.actions)
	}
	ada.follow("/console/")
	ada.actions = 0
	ada.follow("?status=resolved")
	ada.submit(strings.TrimPrefix(ada.at.Path, "/console")+"/timeline", nil)
	if ada.expect(strings.TrimPrefix(ada.at.Path, "/console"), "Resolved"); ada.actions != 2 {
		t.Errorf("to resolve takes %d taps", ada.actions)
	}
}

// Every status that a page offers is one that the App interface accepts, and no other status is missing.
func TestAPageOffersTheStatusesThatAnEventMayHaveNext(t *testing.T) {
	t.Parallel()
	ada, of, base := member(t)
	ada.open("/events/new", http.StatusOK)
	component := ada.choice("components", "API")
	for kind, statuses := range map[string][]string{
		"incident":    {"investigating", "identified", "monitoring", "resolved"},
		"maintenance": {"planning", "started", "inprogress", "verifying", "completed"},
	} {
		for _, from := range statuses {
			made := func() string {
				body := map[string]any{"type": kind, "title": "From " + from, "status": from, "affectedComponents": []any{map[string]any{"componentId": component}}, "notify": false}
				if kind == "maintenance" {
					body["scheduledStartAt"], body["scheduledEndAt"] = "2026-01-01T10:00:00.000Z", "2026-01-01T12:00:00.000Z"
				}
				var out struct{ Event shownEvent }
				send(t, http.MethodPost, base+"/app/events", of.app(), body).expect(t, http.StatusCreated).into(t, &out)
				return out.Event.ID
			}
			ada.open("/events/"+made(), http.StatusOK)
			offered := ada.choices("status")
			for _, to := range append(statuses, "update") {
				id := made()
				closed := from == "resolved" || from == "completed"
				operation, body := "/timeline", map[string]any{"message": "Next.", "status": to, "notify": false}
				if closed && to != "update" {
					operation = "/reopen"
				}
				status := send(t, http.MethodPost, base+"/app/events/"+id+operation, of.app(), body).status
				if allowed := status == http.StatusCreated && to != from; allowed != slices.Contains(offered, to) {
					t.Errorf("%s to %s: %d, and the page offers %v", from, to, status, offered)
				}
			}
			for _, to := range offered[1:] {
				id := made()
				ada.open("/events/"+id+"?status="+to, http.StatusOK).fill("/events/"+id+"/timeline", nil, http.StatusOK)
				if got := eventOf(t, base, of, id); got.Status != to {
					t.Errorf("%s to %s by the form: %s", from, to, got.Status)
				}
			}
		}
	}
}

// An event goes from a template and a draft to its deletion. Only forms are used.
func TestAnEventLivesInTheConsoleWithoutScript(t *testing.T) {
	t.Parallel()
	ada, of, base := member(t)
	ada.open("/events/new", http.StatusOK)
	api, website := ada.choice("components", "API"), ada.choice("components", "Website")
	template := map[string]any{"kind": "incident", "name": "Database down", "title": "The database is down", "status": "identified", "severity": "major_outage", "message": "We restart it.", "componentIds": []any{api}}
	send(t, http.MethodPost, base+"/app/templates", of.app(), template).expect(t, http.StatusCreated)

	// Wrong input keeps what was typed. A template fills only the rest.
	ada.open("/events/new", http.StatusOK).fill("/events/new", typed("title", "", "message", "Mine <b>", "startAt", "yesterday", "components", website), http.StatusUnprocessableEntity).
		expect("/events/new", "There is a problem", "Enter the title.")
	ada.fill("/events/new", typed("title", "My title", "startAt", "yesterday", "components", website), http.StatusUnprocessableEntity).expect("/events/new", "Enter a time")
	ada.fill("/events/new", typed("startAt", "", "components", website, "template", ada.button("template", "Database down")), http.StatusOK).expect("/events/new", "Mine <b>", "What you typed stays: title and message.")
	if !strings.Contains(ada.text, `value="My title"`) || strings.Contains(ada.text, "We restart it.") || !strings.Contains(ada.text, `value="major_outage" checked`) {
		t.Errorf("the template changed what was typed, or set nothing: %s", ada.text)
	}
	ada.fill("/events/new", typed("step", "draft"), http.StatusOK)
	made := eventsOf(t, base, of)
	if len(made) != 1 || made[0].Publish || made[0].Title != "My title" || made[0].Status != "identified" || len(made[0].AffectedComponents) != 1 || made[0].AffectedComponents[0].Impact != "major_outage" {
		t.Fatalf("the events are %+v", made)
	}
	at := "/events/" + made[0].ID
	now := func() shownEvent { return eventOf(t, base, of, made[0].ID) }
	ada.expect(at, "The draft is saved.", "Visitors do not see this yet", "Mine <b>")
	ada.open("/events?view=drafts", http.StatusOK).expect("/events", "My title", "Draft")
	ada.open("/events", http.StatusOK).expect("/events", "Nothing is open.")
	ada.open(at, http.StatusOK).fill(at+"/publish", nil, http.StatusOK).expect(at, "The event is published.")
	if got := now(); !got.Publish {
		t.Error("the event is a draft")
	}
	ada.open("/events?q=MY+ti", http.StatusOK).expect("/events", "My title", "Identified")
	ada.open("/events?type=maintenance", http.StatusOK).expect("/events", "No event matches.")

	// A correction, a deleted update, and the one that set the status, which stays.
	ada.open(at, http.StatusOK).fill(at+"/timeline", typed("status", "monitoring", "message", ""), http.StatusOK).expect(at, "A fix is in place.")
	ada.fill(at+"/timeline", typed("message", ""), http.StatusUnprocessableEntity).expect(at+"/timeline", "Enter the message.")
	walk := &countedUser{consoleUser: ada}
	ada.open(at, http.StatusOK)
	walk.follow(at + "/timeline/")
	entry := strings.TrimPrefix(ada.at.Path, "/console")
	ada.fill(entry, typed("message", "A **better** text"), http.StatusOK).expect(at, "The update is corrected. Nobody was notified.", "A better text")
	if got := now().Timeline[0]; got.EditedAt == nil || !strings.Contains(ada.text, "<strong>better</strong>") {
		t.Errorf("the entry is %+v, the page %s", got, ada.text)
	}
	ada.open(entry, http.StatusOK).expect(entry, "A **better** text")
	ada.open(entry+"/delete", http.StatusOK).fill(entry+"/delete", nil, http.StatusUnprocessableEntity).expect(entry+"/delete", "There is a problem")
	ada.open(at, http.StatusOK).fill(at+"/timeline", typed("message", "To be deleted", "notify", "email"), http.StatusOK).expect(at, "To be deleted")
	ada.open(at, http.StatusOK)
	walk.follow("/delete")
	ada.fill(strings.TrimPrefix(ada.at.Path, "/console"), nil, http.StatusOK).expect(at, "The update is deleted.")
	if got := now(); len(got.Timeline) != 2 {
		t.Errorf("the timeline is %+v", got.Timeline)
	}

	// The event itself, notes, the end, a post-mortem, a reopen.
	ada.open(at+"/edit", http.StatusOK).fill(at+"/edit", typed("title", "Another title", "severity", "minor_outage"), http.StatusOK).expect(at, "Saved.", "Another title")
	if got := now(); got.AffectedComponents[0].Impact != "partial_outage" {
		t.Errorf("the severity does not set the impact: %+v", got)
	}
	ada.fill(at+"/notes", typed("note", "Call Grace"), http.StatusOK).expect(at, "Call Grace")
	ada.fill(at+"/timeline", typed("status", "resolved", "message", "Done."), http.StatusOK).expect(at, "Post-mortem", "Write it")
	ada.open("/events?view=past", http.StatusOK).expect("/events", "Another title", "Resolved")
	ada.open(at+"/post-mortem", http.StatusOK).fill(at+"/post-mortem", typed("summary", "It *fell*", "actionItems", "Add an alert; Grace; 2026-03-01\nx Write it down", "published", "on"), http.StatusOK).expect(at, "It fell", "Published")
	ada.open(at+"/post-mortem", http.StatusOK).expect(at+"/post-mortem", "x Write it down", "Add an alert; Grace; 2026-03-01", "It *fell*")
	ada.open(at+"?status=investigating", http.StatusOK).fill(at+"/timeline", nil, http.StatusOK)
	if got := now(); got.Status != "investigating" || got.PostMortem == nil || len(got.Notes) != 1 {
		t.Errorf("after the reopen: %+v", got)
	}

	// A withdrawal can be undone, a deletion cannot.
	ada.open(at+"/withdraw", http.StatusOK).fill(at+"/withdraw", nil, http.StatusOK).expect(at, "The event is a draft now.", "Undo")
	if page := string(send(t, http.MethodGet, of.DashboardURL, "", nil).expect(t, http.StatusOK).body); strings.Contains(page, "Another title") {
		t.Error("the public page shows a withdrawn event")
	}
	ada.fill(at+"/publish", nil, http.StatusOK).expect(at, "The event is published.")
	ada.open(at+"/delete", http.StatusOK).expect(at+"/delete", "cannot be reversed").fill(at+"/delete", nil, http.StatusOK).expect("/events", "Another title is deleted.")
	ada.open(at, http.StatusNotFound)

	// A maintenance, whose times are those of the member's zone.
	ada.open("/profile", http.StatusOK).fill("/profile", typed("timeZone", "America/New_York"), http.StatusOK)
	ada.open("/events/new/maintenance", http.StatusOK).expect("/events/new/maintenance", "In America/New_York")
	ada.fill("/events/new/maintenance", typed("title", "New disks", "components", api, "scheduledStartAt", "2030-03-10T02:30", "scheduledEndAt", "2030-03-10T05:00"), http.StatusUnprocessableEntity).expect("/events/new/maintenance", "the clocks skip it")
	ada.fill("/events/new/maintenance", typed("scheduledStartAt", "2030-03-10T03:30", "components", api), http.StatusOK)
	if got := string(send(t, http.MethodGet, base+"/app/events?limit=100", of.app(), nil).body); !strings.Contains(got, `"scheduledStartAt":"2030-03-10T07:30:00.000Z"`) || !strings.Contains(got, `"autoEnd":true`) || !strings.Contains(got, `"reminderMinutes":[60]`) {
		t.Errorf("the events are %s", got)
	}
	ada.open("/events?view=upcoming", http.StatusOK).expect("/events", "New disks", "10 Mar 2030, 03:30")
	ada.open("/", http.StatusOK).expect("/", "Upcoming maintenance", "New disks")
}

// Two members change one event. The second sees both values and who it was, and keeps the own ones or takes the others.
func TestTwoMembersWhoChangeOneEventSeeBothValues(t *testing.T) {
	t.Parallel()
	ada, of, base := member(t)
	ada.open("/events/new", http.StatusOK)
	ada.fill("/events/new", typed("title", "Slow", "components", ada.choice("components", "API")), http.StatusOK)
	id := eventsOf(t, base, of)[0].ID
	at := "/events/" + id
	bob := addUser(t, of, "bob", "admin")
	var link struct{ URL string }
	send(t, http.MethodPost, base+"/operator/v1/users/"+bob.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &link)
	late := newConsoleUser(t, base)
	late.open(link.URL, http.StatusOK).fill("/welcome", typed("password", memberPassword), http.StatusOK)

	late.open(at, http.StatusOK)
	ada.open(at, http.StatusOK).fill(at+"/timeline", typed("status", "identified", "message", "A disk is full."), http.StatusOK)
	late.fill(at+"/timeline", typed("status", "monitoring", "message", "We wait."), http.StatusConflict).
		expect(at+"/timeline", of.Username, "A disk is full.", "We wait.", "Identified", "Monitoring", "Keep mine", "Take theirs")
	if got := eventOf(t, base, of, id); got.Status != "identified" || len(got.Timeline) != 2 {
		t.Errorf("a conflict changed the event: %+v", got)
	}
	late.fill(at+"/timeline", nil, http.StatusOK).expect(at, "We wait.")
	if got := eventOf(t, base, of, id); got.Status != "monitoring" || len(got.Timeline) != 3 {
		t.Errorf("the event is %+v", got)
	}

	late.open(at+"/edit", http.StatusOK)
	ada.open(at+"/edit", http.StatusOK).fill(at+"/edit", typed("title", "Very slow"), http.StatusOK)
	late.fill(at+"/edit", typed("title", "A bit slow"), http.StatusConflict).expect(at+"/edit", "Very slow", "A bit slow", "Title")
	late.fill(at+"/edit", nil, http.StatusOK).expect(at, "A bit slow")
}

// The form of a new incident is sent several times at once, as by a double tap. One event begins, and each response leads
// to it.
func TestADoubleTapReportsOneIncident(t *testing.T) {
	t.Parallel()
	ada, of, base := member(t)
	ada.open("/events/new", http.StatusOK)
	values := typed("title", "Once", "components", ada.choice("components", "API"))
	taps := make([]*consoleUser, 3)
	var group sync.WaitGroup
	for i := range taps {
		tap := *ada
		taps[i] = &tap
		group.Go(func() { tap.fill("/events/new", values, http.StatusOK) })
	}
	group.Wait()
	made := eventsOf(t, base, of)
	if len(made) != 1 {
		t.Fatalf("%d events were made", len(made))
	}
	for _, tap := range taps {
		tap.expect("/events/"+made[0].ID, "Once")
	}
}
