package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// messageKinds returns the kinds of messages that a webhook may choose, in the order of the documentation.
func messageKinds() []string {
	return []string{
		"incident.created", "incident.updated", "incident.resolved", "incident.reopened", "incident.post_mortem_published", "maintenance.scheduled",
		"maintenance.rescheduled", "maintenance.reminder", "maintenance.started", "maintenance.updated", "maintenance.completed", "maintenance.reopened",
	}
}

// sameChoice reports whether two lists have the same values, in any order.
func sameChoice(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// endpointFields returns the fields for an endpoint of a dashboard.
func endpointFields(kind app.EndpointKind, d app.Dashboard) []*forms.Field {
	components := &forms.Field{Kind: forms.Ticks, Name: "componentIds", Label: "Components", Required: true, Missing: "Choose a component."}
	for _, placed := range d.Components {
		components.Options = append(components.Options, forms.Option{Value: placed.ComponentID, Label: placed.Name})
	}
	fields := []*forms.Field{
		{Kind: forms.URL, Name: "url", Label: "URL", Max: 2048, Autocomplete: "off", Hint: wordsOfKind(kind).Hint},
		{Kind: forms.Email, Name: "managementEmail", Label: "Contact", Required: true, Max: 254, Autocomplete: "email", Hint: "This address gets a mail if messages fail again and again. Visitors do not see it."},
		components,
	}
	if kind == app.Webhook {
		kinds := &forms.Field{Kind: forms.Ticks, Name: "eventKinds", Label: "Messages", Required: true, Missing: "Choose a kind of messages."}
		for _, kind := range messageKinds() {
			kinds.Options = append(kinds.Options, forms.Option{Value: kind, Label: kindOfMessage(kind)})
		}
		fields = append(fields, kinds)
		fields = append(fields, webhookFields()...)
	}
	return fields
}

// shownOf returns those of the values that are options of the field.
func shownOf(field *forms.Field, values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(value string) bool {
		return !slices.ContainsFunc(field.Options, func(o forms.Option) bool { return o.Value == value })
	})
}

// endpointForm returns the form that changes an endpoint.
func endpointForm(r endpointRow, d app.Dashboard) *forms.Form {
	form := forms.New(r.At(), "Save changes", endpointFields(r.Kind, d)...)
	form.Version = r.Version
	address := form.Field("url")
	address.Label, address.Hint = "New URL", "Leave this empty to keep the URL. Bellbuoy shows no part of a URL that may be secret."
	if t := r.Template; t != nil && len(t.HeaderNames)+len(t.SecretNames) > 0 {
		address.Hint += " For another host, add the endpoint anew, because its headers and secrets are needed again."
	}
	form.Field("managementEmail").Values = []string{r.ManagementEmail}
	components := form.Field("componentIds")
	components.Values = shownOf(components, r.ComponentIDs)
	components.Required = len(components.Values) > 0
	switch hidden := len(r.ComponentIDs) - len(components.Values); {
	case hidden == 1:
		components.Hint = "One more component of the endpoint is not on the dashboard now. It stays unless you change this choice."
	case hidden > 1:
		components.Hint = strconv.Itoa(hidden) + " more components of the endpoint are not on the dashboard now. They stay unless you change this choice."
	}
	if r.Kind == app.Webhook {
		form.Field("eventKinds").Values = r.EventKinds
		fillWebhook(form, r.Endpoint)
	}
	return form
}

// endpointNewPage is the data of integration_new.html.
type endpointNewPage struct {
	Words      kindWords
	At         string
	Dashboards []app.Dashboard
	Dashboard  app.Dashboard // dashboard whose messages the endpoint gets
	Starts     []view        // links to the form with each template, from startViews; nil: the endpoint is no webhook
	Start      string
	Form       *forms.Form
}

// isOfRequest reports whether the field is about the request that a template makes, and needs no value from the member.
func isOfRequest(f *forms.Field) bool {
	return slices.Contains([]string{"method", "idInPath", "headers", "secrets", "body"}, f.Name) && !isNeeded(f)
}

// Main returns the fields that are always visible.
func (d endpointNewPage) Main() []*forms.Field { return slices.DeleteFunc(d.Form.Shown(), isOfRequest) }

// Request returns the fields of the request that need no value from the member, because the template has filled them.
func (d endpointNewPage) Request() []*forms.Field {
	return slices.DeleteFunc(d.Form.Shown(), func(f *forms.Field) bool { return !isOfRequest(f) })
}

// RequestOpen reports whether the member composes the request, or a field of Request has a problem.
func (d endpointNewPage) RequestOpen() bool {
	return d.Start == startOwn || slices.ContainsFunc(d.Request(), func(f *forms.Field) bool { return f.Problem != "" })
}

