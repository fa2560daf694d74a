package source

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// The mapping of the styles of incidents. A style without a severity, such as info, says that nothing is wrong.
var kumaSeverity = map[string]string{"danger": "major_outage", "outage": "major_outage", "warning": "minor_performance"}

// kuma has the tables of Uptime Kuma, from its database or from saved JSON.
type kuma struct {
	*builder
	pages, groups, placements, monitors, incidents, maintenances, affected, shown, beats []row

	server    *time.Location // zone of maintenances that name none
	slugs     map[string]string
	component map[string]string // key by id of the monitor
}

// readKuma reads kuma.db, or the JSON of /api/status-page/{slug} and .../incident-history.
func readKuma(ctx context.Context, b *builder, path string) error {
	k := &kuma{builder: b, server: b.Zone, slugs: map[string]string{}, component: map[string]string{}}
	in, err := b.openInput(path)
	if err != nil {
		return err
	}
	defer in.close()
	if in.folder || strings.HasSuffix(path, ".json") {
		k.saved(in)
	} else if err := k.database(ctx, path); err != nil {
		return err
	}
	if len(k.pages)+len(k.monitors) == 0 {
		return b.nothing(path, "status page and no monitor of Uptime Kuma")
	}
	k.write()
	return nil
}

func (k *kuma) database(ctx context.Context, path string) error {
	d, err := openDatabase(ctx, path)
	if err != nil {
		return err
	}
	defer d.close()
	for table, into := range map[string]*[]row{
		"status_page": &k.pages, "group": &k.groups, "monitor_group": &k.placements, "monitor": &k.monitors, "incident": &k.incidents,
		"maintenance": &k.maintenances, "monitor_maintenance": &k.affected, "maintenance_status_page": &k.shown,
	} {
		*into = d.read(ctx, k.builder, "uptime-kuma", table, "ORDER BY id")
	}
	if k.Outages > 0 {
		k.beats = d.read(ctx, k.builder, "uptime-kuma", "heartbeat", "WHERE important = 1 ORDER BY monitor_id, time")
	}
	for _, setting := range d.read(ctx, k.builder, "uptime-kuma", "setting", "WHERE key = 'serverTimezone'") {
		if zone, err := time.LoadLocation(strings.Trim(setting["value"], `"`)); err == nil {
			k.server = zone
		}
	}
	return nil
}

// saved fills the tables from JSON. It recognizes the content of a file by its members.
func (k *kuma) saved(in *input) {
	for _, name := range in.names {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		key := fileKey("uptime-kuma", name)
		content, err := in.read(name)
		if err != nil {
			k.warn(key, "", "%s", err)
			continue
		}
		if err := wrongJSON(content); err != nil {
			k.warn(key, "", "%s", err)
			continue
		}
		var members map[string]jsontext.Value
		if _, text := record(content, &members); text != "" {
			k.warn(key, "", "is no JSON of a status page")
			continue
		}
		page := ""
		if config := members["config"]; config != nil {
			r := flat(config)
			page = r["slug"]
			r["id"] = page
			r["published"] = cmp.Or(r["published"], "1")
			k.pages = append(k.pages, r)
		}
		k.savedGroups(key, page, members["publicGroupList"])
		k.each(key, members["incidents"], func(r row) {
			r["created_date"], r["last_updated_date"] = r["createdDate"], r["lastUpdatedDate"]
			r["status_page_id"] = page
			k.incidents = append(k.incidents, r)
		})
		k.each(key, members["maintenanceList"], func(r row) {
			r["timezone"] = cmp.Or(r["timezone"], "UTC")
			k.maintenances = append(k.maintenances, r)
			k.shown = append(k.shown, row{"maintenance_id": r["id"], "status_page_id": page})
		})
	}
}

func (k *kuma) savedGroups(key, page string, list jsontext.Value) {
	k.each(key, list, func(r row) {
		group := page + "/" + r["id"]
		k.groups = append(k.groups, row{"id": group, "name": r["name"], "public": "1", "status_page_id": page})
		k.each(key, jsontext.Value(r["monitorList"]), func(m row) {
			m["active"] = "1"
			k.monitors = append(k.monitors, m)
			k.placements = append(k.placements, row{"monitor_id": m["id"], "group_id": group})
		})
	})
}

