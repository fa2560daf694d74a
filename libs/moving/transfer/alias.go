package transfer

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// maxAliases is the maximum number of aliases in a request.
const maxAliases = 1000

// alias is a former path of a dashboard and its target, as POST /app/dashboards/{id}/aliases expects them.
type alias struct {
	Path        string `json:"path"`
	EventID     string `json:"eventId,omitempty"`
	ComponentID string `json:"componentId,omitempty"`
	File        string `json:"file,omitempty"`
}

// ofNewComponent is the target of an alias whose component the import will create.
const ofNewComponent = "component"

// target returns the target of the alias, which Undo compares.
func (a alias) target() string {
	switch {
	case a.EventID != "":
		return "event " + a.EventID
	case a.ComponentID != "":
		return "component " + a.ComponentID
	case a.File != "":
		return "file " + a.File
	}
	return ofNewComponent
}

// aliasesOfDashboard returns the aliases of a dashboard by path.
func (e *Engine) aliasesOfDashboard(ctx context.Context, id string) (map[string]alias, error) {
	known := map[string]alias{}
	err := each(ctx, e.Sender, dashboardsPath+"/"+id+"/aliases", "aliases", url.Values{}, func(a alias) error {
		known[a.Path] = a
		return nil
	})
	return known, err
}

// ownFolders are the first segments of the paths that each dashboard has.
var ownFolders = []string{
	"api", "badge.svg", "components", "embed", "embed.js", "enter", "events", "feed.atom", "feed.json", "feed.rss", "history", "history.atom", "history.rss",
	"maintenance.ics", "robots.txt", "subscribe", "subscriptions", "uptime",
}

// IsAlias reports whether a dashboard can have an alias with the path. It is the rule of the platform, whose packages this
// package does not import. A test compares both.
func IsAlias(path string) bool {
	folder, _, _ := strings.Cut(path, "/")
	return len(path) >= 1 && len(path) <= 200 && path != "incidents" && !slices.Contains(ownFolders, folder) && path[0] != '/' && path[len(path)-1] != '/' &&
		!strings.Contains(path, "..") && strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") == ""
}

// dropAliases removes from a set the aliases that no dashboard can have, and adds a warning for each.
func dropAliases(set *lines.Set) {
	refused := func(key, path string) bool {
		if IsAlias(path) {
			return false
		}
		set.Warn(key, "aliases", path+" is no old address that a dashboard can have, such as one below a path that each dashboard has; it was left out")
		return true
	}
	for _, d := range set.Dashboards {
		for _, path := range slices.Sorted(maps.Keys(d.Aliases)) {
			if refused(d.Key, path) {
				delete(d.Aliases, path)
			}
		}
	}
	for i := range set.Components {
		c := &set.Components[i]
		c.Aliases = slices.DeleteFunc(c.Aliases, func(path string) bool { return refused(c.Key, path) })
	}
	for i := range set.Events {
		e := &set.Events[i]
		e.Aliases = slices.DeleteFunc(e.Aliases, func(path string) bool { return refused(e.Key, path) })
	}
}

func dashboardAliases(d *lines.Dashboard) []alias {
	var all []alias
	for _, path := range slices.Sorted(maps.Keys(d.Aliases)) {
		all = append(all, alias{Path: path, File: d.Aliases[path]})
	}
	return all
}

// eachAlias plans or writes aliases. all has them by the key of the dashboard. In a plan, a dashboard that the import will
// create has no id, so planAliases adds the outcomes of its aliases.
func (r *run) eachAlias(ctx context.Context, all map[string][]alias) error {
	for _, dashboard := range slices.Sorted(maps.Keys(all)) {
		var err error
		switch {
		case !r.dry:
			err = r.aliases(ctx, dashboard, all[dashboard])
		case r.state.Dashboards[dashboard] == "":
			r.planAliases(dashboard, all[dashboard])
		default:
			err = r.foreseeAliases(ctx, dashboard, all[dashboard])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// planAliases adds the outcomes of the aliases of a record or dashboard that the import will create: Created for each.
// dashboard is a key.
func (r *run) planAliases(dashboard string, all []alias) {
	for _, a := range all {
		r.add(Outcome{Kind: "alias", Key: a.Path, Status: Created, Dashboard: dashboard, Mark: a.target()})
	}
}

// foreseeAliases adds the outcomes that the wanted aliases of an existing dashboard would have. A plan reads the stored
// aliases of a dashboard once. dashboard is a key.
func (r *run) foreseeAliases(ctx context.Context, dashboard string, wanted []alias) error {
	if len(wanted) == 0 {
		return nil
	}
	id := r.state.Dashboards[dashboard]
	known, read := r.aliasesOf[id]
	if !read {
		var err error
		if known, err = r.aliasesOfDashboard(ctx, id); err != nil {
			return err
		}
		if r.aliasesOf == nil {
			r.aliasesOf = map[string]map[string]alias{}
		}
		r.aliasesOf[id] = known
	}
	for _, a := range wanted {
		out := Outcome{Kind: "alias", Key: a.Path, Status: Created, DashboardID: id, Dashboard: dashboard, Mark: a.target()}
		switch there, is := known[a.Path]; {
		case is && there == a:
			out.Status = Unchanged
		case is:
			out.Status, out.Text = Kept, leadsElsewhere
		}
		r.add(out)
	}
	return nil
}

// leadsElsewhere is the text of the platform about an alias that is kept.
const leadsElsewhere = "The path leads elsewhere."

// aliases writes aliases of the dashboard with the key dashboard. An alias that exists with another target is kept: a
// member or an earlier import has set it. The platform declines a request with a wrong path as a whole. aliases then sends
// each half of the request separately.
func (r *run) aliases(ctx context.Context, dashboard string, all []alias) error {
	id := r.state.Dashboards[dashboard]
	targets := map[string]string{}
	for _, a := range all {
		targets[a.Path] = a.target()
	}
	for part := range slices.Chunk(all, maxAliases) {
		var written struct {
			Results []struct{ Path, Status, Error string }
		}
		request := Request{Method: http.MethodPost, Path: dashboardsPath + "/" + id + "/aliases", Body: map[string]any{"aliases": part, "keepExisting": true}}
		err := r.Sender.Send(ctx, request, &written)
		text, is := declined(err)
		switch {
		case is && len(part) > 1:
			half := len(part) / 2
			if err := r.aliases(ctx, dashboard, part[:half]); err != nil {
				return err
			}
			if err := r.aliases(ctx, dashboard, part[half:]); err != nil {
				return err
			}
		case is:
			r.add(Outcome{Kind: "alias", Key: part[0].Path, Status: Declined, DashboardID: id, Dashboard: dashboard, Text: text})
		case err != nil:
			return err
		}
		for _, result := range written.Results {
			r.add(Outcome{Kind: "alias", Key: result.Path, Status: Status(result.Status), DashboardID: id, Dashboard: dashboard, Text: result.Error, Mark: targets[result.Path]})
		}
	}
	return nil
}
