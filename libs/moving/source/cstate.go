package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

// The mapping of cState.
var (
	cstateSeverity = map[string]string{"down": "major_outage", "disrupted": "minor_outage", "notice": ""}
	// cstateWord is the status by the word with which an entry begins, such as *Monitoring* -.
	cstateWord = map[string]string{"investigating": "investigating", "identified": "identified", "monitoring": "monitoring", "resolved": "resolved", "update": "update"}
)

type cstateConfig struct {
	Title    string `yaml:"title"`
	BaseURL  string `yaml:"baseURL"`
	Language string `yaml:"languageCode"`
	Params   struct {
		Description string `yaml:"description"`
		Brand       string `yaml:"brand"`
		Categories  []struct {
			Name     string `yaml:"name"`
			Untitled bool   `yaml:"untitled"`
		} `yaml:"categories"`
		Systems []struct {
			Name        string `yaml:"name"`
			Description string `yaml:"description"`
			Category    string `yaml:"category"`
		} `yaml:"systems"`
	} `yaml:"params"`
}

type cstateIssue struct {
	Title         string    `yaml:"title"`
	Date          string    `yaml:"date"`
	Resolved      bool      `yaml:"resolved"`
	ResolvedWhen  string    `yaml:"resolvedWhen"`
	Severity      string    `yaml:"severity"`
	Affected      yaml.Node `yaml:"affected"`
	Informational bool      `yaml:"informational"`
	Draft         bool      `yaml:"draft"`
	Pin           bool      `yaml:"pin"`
}

// cstate is the state of readCState.
type cstate struct {
	*builder
	scope string
	known map[string]string // key by name of the system
	count int               // number of components
}

// readCState reads a repository of cState: config.yml and content/issues.
func readCState(_ context.Context, b *builder, place string) error {
	in, err := b.openInput(place)
	if err != nil {
		return err
	}
	defer in.close()
	c := &cstate{builder: b, known: map[string]string{}}
	if err := c.config(in); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	for _, name := range in.names {
		base := path.Base(name)
		if !strings.HasPrefix(name, "content/") || !strings.Contains(name, "issues/") || path.Ext(name) != ".md" || strings.HasPrefix(base, "_index") {
			continue
		}
		key := c.key("issue", strings.TrimSuffix(base, ".md"))
		content, err := in.read(name)
		if err == nil {
			err = c.issue(key, strings.TrimSuffix(base, ".md"), string(content))
		}
		if err != nil {
			b.warn(key, "", "%s; the issue is left out", err)
		}
	}
	return nil
}

func (c *cstate) key(kind, id string) string {
	return "cstate:" + c.scope + ":" + kind + "/" + strings.Join(strings.Fields(id), " ")
}

func (c *cstate) config(in *input) error {
	var content []byte
	err := errors.New("has no config.yml; give the folder of the repository")
	for _, name := range []string{"config.yml", "config.yaml", "hugo.yml", "hugo.yaml"} {
		if found, readErr := in.read(name); readErr == nil {
			content, err = found, nil
			break
		}
	}
	if err != nil {
		return err
	}
	var config cstateConfig
	if err := c.decodeYAML(content, &config); err != nil {
		return fmt.Errorf("config.yml %w", err)
	}
	c.scope = "page"
	if base, err := url.Parse(config.BaseURL); err == nil && base.Hostname() != "" {
		c.scope = base.Hostname()
	}
	key := c.key("page", "page")
	c.set.Dashboards = append(c.set.Dashboards, lines.Dashboard{
		Key: key, Name: c.oneLine(key, "title", cmp.Or(config.Title, "Status"), lines.MaxName), Slug: slug(config.Title),
		Description: c.cut(key, "description", richtext.PlainText(richtext.Markdown, config.Params.Description), 1000),
	})
	untitled := map[string]bool{}
	for _, category := range config.Params.Categories {
		untitled[category.Name] = category.Untitled
	}
	for _, system := range config.Params.Systems {
		if name := strings.TrimSpace(system.Name); name != "" && c.known[name] == "" {
			group := system.Category
			if untitled[group] {
				group = ""
			}
			c.system(name, group, richtext.PlainText(richtext.Markdown, system.Description), false)
		} else {
			c.warn(key, "systems", "the system %.60q is there twice or has no name; it is left out", system.Name)
		}
	}
	return nil
}

// system adds the component of a system and returns its key.
func (c *cstate) system(name, group, description string, hidden bool) string {
	key := c.key("system", name)
	c.known[name] = key
	c.count++
	position := c.count
	c.component(lines.Component{
		Key: key, Name: name, GroupName: group, Description: description, Hidden: hidden, Position: &position, DashboardIDs: []string{c.key("page", "page")},
	})
	return key
}

