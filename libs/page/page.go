// Package page writes the pages of visitors: a form, or a page that a link in a message opens. A page has the frame of
// its dashboard, or a plain frame. It runs no script.
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
	"github.com/bellbuoy/bellbuoy/libs/look"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/words"
)

var (
	// mainLayout is the main element of every page. Its classes are those of the frame's style.
	//
	//go:embed frame/main.html
	mainLayout string
	// elements are templates that a body may use: "field" shows a Field, "boxes" shows Boxes, "problem" shows an
	// error, "suppressed" states that no messages are sent if its argument is true, and "secret" shows an endpoint's
	// secret.
	//
	//go:embed frame/elements.html
	elements string
	// plainPage is a page without a dashboard. {lang}, {title}, {style} and {main} are replaced by its parts.
	//
	//go:embed frame/plain.html
	plainPage string
	// plainStyle is the style of a page without a dashboard, after the base style. It defines the same classes as the
	// frames of dashboards.
	//
	//go:embed frame/plain.css
	plainStyle string
)

// Field is an input element with its hint or its error.
type Field struct {
	Name, Label, Type  string
	Value              string
	Max                int // maximum number of characters
	Autocomplete, Hint string
	Problem            string
	Digits             bool // the input is a code of six digits
}

// Boxes are the check boxes for the components that a visitor can choose.
type Boxes struct {
	Legend, Hint, Problem string
	Choices               []link.Choice
}

// Refuse sets Problem and returns true if field, the field of an error, is componentIds or an element of it. Otherwise it
// returns false.
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
	frameKey     = "page.frame " // followed by the id of the dashboard
)

// About sets the dashboard and the locale (BCP 47; empty: unknown) for the page of the response, including error
// pages.
func About(c *gin.Context, dashboardID, locale string) {
	c.Set(dashboardKey, dashboardID)
	c.Set(localeKey, locale)
}

// Show responds with a page in the locale of Words. title is the key of its heading. body is a template of package
// html/template for the view. The template function t returns the word for a key.
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

// frameTime is the time limit for loading the frame of a page.
const frameTime = time.Second

// frameOf returns the frame of the dashboard that the page is about. It returns the plain frame if there is no such
// dashboard or the events service cannot be reached, because visitors must be able to confirm and unsubscribe during
// an outage too.
func frameOf(c *gin.Context, lang string) peer.Frame {
	if frame := dashboardFrame(c); frame.Before != "" {
		return frame
	}
	return plainFrame(lang)
}

// dashboardFrame returns the frame of the dashboard that the page is about. It returns the zero Frame if it cannot load
// the frame. It calls Frames at most once for a dashboard while the same request is handled.
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
	style := look.Colors("", "") + look.Base() + strings.TrimSpace(plainStyle)
	sum := sha256.Sum256([]byte(style))
	before, rest, _ := strings.Cut(strings.NewReplacer("{lang}", html.EscapeString(lang), "{style}", style).Replace(plainPage), "{title}")
	between, after, _ := strings.Cut(rest, "{main}")
	return peer.Frame{
		Before: before, Between: between, After: after, Lang: lang,
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	}
}

// Private sets headers so that caches do not store the page, browsers do not send its URL as a referrer, and search engines
// do not list it, because the URL may contain a token. Browsers also do not guess the media type of the page.
func Private(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	c.Header("Referrer-Policy", "no-referrer")
	c.Header("X-Robots-Tag", "noindex")
	c.Header("X-Content-Type-Options", "nosniff")
}

// Wanted reports whether the client accepts HTML pages. Other clients get errors in JSON.
func Wanted(c *gin.Context) bool { return strings.Contains(c.GetHeader("Accept"), "text/html") }

// Words returns the words of the page in the first of these locales for which there are words: the locale of About,
// the locale of the dashboard, the locales that the browser accepts, and words.Default.
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

// accepted returns the locales that the browser accepts. It returns none for an invalid header.
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
