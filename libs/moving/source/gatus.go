package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

// The mapping of Gatus: the types of announcements. An announcement of the type operational closes the outage or warning before
// it.
var gatusSeverity = map[string]string{"outage": "major_outage", "warning": "minor_performance", "information": "", "none": "", "": "", "operational": ""}

type gatusConfig struct {
	Endpoints     []gatusEndpoint     `yaml:"endpoints"`
	External      []gatusEndpoint     `yaml:"external-endpoints"`
	Suites        []gatusEndpoint     `yaml:"suites"`
	Announcements []gatusAnnouncement `yaml:"announcements"`
	UI            struct {
		Title       string `yaml:"title"`
		Header      string `yaml:"header"`
		Description string `yaml:"description"`
		Link        string `yaml:"link"`
	} `yaml:"ui"`
}

type gatusEndpoint struct {
	Name    string `yaml:"name"`
	Group   string `yaml:"group"`
	Enabled *bool  `yaml:"enabled"`
}

type gatusAnnouncement struct {
	Timestamp string `yaml:"timestamp"`
	Type      string `yaml:"type"`
	Message   string `yaml:"message"`
	Archived  bool   `yaml:"archived"`
	at        time.Time
}

// gatus is the state of readGatus.
type gatus struct {
	*builder
	scope string
	known map[string]bool // endpoints that were written, by group/name
}

// readGatus reads the configuration of Gatus: a file, or a folder whose files Gatus merges. Announcements are the only
// history in a configuration.
func readGatus(_ context.Context, b *builder, place string) error {
	in, err := b.openInput(place)
	if err != nil {
		return err
	}
	defer in.close()
	var whole gatusConfig
	var problems error
	read := 0
	for _, name := range in.names {
		if in.folder && path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" {
			continue
		}
		content, err := in.read(name)
		var config gatusConfig
		if err == nil {
			err = b.decodeYAML(content, &config)
		}
		if err != nil {
			problems = fmt.Errorf("%s %w", name, err)
			b.warn(fileKey("gatus", name), "", "%s", err)
			continue
		}
		read++
		whole.Endpoints = append(whole.Endpoints, config.Endpoints...)
		whole.External = append(whole.External, config.External...)
		whole.Suites = append(whole.Suites, config.Suites...)
		whole.Announcements = append(whole.Announcements, config.Announcements...)
		if config.UI.Title+config.UI.Header != "" {
			whole.UI = config.UI
		}
	}
	if read == 0 {
		return cmp.Or(problems, errors.New(place+" has no configuration of Gatus"))
	}
	if len(whole.Endpoints)+len(whole.External)+len(whole.Suites)+len(whole.Announcements) == 0 {
		return fmt.Errorf("%s has no endpoint and no announcement of Gatus", place)
	}
	g := &gatus{builder: b, known: map[string]bool{}}
	g.write(whole)
	return nil
}

func (g *gatus) key(id string) string {
	return "gatus:" + g.scope + ":" + strings.Join(strings.Fields(id), " ")
}

func (g *gatus) write(config gatusConfig) {
	name := cmp.Or(config.UI.Header, config.UI.Title, "Status")
	g.scope = cmp.Or(slug(name), "page")
	key := g.key("page")
	d := lines.Dashboard{
		Key: key, Name: g.oneLine(key, "name", name, lines.MaxName), Slug: slug(name),
		Description: g.cut(key, "description", config.UI.Description, 1000),
	}
	if strings.HasPrefix(config.UI.Link, "https://") || strings.HasPrefix(config.UI.Link, "http://") {
		d.Links = &lines.Links{HomepageURL: config.UI.Link}
	}
	g.set.Dashboards = append(g.set.Dashboards, d)
	for _, e := range slices.Concat(config.Endpoints, config.External, config.Suites) {
		g.endpoint(e)
	}
	g.announcements(config.Announcements)
}

// endpoint adds the component of an endpoint or suite. Inbound messages of Gatus find the component by its external reference.
func (g *gatus) endpoint(e gatusEndpoint) {
	id := e.Group + "/" + e.Name
	if strings.TrimSpace(e.Name) == "" || g.known[id] {
		g.warn(g.key("page"), "endpoints", "the endpoint %.100q is there twice or has no name; it is left out", id)
		return
	}
	g.known[id] = true
	position := len(g.known)
	c := lines.Component{
		Key: g.key("endpoint/" + id), Name: e.Name, GroupName: e.Group, Position: &position, Hidden: e.Enabled != nil && !*e.Enabled,
		DashboardIDs: []string{g.key("page")},
	}
	if ref := "gatus:" + id; len(ref) <= 255 {
		c.ExternalRefs = []string{ref}
	}
	g.component(c)
}

// announcements adds the events of the announcements, oldest first.
func (g *gatus) announcements(all []gatusAnnouncement) {
	var valid []gatusAnnouncement
	for _, a := range all {
		var err error
		severity, known := gatusSeverity[a.Type]
		if a.at, err = parseTime(a.Timestamp, g.Zone); err != nil || strings.TrimSpace(a.Message) == "" {
			g.warn(g.key("page"), "announcements", "the announcement of %.60q has no time or no message; it is left out", a.Timestamp)
			continue
		}
		if !known && severity == "" {
			g.warn(g.key("page"), "announcements", "the type %.60q of the announcement of %s is unknown; the event has no severity", a.Type, a.Timestamp)
		}
		valid = append(valid, a)
	}
	slices.SortStableFunc(valid, func(one, other gatusAnnouncement) int { return one.at.Compare(other.at) })
	var open *lines.Event // outage or warning that is not closed yet
	var events []*lines.Event
	times := map[string]int{}
	for _, a := range valid {
		id := a.at.Format("20060102T150405Z")
		if times[id]++; times[id] > 1 {
			id = fmt.Sprintf("%s-%d", id, times[id])
		}
		key, at := g.key("announcement/"+id), a.at
		entry := lines.Entry{Key: key + "/text", At: at, Status: "investigating", HTML: markdown(a.Message)}
		if a.Type == "operational" && open != nil {
			entry.Status = "resolved"
			g.entry(open, entry)
			open.Status, open.EndAt, open = "resolved", &at, nil
			continue
		}
		e := &lines.Event{
			Key: key, Type: "incident", Title: title(a.Message), Status: "investigating", Severity: gatusSeverity[a.Type],
			StartAt: &at, DashboardIDs: []string{g.key("page")},
		}
		g.entry(e, entry)
		if a.Archived || a.Type == "operational" {
			e.Status, e.EndAt = "resolved", &at
		}
		if e.Severity != "" {
			open = e
		}
		events = append(events, e)
	}
	for _, e := range events {
		g.event(*e)
	}
}

// title makes a title of the first line of a message.
func title(message string) string {
	line, _, _ := strings.Cut(richtext.PlainText(richtext.Markdown, message), "\n")
	return cmp.Or(richtext.Shorten(strings.TrimSpace(line), 100), "Announcement")
}
