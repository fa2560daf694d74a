package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	locales "github.com/bellbuoy/bellbuoy/libs/words"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const (
	scopeAll  = "all"
	scopeSome = "some"
)

// choiceFields returns the fields for the messages that a subscriber gets: the components of a dashboard, and the language.
func choiceFields(d app.Dashboard) []*forms.Field {
	components := &forms.Field{Kind: forms.Ticks, Name: "components", Label: "Components", Members: []string{"componentIds"}}
	for _, placed := range d.Components {
		components.Options = append(components.Options, forms.Option{Value: placed.ComponentID, Label: placed.Name})
	}
	language := &forms.Field{Kind: forms.Select, Name: "locale", Label: "Language", Plain: true, Options: []forms.Option{{Label: "That of the dashboard"}}}
	for _, tag := range locales.Tags() {
		language.Options = append(language.Options, forms.Option{Value: tag, Label: tag})
	}
	return []*forms.Field{
		{Kind: forms.Segments, Name: "scope", Label: "Messages about", Required: true, Values: []string{scopeAll}, Options: []forms.Option{{Value: scopeAll, Label: "All components, also future ones"}, {Value: scopeSome, Label: "These components"}}},
		components, language,
	}
}

// choiceOf returns the chosen components, or nil for all components. It sets a problem if the member chose some components
// but named none.
func choiceOf(form *forms.Form) app.Choice {
	if form.Value("scope") == scopeAll {
		return nil
	}
	field := form.Field("components")
	if len(field.Values) == 0 {
		field.Problem = "Choose a component, or all."
	}
	return append(app.Choice{}, field.Values...)
}

// subscriberNewPage is the data of subscriber_new.html.
type subscriberNewPage struct {
	Words      channelWords
	At         string
	Dashboards []app.Dashboard
	Dashboard  app.Dashboard // dashboard whose messages the subscriber gets
	Form       *forms.Form
}

// Rest returns the fields below the components.
func (d subscriberNewPage) Rest() []*forms.Field { return restOf(d.Form) }

// restOf returns the visible fields of a form of a subscriber, except the address, the scope and the components.
func restOf(form *forms.Form) []*forms.Field {
	return slices.DeleteFunc(form.Shown(), func(f *forms.Field) bool { return f.Name == "components" || f.Name == "scope" || f.Name == "address" })
}

// subscriberNew returns the handler of the page that adds a subscriber. The form offers the components of the dashboard that
// the address of the page names, or of the first dashboard.
func (p *pages) subscriberNew(channel app.Channel) func(*visit) error {
	return func(v *visit) error {
		listed, err := v.firstDashboards()
		if err != nil {
			return err
		}
		data := subscriberNewPage{Words: wordsOf(channel), At: subscribersAt(channel), Dashboards: listed.Dashboards}
		if len(data.Dashboards) == 0 {
			return v.show(http.StatusOK, "subscriber_new.html", "Add a subscriber", data)
		}
		data.Dashboard = data.Dashboards[0]
		if id := v.Query("dashboard"); id != "" {
			found, err := v.app.Dashboard(v.Request.Context(), id)
			if err != nil {
				return err
			}
			data.Dashboard = found.Dashboard
		}
		form := forms.New(data.At+"/new", "Add the subscriber", append([]*forms.Field{addressField(channel)}, append(choiceFields(data.Dashboard),
			&forms.Field{Kind: forms.Tick, Name: "confirmed", Label: "The owner of the address has agreed already", Hint: "Without this tick, the owner is asked for a confirmation, and gets no other message before."},
			&forms.Field{Kind: forms.Tick, Name: "paused", Label: "Pause", Hint: "No messages are sent until somebody resumes."},
			&forms.Field{Kind: forms.Tick, Name: "locked", Label: "Lock", Hint: "The owner cannot subscribe again, confirm or change it, but can unsubscribe."})...)...)
		form.Page, form.Cancel = data.At+"/new?dashboard="+url.QueryEscape(data.Dashboard.ID), data.At
		v.fill(form)
		data.Form = form
		show := func(status int) error {
			return v.show(status, "subscriber_new.html", "Add a subscriber", data)
		}
		if !v.isPost() {
			return show(http.StatusOK)
		}
		return v.submit(form, func() error {
			in := app.NewSubscriber{
				DashboardID: data.Dashboard.ID, ComponentIDs: choiceOf(form), Confirmed: form.Ticked("confirmed"), Paused: form.Ticked("paused"), Locked: form.Ticked("locked"), Locale: app.Nullable(form.Value("locale")),
			}
			if !form.OK() {
				return show(http.StatusUnprocessableEntity)
			}
			made, err := v.app.AddSubscriber(v.Request.Context(), channel, form.Value("address"), in)
			if err != nil {
				return err
			}
			key := "subscriber-asked"
			if in.Confirmed || in.Locked {
				key = "added"
			}
			v.notify(key, made.Subscriber.Address(), "")
			return v.redirect(data.At + "/" + made.Subscriber.ID)
		}, show)
	}
}

