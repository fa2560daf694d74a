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

// linkView is the view of the pages that the links in mail open.
type linkView struct {
	Note, Problem string
	Receiver      string // URLDisplay and the name of the kind
	Boxes         page.Boxes
	endpoint.Visit
}

func newLink(c *gin.Context, visit endpoint.Visit) linkView {
	view := linkView{Visit: visit, Receiver: visit.URLDisplay + " (" + visit.Kind.Name + ")"}
	view.Boxes = page.Boxes{Legend: page.Words(c).Word("link.components"), Choices: visit.Components}
	return view
}

// shows returns a handler that responds with the page of a Visit. title is the key of the title, and body is the
// template of the body.
func shows(title, body string) func(*gin.Context, endpoint.Visit) error {
	return page.View(title, body, newLink)
}

// manageForm describes the form in the OpenAPI document. The field componentIds may be repeated.
type manageForm struct {
	Action       string `json:"action" enum:"save,rotate,unsubscribe" description:"Absent: save. rotate replaces the secret of a webhook, unsubscribe deletes the endpoint; both ignore the boxes."`
	ComponentIDs string `json:"componentIds" description:"Once for each component. At least one."`
	Paused       string `json:"paused" enum:"on" description:"Absent: not paused."`
}

// manage executes the action that the form names: save, rotate or unsubscribe. Without an action it saves. If the input
// is wrong and the client accepts a page, manage shows the form again.
func (a *API) manage(c *gin.Context) error {
	form, err := page.Form(c)
	if err != nil {
		return err
	}
	note := "link.saved"
	act := func(ctx context.Context, token string) (endpoint.Visit, error) { return a.save(ctx, token, form) }
	switch action := form.Get("action"); action {
	case "", "save":
	case "rotate":
		note, act = "endpoint.rotated", a.endpoints.Rotate
	case "unsubscribe":
		return page.Follow(a.endpoints.Unsubscribe(endpoint.ToManage), left)(c)
	default:
		act = func(context.Context, string) (endpoint.Visit, error) {
			return endpoint.Visit{}, fault.Field("action", "must be save, rotate or unsubscribe")
		}
	}
	err = page.Follow(act, func(c *gin.Context, visit endpoint.Visit) error {
		view := newLink(c, visit)
		view.Note = page.Words(c).Word(note)
		return page.Show(c, http.StatusOK, "endpoint.manage", managePage, view)
	})(c)
	if fault.Is(err, fault.Invalid) && page.Wanted(c) {
		return a.manageAgain(c, form, err)
	}
	return err
}

// manageAgain shows the form again, with the stored settings of the endpoint and a text about the error.
func (a *API) manageAgain(c *gin.Context, form url.Values, wrong error) error {
	return page.Follow(a.endpoints.Show(endpoint.ToManage), func(c *gin.Context, visit endpoint.Visit) error {
		view, w := newLink(c, visit), page.Words(c)
		if !view.Boxes.Refuse(w, form, fault.As(wrong).Field) {
			view.Problem = w.Word("error.form")
		}
		return page.Show(c, http.StatusUnprocessableEntity, "endpoint.manage", managePage, view)
	})(c)
}

func (a *API) save(ctx context.Context, token string, form url.Values) (endpoint.Visit, error) {
	paused := form.Get("paused")
	if paused != "" && paused != "on" {
		return endpoint.Visit{}, fault.Field("paused", "must be on, or absent")
	}
	return a.endpoints.Manage(ctx, token, endpoint.Settings{ComponentIDs: page.Chosen(form), Paused: paused == "on"})
}

// left responds with the page that says that the endpoint was deleted.
func left(c *gin.Context, _ endpoint.Visit) error {
	return page.Show(c, http.StatusOK, "endpoint.removed", page.TextBody, page.Words(c).Word("endpoint.removed_text"))
}
