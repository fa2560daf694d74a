// Package page writes the pages of visitors: a form, or the page of a link in a mail. A page runs no script and
// loads no other file.
package page

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/gin-gonic/gin"
)

const layout = `<!DOCTYPE html>
<html lang="{{.Head.Lang}}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>{{.Head.Title}}</title></head>
<body><main><h1>{{.Head.Title}}</h1>
{{template "body" .View}}</main></body></html>
`

// Head is what every page has.
type Head struct {
	Title string
	Lang  string // BCP 47
	// Forms is the origin of a form of the page that is sent to another host than the page's. Empty: there is none.
	Forms string
}

// Template is a page that Show can write.
type Template struct{ parsed *template.Template }

// Parse returns the page with the body, which is a template of package html/template.
func Parse(body string) (Template, error) {
	parsed, err := template.New("page").Parse(layout)
	if err == nil {
		_, err = parsed.New("body").Parse(body)
	}
	return Template{parsed}, err
}

// Show responds with the page. The body of the page shows the view.
func Show(c *gin.Context, status int, page Template, head Head, view any) error {
	var out bytes.Buffer
	if err := page.parsed.Execute(&out, struct {
		Head Head
		View any
	}{head, view}); err != nil {
		return err
	}
	forms := strings.TrimSpace("'self' " + head.Forms)
	c.Header("Content-Security-Policy", "default-src 'none'; form-action "+forms+"; base-uri 'none'; frame-ancestors 'none'")
	c.Data(status, "text/html; charset=utf-8", out.Bytes())
	return nil
}

// Private sets headers that keep the URL, which may contain a token, out of caches, referrers and search engines.
func Private(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	c.Header("Referrer-Policy", "no-referrer")
	c.Header("X-Robots-Tag", "noindex")
	c.Header("X-Content-Type-Options", "nosniff")
}

// Wanted reports whether the client reads pages. Other clients get errors in JSON.
func Wanted(c *gin.Context) bool { return strings.Contains(c.GetHeader("Accept"), "text/html") }
