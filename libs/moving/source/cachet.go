package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// The mapping of Cachet.
var (
	cachetImpact = map[string]string{
		"1": "operational", "2": "degraded_performance", "3": "partial_outage", "4": "major_outage", "5": "operational", "6": "under_maintenance",
	}
	cachetStatus = map[string]string{"0": "update", "1": "investigating", "2": "identified", "3": "monitoring", "4": "resolved"}
	// impactSeverity has the severity of an incident by its worst impact, the worst first.
	impactSeverity = []struct{ impact, severity string }{
		{"major_outage", "major_outage"}, {"partial_outage", "minor_outage"}, {"degraded_performance", "minor_performance"},
	}
	// cachetTables are the tables that the reader reads, and the JSON:API types of their records in Cachet 3.
	cachetTables = []struct{ name, kind string }{
		{"component_groups", "componentGroups"}, {"components", "components"}, {"incident_components", ""}, {"incident_updates", "updates"}, {"updates", ""},
		{"incidents", "incidents"}, {"schedule_components", ""}, {"schedules", "schedules"}, {"subscribers", "subscribers"}, {"subscriptions", ""},
		{"settings", ""}, {"metrics", "metrics"}, {"webhook_subscriptions", ""},
	}
)

// cachet is the state of readCachet.
type cachet struct {
	*builder
	tables map[string][]row
	scope  string
	known  map[string]string // key by id of the component

	// Rows by the id of the record to which they belong. updatesOf and affectedBy belong to incidents, entriesOf to incidents
	// and schedules, scheduledFor to schedules, and wantedBy to subscribers.
	updatesOf, entriesOf, affectedBy, scheduledFor, wantedBy map[string][]row
}

// readCachet reads the database of Cachet 2 or 3 in SQLite, a folder with one CSV file for each table, or saved JSON of
// /api/v1 (2.4) or /api (3). It returns an error without Options.Zone, because Cachet stores times without a zone.
func readCachet(ctx context.Context, b *builder, place string) error {
	if !b.zoned {
		return errors.New("give --timezone: the times of Cachet name no zone, and are in the one of its settings")
	}
	c := &cachet{builder: b, tables: map[string][]row{}, known: map[string]string{}}
	in, err := b.openInput(place)
	if err != nil {
		return err
	}
	defer in.close()
	if in.folder || path.Ext(place) == ".json" || path.Ext(place) == ".csv" {
		c.files(in)
	} else if err := c.database(ctx, place); err != nil {
		return err
	}
	if len(c.tables["components"])+len(c.tables["incidents"])+len(c.tables["schedules"])+len(c.tables["subscribers"]) == 0 {
		return b.nothing(place, "records of Cachet")
	}
	c.write()
	return nil
}

func (c *cachet) database(ctx context.Context, place string) error {
	d, err := openDatabase(ctx, place)
	if err != nil {
		return err
	}
	defer d.close()
	for _, table := range cachetTables {
		c.tables[table.name] = d.read(ctx, c.builder, "cachet", table.name, "")
	}
	return nil
}

// files reads the files in CSV and JSON. The name of a file begins with the name of its table. A record of JSON:API has its
// type, so its file may have any name.
func (c *cachet) files(in *input) {
	for _, name := range in.names {
		if ext := path.Ext(name); ext != ".csv" && ext != ".json" {
			continue
		}
		content, err := in.read(name)
		table := cachetTable(name)
		switch {
		case err != nil:
		case path.Ext(name) == ".csv" && table == "":
			err = errors.New("is not named like a table, such as incidents.csv; it is left out")
		case path.Ext(name) == ".csv":
			var rows []row
			rows, err = c.readCSV(content)
			c.tables[table] = append(c.tables[table], rows...)
		default:
			err = c.json(name, table, content)
		}
		if err != nil {
			c.warn(fileKey("cachet", name), "", "%s", err)
		}
	}
}

// cachetTable returns the table that the name of a file begins with, or "".
func cachetTable(name string) string {
	base := strings.ReplaceAll(strings.ToLower(path.Base(name)), "-", "_")
	for _, table := range cachetTables {
		if strings.HasPrefix(base, table.name) {
			return table.name
		}
	}
	return ""
}

