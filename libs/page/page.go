// Package page writes the pages of visitors: a form, or a page behind a link in a mail. A page runs no script and
// loads nothing.
package page

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/gin-gonic/gin"
)

const layout = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>{{.Title}}</title></head>
<body><h1>{{.Title}}</h1>
{{template "body" .}}</body></html>
`

// Template is a page that Show can write.
type Template struct{ parsed *template.Template }

// Parse returns the page with the body, which is a template of package html/template. The view of the page must have a
// Title.
func Parse(body string) (Template, error) {
	parsed, err := template.New("page").Parse(layout)
	if err == nil {
		_, err = parsed.New("body").Parse(body)
	}
	return Template{parsed}, err
}

// Show responds with the page.
func Show(c *gin.Context, status int, page Template, view any) error {
	var out bytes.Buffer
	if err := page.parsed.Execute(&out, view); err != nil {
		return err
	}
	c.Header("Content-Security-Policy", "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
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
