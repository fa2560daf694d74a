package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// The bodies of the pages. Each field has its error beside it.
const (
	textPage = `<p class="text">{{.}}</p>`

	formPage = `<p class="text">{{.Intro}}</p>
<form class="card" method="post">
<h2>{{.Heading}}</h2>
{{template "field" .Field}}{{template "boxes" .Components}}{{template "problem" .LocaleProblem}}<p><button class="btn" type="submit">{{.W.SubscribeButton}}</button></p>
</form>`

	codePage = `<form class="card" method="post">
<input type="hidden" name="channel" value="{{.Channel}}">
<input type="hidden" name="dashboardId" value="{{.Dashboard}}">
{{template "field" .Phone}}{{template "field" .Code}}<p><button class="btn" type="submit">{{.Button}}</button></p>
</form>`

	confirmPage = `<p class="text">{{printf .W.ConfirmIntro .Visit.Address .Visit.DashboardName}}</p>
<form class="card" method="post">
<ul>{{if .Visit.Wanted}}{{range .Visit.Wanted}}<li><bdi>{{.}}</bdi></li>{{end}}{{else}}<li>{{.W.AllComponents}}</li>{{end}}</ul>
<p><button class="btn" type="submit">{{.W.ConfirmButton}}</button></p>
</form>`

	confirmedPage = `<p class="text" role="status">{{printf .W.ConfirmedText .Visit.DashboardName .Visit.Address}}</p>
{{template "problem" .Suppressed}}<p><a class="btn" href="manage?token={{.Visit.Manage}}">{{.W.Manage}}</a></p>`

	managePage = `{{with .Note}}<p class="text note" role="status">{{.}}</p>
{{end}}{{template "problem" .Problem}}<p class="text">{{printf .W.ManageIntro .Visit.DashboardName .Visit.Address}}</p>
{{template "problem" .Suppressed}}<form class="card" method="post">
<input type="hidden" name="componentIds" value="">
{{template "boxes" .Components}}<p><label><input type="checkbox" name="paused" value="on"{{if .Visit.Paused}} checked{{end}}> {{.W.Paused}}</label></p>
<p><label for="locale">{{.W.Locale}}</label>
<select id="locale" name="locale"{{if .LocaleProblem}} aria-invalid="true" aria-describedby="locale-problem"{{end}}>
{{range .Locales}}<option value="{{.Value}}"{{if .Chosen}} selected{{end}}>{{.Name}}</option>
{{end}}</select>
{{with .LocaleProblem}}<span class="problem" id="locale-problem" role="alert">{{.}}</span>{{end}}</p>
<p><button class="btn" type="submit" name="action" value="save">{{.W.Save}}</button></p>
</form>
<form method="post"><p><button class="btn" type="submit" name="action" value="unsubscribe">{{.W.Unsubscribe}}</button></p></form>`

	unsubscribePage = `<p class="text">{{printf .W.UnsubscribeIntro .Visit.DashboardName .Visit.Address}}</p>
<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<p><button class="btn" type="submit">{{.W.Unsubscribe}}</button></p>
</form>
{{with .Visit.Manage}}<p><a href="manage?token={{.}}">{{$.W.ManageInstead}}</a></p>{{end}}`
)

// formView is the form of a channel with what a visitor has typed.
type formView struct {
	W              words
	Intro, Heading string
	Field          page.Field
	Components     page.Boxes
	LocaleProblem  string
}

// newForm returns the form of a channel with the values that the visitor has sent, and the error beside its field.
func newForm(w words, offer audience.Offer, channel topic.Channel, wish audience.Wish, field string) formView {
	headings := map[topic.Channel]string{topic.Email: w.Email, topic.SMS: w.SMS, topic.WhatsApp: w.WhatsApp}
	view := formView{
		W: w, Intro: fmt.Sprintf(w.Intro, offer.Dashboard.Name), Heading: headings[channel],
		Field: w.phoneField(wish.Address), Components: page.Boxes{Legend: w.Components, Hint: w.NoneMeansAll},
	}
	problem := w.WrongPhone
	if channel == topic.Email {
		view.Field = page.Field{Name: addressField(channel), Label: w.Address, Type: "email", Value: wish.Address, Max: 254, Autocomplete: "email"}
		problem = w.WrongAddress
	}
	for _, component := range offer.Dashboard.Components {
		view.Components.Choices = append(view.Components.Choices, page.Box{ID: component.ID, Name: component.Name})
	}
	view.Components.Choose(func(id string) bool { return slices.Contains(wish.ComponentIDs, id) })
	switch name, _, _ := strings.Cut(field, "["); name {
	case "componentIds":
		view.Components.Problem = w.WrongComponents
	case "locale":
		view.LocaleProblem = w.WrongLocale
	default:
		view.Field.Problem = problem
	}
	return view
}

func (w words) phoneField(value string) page.Field {
	return page.Field{Name: "phone", Label: w.Phone, Type: "tel", Value: value, Max: 32, Autocomplete: "tel", Hint: w.PhoneHint}
}

// codeView is the form of a code.
type codeView struct {
	Channel, Dashboard, Button string
	Phone, Code                page.Field
}

// linkView is the view of the pages behind links.
type linkView struct {
	W                         words
	Note, Problem, Suppressed string
	Visit                     audience.Visit
	Components                page.Boxes
	Locales                   []localeView
	LocaleProblem             string
}

type localeView struct {
	Value, Name string
	Chosen      bool
}

// everything is the box that stands for all components, also those that are added later.
const everything = "all"

func (a *API) newLink(c *gin.Context, visit audience.Visit) linkView {
	w := a.words.For(c)
	view := linkView{W: w, Visit: visit, Components: page.Boxes{Legend: w.Components, Choices: []page.Box{{ID: everything, Name: w.AllComponents, Chosen: visit.All}}}}
	if visit.Suppressed {
		view.Suppressed = w.Suppressed
	}
	for _, choice := range visit.Components {
		view.Components.Choices = append(view.Components.Choices, page.Box{ID: choice.ID, Name: choice.Name, Chosen: choice.Chosen})
	}
	view.Locales = []localeView{{"", w.DashboardsOwn, visit.Locale == ""}}
	for _, shipped := range a.words.All() {
		view.Locales = append(view.Locales, localeView{shipped.Lang, shipped.Language, shipped.Lang == visit.Locale})
	}
	if !slices.ContainsFunc(view.Locales, func(l localeView) bool { return l.Chosen }) {
		view.Locales = append(view.Locales, localeView{visit.Locale, visit.Locale, true})
	}
	return view
}

// show responds with a page in the language of the words.
func show(c *gin.Context, status int, body, title string, w words, view any) error {
	return page.Show(c, status, page.Head{Title: title, Lang: w.Lang}, body, view)
}
