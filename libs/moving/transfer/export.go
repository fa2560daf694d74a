package transfer

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// Export reads the dashboard with the slug, or all dashboards of the organization if the slug is empty, and their records:
// components, events with their timelines, and subscribers. Data that no response has becomes a warning: passwords, and the
// URLs of endpoints, which are secrets. The content of pages is left out.
//
// An imported component, event or entry keeps its key. The key of any other record has its id, slug or address. A
// record without a publicId gets its id as the publicId. So links by id lead to the same records after an import
// elsewhere.
func Export(ctx context.Context, s Sender, slug string) (*lines.Set, error) {
	x := &export{sender: s, set: &lines.Set{}, dashboards: map[string]string{}, components: map[string]string{}}
	known, err := dashboardsBySlug(ctx, s)
	if err != nil {
		return nil, err
	}
	if slug != "" {
		if known[slug] == nil {
			return nil, fmt.Errorf("the organization has no dashboard with the slug %s", slug)
		}
		known = map[string]settings{slug: known[slug]}
	}
	all := slices.SortedFunc(maps.Values(known), func(a, b settings) int { return int(a.number("legacyId") - b.number("legacyId")) })
	for _, step := range []func() error{
		func() error { return x.exportDashboards(ctx, all) },
		func() error { return x.exportComponents(ctx, all, slug == "") },
		func() error { return x.exportEvents(ctx, all, slug == "") },
		func() error { return x.exportSubscribers(ctx, all) },
		func() error { return x.exportEndpoints(ctx, all) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	x.set.Check()
	return x.set, nil
}

type export struct {
	sender     Sender
	set        *lines.Set
	dashboards map[string]string   // key by id
	components map[string]string   // key by id
	aliases    map[string][]string // aliases by the id of the event or component
}

func (s settings) number(member string) float64 {
	number, _ := s[member].(float64)
	return number
}

// keyForm is the form of the keys of lines. An externalRef of this form is the key of a component.
var keyForm = regexp.MustCompile(`^[a-z0-9-]+:[^:\s]+:\S(.*\S)?$`)

func (x *export) exportDashboards(ctx context.Context, all []settings) error {
	x.aliases = map[string][]string{}
	for _, d := range all {
		slug, id := d.text("slug"), d.text("id")
		line := lines.Dashboard{}
		if err := remarshal(withoutNulls(d), &line); err != nil {
			return err
		}
		line.Key = "bellbuoy:dashboard:" + slug
		if line.PublicID == "" {
			line.PublicID = id
		}
		x.dashboards[id] = line.Key
		if line.Access != nil && line.Access.Mode == "password" {
			x.set.Warn(line.Key, "access", "the password is missing, because the platform stores none that could be read; set one after the import")
		}
		err := each(ctx, x.sender, dashboardsPath+"/"+id+"/aliases", "aliases", nil, func(a alias) error {
			switch target := a.EventID + a.ComponentID; {
			case target != "":
				x.aliases[target] = append(x.aliases[target], a.Path)
			default:
				if line.Aliases == nil {
					line.Aliases = map[string]string{}
				}
				line.Aliases[a.Path] = a.File
			}
			return nil
		})
		if err != nil {
			return err
		}
		x.set.Dashboards = append(x.set.Dashboards, line)
	}
	return nil
}

// withoutNulls returns the members of a response that are not null.
func withoutNulls(in map[string]any) map[string]any {
	out := map[string]any{}
	for member, value := range in {
		if inner, is := value.(map[string]any); is {
			value = withoutNulls(inner)
		}
		if value != nil {
			out[member] = value
		}
	}
	return out
}

// exportComponents adds the components of the dashboards to the set, in the order of the dashboards. A component has the group
// that it has on the first dashboard that shows it. whole is true if all dashboards are exported.
func (x *export) exportComponents(ctx context.Context, all []settings, whole bool) error {
	stored, err := allComponents(ctx, x.sender)
	if err != nil {
		return err
	}
	byID := map[string]*component{}
	for _, c := range stored {
		byID[c.ID] = c
	}
	for _, d := range all {
		rows, _ := d["components"].([]any)
		for i, id := range d.components() {
			c := byID[id]
			if c == nil || x.components[id] != "" {
				continue
			}
			row, _ := rows[i].(map[string]any)
			group, _ := row["groupName"].(string)
			x.exportComponent(c, group)
		}
	}
	if left := len(stored) - len(x.set.Components); whole && left > 0 {
		x.set.Warn("bellbuoy:export:components", "dashboardIds", fmt.Sprintf("%d components are on no dashboard; they are left out", left))
	}
	return nil
}

func (x *export) exportComponent(c *component, group string) {
	line := lines.Component{
		Key: "bellbuoy:component:" + c.ID, Name: c.Name, Description: c.Description, GroupName: group, Position: &c.Position, Hidden: c.Hidden,
		HiddenFromNotifications: c.HiddenFromNotifications, StartAt: c.StartAt, CheckURL: c.CheckURL, PublicID: c.PublicID, Aliases: x.aliases[c.ID],
	}
	if line.PublicID == "" {
		line.PublicID = c.ID
	}
	keyed := false
	for _, ref := range c.ExternalRefs {
		if !keyed && keyForm.MatchString(ref) {
			line.Key, keyed = ref, true
			continue
		}
		line.ExternalRefs = append(line.ExternalRefs, ref)
	}
	for _, id := range c.DashboardIDs {
		if key := x.dashboards[id]; key != "" {
			line.DashboardIDs = append(line.DashboardIDs, key)
		}
	}
	if o := c.StatusOverride; o != nil {
		line.StatusOverride = &lines.StatusOverride{Status: o.Status, Until: o.Until, CountInUptime: o.CountInUptime}
	}
	x.components[c.ID] = line.Key
	x.set.Components = append(x.set.Components, line)
}

// exportedEvent is an event in the response to GET /app/events/export: a line that names dashboards and components by their ids.
type exportedEvent struct {
	lines.Event
	ID         string `json:"id"`
	Components []struct {
		ComponentID string `json:"componentId"`
		Impact      string `json:"impact"`
	} `json:"components"`
	Timeline []struct {
		ID string `json:"id"`
		lines.Entry
	} `json:"timeline"`
}

func (x *export) exportEvents(ctx context.Context, all []settings, whole bool) error {
	query := url.Values{"limit": {"50"}}
	if !whole {
		query.Set("dashboardId", all[0].text("id"))
	}
	read := 0
	err := each(ctx, x.sender, "/app/events/export", "events", query, func(e exportedEvent) error {
		read++
		x.exportEvent(&e)
		return nil
	})
	if left := read - len(x.set.Events); whole && left > 0 {
		x.set.Warn("bellbuoy:export:events", "components", fmt.Sprintf("%d events affect only components that are on no dashboard; they are left out", left))
	}
	slices.Reverse(x.set.Events) // the oldest first
	slices.SortStableFunc(x.set.Events, func(a, b lines.Event) int { return a.StartAt.Compare(*b.StartAt) })
	return err
}

func (x *export) exportEvent(e *exportedEvent) {
	line := e.Event
	if line.Key == "" {
		line.Key = "bellbuoy:event:" + e.ID
	}
	if line.PublicID == "" {
		line.PublicID = e.ID
	}
	if publish := line.Publish; publish != nil && *publish {
		line.Publish = nil
	}
	if later, _ := line.NotifyLater.(map[string]any); len(later) == 0 || line.EndAt != nil {
		line.NotifyLater = nil
	}
	if line.Status == "planning" {
		line.StartAt = line.ScheduledStartAt
	}
	line.Aliases = x.aliases[e.ID]
	for _, c := range e.Components {
		if key := x.components[c.ComponentID]; key != "" {
			line.Components = append(line.Components, lines.Affected{Key: key, Impact: c.Impact})
		}
	}
	var dashboards []string
	for _, id := range line.DashboardIDs {
		if key := x.dashboards[id]; key != "" {
			dashboards = append(dashboards, key)
		}
	}
	line.DashboardIDs = nil
	switch {
	case len(line.Components) > 0: // a line has components or dashboards
	case len(dashboards) > 0:
		line.DashboardIDs = dashboards
	default:
		return // the event affects only components that no exported dashboard shows
	}
	for _, entry := range e.Timeline {
		one := entry.Entry
		if one.Key == "" {
			one.Key = "bellbuoy:entry:" + entry.ID
		}
		if one.PublicID == "" {
			one.PublicID = entry.ID
		}
		impacts := map[string]string{}
		for id, impact := range entry.Impacts {
			if key := x.components[id]; key != "" {
				impacts[key] = impact
			}
		}
		if one.Impacts = impacts; len(impacts) == 0 {
			one.Impacts = nil
		}
		line.Timeline = append(line.Timeline, one)
	}
	line.ReminderMinutes = orNil(line.ReminderMinutes)
	line.Notes = orNil(line.Notes)
	if p := line.PostMortem; p != nil {
		p.ActionItems = orNil(p.ActionItems)
	}
	x.set.Events = append(x.set.Events, line)
}

func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// keysOf returns the keys of those components that the export has, and nil if it has none of them.
func (x *export) keysOf(ids []string) []string {
	var keys []string
	for _, id := range ids {
		if key := x.components[id]; key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// suppressedStates has the state in a line for each reason why the address of a subscriber is suppressed.
var suppressedStates = map[string]string{"unsubscribed": "unsubscribed", "bounce": "quarantined", "invalid": "quarantined", "complaint": "unsubscribed"}

func (x *export) exportSubscribers(ctx context.Context, all []settings) error {
	for _, d := range all {
		for _, channel := range lines.SubscriberChannels() {
			err := each(ctx, x.sender, "/app/subscribers/"+channel, "subscribers", url.Values{"dashboardId": {d.text("id")}}, func(s subscriber) error {
				line := lines.Subscriber{
					Key: "bellbuoy:" + channel + ":" + s.Email + s.Phone, DashboardID: x.dashboards[d.text("id")], Channel: channel, Address: s.Email + s.Phone,
					State: "unconfirmed", Locale: s.Locale,
				}
				if len(all) > 1 {
					line.Key = "bellbuoy:" + channel + ":" + d.text("slug") + "/" + line.Address
				}
				switch state := suppressedStates[s.SuppressedReason]; {
				case state != "":
					line.State, line.ConfirmedAt = state, s.ConfirmedAt
				case s.Confirmed:
					line.State, line.ConfirmedAt = "confirmed", s.ConfirmedAt
				case s.PartlyConfirmed:
					x.set.Warn(line.Key, "state", "the owner has confirmed some of the components, and no response says which; the subscriber becomes unconfirmed")
				}
				if s.ComponentIDs != nil {
					if line.Components = x.keysOf(s.ComponentIDs); len(line.Components) == 0 {
						return nil // the components have left the dashboard
					}
				}
				if s.Paused {
					x.set.Warn(line.Key, "paused", "the subscription is paused; an import would end that, so it is left out")
					return nil
				}
				if s.Locked {
					x.set.Warn(line.Key, "locked", "the lock is missing; lock the subscriber again after the import")
				}
				x.set.Subscribers = append(x.set.Subscribers, line)
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// exportEndpoints adds a warning for each endpoint, because no response has the URL.
func (x *export) exportEndpoints(ctx context.Context, all []settings) error {
	for _, d := range all {
		for _, channel := range lines.EndpointChannels() {
			err := each(ctx, x.sender, endpointsPath(channel), "endpoints", url.Values{"dashboardId": {d.text("id")}}, func(e endpoint) error {
				x.set.Warn("bellbuoy:endpoint:"+e.URLHash, "url", fmt.Sprintf("the URL (%s, %s) is a secret that no response has; create the endpoint again", channel, e.URLDisplay))
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
