package pages

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/source"
	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// movePath is the path of the page that imports the status page of another product.
//
// Decision: the console stores nothing of an import. The browser keeps the lines of the source, and sends them piece after
// piece with the State of package transfer. So an import goes on after a restart of the console. The key of a source is
// only in a field of the page. Each request that needs the key contains it, and no response does. The browser also stores
// the id of the run and the outcomes that an undo needs, so that a member can undo or go on after a reload.
const movePath = "/import"

// moveTable returns the routes of the import of a status page.
func (p *pages) moveTable(role string) []route {
	return []route{
		{get, movePath, signedIn, role, p.move},
		{post, movePath, signedIn, role, p.move},
		{get, movePath + "/undo", signedIn, role, p.moveUndo},
		{post, movePath + "/undo", signedIn, role, p.moveUndo},
		{post, "/parts" + movePath + "/statuspage", signedIn, role, p.moveDownload},
		{post, "/parts" + movePath + "/read", signedIn, role, p.moveRead},
		{post, "/parts" + movePath + "/plan", signedIn, role, p.movePiece(true)},
		{post, "/parts" + movePath + "/write", signedIn, role, p.movePiece(false)},
		{post, "/parts" + movePath + "/undo", signedIn, role, p.moveUndoPiece},
	}
}

// moveSources returns the products whose files package source can read. The hint names what the member must provide.
func moveSources() []forms.Option {
	return []forms.Option{
		{Value: "statuspage", Label: "Statuspage (Atlassian)", Hint: "The id of the page and a key, or a folder of saved JSON."},
		{Value: "cachet", Label: "Cachet", Hint: "The SQLite database, saved JSON or CSV. Also the time zone."},
		{Value: "uptime-kuma", Label: "Uptime Kuma", Hint: "The file kuma.db, or saved JSON."},
		{Value: "cstate", Label: "cState", Hint: "The folder of the repository."},
		{Value: "upptime", Label: "Upptime", Hint: "A folder with .upptimerc.yml and the issues as JSON."},
		{Value: "openstatus", Label: "OpenStatus", Hint: "The database file."},
		{Value: "gatus", Label: "Gatus", Hint: "The configuration in YAML."},
		{Value: "lines", Label: "Bellbuoy", Hint: "A file of lines, from “bellbuoy export”."},
	}
}

// moveKinds returns the kinds of records that an import can include.
func moveKinds() []forms.Option {
	return []forms.Option{
		{Value: "components", Label: "Components"}, {Value: "events", Label: "Incidents and maintenances, with their timelines"},
		{Value: "subscribers", Label: "Subscribers", Hint: "Only addresses that have agreed before."}, {Value: "endpoints", Label: "Webhooks"},
	}
}

// moveForm returns the form of the page. dashboards are those into which the member can import.
func moveForm(dashboards []app.Dashboard) *forms.Form {
	into := &forms.Field{Kind: forms.Select, Name: "into", Label: "Import into", Options: []forms.Option{{Label: "A new dashboard, not shown yet"}}, Plain: true}
	for _, d := range dashboards {
		into.Options = append(into.Options, forms.Option{Value: d.Slug, Label: d.Name})
	}
	form := forms.New(movePath, "Show the plan",
		&forms.Field{Kind: forms.Radios, Name: "source", Label: "Where from?", Options: moveSources(), Required: true, Missing: "Choose the product."},
		&forms.Field{Kind: forms.File, Name: "file", Label: "File", Plain: true},
		&forms.Field{Kind: forms.File, Name: "folder", Label: "Or a folder", Plain: true},
		into,
		&forms.Field{Kind: forms.Text, Name: "slug", Label: "Address of a new dashboard", Max: 63, Hint: "The part after /d/. Empty: as the source has it."},
		&forms.Field{Kind: forms.Ticks, Name: "only", Label: "What to take", Options: moveKinds(), Values: []string{"components", "events"}},
		&forms.Field{Kind: forms.Text, Name: "timezone", Label: "Time zone of times without one", Placeholder: "Europe/Berlin", Hint: "UTC if empty."},
		&forms.Field{Kind: forms.Text, Name: "outages", Label: "Outages that become incidents", Placeholder: "5m", Hint: "For Uptime Kuma: the shortest outage, such as 5m. Empty: none."},
		&forms.Field{Kind: forms.Tick, Name: "ask", Label: "Ask owners of unconfirmed addresses", Hint: "Else these addresses are left out."},
		&forms.Field{Kind: forms.Tick, Name: "force", Label: "Replace what members have changed since an earlier import"},
	)
	for _, name := range []string{"step", "lines", "run", "from", "state", "record"} {
		form.Fields = append(form.Fields, &forms.Field{Kind: forms.Hidden, Name: name, Max: web.MaxBody})
	}
	form.Cancel = dashboardsPath
	return form
}

