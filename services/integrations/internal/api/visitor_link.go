package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/gin-gonic/gin"
)

// link serves the page behind a link: show responds to GET and changes nothing, act responds to POST.
type link struct{ show, act func(c *gin.Context) error }

// links returns the pages by the last segment of their path.
func (a *API) links() map[string]link {
	return map[string]link{
		"verify":      {a.ask(a.endpoints.ShowVerify, func(w words) string { return w.Verify }, verifyPage), a.verify},
		"manage":      {a.ask(a.endpoints.ShowManage, func(w words) string { return w.Manage }, managePage), a.manage},
		"unsubscribe": {a.ask(a.endpoints.ShowUnsubscribe, func(w words) string { return w.Remove }, unsubscribePage), a.unsubscribe},
	}
}

// linkView is the view of the pages behind links.
type linkView struct {
	W             words
	Note, Problem string
	Receiver      string // the URL and its kind
	Boxes         page.Boxes
	endpoint.Visit
}

func (a *API) newLink(c *gin.Context, visit endpoint.Visit) linkView {
	w := a.words.For(c)
	view := linkView{W: w, Visit: visit, Receiver: visit.URLDisplay + " (" + channelName(visit.Kind.Channel) + ")", Boxes: page.Boxes{Legend: w.Components}}
	for _, choice := range visit.Components {
		view.Boxes.Choices = append(view.Boxes.Choices, page.Box{ID: choice.ID, Name: choice.Name, Chosen: choice.Chosen})
	}
	return view
}

// ask returns the handler that shows what a link is about.
func (a *API) ask(read func(ctx context.Context, token string) (endpoint.Visit, error), title func(words) string, body string) func(*gin.Context) error {
	return func(c *gin.Context) error {
		visit, err := read(c.Request.Context(), c.Query("token"))
		page.About(c, visit.DashboardID, "")
		if err != nil {
			return err
		}
		view := a.newLink(c, visit)
		return show(c, http.StatusOK, body, title(view.W), view.W, view)
	}
}

// verify verifies the endpoint and shows its secret.
func (a *API) verify(c *gin.Context) error {
	visit, err := a.endpoints.Verify(c.Request.Context(), c.Query("token"))
	page.About(c, visit.DashboardID, "")
	if err != nil {
		return err
	}
	view := a.newLink(c, visit)
	return show(c, http.StatusOK, verifiedPage, view.W.Verified, view.W, view)
}

// manageForm describes the form. Its componentIds may be repeated.
type manageForm struct {
	Action       string `json:"action" enum:"save,rotate,unsubscribe" description:"Absent: save. rotate replaces the secret of a webhook, unsubscribe deletes the endpoint; both ignore the boxes."`
	ComponentIDs string `json:"componentIds" description:"Once for each component. At least one."`
	Paused       string `json:"paused" enum:"on" description:"Absent: not paused."`
}

// manage does what the button of the form says.
func (a *API) manage(c *gin.Context) error {
	form, err := page.Form(c)
	if err != nil {
		return err
	}
	ctx, token := c.Request.Context(), c.Query("token")
	var visit endpoint.Visit
	switch action := form.Get("action"); action {
	case "", "save":
		visit, err = a.save(ctx, token, form)
	case "rotate":
		visit, err = a.endpoints.Rotate(ctx, token)
	case "unsubscribe":
		return a.left(c, a.endpoints.Leave)
	default:
		err = fault.Field("action", "must be save, rotate or unsubscribe")
	}
	page.About(c, visit.DashboardID, "")
	if fault.Is(err, fault.Invalid) && page.Wanted(c) {
		return a.manageAgain(c, token, form, err)
	}
	if err != nil {
		return err
	}
	view := a.newLink(c, visit)
	view.Note = view.W.Saved
	if form.Get("action") == "rotate" {
		view.Note = view.W.Rotated
	}
	return show(c, http.StatusOK, managePage, view.W.Manage, view.W, view)
}

// manageAgain shows the form as the endpoint is stored, with the error.
func (a *API) manageAgain(c *gin.Context, token string, form url.Values, wrong error) error {
	visit, err := a.endpoints.ShowManage(c.Request.Context(), token)
	page.About(c, visit.DashboardID, "")
	if err != nil {
		return err
	}
	view := a.newLink(c, visit)
	if field, _, _ := strings.Cut(fault.As(wrong).Field, "["); field == "componentIds" {
		view.Boxes.Problem = view.W.WrongComponents
		if len(page.Chosen(form)) == 0 {
			view.Boxes.Problem = view.W.WrongChoice
		}
	} else {
		view.Problem = view.W.WrongForm
	}
	return show(c, http.StatusUnprocessableEntity, managePage, view.W.Manage, view.W, view)
}

func (a *API) save(ctx context.Context, token string, form url.Values) (endpoint.Visit, error) {
	paused := form.Get("paused")
	if paused != "" && paused != "on" {
		return endpoint.Visit{}, fault.Field("paused", "must be on, or absent")
	}
	return a.endpoints.Manage(ctx, token, endpoint.Settings{ComponentIDs: page.Chosen(form), Paused: paused == "on"})
}

// unsubscribe deletes the endpoint. It ignores the body, so that it also takes the one-click request of mail programs
// (RFC 8058).
func (a *API) unsubscribe(c *gin.Context) error { return a.left(c, a.endpoints.Unsubscribe) }

// left deletes the endpoint and shows that.
func (a *API) left(c *gin.Context, leave func(ctx context.Context, token string) (endpoint.Visit, error)) error {
	visit, err := leave(c.Request.Context(), c.Query("token"))
	page.About(c, visit.DashboardID, "")
	if err != nil {
		return err
	}
	w := a.words.For(c)
	return show(c, http.StatusOK, textPage, w.Removed, w, w.RemovedText)
}
