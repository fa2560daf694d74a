package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// mountVisitors adds the forms and pages of visitors.
func (a *API) mountVisitors(engine *gin.Engine) error {
	public, err := page.Mount(engine, a.frames, texts)
	if err != nil {
		return err
	}
	for _, base := range []string{"/d/:slug/subscribe", "/subscribe"} {
		for _, channel := range topic.ChannelsOf(topic.Subscribers) {
			public.Post(base+"/"+string(channel), a.subscribe(channel))
		}
	}
	public.Link(audience.LinkPath+audience.ToConfirm, page.Follow(a.visitors.Show(audience.ToConfirm), shows("subscription.confirm", confirmPage)), a.confirm)
	public.Link(audience.LinkPath+audience.ToManage, page.Follow(a.visitors.Show(audience.ToManage), shows("subscription.manage", managePage)), a.manage)
	public.Link(audience.LinkPath+audience.ToUnsubscribe, page.Follow(a.visitors.Show(audience.ToUnsubscribe), shows("subscription.unsubscribe", unsubscribePage)), a.unsubscribe)
	return nil
}

// texts returns the words of the page for an error: the text about a locked subscription for 403, and otherwise the
// usual words.
func texts(status int, _ error) page.Texts {
	if status == http.StatusForbidden {
		return page.Texts{Text: "subscription.locked"}
	}
	return page.Texts{}
}

// offered returns the Offer of the dashboard. It returns fault.NotFound if the dashboard does not offer the channel. It
// sets the dashboard's frame for the pages of the request.
func (a *API) offered(c *gin.Context, channel topic.Channel) (audience.Offer, error) {
	offer, err := a.visitors.Offer(c.Request.Context(), page.Site(c))
	if err == nil {
		page.About(c, offer.Dashboard.ID, offer.Dashboard.Locale)
		err = offer.Has(channel)
	}
	return offer, err
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

func (b subscribeEmailBody) wish() audience.Wish { return b.wishTo(b.Email.Value) }

type subscribePhoneBody struct {
	Phone optional.Value[string] `json:"phone" required:"true" description:"With a plus sign and the country code."`
	subscribeParts
}

func (b subscribePhoneBody) wish() audience.Wish { return b.wishTo(b.Phone.Value) }

func (p subscribeParts) wishTo(address string) audience.Wish {
	wish := audience.Wish{Address: address, ComponentIDs: p.ComponentIDs.Value, Locale: p.Locale.Value}
	if p.ComponentIDs.Sent && !p.ComponentIDs.Null && wish.ComponentIDs == nil {
		wish.ComponentIDs = []string{}
	}
	return wish
}

// wishOf decodes the JSON body of a program's request.
func wishOf(c *gin.Context, channel topic.Channel) (audience.Wish, error) {
	if channel == topic.Email {
		in, err := web.Body[subscribeEmailBody](c)
		return in.wish(), err
	}
	in, err := web.Body[subscribePhoneBody](c)
	return in.wish(), err
}

// subscribe returns the handler of a visitor's request to subscribe on a channel.
func (a *API) subscribe(channel topic.Channel) func(*gin.Context) error {
	return func(c *gin.Context) error {
		offer, err := a.offered(c, channel)
		if err != nil {
			return err
		}
		return page.Submit(c, func(form url.Values) error { return a.subscribeByForm(c, offer, channel, form) }, func() error {
			wish, err := wishOf(c, channel)
			if err != nil {
				return err
			}
			if err := a.visitors.Subscribe(c.Request.Context(), offer, channel, wish, web.Caller(c).IP); err != nil {
				return err
			}
			return page.Sent(c)
		})
	}
}

// subscribeByForm handles the form that a browser sends. If a field is wrong, a browser gets the form with the error.
func (a *API) subscribeByForm(c *gin.Context, offer audience.Offer, channel topic.Channel, form url.Values) error {
	name := addressField(channel)
	wish := audience.Wish{Address: strings.TrimSpace(form.Get(name)), ComponentIDs: page.Chosen(form), Locale: form.Get("locale")}
	err := onlyOnce(form, name, "locale")
	if err == nil {
		err = a.visitors.Subscribe(c.Request.Context(), offer, channel, wish, web.Caller(c).IP)
	}
	if fault.Is(err, fault.Invalid) && page.Wanted(c) {
		return page.Show(c, http.StatusUnprocessableEntity, "subscription.subscribe", formPage, newForm(page.Words(c), offer, channel, wish, fault.As(err).Field))
	}
	if err != nil {
		return err
	}
	return page.SeeOther(c, "sent")
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
