package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/words"
)

// openstatusTables are the tables that readOpenStatus reads. Statuses and impacts have the same names in OpenStatus and here.
var openstatusTables = []string{
	"page", "page_component", "page_component_groups", "status_report", "status_report_update", "status_report_to_page_component",
	"status_report_update_to_page_component", "maintenance", "maintenance_to_page_component", "page_subscriber", "page_subscriber_to_page_component",
}

// openstatus is the state of readOpenStatus.
type openstatus struct {
	*builder
	tables map[string][]row
	pages  map[string]string // slug by id
	known  map[string]string // key by id of the page component
}

// readOpenStatus reads the file of the database, in the format of SQLite.
func readOpenStatus(ctx context.Context, b *builder, place string) error {
	d, err := openDatabase(ctx, place)
	if err != nil {
		return err
	}
	defer d.close()
	o := &openstatus{builder: b, tables: map[string][]row{}, pages: map[string]string{}, known: map[string]string{}}
	for _, table := range openstatusTables {
		o.tables[table] = d.read(ctx, b, "openstatus", table, "")
	}
	if len(o.tables["page"]) == 0 {
		return fmt.Errorf("%s has no status page of OpenStatus", place)
	}
	for _, p := range o.tables["page"] {
		o.page(p)
	}
	o.components()
	o.reports()
	o.maintenances()
	o.about("subscribers", o.subscribers)
	return nil
}

// key returns the key of a record of a page.
func (o *openstatus) key(page, kind, id string) string {
	return "openstatus:" + cmp.Or(o.pages[page], "page") + ":" + kind + "-" + id
}

