package transfer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

// Undo keeps a planned record that an interrupted run did not record, if somebody else has created the record: a subscriber that no
// import has created, a dashboard or endpoint that is older than the run, or a dashboard that is enabled.
func TestUndoKeepsWhatOthersHaveCreated(t *testing.T) {
	const hooks = "GET /app/integrations/webhooks/outbound/endpoints"
	p := &platform{t: t, responses: map[string]any{"DELETE /app/dashboards/d": "", "DELETE /app/subscribers/email/s": "", "DELETE /app/integrations/webhooks/outbound/endpoints": ""}}
	engine, state := &transfer.Engine{Sender: p}, transfer.State{}
	p.responses[hooks] = `{"usage": {"limit": 5}}`
	planned, err := engine.Plan(t.Context(), &state, &lines.Set{
		Dashboards:  []lines.Dashboard{{Key: "x:s:d", Name: "Acme", Slug: "acme"}},
		Subscribers: []lines.Subscriber{{Key: "x:s:s", Channel: "email", Address: "ada@example.com", DashboardID: "x:s:d", State: "confirmed"}},
		Endpoints:   []lines.Endpoint{{Key: "x:s:h", Channel: "webhook", URL: "https://example.com/h", ManagementEmail: "ops@example.com", DashboardID: "x:s:d"}},
	})
	if err != nil || len(planned) != 3 {
		t.Fatalf("%v, %+v", err, planned)
	}
	undo := func(source string, dashboard, endpoint time.Time, enabled bool) map[string]string {
		t.Helper()
		d := fmt.Sprintf(`{"id": "d", "slug": "acme", "enabled": %t, "createdAt": "%s"}`, enabled, dashboard.Format(time.RFC3339Nano))
		p.responses["GET /app/dashboards"], p.responses["GET /app/dashboards/d"] = `{"dashboards": [`+d+`]}`, `{"dashboard": `+d+`}`
		s := `{"id": "s", "email": "ada@example.com", "source": "` + source + `"}`
		p.responses["GET /app/subscribers/email"], p.responses["GET /app/subscribers/email/s"] = `{"subscribers": [`+s+`]}`, `{"subscriber": `+s+`}`
		p.responses[hooks] = `{"endpoints": [{"dashboardId": "d", "verified": true, "version": 1, "createdAt": "` + endpoint.Format(time.RFC3339Nano) + `"}]}`
		found, err := engine.Settle(t.Context(), planned)
		if err != nil || len(found) != 3 {
			t.Fatalf("%v, found %+v", err, found)
		}
		texts := map[string]string{}
		slices.Reverse(found) // the dashboard last
		for _, o := range found {
			if o.Kind == "dashboard" { // which has no records then
				delete(p.responses, "GET /app/subscribers/email")
				delete(p.responses, hooks)
			}
			if err := engine.Undo(t.Context(), []transfer.Outcome{o}, func(u transfer.Undone) { texts[u.Outcome.Kind] = fmt.Sprint(u.Gone, u.Text) }); err != nil {
				t.Fatal(err)
			}
		}
		return texts
	}
	before, after, foreign := time.Now().Add(-time.Hour), time.Now().Add(time.Second), "falsewas not created by the import"
	for name, c := range map[string]struct{ got, want map[string]string }{
		"of the run": {undo("import", after, after, false), map[string]string{"dashboard": "true", "endpoint": "true", "subscriber": "true"}},
		"of others":  {undo("public", before, before, false), map[string]string{"dashboard": foreign, "endpoint": foreign, "subscriber": foreign}},
		"enabled":    {undo("app", after, after, true), map[string]string{"dashboard": "falsewas changed after the import", "endpoint": "true", "subscriber": foreign}},
	} {
		if !maps.Equal(c.got, c.want) {
			t.Errorf("%s: %v", name, c.got)
		}
	}
}

