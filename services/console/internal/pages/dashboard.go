package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const dashboardsPath = "/dashboards"

// dashboardRecord is a dashboard with the data that its tabs need.
type dashboardRecord struct {
	app.Dashboard
	Content app.Content
	Known   []app.Component // components that the form of the tab may name
}

// dashboardTab is a tab of the page of a dashboard.
type dashboardTab struct {
	path, label string
	form        func(dashboardRecord) *forms.Form
	// change returns the values of the form, for the preview and for saving. It sets the problem of a field that it cannot
	// save.
	change func(*forms.Form, dashboardRecord) app.Preview
	list   string // name of the field whose values have an order; empty: there is none
	draws  bool   // the form changes the preview
}

// dashboardTabs returns the tabs in their order.
func dashboardTabs() []dashboardTab {
	return []dashboardTab{
		{"", "Look", lookForm, lookChange, "", true},
		{"/content", "Content", contentForm, contentChange, "order", true},
		{"/components", "Components", placementForm, placementChange, "components", true},
		{"/access", "Access", accessForm, accessChange, "", false},
		{"/domains", "Domains", domainsForm, domainsChange, "", false},
		{"/subscriptions", "Subscriptions", subscriptionsForm, subscriptionsChange, "", true},
	}
}

// dashboardPage is the data of dashboard.html.
type dashboardPage struct {
	Dashboard dashboardRecord
	Views     []view
	Tab       string // label of the tab
	Form      *forms.Form
	Writer    bool
	Draws     bool
	Preview   string // path of the preview
	Rows      []orderRow
	Moved     string // text about the row that the last button has moved, added or removed; empty: none
	Found     bool   // the last button has searched components to add
	Offers    offers // components to add
}

// Fields returns the visible fields, except those that the ordered list and the components to add show.
func (d dashboardPage) Fields() []*forms.Field {
	return slices.DeleteFunc(d.Form.Shown(), func(f *forms.Field) bool {
		return slices.Contains([]string{"order", "modules", "components", "groups", "add"}, f.Name)
	})
}

// dashboardTabOf returns the handler of the tab with the path.
func (p *pages) dashboardTabOf(path string) func(*visit) error {
	tabs := dashboardTabs()
	tab := tabs[slices.IndexFunc(tabs, func(t dashboardTab) bool { return t.path == path })]
	return func(v *visit) error { return v.dashboard(tab) }
}

// readDashboard returns the dashboard whose id is in the path, with the data that the tab needs.
func (v *visit) readDashboard(tab dashboardTab) (dashboardRecord, error) {
	var record dashboardRecord
	if v.isPost() { // knownComponents reads ids of components from the form
		if err := forms.Parse(v.Request); err != nil {
			return record, err
		}
	}
	var work concurrent
	work.Go(func() error {
		found, err := v.app.Dashboard(v.Request.Context(), v.Param("id"))
		record.Dashboard = found.Dashboard
		return err
	})
	if tab.path == "/content" {
		work.Go(func() error {
			found, err := v.app.Content(v.Request.Context(), v.Param("id"))
			record.Content = found.Content
			return err
		})
	}
	err := work.Wait()
	if err == nil && tab.path == "/components" {
		record.Known, err = v.knownComponents(record.Dashboard)
	}
	return record, err
}

