package transfer

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

const componentsPath = "/app/components"

// component is a component in a response.
type component struct {
	ID                      string                `json:"id"`
	Name                    string                `json:"name"`
	Description             string                `json:"description"`
	GroupName               string                `json:"groupName"`
	Position                int                   `json:"position"`
	Hidden                  bool                  `json:"hidden"`
	HiddenFromNotifications bool                  `json:"hiddenFromNotifications"`
	StartAt                 *time.Time            `json:"startAt"`
	ExternalRefs            []string              `json:"externalRefs"`
	CheckURL                string                `json:"checkUrl"`
	StatusOverride          *lines.StatusOverride `json:"statusOverride"`
	PublicID                string                `json:"publicId"`
	DashboardIDs            []string              `json:"dashboardIds"`
	Version                 int64                 `json:"version"`
}

type oneComponent struct {
	Component component `json:"component"`
}

// mark returns the version of the component, which Undo compares.
func (c *component) mark() string { return strconv.FormatInt(c.Version, 10) }

// allComponents returns the components of the organization.
func allComponents(ctx context.Context, s Sender) (all []*component, err error) {
	err = each(ctx, s, componentsPath, "components", nil, func(c component) error {
		all = append(all, &c)
		return nil
	})
	return all, err
}

// byRef returns components by their externalRefs.
func byRef(all []*component) map[string]*component {
	known := map[string]*component{}
	for _, c := range all {
		for _, ref := range c.ExternalRefs {
			known[ref] = c
		}
	}
	return known
}

// components creates the components of the lines, unless a stored component has the key or an externalRef of the line among
// its externalRefs. keepComponent adds the outcome of such a component.
func (r *run) components(ctx context.Context, wanted []lines.Component) error {
	if len(wanted) == 0 {
		return nil
	}
	all, err := allComponents(ctx, r.Sender)
	if err != nil {
		return err
	}
	known := byRef(all)
	if err := r.ofAnotherPage(wanted, known); err != nil {
		return err
	}
	found := map[string][]placed{} // components that existed before, by the key of the dashboard
	old := map[string][]alias{}    // aliases by the key of the dashboard
	for i := range wanted {
		c := &wanted[i]
		there := known[c.Key]
		for _, ref := range c.ExternalRefs {
			if there == nil {
				there = known[ref]
			}
		}
		existed := there != nil
		if !existed {
			there, err = r.createComponent(ctx, c)
		} else {
			err = r.keepComponent(ctx, c, there)
		}
		if err != nil {
			return err
		}
		if there == nil { // planned or declined
			if r.dry {
				r.planAliases(c.DashboardIDs[0], componentAliases(c, ""))
			}
			continue
		}
		for _, key := range c.DashboardIDs {
			if existed && !slices.ContainsFunc(found[key], func(p placed) bool { return p.id == there.ID }) {
				found[key] = append(found[key], placed{c.Key, there.ID})
			}
		}
		for _, ref := range append(slices.Clone(c.ExternalRefs), c.Key) {
			known[ref] = there
		}
		home := c.DashboardIDs[0]
		old[home] = append(old[home], componentAliases(c, there.ID)...)
	}
	if err := r.eachAlias(ctx, old); err != nil {
		return err
	}
	return r.place(ctx, found)
}

func componentAliases(c *lines.Component, id string) []alias {
	var all []alias
	for _, path := range c.Aliases {
		all = append(all, alias{Path: path, ComponentID: id})
	}
	return all
}

// createComponent creates the component of a line. It returns nil in a plan, and if the platform declines the line.
func (r *run) createComponent(ctx context.Context, c *lines.Component) (*component, error) {
	out := Outcome{Kind: "component", Key: c.Key, Status: Created}
	if r.dry {
		r.state.Components[c.Key] = ""
		r.add(out)
		return nil, nil
	}
	body, err := newComponent(c)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(c.DashboardIDs))
	for i, key := range c.DashboardIDs {
		ids[i] = r.state.Dashboards[key]
	}
	body["dashboardIds"] = ids
	made := oneComponent{}
	err = r.Sender.Send(ctx, Request{Method: http.MethodPost, Path: componentsPath, Body: body}, &made)
	if isConflict(err) { // perhaps the request was repeated after a lost response
		if stored, failed := r.componentOf(ctx, c.Key); failed != nil {
			return nil, failed
		} else if stored != nil {
			made.Component, err = *stored, nil
		}
	}
	if text, is := declined(err); is {
		out.Status, out.Text = Declined, text
		r.add(out)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	there := &made.Component
	r.state.Components[c.Key], out.ID, out.Mark = there.ID, there.ID, there.mark()
	err = r.override(ctx, c, &out)
	r.add(out)
	return there, err
}