func addressField(channel app.Channel) *forms.Field {
	field := &forms.Field{Kind: forms.Email, Name: "address", Label: wordsOf(channel).Address, Required: true, Max: 254, Autocomplete: "off", Members: []string{"email", "phone"}}
	if channel != app.Email {
		field.Kind, field.Max, field.Hint = forms.Text, 40, "With a plus sign and the country code, such as +49 151 12345678."
	}
	return field
}

// subscriberPage is the data of subscriber.html.
type subscriberPage struct {
	Words      channelWords
	At         string // path of the page
	List       string // path of the list
	Why        string // path of the page that explains why a message is missing; the path has the id of the subscriber
	Subscriber app.Subscriber
	Dashboard  app.Dashboard
	Gone       bool // the dashboard cannot be read
	Form       *forms.Form
	Reasons    []string // why the subscriber gets no messages
}

// Rest returns the fields below the components.
func (d subscriberPage) Rest() []*forms.Field { return restOf(d.Form) }

// Do returns a form that is only a button. what is the action of the button, such as pause or resend.
func (d subscriberPage) Do(what, label string) *forms.Form { return forms.New(d.At+"/"+what, label) }

// Source returns in words who has created the subscriber.
func (d subscriberPage) Source() string {
	return map[string]string{"app": "a member or a program", "legacy": "the legacy interface", "import": "an import", "public": "the owner of the address"}[d.Subscriber.Source]
}

// subscriberForm returns the form that changes the messages that a subscriber gets.
func subscriberForm(at string, s app.Subscriber, d app.Dashboard) *forms.Form {
	form := forms.New(at, "Save changes", choiceFields(d)...)
	language := form.Field("locale")
	if language.Values = []string{s.Locale}; len(shownOf(language, language.Values)) == 0 {
		language.Options = append(language.Options, forms.Option{Value: s.Locale, Label: s.Locale})
	}
	if s.ComponentIDs != nil {
		components := form.Field("components")
		form.Field("scope").Values, components.Values = []string{scopeSome}, shownOf(components, s.ComponentIDs)
	}
	form.Version = form.Sum()
	return form
}

// subscriberChange returns the values of form that differ from those of stored. A component that the dashboard does not show
// stays, unless the member chooses others.
func subscriberChange(form, stored *forms.Form) (in app.SubscriberChange) {
	scope := form.Value("scope")
	if scope != stored.Value("scope") || scope == scopeSome && !sameChoice(form.Field("components").Values, stored.Field("components").Values) {
		in.ComponentIDs = new(choiceOf(form))
	}
	if form.Value("locale") != stored.Value("locale") {
		in.Locale = new(app.Nullable(form.Value("locale")))
	}
	return in
}

// silences returns why a subscriber gets no messages.
func silences(s app.Subscriber) (reasons []string) {
	if s.Suppressed {
		reasons = append(reasons, map[string]string{
			"bounce": "Messages to the address come back.", "complaint": "The owner has reported a message as spam.", "invalid": "The address does not exist.",
			"unsubscribed": "The owner unsubscribed on the former page. A confirmation by the owner ends this.",
		}[s.SuppressedReason]+" Nothing is sent to it on any dashboard.")
	}
	if !s.Confirmed && !s.PartlyConfirmed {
		reasons = append(reasons, "The owner has not confirmed.")
	}
	if s.Paused {
		reasons = append(reasons, "Messages are paused.")
	}
	return reasons
}

// subscriber returns the handler of the page of a subscriber.
func (p *pages) subscriber(channel app.Channel) func(*visit) error {
	return func(v *visit) error {
		found, err := v.app.Subscriber(v.Request.Context(), channel, v.Param("id"))
		if err != nil {
			return err
		}
		s := found.Subscriber
		data := subscriberPage{Words: wordsOf(channel), At: subscribersAt(channel) + "/" + s.ID, List: subscribersAt(channel), Subscriber: s, Reasons: silences(s)}
		data.Why = whyAt(string(channel), url.Values{"subscriber": {s.ID}})
		board, err := v.app.Dashboard(v.Request.Context(), s.DashboardID)
		data.Dashboard, data.Gone = board.Dashboard, err != nil
		form, stored := subscriberForm(data.At, s, data.Dashboard), subscriberForm(data.At, s, data.Dashboard)
		v.fill(form)
		data.Form = form
		show := func(status int) error { return v.show(status, "subscriber.html", s.Address(), data) }
		if !v.isPost() {
			return show(http.StatusOK)
		}
		if data.Gone { // the form needs the components of the dashboard
			return err
		}
		return v.submit(form, func() error {
			in := subscriberChange(form, stored)
			switch {
			case !form.OK():
				return show(http.StatusUnprocessableEntity)
			case form.Version != 0 && form.Version != stored.Version:
				return v.conflict(form, stored, s.ID, s.Address())
			case in != app.SubscriberChange{}:
				if _, err := v.app.ChangeSubscriber(v.Request.Context(), channel, s.ID, in); err != nil {
					return err
				}
			}
			return v.done(data.At, "saved")
		}, show)
	}
}

