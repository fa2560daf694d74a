package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// showcase describes a dashboard that looks as if it had existed for some time.
type showcase struct {
	Slug       string           `json:"slug"`
	Dashboard  map[string]any   `json:"dashboard"` // other members of the request that creates the dashboard
	Content    map[string]any   `json:"content"`
	Days       int              `json:"days"` // age of the components
	Components []shownComponent `json:"components"`
	Events     []pastEvent      `json:"events"`
}

type shownComponent struct {
	Ref         string `json:"ref"` // external reference
	Name        string `json:"name"`
	Group       string `json:"group"`
	Description string `json:"description,omitempty"`
}

// pastEvent describes an event that began, or is planned to begin, at a time relative to the first start.
type pastEvent struct {
	ExternalID  string         `json:"externalId"`
	Type        string         `json:"type"`
	Title       string         `json:"title"`
	Description string         `json:"description,omitempty"`
	Severity    string         `json:"severity,omitempty"`
	Components  []shownImpact  `json:"components"`
	Begins      moment         `json:"begins"`
	Minutes     int            `json:"minutes,omitempty"` // planned duration of a maintenance
	Timeline    []pastEntry    `json:"timeline,omitempty"`
	PostMortem  map[string]any `json:"postMortem,omitempty"`
}

// shownImpact is an impact on a component. If Impact is empty, the events service derives the impact from the event.
type shownImpact struct {
	Ref    string `json:"ref"`
	Impact string `json:"impact,omitempty"`
}

// moment is either a time of day some days before or after the day of the first start, or some minutes before or after
// the first start.
type moment struct {
	Day     int    `json:"day,omitempty"`
	At      *clock `json:"at,omitempty"`
	Minutes int    `json:"minutes,omitempty"`
}

type clock struct{ hour, minute int }

// UnmarshalText reads hh:mm.
func (c *clock) UnmarshalText(text []byte) error {
	at, err := time.Parse("15:04", string(text))
	c.hour, c.minute = at.Hour(), at.Minute()
	return err
}

type pastEntry struct {
	After   int           `json:"after"` // minutes from the begin of the event
	Status  string        `json:"status"`
	Message string        `json:"message"`
	Impacts []shownImpact `json:"impacts,omitempty"`
}

// from returns the time that m means if the first start is at now.
func (m moment) from(now time.Time) time.Time {
	if m.At == nil {
		return now.Add(time.Duration(m.Minutes) * time.Minute).Truncate(time.Minute)
	}
	return time.Date(now.Year(), now.Month(), now.Day()+m.Day, m.At.hour, m.At.minute, 0, 0, time.UTC)
}

// create creates the components of the seed, which the events service adds to the organization's first dashboard, and then
// the showcase. home is the id of the first dashboard.
func (s *seed) create(ctx context.Context, c caller, home string) error {
	for _, component := range s.Components {
		_, err := c.component(ctx, map[string]any{
			"name": component.Name, "groupName": component.Group, "description": component.Description,
		}, func(other foundComponent) bool { return other.Name == component.Name })
		if err != nil {
			return err
		}
	}
	if s.Showcase == nil {
		return nil
	}
	return s.Showcase.create(ctx, c, home, time.Now().UTC())
}

type foundComponent struct {
	ID, Name     string
	ExternalRefs []string
}

// component returns the id of the first component for which the function is returns true. If there is none, component
// creates a component with the body in.
func (c caller) component(ctx context.Context, in map[string]any, is func(foundComponent) bool) (id string, err error) {
	const components = "/app/components"
	err = c.ensure(ctx, "component "+in["name"].(string), components, in, func() (bool, error) {
		var list struct{ Components []foundComponent }
		err := c.get(ctx, components+"?limit=100", &list)
		i := slices.IndexFunc(list.Components, is)
		if i >= 0 {
			id = list.Components[i].ID
		}
		return i >= 0, err
	})
	return id, err
}

// create creates components, events and then the dashboard. The dashboard is last, so that the events service does not
// render the dashboard's page after each event.
func (s *showcase) create(ctx context.Context, c caller, home string, now time.Time) error {
	ids := map[string]string{}
	since := moment{Day: -s.Days, At: &clock{}}.from(now)
	var placed []map[string]any
	for _, component := range s.Components {
		id, err := c.component(ctx, map[string]any{
			"name": component.Name, "groupName": component.Group, "description": component.Description,
			"externalRefs": []string{component.Ref}, "startAt": since,
		}, func(other foundComponent) bool { return slices.Contains(other.ExternalRefs, component.Ref) })
		if err != nil {
			return err
		}
		ids[component.Ref] = id
		placed = append(placed, map[string]any{"componentId": id})
	}
	if err := c.leave(ctx, home, slices.Collect(maps.Values(ids))); err != nil {
		return err
	}
	for _, event := range s.Events {
		if err := event.create(ctx, c, ids, now); err != nil {
			return err
		}
	}
	return s.createDashboard(ctx, c, placed)
}