// json reads a response: an object {"data": [...], "included": [...]}, or only the list of records. table is the table of the
// file.
func (c *cachet) json(name, table string, content []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(content), jsontext.AllowDuplicateNames(true))
	use := func(value jsontext.Value) { c.record(table, value) }
	if decoder.PeekKind() == '[' {
		return c.elements(decoder, use)
	}
	var response struct {
		Data     jsontext.Value `json:"data"`
		Included jsontext.Value `json:"included"`
	}
	if err := wrongJSON(content); err != nil {
		return err
	}
	if _, text := record(content, &response); text != "" || response.Data.Kind() != '[' {
		return errors.New("is no list of Cachet")
	}
	for _, list := range []jsontext.Value{response.Data, response.Included} {
		if list.Kind() == '[' {
			if err := c.elements(jsontext.NewDecoder(bytes.NewReader(list), jsontext.AllowDuplicateNames(true)), use); err != nil {
				return err
			}
		}
	}
	return nil
}

// record adds a record of JSON to its table as a row, with the columns of the database. It also adds the records that this
// record contains or names.
func (c *cachet) record(table string, value jsontext.Value) {
	r := flat(value)
	if kind := r["type"]; kind != "" && r["attributes.id"]+r["attributes.name"]+r["attributes.message"] != "" {
		table = ""
		for _, known := range cachetTables {
			if known.kind == kind {
				table = known.name
			}
		}
		plain := row{"id": r["id"]}
		for column, text := range r {
			if inner, is := strings.CutPrefix(column, "attributes."); is {
				plain[inner] = text
			}
		}
		plain["component_group_id"] = r["relationships.group.data.id"]
		c.related(table, r)
		r = plain
	}
	for _, column := range []string{"created", "updated", "occurred", "published", "scheduled", "completed"} {
		r[column+"_at"] = cmp.Or(r[column+"_at"], r[column+".string"])
	}
	r["status"] = cmp.Or(r["status"], r["status.value"])
	r["visible"] = cmp.Or(r["visible"], r["visible.value"])
	if table == "incident_updates" && r["updateable_type"] != "" {
		table = "updates"
	}
	if table != "" {
		c.tables[table] = append(c.tables[table], r)
	}
	c.nested(table, r)
}

// related adds the rows that connect an incident or schedule of JSON:API with its components.
func (c *cachet) related(table string, r row) {
	column, rows := "incident_id", "incident_components"
	if table == "schedules" {
		column, rows = "schedule_id", "schedule_components"
	}
	c.eachRow(r["relationships.components.data"], func(component row) {
		c.tables[rows] = append(c.tables[rows], row{column: r["id"], "component_id": component["id"]})
	})
}

// nested adds the updates of an incident and the components of a schedule that Cachet 2.4 nests in the record.
func (c *cachet) nested(table string, r row) {
	switch table {
	case "incidents":
		c.eachRow(r["updates"], func(u row) { c.tables["incident_updates"] = append(c.tables["incident_updates"], u) })
	case "schedules":
		c.eachRow(r["components"], func(a row) { c.tables["schedule_components"] = append(c.tables["schedule_components"], a) })
	}
}

// eachRow calls use with each object of a JSON list.
func (c *cachet) eachRow(list string, use func(row)) {
	if strings.HasPrefix(strings.TrimSpace(list), "[") {
		decoder := jsontext.NewDecoder(strings.NewReader(list), jsontext.AllowDuplicateNames(true))
		_ = c.elements(decoder, func(value jsontext.Value) { use(flat(value)) }) // the list is part of valid JSON
	}
}

func (c *cachet) key(kind, id string) string { return "cachet:" + c.scope + ":" + kind + "-" + id }

// setting returns a setting by its name in Cachet 2 (old), or by its group and name in Cachet 3, where the value is JSON.
func (c *cachet) setting(old, group, name string) string {
	for _, s := range c.tables["settings"] {
		if s["name"] == old && s["value"] != "" {
			return s["value"]
		}
		if s["group"] == group && s["name"] == name {
			return strings.Trim(s["payload"], `"`)
		}
	}
	return ""
}