// each calls use with every object of a list. If elements returns an error, each adds a warning about the key.
func (k *kuma) each(key string, list jsontext.Value, use func(row)) {
	if len(list) == 0 || list.Kind() != '[' {
		return
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(list), jsontext.AllowDuplicateNames(true))
	if err := k.elements(decoder, func(value jsontext.Value) { use(flat(value)) }); err != nil {
		k.warn(key, "", "%s", err)
	}
}

// key returns the key of a record. It contains kind, because an id of Uptime Kuma is unique in its table only. The scope is the
// slug of the first page, so that the keys of two installations differ.
func (k *kuma) key(kind, id string) string {
	scope := "kuma"
	if len(k.pages) > 0 {
		scope = cmp.Or(slug(k.pages[0]["slug"]), scope)
	}
	return "uptime-kuma:" + scope + ":" + kind + "-" + id
}

func (k *kuma) write() {
	if len(k.pages) == 0 {
		k.pages = []row{{"id": "none", "slug": "status", "title": "Status", "published": "0"}}
		k.warn(k.key("page", "status"), "", "there is no status page; the components are on a disabled dashboard")
	}
	for _, p := range k.pages {
		k.page(p)
	}
	k.writeMonitors()
	seen := map[string]bool{}
	for _, i := range k.incidents { // the history has the incidents of the page again
		if !seen[i["id"]] {
			k.incident(i)
		}
		seen[i["id"]] = true
	}
	for _, m := range k.maintenances {
		if id := "m" + m["id"]; !seen[id] { // each page lists its maintenances
			seen[id] = true
			k.maintenance(m)
		}
	}
	k.outages()
}

func (k *kuma) page(p row) {
	key, on := k.key("page", p["slug"]), p.is("published")
	k.slugs[p["id"]] = p["slug"]
	d := lines.Dashboard{
		Key: key, Name: k.oneLine(key, "title", cmp.Or(p["title"], "Status"), lines.MaxName), Slug: slug(p["slug"]), Enabled: &on,
		Description: k.cut(key, "description", p["description"], 1000),
	}
	if path := "status/" + p["slug"]; p["slug"] != "" && len(path) < 190 {
		d.Aliases = map[string]string{path: "/", path + "/rss": "/feed.rss"}
	}
	if p["theme"] == "light" || p["theme"] == "dark" {
		d.Branding = &lines.Branding{Theme: p["theme"]}
	}
	for _, lost := range []string{"custom_css", "customCSS", "footer_text", "footerText", "password"} {
		if p[lost] != "" {
			k.warn(key, lost, "is not taken over")
		}
	}
	k.set.Dashboards = append(k.set.Dashboards, d)
}

// writeMonitors adds the components of the monitors. A monitor that no page shows becomes a hidden component, except a
// group of monitors, which is left out.
func (k *kuma) writeMonitors() {
	groups := map[string]row{}
	for _, g := range k.groups {
		groups[g["id"]] = g
	}
	k.order(groups)
	position := 0
	done := map[string]bool{}
	for _, m := range k.monitors {
		id := m["id"]
		if id == "" || done[id] {
			continue
		}
		done[id] = true
		key := k.key("monitor", id)
		c := lines.Component{Key: key, Name: cmp.Or(m["name"], "Monitor "+id), Description: m["description"], ExternalRefs: []string{"kuma:" + id}, Hidden: true}
		for _, p := range k.placements {
			g := groups[p["group_id"]]
			if p["monitor_id"] != id || g == nil || !g.is("public") {
				continue
			}
			place, known := k.slugs[g["status_page_id"]]
			if page := k.key("page", place); known && !slices.Contains(c.DashboardIDs, page) {
				c.Hidden, c.GroupName = false, cmp.Or(c.GroupName, g["name"])
				c.DashboardIDs = append(c.DashboardIDs, page)
			}
		}
		if c.Hidden && m["type"] == "group" {
			continue // a folder of monitors, which nobody outside sees
		}
		if c.Hidden {
			c.DashboardIDs = []string{k.set.Dashboards[0].Key}
		}
		position++
		place := position
		c.Position = &place
		k.component[id] = key
		k.builder.component(c)
	}
}

