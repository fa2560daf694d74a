package transfer

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// maxAliases is the number of old addresses that a request may have.
const maxAliases = 1000

// alias is an old address: what POST /app/dashboards/{id}/aliases takes.
type alias struct {
	Path        string `json:"path"`
	EventID     string `json:"eventId,omitempty"`
	ComponentID string `json:"componentId,omitempty"`
	File        string `json:"file,omitempty"`
}

func dashboardAliases(d *lines.Dashboard) []alias {
	var all []alias
	for _, path := range slices.Sorted(maps.Keys(d.Aliases)) {
		all = append(all, alias{Path: path, File: d.Aliases[path]})
	}
	return all
}

// planAliases adds the old addresses of a record that does not exist.
func (r *run) planAliases(all []alias) {
	for _, a := range all {
		r.add(Outcome{Kind: "alias", Key: a.Path, Status: Created})
	}
}

// foreseeAliases adds what aliases would do.
func (r *run) foreseeAliases(ctx context.Context, dashboard string, wanted []alias) error {
	if len(wanted) == 0 {
		return nil
	}
	known := map[string]bool{}
	err := each(ctx, r.Sender, dashboardsPath+"/"+dashboard+"/aliases", "aliases", url.Values{}, func(a alias) error {
		known[a.Path] = true
		return nil
	})
	for _, a := range wanted {
		out := Outcome{Kind: "alias", Key: a.Path, Status: Created, DashboardID: dashboard}
		if known[a.Path] {
			out.Status = Unchanged
		}
		r.add(out)
	}
	return err
}

// aliases writes old addresses of a dashboard.
func (r *run) aliases(ctx context.Context, dashboard string, all []alias) error {
	for part := range slices.Chunk(all, maxAliases) {
		var written struct {
			Results []struct{ Path, Status, Error string }
		}
		request := Request{Method: http.MethodPost, Path: dashboardsPath + "/" + dashboard + "/aliases", Body: map[string]any{"aliases": part}}
		err := r.Sender.Send(ctx, request, &written)
		if text, is := declined(err); is {
			for _, a := range part {
				r.add(Outcome{Kind: "alias", Key: a.Path, Status: Declined, DashboardID: dashboard, Text: text})
			}
			continue
		}
		if err != nil {
			return err
		}
		for _, result := range written.Results {
			r.add(Outcome{Kind: "alias", Key: result.Path, Status: Status(result.Status), DashboardID: dashboard, Text: result.Error})
		}
	}
	return nil
}