func (c *cachet) write() {
	name := cmp.Or(c.setting("app_name", "app", "name"), "Status")
	c.scope = cmp.Or(slug(name), "page")
	page := c.key("page", "page")
	d := lines.Dashboard{Key: page, Name: c.oneLine(page, "app_name", name, lines.MaxName), Slug: slug(name), Description: c.cut(page, "app_about", markdownText(c.setting("app_about", "app", "about")), 1000)}
	if zone := c.setting("app_timezone", "app", "timezone"); zone != "" && zone != "-" {
		d.Timezone = c.zone(page, zone)
	}
	c.set.Dashboards = append(c.set.Dashboards, d)
	if n := len(c.tables["metrics"]); n > 0 {
		c.warn(page, "metrics", "not taken over: %d", n)
	}
	if n := len(c.tables["webhook_subscriptions"]); n > 0 {
		c.about("endpoints", func() {
			c.warn(page, "webhook_subscriptions", "not taken over, since they get the format of Cachet: %d", n)
		})
	}
	c.components()
	c.updatesOf, c.entriesOf = by(c.tables["incident_updates"], "incident_id"), by(c.tables["updates"], "updateable_id")
	c.affectedBy, c.scheduledFor = by(c.tables["incident_components"], "incident_id"), by(c.tables["schedule_components"], "schedule_id")
	c.wantedBy = by(c.tables["subscriptions"], "subscriber_id")
	c.each("incidents", "incident", c.incident)
	c.each("schedules", "schedule", func(s row) { c.schedule(s, c.key("schedule", s["id"]), "schedules/"+s["id"]) })
	c.about("subscribers", func() { c.each("subscribers", "subscriber", c.subscriber) })
	present := by(c.tables["incidents"], "id")
	for _, id := range slices.Sorted(maps.Keys(c.updatesOf)) {
		if present[id] == nil {
			c.warn(c.key("incident", id), "updates", "the incident is missing; its updates are left out: %d", len(c.updatesOf[id]))
		}
	}
	open := map[string]bool{}
	for _, e := range c.set.Events {
		for _, a := range e.Components {
			open[a.Key] = open[a.Key] || e.EndAt == nil && e.Status != "planning"
		}
	}
	for i := range c.set.Components {
		if open[c.set.Components[i].Key] {
			c.set.Components[i].StatusOverride = nil // an open event determines the status of the component
		}
	}
}

// each calls use with each row of a table, except deleted rows. It leaves out a row without an id, with a warning.
func (c *cachet) each(table, kind string, use func(row)) {
	for _, r := range c.tables[table] {
		switch {
		case r["deleted_at"] != "":
		case r["id"] == "":
			c.warn(c.key(kind, ""), "id", "is missing; the record is left out")
		default:
			use(r)
		}
	}
}

func (c *cachet) components() {
	groups := map[string]row{}
	for _, g := range c.tables["component_groups"] {
		groups[g["id"]] = g
	}
	links := 0
	for _, r := range c.tables["components"] {
		if r["id"] == "" || r["deleted_at"] != "" || c.known[r["id"]] != "" {
			continue
		}
		key := c.key("component", r["id"])
		c.known[r["id"]] = key
		group := groups[cmp.Or(r["component_group_id"], r["group_id"], "0")]
		position := max(0, min(r.number("order"), 1_000_000))
		out := lines.Component{
			Key: key, Name: r["name"], Description: markdownText(r["description"]), GroupName: group["name"], Position: &position, DashboardIDs: []string{c.key("page", "page")},
			Hidden: r["enabled"] == "0" || r["enabled"] == "false" || group["visible"] != "" && !guests(group["visible"]),
		}
		impact := cachetImpact[r["status"]]
		switch {
		case r["status"] == "5":
			c.warn(key, "status", "is unknown there; the component becomes operational")
		case impact != "" && impact != "operational":
			out.StatusOverride = &lines.StatusOverride{Status: impact}
		}
		if r["link"] != "" {
			links++
		}
		c.component(out)
	}
	if links > 0 {
		c.warn(c.key("page", "page"), "link", "not taken over: those of %d components", links)
	}
}

// guests reports whether a record of this visibility is public.
func guests(visible string) bool { return visible == "1" || visible == "true" || visible == "guest" }

func (c *cachet) subscriber(s row) {
	key := c.key("subscriber", s["id"])
	if s["email"] == "" {
		c.warn(key, "email", "is missing; the subscriber is left out")
		return
	}
	out := lines.Subscriber{Key: key, Channel: "email", Address: s["email"], State: "unconfirmed"}
	verified := cmp.Or(s["email_verified_at"], s["verified_at"])
	if verified != "" && verified != s["created_at"] { // both are equal if an administrator of the page added the subscriber
		if out.ConfirmedAt = c.when(key, "verified_at", verified); out.ConfirmedAt != nil {
			out.State = "confirmed"
		}
	}
	for _, wanted := range c.wantedBy[s["id"]] {
		if component := c.known[wanted["component_id"]]; component != "" {
			out.Components = append(out.Components, component)
		}
	}
	if s.is("global") {
		out.Components = nil
	} else if s["global"] != "" && len(out.Components) == 0 {
		c.warn(key, "global", "the subscriber wants no component; it is left out")
		return
	}
	c.set.Subscribers = append(c.set.Subscribers, out)
}

// first returns the time in the first of the texts that is a time, or nil. It adds a warning for a text before it that is
// neither empty nor a time.
func (c *cachet) first(key, field string, texts ...string) *time.Time {
	for _, text := range texts {
		if t := c.when(key, field, text); t != nil {
			return t
		}
	}
	return nil
}