// movePage is the data of move.html.
type movePage struct {
	URL    string // address of the App interface, which the file of a run names
	Form   *forms.Form
	Result *moveResult // nil: nothing is read yet
}

// Nothing returns an empty result. The script adds the plan to its lists.
func (movePage) Nothing() moveResult { return moveResult{} }

// lineNumber matches the number of a line in a text. Beside the name of the record, a page shows the text without the number.
var lineNumber = regexp.MustCompile(`\bline \d+: `)

// move is the page that imports a status page. With JavaScript, the script uses the handlers of the paths below /parts
// instead. Without JavaScript, one step shows the plan and the next steps write. The lines are in the form.
func (p *pages) move(v *visit) error {
	listed, err := v.firstDashboards()
	if err != nil {
		return err
	}
	form := moveForm(listed.Dashboards)
	v.fill(form)
	data := movePage{URL: p.Links.AppBaseURL, Form: form}
	show := func(status int) error {
		return v.showPage(status, "move.html", &page{Title: "Import a status page", Data: data, Move: data.Result == nil})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	form.Field("into").Options = nil // there may be more dashboards than the page lists
	files := &upload{}
	files.take(form)
	defer files.remove()
	return v.submit(form, func() error {
		result, err := v.moveStep(form, files)
		if err != nil {
			return err
		}
		if data.Result = result; !form.OK() {
			data.Form = moveForm(listed.Dashboards)
			for _, field := range data.Form.Fields {
				if field.Kind != forms.Hidden {
					field.Values, field.Problem = form.Field(field.Name).Values, form.Field(field.Name).Problem
				}
			}
			data.Form.Problem = form.Problem
			return show(http.StatusUnprocessableEntity)
		}
		return show(http.StatusOK)
	}, show)
}

// moveStep plans an import, or writes pieces of an import. If the source or its lines are wrong, or the plan would take too
// long, it sets a problem of the form and returns nil.
func (v *visit) moveStep(form *forms.Form, files *upload) (*moveResult, error) {
	ctx := v.Request.Context()
	result := &moveResult{Written: form.Value("step") == "write", RunID: form.Value("run")}
	state := transfer.State{}
	var text string
	var set *lines.Set
	if result.Written {
		text = form.Value("lines")
		var err error
		if set, err = lines.Read(ctx, strings.NewReader(text)); err != nil {
			form.Problem = err.Error()
			return nil, nil
		}
		if uuid.Validate(result.RunID) != nil || form.Value("state") != "" && unmarshal(form.Value("state"), &state) != nil {
			form.Problem = "The form of this page was changed. Begin again."
			return nil, nil
		}
		state.RunID = result.RunID
	} else {
		if set, result.Note = v.readSource(form, files); set == nil {
			return nil, nil
		}
		result.RunID, result.Warnings = uuid.NewString(), set.Warnings
		set.Warnings = nil
		var out strings.Builder
		_ = set.Write(&out) // a Builder never fails
		if text = out.String(); sizeInForm(text) > web.MaxBody/2 {
			form.Problem = "Without JavaScript, an import can have about half a megabyte. Turn on JavaScript, or use the command bellbuoy import."
			return nil, nil
		}
	}
	result.Names = namesIn(set)
	pieces := transfer.Split(set)
	from := position(form.Value("from"), len(pieces), 0)
	engine := v.engine(form.Ticked("ask"), form.Ticked("force"))
	done := from
	for deadline := time.Now().Add(importTime); done < len(pieces) && time.Now().Before(deadline); done++ {
		run := engine.Plan
		if result.Written {
			run = engine.Write
		}
		outcomes, err := run(ctx, &state, pieces[done])
		result.Outcomes = append(result.Outcomes, outcomes...)
		if err != nil && !result.Written {
			return nil, problemOfMove(form, err)
		}
		if err != nil {
			result.Stopped = textOfMove(err)
			break
		}
	}
	if done < len(pieces) && result.Stopped == "" {
		result.Stopped = "The time of one request has run out."
	}
	if done < len(pieces) && !result.Written {
		form.Problem = "The plan takes too long without JavaScript. Turn on JavaScript, or use the command bellbuoy import."
		return nil, nil
	}
	result.finish(form, text, state, done, len(pieces))
	return result, nil
}

// engine returns the engine that sends the requests of the member.
func (v *visit) engine(ask, force bool) *transfer.Engine {
	return &transfer.Engine{Sender: app.Platform{Caller: v.app}, Ask: ask, Force: force}
}

// sourceOptions returns the options of the form for reading the source. It sets the problems of wrong values.
func sourceOptions(form *forms.Form, now time.Time) source.Options {
	o := source.Options{Only: form.Field("only").Values, Now: now, Bounded: true}
	if len(o.Only) == 0 {
		form.Field("only").Problem = "Choose what to take."
	}
	if name := form.Value("timezone"); name != "" {
		zone, err := time.LoadLocation(name)
		if err != nil || name == "Local" {
			form.Field("timezone").Problem = "Enter a time zone, such as Europe/Berlin."
		}
		o.Zone = zone
	}
	if text := form.Value("outages"); text != "" {
		shortest, err := time.ParseDuration(text)
		if err != nil || shortest <= 0 || form.Value("source") != "uptime-kuma" {
			form.Field("outages").Problem = "Enter a time for Uptime Kuma, such as 5m."
		}
		o.Outages = shortest
	}
	if slug := form.Value("slug"); slug != "" && !lines.IsSlug(slug) {
		form.Field("slug").Problem = "Enter 3 to 63 of a-z, 0-9 and -."
	}
	if form.Value("into") != "" && form.Value("slug") != "" {
		form.Field("slug").Problem = "Choose a dashboard, or enter the address of a new one."
	}
	return o
}

// beginReading waits until the console reads no other import, because two imports could need more memory than the console has.
// It returns an error if ctx ends first. After reading, the caller calls release.
func (p *pages) beginReading(ctx context.Context) (release func(), err error) {
	select {
	case p.reading <- struct{}{}:
		return func() { <-p.reading }, nil
	case <-ctx.Done():
		return nil, errors.New("The console reads another import. Send yours again in a moment.")
	}
}

// slugOf returns the slug of the dashboard into which the form imports. It is empty if the source names the dashboard.
func slugOf(form *forms.Form) string { return cmp.Or(form.Value("into"), form.Value("slug")) }

// readSource returns the prepared lines of the source in files. If the source is missing or wrong, it sets a problem of the
// form and returns nil. note says how many subscribers and webhooks of the source the member did not choose.
func (v *visit) readSource(form *forms.Form, files *upload) (set *lines.Set, note string) {
	o := sourceOptions(form, v.pages.Process.Now())
	if !form.OK() {
		return nil, ""
	}
	ctx, cancel := context.WithTimeout(v.Request.Context(), readTime)
	defer cancel()
	release, err := v.pages.beginReading(ctx)
	if err != nil {
		form.Problem = err.Error()
		return nil, ""
	}
	set, left, err := files.read(ctx, form.Value("source"), o, release)
	if err == nil {
		if err = transfer.Prepare(set, slugOf(form)); err != nil {
			form.Field("slug").Problem = firstUpper(err.Error()) + "."
			return nil, ""
		}
		return set, noteOf(left)
	}
	form.Field("file").Problem = firstUpper(err.Error()) + "."
	return nil, ""
}

// noteOf returns a sentence with the numbers of subscribers and webhooks of the source that the member did not choose. It is
// empty if there are none.
func noteOf(left map[string]int) string {
	var all []string
	for _, kind := range [][2]string{{"subscribers", "subscriber"}, {"endpoints", "webhook"}} {
		if n := left[kind[0]]; n > 0 {
			all = append(all, counted(n, kind[1]))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "The source also has " + strings.Join(all, " and ") + ", which you did not choose."
}

// firstUpper returns a text with a capital first letter.
func firstUpper(text string) string {
	_, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:size]) + text[size:]
}

// undoable returns the outcomes that an undo needs.
func undoable(outcomes []transfer.Outcome) []transfer.Outcome {
	return slices.DeleteFunc(slices.Clone(outcomes), func(o transfer.Outcome) bool { return !o.Undoable() })
}