// unix reads a time, which is a number of seconds since 1970. It returns nil for an empty text, and nil with a warning if the
// text is no time.
func (o *openstatus) unix(key, field, text string) *time.Time {
	if text == "" {
		return nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	t, wrong := possible(time.Unix(seconds, 0))
	if err != nil || wrong != nil {
		o.warn(key, field, "%.60q is no time", text)
		return nil
	}
	return &t
}

// page adds the dashboard of a page. The dashboard is disabled if the page is not published or not public. A restriction to a
// list of IP addresses is taken over instead. The other restrictions have no counterpart.
func (o *openstatus) page(p row) {
	o.pages[p["id"]] = cmp.Or(slug(p["slug"]), "page-"+p["id"])
	key := o.key(p["id"], "page", p["id"])
	on, index := p["published"] != "0", p["allow_index"] != "0"
	d := lines.Dashboard{
		Key: key, Name: o.oneLine(key, "title", cmp.Or(p["title"], "Status"), lines.MaxName), Slug: slug(p["slug"]), Enabled: &on, SearchIndexing: &index,
		Description: o.cut(key, "description", p["description"], 1000),
	}
	if p["custom_domain"] != "" {
		d.CustomDomains = []string{p["custom_domain"]}
	}
	if p["force_theme"] == "dark" || p["force_theme"] == "light" {
		d.Branding = &lines.Branding{Theme: p["force_theme"]}
	}
	if slices.Contains(words.Tags(), p["default_locale"]) {
		d.Locale = p["default_locale"]
	}
	if p["homepage_url"] != "" || p["contact_url"] != "" {
		d.Links = &lines.Links{HomepageURL: p["homepage_url"], SupportURL: p["contact_url"]}
	}
	switch p["access_type"] {
	case "ip-restriction":
		if list := strings.FieldsFunc(p["allowed_ip_ranges"], func(c rune) bool { return strings.ContainsRune(" ,;\n\t", c) }); len(list) > 0 {
			d.Access = &lines.Access{Mode: "ipAllowlist", AllowedIPs: list}
			break
		}
		fallthrough
	case "password", "email-domain":
		on = false
		o.warn(key, "access_type", "the page is not public (%s), and this is not taken over; the dashboard is disabled, so that nobody sees it", p["access_type"])
	}
	if p["custom_theme"] != "" {
		o.warn(key, "custom_theme", "is not taken over")
	}
	o.set.Dashboards = append(o.set.Dashboards, d)
}

func (o *openstatus) components() {
	groups := by(o.tables["page_component_groups"], "id")
	rows := slices.Clone(o.tables["page_component"])
	slices.SortStableFunc(rows, func(one, other row) int {
		return cmp.Or(cmp.Compare(one["page_id"], other["page_id"]), cmp.Compare(one.number("order"), other.number("order")), cmp.Compare(one.number("group_order"), other.number("group_order")))
	})
	for i, r := range rows {
		if o.pages[r["page_id"]] == "" {
			o.warn(o.key("", "component", r["id"]), "page_id", "the page is missing; the component is left out")
			continue
		}
		key := o.key(r["page_id"], "component", r["id"])
		o.known[r["id"]] = key
		c := lines.Component{Key: key, Name: r["name"], Description: markdownText(r["description"]), Position: &i, DashboardIDs: []string{o.key(r["page_id"], "page", r["page_id"])}}
		if group := groups[r["group_id"]]; r["group_id"] != "" && len(group) > 0 {
			c.GroupName = group[0]["name"]
		}
		o.component(c)
	}
}

// affect adds the components that the rows name to an event. An event without components is on the dashboard of its page.
func (o *openstatus) affect(e *lines.Event, page string, rows []row) {
	for _, a := range rows {
		key := o.known[a["page_component_id"]]
		if key != "" && !slices.ContainsFunc(e.Components, func(a lines.Affected) bool { return a.Key == key }) {
			e.Components = append(e.Components, lines.Affected{Key: key})
		}
	}
	if len(e.Components) == 0 {
		e.DashboardIDs = []string{o.key(page, "page", page)}
	}
}

// reports adds the events of the status reports, with their updates. The impacts of an update apply from its time on.
func (o *openstatus) reports() {
	updates, members := by(o.tables["status_report_update"], "status_report_id"), by(o.tables["status_report_to_page_component"], "status_report_id")
	impacts := by(o.tables["status_report_update_to_page_component"], "status_report_update_id")
	for _, r := range o.tables["status_report"] {
		key := o.key(r["page_id"], "report", r["id"])
		if o.pages[r["page_id"]] == "" {
			o.warn(key, "page_id", "the page is missing; the report is left out")
			continue
		}
		e := lines.Event{Key: key, Type: "incident", Title: r["title"], Status: r["status"], CreatedAt: o.unix(key, "created_at", r["created_at"])}
		o.affect(&e, r["page_id"], members[r["id"]])
		o.reportTimeline(&e, r["page_id"], updates[r["id"]], impacts)
		e.StartAt = e.CreatedAt
		if len(e.Timeline) > 0 {
			e.StartAt = copied(slices.MinFunc(e.Timeline, func(one, other lines.Entry) int { return one.At.Compare(other.At) }).At)
		}
		if e.Status == "resolved" {
			e.EndAt = o.unix(key, "updated_at", r["updated_at"])
			for _, entry := range e.Timeline {
				if entry.Status == "resolved" {
					e.EndAt = copied(entry.At)
					break
				}
			}
		}
		o.event(e)
	}
}

func (o *openstatus) reportTimeline(e *lines.Event, page string, updates []row, impacts map[string][]row) {
	slices.SortStableFunc(updates, func(one, other row) int { return cmp.Compare(one.number("date"), other.number("date")) })
	worst := map[string]bool{}
	for _, u := range updates {
		at := o.unix(e.Key, "date", u["date"])
		if at == nil {
			o.warn(e.Key, "date", "an update has no time; it is left out")
			continue
		}
		entry := lines.Entry{Key: o.key(page, "update", u["id"]), At: *at, Status: u["status"], HTML: markdown(u["message"])}
		for _, impact := range impacts[u["id"]] {
			key := o.known[impact["page_component_id"]]
			if slices.ContainsFunc(e.Components, func(a lines.Affected) bool { return a.Key == key }) {
				if entry.Impacts == nil {
					entry.Impacts = map[string]string{}
				}
				entry.Impacts[key] = impact["impact"]
				worst[impact["impact"]] = true
			}
		}
		o.entry(e, entry)
	}
	for _, s := range impactSeverity {
		if worst[s.impact] && e.Severity == "" {
			e.Severity = s.severity
		}
	}
	if len(worst) == 0 && len(e.Components) > 0 {
		e.Severity = "minor_outage" // OpenStatus counts a report from before it had impacts as an outage
	}
}

func (o *openstatus) maintenances() {
	members := by(o.tables["maintenance_to_page_component"], "maintenance_id")
	for _, m := range o.tables["maintenance"] {
		key := o.key(m["page_id"], "maintenance", m["id"])
		start, end := o.unix(key, "from", m["from"]), o.unix(key, "to", m["to"])
		if o.pages[m["page_id"]] == "" || start == nil || end == nil {
			o.warn(key, "page_id", "the page, the start or the end is missing; the maintenance is left out")
			continue
		}
		e := lines.Event{Key: key, Type: "maintenance", Title: m["title"], ScheduledStartAt: start, ScheduledEndAt: end, CreatedAt: o.unix(key, "created_at", m["created_at"])}
		o.affect(&e, m["page_id"], members[m["id"]])
		at := *start
		if e.CreatedAt != nil && e.CreatedAt.Before(at) {
			at = *e.CreatedAt
		}
		o.entry(&e, lines.Entry{Key: key + "-text", At: at, Status: "planning", HTML: markdown(m["message"])})
		o.progress(&e)
		o.event(e)
	}
}

// subscribers adds the subscribers of pages: those by mail as subscribers, and webhooks as endpoints.
func (o *openstatus) subscribers() {
	wanted := by(o.tables["page_subscriber_to_page_component"], "page_subscriber_id")
	for _, s := range o.tables["page_subscriber"] {
		key := o.key(s["page_id"], "subscriber", s["id"])
		var components []string
		for _, w := range wanted[s["id"]] {
			if c := o.known[w["page_component_id"]]; c != "" {
				components = append(components, c)
			}
		}
		if len(components) == 0 {
			for _, r := range o.tables["page_component"] { // all components of this page; the file may have other pages
				if len(o.pages) > 1 && r["page_id"] == s["page_id"] && o.known[r["id"]] != "" {
					components = append(components, o.known[r["id"]])
				}
			}
		}
		switch cmp.Or(s["channel_type"], "email") {
		case "email":
			out := lines.Subscriber{Key: key, Channel: "email", Address: s["email"], Components: components, State: "unconfirmed"}
			if out.ConfirmedAt = o.unix(key, "accepted_at", s["accepted_at"]); out.ConfirmedAt != nil {
				out.State = "confirmed"
			}
			if s["unsubscribed_at"] != "" {
				out.State = "unsubscribed"
			}
			o.set.Subscribers = append(o.set.Subscribers, out)
		case "webhook":
			switch {
			case s["unsubscribed_at"] != "":
			case o.unix(key, "accepted_at", s["accepted_at"]) == nil:
				o.warn(key, "accepted_at", "is missing; an endpoint here would get messages at once, so the webhook is left out")
			default:
				o.set.Endpoints = append(o.set.Endpoints, lines.Endpoint{Key: key, Channel: "webhook", URL: s["webhook_url"], Components: components, Format: "statuspage"})
			}
		default:
			o.warn(key, "channel_type", "%.30q has no address that could be taken over; the subscriber is left out", s["channel_type"])
		}
	}
}