// leave removes the components with the ids in gone from a dashboard. The events service adds a new component to the first
// dashboard of the organization if the request names no dashboard. The components of the showcase do not belong there.
func (c caller) leave(ctx context.Context, dashboard string, gone []string) error {
	path := "/app/dashboards/" + dashboard
	type placement struct {
		ComponentID string `json:"componentId"`
		GroupName   string `json:"groupName"`
	}
	var is struct {
		Dashboard struct{ Components []placement }
	}
	if err := c.get(ctx, path, &is); err != nil {
		return err
	}
	stay := slices.DeleteFunc(is.Dashboard.Components, func(p placement) bool { return slices.Contains(gone, p.ComponentID) })
	return c.call(ctx, http.MethodPut, path+"/components", map[string]any{"components": stay}, nil)
}

func (s *showcase) createDashboard(ctx context.Context, c caller, placed []map[string]any) error {
	const dashboards = "/app/dashboards"
	in := map[string]any{"slug": s.Slug, "components": placed}
	maps.Copy(in, s.Dashboard)
	var id string
	err := c.ensure(ctx, "dashboard", dashboards, in, func() (bool, error) {
		var list struct{ Dashboards []struct{ ID, Slug string } }
		err := c.get(ctx, dashboards+"?limit=100", &list)
		for _, dashboard := range list.Dashboards {
			if dashboard.Slug == s.Slug {
				id = dashboard.ID
			}
		}
		return id != "", err
	})
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPut, dashboards+"/"+id+"/content", s.Content, nil)
}

// createdEvent is an event as the App interface returns it, with the parts that a killed first start may not have
// created.
type createdEvent struct {
	Event struct {
		ID         string
		ExternalID string
		StartAt    time.Time
		Timeline   []struct{}
		PostMortem *struct{}
	}
}

// create creates the event if it does not exist. It then creates the missing entries of its timeline and its
// post-mortem. Nobody is notified.
func (e *pastEvent) create(ctx context.Context, c caller, ids map[string]string, now time.Time) error {
	const events = "/app/events"
	var is createdEvent
	read := func() error { return c.get(ctx, events+"/"+is.Event.ID, &is) }
	err := c.ensure(ctx, e.ExternalID, events, e.body(ids, now), func() (bool, error) {
		var list struct {
			Events []struct{ ID, ExternalID string }
		}
		if err := c.get(ctx, events+"?limit=100&q="+url.QueryEscape(e.Title), &list); err != nil {
			return false, err
		}
		for _, event := range list.Events {
			if event.ExternalID == e.ExternalID {
				is.Event.ID = event.ID
				return true, read()
			}
		}
		return false, nil
	})
	for i := len(is.Event.Timeline); err == nil && i < len(e.Timeline); i++ {
		in, current := e.Timeline[i].body(ids, is.Event.StartAt), true
		err = c.ensure(ctx, fmt.Sprintf("%s entry %d", e.ExternalID, i), events+"/"+is.Event.ID+"/timeline", in, func() (bool, error) {
			if current { // the event was just read
				current = false
				return false, nil
			}
			err := read()
			return len(is.Event.Timeline) > i, err
		})
	}
	if err != nil || e.PostMortem == nil || is.Event.PostMortem != nil {
		return err
	}
	return c.call(ctx, http.MethodPut, events+"/"+is.Event.ID+"/post-mortem", e.PostMortem, nil)
}

// over reports whether the last entry of the timeline closes the event.
func (e *pastEvent) over() bool {
	return len(e.Timeline) > 0 && slices.Contains([]string{"resolved", "completed"}, e.Timeline[len(e.Timeline)-1].Status)
}

// body returns the request body that creates the event. An event with a single entry is created in the status of the entry.
func (e *pastEvent) body(ids map[string]string, now time.Time) map[string]any {
	begins := e.Begins.from(now)
	in := map[string]any{
		"externalId": e.ExternalID, "type": e.Type, "title": e.Title, "affectedComponents": impacts(e.Components, ids), "notify": false,
	}
	if e.Description != "" {
		in["description"] = e.Description
	}
	if e.Severity != "" {
		in["severity"] = e.Severity
	}
	if e.Minutes > 0 {
		in["scheduledStartAt"], in["scheduledEndAt"] = begins, begins.Add(time.Duration(e.Minutes)*time.Minute)
		// The scheduler must not end a past maintenance before the timeline does.
		in["autoStart"], in["autoEnd"] = !e.over(), !e.over()
	}
	switch len(e.Timeline) {
	case 0: // the event is planned
	case 1:
		entry := e.Timeline[0]
		in["status"], in["startAt"], in["initialTimelineMessage"] = entry.Status, begins, entry.Message
		if e.over() {
			in["endAt"] = begins.Add(time.Duration(entry.After) * time.Minute)
		}
	default:
		in["status"], in["startAt"] = e.Timeline[0].Status, begins
	}
	return in
}

func (e pastEntry) body(ids map[string]string, begins time.Time) map[string]any {
	return map[string]any{
		"status": e.Status, "message": e.Message, "timestamp": begins.Add(time.Duration(e.After) * time.Minute), "notify": false,
		"componentImpacts": impacts(e.Impacts, ids),
	}
}

func impacts(of []shownImpact, ids map[string]string) []map[string]string {
	out := make([]map[string]string, len(of))
	for i, one := range of {
		out[i] = map[string]string{"componentId": ids[one.Ref]}
		if one.Impact != "" {
			out[i]["impact"] = one.Impact
		}
	}
	return out
}
