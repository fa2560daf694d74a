package audience

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// ErrNoOffer is the cause of the refusal that does not say whether there is a dashboard.
var ErrNoOffer = errors.New("audience: no offer")

func noOffer(cause error) error {
	return fault.Wrap(fault.NotFound, errors.Join(ErrNoOffer, cause), "There is no dashboard that offers this to visitors.")
}

// Site is where a visitor finds a dashboard: a slug, or a host of the dashboard.
type Site struct{ Slug, Host string }

// Public is a dashboard as visitors see it.
type Public struct {
	Dashboard
	Organization string
	Channels     []topic.Channel // that visitors may subscribe to
}

// Sites finds the dashboards of visitors.
type Sites interface {
	// PublicDashboard returns the dashboard that visitors find at a site. It returns fault.NotFound if there is none.
	PublicDashboard(ctx context.Context, at Site) (Public, error)
}

// Quota limits what visitors cause. quota.Counter implements and describes it.
type Quota interface {
	MailFrom(ctx context.Context, ip string) time.Duration
	TextFrom(ctx context.Context, ip string) time.Duration
	MailTo(ctx context.Context, address string) time.Duration
	TextTo(ctx context.Context, number string) time.Duration
	Code(ctx context.Context, ip string) time.Duration
}

// Visitors are the operations of people who have no key: they subscribe on a dashboard, and follow the links in
// messages. A link concerns one subscriber, that is one dashboard and one address.
//
// Nobody learns which addresses are known. Neither the result of an operation nor its time (timing.Run) depends on that.
type Visitors struct{ VisitorOptions }

// VisitorOptions are the parts that the operations of visitors use.
type VisitorOptions struct {
	Audience *Audience
	Sites    Sites
	Quota    Quota
	Links    Links
	// ConfirmWithin is the time for which a link or a code confirms.
	ConfirmWithin time.Duration
}

// NewVisitors returns the operations.
func NewVisitors(o VisitorOptions) *Visitors { return &Visitors{o} }

// Offer is what a visitor of a dashboard may ask for.
type Offer struct {
	Organization string
	Dashboard    Dashboard       // with the components that its page shows
	Channels     []topic.Channel // channels of people
}

// Offer returns the channels of a dashboard for visitors. It returns fault.NotFound if there is no such dashboard.
func (v *Visitors) Offer(ctx context.Context, at Site) (Offer, error) {
	dashboard, err := v.Sites.PublicDashboard(ctx, at)
	if fault.Is(err, fault.NotFound) {
		return Offer{}, noOffer(err)
	}
	if err != nil {
		return Offer{}, err
	}
	offer := Offer{Organization: dashboard.Organization, Dashboard: dashboard.public()}
	for _, channel := range dashboard.Channels {
		if channel.RecipientService() == topic.Subscribers {
			offer.Channels = append(offer.Channels, channel)
		}
	}
	return offer, nil
}

// Has returns fault.NotFound if the dashboard does not offer the channel.
func (o Offer) Has(channel topic.Channel) error {
	if !slices.Contains(o.Channels, channel) {
		return noOffer(nil)
	}
	return nil
}

// public returns the dashboard with the components that its page shows.
func (d Dashboard) public() Dashboard {
	d.Components = slices.DeleteFunc(slices.Clone(d.Components), func(c Component) bool { return c.Hidden })
	return d
}
