package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/gin-gonic/gin"
)

// mountVisitors adds the forms and pages of visitors.
func (a *API) mountVisitors(engine *gin.Engine) {
	public := page.Mount(engine, a.frames, a.problem)
	for _, base := range []string{"/d/:slug/subscribe", "/subscribe"} {
		public.Post(base+"/:channel", a.subscribe)
	}
	for name, of := range a.links() {
		public.Get(endpoint.LinkPath+name, of.show)
		public.Post(endpoint.LinkPath+name, of.act)
	}
}

// offered returns what the dashboard offers, and the kind that the path names. The pages of the request are in its frame.
func (a *API) offered(c *gin.Context) (endpoint.Offer, endpoint.Kind, error) {
	offer, err := a.endpoints.Offer(c.Request.Context(), page.Site(c))
	if offer.Dashboard.ID != "" { // also if the dashboard offers nothing
		page.About(c, offer.Dashboard.ID, offer.Dashboard.Locale)
	}
	if err != nil {
		return offer, endpoint.Kind{}, err
	}
	kind, err := offer.Kind(c.Param("channel"))
	return offer, kind, err
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
	form, err := page.IsForm(c)
	if err != nil {
		return err
	}
	if form {
		return a.subscribeByForm(c, offer, kind)
	}
	in, err := web.Body[subscribeBody](c)
	if err != nil {
		return page.InJSON(err)
	}
	wish := endpoint.Wish{URL: in.URL.Value, ManagementEmail: in.ManagementEmail.Value}
	if in.ComponentIDs.Sent {
		wish.ComponentIDs = append([]string{}, in.ComponentIDs.Value...)
	}
	if err := a.endpoints.Subscribe(c.Request.Context(), offer, kind, wish, web.Caller(c).IP); err != nil {
		return page.InJSON(err)
	}
	return page.Sent(c)
}

// subscribeByForm takes the request of a browser. A wrong field shows the form again.
func (a *API) subscribeByForm(c *gin.Context, offer endpoint.Offer, kind endpoint.Kind) error {
	form, err := page.Form(c)
	if err != nil {
		return err
	}
	wish := endpoint.Wish{URL: form.Get("url"), ManagementEmail: form.Get("managementEmail"), ComponentIDs: page.Chosen(form)}
	err = a.endpoints.Subscribe(c.Request.Context(), offer, kind, wish, web.Caller(c).IP)
	if fault.Is(err, fault.Invalid) {
		w := a.words.For(c)
		return show(c, http.StatusUnprocessableEntity, formPage, w.Subscribe, w, newForm(w, offer, kind, wish, err))
	}
	if err != nil {
		return err
	}
	return page.SeeOther(c, "sent")
}

// problem responds with the page of an error.
func (a *API) problem(c *gin.Context, p page.Problem) error {
	w := a.words.For(c)
	title, text := w.Error(p.Status, w.LockedText, p.Text)
	switch {
	case errors.Is(p.Err, endpoint.ErrNotTaken): // because there is no offer
		title, text = w.Wrong, w.NotTaken
	case errors.Is(p.Err, endpoint.ErrNoOffer):
		text = w.NoOffer
	case errors.Is(p.Err, endpoint.ErrFull):
		title, text = w.Wrong, w.Full
	case p.Status == http.StatusConflict:
		text = w.RotatedOften
	}
	return show(c, p.Status, textPage, title, w, text)
}

// form is the form of one kind.
type form struct {
	W                    words
	Dashboard, Channel   string
	URL, ManagementEmail page.Field
	Components           page.Boxes
}

// newForm returns the form with the values that the visitor has sent, and the error beside its field.
func newForm(w words, offer endpoint.Offer, kind endpoint.Kind, wish endpoint.Wish, err error) form {
	view := form{
		W: w, Dashboard: offer.Dashboard.Name, Channel: channelName(kind.Channel),
		URL: page.Field{Name: "url", Label: w.URL, Type: "url", Value: wish.URL, Max: 2048, Hint: kind.Example},
		ManagementEmail: page.Field{
			Name: "managementEmail", Label: w.ManagementEmail, Type: "email", Value: wish.ManagementEmail, Max: 254, Autocomplete: "email", Hint: w.ManagementHint,
		},
		Components: page.Boxes{Legend: w.Components, Hint: w.NoneMeansAll},
	}
	for _, component := range offer.Dashboard.Shown {
		view.Components.Choices = append(view.Components.Choices, page.Box{ID: component.ID, Name: component.Name})
	}
	view.Components.Choose(func(id string) bool { return slices.Contains(wish.ComponentIDs, id) })
	switch fault.As(err).Field {
	case view.ManagementEmail.Name:
		view.ManagementEmail.Problem = w.WrongAddress
	case view.URL.Name:
		view.URL.Problem = w.wrongURL(kind)
	default:
		view.Components.Problem = w.WrongComponents
	}
	return view
}
