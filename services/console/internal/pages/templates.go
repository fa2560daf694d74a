package pages

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const (
	templatesPath    = "/templates"
	newTemplatePath  = templatesPath + "/new"
	kindUpdate       = statusUpdate // kind of a template for an entry of a timeline
	templatesPerPage = "100"        // an organization has at most 100 templates
)

// templateGone is the problem of a form whose template somebody else has deleted.
const templateGone = "This template does not exist any more."

func templateKinds() []string { return []string{incident, maintenance, kindUpdate} }

// kindLabel returns the name of a kind of templates for members.
func kindLabel(kind string) string {
	return map[string]string{incident: "Incident", maintenance: "Maintenance", kindUpdate: "Update"}[kind]
}

// kindIcon returns the name of the icon of a kind of templates.
func kindIcon(kind string) string {
	return map[string]string{incident: "alert", maintenance: "calendar", kindUpdate: "message"}[kind]
}

// templatesPage is the data of templates.html.
type templatesPage struct {
	Filter    *forms.Form // shows the problem of the filter
	Views     []view
	Kind      string
	Templates []app.Template
}

// Icon returns the name of the icon of a kind.
func (templatesPage) Icon(kind string) string { return kindIcon(kind) }

// Label returns the name of a kind for members.
func (templatesPage) Label(kind string) string { return kindLabel(kind) }

// templateList lists the templates of a kind, or of all kinds.
func (p *pages) templateList(v *visit) error {
	data := templatesPage{Kind: v.Query("kind"), Filter: forms.New(templatesPath, "Show")}
	query, status := url.Values{"limit": {templatesPerPage}}, http.StatusOK
	switch {
	case slices.Contains(templateKinds(), data.Kind):
		query.Set("kind", data.Kind)
	case data.Kind != "":
		data.Filter.Problem, status = "There is no such kind. Choose one below.", http.StatusUnprocessableEntity
	}
	data.Views = []view{{templatesPath, "All", data.Kind == ""}}
	for _, kind := range templateKinds() {
		data.Views = append(data.Views, view{templatesPath + "?kind=" + kind, kindLabel(kind), kind == data.Kind})
	}
	found, err := v.app.Templates(v.Request.Context(), query)
	if err != nil {
		return err
	}
	if data.Filter.OK() {
		data.Templates = found.Templates
	}
	return v.show(status, "templates.html", "Templates", data)
}

// templateForm returns the form of a template of a kind. was is the stored template, or an empty template for a new one.
func templateForm(kind string, was app.Template) *forms.Form {
	form := forms.New(newTemplatePath, "Save the template",
		&forms.Field{Kind: forms.Text, Name: "name", Label: "Name", Required: true, Max: 100, Hint: "Members choose the template by this name. Visitors do not see it."})
	add := func(field *forms.Field, value string) {
		if value != "" {
			field.Values = []string{value}
		}
		form.Fields = append(form.Fields, field)
	}
	form.Field("name").Values = []string{was.Name}
	if kind != kindUpdate {
		add(&forms.Field{Kind: forms.Text, Name: "title", Label: "Title"}, was.Title)
	}
	add(&forms.Field{Kind: forms.Select, Name: "status", Label: "Status", Plain: true, Options: append([]forms.Option{{Label: "Not set"}}, optionsOf(templateStatuses(kind))...)}, was.Status)
	add(&forms.Field{Kind: forms.Area, Name: "message", Label: "Message", Max: 20_000, Hint: notation}, typedText(was.Message))
	if kind == incident {
		add(severityField(), was.Severity)
	}
	form.Fields = append(form.Fields, &forms.Field{Kind: forms.Ticks, Name: "components", Label: "Components", Members: []string{"componentIds"}, Values: was.ComponentIDs})
	add(impactField("Not set"), was.Impact)
	form.Fields = append(form.Fields, &forms.Field{Kind: forms.Hidden, Name: "step", Options: []forms.Option{{Value: stepShow}}}, &forms.Field{Kind: forms.Hidden, Name: "find"})
	form.Cancel, form.Version = templatesPath, was.Version
	return form
}

// templateStatuses returns the statuses that a template of a kind may have.
func templateStatuses(kind string) []string {
	ofMaintenance := []string{planning, "started", "inprogress", "verifying", "completed"}
	switch kind {
	case incident:
		return incidentStatuses()
	case maintenance:
		return ofMaintenance
	}
	return slices.Concat([]string{statusUpdate}, incidentStatuses(), ofMaintenance)
}