// subscriberAct returns the handler of a button of the page of a subscriber. The last part of the path names the action:
// resend, pause, resume, lock or unlock.
func (p *pages) subscriberAct(channel app.Channel) func(*visit) error {
	return func(v *visit) error {
		at := subscribersAt(channel) + "/" + v.Param("id")
		what := v.Request.URL.Path[strings.LastIndex(v.Request.URL.Path, "/")+1:]
		return v.act(at, func() error {
			if what == "resend" {
				if _, err := v.app.ResendConfirmation(v.Request.Context(), channel, v.Param("id")); err != nil {
					return err
				}
				return v.done(at, "resent")
			}
			in, undo := app.SubscriberChange{}, ""
			switch what {
			case "pause", "resume":
				in.Paused, undo = new(what == "pause"), map[string]string{"pause": "/resume", "resume": "/pause"}[what]
			case "lock", "unlock":
				in.Locked, undo = new(what == "lock"), map[string]string{"lock": "/unlock", "unlock": "/lock"}[what]
			}
			changed, err := v.app.ChangeSubscriber(v.Request.Context(), channel, v.Param("id"), in)
			if err != nil {
				return err
			}
			v.notify(what, changed.Subscriber.Address(), at+undo)
			return v.redirect(at)
		})
	}
}

// askSubscriber is ask for a change of the subscriber in the path.
func (v *visit) askSubscriber(channel app.Channel, title, label, path string, c confirm, do func(app.Subscriber) error) error {
	found, err := v.app.Subscriber(v.Request.Context(), channel, v.Param("id"))
	if err != nil {
		return err
	}
	s := found.Subscriber
	c.Back, c.BackLabel = subscribersAt(channel)+"/"+s.ID, s.Address()
	c.Form = forms.New(c.Back+path, label)
	c.Form.Danger = path == "/delete"
	return v.ask(strings.ReplaceAll(title, "%s", s.Address()), c, func() error { return do(s) })
}

// subscriberConfirm returns the handler of the page that confirms a subscriber for the owner of the address.
func (p *pages) subscriberConfirm(channel app.Channel) func(*visit) error {
	return func(v *visit) error {
		return v.askSubscriber(channel, "Confirm for %s?", "Confirm for the owner", "/confirm", confirm{
			Text: "Do this only if the owner has agreed in another way. The law of many countries asks for a proof.", Points: []string{"The address gets messages from now on."},
		}, func(s app.Subscriber) error {
			if _, err := v.app.ChangeSubscriber(v.Request.Context(), channel, s.ID, app.SubscriberChange{Confirmed: new(true)}); err != nil {
				return err
			}
			v.notify("subscriber-confirmed", s.Address(), "")
			return v.redirect(subscribersAt(channel) + "/" + s.ID)
		})
	}
}

// subscriberClear returns the handler of the page that ends the suppression of a subscriber's address.
func (p *pages) subscriberClear(channel app.Channel) func(*visit) error {
	return func(v *visit) error {
		return v.askSubscriber(channel, "Send to %s again?", "End the suppression", "/clear", confirm{
			Text:   "Make sure that the cause is gone. Another failure suppresses the address again, and harms the reputation of your sender.",
			Points: []string{"This concerns all dashboards.", "Messages that were kept back are not sent later."},
		}, func(s app.Subscriber) error {
			notice := "not-suppressed"
			if s.Suppressed {
				if _, err := v.app.ChangeSubscriber(v.Request.Context(), channel, s.ID, app.SubscriberChange{Suppressed: new(false)}); err != nil {
					return err
				}
				notice = "cleared"
			}
			v.notify(notice, s.Address(), "")
			return v.redirect(subscribersAt(channel) + "/" + s.ID)
		})
	}
}

// subscriberDelete returns the handler of the page that deletes a subscriber.
func (p *pages) subscriberDelete(channel app.Channel) func(*visit) error {
	return func(v *visit) error {
		return v.askSubscriber(channel, "Delete %s?", "Delete the subscriber", "/delete", confirm{
			Text:   "This cannot be reversed. To stop the messages only, pause the subscriber.",
			Points: []string{"The address gets no more messages about this dashboard.", "Its subscriptions of other dashboards stay.", "The owner can subscribe again. To prevent that, lock the subscriber instead."},
		}, func(s app.Subscriber) error {
			if _, err := v.app.DeleteSubscriber(v.Request.Context(), channel, s.ID); err != nil {
				return err
			}
			v.notify("deleted", s.Address(), "")
			return v.redirect(subscribersAt(channel))
		})
	}
}
