package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

// The mapping of Upptime: the severity for the first words that the title of an issue contains.
var upptimeSeverity = []struct{ words, severity string }{
	{"is down", "major_outage"}, {"degraded", "minor_performance"},
}

type upptimeConfig struct {
	Owner string `yaml:"owner"`
	Repo  string `yaml:"repo"`
	Sites []struct {
		Name string `yaml:"name"`
		Slug string `yaml:"slug"`
	} `yaml:"sites"`
	Website struct {
		Name    string `yaml:"name"`
		Domain  string `yaml:"cname"`
		Message string `yaml:"introMessage"`
	} `yaml:"status-website"`
}

type upptimeIssue struct {
	Number    int    `json:"number"`
	Title     string `json:"title"`
	Body      string `json:"body"`
	State     string `json:"state"`
	CreatedAt string `json:"created_at"`
	ClosedAt  string `json:"closed_at"`
	Labels    []struct {
		Name string `json:"name"`
	} `json:"labels"`
	PullRequest jsontext.Value `json:"pull_request"`
}

type upptimeComment struct {
	ID        int64  `json:"id"`
	IssueURL  string `json:"issue_url"`
	Body      string `json:"body"`
	CreatedAt string `json:"created_at"`
}

// upptime is the state of readUpptime.
type upptime struct {
	*builder
	scope    string
	known    map[string]string // key of the component by slug
	issues   []upptimeIssue
	comments map[string][]upptimeComment // by number of the issue
}

// readUpptime reads .upptimerc.yml and the saved JSON of /repos/{owner}/{repo}/issues and /issues/comments in a folder.
func readUpptime(_ context.Context, b *builder, place string) error {
	in, err := b.openInput(place)
	if err != nil {
		return err
	}
	defer in.close()
	u := &upptime{builder: b, known: map[string]string{}, comments: map[string][]upptimeComment{}}
	content, err := in.read(".upptimerc.yml")
	if err != nil || !in.folder {
		return fmt.Errorf("%s has no .upptimerc.yml; give the folder of the repository", place)
	}
	if err := u.config(content); err != nil {
		return fmt.Errorf("%s: .upptimerc.yml %w", place, err)
	}
	for _, name := range in.names {
		if path.Ext(name) != ".json" || strings.Contains(name, "/") && !strings.HasPrefix(name, "issues") {
			continue
		}
		content, err := in.read(name)
		if err == nil {
			decoder := jsontext.NewDecoder(bytes.NewReader(content), jsontext.AllowDuplicateNames(true))
			if decoder.PeekKind() != '[' {
				continue // package.json and the like
			}
			err = u.elements(decoder, func(value jsontext.Value) { u.element(name, value) })
		}
		if err != nil {
			b.warn(fileKey("upptime", name), "", "%s", err)
		}
	}
	for _, i := range u.issues {
		u.issue(i)
	}
	return nil
}

func (u *upptime) key(kind, id string) string { return "upptime:" + u.scope + ":" + kind + "-" + id }

func (u *upptime) config(content []byte) error {
	var config upptimeConfig
	if err := u.decodeYAML(content, &config); err != nil {
		return err
	}
	u.scope = "page"
	if config.Owner != "" && config.Repo != "" && !strings.ContainsAny(config.Owner+config.Repo, ": \t\n") {
		u.scope = config.Owner + "/" + config.Repo
	}
	key := u.key("page", "page")
	d := lines.Dashboard{
		Key: key, Name: u.oneLine(key, "name", cmp.Or(config.Website.Name, config.Repo, "Status"), lines.MaxName), Slug: slug(cmp.Or(config.Website.Name, config.Repo)),
		Description: u.cut(key, "introMessage", richtext.PlainText(richtext.Markdown, config.Website.Message), 1000),
	}
	if config.Website.Domain != "" {
		d.CustomDomains = []string{config.Website.Domain}
	}
	u.set.Dashboards = append(u.set.Dashboards, d)
	for _, site := range config.Sites {
		id := cmp.Or(site.Slug, slugify(site.Name))
		if id == "" || u.known[id] != "" {
			u.warn(key, "sites", "the site %.60q is there twice or has no name; it is left out", site.Name)
			continue
		}
		u.site(id, site.Name, false)
	}
	return nil
}

