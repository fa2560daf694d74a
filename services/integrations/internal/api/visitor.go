package api

import (
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
	public := page.Mount(engine, a.problem)
	for _, base := range []string{"/d/:slug/subscribe", "/subscribe"} {
		public.Get(base+"/:channel", a.askSubscribe)
		public.Post(base+"/:channel", a.subscribe)
	}
	for name, of := range a.links() {
		public.Get(endpoint.LinkPath+name, of.show)
		public.Post(endpoint.LinkPath+name, of.act)
	}
}

// offered returns what the dashboard offers, and the kind that the path names.
func (a *API) offered(c *gin.Context) (endpoint.Offer, endpoint.Kind, error) {
	offer, err := a.endpoints.Offer(c.Request.Context(), page.Site(c))
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
		form := newForm(offer, kind)
		form.refill(wish, page.Message(err))
		return a.show(c, http.StatusUnprocessableEntity, formPage, formTitle, form)
	}
	if err != nil {
		return err
	}
	return page.SeeOther(c, "sent")
}

// problem responds with the page of an error.
func (a *API) problem(c *gin.Context, p page.Problem) error {
	return a.show(c, p.Status, textPage, http.StatusText(p.Status), textView{p.Text})
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
