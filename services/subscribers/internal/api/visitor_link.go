package api

import (
	"cmp"
	"context"
	"fmt"
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

// linkPage serves the page behind a link: show responds to GET and changes nothing, act responds to POST.
type linkPage struct{ show, act func(c *gin.Context) error }

// linkPages returns the pages by their path.
func (a *API) linkPages() map[string]linkPage {
	asks := func(read func(context.Context, string) (audience.Visit, error), body string, title func(words) string) func(*gin.Context) error {
		return func(c *gin.Context) error {
			visit, err := read(c.Request.Context(), c.Query("token"))
			about(c, visit)
			if err != nil {
				return err
			}
			view := a.newLink(c, visit)
			return show(c, http.StatusOK, body, title(view.W), view.W, view)
		}
	}
	return map[string]linkPage{
		audience.ConfirmPath: {
			asks(a.visitors.ShowConfirm, confirmPage, func(w words) string { return w.Confirm }), a.confirm,
		},
		audience.ManagePath: {
			asks(a.visitors.ShowManage, managePage, func(w words) string { return w.Manage }), a.manage,
		},
		audience.UnsubscribePath: {
			asks(a.visitors.ShowUnsubscribe, unsubscribePage, func(w words) string { return w.Unsubscribe }), a.unsubscribe,
		},
	}
}

// about makes the page of the request one about the visit, in its language.
func about(c *gin.Context, visit audience.Visit) {
	page.About(c, visit.DashboardID, cmp.Or(visit.Locale, visit.DashboardLocale))
}

// confirm confirms by the link if the URL has a token, else by the code in the body.
func (a *API) confirm(c *gin.Context) error {
	if _, linked := c.GetQuery("token"); !linked {
		return a.confirmByCode(c)
	}
	visit, err := a.visitors.Confirm(c.Request.Context(), c.Query("token"))
	about(c, visit)
	if err != nil {
		return err
	}
	return a.confirmed(c, visit)
}

func (a *API) confirmed(c *gin.Context, visit audience.Visit) error {
	view := a.newLink(c, visit)
	return show(c, http.StatusOK, confirmedPage, view.W.Confirmed, view.W, view)
}

type confirmCodeBody struct {
	Channel optional.Value[string] `json:"channel" required:"true" enum:"sms,whatsapp"`
	Phone   optional.Value[string] `json:"phone" required:"true"`
	Code    optional.Value[string] `json:"code" required:"true" pattern:"^[ -]*([0-9][ -]*){6}$" description:"Six digits. Spaces and dashes do not count."`
}

// confirmCodeForm describes the form.
type confirmCodeForm struct {
	Channel     string `json:"channel" required:"true" enum:"sms,whatsapp"`
	Phone       string `json:"phone" required:"true"`
	Code        string `json:"code" required:"true"`
	DashboardID string `json:"dashboardId" description:"The dashboard whose design the page gets."`
}

type subscriptionConfirmedView struct {
	Status string `json:"status" enum:"confirmed"`
}

// confirmByCode takes the code of a message. A wrong one shows the form again.
func (a *API) confirmByCode(c *gin.Context) error {
	ctx, ip := c.Request.Context(), web.Caller(c).IP
	isForm, err := page.IsForm(c)
	if err != nil {
		return err
	}
	if !isForm {
		in, err := web.Body[confirmCodeBody](c)
		if err != nil {
			return page.InJSON(err)
		}
		if _, err := a.visitors.ConfirmCode(ctx, topic.Channel(in.Channel.Value), in.Phone.Value, in.Code.Value, ip); err != nil {
			return page.InJSON(err)
		}
		c.PureJSON(http.StatusOK, subscriptionConfirmedView{Status: "confirmed"})
		return nil
	}
	form, err := page.Form(c)
	if err != nil {
		return err
	}
	page.About(c, form.Get("dashboardId"), "")
	if err = onlyOnce(form, "channel", "phone", "code"); err != nil {
		return err
	}
	visit, err := a.visitors.ConfirmCode(ctx, topic.Channel(form.Get("channel")), strings.TrimSpace(form.Get("phone")), strings.TrimSpace(form.Get("code")), ip)
	if fault.Is(err, fault.Invalid) && page.Wanted(c) {
		w := a.words.For(c)
		return show(c, http.StatusUnprocessableEntity, codePage, w.ConfirmByCode, w, codeView{
			Channel: form.Get("channel"), Dashboard: form.Get("dashboardId"), Button: w.ConfirmByCode, Phone: w.phoneField(form.Get("phone")),
			Code: page.Field{Name: "code", Label: w.Code, Type: "text", Max: 12, Autocomplete: "one-time-code", Problem: w.WrongCode, Digits: true},
		})
	}
	if err != nil {
		return err
	}
	about(c, visit)
	return a.confirmed(c, visit)
}

// manageSubscriptionForm describes the form. Its componentIds may be repeated.
type manageSubscriptionForm struct {
	Action       string `json:"action" enum:"save,unsubscribe" description:"Absent: save. unsubscribe deletes the subscription and ignores the boxes."`
	ComponentIDs string `json:"componentIds" description:"Once for each component, or all: all components, also those that are added later. Absent: unchanged."`
	Paused       string `json:"paused" enum:"on,true" description:"Absent: not paused."`
	Locale       string `json:"locale" description:"BCP 47. Empty: the dashboard's. Absent: unchanged."`
}

// manage does what the button of the form says.
func (a *API) manage(c *gin.Context) error {
	form, err := page.Form(c)
	if err != nil {
		return err
	}
	ctx, token := c.Request.Context(), c.Query("token")
	switch action := form.Get("action"); action {
	case "unsubscribe":
		return a.left(c, a.visitors.Leave)
	case "", "save":
	default:
		return fault.Field("action", "must be save or unsubscribe")
	}
	visit, err := a.save(ctx, token, form)
	about(c, visit)
	if fault.Is(err, fault.Invalid) && page.Wanted(c) {
		return a.manageAgain(c, token, form, fault.As(err).Field)
	}
	if err != nil {
		return err
	}
	view := a.newLink(c, visit)
	view.Note = view.W.Saved
	return show(c, http.StatusOK, managePage, view.W.Manage, view.W, view)
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

// manageAgain shows the form as the subscription is stored, with the error beside its field.
func (a *API) manageAgain(c *gin.Context, token string, form url.Values, field string) error {
	visit, err := a.visitors.ShowManage(c.Request.Context(), token)
	if err != nil {
		return err
	}
	about(c, visit)
	view := a.newLink(c, visit)
	switch name, _, _ := strings.Cut(field, "["); name {
	case "componentIds":
		view.Components.Problem = view.W.WrongComponents
		if strings.Join(form["componentIds"], "") == "" {
			view.Components.Problem = view.W.WrongChoice
		}
	case "locale":
		view.LocaleProblem = view.W.WrongLocale
	default:
		view.Problem = view.W.WrongForm
	}
	return show(c, http.StatusUnprocessableEntity, managePage, view.W.Manage, view.W, view)
}

// unsubscribe takes the button of the page and the one-click request of mail programs (RFC 8058).
func (a *API) unsubscribe(c *gin.Context) error {
	form, err := page.Form(c)
	if err != nil {
		return err
	}
	if form.Get("List-Unsubscribe") != "One-Click" {
		return fault.Field("List-Unsubscribe", "must be One-Click")
	}
	return a.left(c, a.visitors.Unsubscribe)
}

// left ends the subscription and shows that.
func (a *API) left(c *gin.Context, leave func(ctx context.Context, token string) (audience.Visit, error)) error {
	visit, err := leave(c.Request.Context(), c.Query("token"))
	about(c, visit)
	if err != nil {
		return err
	}
	w := a.newLink(c, visit).W
	return show(c, http.StatusOK, textPage, w.Unsubscribed, w, fmt.Sprintf(w.UnsubscribedText, visit.DashboardName))
}