// A dashboard or endpoint that conflicts may be from a request of the run whose response was lost, or from somebody else. The
// outcome has the time that tells them apart.
func TestAConflictDoesNotMakeARecordTheRuns(t *testing.T) {
	conflict := &transfer.Refused{Status: 409, Text: "slug: Another dashboard has it."}
	there := `{"id": "d", "slug": "acme", "createdAt": "2025-01-01T00:00:00Z"}`
	p := &platform{t: t, responses: map[string]any{"POST /app/dashboards": conflict, "GET /app/dashboards/d": `{"dashboard": ` + there + `}`, "DELETE /app/dashboards/d": ""},
		appears: map[string]any{"GET /app/dashboards": `{"dashboards": [` + there + `]}`}}
	engine := &transfer.Engine{Sender: p}
	outcomes, err := engine.Write(t.Context(), &transfer.State{}, &lines.Set{Dashboards: []lines.Dashboard{{Key: "x:s:d", Name: "Acme", Slug: "acme"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got transfer.Undone
	if err := engine.Undo(t.Context(), outcomes, func(u transfer.Undone) { got = u }); err != nil || got.Gone || got.Text != "was not created by the import" {
		t.Errorf("%v: %+v", err, got)
	}
}

// Undo keeps an old address that leads elsewhere since, and a dashboard with an old address of a member or with other content.
func TestUndoKeepsChangedAddressesAndContent(t *testing.T) {
	p := &platform{t: t, responses: map[string]any{
		"POST /app/dashboards": `{"dashboard": {"id": "d", "slug": "acme"}}`, "GET /app/dashboards/d": `{"dashboard": {"id": "d", "slug": "acme"}}`, "DELETE /app/dashboards/d": "",
		"GET /app/dashboards/d/content":    `{"content": {"announcement": null}}`,
		"POST /app/dashboards/d/aliases":   `{"results": [{"path": "a", "status": "created"}, {"path": "b", "status": "created"}]}`,
		"DELETE /app/dashboards/d/aliases": `{"deleted": 1}`,
	}}
	engine := &transfer.Engine{Sender: p}
	outcomes, err := engine.Write(t.Context(), &transfer.State{}, &lines.Set{Dashboards: []lines.Dashboard{{Key: "x:s:d", Name: "Acme", Slug: "acme", Aliases: map[string]string{"a": "/", "b": "/"}}}})
	if err != nil || len(outcomes) != 3 {
		t.Fatalf("%v, %+v", err, outcomes)
	}
	undo := func() map[string]string {
		t.Helper()
		texts := map[string]string{}
		if err := engine.Undo(t.Context(), outcomes, func(u transfer.Undone) { texts[u.Outcome.Key] = fmt.Sprint(u.Gone, u.Text) }); err != nil {
			t.Fatal(err)
		}
		return texts
	}
	p.responses["GET /app/dashboards/d/aliases"] = `{"aliases": [{"path": "a", "file": "/"}, {"path": "b", "file": "/history"}]}`
	changed := "falsewas changed after the import"
	if got, want := undo(), map[string]string{"a": "true", "b": changed, "x:s:d": "falsehas old addresses that the import did not create, or that were kept"}; !maps.Equal(got, want) {
		t.Errorf("a changed address: %v", got)
	}
	if sent, _ := json.Marshal(p.removed); string(sent) != `{"paths":["a"]}` {
		t.Errorf("undo deleted the addresses %s", sent)
	}
	delete(p.responses, "GET /app/dashboards/d/aliases")
	p.responses["GET /app/dashboards/d/content"] = `{"content": {"announcement": "<p>We move.</p>"}}`
	if got := undo()["x:s:d"]; got != changed {
		t.Errorf("changed content: %s", got)
	}
	p.responses["GET /app/dashboards/d/content"] = `{"content": {"announcement": null}}`
	if got := undo()["x:s:d"]; got != "true" {
		t.Errorf("a dashboard as the run has left it: %s", got)
	}
}

// The components of two pages without a name have equal keys. The import of the second page stops in the plan. An import of the same
// page again does not, also if a member has renamed a component and put another one on another dashboard.
func TestAPageWithTheKeysOfAnotherPageStopsThePlan(t *testing.T) {
	set := func() *lines.Set {
		return &lines.Set{Dashboards: []lines.Dashboard{{Key: "x:page:d", Name: "Status", Slug: "second"}}, Components: []lines.Component{
			{Key: "x:page:1", Name: "Web", GroupName: "default", DashboardIDs: []string{"x:page:d"}}, {Key: "x:page:2", Name: "API", GroupName: "default", DashboardIDs: []string{"x:page:d"}},
		}}
	}
	for name, c := range map[string]struct{ dashboards, components, problem string }{
		"another page":        {`{"id": "a", "slug": "first"}`, `{"id": "1", "name": "Pier", "externalRefs": ["x:page:1"], "dashboardIds": ["a"]}, {"id": "2", "name": "API", "externalRefs": ["x:page:2"], "dashboardIds": ["a"]}`, `the component x:page:1 is "Web" in the source, and "Pier" on another dashboard here`},
		"another, both there": {`{"id": "a", "slug": "first"}, {"id": "b", "slug": "second"}`, `{"id": "1", "name": "Pier", "externalRefs": ["x:page:1"], "dashboardIds": ["a"]}`, "change x:page in all keys"},
		"the same names":      {`{"id": "a", "slug": "first"}`, `{"id": "1", "name": "Web", "externalRefs": ["x:page:1"], "dashboardIds": ["a"]}`, ""},
		"moved and renamed":   {`{"id": "a", "slug": "first"}, {"id": "b", "slug": "second"}`, `{"id": "1", "name": "Pier", "externalRefs": ["x:page:1"], "dashboardIds": ["a"]}, {"id": "2", "name": "API", "externalRefs": ["x:page:2"], "dashboardIds": ["b"]}`, ""},
		"on no dashboard":     {`{"id": "a", "slug": "first"}`, `{"id": "1", "name": "Pier", "externalRefs": ["x:page:1"], "dashboardIds": []}`, ""},
	} {
		p := &platform{t: t, responses: map[string]any{"GET /app/dashboards": `{"dashboards": [` + c.dashboards + `]}`, "GET /app/components": `{"components": [` + c.components + `]}`}}
		_, err := (&transfer.Engine{Sender: p}).Plan(t.Context(), &transfer.State{}, set())
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := (&transfer.Engine{Sender: p, Force: true}).Plan(t.Context(), &transfer.State{}, set()); err != nil {
			t.Errorf("%s, forced: %v", name, err)
		}
	}
	// The components of a piece may all be on another dashboard, if those of an earlier piece are on that of the import.
	p := &platform{t: t, responses: map[string]any{"GET /app/dashboards": `{"dashboards": [{"id": "a", "slug": "first"}, {"id": "b", "slug": "second"}]}`,
		"GET /app/components": `{"components": [{"id": "1", "name": "Pier", "externalRefs": ["x:page:1"], "dashboardIds": ["a"]}, {"id": "2", "name": "API", "externalRefs": ["x:page:2"], "dashboardIds": ["b"]}]}`}}
	state := &transfer.State{}
	for _, components := range [][]lines.Component{set().Components[1:], set().Components[:1]} {
		if _, err := (&transfer.Engine{Sender: p}).Plan(t.Context(), state, &lines.Set{Dashboards: set().Dashboards, Components: components}); err != nil {
			t.Error(err)
		}
	}
}

// An old address of a component that an interrupted run may have created goes with the component. So undo does not delete the path,
// which may lead elsewhere.
func TestAnAddressOfANewComponentGoesWithIt(t *testing.T) {
	p := &platform{t: t, responses: map[string]any{}}
	engine := &transfer.Engine{Sender: p}
	planned, err := engine.Plan(t.Context(), &transfer.State{}, &lines.Set{
		Dashboards: []lines.Dashboard{{Key: "x:s:d", Name: "Acme", Slug: "acme", Aliases: map[string]string{"a": "/"}}},
		Components: []lines.Component{{Key: "x:s:c", Name: "Gate", GroupName: "default", DashboardIDs: []string{"x:s:d"}, Aliases: []string{"parts/gate"}}},
	})
	if err != nil || len(planned) != 4 {
		t.Fatalf("%v, %+v", err, planned)
	}
	found, err := engine.Settle(t.Context(), planned, transfer.Outcome{Kind: "dashboard", Key: "x:s:d", Status: transfer.Created, ID: "d"})
	if err != nil || len(found) != 1 || found[0].Key != "a" {
		t.Errorf("%v, found %+v", err, found)
	}
}
