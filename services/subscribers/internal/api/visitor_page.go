package api

import (
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// The bodies of the pages. Each field has its error beside it.
const (
	textPage = `<p>{{.Text}}</p>`

	fieldTemplates = `
{{define "phone"}}<p><label for="{{.ID}}">{{.W.Phone}}</label>
<input id="{{.ID}}" type="tel" name="phone" required maxlength="32" autocomplete="tel" value="{{.Value}}" aria-describedby="{{.ID}}-note"{{if .Problem}} aria-invalid="true"{{end}}>
<span id="{{.ID}}-note">{{or .Problem .W.PhoneHint}}</span></p>
{{end}}
{{define "components"}}<fieldset><legend>{{.W.Components}}</legend>
{{if .Problem}}<p role="alert">{{.Problem}}</p>
{{else if .Hint}}<p>{{.Hint}}</p>
{{end}}{{range .Choices}}<p><label><input type="checkbox" name="componentIds" value="{{.ID}}"{{if .Chosen}} checked{{end}}> {{.Name}}</label></p>
{{end}}</fieldset>
{{end}}`

	formPage = fieldTemplates + `<p>{{printf .W.Intro .Dashboard}}</p>
{{range .Forms}}<section><h2>{{.Heading}}</h2>
<form method="post"{{if .Action}} action="{{.Action}}"{{end}}>
{{if .Phone}}{{template "phone" .Field}}{{else}}{{with .Field}}<p><label for="{{.ID}}">{{.W.Address}}</label>
<input id="{{.ID}}" type="email" name="email" required maxlength="254" autocomplete="email" value="{{.Value}}"{{if .Problem}} aria-invalid="true" aria-describedby="{{.ID}}-note"{{end}}>
{{if .Problem}}<span id="{{.ID}}-note" role="alert">{{.Problem}}</span>{{end}}</p>
{{end}}{{end}}{{template "components" .Components}}{{if .LocaleProblem}}<p role="alert">{{.LocaleProblem}}</p>
{{end}}<p><button type="submit">{{.W.SubscribeButton}}</button></p>
</form></section>
{{end}}{{if .Endpoints}}<section><h2>{{.W.Endpoints}}</h2>
<ul>{{range .Endpoints}}<li><a href="subscribe/{{.Channel}}">{{.Name}}</a></li>{{end}}</ul></section>
{{end}}`

	codeForm = `<form method="post"{{if .Action}} action="{{.Action}}"{{end}}>
<input type="hidden" name="channel" value="{{.Channel}}">
{{if .Problem}}<p role="alert">{{.Problem}}</p>
{{end}}{{template "phone" .Phone}}<p><label for="code">{{.W.Code}}</label>
<input id="code" type="text" name="code" required maxlength="12" pattern="[0-9 \-]{6,12}" inputmode="numeric" autocomplete="one-time-code" aria-describedby="code-note">
<span id="code-note">{{.W.CodeHint}}</span></p>
<p><button type="submit">{{.W.ConfirmByCode}}</button></p>
</form>`

	codePage = fieldTemplates + codeForm

	sentPage = fieldTemplates + `{{if .Channel}}<p>{{.W.SentText}}</p>
` + codeForm + `{{else}}<p>{{.W.SentMail}}</p>{{end}}`

	confirmPage = `<p>{{printf .W.ConfirmIntro .Visit.Address .Visit.DashboardName}}</p>
<ul>{{if .Visit.Wanted}}{{range .Visit.Wanted}}<li>{{.}}</li>{{end}}{{else}}<li>{{.W.ConfirmAll}}</li>{{end}}</ul>
<form method="post"><button type="submit">{{.W.ConfirmButton}}</button></form>`

	confirmedPage = `<p>{{printf .W.ConfirmedText .Visit.DashboardName .Visit.Address}}</p>
{{if .Visit.Suppressed}}<p role="alert">{{.W.Suppressed}}</p>
{{end}}<p><a href="manage?token={{.Visit.Manage}}">{{.W.Manage}}</a></p>`

	managePage = fieldTemplates + `{{if .Note}}<p role="status">{{.Note}}</p>
{{end}}<p>{{printf .W.ManageIntro .Visit.DashboardName .Visit.Address}}</p>
{{if .Visit.Suppressed}}<p role="alert">{{.W.Suppressed}}</p>
{{end}}<form method="post">
<input type="hidden" name="componentIds" value="">
{{template "components" .Components}}<p><label><input type="checkbox" name="paused" value="on"{{if .Visit.Paused}} checked{{end}}> {{.W.Paused}}</label></p>
<p><label for="locale">{{.W.Locale}}</label>
<select id="locale" name="locale">{{range .Locales}}<option value="{{.Value}}"{{if .Chosen}} selected{{end}}>{{.Name}}</option>{{end}}</select>
{{if .LocaleProblem}}<span role="alert">{{.LocaleProblem}}</span>{{end}}</p>
<p><button type="submit" name="action" value="save">{{.W.Save}}</button></p>
<p><button type="submit" name="action" value="unsubscribe">{{.W.Unsubscribe}}</button></p>
</form>`

	unsubscribedPage = `<p>{{printf .W.UnsubscribedText .Visit.DashboardName}}</p>`

	unsubscribePage = `<p>{{printf .W.UnsubscribeIntro .Visit.DashboardName .Visit.Address}}</p>
<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click"><button type="submit">{{.W.Unsubscribe}}</button></form>
{{if .Visit.Manage}}<p><a href="manage?token={{.Visit.Manage}}">{{.W.ManageInstead}}</a></p>{{end}}`
)

type textView struct{ Text string }

// fieldView is one input with its error.
type fieldView struct {
	W                  words
	ID, Value, Problem string
}

// componentsView are the boxes of components. all is the value of the box that stands for all.
type componentsView struct {
	W             words
	Hint, Problem string
	Choices       []choiceView
}

type choiceView struct {
	ID, Name string
	Chosen   bool
}

// channelForm is the form of one channel.
type channelForm struct {
	W                        words
	Heading, Action, Channel string
	Phone                    bool
	Field                    fieldView
	Components               componentsView
	LocaleProblem            string
}

// formsView is the page with the forms of a dashboard.
type formsView struct {
	W         words
	Dashboard string
	Forms     []channelForm
	Endpoints []endpointLink
}

type endpointLink struct{ Channel, Name string }

// newForms returns the forms of the channels, without the links to those of endpoints. actions is the path of their
// actions, relative to the page; empty: the page's own.
func newForms(offer audience.Offer, channels []topic.Channel, actions string) *formsView {
	w := wordsFor(offer.Dashboard.Locale)
	view := &formsView{W: w, Dashboard: offer.Dashboard.Name}
	headings := map[topic.Channel]string{topic.Email: w.Email, topic.SMS: w.SMS, topic.WhatsApp: w.WhatsApp}
	for _, channel := range channels {
		form := channelForm{
			W: w, Heading: headings[channel], Channel: string(channel), Phone: channel != topic.Email,
			Field:      fieldView{W: w, ID: string(channel) + "-address"},
			Components: componentsView{W: w, Hint: w.NoneMeansAll},
		}
		if actions != "" {
			form.Action = actions + string(channel)
		}
		for _, component := range offer.Dashboard.Components {
			form.Components.Choices = append(form.Components.Choices, choiceView{ID: component.ID, Name: component.Name})
		}
		view.Forms = append(view.Forms, form)
	}
	return view
}

// link adds the links to the forms of endpoints, which the integrations service serves.
func (v *formsView) link(channels []topic.Channel) {
	names := map[topic.Channel]string{topic.Webhook: v.W.Webhook, topic.Teams: v.W.Teams, topic.GChat: v.W.GChat}
	for _, channel := range channels {
		v.Endpoints = append(v.Endpoints, endpointLink{string(channel), names[channel]})
	}
}

// refill shows the values that the visitor has sent, and the error beside its field.
func (f *channelForm) refill(wish audience.Wish, field string) {
	f.Field.Value = wish.Address
	for i, choice := range f.Components.Choices {
		f.Components.Choices[i].Chosen = slices.Contains(wish.ComponentIDs, choice.ID)
	}
	switch name, _, _ := strings.Cut(field, "["); name {
	case "componentIds":
		f.Components.Problem = f.W.WrongComponents
	case "locale":
		f.LocaleProblem = f.W.WrongLocale
	case "phone":
		f.Field.Problem = f.W.WrongPhone
	default:
		f.Field.Problem = f.W.WrongAddress
	}
}

// codeView is the form of a code, which the page after a form shows too.
type codeView struct {
	W                        words
	Action, Channel, Problem string
	Phone                    fieldView
}

func newCode(w words, action, channel string) codeView {
	return codeView{W: w, Action: action, Channel: channel, Phone: fieldView{W: w, ID: "phone"}}
}

// linkView is the view of the pages behind links.
type linkView struct {
	W             words
	Note          string
	Visit         audience.Visit
	Components    componentsView
	Locales       []localeView
	LocaleProblem string
}

type localeView struct {
	Value, Name string
	Chosen      bool
}

// everything is the box that stands for all components, also those that are added later.
const everything = "all"

func newLink(visit audience.Visit) linkView {
	w := wordsFor(visit.Locale, visit.DashboardLocale)
	view := linkView{W: w, Visit: visit, Components: componentsView{W: w, Choices: []choiceView{{everything, w.AllComponents, visit.All}}}}
	for _, choice := range visit.Components {
		view.Components.Choices = append(view.Components.Choices, choiceView{choice.ID, choice.Name, choice.Chosen})
	}
	names := map[string]string{"en": "English", "de": "Deutsch"}
	values := []string{""}
	for _, shipped := range languages() {
		values = append(values, shipped.Lang)
	}
	if !slices.Contains(values, visit.Locale) {
		values = append(values, visit.Locale)
	}
	for _, value := range values {
		view.Locales = append(view.Locales, localeView{value, names[value], value == visit.Locale})
	}
	for i, locale := range view.Locales {
		if locale.Name == "" {
			view.Locales[i].Name = locale.Value
		}
	}
	view.Locales[0].Name = w.DashboardsOwn
	return view
}

// show responds with a page in the language of the words.
func show(c *gin.Context, status int, body, title string, w words, view any) error {
	return showForms(c, status, body, page.Head{Title: title, Lang: w.Lang}, view)
}

func showForms(c *gin.Context, status int, body string, head page.Head, view any) error {
	parsed, err := page.Parse(body)
	if err != nil {
		return err
	}
	return page.Show(c, status, parsed, head, view)
}
