// Package page writes the pages of visitors: a form, or a page behind a link in a mail. A page is in the frame of its
// dashboard, or in a plain frame. It runs no script.
package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/words"
)

// mainLayout is the main element of every page. Its classes are those of the frame's style.
const mainLayout = `<main id="main" tabindex="-1" class="small"{{with .Lang}} lang="{{.}}"{{end}}>
<h1 class="title">{{.Title}}</h1>
{{template "body" .View}}
</main>`

// elements are templates that a body may use: "field" shows a Field, "boxes" shows Boxes, "problem" shows an error, and
// "suppressed" says that no messages are sent, if it gets true.
const elements = `
{{define "suppressed"}}{{if .}}{{template "problem" t "link.suppressed"}}{{end}}{{end}}
{{define "problem"}}{{with .}}<p class="problem" role="alert">{{.}}</p>
{{end}}{{end}}
{{define "field"}}<p><label for="{{.Name}}">{{.Label}}</label>
<input id="{{.Name}}" name="{{.Name}}" type="{{.Type}}" required maxlength="{{.Max}}" value="{{.Value}}"
{{- with .Autocomplete}} autocomplete="{{.}}"{{end}}{{if .Digits}} inputmode="numeric" pattern="[0-9 \-]{6,12}"{{end}}
{{- if .Problem}} aria-invalid="true" aria-describedby="{{.Name}}-problem" autofocus{{else if .Hint}} aria-describedby="{{.Name}}-hint"{{end}}>
{{if .Problem}}<span class="problem" id="{{.Name}}-problem" role="alert">{{.Problem}}</span>{{else if .Hint}}<span class="meta" id="{{.Name}}-hint">{{.Hint}}</span>{{end}}</p>
{{end}}
{{define "boxes"}}<fieldset{{if or .Problem .Hint}} aria-describedby="boxes-note"{{end}}><legend>{{.Legend}}</legend>
{{if .Problem}}<p class="problem" id="boxes-note" role="alert">{{.Problem}}</p>
{{else if .Hint}}<p class="meta" id="boxes-note">{{.Hint}}</p>
{{end}}<ul class="boxes">{{range .Choices}}<li><label><input type="checkbox" name="componentIds" value="{{.ID}}"{{if .Chosen}} checked{{end}}> <bdi>{{.Name}}</bdi></label></li>
{{end}}</ul></fieldset>
{{end}}`

// Field is an input with its hint or its error.
type Field struct {
	Name, Label, Type  string
	Value              string
	Max                int // characters
	Autocomplete, Hint string
	Problem            string
	Digits             bool // a code of six digits
}

// Boxes are the components that a visitor chooses.
type Boxes struct {
	Legend, Hint, Problem string
	Choices               []Box
}

// Box is a component.
type Box struct {
	ID, Name string
	Chosen   bool
}

// Frames finds the frame of a dashboard. peer.Events implements it.
type Frames interface {
	Frame(ctx context.Context, dashboardID string) (peer.Frame, error)
}

// The keys of values in the gin.Context.
const (
	framesKey    = "page.frames"
	localesKey   = "page.locales"
	dashboardKey = "page.dashboard"
	localeKey    = "page.locale"
	frameKey     = "page.frame " // and the dashboard
)

// About sets the dashboard and the locale (BCP 47; empty: unknown) of the response page, error pages included.
func About(c *gin.Context, dashboardID, locale string) {
	c.Set(dashboardKey, dashboardID)
	c.Set(localeKey, locale)
}

// Show responds with a page in the visitor's words. title is the key of its heading. body is a template of package
// html/template, which shows the view. Its function t returns the word of a key.
func Show(c *gin.Context, status int, title, body string, view any) error {
	l := Words(c)
	frame := frameOf(c, l.Tag)
	content, err := render(frame, l, l.Word(title), body, view)
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", frame.Policy)
	c.Data(status, mediaType, content)
	return nil
}

// Plain returns a page in English without a dashboard, and the headers of a response with the page.
func Plain(title, body string, view any) ([]byte, http.Header, error) {
	frame := plainFrame(words.Default)
	content, err := render(frame, &words.Locale{Tag: words.Default}, title, body, view)
	return content, http.Header{
		"Content-Type": {mediaType}, "Content-Security-Policy": {frame.Policy}, "X-Content-Type-Options": {"nosniff"},
	}, err
}

