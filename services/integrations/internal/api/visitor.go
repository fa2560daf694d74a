package api

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/gin-gonic/gin"
)

// maxVisitorBody bounds the body of a visitor's request, in bytes.
const maxVisitorBody = 64 << 10

// mountVisitors adds the forms and pages of visitors.
func (a *API) mountVisitors(engine *gin.Engine) {
	public := engine.Group("", page.Private, web.Surface(passport.Public), func(c *gin.Context) {
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxVisitorBody)
	})
	handle := func(handler func(*gin.Context) error) gin.HandlerFunc {
		return web.Handle(func(c *gin.Context) error {
			if err := handler(c); err != nil {
				return a.refuse(c, err)
			}
			return nil
		})
	}
	get := func(path string, handler func(*gin.Context) error) {
		public.GET(path, handle(handler))
		public.HEAD(path, handle(handler))
	}
	for _, base := range []string{"/d/:slug/subscribe", "/subscribe"} {
		get(base+"/:channel", a.askSubscribe)
		public.POST(base+"/:channel", handle(a.subscribe))
	}
	for name, of := range a.links() {
		get(endpoint.LinkPath+name, of.show)
		public.POST(endpoint.LinkPath+name, handle(of.act))
	}
}

// siteOf returns where the visitor has found the dashboard. The gateway sends the host.
func siteOf(c *gin.Context) endpoint.Site {
	if slug := c.Param("slug"); slug != "" {
		return endpoint.Site{Slug: slug}
	}
	host := (&url.URL{Host: c.GetHeader("X-Forwarded-Host")}).Hostname()
	return endpoint.Site{Host: strings.ToLower(strings.TrimSuffix(host, "."))}
}

// offered returns what the dashboard offers, and the kind that the path names.
func (a *API) offered(c *gin.Context) (endpoint.Offer, endpoint.Kind, error) {
	offer, err := a.endpoints.Offer(c.Request.Context(), siteOf(c))
	if err != nil {
		return offer, endpoint.Kind{}, err
	}
	kind, err := offer.Kind(c.Param("channel"))
	return offer, kind, err
}

// askSubscribe serves the form. The subscribers service serves the page that leads to it, and the page after it.
func (a *API) askSubscribe(c *gin.Context) error {
	offer, kind, err := a.offered(c)
	if err != nil {
		return err
	}
	return a.show(c, http.StatusOK, formPage, formTitle, newForm(offer, kind))
}

type subscribeBody struct {
	URL             optional.Value[string]   `json:"url" required:"true" format:"uri" maxLength:"2048" description:"As for the endpoints of the App interface."`
	ManagementEmail optional.Value[string]   `json:"managementEmail" required:"true" format:"email" maxLength:"254" description:"Gets the link that verifies the endpoint."`
	ComponentIDs    optional.Value[[]string] `json:"componentIds" minItems:"1" description:"Components that the dashboard shows. Absent: all of them."`
}

// subscribeForm describes the form. Its componentIds may be repeated.
type subscribeForm struct {
	URL             string `json:"url" required:"true"`
	ManagementEmail string `json:"managementEmail" required:"true"`
	ComponentIDs    string `json:"componentIds" description:"Once for each component. Absent: all components that the dashboard shows."`
}

// subscribe takes a visitor's request.
func (a *API) subscribe(c *gin.Context) error {
	offer, kind, err := a.offered(c)
	if err != nil {
		return err
	}
	if c.ContentType() == "application/x-www-form-urlencoded" {
		return a.subscribeByForm(c, offer, kind)
	}
	in, err := web.Body[subscribeBody](c)
	if err != nil {
		return jsonOnly(err)
	}
	wish := endpoint.Wish{URL: in.URL.Value, ManagementEmail: in.ManagementEmail.Value}
	if in.ComponentIDs.Sent {
		wish.ComponentIDs = append([]string{}, in.ComponentIDs.Value...)
	}
	if err := a.endpoints.Subscribe(c.Request.Context(), offer, kind, wish, web.Caller(c).IP); err != nil {
		return jsonOnly(err)
	}
	c.PureJSON(http.StatusAccepted, sentView{Status: "sent"})
	return nil
}

