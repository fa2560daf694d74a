package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/words"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// The bodies of the pages. Each field has its error beside it.
const (
	formPage = `<p class="text">{{.Intro}}</p>
<form class="card" method="post">
<h2>{{.Heading}}</h2>
{{template "field" .Field}}{{template "boxes" .Components}}{{template "problem" .LocaleProblem}}<p><button class="btn" type="submit">{{t "link.subscribe"}}</button></p>
</form>`

	codePage = `<form class="card" method="post">
<input type="hidden" name="channel" value="{{.Channel}}">
<input type="hidden" name="dashboardId" value="{{.Dashboard}}">
{{template "field" .Phone}}{{template "field" .Code}}<p><button class="btn" type="submit">{{t "subscription.confirm_by_code"}}</button></p>
</form>`

	confirmPage = `<p class="text">{{t "link.confirm" "receiver" .Visit.Address "dashboard" .Visit.DashboardName}}</p>
<form class="card" method="post">
<ul>{{if .Visit.Wanted}}{{range .Visit.Wanted}}<li><bdi>{{.}}</bdi></li>{{end}}{{else}}<li>{{t "subscription.all_components"}}</li>{{end}}</ul>
<p><button class="btn" type="submit">{{t "subscription.confirm_button"}}</button></p>
</form>`

	confirmedPage = `<p class="text" role="status">{{t "link.confirmed" "dashboard" .Visit.DashboardName "receiver" .Visit.Address}}</p>
{{template "suppressed" .Visit.Suppressed}}<p><a class="btn" href="manage?token={{.Visit.Manage}}">{{t "subscription.manage"}}</a></p>`

	managePage = `{{with .Note}}<p class="text note" role="status">{{.}}</p>
{{end}}{{template "problem" .Problem}}<p class="text">{{t "link.manage" "dashboard" .Visit.DashboardName "receiver" .Visit.Address}}</p>
{{template "suppressed" .Visit.Suppressed}}<form class="card" method="post">
<input type="hidden" name="componentIds" value="">
{{template "boxes" .Components}}<p><label><input type="checkbox" name="paused" value="on"{{if .Visit.Paused}} checked{{end}}> {{t "link.paused"}}</label></p>
<p><label for="locale">{{t "subscription.locale"}}</label>
<select id="locale" name="locale"{{if .LocaleProblem}} aria-invalid="true" aria-describedby="locale-problem"{{end}}>
{{range .Locales}}<option value="{{.Value}}"{{if .Chosen}} selected{{end}}>{{.Name}}</option>
{{end}}</select>
{{with .LocaleProblem}}<span class="problem" id="locale-problem" role="alert">{{.}}</span>{{end}}</p>
<p><button class="btn" type="submit" name="action" value="save">{{t "link.save"}}</button></p>
</form>
<form method="post"><p><button class="btn" type="submit" name="action" value="unsubscribe">{{t "subscription.unsubscribe"}}</button></p></form>`

	unsubscribePage = `<p class="text">{{t "subscription.unsubscribe_intro" "dashboard" .Visit.DashboardName "receiver" .Visit.Address}}</p>
<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<p><button class="btn" type="submit">{{t "subscription.unsubscribe"}}</button></p>
</form>
{{with .Visit.Manage}}<p><a href="manage?token={{.}}">{{t "subscription.manage_instead"}}</a></p>{{end}}`
)

// formView is the form of a channel with what a visitor has typed.
type formView struct {
	Intro, Heading string
	Field          page.Field
	Components     page.Boxes
	LocaleProblem  string
}

// newForm returns the form of a channel with the values that the visitor has sent, and the error beside its field.
func newForm(w *words.Locale, offer audience.Offer, channel topic.Channel, wish audience.Wish, field string) formView {
	view := formView{
		Intro: w.Word("subscription.intro", "dashboard", offer.Dashboard.Name), Heading: w.Word("subscription." + string(channel)),
		Field: phoneField(w, wish.Address), Components: page.Boxes{Legend: w.Word("link.components"), Hint: w.Word("subscription.none_means_all")},
	}
	problem := w.Word("wrong.phone")
	if channel == topic.Email {
		view.Field = page.Field{Name: addressField(channel), Label: w.Word("subscription.address"), Type: "email", Value: wish.Address, Max: 254, Autocomplete: "email"}
		problem = w.Word("wrong.address")
	}
	for _, component := range offer.Dashboard.Components {
		view.Components.Choices = append(view.Components.Choices, page.Box{ID: component.ID, Name: component.Name, Chosen: slices.Contains(wish.ComponentIDs, component.ID)})
	}
	switch name, _, _ := strings.Cut(field, "["); name {
	case "componentIds":
		view.Components.Problem = w.Word("wrong.components")
	case "locale":
		view.LocaleProblem = w.Word("wrong.locale")
	default:
		view.Field.Problem = problem
	}
	return view
}

func phoneField(w *words.Locale, value string) page.Field {
	return page.Field{Name: "phone", Label: w.Word("subscription.phone"), Type: "tel", Value: value, Max: 32, Autocomplete: "tel", Hint: w.Word("subscription.phone_hint")}
}

// codeView is the form of a code.
type codeView struct {
	Channel, Dashboard string
	Phone, Code        page.Field
}

// newCode returns the form of a wrong code with the other values that the visitor has sent.
func newCode(w *words.Locale, form url.Values) codeView {
	return codeView{
		Channel: form.Get("channel"), Dashboard: form.Get("dashboardId"), Phone: phoneField(w, form.Get("phone")),
		Code: page.Field{Name: "code", Label: w.Word("subscription.code"), Type: "text", Max: 12, Autocomplete: "one-time-code", Problem: w.Word("wrong.code"), Digits: true},
	}
}

// linkView is the view of the pages behind links.
type linkView struct {
	Note, Problem string
	Visit         audience.Visit
	Components    page.Boxes
	Locales       []localeView
	LocaleProblem string
}

type localeView struct {
	Value, Name string
	Chosen      bool
}

// everything is the box that stands for all components, also those that are added later.
const everything = "all"

func newLink(c *gin.Context, visit audience.Visit) linkView {
	w := page.Words(c)
	view := linkView{Visit: visit, Components: page.Boxes{Legend: w.Word("link.components"), Choices: []page.Box{{ID: everything, Name: w.Word("subscription.all_components"), Chosen: visit.All}}}}
	for _, choice := range visit.Components {
		view.Components.Choices = append(view.Components.Choices, page.Box{ID: choice.ID, Name: choice.Name, Chosen: choice.Chosen})
	}
	view.Locales = []localeView{{"", w.Word("subscription.locale_of_dashboard"), visit.Locale == ""}}
	for _, shipped := range page.Locales(c) {
		view.Locales = append(view.Locales, localeView{shipped.Tag, shipped.Word("language"), shipped.Tag == visit.Locale})
	}
	if !slices.ContainsFunc(view.Locales, func(l localeView) bool { return l.Chosen }) {
		view.Locales = append(view.Locales, localeView{visit.Locale, visit.Locale, true})
	}
	return view
}

// shows returns a function that shows a visit.
func shows(title, body string) func(*gin.Context, audience.Visit) error {
	return page.View(title, body, newLink)
}

// saved shows the form that manages a subscription after its settings were stored.
func saved(c *gin.Context, visit audience.Visit) error {
	view := newLink(c, visit)
	view.Note = page.Words(c).Word("link.saved")
	return page.Show(c, http.StatusOK, "subscription.manage", managePage, view)
}
