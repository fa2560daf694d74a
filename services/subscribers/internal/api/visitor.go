package api

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
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
				return refuse(c, err)
			}
			return nil
		})
	}
	get := func(path string, handler func(*gin.Context) error) {
		public.GET(path, handle(handler))
		public.HEAD(path, handle(handler))
	}
	for _, base := range []string{"/d/:slug/subscribe", "/subscribe"} {
		get(base, a.overview)
		get(base+"/sent", a.sent)
		for _, channel := range topic.ChannelsOf(topic.Subscribers) {
			get(base+"/"+string(channel), a.askSubscribe(channel))
			public.POST(base+"/"+string(channel), handle(a.subscribe(channel)))
		}
	}
	for path, of := range a.linkPages() {
		get(path, of.show)
		public.POST(path, handle(of.act))
	}
}

// siteOf returns where the visitor has found the dashboard. The gateway sends the host.
func siteOf(c *gin.Context) audience.Site {
	if slug := c.Param("slug"); slug != "" {
		return audience.Site{Slug: slug}
	}
	host := (&url.URL{Host: c.GetHeader("X-Forwarded-Host")}).Hostname()
	return audience.Site{Host: strings.ToLower(strings.TrimSuffix(host, "."))}
}

// overview serves the forms of all channels that the dashboard offers, and links to those of endpoints.
func (a *API) overview(c *gin.Context) error {
	offer, err := a.visitors.OfferAll(c.Request.Context(), siteOf(c))
	if err != nil {
		return inWords(err, wordsOfBrowser(c).NoOffer)
	}
	forms := newForms(offer, offer.Channels, "subscribe/")
	forms.link(offer.Endpoints)
	return show(c, http.StatusOK, formPage, forms.W.Subscribe, forms.W, forms)
}

// originOf returns the origin of a URL.
func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host}).String()
}

// sent serves the page after a form. It is the same for every request on a channel.
func (a *API) sent(c *gin.Context) error {
	offer, err := a.visitors.Offer(c.Request.Context(), siteOf(c))
	if err != nil {
		return inWords(err, wordsOfBrowser(c).NoOffer)
	}
	w := wordsFor(offer.Dashboard.Locale)
	view, head := codeView{W: w}, page.Head{Title: w.Sent, Lang: w.Lang}
	if channel := c.Query("channel"); channel == string(topic.SMS) || channel == string(topic.WhatsApp) {
		view = newCode(w, a.visitors.Links.CodeURL(), channel)
		head.Forms = originOf(a.visitors.Links.CodeURL())
	}
	return showForms(c, http.StatusOK, sentPage, head, view)
}

// offered returns what the dashboard offers. It returns fault.NotFound if it does not offer the channel.
func (a *API) offered(c *gin.Context, channel topic.Channel) (audience.Offer, error) {
	offer, err := a.visitors.Offer(c.Request.Context(), siteOf(c))
	if err == nil {
		err = offer.Has(channel)
	}
	if err != nil {
		return offer, inWords(err, wordsOfBrowser(c).NoOffer)
	}
	return offer, nil
}

// askSubscribe returns the handler that serves the form of a channel.
func (a *API) askSubscribe(channel topic.Channel) func(*gin.Context) error {
	return func(c *gin.Context) error {
		offer, err := a.offered(c, channel)
		if err != nil {
			return err
		}
		forms := newForms(offer, []topic.Channel{channel}, "")
		return show(c, http.StatusOK, formPage, forms.W.Subscribe, forms.W, forms)
	}
}

// addressField returns the name of the field with the address.
func addressField(channel topic.Channel) string {
	if channel == topic.Email {
		return "email"
	}
	return "phone"
}

type subscribeParts struct {
	ComponentIDs optional.Value[[]string] `json:"componentIds" nullable:"true" minItems:"1" maxItems:"500" description:"Components that the dashboard shows. Absent or null: all of them, also those that are added later."`
	Locale       optional.Value[string]   `json:"locale" nullable:"true" description:"Language of the messages, BCP 47. Absent or null: the dashboard's."`
}

type subscribeEmailBody struct {
	Email optional.Value[string] `json:"email" required:"true" format:"email" maxLength:"254"`
	subscribeParts
}

type subscribePhoneBody struct {
	Phone optional.Value[string] `json:"phone" required:"true" description:"With a plus sign and the country code."`
	subscribeParts
}

// wishOf reads the request of a program.
func wishOf(c *gin.Context, channel topic.Channel) (audience.Wish, error) {
	var address string
	var parts subscribeParts
	if channel == topic.Email {
		in, err := web.Body[subscribeEmailBody](c)
		if err != nil {
			return audience.Wish{}, err
		}
		address, parts = in.Email.Value, in.subscribeParts
	} else {
		in, err := web.Body[subscribePhoneBody](c)
		if err != nil {
			return audience.Wish{}, err
		}
		address, parts = in.Phone.Value, in.subscribeParts
	}
	wish := audience.Wish{Address: address, ComponentIDs: parts.ComponentIDs.Value, Locale: parts.Locale.Value}
	if parts.ComponentIDs.Sent && !parts.ComponentIDs.Null && wish.ComponentIDs == nil {
		wish.ComponentIDs = []string{}
	}
	return wish, nil
}

