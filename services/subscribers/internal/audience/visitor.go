package audience

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/link"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Quota limits the messages that visitors cause, and the codes that they try. quota.Counter implements it and describes
// the methods.
type Quota interface {
	MailFrom(ctx context.Context, ip string) time.Duration
	TextFrom(ctx context.Context, ip string) time.Duration
	MailTo(ctx context.Context, address string) time.Duration
	TextTo(ctx context.Context, number string) time.Duration
	Code(ctx context.Context, ip string) time.Duration
}

// Visitors has the operations for people without a key. They subscribe on a dashboard, and open the links in messages.
// A link is for one subscriber, so for one dashboard and one address.
//
// Nobody learns which addresses are known. Neither the result of an operation nor its duration (timing.Run) depends on
// whether an address is known.
type Visitors struct {
	Audience *Audience
	Quota    Quota
	Links    Links
	// ConfirmWithin is how long a link or a code to confirm is valid.
	ConfirmWithin time.Duration
}

// Offer is what a visitor of a dashboard may request.
type Offer struct {
	Organization string
	Dashboard    topic.DashboardRecord // with the components that its page shows
	Channels     []topic.Channel       // channels for which this service stores recipients
}

// Offer returns the Offer of the dashboard at an address. It returns fault.NotFound if there is no such dashboard.
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
