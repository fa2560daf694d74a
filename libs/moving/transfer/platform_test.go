package transfer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

// platform is a Sender that returns a fixed response for a method and path. A list without a response is empty. Any other
// request without a response gives 404.
type platform struct {
	t         *testing.T
	responses map[string]any // by method and path: JSON, or a *transfer.Refused
	appears   map[string]any // added to responses by the first request that writes
	sent      []string       // methods and paths of requests that write
	body      any            // body of the last of them
	removed   any            // body of the last DELETE that has one
	placed    any            // body of the last PUT
	version   int64          // version of the last PUT
}

func (p *platform) Send(_ context.Context, r transfer.Request, out any) error {
	name := r.Method + " " + r.Path
	if r.Method != http.MethodGet {
		p.sent, p.body = append(p.sent, name), r.Body
	}
	if r.Method == http.MethodDelete && r.Body != nil {
		p.removed = r.Body
	}
	if r.Method == http.MethodPut {
		p.placed, p.version = r.Body, r.Version
	}
	if r.Method != http.MethodGet {
		defer maps.Copy(p.responses, p.appears)
	}
	switch response := p.responses[name].(type) {
	case *transfer.Refused:
		return response
	case string:
		if out == nil || response == "" {
			return nil
		}
		return json.Unmarshal([]byte(response), out)
	}
	if lists := []string{"dashboards", "components", "aliases", "export", "events", "email", "sms", "whatsapp", "endpoints", "content"}; r.Method == http.MethodGet && slices.Contains(lists, r.Path[strings.LastIndex(r.Path, "/")+1:]) {
		return nil
	}
	return &transfer.Refused{Status: http.StatusNotFound, Text: name}
}

// Keys of events and entries have any form that the import operation takes. An event has components or dashboards.
func TestAnExportHasEventsOfEachKey(t *testing.T) {
	p := &platform{t: t, responses: map[string]any{
		"GET /app/dashboards": `{"dashboards": [{"id": "d", "slug": "acme", "name": "Acme", "legacyId": 1, "components": [{"componentId": "c"}]}]}`,
		"GET /app/components": `{"components": [{"id": "c", "name": "Gate", "groupName": "default", "externalRefs": ["x:s:c"], "dashboardIds": ["d"]}]}`,
		"GET /app/events/export": `{"events": [
			{"id": "e", "key": "INC 1", "type": "incident", "title": "Both", "status": "resolved", "startAt": "2025-01-01T00:00:00Z", "publicId": "e", "dashboardIds": ["d"], "components": [{"componentId": "c"}],
				"timeline": [{"id": "a", "key": "first", "at": "2025-01-01T00:00:00Z", "status": "investigating", "html": "a"}, {"id": "b", "key": "", "at": "2025-01-01T01:00:00Z", "status": "resolved", "html": "b"}]},
			{"id": "g", "key": "x:s:c", "type": "incident", "title": "Like a component", "status": "resolved", "startAt": "2025-01-03T00:00:00Z", "publicId": "g", "dashboardIds": ["d"], "timeline": []},
			{"id": "f", "key": "` + strings.Repeat("k", 255) + `", "type": "incident", "title": "Note", "status": "resolved", "startAt": "2025-01-02T00:00:00Z", "publicId": "f", "dashboardIds": ["d"], "timeline": []}]}`,
	}}
	set, err := transfer.Export(t.Context(), p, "acme")
	if err != nil || len(set.Warnings) > 0 || len(set.Events) != 3 {
		t.Fatalf("%v, warnings %v, %d events", err, set.Warnings, len(set.Events))
	}
	both, note := set.Events[0], set.Events[1]
	if both.Key != "INC 1" || both.Timeline[0].Key != "first" || both.Timeline[1].Key != "bellbuoy:entry:b" || len(both.Components) != 1 || len(both.DashboardIDs) != 0 {
		t.Errorf("exported %+v", both)
	}
	if len(note.Key) != 255 || len(note.DashboardIDs) != 1 {
		t.Errorf("exported %+v", note)
	}
	again, err := lines.Read(t.Context(), strings.NewReader(written(t, set)))
	if err != nil || written(t, again) != written(t, set) {
		t.Errorf("%v: read again, the lines are\n%s", err, written(t, again))
	}
}