// dashboard shows a tab of a dashboard. After a POST it saves the form of the tab. If the POST came from a button that changes
// the list of rows or searches components, it only shows the form again.
func (v *visit) dashboard(tab dashboardTab) error {
	record, err := v.readDashboard(tab)
	if err != nil {
		return err
	}
	at := dashboardsPath + "/" + record.ID
	form := v.formOfTab(tab, record)
	v.fill(form)
	moved := ""
	show := func(status int) (err error) {
		data := dashboardPage{
			Dashboard: record, Tab: tab.label, Form: form, Writer: v.caller.Has(passport.RoleAdmin), Draws: tab.draws, Preview: at + "/preview?tab=" + url.QueryEscape(strings.TrimPrefix(tab.path, "/")), Moved: moved,
		}
		for _, t := range dashboardTabs() {
			data.Views = append(data.Views, view{at + t.path, t.label, t.path == tab.path})
		}
		if tab.list != "" {
			data.Rows = orderRows(form, tab.list)
		}
		if tab.path == "/components" && data.Writer {
			way, _, _ := strings.Cut(form.Value("move"), " ")
			data.Found = way == "find" || way == "more"
			if data.Offers, err = v.offersOf(form); err != nil {
				return err
			}
		}
		return v.showPage(status, "dashboard.html", &page{Title: record.Name, Data: data, Order: true})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	v.form = form
	if err := form.Read(v.Request); err != nil {
		return err
	}
	if tab.list != "" {
		done := false
		if moved, done = rearrange(form, tab.list, record.Known); done {
			return show(http.StatusOK)
		}
	}
	return v.submit(form, func() error {
		in := tab.change(form, record)
		if !form.OK() {
			return show(http.StatusUnprocessableEntity)
		}
		return v.saveDashboard(tab, form, record, in)
	}, show)
}

// formOfTab returns the form of a tab with the stored values.
func (v *visit) formOfTab(tab dashboardTab, record dashboardRecord) *forms.Form {
	form := tab.form(record)
	form.Action, form.Submit, form.Version = dashboardsPath+"/"+record.ID+tab.path, "Save", record.Version
	form.Fields = append(form.Fields, &forms.Field{Kind: forms.Hidden, Name: "scheme", Options: []forms.Option{{Value: "light"}, {Value: "dark"}}})
	return form
}

func (v *visit) saveDashboard(tab dashboardTab, form *forms.Form, record dashboardRecord, in app.Preview) (err error) {
	ctx := v.Request.Context()
	switch {
	case in.Dashboard != nil:
		_, err = v.app.ChangeDashboard(ctx, record.ID, form.Version, *in.Dashboard)
		err = atGroup(err)
	case in.Components != nil:
		_, err = v.app.PlaceComponents(ctx, record.ID, form.Version, app.Placements{Components: *in.Components})
	default:
		_, err = v.app.SetContent(ctx, record.ID, form.Version, *in.Content)
	}
	if outdated(err, form.Version, record.Version) {
		failed := app.As(err)
		// The button "Keep mine" of v.conflict could not send a password, because no response contains the password.
		if at := slices.IndexFunc(form.Fields, func(f *forms.Field) bool { return f.Kind == forms.Password && f.Value() != "" }); at >= 0 {
			form.Version = record.Version
			theirs := v.formOfTab(tab, record)
			for _, field := range form.Shown() {
				if other := theirs.Field(field.Name); field.Kind != forms.Password && field.Text() != other.Text() {
					field.Problem = "Stored is: " + cmp.Or(other.Text(), "nothing") + "."
				}
			}
			failed.Field, failed.Message = form.Fields[at].Name, "Somebody else has changed the dashboard meanwhile. Look at it, and enter the password again."
			return failed
		}
		form.Fields = slices.DeleteFunc(form.Fields, func(f *forms.Field) bool { return f.Kind == forms.Hidden })
		return v.conflict(form, v.formOfTab(tab, record), record.ID, record.Name)
	}
	if err != nil {
		return err
	}
	return v.done(form.Action, "saved")
}

// dashboardPreview responds with the page that visitors would get with the values of a form. Without a form, it uses the
// stored values.
func (p *pages) dashboardPreview(v *visit) error {
	in, err := v.previewChange()
	var got app.PreviewResult
	if err == nil {
		got, err = v.app.Preview(v.Request.Context(), v.Param("id"), in)
	}
	if err != nil {
		return v.noPreview(err)
	}
	return v.inFrame(http.StatusOK, got.HTML, got.Policy)
}

// noPreview responds in the frame of the preview with the reason why there is no preview.
func (v *visit) noPreview(err error) error {
	shown := v.problemOf(err)
	text := shown.Message
	if failed := app.As(err); failed != nil && failed.Field != "" {
		text = failed.Field + " " + failed.Message
	}
	var out strings.Builder
	_ = v.pages.templates.ExecuteTemplate(&out, "preview-failed", text) // writing to a Builder never fails
	return v.inFrame(shown.Status, out.String(), "default-src 'none'; style-src 'self'; base-uri 'none'")
}

// inFrame responds with a page that has another Content-Security-Policy than the console. Browsers show the page only in a
// frame of the console, without scripts and without an origin.
func (v *visit) inFrame(status int, html, policy string) error {
	v.Header("Content-Security-Policy", strings.Replace(policy, "frame-ancestors 'none'", "", 1)+"; sandbox; frame-ancestors 'self'")
	v.write(status, []byte(html))
	return nil
}

// previewChange returns the change that the form of a tab makes, with the theme that the member has chosen for the preview.
// Without a form, the change has only the stored branding with this theme, or nothing if no theme was chosen.
func (v *visit) previewChange() (in app.Preview, err error) {
	scheme := v.Query("scheme")
	if v.isPost() {
		tabs := dashboardTabs()
		at := slices.IndexFunc(tabs, func(t dashboardTab) bool { return t.path == strings.TrimSuffix("/"+v.Query("tab"), "/") && t.draws })
		if at < 0 {
			return in, errNotFound
		}
		record, err := v.readDashboard(tabs[at])
		if err != nil {
			return in, err
		}
		form := v.formOfTab(tabs[at], record)
		if err := form.Read(v.Request); err != nil {
			return in, err
		}
		if wrong := form.Problems(); len(wrong) > 0 {
			return in, &app.Error{Status: http.StatusUnprocessableEntity, Message: wrong[0].Label + ": " + wrong[0].Problem}
		}
		in, scheme = tabs[at].change(form, record), form.Value("scheme")
	}
	if scheme != "light" && scheme != "dark" {
		return in, nil
	}
	if in.Dashboard == nil || in.Dashboard.Branding == nil {
		found, err := v.app.Dashboard(v.Request.Context(), v.Param("id"))
		if err != nil {
			return in, err
		}
		if in.Dashboard == nil {
			in.Dashboard = &app.DashboardChange{}
		}
		in.Dashboard.Branding = &found.Dashboard.Branding
	}
	in.Dashboard.Branding.Theme = scheme
	return in, nil
}
