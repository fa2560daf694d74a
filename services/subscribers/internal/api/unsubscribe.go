package api

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

const (
	unsubscribePath = "/public/unsubscribe"
	maxForm         = 4 << 10
)

// unsubscribePage is what a person sees. A GET changes nothing, because scanners
// follow the links in mail; the button, and the mail program's own (RFC 8058), post.
const unsubscribePage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>{{.Title}}</title></head>
<body><h1>{{.Title}}</h1><p>{{.Text}}</p>
{{if .Button}}<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click"><button type="submit">Unsubscribe</button></form>
{{end}}</body></html>
`

type unsubscribeView struct {
	Title, Text string
	Button      bool
}

// askUnsubscribe shows the button.
func (a *API) askUnsubscribe(c *gin.Context) error {
	if _, ok := a.passes.read(c.Query("token")); !ok {
		return unknownLink(c)
	}
	return show(c, http.StatusOK, unsubscribeView{"Unsubscribe", "You will get no more mail about any component of this organization.", true})
}

// unsubscribe removes the subscriptions of whom the token names; again changes nothing.
func (a *API) unsubscribe(c *gin.Context) error {
	pass, ok := a.passes.read(c.Query("token"))
	if !ok {
		return unknownLink(c)
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxForm)
	if c.Request.PostFormValue("List-Unsubscribe") != "One-Click" {
		return fault.New(fault.Invalid, "The body must be the form List-Unsubscribe=One-Click.")
	}
	if err := a.audience.Leave(c.Request.Context(), pass.organization, pass.address, pass.edition); err != nil {
		return err
	}
	return show(c, http.StatusOK, unsubscribeView{"Unsubscribed", "You will get no more mail about this organization's components.", false})
}

// unknownLink answers a token that is not one of ours: a page for people, an error for
// programs; neither says what is wrong with it.
func unknownLink(c *gin.Context) error {
	if !strings.Contains(c.GetHeader("Accept"), "text/html") {
		return fault.New(fault.NotFound, "This link is not valid.")
	}
	return show(c, http.StatusNotFound, unsubscribeView{"This link is not valid", "Please use the link in the mail as it is.", false})
}

// show writes a page that runs nothing, loads nothing, is kept nowhere and tells
// nobody its address, which holds the token.
func show(c *gin.Context, status int, view unsubscribeView) error {
	page, err := template.New("page").Parse(unsubscribePage)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := page.Execute(&out, view); err != nil {
		return err
	}
	c.Header("Content-Security-Policy", "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	c.Data(status, "text/html; charset=utf-8", out.Bytes())
	return nil
}

// secretive is said of every answer on a path with a token in its query.
func secretive(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	c.Header("Referrer-Policy", "no-referrer")
	c.Header("X-Robots-Tag", "noindex")
	c.Header("X-Content-Type-Options", "nosniff")
}
