package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// confirm handles a confirmation by link, if the URL has a token, or by the code in the body.
func (a *API) confirm(c *gin.Context) error {
	if _, linked := c.GetQuery("token"); !linked {
		return a.confirmByCode(c)
	}
	return page.Follow(a.visitors.Confirm, shows("subscription.confirmed", confirmedPage))(c)
}

type confirmCodeBody struct {
	Channel optional.Value[string] `json:"channel" required:"true" enum:"sms,whatsapp"`
	Phone   optional.Value[string] `json:"phone" required:"true"`
	Code    optional.Value[string] `json:"code" required:"true" pattern:"^[ -]*([0-9][ -]*){6}$" description:"Six digits. Spaces and dashes do not count."`
}

// confirmCodeForm describes the form of confirmByCode for the API document.
type confirmCodeForm struct {
	Channel     string `json:"channel" required:"true" enum:"sms,whatsapp"`
	Phone       string `json:"phone" required:"true"`
	Code        string `json:"code" required:"true"`
	DashboardID string `json:"dashboardId" description:"The dashboard whose design the page gets."`
}

type subscriptionConfirmedView struct {
	Status string `json:"status" enum:"confirmed"`
}

// confirmByCode handles a confirmation by the code of a message. If the code is wrong, a browser gets the form again.
func (a *API) confirmByCode(c *gin.Context) error {
	confirm := func(channel, phone, code string) (audience.Visit, error) {
		return a.visitors.ConfirmCode(c.Request.Context(), topic.Channel(channel), phone, code, web.Caller(c).IP)
	}
	return page.Submit(c, func(form url.Values) error {
		page.About(c, form.Get("dashboardId"), "")
		if err := onlyOnce(form, "channel", "phone", "code"); err != nil {
			return err
		}
		visit, err := confirm(form.Get("channel"), strings.TrimSpace(form.Get("phone")), strings.TrimSpace(form.Get("code")))
		if fault.Is(err, fault.Invalid) && page.Wanted(c) {
			return page.Show(c, http.StatusUnprocessableEntity, "subscription.confirm_by_code", codePage, newCode(page.Words(c), form))
		}
		if err != nil {
			return err
		}
		dashboard, locale := visit.About()
		page.About(c, dashboard, locale)
		return shows("subscription.confirmed", confirmedPage)(c, visit)
	}, func() error {
		in, err := web.Body[confirmCodeBody](c)
		if err != nil {
			return err
		}
		if _, err := confirm(in.Channel.Value, in.Phone.Value, in.Code.Value); err != nil {
			return err
		}
		c.PureJSON(http.StatusOK, subscriptionConfirmedView{Status: "confirmed"})
		return nil
	})
}

// manageSubscriptionForm describes the form of manage for the API document. The field componentIds may be repeated.
type manageSubscriptionForm struct {
	Action       string `json:"action" enum:"save,unsubscribe" description:"Absent: save. unsubscribe deletes the subscription and ignores the boxes."`
	ComponentIDs string `json:"componentIds" description:"Once for each component, or all: all components, also those that are added later. Absent: unchanged."`
	Paused       string `json:"paused" enum:"on,true" description:"Absent: not paused."`
	Locale       string `json:"locale" description:"BCP 47. Empty: the dashboard's. Absent: unchanged."`
}

// manage executes the action that the form names: save (the default) or unsubscribe. If a setting is wrong, a browser
// gets the form again.
func (a *API) manage(c *gin.Context) error {
	form, err := page.Form(c)
	if err != nil {
		return err
	}
	switch action := form.Get("action"); action {
	case "unsubscribe":
		return page.Follow(a.visitors.Unsubscribe(audience.ToManage), left)(c)
	case "", "save":
	default:
		return fault.Field("action", "must be save or unsubscribe")
	}
	err = page.Follow(func(ctx context.Context, token string) (audience.Visit, error) { return a.save(ctx, token, form) }, saved)(c)
	if fault.Is(err, fault.Invalid) && page.Wanted(c) {
		return a.manageAgain(c, form, fault.As(err).Field)
	}
	return err
}

// save stores the settings in the form.
func (a *API) save(ctx context.Context, token string, form url.Values) (audience.Visit, error) {
	if err := onlyOnce(form, "action", "paused", "locale"); err != nil {
		return audience.Visit{}, err
	}
	known := []string{"action", "componentIds", "paused", "locale"}
	if !slices.ContainsFunc(known, form.Has) {
		return audience.Visit{}, fault.New(fault.Invalid, "The form must have at least one of the fields %s.", strings.Join(known, ", "))
	}
	paused := form.Get("paused")
	if !slices.Contains([]string{"", "on", "true"}, paused) {
		return audience.Visit{}, fault.Field("paused", "must be on or true, or absent")
	}
	settings := audience.Settings{Paused: paused != ""}
	if form.Has("locale") {
		settings.Locale = new(form.Get("locale"))
	}
	if form.Has("componentIds") {
		ids := page.Chosen(form)
		settings.Components = &audience.Chosen{All: slices.Contains(ids, everything), IDs: ids}
	}
	return a.visitors.Manage(ctx, token, settings)
}

// manageAgain shows the form again, with the stored settings of the subscription. The error is next to the boxes or the
// language if field names them, and otherwise above the form.
func (a *API) manageAgain(c *gin.Context, form url.Values, field string) error {
	return page.Follow(a.visitors.Show(audience.ToManage), func(c *gin.Context, visit audience.Visit) error {
		view, w := newLink(c, visit), page.Words(c)
		switch {
		case view.Components.Refuse(w, form, field):
		case field == "locale":
			view.LocaleProblem = w.Word("wrong.locale")
		default:
			view.Problem = w.Word("error.form")
		}
		return page.Show(c, http.StatusUnprocessableEntity, "subscription.manage", managePage, view)
	})(c)
}

// unsubscribe handles the button of the page, and the one-click request of mail programs (RFC 8058).
func (a *API) unsubscribe(c *gin.Context) error {
	form, err := page.Form(c)
	if err != nil {
		return err
	}
	if form.Get("List-Unsubscribe") != "One-Click" {
		return fault.Field("List-Unsubscribe", "must be One-Click")
	}
	return page.Follow(a.visitors.Unsubscribe(audience.ToUnsubscribe), left)(c)
}

// left responds with the page that says that the subscription was deleted.
func left(c *gin.Context, visit audience.Visit) error {
	text := page.Words(c).Word("subscription.unsubscribed_text", "dashboard", visit.DashboardName)
	return page.Show(c, http.StatusOK, "subscription.unsubscribed", page.TextBody, text)
}
