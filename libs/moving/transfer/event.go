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

// events imports events with their timelines and aliases. A plan cannot name dashboards or components that the import
// will create, so it sends an event that has one of them without dashboards and components. The outcome of such an event
// is Kept if the platform keeps the event, because a member has changed or deleted it. Otherwise the outcome is Created.
func (r *run) events(ctx context.Context, wanted []lines.Event) error {
	if len(wanted) == 0 {
		return nil
	}
	known := r.firstDashboard()
	var sent []map[string]any
	early := map[string]bool{} // keys of events that are sent without dashboards and components
	for i := range wanted {
		e := &wanted[i]
		if r.dry && known == "" {
			r.add(Outcome{Kind: "event", Key: e.Key, Status: Created})
			continue
		}
		if r.dry && !r.exists(e) {
			early[e.Key] = true
			e = withoutComponents(e)
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
	for _, result := range written.Results {
		if early[result.Key] && Status(result.Status) != Kept {
			r.add(Outcome{Kind: "event", Key: result.Key, Status: Created})
			continue
		}
		r.add(Outcome{Kind: "event", Key: result.Key, Status: Status(result.Status), Text: result.Error, ID: result.EventID})
	}
	return nil
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

// exists reports whether the dashboards and components of an event exist. A component that the State does not have counts as
// existing.
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

// withoutComponents returns the event without components and dashboards. The platform puts such an event on the
// dashboard of the request.
func withoutComponents(e *lines.Event) *lines.Event {
	bare := *e
	bare.Components, bare.DashboardIDs = nil, nil
	bare.Timeline = slices.Clone(e.Timeline)
	for i := range bare.Timeline {
		bare.Timeline[i].Impacts = nil
	}
	return &bare
}

// event returns the event as the request contains it. It names dashboards by their ids, and components by their keys.
func (r *run) event(e *lines.Event) (map[string]any, error) {
	sent := *e
	sent.DashboardIDs = nil
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
