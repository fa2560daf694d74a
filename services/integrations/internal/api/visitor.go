package api

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/link"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/libs/words"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/gin-gonic/gin"
)

// mountVisitors adds the forms and pages of visitors.
func (a *API) mountVisitors(engine *gin.Engine) error {
	public, err := page.Mount(engine, a.frames, texts)
	if err != nil {
		return err
	}
	for _, base := range []string{"/d/:slug/subscribe", "/subscribe"} {
		public.Post(base+"/:channel", a.subscribe)
	}
	public.Link(endpoint.LinkPath+endpoint.ToVerify, page.Follow(a.endpoints.Show(endpoint.ToVerify), shows("endpoint.verify", verifyPage)),
		page.Follow(a.endpoints.Verify, shows("endpoint.verified", verifiedPage)))
	public.Link(endpoint.LinkPath+endpoint.ToManage, page.Follow(a.endpoints.Show(endpoint.ToManage), shows("endpoint.manage", managePage)), a.manage)
	// Unsubscribe ignores the request body, so it also handles the one-click request of mail programs (RFC 8058).
	public.Link(endpoint.LinkPath+endpoint.ToUnsubscribe, page.Follow(a.endpoints.Show(endpoint.ToUnsubscribe), shows("endpoint.remove", unsubscribePage)),
		page.Follow(a.endpoints.Unsubscribe(endpoint.ToUnsubscribe), left))
	return nil
}

// texts returns the keys of the texts that the error page for err shows in place of the usual texts. An empty key means the
// usual text for the status.
func texts(status int, err error) page.Texts {
	switch {
	case errors.Is(err, endpoint.ErrNotTaken): // the dashboard no longer offers the kind to visitors
		return page.Texts{Title: "error.wrong", Text: "endpoint.not_taken"}
	case errors.Is(err, endpoint.ErrFull):
		return page.Texts{Title: "error.wrong", Text: "endpoint.full"}
	case status == http.StatusConflict:
		return page.Texts{Text: "endpoint.rotated_often"}
	case status == http.StatusForbidden:
		return page.Texts{Text: "endpoint.locked"}
	}
	return page.Texts{}
}

// offered returns the Offer of the dashboard and the kind that the path names, or fault.NotFound if the dashboard does
// not offer this kind. It sets the frame of the dashboard for the pages of the request.
func (a *API) offered(c *gin.Context) (endpoint.Offer, endpoint.Kind, error) {
	offer, err := a.endpoints.Offer(c.Request.Context(), page.Site(c))
	if offer.Dashboard.ID != "" { // the dashboard is known also if it offers nothing
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

// subscribeForm describes the form in the OpenAPI document. The field componentIds may be repeated.
type subscribeForm struct {
	URL             string `json:"url" required:"true"`
	ManagementEmail string `json:"managementEmail" required:"true"`
	ComponentIDs    string `json:"componentIds" description:"Once for each component. Absent: all components that the dashboard shows."`
}

// subscribe handles the request of a visitor for an endpoint, sent as a form or as JSON.
func (a *API) subscribe(c *gin.Context) error {
	offer, kind, err := a.offered(c)
	if err != nil {
		return err
	}
	ask := func(wish endpoint.Wish) error {
		return a.endpoints.Subscribe(c.Request.Context(), offer, kind, wish, web.Caller(c).IP)
	}
	return page.Submit(c, func(form url.Values) error {
		wish := endpoint.Wish{URL: form.Get("url"), ManagementEmail: form.Get("managementEmail"), ComponentIDs: page.Chosen(form)}
		err := ask(wish)
		if fault.Is(err, fault.Invalid) {
			return page.Show(c, http.StatusUnprocessableEntity, "endpoint.subscribe", formPage, newForm(page.Words(c), offer, kind, wish, err))
		}
		if err != nil {
			return err
		}
		return page.SeeOther(c, "sent")
	}, func() error {
		in, err := web.Body[subscribeBody](c)
		if err != nil {
			return err
		}
		wish := endpoint.Wish{URL: in.URL.Value, ManagementEmail: in.ManagementEmail.Value}
		if in.ComponentIDs.Sent {
			wish.ComponentIDs = append([]string{}, in.ComponentIDs.Value...)
		}
		if err := ask(wish); err != nil {
			return err
		}
		return page.Sent(c)
	})
}

// form is the view of the form that requests an endpoint of one kind.
type form struct {
	Dashboard, Channel   string
	URL, ManagementEmail page.Field
	Components           page.Boxes
}

// newForm returns the form with the values that the visitor has sent. It shows a text about err next to the field of err, and
// next to the components if err is about another field.
func newForm(w *words.Locale, offer endpoint.Offer, kind endpoint.Kind, wish endpoint.Wish, err error) form {
	view := form{
		Dashboard: offer.Dashboard.Name, Channel: kind.Name,
		URL: page.Field{Name: "url", Label: w.Word("endpoint.url"), Type: "url", Value: wish.URL, Max: 2048, Hint: kind.Example},
		ManagementEmail: page.Field{
			Name: "managementEmail", Label: w.Word("endpoint.management_email"), Type: "email", Value: wish.ManagementEmail, Max: 254, Autocomplete: "email",
			Hint: w.Word("endpoint.management_hint"),
		},
		Components: page.Boxes{Legend: w.Word("link.components"), Hint: w.Word("endpoint.none_means_all")},
	}
	view.Components.Choices = link.Choices(offer.Dashboard, func(id string) bool { return slices.Contains(wish.ComponentIDs, id) })
	switch fault.As(err).Field {
	case view.ManagementEmail.Name:
		view.ManagementEmail.Problem = w.Word("wrong.address")
	case view.URL.Name:
		view.URL.Problem = w.Word(wrongURL(kind))
	default:
		view.Components.Problem = w.Word("wrong.components")
	}
	return view
}

// wrongURL returns the key of the text for a URL that the kind does not allow.
func wrongURL(kind endpoint.Kind) string {
	switch kind.Channel {
	case topic.Teams:
		return "wrong.url_teams"
	case topic.GChat:
		return "wrong.url_gchat"
	case topic.Slack:
		return "wrong.url_slack"
	case topic.Discord:
		return "wrong.url_discord"
	}
	return "wrong.url"
}
