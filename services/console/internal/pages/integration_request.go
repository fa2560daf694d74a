package pages

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// Values of the query parameter start, which names the template that the form has at first. Its other values are the names of
// the shipped templates. An empty value means that the messages have no template.
const (
	startOwn  = "own"  // a template with ownBody
	startKept = "kept" // the stored template
)

// ownBody is the body that the form has at first for startOwn.
const ownBody = `{
  "title": "{{.event.title}}",
  "status": "{{.event.status}}",
  "message": "{{cut 500 .timelineEntry.messageText}}"
}`

// startViews returns the links to the form without a template, with each shipped template, and with ownBody. base is the
// path of the page, with "?" or "&" at its end. at is the value of start in the current link.
func startViews(base, at string) []view {
	link := func(start, label string) view { return view{base + "start=" + start, label, at == start} }
	return []view{
		{strings.TrimRight(base, "?&"), "No template", at == ""},
		link("pagerduty", "PagerDuty"), link("ntfy", "ntfy"), link("zulip", "Zulip"), link("matrix", "Matrix"), link(startOwn, "Own body"),
	}
}

// startHint returns a text about the URL and the values that a shipped template needs.
func startHint(start string) string {
	return map[string]string{
		"pagerduty": "Add an integration “Events API v2” to a service of PagerDuty. The URL is https://events.pagerduty.com/v2/enqueue, and the integration key is the secret routing_key. Choose only messages about incidents: a maintenance that starts would open an alert.",
		"ntfy":      "The URL is the root of the server, such as https://ntfy.sh/, and the topic is a secret, because whoever knows it can read it.",
		"zulip":     "Add an incoming webhook bot in Zulip. The URL ends with /api/v1/external/slack_incoming?api_key=…&stream=….",
		"matrix":    "The URL ends with /_matrix/client/v3/rooms/{room id}/send/m.room.message, and the access token of a user in the room is in the header Authorization.",
	}[start]
}

// startPlaceholder returns an example of the URL that a shipped template needs.
func startPlaceholder(start string) string {
	return map[string]string{
		"pagerduty": "https://events.pagerduty.com/v2/enqueue", "ntfy": "https://ntfy.sh/", "zulip": "https://example.zulipchat.com/api/v1/external/slack_incoming?api_key=…&stream=…",
		"matrix": "https://matrix.example.com/_matrix/client/v3/rooms/!room:example.com/send/m.room.message",
	}[start]
}

// addTemplateFields adds the fields of a template to the form. start names the template that fills them: kept, ownBody or a
// shipped template. It adds nothing if start is empty, and returns errNotFound if there is no such template. kept is the stored
// template, or nil.
func (v *visit) addTemplateFields(form *forms.Form, start string, kept *app.EndpointTemplate) error {
	if start == "" {
		return nil
	}
	var from app.ShippedTemplate
	switch {
	case start == startKept && kept != nil:
		from.Template.Method, from.Template.IDInPath, from.Template.Body = kept.Method, kept.IDInPath, kept.Body
	case start == startOwn:
		from.Template.Method, from.Template.Body = http.MethodPost, ownBody
	default:
		shipped, err := v.app.ShippedTemplates(v.Request.Context())
		if err != nil {
			return err
		}
		at := slices.IndexFunc(shipped.Templates, func(one app.ShippedTemplate) bool { return one.Name == start })
		if at < 0 {
			return errNotFound
		}
		from = shipped.Templates[at]
	}
	if form.Page += "&start=" + url.QueryEscape(start); !strings.Contains(form.Page, "?") {
		form.Page = strings.Replace(form.Page, "&", "?", 1)
	}
	form.Fields = append(form.Fields, templateFields(from, kept)...)
	if at := slices.IndexFunc(form.Fields, func(f *forms.Field) bool { return f.Name == "format" }); at >= 0 {
		form.Fields[at] = &forms.Field{Kind: forms.Hidden, Name: "format"} // the template replaces the format
	}
	return nil
}