// templateChange returns the values of the form for the App interface.
func templateChange(kind string, form *forms.Form, was app.Template) app.TemplateChange {
	text := func(name string) *app.Nullable { return new(app.Nullable(form.Value(name))) }
	name, components := form.Value("name"), append([]string{}, form.Field("components").Values...)
	out := app.TemplateChange{
		Name: &name, ComponentIDs: &components, Status: text("status"), Impact: text("impact"), Message: new(app.Nullable(richText(form.Value("message"), was.Message))),
	}
	if kind != kindUpdate {
		out.Title = text("title")
	}
	if kind == incident {
		out.Severity = text("severity")
	}
	return out
}

// templatePage is the data of template.html.
type templatePage struct {
	Form   *forms.Form
	Views  []view // tabs for the kinds of a new template; nil: the template is stored
	Chips  chips
	Delete string // path of the page that deletes the template; empty: the template is new
}

// Fields returns the visible fields, except components and impact.
func (d templatePage) Fields() []*forms.Field {
	return slices.DeleteFunc(d.Form.Shown(), func(f *forms.Field) bool { return f.Name == "components" || f.Name == "impact" })
}

// showTemplate responds with the form of a template.
func (v *visit) showTemplate(status int, title string, data templatePage) (err error) {
	if data.Chips, err = v.chipsOf(data.Form.Field("components"), data.Form.Value("find")); err != nil {
		return err
	}
	return v.show(status, "template.html", title, data)
}

// submitTemplate is submit for a form with a search of components. For the step show, it only shows the form again.
func (v *visit) submitTemplate(form *forms.Form, do func() error, show func(int) error) error {
	v.form = form
	if err := form.Read(v.Request); err != nil {
		return err
	}
	if form.Value("step") == stepShow {
		for _, field := range form.Fields {
			field.Problem = ""
		}
		return show(http.StatusOK)
	}
	return v.submit(form, do, show)
}

func (p *pages) templateIncident(v *visit) error { return v.templateNew(incident, "") }
func (p *pages) templateMaintenance(v *visit) error {
	return v.templateNew(maintenance, "/maintenance")
}
func (p *pages) templateUpdate(v *visit) error { return v.templateNew(kindUpdate, "/update") }

// templateNew shows the form of a new template, and creates the template.
func (v *visit) templateNew(kind, path string) error {
	form := templateForm(kind, app.Template{})
	form.Action += path
	data := templatePage{Form: form, Views: []view{
		{newTemplatePath, kindLabel(incident), kind == incident}, {newTemplatePath + "/maintenance", kindLabel(maintenance), kind == maintenance}, {newTemplatePath + "/update", kindLabel(kindUpdate), kind == kindUpdate},
	}}
	v.fill(form)
	show := func(status int) error { return v.showTemplate(status, "New template", data) }
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submitTemplate(form, func() error {
		if _, err := v.app.AddTemplate(v.Request.Context(), app.NewTemplate{Kind: kind, TemplateChange: templateChange(kind, form, app.Template{})}); err != nil {
			return err
		}
		return v.done(templatesPath, "saved")
	}, show)
}

// template shows and changes a template.
func (p *pages) template(v *visit) error {
	found, err := v.app.Template(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	was := found.Template
	at := templatesPath + "/" + was.ID
	formOf := func() *forms.Form {
		form := templateForm(was.Kind, was)
		form.Action, form.Submit = at, "Save changes"
		return form
	}
	form := formOf()
	v.fill(form)
	show := func(status int) error {
		return v.showTemplate(status, was.Name, templatePage{Form: form, Delete: at + "/delete"})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submitTemplate(form, func() error {
		_, err := v.app.ChangeTemplate(v.Request.Context(), was.ID, form.Version, templateChange(was.Kind, form, was))
		if outdated(err, form.Version, was.Version) {
			return v.conflict(form, formOf(), was.ID, was.Name)
		}
		if err != nil {
			return err
		}
		return v.done(templatesPath, "saved")
	}, show)
}

// templateDelete asks whether to delete a template, and deletes it.
func (p *pages) templateDelete(v *visit) error {
	found, err := v.app.Template(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	was, at := found.Template, templatesPath+"/"+v.Param("id")
	form := forms.New(at+"/delete", "Delete the template")
	form.Danger = true
	return v.ask("Delete “"+isolate(was.Name)+"”?", confirm{
		Back: at, BackLabel: was.Name, Text: "This cannot be reversed.", Points: []string{"Events that were made from it stay as they are."}, Form: form,
	}, func() error {
		if _, err := v.app.DeleteTemplate(v.Request.Context(), was.ID); err != nil {
			return err
		}
		v.notify("deleted", was.Name, "")
		return v.redirect(templatesPath)
	})
}
