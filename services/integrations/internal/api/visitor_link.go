package api

import (
	"context"
	"net/http"
	"net/url"

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
		"verify":      {a.ask(a.endpoints.ShowVerify, "Verify the endpoint", verifyPage), a.verify},
		"manage":      {a.ask(a.endpoints.ShowManage, manageTitle, managePage), a.manage},
		"unsubscribe": {a.ask(a.endpoints.ShowUnsubscribe, "Remove the endpoint", unsubscribePage), a.unsubscribe},
	}
}

const manageTitle = "Manage the endpoint"

// linkView is the view of the pages behind links.
type linkView struct {
	Note  string
	Boxes page.Boxes
	endpoint.Visit
}

func newLink(visit endpoint.Visit) linkView {
	view := linkView{Visit: visit, Boxes: page.Boxes{Legend: "Components"}}
	for _, choice := range visit.Components {
		view.Boxes.Choices = append(view.Boxes.Choices, page.Box{ID: choice.ID, Name: choice.Name, Chosen: choice.Chosen})
	}
	return view
}

// ask returns the handler that shows what a link is about.
func (a *API) ask(read func(ctx context.Context, token string) (endpoint.Visit, error), title, body string) func(*gin.Context) error {
	return func(c *gin.Context) error {
		visit, err := read(c.Request.Context(), c.Query("token"))
		page.About(c, visit.DashboardID)
		if err != nil {
			return err
		}
		return show(c, http.StatusOK, body, title, newLink(visit))
	}
}

// verify verifies the endpoint and shows its secret.
func (a *API) verify(c *gin.Context) error {
	visit, err := a.endpoints.Verify(c.Request.Context(), c.Query("token"))
	page.About(c, visit.DashboardID)
	if err != nil {
		return err
	}
	return show(c, http.StatusOK, verifiedPage, "The endpoint is verified", newLink(visit))
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
	ctx, token, note := c.Request.Context(), c.Query("token"), ""
	var visit endpoint.Visit
	switch action := form.Get("action"); action {
	case "", "save":
		note = "Your changes are saved."
		visit, err = a.save(ctx, token, form)
	case "rotate":
		note = "The endpoint has a new secret. For 24 hours, messages are also signed with the former secret."
		visit, err = a.endpoints.Rotate(ctx, token)
	case "unsubscribe":
		return a.left(c, a.endpoints.Leave)
	default:
		err = fault.Field("action", "must be save, rotate or unsubscribe")
	}
	page.About(c, visit.DashboardID)
	if fault.Is(err, fault.Invalid) && page.Wanted(c) {
		return a.manageAgain(c, token, err)
	}
	if err != nil {
		return err
	}
	view := newLink(visit)
	view.Note = note
	return show(c, http.StatusOK, managePage, manageTitle, view)
}

// manageAgain shows the form as the endpoint is stored, with the error.
func (a *API) manageAgain(c *gin.Context, token string, wrong error) error {
	visit, err := a.endpoints.ShowManage(c.Request.Context(), token)
	page.About(c, visit.DashboardID)
	if err != nil {
		return err
	}
	view := newLink(visit)
	view.Boxes.Problem = page.Message(wrong)
	return show(c, http.StatusUnprocessableEntity, managePage, manageTitle, view)
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
	page.About(c, visit.DashboardID)
	if err != nil {
		return err
	}
	return show(c, http.StatusOK, textPage, "The endpoint is removed", "It receives no more messages.")
}