func templateFields(from app.ShippedTemplate, kept *app.EndpointTemplate) []*forms.Field {
	method := &forms.Field{Kind: forms.Segments, Name: "method", Label: "Method", Required: true, Values: []string{from.Template.Method},
		Options: []forms.Option{{Value: http.MethodPost, Label: http.MethodPost}, {Value: http.MethodPut, Label: http.MethodPut}}}
	inPath := &forms.Field{Kind: forms.Tick, Name: "idInPath", Label: "The id of the delivery at the end of the path", Hint: "Matrix needs it. It is the same for each attempt."}
	if from.Template.IDInPath {
		inPath.Values = []string{"on"}
	}
	headers := &forms.Field{Kind: forms.Secrets, Name: "headers", Label: "Headers", Max: 12_000, Placeholder: placeholder(from.Template.Headers), Hint: "One in each line, as “Name: value”."}
	secrets := &forms.Field{Kind: forms.Secrets, Name: "secrets", Label: "Secrets of the body", Max: 12_000, Placeholder: placeholder(from.Template.Secrets), Hint: "One in each line, as “name: value”, of 4 characters or more."}
	if kept != nil {
		headers.Hint += keptHint(kept.HeaderNames)
		secrets.Hint += keptHint(kept.SecretNames)
	} else {
		need(headers, from.Template.Headers)
		need(secrets, from.Template.Secrets)
	}
	return []*forms.Field{method, inPath, headers, secrets, {Kind: forms.Source, Name: "body", Label: "Body", Required: true, Max: 8192, Values: []string{from.Template.Body}}}
}

// need adds the names of the values that a shipped template needs to the hint of the field, and sets Plain, which isNeeded
// reads. It does nothing if there are none.
func need(field *forms.Field, texts map[string]string) {
	if len(texts) > 0 {
		field.Plain = true
		field.Hint += " This template needs “" + strings.Join(slices.Sorted(maps.Keys(texts)), "” and “") + "”."
	}
}

// placeholder returns lines that show how the values of a shipped template are written.
func placeholder(texts map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		lines = append(lines, name+": "+texts[name])
	}
	return strings.Join(lines, "\n")
}

func keptHint(names []string) string {
	if len(names) == 0 {
		return " There are none now. Values are not shown again."
	}
	var isolated []string
	for _, name := range names {
		isolated = append(isolated, isolate(name))
	}
	return " Values are not shown again. Present ones stay: " + strings.Join(isolated, ", ") + ". A name without a value, such as “Name:”, removes one."
}

// usedSecret matches a secret in a body.
var usedSecret = regexp.MustCompile(`\bsecret "([^"]+)"`)

// templateOf returns the template in the form, or the problem of a field as an error. kept is the stored template, or nil.
func templateOf(form *forms.Form, kept *app.EndpointTemplate) (*app.EndpointTemplateChange, error) {
	var names app.EndpointTemplate
	if kept != nil {
		names = *kept
	}
	headers, err := namedLines(form, "headers", names.HeaderNames)
	if err != nil {
		return nil, err
	}
	secrets, err := namedLines(form, "secrets", names.SecretNames)
	for _, used := range usedSecret.FindAllStringSubmatch(form.Value("body"), -1) {
		if name := used[1]; err == nil && secrets[name] == nil && !slices.Contains(names.SecretNames, name) {
			err = &app.Error{Status: http.StatusBadRequest, Field: "secrets", Message: "The body uses the secret “" + isolate(name) + "”. Write its value in a line, as “name: value”."}
		}
	}
	return &app.EndpointTemplateChange{Method: form.Value("method"), IDInPath: form.Ticked("idInPath"), Body: form.Value("body"), Headers: headers, Secrets: secrets}, err
}