// override sets the StatusOverride of the line on a component that the run has created. If the platform declines it,
// override only sets out.Text.
func (r *run) override(ctx context.Context, c *lines.Component, out *Outcome) error {
	if c.StatusOverride == nil {
		return nil
	}
	changed := oneComponent{}
	change := map[string]any{"statusOverride": c.StatusOverride}
	err := r.Sender.Send(ctx, Request{Method: http.MethodPatch, Path: componentsPath + "/" + out.ID, Body: change}, &changed)
	if text, is := declined(err); is {
		out.Text = text
		return nil
	}
	if err == nil {
		out.Mark = changed.Component.mark()
	}
	return err
}

// componentOf returns the component with the key, or nil.
func (r *run) componentOf(ctx context.Context, key string) (*component, error) {
	all, err := allComponents(ctx, r.Sender)
	for _, c := range all {
		if slices.Contains(c.ExternalRefs, key) {
			return c, err
		}
	}
	return nil, err
}

// newComponent returns the body of the request that creates the component of a line, without its dashboards.
func newComponent(c *lines.Component) (map[string]any, error) {
	sent := *c
	sent.StatusOverride, sent.Aliases, sent.DashboardIDs = nil, nil, nil
	sent.ExternalRefs = append([]string{c.Key}, c.ExternalRefs...)
	var body map[string]any
	err := remarshal(sent, &body)
	delete(body, "kind")
	delete(body, "key")
	return body, err
}

