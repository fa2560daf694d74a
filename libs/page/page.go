// Package page writes the pages of visitors: a form, or a page behind a link in a mail. A page is in the frame of its
// dashboard, or in a plain frame. It runs no script.
package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/text/language"

	"github.com/bellbuoy/bellbuoy/libs/link"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/words"
)

var (
	// mainLayout is the main element of every page. Its classes are those of the frame's style.
	//
	//go:embed frame/main.html
	mainLayout string
	// elements are templates that a body may use: "field" shows a Field, "boxes" shows Boxes, "problem" shows an error,
	// "suppressed" says that no messages are sent, if it gets true, and "secret" shows the secret of an endpoint.
	//
	//go:embed frame/elements.html
	elements string
	// plainPage is a page without a dashboard. {lang}, {title}, {style} and {main} stand for its parts.
	//
	//go:embed frame/plain.html
	plainPage string
	// plainStyle is the style of a page without a dashboard. It has the classes of the frames of dashboards.
	//
	//go:embed frame/plain.css
	plainStyle string
)

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
	Choices               []link.Choice
}

// Refuse shows that the choice in the form is wrong, if the field of the error is that of the boxes. Else it returns false.
func (b *Boxes) Refuse(w *words.Locale, form url.Values, field string) bool {
	if name, _, _ := strings.Cut(field, "["); name != "componentIds" {
		return false
	}
	b.Problem = w.Word("wrong.components")
	if len(Chosen(form)) == 0 {
		b.Problem = w.Word("wrong.choice")
	}
	return true
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
		if _, err := layout.New(name).Parse(strings.TrimSuffix(text, "\n")); err != nil {
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

// plainFrame returns the frame of a page without a dashboard.
func plainFrame(lang string) peer.Frame {
	style := strings.TrimSpace(plainStyle)
	sum := sha256.Sum256([]byte(style))
	before, rest, _ := strings.Cut(strings.NewReplacer("{lang}", html.EscapeString(lang), "{style}", style).Replace(plainPage), "{title}")
	between, after, _ := strings.Cut(rest, "{main}")
	return peer.Frame{
		Before: before, Between: between, After: after, Lang: lang,
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
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

// Words returns the words in the locale of the visitor that the page is for (About). If the pages do not have that locale, it
// returns those in the locale of the dashboard, and then those that the browser asks for.
func Words(c *gin.Context) *words.Locale {
	locales := c.MustGet(localesKey).(words.Locales)
	for _, wanted := range []func() []string{
		func() []string { return []string{c.GetString(localeKey)} },
		func() []string { return []string{dashboardFrame(c).Lang} },
		func() []string { return accepted(c) },
	} {
		for _, tag := range wanted() {
			if found, confidence := locales.Find(tag); confidence > language.Low {
				return found
			}
		}
	}
	return locales.All()[0]
}

// accepted returns the locales that the browser asks for. A header that is wrong has none.
func accepted(c *gin.Context) []string {
	wanted, _, _ := language.ParseAcceptLanguage(c.GetHeader("Accept-Language"))
	tags := make([]string, len(wanted))
	for i, tag := range wanted {
		tags[i] = tag.String()
	}
	return tags
}

// Locales returns the words of the pages in every locale.
func Locales(c *gin.Context) []*words.Locale { return c.MustGet(localesKey).(words.Locales).All() }
