package page

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/link"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/libs/words"
)

// maxBody bounds the body of a visitor's request, in bytes.
const maxBody = 64 << 10

// FormMedia is the media type of a form.
const FormMedia = "application/x-www-form-urlencoded"

// Routes adds routes for the requests of visitors.
type Routes struct {
	group *gin.RouterGroup
	texts func(status int, err error) Texts
}

// Texts are the keys of the words on an error page. An empty key means the words that usualTexts returns.
type Texts struct{ Title, Text string }

// Mount returns Routes that add their routes to the engine. The pages have the frames of dashboards. texts returns the
// service's own words for an error.
func Mount(engine *gin.Engine, frames Frames, texts func(status int, err error) Texts) (Routes, error) {
	locales, err := words.Open(words.Pages)
	group := engine.Group("", Private, web.Surface(passport.Public), func(c *gin.Context) {
		c.Set(framesKey, frames)
		c.Set(localesKey, locales)
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxBody)
	})
	return Routes{group, texts}, err
}

// Get adds a handler of GET and HEAD.
func (r Routes) Get(path string, handler func(*gin.Context) error) {
	r.group.GET(path, r.handle(handler))
	r.group.HEAD(path, r.handle(handler))
}

// Post adds a handler of POST.
func (r Routes) Post(path string, handler func(*gin.Context) error) {
	r.group.POST(path, r.handle(handler))
}

func (r Routes) handle(handler func(*gin.Context) error) gin.HandlerFunc {
	return web.Handle(func(c *gin.Context) error {
		if err := handler(c); err != nil {
			return r.refuse(c, err)
		}
		return nil
	})
}

// refuse responds with an error: a page for a browser, JSON for a program. The status of an Invalid fault is 422. If the
// status is 500 or higher, refuse returns err instead, and web.Handle responds.
func (r Routes) refuse(c *gin.Context, err error) error {
	status, text := fault.As(err).Kind.Status(), message(err)
	if late, is := errors.AsType[fault.Throttled](err); is {
		status, text = http.StatusTooManyRequests, "There were too many requests. Try again later."
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(late.Wait.Seconds()))))
	}
	if status == http.StatusBadRequest {
		status = http.StatusUnprocessableEntity
	}
	_, program := errors.AsType[inJSON](err)
	switch {
	case status >= http.StatusInternalServerError:
		return err
	case program || !Wanted(c):
		c.PureJSON(status, gin.H{"error": text})
		return nil
	}
	own, usual := r.texts(status, err), usualTexts(status)
	if errors.Is(err, link.ErrNoOffer) {
		usual.Text = "error.no_offer"
	}
	if key := cmp.Or(own.Text, usual.Text); key != "" {
		text = Words(c).Word(key)
	}
	return Show(c, status, cmp.Or(own.Title, usual.Title), TextBody, text)
}

// usualTexts returns the words for an error of a status. If Text is empty, the page shows the text of the error,
// which is in English.
func usualTexts(status int) Texts {
	switch status {
	case http.StatusNotFound:
		return Texts{"error.not_found", "error.no_link"}
	case http.StatusGone:
		return Texts{"error.gone", "error.ended"}
	case http.StatusForbidden:
		return Texts{Title: "error.locked"}
	case http.StatusTooManyRequests:
		return Texts{"error.too_many", "error.later"}
	case http.StatusUnprocessableEntity:
		return Texts{"error.wrong", "error.form"}
	}
	return Texts{Title: "error.wrong"}
}

// message returns the text of an error for a visitor.
func message(err error) string {
	f := fault.As(err)
	if f.Field != "" {
		return f.Field + ": " + f.Message
	}
	return f.Message
}

// inJSON is an error for a program: the response is JSON for every Accept header.
type inJSON struct{ error }

func (e inJSON) Unwrap() error { return e.error }