// order sorts the monitors as the pages show them: by page, group, and place in the group.
func (k *kuma) order(groups map[string]row) {
	pageOf := func(placement row) int {
		return slices.IndexFunc(k.pages, func(p row) bool { return p["id"] == groups[placement["group_id"]]["status_page_id"] })
	}
	slices.SortStableFunc(k.placements, func(one, other row) int {
		return cmp.Or(pageOf(one)-pageOf(other), groups[one["group_id"]].number("weight")-groups[other["group_id"]].number("weight"), one.number("weight")-other.number("weight"))
	})
	rank := map[string]int{}
	for i, p := range k.placements {
		if rank[p["monitor_id"]] == 0 {
			rank[p["monitor_id"]] = i + 1
		}
	}
	slices.SortStableFunc(k.monitors, func(one, other row) int {
		return cmp.Compare(cmp.Or(rank[one["id"]], len(k.placements)+1), cmp.Or(rank[other["id"]], len(k.placements)+1))
	})
}

// incident adds the event of an incident of a page, without components. An incident that is not active, or not pinned any more,
// is resolved.
func (k *kuma) incident(i row) {
	key := k.key("incident", i["id"])
	created := k.utc(key, "created_date", i["created_date"])
	if created == nil {
		k.warn(key, "created_date", "is missing; the incident is left out")
		return
	}
	e := lines.Event{
		Key: key, Type: "incident", Title: cmp.Or(i["title"], "Incident"), Status: "investigating", Severity: kumaSeverity[i["style"]],
		CreatedAt: created, StartAt: created, DashboardIDs: k.pagesOf([]string{i["status_page_id"]}),
	}
	k.entry(&e, lines.Entry{Key: key + "-text", At: *created, Status: "investigating", HTML: markdown(i["content"])})
	if !i.is("active") || !i.is("pin") {
		e.Status = "resolved"
		e.EndAt = cmp.Or(k.utc(key, "last_updated_date", i["last_updated_date"]), created)
	}
	k.event(e)
}

// pagesOf returns the keys of the pages with the ids. If no page is known, it returns the keys of all pages.
func (k *kuma) pagesOf(ids []string) []string {
	var keys []string
	for _, id := range ids {
		if place, known := k.slugs[id]; known {
			keys = append(keys, k.key("page", place))
		}
	}
	if len(keys) == 0 {
		for _, d := range k.set.Dashboards {
			keys = append(keys, d.Key)
		}
	}
	return keys
}

// utc reads a time of the database, which is in UTC. It returns nil for an empty text, and nil with a warning if the text is no
// time.
func (k *kuma) utc(key, field, text string) *time.Time {
	if text == "" {
		return nil
	}
	t, err := parseTime(text, time.UTC)
	if err != nil {
		k.warn(key, field, "%.60q is no time", text)
		return nil
	}
	return &t
}

// outages adds the incidents that follow from the beats of each monitor: from a beat that is down to the next beat that is up. It
// leaves out incidents that are shorter than Options.Outages, and, with a warning, those that have not ended.
func (k *kuma) outages() {
	names := map[string]string{}
	for _, c := range k.set.Components {
		names[c.Key] = c.Name
	}
	var down *time.Time
	lasting := func(key string) {
		if down != nil {
			k.warn(key, "outages", "the outage since %s has not ended; it is left out", down.Format(time.RFC3339))
		}
		down = nil
	}
	last := "" // key of the component of the last beat
	for _, beat := range k.beats {
		key := k.component[beat["monitor_id"]]
		at, err := parseTime(beat["time"], time.UTC)
		if err != nil || key == "" {
			continue
		}
		if key != last {
			lasting(last)
			last = key
		}
		switch {
		case beat["status"] == "0" && down == nil:
			down = &at
		case beat["status"] == "1" && down != nil:
			if at.Sub(*down) >= k.Outages {
				id := k.key("outage", beat["monitor_id"]+"-"+down.Format("20060102T150405Z"))
				e := lines.Event{
					Key: id, Type: "incident", Title: names[key] + " is down", Status: "resolved", Severity: "major_outage",
					StartAt: down, EndAt: &at, Components: []lines.Affected{{Key: key, Impact: "major_outage"}},
				}
				k.event(e)
			}
			down = nil
		}
	}
	lasting(last)
}
