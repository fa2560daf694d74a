package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

const dashboardsPath = "/app/dashboards"

// settings are the members of a dashboard in a response.
type settings map[string]any

func (s settings) text(member string) string {
	text, _ := s[member].(string)
	return text
}

// components returns the ids of the components of the dashboard in their order.
func (s settings) components() []string {
	var ids []string
	rows, _ := s["components"].([]any)
	for _, row := range rows {
		placement, _ := row.(map[string]any)
		id, _ := placement["componentId"].(string)
		ids = append(ids, id)
	}
	return ids
}

// mark returns a digest of the settings, without those that follow from other records or change with each write.
func (s settings) mark() string {
	set := maps.Clone(s)
	for _, volatile := range []string{"components", "domains", "indicator", "updatedAt", "version"} {
		delete(set, volatile)
	}
	text, err := json.Marshal(set)
	if err != nil {
		return "" // not possible: the settings were decoded from JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// contentMark returns a digest of the content of a dashboard, which is no part of the settings.
func (r *run) contentMark(ctx context.Context, id string) (string, error) {
	var found struct{ Content settings }
	err := r.Sender.Send(ctx, Request{Method: http.MethodGet, Path: dashboardsPath + "/" + id + "/content"}, &found)
	return found.Content.mark(), err
}

type oneDashboard struct {
	Dashboard settings `json:"dashboard"`
}

// dashboards finds the dashboards of the lines by their slugs. It creates the missing ones, disabled, with the
// settings of the lines. A dashboard that exists keeps its settings, and gets only the public ids that it lacks.
func (r *run) dashboards(ctx context.Context, wanted []lines.Dashboard) error {
	if len(wanted) == 0 {
		return nil
	}
	known, err := dashboardsBySlug(ctx, r.Sender)
	if err != nil {
		return err
	}
	for i := range wanted {
		d := &wanted[i]
		found, there := known[d.Slug]
		taken := takenIDs(d, known)
		if there {
			err = r.keepDashboard(ctx, d, found, taken)
		} else {
			err = r.createDashboard(ctx, d, taken)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func dashboardsBySlug(ctx context.Context, s Sender) (map[string]settings, error) {
	known := map[string]settings{}
	err := each(ctx, s, dashboardsPath, "dashboards", nil, func(d settings) error {
		known[d.text("slug")] = d
		return nil
	})
	return known, err
}

// takenIDs returns why the dashboard of a line cannot have its public ids: another dashboard has one of them. It returns an
// empty text if no other dashboard has one of them. known has the dashboards by slug.
func takenIDs(d *lines.Dashboard, known map[string]settings) string {
	for _, slug := range slices.Sorted(maps.Keys(known)) {
		if slug == d.Slug {
			continue
		}
		other := known[slug]
		taken := ""
		if d.PublicID != "" && cmp.Or(other.text("publicId"), other.text("id")) == d.PublicID { // an export names the id as publicId
			taken = "publicId"
		}
		groups, _ := other["groupPublicIds"].(map[string]any)
		for _, id := range groups {
			if text, _ := id.(string); slices.Contains(slices.Collect(maps.Values(d.GroupPublicIDs)), text) {
				taken = cmp.Or(taken, "groupPublicIds")
			}
		}
		if taken != "" {
			return fmt.Sprintf("%s: the dashboard %s has an id of the source already, maybe from an earlier import; import into %s, or undo that import first", taken, slug, slug)
		}
	}
	return ""
}

// newDashboard returns the body of the request that creates the dashboard of a line. lost is the text about a member of the
// line that the body leaves out, or empty.
func newDashboard(d *lines.Dashboard) (body map[string]any, lost string, err error) {
	sent := *d
	sent.Enabled = new(bool)
	sent.Aliases = nil
	if sent.Access != nil && sent.Access.Mode == "password" {
		sent.Access, lost = nil, "access: the line has no password; set one before you enable the dashboard"
	}
	if err := remarshal(sent, &body); err != nil {
		return nil, "", err
	}
	delete(body, "kind")
	delete(body, "key")
	return body, lost, nil
}

// createDashboard creates the dashboard of a line. If the dashboard cannot be created, no other record can be written, so
// createDashboard returns a *Refused, which ends the import. taken is the result of takenIDs.
func (r *run) createDashboard(ctx context.Context, d *lines.Dashboard, taken string) error {
	if taken != "" {
		return notCreated(d, http.StatusConflict, taken)
	}
	body, lost, err := newDashboard(d)
	if err != nil {
		return err
	}
	r.state.Dashboards[d.Key] = ""
	out := Outcome{Kind: "dashboard", Key: d.Key, Status: Created, Text: lost, Find: d.Slug}
	if r.dry {
		out.Since = r.since()
		r.add(out)
		r.planAliases(d.Key, dashboardAliases(d))
		return nil
	}
	var made oneDashboard
	err = r.Sender.Send(ctx, Request{Method: http.MethodPost, Path: dashboardsPath, Body: body}, &made)
	if isConflict(err) { // perhaps the request was repeated after a lost response
		stored, failed := dashboardsBySlug(ctx, r.Sender)
		if failed != nil {
			return failed
		}
		if there := stored[d.Slug]; there != nil {
			made.Dashboard, err, out.Since = there, nil, r.since()
		}
	}
	if text, is := declined(err); is {
		return notCreated(d, statusOf(err), text)
	}
	if err != nil {
		return err
	}
	out.ID, out.Mark = made.Dashboard.text("id"), made.Dashboard.mark()
	r.state.Dashboards[d.Key] = out.ID
	r.state.Made[out.ID] = true
	content, err := r.contentMark(ctx, out.ID)
	if err == nil {
		out.Mark += "+" + content
	}
	r.add(out)
	if err != nil {
		return err
	}
	return r.aliases(ctx, d.Key, dashboardAliases(d))
}

func notCreated(d *lines.Dashboard, status int, text string) error {
	return &Refused{Status: status, Text: fmt.Sprintf("the dashboard %s cannot be created: %s", d.Slug, text)}
}

// keepDashboard keeps the settings of a dashboard, and adds the public ids that it lacks. taken is the result of takenIDs. If
// the dashboard lacks ids and taken is not empty, keepDashboard adds none, and the outcome is Declined.
func (r *run) keepDashboard(ctx context.Context, d *lines.Dashboard, found settings, taken string) error {
	id := found.text("id")
	r.state.Dashboards[d.Key] = id
	out := Outcome{Kind: "dashboard", Key: d.Key, Status: Unchanged, ID: id, Mark: found.mark()}
	change, before := map[string]any{}, map[string]any{}
	if d.PublicID != "" && found.text("publicId") == "" {
		change["publicId"], before["publicId"] = d.PublicID, nil
	}
	groups, _ := found["groupPublicIds"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(d.GroupPublicIDs)) {
		if _, there := groups[name]; !there {
			all, _ := change["groupPublicIds"].(map[string]any)
			if all == nil {
				all = maps.Clone(groups)
				if all == nil {
					all = map[string]any{}
				}
				change["groupPublicIds"] = all
				before["groupPublicIds"] = maps.Clone(groups)
			}
			all[name] = d.GroupPublicIDs[name]
		}
	}
	switch {
	case len(change) > 0 && taken != "":
		out.Status, out.Text = Declined, taken
	case len(change) > 0:
		out.Status, out.Before = Updated, before
		if !r.dry {
			var changed oneDashboard
			err := r.Sender.Send(ctx, Request{Method: http.MethodPatch, Path: dashboardsPath + "/" + id, Body: change}, &changed)
			text, is := declined(err)
			switch {
			case is:
				out.Status, out.Before, out.Text = Declined, nil, text
			case err != nil:
				return err
			default:
				out.Was, out.Mark = out.Mark, changed.Dashboard.mark()
			}
		}
	}
	r.add(out)
	if r.dry {
		return r.foreseeAliases(ctx, d.Key, dashboardAliases(d))
	}
	return r.aliases(ctx, d.Key, dashboardAliases(d))
}

func (r *run) dashboard(ctx context.Context, id string) (settings, error) {
	var found oneDashboard
	err := r.Sender.Send(ctx, Request{Method: http.MethodGet, Path: dashboardsPath + "/" + id}, &found)
	return found.Dashboard, err
}

// remarshal encodes in as JSON and decodes the JSON into out.
func remarshal(in, out any) error {
	text, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		return errors.Join(errors.New("the platform returned another JSON than this program knows"), err)
	}
	return nil
}
