package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// notice is the body of a webhook about an event, as the contract defines it.
type notice struct {
	ID, Kind          string
	Version, Sequence int
	CreatedAt         time.Time
	Dashboard         struct{ ID, Name, URL string }
	Event             struct {
		ID, Type, Title, Status          string
		LegacyID                         int64
		PreviousStatus, Severity, URL    *string
		StartAt                          time.Time
		EndAt                            *time.Time
		ScheduledStartAt, ScheduledEndAt *time.Time
		AffectedComponents               []struct{ ID, Name, Group, Impact string }
	}
	TimelineEntry *struct {
		StatusID, Status         string
		Timestamp                time.Time
		MessageText, MessageHTML string
	}
}

// stage collects the webhooks about events of one component.
type stage struct {
	actor
	receiver  *receiver.Receiver
	component string
	whole     bool           // the events name the dashboard instead of the component
	seen      map[string]int // number of webhooks, by path
	sequence  map[string]int // sequence of the last webhook, by event
	compared  int            // webhooks of the format statuspage that were compared with the page
}

// The paths of the webhooks: with the format bellbuoy, and with the format statuspage.
const (
	ownPath        = "/hooks/kinds"
	statuspagePath = "/hooks/statuspage"
)

// formerPage is the public id of the dashboard.
const formerPage = "kctbh9vrtdwd"

// next waits for the next webhook at the path.
func (s *stage) next(path string) receiver.Request {
	s.t.Helper()
	at := func(all []receiver.Request) (found []receiver.Request) {
		for _, request := range all {
			if request.Path == path {
				found = append(found, request)
			}
		}
		return found
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	all, err := s.receiver.Wait(ctx, func(all []receiver.Request) bool { return len(at(all)) > s.seen[path] })
	if err != nil {
		s.t.Fatalf("waiting for request %d at %s: %v", s.seen[path]+1, path, err)
	}
	s.seen[path]++
	return at(all)[s.seen[path]-1]
}

// app sends a request to the App interface, and returns the id of the event in the response.
func (s *stage) app(status int, method, path string, body any) string {
	s.t.Helper()
	var out struct{ Event struct{ ID string } }
	got := send(s.t, method, s.BaseURL+"/app/events"+path, s.credentials.app(), body).expect(s.t, status)
	if len(got.body) > 0 {
		got.into(s.t, &out)
	}
	return out.Event.ID
}

// create creates an event with these members.
func (s *stage) create(members map[string]any) string {
	s.t.Helper()
	if s.whole {
		members["dashboardIds"] = []string{s.DashboardID}
	} else {
		members["affectedComponents"] = []any{map[string]any{"componentId": s.component, "impact": "partial_outage"}}
	}
	return s.app(http.StatusCreated, "POST", "", members)
}

// expect waits for the next webhook. It fails the test if more than one has arrived.
func (s *stage) expect(event, kind, status, previous, message string) notice {
	s.t.Helper()
	request := s.next(ownPath)
	var n notice
	if err := json.Unmarshal(request.Body, &n); err != nil {
		s.t.Fatalf("%s: %v", request.Body, err)
	}
	var problems []string
	check := func(is bool, what string) {
		if !is {
			problems = append(problems, what)
		}
	}
	check(n.Kind == kind && n.Event.ID == event, "kind or event")
	check(n.Event.Status == status && value(n.Event.PreviousStatus) == previous, "status or previousStatus")
	check(n.Version == 1 && n.ID == request.ID() && n.Dashboard.ID == s.DashboardID && !n.CreatedAt.IsZero(), "frame")
	check(n.Sequence > s.sequence[event], fmt.Sprintf("sequence after %d", s.sequence[event]))
	components := n.Event.AffectedComponents
	check(s.whole && components != nil && len(components) == 0 || len(components) == 1 && components[0].ID == s.component && components[0].Impact == "partial_outage", "affectedComponents")
	check(n.Event.URL != nil && *n.Event.URL == s.DashboardURL+"/events/"+event, "url")
	entry := ""
	if n.TimelineEntry != nil {
		entry = n.TimelineEntry.MessageText
		check(n.TimelineEntry.StatusID != "" && n.TimelineEntry.Status != "" && n.TimelineEntry.MessageHTML != "" && !n.TimelineEntry.Timestamp.IsZero(), "timelineEntry")
	}
	check(entry == message, "message "+entry)
	if len(problems) > 0 {
		s.t.Fatalf("%v: got %s\nwant %s, status %s from %q, message %q", problems, request.Body, kind, status, previous, message)
	}
	s.sequence[event] = n.Sequence
	s.comparePage(n)
	return n
}

// statuspageIncident is an incident in the format of Statuspage. Members that are null where they are unknown, or that
// concern the other updates, are left out.
type statuspageIncident struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	Status    string  `json:"status"`
	Impact    string  `json:"impact"`
	Shortlink string  `json:"shortlink"`
	PageID    string  `json:"page_id"`
	CreatedAt string  `json:"created_at"`
	StartedAt string  `json:"started_at"`
	Resolved  *string `json:"resolved_at"`
	For       *string `json:"scheduled_for"`
	Until     *string `json:"scheduled_until"`
}

