package api

import (
	_ "embed"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/link"
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/words"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// The bodies of the pages. Each field has its error beside it.
var (
	//go:embed pages/form.html
	formPage string
	//go:embed pages/code.html
	codePage string
	//go:embed pages/confirm.html
	confirmPage string
	//go:embed pages/confirmed.html
	confirmedPage string
	//go:embed pages/manage.html
	managePage string
	//go:embed pages/unsubscribe.html
	unsubscribePage string
)

// formView is the form of a channel with the values that a visitor has typed.
type formView struct {
	Intro, Heading string
	Field          page.Field
	Components     page.Boxes
	LocaleProblem  string
}

// newForm returns the form of a channel with the values that the visitor has sent. field is the field of the fault. If
// field names the components or the locale, the error is next to them, otherwise next to the address.
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
	view.Components.Choices = link.Choices(offer.Dashboard, func(id string) bool { return slices.Contains(wish.ComponentIDs, id) })
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

// codeView is the form in which a visitor types a code.
type codeView struct {
	Channel, Dashboard string
	Phone, Code        page.Field
}

// newCode returns the form to show after a wrong code. It has the channel and the phone number that the visitor has
// sent.
func newCode(w *words.Locale, form url.Values) codeView {
	return codeView{
		Channel: form.Get("channel"), Dashboard: form.Get("dashboardId"), Phone: phoneField(w, form.Get("phone")),
		Code: page.Field{Name: "code", Label: w.Word("subscription.code"), Type: "text", Max: 12, Autocomplete: "one-time-code", Problem: w.Word("wrong.code"), Digits: true},
	}
}

// linkView is the view of the pages that links open.
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

// everything is the value of the box for all components, also future components.
const everything = "all"

func newLink(c *gin.Context, visit audience.Visit) linkView {
	w := page.Words(c)
	view := linkView{Visit: visit, Components: page.Boxes{Legend: w.Word("link.components"), Choices: append([]link.Choice{{ID: everything, Name: w.Word("subscription.all_components"), Chosen: visit.All}}, visit.Components...)}}
	view.Locales = []localeView{{"", w.Word("subscription.locale_of_dashboard"), visit.Locale == ""}}
	for _, shipped := range page.Locales(c) {
		view.Locales = append(view.Locales, localeView{shipped.Tag, shipped.Word("language"), shipped.Tag == visit.Locale})
	}
	if !slices.ContainsFunc(view.Locales, func(l localeView) bool { return l.Chosen }) {
		view.Locales = append(view.Locales, localeView{visit.Locale, visit.Locale, true})
	}
	return view
}

// shows returns a handler that responds with the page of a Visit. title is the key of the page's title, and body is the
// template of the page's body.
func shows(title, body string) func(*gin.Context, audience.Visit) error {
	return page.View(title, body, newLink)
}

// saved responds with the form that manages a subscription, after its settings were stored.
func saved(c *gin.Context, visit audience.Visit) error {
	view := newLink(c, visit)
	view.Note = page.Words(c).Word("link.saved")
	return page.Show(c, http.StatusOK, "subscription.manage", managePage, view)
}
