package source

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

func markdownText(text string) string { return richtext.PlainText(richtext.Markdown, text) }

// incident adds the event of an incident, with its updates. In Cachet 2 an incident with scheduled_at is a maintenance.
func (c *cachet) incident(i row) {
	key := c.key("incident", i["id"])
	if i["scheduled_at"] != "" {
		c.schedule(i, key, "incidents/"+i["id"])
		return
	}
	start := c.first(key, "occurred_at", i["occurred_at"], i["created_at"])
	if start == nil {
		c.warn(key, "created_at", "is missing; the incident is left out")
		return
	}
	e := lines.Event{
		Key: key, Type: "incident", Title: i["name"], StartAt: start, CreatedAt: c.when(key, "created_at", i["created_at"]),
		HiddenFromDashboard: i["visible"] != "" && !guests(i["visible"]), Aliases: alias("incidents/" + i["id"]),
	}
	if i["guid"] != "" {
		e.Aliases = append(e.Aliases, alias("incidents/"+i["guid"])...)
	}
	status := c.status(key, i["status"])
	updates := c.updates(i["id"], "incident")
	initial := status
	if len(updates) > 0 && status == "resolved" {
		initial = "investigating"
	}
	if i["message"] != "" {
		c.entry(&e, lines.Entry{Key: key + "-text", At: *start, Status: initial, HTML: markdown(i["message"])})
	}
	e.Status = status
	for _, u := range updates {
		if entry, ok := c.update(&e, u); ok {
			if entry.Status != "update" {
				e.Status = entry.Status
			}
			c.entry(&e, entry)
		}
	}
	if e.Status == "resolved" {
		if at := slices.IndexFunc(e.Timeline, func(entry lines.Entry) bool { return entry.Status == "resolved" }); at >= 0 && len(updates) > 0 {
			e.EndAt = copied(e.Timeline[at].At)
		} else {
			e.EndAt = cmp.Or(c.when(key, "updated_at", i["updated_at"]), start)
		}
	}
	c.affect(&e, i)
	c.draft(&e, i)
	c.event(e)
}

// status returns the status of an incident. The status update and an unknown status become investigating, because an incident
// cannot have them. An unknown status adds a warning.
func (c *cachet) status(key, there string) string {
	status := cachetStatus[there]
	if status != "" && status != "update" {
		return status
	}
	if there != "" && there != "0" {
		c.warn(key, "status", "%.30q is unknown; it becomes investigating", there)
	}
	return "investigating"
}

// draft makes the event a draft, with a warning, if published_at of its record is in the future.
func (c *cachet) draft(e *lines.Event, r row) {
	if at := c.when(e.Key, "published_at", r["published_at"]); at != nil && at.After(c.Now) {
		off := false
		e.Publish = &off
		c.warn(e.Key, "published_at", "is in the future; the event becomes a draft")
	}
}

// updates returns the updates of an incident or schedule, oldest first. kind is incident or schedule.
func (c *cachet) updates(id, kind string) []row {
	var found []row
	if kind == "incident" {
		found = slices.Clone(c.updatesOf[id])
	}
	for _, u := range c.entriesOf[id] {
		if strings.EqualFold(strings.TrimPrefix(u["updateable_type"], `Cachet\Models\`), kind) {
			found = append(found, u)
		}
	}
	slices.SortStableFunc(found, func(one, other row) int {
		first, _ := c.at(one["created_at"])
		second, _ := c.at(other["created_at"])
		return first.Compare(second)
	})
	return slices.CompactFunc(found, func(one, other row) bool { return one["id"] == other["id"] })
}

func (c *cachet) update(e *lines.Event, u row) (lines.Entry, bool) {
	at, ok := c.at(u["created_at"])
	if !ok || u["id"] == "" {
		c.warn(e.Key, "updates", "an update has no id or no time; it is left out")
		return lines.Entry{}, false
	}
	status := "update"
	if e.Type == "incident" && u["status"] != "" {
		status = cmp.Or(cachetStatus[u["status"]], u["status"])
	}
	return lines.Entry{Key: e.Key + "-update-" + u["id"], At: at, Status: status, HTML: markdown(u["message"])}, true
}

// named returns the key of a component, or "" without an id. A component that was deleted becomes a hidden component.
func (c *cachet) named(id string) string {
	if id == "" || id == "0" {
		return ""
	}
	if c.known[id] == "" {
		c.known[id] = c.key("component", id)
		name := "Component " + id
		for _, r := range c.tables["components"] {
			if r["id"] == id {
				name = cmp.Or(r["name"], name)
			}
		}
		c.component(lines.Component{Key: c.known[id], Name: name, Hidden: true, DashboardIDs: []string{c.key("page", "page")}})
	}
	return c.known[id]
}

// affect adds the components of an incident, and sets the severity that follows from the worst impact on these components.
func (c *cachet) affect(e *lines.Event, i row) {
	worst := map[string]bool{}
	add := func(id, status string) {
		key := c.named(id)
		if key == "" || slices.ContainsFunc(e.Components, func(a lines.Affected) bool { return a.Key == key }) {
			return
		}
		impact := cachetImpact[status]
		worst[impact] = true
		e.Components = append(e.Components, lines.Affected{Key: key, Impact: impact})
	}
	for _, a := range c.affectedBy[i["id"]] {
		add(a["component_id"], cmp.Or(a["component_status"], a["status_id"], a["status"]))
	}
	add(i["component_id"], "")
	for _, s := range impactSeverity {
		if worst[s.impact] && e.Severity == "" {
			e.Severity = s.severity
		}
	}
	if len(e.Components) == 0 {
		e.DashboardIDs = []string{c.key("page", "page")}
	}
}

// schedule adds the event of a maintenance. former is its former path. If the end is missing, the maintenance is planned for
// 1 h.
func (c *cachet) schedule(s row, key, former string) {
	start := c.when(key, "scheduled_at", s["scheduled_at"])
	if start == nil {
		c.warn(key, "scheduled_at", "is missing; the maintenance is left out")
		return
	}
	end := c.when(key, "completed_at", s["completed_at"])
	if end == nil {
		end = copied(start.Add(time.Hour))
		c.warn(key, "completed_at", "is missing; the maintenance is planned for 1 h")
	}
	e := lines.Event{
		Key: key, Type: "maintenance", Title: s["name"], ScheduledStartAt: start, ScheduledEndAt: end, CreatedAt: c.when(key, "created_at", s["created_at"]),
		HiddenFromDashboard: s["visible"] != "" && !guests(s["visible"]), Aliases: alias(former),
	}
	at := *start
	if e.CreatedAt != nil && e.CreatedAt.Before(at) {
		at = *e.CreatedAt
	}
	if s["message"] != "" {
		c.entry(&e, lines.Entry{Key: key + "-text", At: at, Status: "planning", HTML: markdown(s["message"])})
	}
	c.progress(&e)
	if former[:1] == "s" { // schedules/
		for _, u := range c.updates(s["id"], "schedule") {
			if entry, ok := c.update(&e, u); ok {
				c.entry(&e, entry)
			}
		}
		for _, a := range c.scheduledFor[s["id"]] {
			if component := c.named(a["component_id"]); component != "" && !slices.ContainsFunc(e.Components, func(a lines.Affected) bool { return a.Key == component }) {
				e.Components = append(e.Components, lines.Affected{Key: component})
			}
		}
	} else if component := c.named(s["component_id"]); component != "" {
		e.Components = []lines.Affected{{Key: component}}
	}
	if len(e.Components) == 0 {
		e.DashboardIDs = []string{c.key("page", "page")}
	}
	c.draft(&e, s)
	c.event(e)
}