type statuspageUpdate struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Body     string `json:"body"`
	Incident string `json:"incident_id"`
	Created  string `json:"created_at"`
	Display  string `json:"display_at"`
	Notified bool   `json:"deliver_notifications"`
	Affected []struct {
		Code, Name string
		Old        string `json:"old_status"`
		New        string `json:"new_status"`
	} `json:"affected_components"`
}

type statuspageEvent struct {
	statuspageIncident
	Updates    []statuspageUpdate `json:"incident_updates"`
	Components []struct{ ID, Name string }
}

// comparePage waits for the webhook with the format statuspage about the same change, and compares it with the files below
// api/v2. It compares nothing if the scheduler has changed the event since.
func (s *stage) comparePage(n notice) {
	s.t.Helper()
	var sent struct {
		Page struct {
			ID          string
			Indicator   string `json:"status_indicator"`
			Description string `json:"status_description"`
		}
		Incident statuspageEvent
	}
	body := s.next(statuspagePath).Body
	if err := json.Unmarshal(body, &sent); err != nil || sent.Incident.ID != n.Event.ID || sent.Page.ID != formerPage || len(sent.Incident.Updates) != 1 {
		s.t.Fatalf("%s: %v", body, err)
	}
	var page struct {
		Page         struct{ ID string }
		Status       struct{ Indicator, Description string }
		Incidents    []statuspageEvent
		Maintenances []statuspageEvent `json:"scheduled_maintenances"`
	}
	for _, file := range []string{"status.json", "incidents.json", "scheduled-maintenances.json"} {
		looker{t: s.t, base: s.DashboardURL}.visit("GET", "/api/v2/"+file, nil).expect(s.t, 200).into(s.t, &page)
	}
	events := append(page.Incidents, page.Maintenances...)
	at := slices.IndexFunc(events, func(e statuspageEvent) bool { return e.ID == n.Event.ID })
	if at < 0 {
		s.t.Fatalf("the page does not show %s: %+v", n.Event.ID, events)
	}
	shown := events[at]
	if shown.Status != sent.Incident.Status {
		s.t.Logf("%s: the page already shows %s", n.Kind, shown.Status)
		return
	}
	s.compared++
	if !reflect.DeepEqual(sent.Incident.statuspageIncident, shown.statuspageIncident) || !reflect.DeepEqual(sent.Incident.Components, shown.Components) {
		s.t.Errorf("%s: %s\nthe page has %+v %+v", n.Kind, body, shown.statuspageIncident, shown.Components)
	}
	if sent.Page.ID != page.Page.ID || sent.Page.Indicator != page.Status.Indicator || sent.Page.Description != page.Status.Description {
		s.t.Errorf("%s: %+v, the page has %+v", n.Kind, sent.Page, page.Status)
	}
	if update := &sent.Incident.Updates[0]; !update.Notified {
		s.t.Errorf("%s: %+v notifies nobody", n.Kind, update)
	} else if n.TimelineEntry == nil {
		return
	}
	entry := slices.IndexFunc(shown.Updates, func(u statuspageUpdate) bool { return u.ID == n.TimelineEntry.StatusID })
	if entry >= 0 {
		shown.Updates[entry].Notified = true // the entry of a published draft was stored before anybody was notified
	}
	if entry < 0 || !reflect.DeepEqual(shown.Updates[entry], sent.Incident.Updates[0]) {
		s.t.Errorf("%s: %+v, the page has %+v", n.Kind, sent.Incident.Updates, shown.Updates)
	}
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// TestEveryKindReachesAWebhook changes an incident and a maintenance through the App interface, from the draft to the
// post-mortem, and checks every webhook. In between are changes that must notify nobody. If one did, its webhook would
// arrive as the next one.
func TestEveryKindReachesAWebhook(t *testing.T) {
	t.Parallel()
	r, env := startReceiver(t)
	p, _ := started(t, env...)
	c := seeded(t, p)
	s := &stage{actor: actor{t, c}, receiver: r, seen: map[string]int{}, sequence: map[string]int{}}
	_, s.component = s.service("Checkout")
	send(t, "PATCH", s.BaseURL+"/app/components/"+s.component, c.app(), map[string]any{"publicId": "b13yz5g2cw10"}).expect(t, http.StatusOK)
	send(t, "PATCH", s.BaseURL+"/app/dashboards/"+s.DashboardID, c.app(), map[string]any{"publicId": formerPage}).expect(t, http.StatusOK)
	s.endpoint("https://"+receiverHost+ownPath, s.component)
	send(t, "POST", s.BaseURL+"/app/integrations/webhooks/outbound/endpoints", c.app(), map[string]any{
		"dashboardId": s.DashboardID, "url": "https://" + receiverHost + statuspagePath, "managementEmail": "ops@example.com", "format": "statuspage", "componentIds": []string{s.component},
	}).expect(t, http.StatusCreated)
	t.Run("incident", s.incident)
	t.Run("maintenance", s.maintenance)
	s.whole = true
	t.Run("without components", s.withoutComponents)
	if s.compared < 20 {
		t.Errorf("only %d webhooks were compared with the page", s.compared)
	}
}

func (s *stage) incident(t *testing.T) {
	type body = map[string]any
	s.t = t
	id := s.create(body{"type": "incident", "title": "Draft", "publish": false, "notify": true, "initialTimelineMessage": "older"})
	entries := "/" + id + "/timeline"
	s.app(201, "POST", entries, body{"message": "newest", "status": "identified", "notify": true})
	s.app(200, "PATCH", "/"+id, body{"publish": true})
	s.expect(id, "incident.created", "identified", "", "newest")

	id = s.create(body{"type": "incident", "title": "Down", "severity": "minor_outage", "initialTimelineMessage": "We <b>look</b>."})
	entries = "/" + id + "/timeline"
	created := s.expect(id, "incident.created", "investigating", "", "We look.")
	if created.Event.Title != "Down" || value(created.Event.Severity) != "minor_outage" || created.Event.LegacyID == 0 || created.Event.Type != "incident" {
		t.Errorf("created %+v", created.Event)
	}
	s.app(200, "PATCH", "/"+id, body{"externalId": "x"})                              // changes nothing that is shown
	s.app(200, "PATCH", "/"+id, body{"title": "Silent", "notify": false})             // excludes all notifications
	s.app(200, "PATCH", "/"+id, body{"title": "Mail", "notify": body{"email": true}}) // requests another channel only
	old := time.Now().Add(-61 * time.Minute)
	backdated := s.create(body{"type": "incident", "title": "Old", "startAt": old})
	s.app(201, "POST", entries, body{"message": "old news", "timestamp": old})
	s.app(200, "PATCH", "/"+id, body{"severity": "major_outage"})
	s.expect(id, "incident.updated", "investigating", "", "")
	s.app(201, "POST", "/"+backdated+"/timeline", body{"message": "and yet", "timestamp": old, "notify": true})
	s.expect(backdated, "incident.updated", "investigating", "", "and yet")
	s.app(201, "POST", entries, body{"message": "Found.", "status": "identified", "notify": body{"webhook": true, "email": false}})
	s.expect(id, "incident.updated", "identified", "investigating", "Found.")
	s.app(201, "POST", entries, body{"message": "Still."})
	s.expect(id, "incident.updated", "identified", "", "Still.")
	s.app(201, "POST", entries, body{"message": "Over.", "status": "resolved"})
	if resolved := s.expect(id, "incident.resolved", "resolved", "identified", "Over."); resolved.Event.EndAt == nil {
		t.Errorf("resolved without an end: %+v", resolved.Event)
	}
	s.app(201, "POST", "/"+id+"/reopen", body{"message": "Again."})
	if reopened := s.expect(id, "incident.reopened", "investigating", "resolved", "Again."); reopened.Event.EndAt != nil {
		t.Errorf("reopened with an end: %+v", reopened.Event)
	}
	s.app(201, "POST", entries, body{"message": "Quiet.", "status": "resolved", "notify": false})
	s.app(200, "PUT", "/"+id+"/post-mortem", body{"summary": "Why", "notify": true}) // visitors do not see the post-mortem
	s.app(200, "PUT", "/"+id+"/post-mortem", body{"summary": "Why", "published": true})
	s.expect(id, "incident.post_mortem_published", "resolved", "", "")
	s.app(200, "PATCH", "/"+id, body{"publish": false, "notify": true})
	s.app(204, "DELETE", "/"+id, nil)
}

// withoutComponents takes an incident and a maintenance that concern the whole dashboard through the steps of people and of the
// scheduler.
func (s *stage) withoutComponents(t *testing.T) {
	type body = map[string]any
	s.t = t
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
	id := s.create(body{"type": "incident", "title": "All is slow", "severity": "minor_outage", "initialTimelineMessage": "We look."})
	s.expect(id, "incident.created", "investigating", "", "We look.")
	s.app(201, "POST", "/"+id+"/timeline", body{"message": "Over.", "status": "resolved"})
	s.expect(id, "incident.resolved", "resolved", "investigating", "Over.")

	id = s.create(body{"type": "maintenance", "title": "Move all", "scheduledStartAt": in(5*time.Minute + 12*time.Second), "scheduledEndAt": in(time.Hour),
		"autoStart": true, "autoEnd": true, "reminderMinutes": []int{5}})
	s.expect(id, "maintenance.scheduled", "planning", "", "")
	s.expect(id, "maintenance.reminder", "planning", "", "")
	s.app(200, "PATCH", "/"+id, body{"scheduledStartAt": in(6 * time.Second)})
	s.expect(id, "maintenance.rescheduled", "planning", "", "")
	s.expect(id, "maintenance.started", "started", "planning", "Started as scheduled.")
	s.app(200, "PATCH", "/"+id, body{"scheduledEndAt": in(6 * time.Second)})
	s.expect(id, "maintenance.rescheduled", "started", "", "")
	s.expect(id, "maintenance.completed", "completed", "started", "Completed as scheduled.")
}

func (s *stage) maintenance(t *testing.T) {
	type body = map[string]any
	s.t = t
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
	id := s.create(body{"type": "maintenance", "title": "Draft", "publish": false, "scheduledStartAt": in(time.Hour), "scheduledEndAt": in(2 * time.Hour)})
	s.app(200, "PATCH", "/"+id, body{"publish": true})
	s.expect(id, "maintenance.scheduled", "planning", "", "")

	id = s.create(body{"type": "maintenance", "title": "Move", "scheduledStartAt": in(time.Hour), "scheduledEndAt": in(2 * time.Hour),
		"autoStart": true, "autoEnd": true, "reminderMinutes": []int{5, 10}})
	entries := "/" + id + "/timeline"
	if scheduled := s.expect(id, "maintenance.scheduled", "planning", "", ""); scheduled.Event.ScheduledStartAt == nil || scheduled.Event.ScheduledEndAt == nil {
		t.Errorf("scheduled %+v", scheduled.Event)
	}
	s.app(200, "PATCH", "/"+id, body{"scheduledStartAt": in(5*time.Minute + 12*time.Second)}) // too late for the reminder 10 minutes before
	s.expect(id, "maintenance.rescheduled", "planning", "", "")
	s.expect(id, "maintenance.reminder", "planning", "", "")
	s.app(200, "PATCH", "/"+id, body{"scheduledStartAt": in(6 * time.Second)})
	s.expect(id, "maintenance.rescheduled", "planning", "", "")
	s.expect(id, "maintenance.started", "started", "planning", "Started as scheduled.")
	s.app(201, "POST", entries, body{"message": "Working.", "status": "inprogress"})
	s.expect(id, "maintenance.updated", "inprogress", "started", "Working.")
	s.app(200, "PATCH", "/"+id, body{"scheduledEndAt": in(6 * time.Second)})
	s.expect(id, "maintenance.rescheduled", "inprogress", "", "")
	if completed := s.expect(id, "maintenance.completed", "completed", "inprogress", "Completed as scheduled."); completed.Event.EndAt == nil || !completed.Event.EndAt.Equal(*completed.Event.ScheduledEndAt) {
		t.Errorf("completed %+v", completed.Event)
	}
	s.app(201, "POST", "/"+id+"/reopen", body{"message": "Not yet."})
	s.expect(id, "maintenance.reopened", "inprogress", "completed", "Not yet.")
	s.app(201, "POST", entries, body{"message": "Done.", "status": "completed"})
	s.expect(id, "maintenance.completed", "completed", "inprogress", "Done.")
	s.app(200, "PUT", "/"+id+"/post-mortem", body{"summary": "How", "published": true})
	s.expect(id, "maintenance.updated", "completed", "", "")
}