type sentView struct {
	Status string `json:"status" enum:"sent"`
}

// subscribeByForm takes the request of a browser. A wrong field shows the form again.
func (a *API) subscribeByForm(c *gin.Context, offer endpoint.Offer, kind endpoint.Kind) error {
	form, err := postForm(c)
	if err != nil {
		return err
	}
	wish := endpoint.Wish{URL: form.Get("url"), ManagementEmail: form.Get("managementEmail"), ComponentIDs: form["componentIds"]}
	err = a.endpoints.Subscribe(c.Request.Context(), offer, kind, wish, web.Caller(c).IP)
	if fault.Is(err, fault.Invalid) {
		form := newForm(offer, kind)
		form.refill(wish, message(err))
		return a.show(c, http.StatusUnprocessableEntity, formPage, formTitle, form)
	}
	if err != nil {
		return err
	}
	c.Header("Location", "sent") // relative, so it is right for both addresses of the dashboard
	c.Status(http.StatusSeeOther)
	c.Writer.WriteHeaderNow()
	return nil
}

// postForm returns the form in the body.
func postForm(c *gin.Context) (url.Values, error) {
	err := c.Request.ParseForm()
	if large, is := errors.AsType[*http.MaxBytesError](err); is {
		return nil, fault.New(fault.TooLarge, "The body must be at most %d bytes.", large.Limit)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "The body must be a form, as browsers send it.")
	}
	return c.Request.PostForm, nil
}

// inJSON is an error for a program. The response is JSON for every Accept header.
type inJSON struct{ error }

func (e inJSON) Unwrap() error { return e.error }

// jsonOnly marks the error of a request that was sent as JSON.
func jsonOnly(err error) error { return inJSON{err} }

// refuse responds with an error: with a page to a browser, with JSON to a program. Wrong input has status 422.
func (a *API) refuse(c *gin.Context, err error) error {
	status, text := fault.As(err).Kind.Status(), message(err)
	if late, is := errors.AsType[endpoint.Throttled](err); is {
		status, text = http.StatusTooManyRequests, "There were too many requests from your network. Try again later."
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(late.Wait.Seconds()))))
	}
	if status == http.StatusBadRequest {
		status = http.StatusUnprocessableEntity
	}
	_, program := errors.AsType[inJSON](err)
	switch {
	case status >= http.StatusInternalServerError:
		return err
	case program || !page.Wanted(c):
		c.PureJSON(status, gin.H{"error": text})
		return nil
	}
	return a.show(c, status, textPage, http.StatusText(status), textView{text})
}

// message returns the text of an error for the visitor.
func message(err error) string {
	f := fault.As(err)
	if f.Field != "" {
		return f.Field + ": " + f.Message
	}
	return f.Message
}

const formTitle = "Subscribe an endpoint"

// form is the form of one kind.
type form struct {
	Dashboard, Channel, Example string
	Error                       string
	URL, ManagementEmail        string
	Components                  []endpoint.Choice
}

func newForm(offer endpoint.Offer, kind endpoint.Kind) *form {
	view := &form{Dashboard: offer.Dashboard.Name, Channel: string(kind.Channel), Example: kind.Example}
	for _, component := range offer.Dashboard.Shown {
		view.Components = append(view.Components, endpoint.Choice{Component: component})
	}
	return view
}

// refill shows the values that the visitor has sent.
func (f *form) refill(wish endpoint.Wish, failure string) {
	f.URL, f.ManagementEmail, f.Error = wish.URL, wish.ManagementEmail, failure
	for i, component := range f.Components {
		f.Components[i].Chosen = slices.Contains(wish.ComponentIDs, component.ID)
	}
}
