package transfer

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

const eventsPath = "/app/events/import"

// events imports events with their timelines, and then their old addresses. A plan asks the platform about the events
// whose dashboards and components exist. The others cannot exist.
func (r *run) events(ctx context.Context, wanted []lines.Event) error {
	if len(wanted) == 0 {
		return nil
	}
	known := r.firstDashboard()
	var sent []map[string]any
	old := map[string][]string{} // old addresses by key
	homes := map[string]string{} // dashboard of these by key
	for i := range wanted {
		e := &wanted[i]
		old[e.Key], homes[e.Key] = e.Aliases, r.home(e)
		if r.dry && (known == "" || !r.exists(e)) {
			r.add(Outcome{Kind: "event", Key: e.Key, Status: Created})
			r.planAliases(eventAliases(e.Aliases, ""))
			continue
		}
		body, err := r.event(e)
		if err != nil {
			return err
		}
		sent = append(sent, body)
	}
	if len(sent) == 0 {
		return nil
	}
	var written struct {
		Results []struct{ Key, Status, EventID, Error string }
	}
	body := map[string]any{"dashboardId": known, "runId": cmp.Or(r.state.RunID, noRun), "events": sent, "dryRun": r.dry, "force": r.Force}
	if err := r.Sender.Send(ctx, Request{Method: http.MethodPost, Path: eventsPath, Body: body}, &written); err != nil {
		return err
	}
	found := map[string][]alias{} // by dashboard
	for _, result := range written.Results {
		r.add(Outcome{Kind: "event", Key: result.Key, Status: Status(result.Status), Text: result.Error, ID: result.EventID})
		switch {
		case r.dry && result.Status == string(Created):
			r.planAliases(eventAliases(old[result.Key], ""))
		case result.EventID != "":
			home := homes[result.Key]
			found[home] = append(found[home], eventAliases(old[result.Key], result.EventID)...)
		}
	}
	return r.eachAlias(ctx, found)
}

func eventAliases(paths []string, id string) []alias {
	var all []alias
	for _, path := range paths {
		all = append(all, alias{Path: path, EventID: id})
	}
	return all
}

// home returns the id of the dashboard below which the old addresses of an event are.
func (r *run) home(e *lines.Event) string {
	for _, key := range e.DashboardIDs {
		return r.state.Dashboards[key]
	}
	for _, a := range e.Components {
		if home := r.state.Homes[a.Key]; home != "" {
			return home
		}
	}
	return r.firstDashboard()
}

// noRun is the id of the run of a plan, which creates nothing.
const noRun = "00000000-0000-4000-8000-000000000000"

// firstDashboard returns the id of a dashboard that exists, or an empty text.
func (r *run) firstDashboard() string {
	for _, key := range slices.Sorted(maps.Keys(r.state.Dashboards)) {
		if id := r.state.Dashboards[key]; id != "" {
			return id
		}
	}
	return ""
}

// exists reports whether the dashboards and components of an event exist.
func (r *run) exists(e *lines.Event) bool {
	for _, key := range e.DashboardIDs {
		if r.state.Dashboards[key] == "" {
			return false
		}
	}
	for _, a := range e.Components {
		if id, known := r.state.Components[a.Key]; known && id == "" {
			return false
		}
	}
	return true
}

// event returns the event in the request. Its dashboards have ids, and components their keys.
func (r *run) event(e *lines.Event) (map[string]any, error) {
	sent := *e
	sent.DashboardIDs, sent.Aliases = nil, nil
	for _, key := range e.DashboardIDs {
		sent.DashboardIDs = append(sent.DashboardIDs, r.state.Dashboards[key])
	}
	var body map[string]any
	err := remarshal(sent, &body)
	delete(body, "kind")
	return body, err
}

// words returns the names of the members with commas between them.
func words(members map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(members)), ", ")
}