// Site returns the address at which the visitor found the dashboard: the slug in the path, or else the host in the header
// X-Forwarded-Host, which the gateway adds.
func Site(c *gin.Context) topic.PublicAddress {
	if slug := c.Param("slug"); slug != "" {
		return topic.PublicAddress{Slug: slug}
	}
	host := (&url.URL{Host: c.GetHeader("X-Forwarded-Host")}).Hostname()
	return topic.PublicAddress{Host: strings.ToLower(strings.TrimSuffix(host, "."))}
}

// Submit handles a request whose body is a form or JSON. It calls the function form with the form, or the function
// json. An error of json becomes a response in JSON.
func Submit(c *gin.Context, form func(url.Values) error, json func() error) error {
	switch media(c) {
	case FormMedia:
		values, err := Form(c)
		if err != nil {
			return err
		}
		return form(values)
	case "application/json":
		if err := json(); err != nil {
			return inJSON{err}
		}
		return nil
	}
	return fault.New(fault.Invalid, "The body must be a form or JSON, with the header Content-Type: %s or application/json.", FormMedia)
}

// media returns the media type of the body in lower case, because the case of a media type has no meaning (RFC 9110, 8.3.1).
func media(c *gin.Context) string { return strings.ToLower(c.ContentType()) }

// Form returns the form in the body, as browsers and mail programs send it.
func Form(c *gin.Context) (url.Values, error) {
	var err error
	switch media(c) {
	case "multipart/form-data":
		err = c.Request.ParseMultipartForm(maxBody)
	case FormMedia:
		err = c.Request.ParseForm()
	default:
		return nil, fault.New(fault.Invalid, "The body must be a form, with the header Content-Type: %s.", FormMedia)
	}
	if large, is := errors.AsType[*http.MaxBytesError](err); is {
		return nil, fault.New(fault.TooLarge, "The body must be at most %d bytes.", large.Limit)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "The body must be a form, as browsers send it.")
	}
	return c.Request.PostForm, nil
}

// Chosen returns the components that are chosen in a form, without empty values. It returns nil if the form does not
// have the field.
func Chosen(form url.Values) []string {
	return slices.DeleteFunc(slices.Clone(form["componentIds"]), func(id string) bool { return id == "" })
}

// SentView is the response that Sent writes.
type SentView struct {
	Status string `json:"status" enum:"sent"`
}

// Sent responds to a request in JSON with the status 202. The response is always the same, so that it does not reveal which
// addresses or URLs are stored.
func Sent(c *gin.Context) error {
	c.PureJSON(http.StatusAccepted, SentView{Status: "sent"})
	return nil
}

// SeeOther redirects a browser to path with the status 303. A relative path works below the address with
// the slug and below the dashboard's own host.
func SeeOther(c *gin.Context, path string) error {
	c.Header("Location", path)
	c.Status(http.StatusSeeOther)
	c.Writer.WriteHeaderNow()
	return nil
}

// TextBody is the template of a page that shows one text.
const TextBody = `<p class="text">{{.}}</p>`

// Visit is the data that a page behind a link shows.
type Visit interface {
	// About returns the arguments of About.
	About() (dashboardID, locale string)
}

// Link adds the page behind a link in a message. show handles GET and must change nothing, because programs follow
// links in messages. act handles POST.
func (r Routes) Link(path string, show, act func(*gin.Context) error) {
	r.Get(path, show)
	r.Post(path, act)
}

// Follow returns a handler that calls do with the token of a link, and then show with the result.
func Follow[V Visit](do func(ctx context.Context, token string) (V, error), show func(*gin.Context, V) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		visit, err := do(c.Request.Context(), c.Query("token"))
		dashboard, locale := visit.About()
		About(c, dashboard, locale)
		if err != nil {
			return err
		}
		return show(c, visit)
	}
}

// View returns a function that shows a page about a Visit. view converts the Visit to the view of the template body.
func View[V Visit, W any](title, body string, view func(*gin.Context, V) W) func(*gin.Context, V) error {
	return func(c *gin.Context, visit V) error { return Show(c, http.StatusOK, title, body, view(c, visit)) }
}