// subscribe returns the handler that takes a visitor's request on a channel.
func (a *API) subscribe(channel topic.Channel) func(*gin.Context) error {
	return func(c *gin.Context) error {
		offer, err := a.offered(c, channel)
		if err != nil {
			return err
		}
		if c.ContentType() == formMedia {
			return a.subscribeByForm(c, offer, channel)
		}
		wish, err := wishOf(c, channel)
		if err != nil {
			return inJSON{err}
		}
		if err := a.visitors.Subscribe(c.Request.Context(), offer, channel, wish, web.Caller(c).IP); err != nil {
			return inJSON{err}
		}
		c.PureJSON(http.StatusAccepted, subscriptionSentView{Status: "sent"})
		return nil
	}
}

type subscriptionSentView struct {
	Status string `json:"status" enum:"sent"`
}

// subscribeByForm takes the request of a browser. A wrong field shows the form again.
func (a *API) subscribeByForm(c *gin.Context, offer audience.Offer, channel topic.Channel) error {
	form, err := postForm(c)
	if err != nil {
		return err
	}
	name := addressField(channel)
	wish := audience.Wish{Address: strings.TrimSpace(form.Get(name)), ComponentIDs: chosen(form), Locale: form.Get("locale")}
	err = onlyOnce(form, name, "locale")
	if err == nil {
		err = a.visitors.Subscribe(c.Request.Context(), offer, channel, wish, web.Caller(c).IP)
	}
	if fault.Is(err, fault.Invalid) && page.Wanted(c) {
		forms := newForms(offer, []topic.Channel{channel}, "")
		forms.Forms[0].refill(wish, fault.As(err).Field)
		return show(c, http.StatusUnprocessableEntity, formPage, forms.W.Subscribe, forms.W, forms)
	}
	if err != nil {
		return err
	}
	next := "sent" // relative, so it is right for both addresses of the dashboard
	if channel != topic.Email {
		next += "?channel=" + string(channel)
	}
	c.Header("Location", next)
	c.Status(http.StatusSeeOther)
	c.Writer.WriteHeaderNow()
	return nil
}

// chosen returns the components of a form, without empty values, and nil if the form does not have the field.
func chosen(form url.Values) []string {
	return slices.DeleteFunc(slices.Clone(form["componentIds"]), func(id string) bool { return id == "" })
}

const formMedia = "application/x-www-form-urlencoded"

// postForm returns the form in the body, as browsers and mail programs send it.
func postForm(c *gin.Context) (url.Values, error) {
	var err error
	switch c.ContentType() {
	case "multipart/form-data":
		err = c.Request.ParseMultipartForm(maxVisitorBody)
	case formMedia:
		err = c.Request.ParseForm()
	default:
		return nil, fault.New(fault.Invalid, "The body must be a form, with the header Content-Type: %s.", formMedia)
	}
	if large, is := errors.AsType[*http.MaxBytesError](err); is {
		return nil, fault.New(fault.TooLarge, "The body must be at most %d bytes.", large.Limit)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "The body must be a form, as browsers send it.")
	}
	return c.Request.PostForm, nil
}

// onlyOnce returns an error if a form has one of the fields several times.
func onlyOnce(form url.Values, fields ...string) error {
	for _, field := range fields {
		if len(form[field]) > 1 {
			return fault.Field(field, "must be sent once")
		}
	}
	return nil
}

// inJSON is an error for a program. The response is JSON for every Accept header.
type inJSON struct{ error }

func (e inJSON) Unwrap() error { return e.error }

// worded is an error with the text of its page.
type worded struct {
	error
	text string
}

func (e worded) Unwrap() error { return e.error }

// inWords adds the text of a page to an error.
func inWords(err error, text string) error { return worded{err, text} }

// refuse responds with an error: with a page to a browser, with JSON to a program. Wrong input has status 422.
func refuse(c *gin.Context, err error) error {
	f := fault.As(err)
	status, text := f.Kind.Status(), f.Message
	if f.Field != "" {
		text = f.Field + ": " + f.Message
	}
	if late, is := errors.AsType[audience.Throttled](err); is {
		status, text = http.StatusTooManyRequests, english().TooManyText
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
	w := wordsOfBrowser(c)
	title, text := w.errorOf(status, text)
	if own, is := errors.AsType[worded](err); is {
		text = own.text
	}
	return show(c, status, textPage, title, w, textView{text})
}

// errorOf returns the heading and the text of the page of an error. other is the text of an error without words of its
// own.
func (w words) errorOf(status int, other string) (title, text string) {
	switch status {
	case http.StatusNotFound:
		return w.NotFound, w.NoLink
	case http.StatusGone:
		return w.Gone, w.EndedLink
	case http.StatusForbidden:
		return w.Locked, w.LockedText
	case http.StatusTooManyRequests:
		return w.TooMany, w.TooManyText
	case http.StatusUnprocessableEntity:
		return w.Wrong, w.WrongForm
	}
	return w.Wrong, other
}