// difference compares a component with its line. change has the members in which they differ, with the values of the line,
// and before has the present values of these members. position, startAt, checkUrl and publicId count only if the line has
// them.
func difference(c *lines.Component, there *component) (change, before map[string]any) {
	change, before = map[string]any{}, map[string]any{}
	set := func(member string, differs bool, wanted, present any) {
		if differs {
			change[member], before[member] = wanted, present
		}
	}
	group := c.GroupName
	if group == "" {
		group = "default"
	}
	set("name", c.Name != there.Name, c.Name, there.Name)
	set("description", c.Description != there.Description, c.Description, there.Description)
	set("groupName", group != there.GroupName, group, there.GroupName)
	set("position", c.Position != nil && *c.Position != there.Position, c.Position, there.Position)
	set("hidden", c.Hidden != there.Hidden, c.Hidden, there.Hidden)
	set("hiddenFromNotifications", c.HiddenFromNotifications != there.HiddenFromNotifications, c.HiddenFromNotifications, there.HiddenFromNotifications)
	set("startAt", c.StartAt != nil && (there.StartAt == nil || !c.StartAt.Truncate(time.Millisecond).Equal(*there.StartAt)), c.StartAt, there.StartAt)
	set("checkUrl", c.CheckURL != "" && c.CheckURL != there.CheckURL, c.CheckURL, orNull(there.CheckURL))
	set("publicId", c.PublicID != "" && c.PublicID != there.PublicID, c.PublicID, orNull(there.PublicID))
	if lost := missing(c.ExternalRefs, there.ExternalRefs); len(lost) > 0 {
		set("externalRefs", true, append(slices.Clone(there.ExternalRefs), lost...), there.ExternalRefs)
	}
	return change, before
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// keepComponent adds the outcome of a component that exists. A component without the key of its line gets the key, and no other
// change. Otherwise, with Force, the component becomes as its line. Without Force, a component that differs is kept, because
// nothing says whether a member has changed the component or the source has changed.
func (r *run) keepComponent(ctx context.Context, c *lines.Component, there *component) error {
	r.state.Components[c.Key] = there.ID
	out := Outcome{Kind: "component", Key: c.Key, Status: Unchanged, ID: there.ID, Mark: there.mark()}
	if r.state.Planned[c.Key] && c.StatusOverride != nil && there.StatusOverride == nil && there.Version == 1 {
		out.Status = Created // by this run, which was interrupted before the second request
		var err error
		if !r.dry {
			err = r.override(ctx, c, &out)
		}
		r.add(out)
		return err
	}
	change, before := difference(c, there)
	if !slices.Contains(there.ExternalRefs, c.Key) { // the component was found by another externalRef of the line
		change = map[string]any{"externalRefs": append(slices.Clone(there.ExternalRefs), c.Key)}
		before = map[string]any{"externalRefs": there.ExternalRefs}
	} else if len(change) > 0 && !r.Force {
		out.Status, out.Text = Kept, fmt.Sprintf("differs from the source in %s", words(change))
		change = nil
	}
	if len(change) > 0 {
		out.Status, out.Before = Updated, before
		if !r.dry {
			changed := oneComponent{}
			err := r.Sender.Send(ctx, Request{Method: http.MethodPatch, Path: componentsPath + "/" + there.ID, Body: change}, &changed)
			if text, is := declined(err); is {
				out.Status, out.Before, out.Text = Declined, nil, text
			} else if err != nil {
				return err
			} else {
				out.Was, out.Mark = out.Mark, changed.Component.mark()
				there.ExternalRefs = changed.Component.ExternalRefs
			}
		}
	}
	r.add(out)
	return nil
}

// placed is a component that existed before and that a line puts on a dashboard. key is the key of the line.
type placed struct{ key, id string }

// placement is a component in the list of a dashboard.
type placement struct {
	ComponentID string `json:"componentId"`
	GroupName   string `json:"groupName,omitempty"`
}

// placements returns the components of a dashboard as a request sends them.
func (s settings) placements() []placement {
	var all []placement
	for i, component := range s.components() {
		row, _ := s["components"].([]any)[i].(map[string]any)
		group, _ := row["groupName"].(string)
		all = append(all, placement{component, group})
	}
	return all
}

// place adds components that existed before to the dashboards that this run has created. found has these components by the
// key of the dashboard. Other dashboards keep their components. A component that is on the dashboard already is Unchanged: an
// interrupted run may have put it there.
func (r *run) place(ctx context.Context, found map[string][]placed) error {
	for _, key := range slices.Sorted(maps.Keys(found)) {
		id, known := r.state.Dashboards[key]
		if !known || !r.state.Made[id] && (id != "" || !r.dry) {
			continue
		}
		var d settings
		if id != "" { // else the import will create the dashboard
			var err error
			if d, err = r.dashboard(ctx, id); err != nil {
				return err
			}
		}
		all := d.placements()
		var added []Outcome
		for _, component := range found[key] {
			out := Outcome{Kind: "placement", Key: component.key, Status: Created, ID: component.id, DashboardID: id, Dashboard: key}
			if group, there := d.groupOf(component.id); there {
				out.Status, out.Mark = Unchanged, group
				r.add(out)
				continue
			}
			added, all = append(added, out), append(all, placement{ComponentID: component.id})
		}
		if !r.dry && len(added) > 0 {
			var err error
			if d, err = r.putPlacements(ctx, id, 0, all); err != nil {
				return err
			}
		}
		for _, out := range added {
			out.Mark, _ = d.groupOf(out.ID)
			r.add(out)
		}
	}
	return nil
}

// groupOf returns the group of a component on the dashboard, and false if the dashboard does not have the component.
func (s settings) groupOf(component string) (group string, there bool) {
	for _, p := range s.placements() {
		if p.ComponentID == component {
			return p.GroupName, true
		}
	}
	return "", false
}

// putPlacements replaces a dashboard's components, and returns its settings. version is the If-Match; 0: any.
func (r *run) putPlacements(ctx context.Context, id string, version int64, all []placement) (settings, error) {
	var changed oneDashboard
	request := Request{Method: http.MethodPut, Path: dashboardsPath + "/" + id + "/components", Version: version, Body: map[string]any{"components": all}}
	err := r.Sender.Send(ctx, request, &changed)
	return changed.Dashboard, err
}
