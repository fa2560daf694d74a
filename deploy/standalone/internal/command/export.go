package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

type exportCommand struct {
	platform
	Dashboard string `name:"dashboard" placeholder:"SLUG" help:"Write this dashboard with its history as lines of JSON. All dashboards of the organization if absent."`
	Lines     string `name:"lines" placeholder:"OUT" help:"File to write, instead of the standard output. An existing file of lines is replaced; another file is not."`
	Gatus     bool   `name:"gatus" help:"Instead of the lines: write the configuration file of Gatus to the standard output. It posts to the platform with the token in Gatus's variable BELLBUOY_INBOUND_KEY: the id and the secret of a signing key with bearer, as KEYID:SECRET."`
	Database  string `name:"database" default:"/data/gatus.db" help:"File in which Gatus keeps what is down. Without it, Gatus would forget it at a restart."`
}

// Validate checks the settings. The parser calls it.
func (c *exportCommand) Validate() error { return c.check(appKey()) }

type checkedComponent struct {
	ID, Name, GroupName, CheckURL string
	ExternalRefs                  []string
}

// ref returns the external reference that the platform looks up for an alert of Gatus about the component.
func (c checkedComponent) ref() string { return "gatus:" + c.GroupName + "/" + c.Name }

// Help is printed below the description of the command.
func (exportCommand) Help() string {
	return "The lines have dashboards, components, events with their timelines, and subscribers; bellbuoy import lines reads them. " +
		"Each thing that no response has, such as the URL of an endpoint, is one line on the standard error output. " +
		"Exit code 0: the lines have everything. 1: nothing was written. 2: something is missing."
}

// Run writes the lines, or the file of Gatus.
func (c *exportCommand) Run(ctx context.Context) error {
	switch {
	case !c.Gatus:
		return c.lines(ctx)
	case c.Dashboard != "" || c.Lines != "":
		return errors.New("--gatus is for all components, and writes to the standard output")
	}
	return c.gatus(ctx)
}

// lines writes dashboards as lines of JSON.
func (c *exportCommand) lines(ctx context.Context) error {
	if c.Lines != "" {
		if err := replaceable(c.Lines); err != nil {
			return err
		}
	}
	set, err := transfer.Export(ctx, transfer.Paced(appSender{c.platform}), c.Dashboard)
	if err != nil {
		return err
	}
	if c.Lines == "" {
		err = set.Write(os.Stdout)
	} else {
		err = writeLines(c.Lines, set)
	}
	if err != nil {
		return err
	}
	printWarnings(set)
	fmt.Fprintln(os.Stderr, "The lines have no content of pages, templates, signing keys, members, audit log and delivery logs.")
	if len(set.Warnings) > 0 {
		return incomplete{len(set.Warnings)}
	}
	return nil
}

// gatus writes the configuration file, and a line on the standard error output for each component with a CheckURL that it
// leaves out. It returns an error if the file would have no component.
func (c *exportCommand) gatus(ctx context.Context) error {
	components, err := c.components(ctx)
	if err != nil {
		return err
	}
	problems := problemsOf(components)
	file := c.header()
	written := 0
	for i, component := range components {
		switch {
		case component.CheckURL == "":
		case problems[i] != "":
			fmt.Fprintf(os.Stderr, "bellbuoy: %s in group %s is left out: %s\n", strconv.Quote(component.Name), strconv.Quote(component.GroupName), problems[i])
		default:
			file += component.entry()
			written++
		}
	}
	if written == 0 {
		return errors.New("no component with a checkUrl can be written; set checkUrl of a component in the console or by PATCH /app/components/{id}")
	}
	_, err = os.Stdout.WriteString(file)
	return err
}

// components returns all components of the organization of the key.
func (c *exportCommand) components(ctx context.Context) (all []checkedComponent, err error) {
	query := url.Values{"limit": {"100"}}
	for {
		var page struct {
			Components []checkedComponent
			NextToken  string
		}
		if _, err := c.call(ctx, appKey(), http.MethodGet, "/app/components?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		if all = append(all, page.Components...); page.NextToken == "" {
			return all, nil
		}
		query.Set("nextToken", page.NextToken)
	}
}

