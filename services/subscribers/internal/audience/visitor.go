package audience

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/link"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

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
type Visitors struct {
	Audience *Audience
	Quota    Quota
	Links    Links
	// ConfirmWithin is the time for which a link or a code confirms.
	ConfirmWithin time.Duration
}

// Offer is what a visitor of a dashboard may ask for.
type Offer struct {
	Organization string
	Dashboard    topic.DashboardRecord // with the components that its page shows
	Channels     []topic.Channel       // channels of people
}

// Offer returns the channels of a dashboard for visitors. It returns fault.NotFound if there is no such dashboard.
func (v *Visitors) Offer(ctx context.Context, at topic.PublicAddress) (Offer, error) {
	dashboard, err := v.Audience.Events.PublicDashboard(ctx, at)
	if err != nil {
		return Offer{}, link.NoOfferIfMissing(err)
	}
	offer := Offer{Organization: dashboard.Organization, Dashboard: dashboard.Visible()}
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
		return link.NoOffer(nil)
	}
	return nil
}