// endpointNew returns the handler of the page that adds an endpoint. The form offers the components of the dashboard that the
// address names, or of the first dashboard.
func (p *pages) endpointNew(kind app.EndpointKind) func(*visit) error {
	return func(v *visit) error {
		data := endpointNewPage{Words: wordsOfKind(kind), At: integrationsAt(kind)}
		show := func(status int) error { return v.show(status, "integration_new.html", data.Words.Add, data) }
		listed, err := v.firstDashboards()
		if err != nil {
			return err
		}
		if data.Dashboards = listed.Dashboards; len(data.Dashboards) == 0 {
			return show(http.StatusOK)
		}
		data.Dashboard = data.Dashboards[0]
		if id := v.Query("dashboard"); id != "" {
			found, err := v.app.Dashboard(v.Request.Context(), id)
			if err != nil {
				return err
			}
			data.Dashboard = found.Dashboard
		}
		form := newEndpointForm(kind, data.Dashboard)
		if kind == app.Webhook {
			data.Start = v.Query("start")
			data.Starts = startViews(form.Page+"&", data.Start)
			if err := v.addTemplateFields(form, data.Start, nil); err != nil {
				return err
			}
			if data.Start != "" {
				address := form.Field("url")
				address.Hint, address.Placeholder = "It begins with https:// and has no password.", startPlaceholder(data.Start)
				// The fields in which the template needs a value are below the URL.
				needed := slices.DeleteFunc(slices.Clone(form.Fields), func(f *forms.Field) bool { return !isNeeded(f) })
				form.Fields = slices.Insert(slices.DeleteFunc(form.Fields, isNeeded), 1, needed...)
			}
			if data.Start == "pagerduty" { // a message about a maintenance would open an alert
				kinds := form.Field("eventKinds")
				kinds.Values = slices.DeleteFunc(kinds.Values, func(kind string) bool { return !strings.HasPrefix(kind, "incident.") })
			}
		}
		v.fill(form)
		data.Form = form
		if !v.isPost() {
			return show(http.StatusOK)
		}
		return v.submit(form, func() error {
			in := app.NewEndpoint{
				DashboardID: data.Dashboard.ID, URL: form.Value("url"), ManagementEmail: form.Value("managementEmail"), ComponentIDs: form.Field("componentIds").Values, Locked: form.Ticked("locked"),
			}
			if kind == app.Webhook && len(form.Field("eventKinds").Values) < len(messageKinds()) {
				in.EventKinds = form.Field("eventKinds").Values
			}
			if kind == app.Webhook {
				in.WebhookForm = webhookFormOf(form, app.Endpoint{})
			}
			if data.Start != "" {
				template, err := templateOf(form, nil)
				if err != nil {
					return err
				}
				in.Format, in.Template = app.FormatTemplate, template
			}
			made, err := v.app.AddEndpoint(v.Request.Context(), kind, in)
			if err != nil {
				return atURL(atTemplate(err, form))
			}
			r := endpointRow{made.Endpoint, kind}
			if made.Endpoint.Secret != "" {
				return v.showSecret("integration_secret.html", "Your new webhook", endpointSecretPage{r, false, verifyProgram})
			}
			v.notify("added", r.URLDisplay, "")
			return v.redirect(r.At())
		}, show)
	}
}

// isNeeded reports whether a shipped template needs a value in the field.
func isNeeded(f *forms.Field) bool { return f.Kind == forms.Secrets && f.Plain }

// newEndpointForm returns the form of a new endpoint. All components and kinds of messages are chosen.
func newEndpointForm(kind app.EndpointKind, d app.Dashboard) *forms.Form {
	at := integrationsAt(kind)
	form := forms.New(at+"/new", wordsOfKind(kind).Add, append(endpointFields(kind, d),
		&forms.Field{Kind: forms.Tick, Name: "locked", Label: "Lock", Hint: "Visitors who know the URL cannot change or end the endpoint."})...)
	form.Page, form.Cancel = at+"/new?dashboard="+url.QueryEscape(d.ID), at
	form.Field("url").Required, form.Field("url").Missing = true, "Enter the URL."
	for _, field := range form.Fields {
		if field.Kind == forms.Ticks {
			for _, option := range field.Options {
				field.Values = append(field.Values, option.Value)
			}
		}
	}
	return form
}

// endpointSecretPage is the data of integration_secret.html.
type endpointSecretPage struct {
	endpointRow
	Rotated bool // the former secret signs for 24 hours more
	Verify  string
}

// endpointSecret returns the handler of the page that gives a webhook a new secret, and shows it once.
func (p *pages) endpointSecret(kind app.EndpointKind) func(*visit) error {
	return func(v *visit) error {
		r, err := v.findEndpoint(kind)
		if err != nil {
			return err
		}
		return v.ask("Make a new secret?", confirm{
			Back: r.At(), BackLabel: r.URLDisplay, Text: "The new secret is shown once. Messages are signed with both secrets for 24 hours, so that you can change the receiver without a gap.",
			Points: []string{"After 24 hours only the new secret signs.", "If the former secret is known to a stranger, change the receiver at once."},
			Form:   forms.New(r.At()+"/secret", "Make a new secret"),
		}, func() error {
			changed, err := v.app.ChangeEndpoint(v.Request.Context(), kind, 0, app.EndpointChange{EndpointTarget: r.target(), RotateSecret: true})
			if err != nil {
				return err
			}
			return v.showSecret("integration_secret.html", "Your new secret", endpointSecretPage{endpointRow{changed.Endpoint, kind}, true, verifyProgram})
		})
	}
}

// verifyProgram checks the signature of a webhook. A test runs it.
const verifyProgram = `import base64, hashlib, hmac, time

def is_from_bellbuoy(secret, headers, body):
    """secret begins with whsec_, body is the request body as bytes, exactly as it arrived."""
    message_id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(timestamp)) > 300:  # seconds
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    # There is a signature for each secret: "v1,... v1,..."
    return any(hmac.compare_digest(b"v1," + expected, one.encode())
               for one in headers["webhook-signature"].split())
`