const mediaType = "text/html; charset=utf-8"

// render returns the page in the frame.
func render(frame peer.Frame, l *words.Locale, title, body string, view any) ([]byte, error) {
	layout := template.New("page").Funcs(template.FuncMap{"t": l.Word})
	for name, text := range map[string]string{"main": mainLayout, "elements": elements, "body": body} {
		if _, err := layout.New(name).Parse(text); err != nil {
			return nil, err
		}
	}
	foreign := l.Tag
	if foreign == frame.Lang {
		foreign = ""
	}
	var out bytes.Buffer
	out.WriteString(frame.Before + html.EscapeString(title) + frame.Between)
	if err := layout.ExecuteTemplate(&out, "main", struct {
		Title, Lang string
		View        any
	}{title, foreign, view}); err != nil {
		return nil, err
	}
	out.WriteString(frame.After)
	return out.Bytes(), nil
}

// frameTime is the time that a page waits for its frame.
const frameTime = time.Second

// frameOf returns the frame of the dashboard that the page is about. It returns the plain frame if there is no such
// dashboard, or if the events service cannot be reached: people confirm and leave during an outage too.
func frameOf(c *gin.Context, lang string) peer.Frame {
	if frame := dashboardFrame(c); frame.Before != "" {
		return frame
	}
	return plainFrame(lang)
}

// dashboardFrame returns the frame of the dashboard that the page is about, or none. It asks once for each request.
func dashboardFrame(c *gin.Context) (frame peer.Frame) {
	frames, is := c.Value(framesKey).(Frames)
	dashboard := c.GetString(dashboardKey)
	if !is || dashboard == "" {
		return frame
	}
	if former, asked := c.Value(frameKey + dashboard).(peer.Frame); asked {
		return former
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), frameTime)
	defer cancel()
	frame, err := frames.Frame(ctx, dashboard)
	if err != nil {
		frame = peer.Frame{}
	}
	c.Set(frameKey+dashboard, frame)
	return frame
}

// plainStyle is the style of a page without a dashboard. It has the classes of the frames of dashboards.
const plainStyle = `:root{color-scheme:light dark;--ground:#fff;--text:#1a1c20;--soft:#5b616b;--line:#dcdfe4;--accent:#1f5fc4;--x:#b3261e}
@media (prefers-color-scheme:dark){:root{--ground:#15171b;--text:#eceef1;--soft:#a5abb5;--line:#3a3f47;--accent:#8ab4ff;--x:#ff9a90}}
*{box-sizing:border-box}
body{margin:0 auto;padding:3rem 1.25rem;max-width:40rem;background:var(--ground);color:var(--text);font:1rem/1.6 system-ui,sans-serif;overflow-wrap:anywhere}
h1,h2{line-height:1.25}
h1{font-size:1.75rem}
h2{font-size:1.25rem}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
main:focus{outline:0}
.card,fieldset{border:1px solid var(--line);border-radius:.625rem;padding:1.25rem;margin:0 0 1rem}
label,legend{font-weight:600}
input[id],select{display:block;width:100%;margin-top:.375rem;padding:.625rem;border:1px solid var(--soft);border-radius:.5rem;background:var(--ground);color:inherit;font:inherit}
.boxes{list-style:none;margin:0;padding:0}
label:has([type=checkbox]){display:flex;gap:.5rem}
.boxes label{padding:.25rem 0;font-weight:400}
.btn{display:inline-block;border:0;border-radius:.5rem;padding:.625rem 1.125rem;background:var(--accent);color:var(--ground);font:inherit;font-weight:600;text-decoration:none;cursor:pointer}
.meta{color:var(--soft)}
.problem{display:block;color:var(--x);font-weight:600}
@media (forced-colors:active){.btn{border:1px solid}}`

// plainFrame returns the frame of a page without a dashboard.
func plainFrame(lang string) peer.Frame {
	sum := sha256.Sum256([]byte(plainStyle))
	return peer.Frame{
		Before: `<!DOCTYPE html>
<html lang="` + html.EscapeString(lang) + `">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>`,
		Between: `</title>
<style>` + plainStyle + `</style>
</head>
<body>
`,
		After: `
</body>
</html>
`,
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		Lang: lang,
	}
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