// A plan names the dashboard that has the public ids of the source, before anything is written.
func TestAnotherDashboardWithTheIDsOfTheSourceStopsThePlan(t *testing.T) {
	for there, name := range map[string]string{
		`"id": "d", "publicId": "p"`:                                    "publicId",
		`"id": "p", "publicId": null`:                                   "publicId", // its own export
		`"id": "d", "publicId": null, "groupPublicIds": {"North": "n"}`: "groupPublicIds",
	} {
		p := &platform{t: t, responses: map[string]any{"GET /app/dashboards": `{"dashboards": [{"slug": "first", ` + there + `}]}`}}
		piece := &lines.Set{Dashboards: []lines.Dashboard{{Key: "x:s:page", Name: "Acme", Slug: "second", PublicID: "p", GroupPublicIDs: map[string]string{"North": "n"}}}}
		engine := &transfer.Engine{Sender: p}
		for _, run := range []func(context.Context, *transfer.State, *lines.Set) ([]transfer.Outcome, error){engine.Plan, engine.Write} {
			_, err := run(t.Context(), &transfer.State{}, piece)
			want := "the dashboard second cannot be created: " + name + ": the dashboard first has an id of the source already, maybe from an earlier import; import into first, or undo that import first"
			if refused, is := errors.AsType[*transfer.Refused](err); !is || refused.Error() != want {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if len(p.sent) > 0 {
			t.Errorf("%s: the engine sent %v", name, p.sent)
		}
	}
}

// A dashboard whose creation got no response is found when the repeated request conflicts.
func TestADashboardIsCreatedOnceAfterALostResponse(t *testing.T) {
	p := &platform{t: t, responses: map[string]any{"POST /app/dashboards": &transfer.Refused{Status: http.StatusConflict, Text: "slug: Another dashboard has it."}}}
	piece := &lines.Set{Dashboards: []lines.Dashboard{{Key: "x:s:page", Name: "Acme", Slug: "acme"}}}
	if _, err := (&transfer.Engine{Sender: p}).Write(t.Context(), &transfer.State{}, piece); err == nil || !strings.Contains(err.Error(), "the dashboard acme cannot be created: slug") {
		t.Errorf("a slug of another organization: %v", err)
	}
	p.appears = map[string]any{"GET /app/dashboards": `{"dashboards": [{"id": "d", "slug": "acme"}]}`}
	outcomes, err := (&transfer.Engine{Sender: p}).Write(t.Context(), &transfer.State{}, piece)
	if err != nil || len(outcomes) != 1 || outcomes[0].Status != transfer.Created || outcomes[0].ID != "d" {
		t.Errorf("%v, %+v", err, outcomes)
	}
}

// An event that a member has deleted stays away in the plan too, even if its component is still to be created.
func TestAPlanKeepsDeletedEventsOfNewComponents(t *testing.T) {
	p := &platform{t: t, responses: map[string]any{"POST /app/events/import": `{"results": [{"key": "x:s:e1", "status": "kept", "error": "A member has deleted the event."}, {"key": "x:s:e2", "status": "updated"}]}`}}
	of := []lines.Affected{{Key: "x:s:c"}}
	piece := &lines.Set{Events: []lines.Event{
		{Key: "x:s:e1", Components: of, Timeline: []lines.Entry{{Key: "a", Impacts: map[string]string{"x:s:c": "major_outage"}}}}, {Key: "x:s:e2", Components: of},
	}}
	state := transfer.State{Dashboards: map[string]string{"x:s:page": "d"}, Components: map[string]string{"x:s:c": ""}}
	outcomes, err := (&transfer.Engine{Sender: p}).Plan(t.Context(), &state, piece)
	if err != nil || len(outcomes) != 2 || outcomes[0].Status != transfer.Kept || outcomes[0].Text == "" || outcomes[1].Status != transfer.Created {
		t.Errorf("%v, %+v", err, outcomes)
	}
	if body, _ := json.Marshal(p.body); strings.Contains(string(body), "x:s:c") {
		t.Errorf("the plan sent %s", body)
	}
	if len(piece.Events[0].Components) == 0 || len(piece.Events[0].Timeline[0].Impacts) == 0 {
		t.Error("the plan has changed the lines")
	}
}

func TestAddressesOfEachDashboardAreNoAliases(t *testing.T) {
	set := &lines.Set{
		Dashboards: []lines.Dashboard{{Key: "x:s:page", Name: "Acme", Aliases: map[string]string{"history.rss": "/feed.rss", "status/acme": "/"}}},
		Components: []lines.Component{{Key: "x:s:c", Name: "Gate", Aliases: []string{"components/web", "parts/web"}}},
		Events:     []lines.Event{{Key: "x:s:e", Aliases: []string{"incidents/a", "/x"}}},
	}
	if err := transfer.Prepare(set, "acme"); err != nil {
		t.Fatal(err)
	}
	if len(set.Dashboards[0].Aliases) != 1 || set.Dashboards[0].Aliases["status/acme"] != "/" || !slices.Equal(set.Components[0].Aliases, []string{"parts/web"}) || !slices.Equal(set.Events[0].Aliases, []string{"incidents/a"}) {
		t.Errorf("prepared %+v", set)
	}
	var said []string
	for _, w := range set.Warnings {
		said = append(said, w.Key+" "+w.Field+" "+strings.Fields(w.Text)[0])
	}
	if want := []string{"x:s:page aliases history.rss", "x:s:c aliases components/web", "x:s:e aliases /x"}; !slices.Equal(said, want) {
		t.Errorf("warnings %q", said)
	}
}

// Undo tells records that it deletes from those that were gone before, and says that a record was changed.
func TestUndoSaysWhatWasGoneOrChangedBefore(t *testing.T) {
	conflict := &transfer.Refused{Status: http.StatusConflict, Text: "The record has changed: its ETag is now \"9\". Read it again, and repeat your change."}
	p := &platform{t: t, responses: map[string]any{
		"DELETE /app/components/deleted": "", "DELETE /app/components/changed": conflict, "GET /app/components/changed": `{"component": {"version": 9}}`,
		"DELETE /app/components/open": &transfer.Refused{Status: http.StatusConflict, Text: "An open event has the component."}, "GET /app/components/open": `{"component": {"version": 3}}`,
		"PATCH /app/components/restored": conflict, "GET /app/components/restored": `{"component": {"version": 9, "name": "Former"}}`,
		"PATCH /app/components/edited": conflict, "GET /app/components/edited": `{"component": {"version": 9, "name": "Other"}}`,
		"DELETE /app/integrations/webhooks/outbound/endpoints": conflict, "GET /app/integrations/webhooks/outbound/endpoints": `{"endpoints": [{"dashboardId": "d", "urlHash": "h", "version": 9}]}`,
	}}
	var outcomes []transfer.Outcome
	for _, id := range []string{"deleted", "missing", "changed", "open", "restored", "edited"} {
		o := transfer.Outcome{Kind: "component", Key: id, ID: id, Status: transfer.Created, Mark: "3"}
		if id == "restored" || id == "edited" {
			o.Status, o.Before = transfer.Updated, map[string]any{"name": "Former"}
		}
		outcomes = append(outcomes, o)
	}
	p.responses["GET /app/dashboards/d"] = `{"dashboard": {"id": "d", "version": 4, "components": [{"componentId": "put", "groupName": "Shop"}, {"componentId": "regrouped", "groupName": "Other"}, {"componentId": "own", "groupName": "Shop"}]}}`
	p.responses["PUT /app/dashboards/d/components"] = `{"dashboard": {}}`
	for _, id := range []string{"put", "regrouped", "taken off"} {
		outcomes = append(outcomes, transfer.Outcome{Kind: "placement", Key: id, ID: id, DashboardID: "d", Status: transfer.Created, Mark: "Shop"})
	}
	outcomes = append(outcomes, transfer.Outcome{Kind: "endpoint", Key: "endpoint", ID: "h", DashboardID: "d", Channel: "webhook", Status: transfer.Created, Mark: "3"})
	got := map[string]string{}
	err := (&transfer.Engine{Sender: p}).Undo(t.Context(), outcomes, func(u transfer.Undone) { got[u.Outcome.Key] = fmt.Sprint(u.Gone, u.Before, " ", u.Text) })
	if err != nil {
		t.Fatal(err)
	}
	changed := "false false was changed after the import"
	want := map[string]string{
		"deleted": "true false ", "missing": "true true ", "changed": changed, "open": "false false An open event has the component.", "restored": "true true ", "edited": changed, "endpoint": changed,
		"put": "true false ", "regrouped": changed, "taken off": "true true ",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if body, _ := json.Marshal(p.placed); string(body) != `{"components":[{"componentId":"regrouped","groupName":"Other"},{"componentId":"own","groupName":"Shop"}]}` {
		t.Errorf("the components of the dashboard are %s", body)
	}
	if p.version != 4 {
		t.Errorf("the components were replaced whatever the dashboard has: version %d", p.version)
	}
	p.responses["PUT /app/dashboards/d/components"] = conflict
	put := []transfer.Outcome{{Kind: "placement", Key: "put", ID: "put", DashboardID: "d", Status: transfer.Created, Mark: "Shop"}}
	err = (&transfer.Engine{Sender: p}).Undo(t.Context(), put, func(u transfer.Undone) { got["put"] = fmt.Sprint(u.Gone, " ", u.Text) })
	if err != nil || got["put"] != "false stays on the dashboard, which was changed during the undo" {
		t.Errorf("%v: a dashboard that a member changes meanwhile: %s", err, got["put"])
	}
}

// A run that was interrupted between the two requests of a component sends the second one when the run goes on. Another run and a
// component that was changed since keep their states.
func TestAStateByHandIsNotLostByAnInterruption(t *testing.T) {
	for name, c := range map[string]struct {
		version int
		planned map[string]bool
		status  transfer.Status
	}{"interrupted": {1, map[string]bool{"x:s:c": true}, transfer.Created}, "changed since": {2, map[string]bool{"x:s:c": true}, transfer.Unchanged}, "another run": {1, nil, transfer.Unchanged}} {
		p := &platform{t: t, responses: map[string]any{
			"GET /app/components":     fmt.Sprintf(`{"components": [{"id": "c", "name": "Gate", "groupName": "default", "externalRefs": ["x:s:c"], "version": %d}]}`, c.version),
			"PATCH /app/components/c": `{"component": {"id": "c", "version": 2}}`,
		}}
		engine := &transfer.Engine{Sender: p}
		piece := &lines.Set{Components: []lines.Component{{Key: "x:s:c", Name: "Gate", GroupName: "default", DashboardIDs: []string{"x:s:d"}, StatusOverride: &lines.StatusOverride{Status: "degraded_performance"}}}}
		for _, run := range []func(context.Context, *transfer.State, *lines.Set) ([]transfer.Outcome, error){engine.Plan, engine.Write} {
			state := transfer.State{Dashboards: map[string]string{"x:s:d": "d"}, Planned: c.planned}
			if got, err := run(t.Context(), &state, piece); err != nil || len(got) != 1 || got[0].Status != c.status || got[0].ID != "c" {
				t.Errorf("%s: %v, %+v", name, err, got)
			}
		}
		if got := strings.Join(p.sent, " "); (got == "PATCH /app/components/c") != (c.status == transfer.Created) || got == "" != (c.status != transfer.Created) {
			t.Errorf("%s: sent %s", name, got)
		}
	}
}

// A component that exists is put on a dashboard of the run, and the outcome says so for an undo.
func TestAnExistingComponentIsPutOnTheDashboardOfTheRun(t *testing.T) {
	p := &platform{t: t, responses: map[string]any{
		"GET /app/components":              `{"components": [{"id": "c", "name": "Gate", "groupName": "default", "externalRefs": ["x:s:c"], "dashboardIds": []}]}`,
		"GET /app/dashboards/d":            `{"dashboard": {"id": "d", "components": []}}`,
		"PUT /app/dashboards/d/components": `{"dashboard": {"id": "d", "components": [{"componentId": "c", "groupName": "default"}]}}`,
	}}
	state := transfer.State{Dashboards: map[string]string{"x:s:d": "d"}, Made: map[string]bool{"d": true}}
	got, err := (&transfer.Engine{Sender: p}).Write(t.Context(), &state, &lines.Set{Components: []lines.Component{{Key: "x:s:c", Name: "Gate", GroupName: "default", DashboardIDs: []string{"x:s:d"}}}})
	want := transfer.Outcome{Kind: "placement", Key: "x:s:c", Status: transfer.Created, ID: "c", DashboardID: "d", Dashboard: "x:s:d", Mark: "default"}
	if err != nil || len(got) != 2 || got[1] != want || !got[1].Undoable() {
		t.Errorf("%v: %+v", err, got)
	}
}

// A dashboard that the platform would delete with records of others is kept.
func TestUndoKeepsADashboardInUse(t *testing.T) {
	for list, c := range map[string]struct{ member, text string }{
		"/app/events":                                   {"events", "events"},
		"/app/subscribers/email":                        {"subscribers", "subscribers by email"},
		"/app/subscribers/sms":                          {"subscribers", "subscribers by sms"},
		"/app/subscribers/whatsapp":                     {"subscribers", "subscribers by whatsapp"},
		"/app/integrations/webhooks/outbound/endpoints": {"endpoints", "endpoints of webhook"},
		"/app/integrations/teams/endpoints":             {"endpoints", "endpoints of teams"},
		"/app/integrations/gchat/endpoints":             {"endpoints", "endpoints of gchat"},
		"/app/integrations/slack/endpoints":             {"endpoints", "endpoints of slack"},
		"/app/integrations/discord/endpoints":           {"endpoints", "endpoints of discord"},
	} {
		p := &platform{t: t, responses: map[string]any{
			"POST /app/dashboards": `{"dashboard": {"id": "d", "slug": "acme"}}`, "GET /app/dashboards/d": `{"dashboard": {"id": "d", "slug": "acme"}}`,
			"DELETE /app/dashboards/d": "", "GET " + list: `{"` + c.member + `": [{"id": "x"}]}`,
		}}
		engine := &transfer.Engine{Sender: p}
		outcomes, err := engine.Write(t.Context(), &transfer.State{}, &lines.Set{Dashboards: []lines.Dashboard{{Key: "x:s:d", Name: "Acme", Slug: "acme"}}})
		if err != nil {
			t.Fatal(err)
		}
		undo := func() (got transfer.Undone) {
			if err := engine.Undo(t.Context(), outcomes, func(u transfer.Undone) { got = u }); err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := undo(); got.Gone || got.Text != "has "+c.text+" that the import did not create, or that were kept" {
			t.Errorf("%s: %+v", list, got)
		}
		delete(p.responses, "GET "+list)
		if got := undo(); !got.Gone {
			t.Errorf("%s: the empty dashboard: %+v", list, got)
		}
	}
}

// A component on two new dashboards has two placements, which have different names in the plan too. Undo finds those that an
// interrupted run could not record, and subscribers of a new dashboard.
func TestPlacementsOfEachNewDashboardArePlanned(t *testing.T) {
	p := &platform{t: t, responses: map[string]any{
		"GET /app/components": `{"components": [{"id": "c", "name": "Gate", "groupName": "default", "externalRefs": ["x:s:c"], "dashboardIds": []}]}`,
	}}
	engine, state, planned := &transfer.Engine{Sender: p}, transfer.State{}, map[string]transfer.Outcome{}
	for _, piece := range []*lines.Set{
		{Dashboards: []lines.Dashboard{{Key: "x:s:a", Name: "A", Slug: "aaa", Aliases: map[string]string{"old/feed": "/"}}, {Key: "x:s:b", Name: "B", Slug: "bbb", Aliases: map[string]string{"old/feed": "/"}}}},
		{Components: []lines.Component{{Key: "x:s:c", Name: "Gate", GroupName: "default", DashboardIDs: []string{"x:s:a", "x:s:b"}}}},
		{Subscribers: []lines.Subscriber{{Key: "x:s:s", Channel: "email", Address: "ada@example.com", DashboardID: "x:s:b", State: "confirmed"}}},
	} {
		outcomes, err := engine.Plan(t.Context(), &state, piece)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outcomes {
			if o.Status == transfer.Created {
				planned[o.Name()] = o
			}
		}
	}
	for _, name := range []string{"alias old/feed x:s:a", "alias old/feed x:s:b", "placement x:s:c x:s:a", "placement x:s:c x:s:b"} {
		if _, there := planned[name]; !there || len(planned) != 7 {
			t.Errorf("the plan has no %s: %v", name, planned)
		}
	}
	p.responses["GET /app/dashboards/a"] = `{"dashboard": {"id": "a", "components": []}}`
	p.responses["GET /app/dashboards/b"] = `{"dashboard": {"id": "b", "components": [{"componentId": "c", "groupName": "Shop"}]}}`
	p.responses["GET /app/subscribers/email"] = `{"subscribers": [{"id": "s", "email": "ada@example.com"}, {"id": "t", "email": "bob@example.com"}]}`
	made := []transfer.Outcome{{Kind: "dashboard", Key: "x:s:a", Status: transfer.Created, ID: "a"}, {Kind: "dashboard", Key: "x:s:b", Status: transfer.Created, ID: "b"}}
	settled, err := engine.Settle(t.Context(), slices.Collect(maps.Values(planned)), made...)
	var found []string
	for _, o := range settled {
		found = append(found, fmt.Sprint(o.Kind, " ", o.ID, o.DashboardID, o.Mark))
	}
	slices.Sort(found)
	if want := []string{"alias afile /", "alias bfile /", "placement cbShop", "subscriber sb"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("%v: found %q", err, found)
	}
}

// An old address that leads elsewhere already is kept, in the plan too. Undo counts the addresses that it has deleted.
func TestOldAddressesOfOthersAreKept(t *testing.T) {
	p := &platform{t: t, responses: map[string]any{
		"GET /app/dashboards": `{"dashboards": [{"id": "d", "slug": "acme"}]}`,
		"GET /app/components": `{"components": [{"id": "c", "name": "Gate", "groupName": "default", "externalRefs": ["x:s:c"], "dashboardIds": ["d"]}]}`,
		"GET /app/dashboards/d/aliases": `{"aliases": [{"path": "a", "eventId": null, "componentId": null, "file": "/"}, {"path": "b", "eventId": null, "componentId": null, "file": "/history"},
			{"path": "parts/c", "eventId": "e", "componentId": null, "file": null}]}`,
		"POST /app/dashboards/d/aliases":   `{"results": [{"path": "b", "status": "kept", "error": "The path leads elsewhere."}]}`,
		"DELETE /app/dashboards/d/aliases": `{"deleted": 1}`,
	}}
	engine := &transfer.Engine{Sender: p}
	planned := map[string]transfer.Outcome{}
	var state transfer.State
	for _, piece := range []*lines.Set{
		{Dashboards: []lines.Dashboard{{Key: "x:s:d", Name: "Acme", Slug: "acme", Aliases: map[string]string{"a": "/", "b": "/", "new": "/"}}}},
		{Components: []lines.Component{{Key: "x:s:c", Name: "Gate", GroupName: "default", DashboardIDs: []string{"x:s:d"}, Aliases: []string{"parts/c"}}}},
	} {
		outcomes, err := engine.Plan(t.Context(), &state, piece)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outcomes {
			planned[o.Kind+" "+o.Key] = o
		}
	}
	for key, want := range map[string]transfer.Status{"alias a": transfer.Unchanged, "alias b": transfer.Kept, "alias new": transfer.Created, "alias parts/c": transfer.Kept} {
		if got := planned[key]; got.Status != want || (want == transfer.Kept) != (got.Text == "The path leads elsewhere.") {
			t.Errorf("the plan of %s is %+v, not %s", key, got, want)
		}
	}
	written, err := engine.Write(t.Context(), &transfer.State{}, &lines.Set{Dashboards: []lines.Dashboard{{Key: "x:s:d", Name: "Acme", Slug: "acme", Aliases: map[string]string{"b": "/"}}}})
	if body, _ := json.Marshal(p.body); err != nil || len(written) != 2 || written[1].Status != transfer.Kept || !strings.Contains(string(body), `"keepExisting":true`) {
		t.Errorf("%v, %+v: sent %s", err, written, body)
	}
	counted := map[bool]int{}
	both := []transfer.Outcome{{Kind: "alias", Key: "a", DashboardID: "d"}, {Kind: "alias", Key: "new", DashboardID: "d"}}
	if err := engine.Undo(t.Context(), both, func(u transfer.Undone) { counted[u.Before]++ }); err != nil || counted[false] != 1 || counted[true] != 1 {
		t.Errorf("%v: undo counts %v", err, counted)
	}
}

// rowsOnly is a Sender that knows all subscribers already.
type rowsOnly struct{ written []any }

func (r *rowsOnly) Send(_ context.Context, request transfer.Request, out any) error {
	body := request.Body.(map[string]any)
	rows := body["rows"].([]map[string]any)
	if force, sent := body["force"]; sent && force != false {
		return errors.New("subscribers who have left are created again")
	}
	if body["dryRun"] == false {
		for _, row := range rows {
			r.written = append(r.written, row)
		}
	}
	return json.Unmarshal([]byte(`{"results": [`+strings.Repeat(`{"status": "updated", "id": "s"},`, len(rows)-1)+`{"status": "updated", "id": "s"}]}`), out)
}

// A later run changes only those of the known subscribers who have unsubscribed on the former page.
func TestALaterRunTakesOverWhoHasUnsubscribed(t *testing.T) {
	p := &rowsOnly{}
	state := transfer.State{Dashboards: map[string]string{"x:s:d": "d"}, Components: map[string]string{"x:s:c": "c"}}
	outcomes, err := (&transfer.Engine{Sender: p}).Write(t.Context(), &state, &lines.Set{Subscribers: []lines.Subscriber{
		{Key: "x:s:1", Channel: "email", Address: "ada@example.com", DashboardID: "x:s:d", State: "confirmed"},
		{Key: "x:s:2", Channel: "email", Address: "bob@example.com", DashboardID: "x:s:d", State: "unsubscribed", Components: []string{"x:s:c"}, Locale: "de"},
	}})
	if err != nil || len(outcomes) != 2 || outcomes[0].Status != transfer.Unchanged || outcomes[1].Status != transfer.Updated {
		t.Errorf("%v, %+v", err, outcomes)
	}
	if sent, _ := json.Marshal(p.written); string(sent) != `[{"email":"bob@example.com","state":"unsubscribed"}]` {
		t.Errorf("written are %s", sent)
	}
}

// Force replaces what members have changed. It does not create subscribers again who have left.
func TestForceCreatesNobodyAgainWhoHasLeft(t *testing.T) {
	p := &rowsOnly{}
	state := transfer.State{Dashboards: map[string]string{"x:s:d": "d"}}
	outcomes, err := (&transfer.Engine{Sender: p, Force: true}).Write(t.Context(), &state, &lines.Set{Subscribers: []lines.Subscriber{{Key: "x:s:1", Channel: "email", Address: "ada@example.com", DashboardID: "x:s:d", State: "confirmed"}}})
	if err != nil || len(outcomes) != 1 || outcomes[0].Status != transfer.Updated || len(p.written) != 1 {
		t.Errorf("%v, %+v, written are %v", err, outcomes, p.written)
	}
}
