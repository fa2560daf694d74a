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
	Note string
	endpoint.Visit
}

// ask returns the handler that shows what a link is about.
func (a *API) ask(read func(ctx context.Context, token string) (endpoint.Visit, error), title, body string) func(*gin.Context) error {
	return func(c *gin.Context) error {
		visit, err := read(c.Request.Context(), c.Query("token"))
		if err != nil {
			return err
		}
		return a.show(c, http.StatusOK, body, title, linkView{Visit: visit})
	}
}

// verify verifies the endpoint and shows its secret.
func (a *API) verify(c *gin.Context) error {
	visit, err := a.endpoints.Verify(c.Request.Context(), c.Query("token"))
	if err != nil {
		return err
	}
	return a.show(c, http.StatusOK, verifiedPage, "The endpoint is verified", linkView{Visit: visit})
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
	var view linkView
	switch action := form.Get("action"); action {
	case "", "save":
		view.Note = "Your changes are saved."
		view.Visit, err = a.save(ctx, token, form)
	case "rotate":
		view.Note = "The endpoint has a new secret. For 24 hours, messages are also signed with the former secret."
		view.Visit, err = a.endpoints.Rotate(ctx, token)
	case "unsubscribe":
		if err := a.endpoints.Leave(ctx, token); err != nil {
			return err
		}
		return a.removed(c)
	default:
		err = fault.Field("action", "must be save, rotate or unsubscribe")
	}
	if err != nil {
		return err
	}
	return a.show(c, http.StatusOK, managePage, manageTitle, view)
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
func (a *API) unsubscribe(c *gin.Context) error {
	if err := a.endpoints.Unsubscribe(c.Request.Context(), c.Query("token")); err != nil {
		return err
	}
	return a.removed(c)
}

func (a *API) removed(c *gin.Context) error {
	return a.show(c, http.StatusOK, textPage, "The endpoint is removed", textView{"It receives no more messages."})
}