// slugify makes the label of a site from its name, as Upptime does.
func slugify(name string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

func (u *upptime) site(id, name string, hidden bool) string {
	key, position := u.key("site", id), len(u.known)+1
	u.known[id] = key
	u.component(lines.Component{Key: key, Name: cmp.Or(name, id), Hidden: hidden, Position: &position, DashboardIDs: []string{u.key("page", "page")}})
	return key
}

// element decodes a record and keeps it as an issue or as a comment. It leaves out any other record, with a warning.
func (u *upptime) element(file string, value jsontext.Value) {
	var members map[string]jsontext.Value
	if _, text := record(value, &members); text != "" {
		u.warn(fileKey("upptime", file), "", "a record is no JSON object; it is left out")
		return
	}
	var field, text string
	switch {
	case members["issue_url"] != nil:
		var c upptimeComment
		if field, text = record(value, &c); text == "" {
			number := path.Base(c.IssueURL)
			u.comments[number] = append(u.comments[number], c)
		}
	case members["number"] != nil && members["labels"] != nil:
		field, text = keepRecord(value, &u.issues)
	default:
		text = "a record is no issue and no comment; it is left out"
	}
	if text != "" {
		u.warn(fileKey("upptime", file), field, "%s", text)
	}
}

// issue adds the event of an issue with the label status or maintenance. It leaves out other issues and pull requests.
func (u *upptime) issue(i upptimeIssue) {
	labels := map[string]bool{}
	for _, label := range i.Labels {
		labels[label.Name] = true
	}
	if i.PullRequest != nil || !labels["status"] && !labels["maintenance"] {
		return
	}
	number := fmt.Sprint(i.Number)
	key := u.key("issue", number)
	start, err := parseTime(i.CreatedAt, time.UTC)
	if err != nil {
		u.warn(key, "created_at", "%.60q is no time; the issue is left out", i.CreatedAt)
		return
	}
	e := lines.Event{
		Key: key, Type: "incident", Status: "investigating", Title: strings.TrimSpace(strings.TrimLeft(i.Title, "🛑⚠️\uFE0F ")),
		CreatedAt: &start, StartAt: &start, Aliases: []string{"incident/" + number},
	}
	if i.State == "closed" {
		e.Status, e.EndAt = "resolved", cmp.Or(u.when(key, "closed_at", i.ClosedAt), &start)
	}
	if labels["maintenance"] {
		if err := u.maintenance(&e, i); err != nil {
			u.warn(key, "body", "%s; the maintenance is left out", err)
			return
		}
	} else {
		u.incident(&e, i)
	}
	if len(e.Components) == 0 {
		e.DashboardIDs = []string{u.key("page", "page")}
	}
	u.timeline(&e, i, start)
	u.event(e)
}

// incident sets the severity by the title, and the components by the labels that are slugs of sites. If there is no
// such label, the first label with the form of a slug, except status, becomes a hidden component.
func (u *upptime) incident(e *lines.Event, i upptimeIssue) {
	for _, s := range upptimeSeverity {
		if e.Severity == "" && strings.Contains(strings.ToLower(i.Title), s.words) {
			e.Severity = s.severity
		}
	}
	if e.Severity == "" {
		e.Severity = "minor_outage"
		u.warn(e.Key, "title", "says neither down nor degraded; the severity becomes minor_outage")
	}
	unknown := ""
	for _, label := range i.Labels {
		if at := u.known[label.Name]; at != "" {
			u.affect(e, at)
		} else if label.Name != "status" && unknown == "" && label.Name == slugify(label.Name) {
			unknown = label.Name
		}
	}
	if len(e.Components) == 0 && unknown != "" {
		u.affect(e, u.site(unknown, "", true))
	}
}

func (u *upptime) affect(e *lines.Event, key string) {
	if !slices.ContainsFunc(e.Components, func(a lines.Affected) bool { return a.Key == key }) {
		e.Components = append(e.Components, lines.Affected{Key: key})
	}
}

var (
	htmlComment = regexp.MustCompile(`(?s)<!--(.*?)-->`)
	setting     = regexp.MustCompile(`(?m)^\s*(start|end|expectedDown|expectedDegraded)\s*:\s*(.*?)\s*$`)
)

// maintenance makes the event of an issue a maintenance, with the times and the sites from the HTML comments of the issue. It
// returns an error if start or end is missing or no time.
func (u *upptime) maintenance(e *lines.Event, i upptimeIssue) error {
	values := map[string]string{}
	for _, comment := range htmlComment.FindAllStringSubmatch(i.Body, -1) {
		for _, found := range setting.FindAllStringSubmatch(comment[1], -1) {
			values[found[1]] = found[2]
		}
	}
	start, errStart := parseTime(values["start"], u.Zone)
	end, errEnd := parseTime(values["end"], u.Zone)
	if errStart != nil || errEnd != nil {
		return errors.New("has no comment with start and end")
	}
	e.Type, e.ScheduledStartAt, e.ScheduledEndAt, e.StartAt, e.EndAt = "maintenance", &start, &end, nil, nil
	if u.progress(e); i.State == "closed" {
		e.Status, e.StartAt, e.EndAt, e.AutoStart, e.AutoEnd = "completed", &start, &end, false, false
	}
	for _, id := range strings.Split(values["expectedDown"]+","+values["expectedDegraded"], ",") {
		if id = strings.TrimSpace(id); id != "" && u.known[id] != "" {
			u.affect(e, u.known[id])
		} else if id != "" {
			u.warn(e.Key, "expectedDown", "%.60q is no site", id)
		}
	}
	return nil
}

// timeline adds an entry for the text of the issue, and one for each of its comments.
func (u *upptime) timeline(e *lines.Event, i upptimeIssue, start time.Time) {
	status := map[string]string{"incident": "investigating", "maintenance": "planning"}[e.Type]
	if text := strings.TrimSpace(htmlComment.ReplaceAllString(i.Body, "")); text != "" {
		u.entry(e, lines.Entry{Key: e.Key + "-text", At: start, Status: status, HTML: markdown(text)})
	}
	for _, c := range u.comments[fmt.Sprint(i.Number)] {
		at, err := parseTime(c.CreatedAt, time.UTC)
		if err != nil || strings.TrimSpace(c.Body) == "" {
			u.warn(e.Key, "comments", "the comment %d has no time or no text; it is left out", c.ID)
			continue
		}
		status := "update"
		if e.Status == "resolved" && strings.HasPrefix(c.Body, "**Resolved:**") {
			status = "resolved"
		}
		u.entry(e, lines.Entry{Key: fmt.Sprintf("%s-comment-%d", e.Key, c.ID), At: at, Status: status, HTML: markdown(c.Body)})
	}
}
