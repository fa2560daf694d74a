package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

const maxForm = 4 << 10

// unsubscribePage is the page for a person. A GET changes nothing, because scanners follow the links in
// mail. The button sends a POST, and so does a mail program (RFC 8058).
const unsubscribePage = `<p>{{.Text}}</p>
{{if .Button}}<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click"><button type="submit">Unsubscribe</button></form>
{{end}}`

// Public declares the pages of the links in messages.
func Public() []web.Public {
	html := web.Content{Media: "text/html", Of: ""}
	responses := []web.Response{
		{Status: 200, Description: "A page.", Contents: []web.Content{html}},
		{Status: 404, Description: "The link is not valid. A browser gets a page.", Contents: []web.Content{html, {Media: "application/json"}}},
	}
	type link struct {
		Token string `query:"token" required:"true" description:"From the link in a mail."`
	}
	return []web.Public{{
		Method: "GET", Path: unsubscribePath, ID: "askUnsubscribe", Tag: "subscribers", Summary: "Show the button that unsubscribes",
		Description: "Changes nothing, because programs follow the links in mail. No other origin may read the response.",
		Parameters:  link{}, Responses: responses, Errors: []int{503},
	}, {
		Method: "POST", Path: unsubscribePath, ID: "unsubscribe", Tag: "subscribers", Summary: "Remove all subscriptions of a mail address",
		Description: "The one-click request of mail programs (RFC 8058). Repeating it is no error. No other origin may read the response.",
		Parameters:  link{}, Responses: responses, Errors: []int{400, 413, 503},
		Bodies: []web.Content{{Media: "application/x-www-form-urlencoded", Of: unsubscription{}, Example: `{"List-Unsubscribe": "One-Click"}`}},
	}}
}

type unsubscription struct {
	OneClick string `json:"List-Unsubscribe" enum:"One-Click" required:"true"`
}

type unsubscribeView struct {
	Title, Text string
	Button      bool
}

// askUnsubscribe serves the page with the button.
func (a *API) askUnsubscribe(c *gin.Context) error {
	if _, ok := a.links.read(c.Query("token")); !ok {
		return unknownLink(c)
	}
	return show(c, http.StatusOK, unsubscribeView{"Unsubscribe", "You will get no more mail about any component of this organization.", true})
}

// unsubscribe deletes the subscriptions of the address in the token. A repeated request changes nothing.
func (a *API) unsubscribe(c *gin.Context) error {
	claim, ok := a.links.read(c.Query("token"))
	if !ok {
		return unknownLink(c)
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxForm)
	if c.Request.PostFormValue("List-Unsubscribe") != "One-Click" {
		return fault.New(fault.Invalid, "The body must be the form List-Unsubscribe=One-Click.")
	}
	if err := a.audience.Leave(c.Request.Context(), claim.organization, claim.address, claim.edition); err != nil {
		return err
	}
	return show(c, http.StatusOK, unsubscribeView{"Unsubscribed", "You will get no more mail about this organization's components.", false})
}

// unknownLink responds to a token that is not valid: with a page to a browser, with an error to a program.
// Neither says why the token is not valid.
func unknownLink(c *gin.Context) error {
	if !page.Wanted(c) {
		return fault.New(fault.NotFound, "This link is not valid.")
	}
	return show(c, http.StatusNotFound, unsubscribeView{"This link is not valid", "Please use the link in the mail as it is.", false})
}

func show(c *gin.Context, status int, view unsubscribeView) error {
	parsed, err := page.Parse(unsubscribePage)
	if err != nil {
		return err
	}
	return page.Show(c, status, parsed, view)
}