// issue adds the event of an issue. The file of an issue has a head of YAML between two lines of ---.
func (c *cstate) issue(key, file, content string) error {
	head, body, ok := frontMatter(content)
	if !ok {
		return errors.New("has no head between two lines ---")
	}
	var i cstateIssue
	if err := c.decodeYAML([]byte(head), &i); err != nil {
		return err
	}
	start, err := parseTime(i.Date, c.Zone)
	if err != nil {
		return fmt.Errorf("date: %.60q is no time", i.Date)
	}
	severity, known := cstateSeverity[i.Severity]
	if !known && i.Severity != "" {
		c.warn(key, "severity", "%.60q is unknown; the event has no severity", i.Severity)
	}
	e := lines.Event{Key: key, Type: "incident", Title: i.Title, Status: "investigating", Severity: severity, StartAt: &start, Aliases: alias("issues/" + file)}
	if e.EndAt = c.when(key, "resolvedWhen", i.ResolvedWhen); e.EndAt != nil && !i.Resolved && e.EndAt.Before(c.Now) && severity != "" {
		e.EndAt = nil // the issue is open, even if the date of its end has passed
	}
	switch {
	case severity == "" && e.EndAt != nil && !i.Informational:
		c.asMaintenance(&e, i.Resolved)
	case i.Resolved || i.Informational:
		e.Status = "resolved"
		if e.EndAt == nil {
			e.EndAt = &start
		}
	default:
		e.EndAt = nil
	}
	if i.Draft {
		off := false
		e.Publish = &off
	}
	c.affected(&e, i.Affected)
	c.timeline(&e, body, start)
	c.event(e)
	return nil
}

// asMaintenance turns the event of a notice that has an end into a maintenance.
func (c *cstate) asMaintenance(e *lines.Event, resolved bool) {
	e.Type, e.ScheduledStartAt, e.ScheduledEndAt = "maintenance", e.StartAt, e.EndAt
	switch {
	case resolved || !e.EndAt.After(c.Now):
		e.Status = "completed"
	case e.StartAt.After(c.Now):
		e.Status, e.StartAt, e.EndAt, e.AutoStart, e.AutoEnd = "planning", nil, nil, true, true
	default:
		e.Status, e.EndAt, e.AutoEnd = "inprogress", nil, true
	}
}

// alias returns a list with the former path, or nil if the path cannot be an alias.
func alias(former string) []string {
	if !aliasForm.MatchString(former) || strings.Contains(former, "..") {
		return nil
	}
	return []string{former}
}

var aliasForm = regexp.MustCompile(`^[A-Za-z0-9._/-]{1,200}$`)

// frontMatter separates the head of a file from its body.
func frontMatter(content string) (head, body string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(content, "\n "), "---\n")
	if !ok {
		return "", "", false
	}
	if head, body, ok = strings.Cut(rest, "\n---\n"); ok {
		return head, body, true
	}
	head, ok = strings.CutSuffix(strings.TrimRight(rest, "\n "), "\n---")
	return head, "", ok
}

// affected adds the components of an issue to its event. node is a list of names, or one name. A name that is no system
// becomes a hidden component.
func (c *cstate) affected(e *lines.Event, node yaml.Node) {
	names := []*yaml.Node{&node}
	if node.Kind == yaml.SequenceNode {
		names = node.Content
	}
	seen := map[string]bool{}
	for _, n := range names {
		name := strings.TrimSpace(n.Value)
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || name == "" || seen[name] {
			continue
		}
		seen[name] = true
		key := c.known[name]
		if key == "" {
			key = c.system(name, "", "", true)
		}
		a := lines.Affected{Key: key}
		if e.Type == "incident" && e.Severity == "" {
			a.Impact = "operational"
		}
		e.Components = append(e.Components, a)
	}
	if len(e.Components) == 0 {
		e.DashboardIDs = []string{c.key("page", "page")}
	}
}

var (
	track     = regexp.MustCompile(`\{\{<\s*track\s+"?([^"}>]*)"?\s*>\}\}`)
	shortcode = regexp.MustCompile(`\{\{[<%][^}]*[%>]\}\}`)
	opening   = regexp.MustCompile(`^\*{1,2}([A-Za-z-]+)\*{1,2}\s*(-\s*|\n|$)`)
)

// timeline adds the entries of a body, which has the newest entry first. An entry begins with a paragraph that begins
// with a word such as *Update* -, or after a paragraph with {{< track "time" >}}. A body without such paragraphs is one entry.
func (c *cstate) timeline(e *lines.Event, body string, start time.Time) {
	var blocks []string
	for block := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		if opening.MatchString(strings.TrimSpace(block)) || len(blocks) == 0 || track.MatchString(blocks[len(blocks)-1]) {
			blocks = append(blocks, "")
		}
		blocks[len(blocks)-1] += block + "\n\n"
	}
	for n := range blocks {
		block := blocks[len(blocks)-1-n]
		at, status := start, "update"
		if n == 0 {
			status = map[string]string{"incident": "investigating", "maintenance": "planning"}[e.Type]
		}
		if found := track.FindStringSubmatch(block); found != nil {
			if t, err := parseTime(found[1], c.Zone); err == nil {
				at = t
			} else {
				c.warn(e.Key, "track", "%.60q is no time; the entry has that of the start", found[1])
			}
		} else if n > 0 && len(e.Timeline) > 0 {
			at = e.Timeline[len(e.Timeline)-1].At
		}
		block = strings.TrimSpace(block)
		if found := opening.FindStringSubmatch(block); found != nil && cstateWord[strings.ToLower(found[1])] != "" {
			block = block[len(found[0]):] // the text of the entry does not have the word
			if word := cstateWord[strings.ToLower(found[1])]; e.Type == "incident" && (n > 0 || word != "update") {
				status = word
			}
		}
		text := strings.TrimSpace(shortcode.ReplaceAllString(block, ""))
		if text = strings.Trim(text, "-\n "); text == "" {
			continue
		}
		c.entry(e, lines.Entry{Key: fmt.Sprintf("%s/%d", e.Key, n+1), At: at, Status: status, HTML: markdown(text)})
	}
}