// problemsOf returns a text for each component: why Gatus cannot check the component, or why the platform would not find the
// component for an alert of Gatus. The text is empty if there is no problem.
func problemsOf(components []checkedComponent) []string {
	owners := map[string]string{} // id of the component by external reference
	named, referred, keyed := map[[2]string]int{}, map[string]int{}, map[string]int{}
	for _, c := range components {
		named[[2]string{c.GroupName, c.Name}]++
		if c.CheckURL != "" {
			referred[c.ref()]++
			keyed[gatusKey(c.GroupName)+"_"+gatusKey(c.Name)]++
		}
		for _, ref := range c.ExternalRefs {
			owners[ref] = c.ID
		}
	}
	problems := make([]string, len(components))
	for i, c := range components {
		owner, owned := owners[c.ref()]
		switch text := c.GroupName + c.Name; {
		case strings.ContainsAny(text, `"\`):
			problems[i] = `Gatus refuses names with " or \`
		case containsAny(text, "[ENDPOINT_", "[RESULT_", "[ALERT_"), containsAny(text+c.CheckURL, literalDollar):
			problems[i] = "Gatus would replace a part of the text"
		case owned && owner != c.ID:
			problems[i] = "another component has the external reference " + strconv.Quote(c.ref())
		case !owned && named[[2]string{c.GroupName, c.Name}] > 1:
			problems[i] = "another component of the group has this name"
		case !owned && referred[c.ref()] > 1:
			problems[i] = "the platform could not tell its alerts from those of a component of another group: both are about " + strconv.Quote(c.ref())
		case keyed[gatusKey(c.GroupName)+"_"+gatusKey(c.Name)] > 1:
			problems[i] = "for Gatus, another component has this group and name; case, blanks and . , / _ # + & make no difference"
		}
	}
	return problems
}

func containsAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// gatusKey returns the form in which Gatus compares names of groups and of endpoints.
func gatusKey(name string) string {
	return strings.NewReplacer("/", "-", "_", "-", ".", "-", ",", "-", " ", "-", "#", "-", "+", "-", "&", "-").Replace(strings.TrimSpace(strings.ToLower(name)))
}

// literalDollar is a text that Gatus replaces with $.
const literalDollar = "__GATUS_LITERAL_DOLLAR_SIGN__"

// text returns a string of YAML in which Gatus expands no variable.
func text(value string) string { return strings.ReplaceAll(strconv.QuoteToGraphic(value), "$", "$$") }

// header returns the file up to the endpoints. With skip-invalid-config-update, Gatus ignores a changed file that is wrong.
func (c *exportCommand) header() string {
	return `# Written by bellbuoy export --gatus, which replaces it.
skip-invalid-config-update: true
storage: {type: sqlite, path: ` + text(c.Database) + `}
alerting:
  custom:
    url: ` + text(strings.TrimSuffix(c.URL, "/")+"/public/webhooks/inbound/gatus") + `
    method: POST
    headers: {Authorization: "Bearer ${BELLBUOY_INBOUND_KEY}", Content-Type: application/json}
    body: '{"name": "[ENDPOINT_NAME]", "group": "[ENDPOINT_GROUP]", "status": "[ALERT_TRIGGERED_OR_RESOLVED]", "description": "[ALERT_DESCRIPTION]"}'
    default-alert: {failure-threshold: 3, success-threshold: 2, send-on-resolved: true}
endpoints:
`
}

// entry returns the entry of the component in the list of endpoints. It has the condition CONNECTED, because without a
// response the status is 0 in Gatus, which is below 400.
func (c checkedComponent) entry() string {
	address := c.CheckURL
	if scheme, rest, found := strings.Cut(address, ":"); found { // Gatus knows schemes in lower case only
		address = strings.ToLower(scheme) + ":" + rest
	}
	return "  - name: " + text(c.Name) + "\n    group: " + text(c.GroupName) + "\n    url: " + text(address) +
		"\n    interval: 60s\n    conditions: [\"[CONNECTED] == true\", \"[STATUS] < 400\"]\n    alerts: [{type: custom}]\n"
}