// namedLines reads lines such as "name: value" of a field. A line without a value must have one of the kept names. Its value
// is nil, which removes this name.
func namedLines(form *forms.Form, field string, kept []string) (map[string]*string, error) {
	wrong := func(line int, problem string) error {
		return &app.Error{Status: http.StatusBadRequest, Field: field, Message: fmt.Sprintf("%s: line %d %s.", form.Field(field).Label, line, problem)}
	}
	out, number := make(map[string]*string), 0
	for line := range strings.Lines(form.Value(field)) {
		number++
		name, value, separated := strings.Cut(strings.TrimSpace(line), ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case name == "" && !separated:
		case !separated:
			return nil, wrong(number, "has no colon between the name and the value")
		case value != "":
			out[name] = &value
		case !slices.ContainsFunc(kept, func(one string) bool { return strings.EqualFold(one, name) }):
			return nil, wrong(number, "has no value, and there is no “"+name+"” that it could remove")
		default:
			out[name] = nil
		}
	}
	return out, nil
}

var atLine = regexp.MustCompile(`^line (\d+): (.*)$`)

// atTemplate shows an error about a member of the template at the field of this member. If the error names a line of the
// body, the message quotes the line.
func atTemplate(err error, form *forms.Form) error {
	failed := app.As(err)
	if failed == nil {
		return err
	}
	name, is := strings.CutPrefix(failed.Field, "template.")
	if !is {
		return err
	}
	if slices.ContainsFunc(form.Fields, func(f *forms.Field) bool { return f.Name == name }) {
		failed.Field = name
	}
	if found := atLine.FindStringSubmatch(failed.Message); name == "body" && found != nil {
		lines, number := strings.Split(form.Value("body"), "\n"), 0
		if number, err = strconv.Atoi(found[1]); err == nil && number >= 1 && number <= len(lines) {
			failed.Message = "Line " + found[1] + ": " + strings.TrimSuffix(found[2], ".") + ". The line is: " + strings.TrimSpace(lines[number-1])
		}
	}
	return failed
}

// endpointRequestPage is the data of integration_request.html.
type endpointRequestPage struct {
	Back, BackLabel string
	Starts          []view
	Start           string
	Composed        bool // the form has the fields of a template
	HasTemplate     bool
	Form            *forms.Form
}

// endpointRequest shows and changes the request that a webhook sends.
func (p *pages) endpointRequest(v *visit) error {
	r, err := v.findEndpoint(app.Webhook)
	if err != nil {
		return err
	}
	start := v.Query("start")
	_, chosen := v.Request.URL.Query()["start"]
	if !chosen && r.Template != nil {
		start = startKept
	}
	if v.isPost() && start == "" && r.Template == nil {
		return errNotFound // the page has no form
	}
	at := r.At() + "/request"
	form := forms.New(at, "Save changes")
	form.Page, form.Version = at+"?start=", r.Version
	if start != "" {
		form.Page = at
	}
	if err := v.addTemplateFields(form, start, r.Template); err != nil {
		return err
	}
	v.fill(form)
	data := endpointRequestPage{r.At(), r.URLDisplay, startViews(at+"?", start), start, start != "", r.Template != nil, form}
	data.Starts[0].Path += "?start="
	if r.Template != nil {
		data.Starts = append([]view{{at, "Present", start == startKept}}, data.Starts...)
	}
	show := func(status int) error { return v.show(status, "integration_request.html", "What is sent", data) }
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		in := app.EndpointChange{EndpointTarget: r.target(), WebhookForm: app.WebhookForm{Format: "bellbuoy"}}
		if data.Composed {
			template, err := templateOf(form, r.Template)
			if err != nil {
				return err
			}
			in.Format, in.Template = app.FormatTemplate, template
		}
		changed, err := v.app.ChangeEndpoint(v.Request.Context(), app.Webhook, form.Version, in)
		if outdated(err, form.Version, r.Version) {
			form.Version = r.Version
			return &app.Error{Status: http.StatusConflict, Message: "Somebody else has changed the endpoint meanwhile. Look at it before you go on."}
		}
		if err != nil {
			return atTemplate(err, form)
		}
		return v.done(endpointRow{changed.Endpoint, app.Webhook}.At(), "saved")
	}, show)
}
