package endpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/link"
	"github.com/bellbuoy/bellbuoy/libs/timing"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// maxTries is the maximum number of tries to store a request while others add or delete the endpoint with the URL.
const maxTries = 8

// The causes of refusals for which pages have texts of their own.
var (
	ErrNotTaken = errors.New("endpoint: the offer has ended")    // it has ended since the visitor requested the endpoint
	ErrFull     = errors.New("endpoint: the limit is exhausted") // limit of the organization
)

// Offer has the kinds of endpoints that a visitor of a dashboard may request.
type Offer struct {
	Organization string
	Dashboard    topic.DashboardRecord // with the components that its page shows
	Kinds        []Kind                // at least one
}

// Wish is the input of Subscribe.
type Wish struct {
	URL             string
	ManagementEmail string
	ComponentIDs    []string // nil: all components that the dashboard shows
}

// Offer returns the kinds of endpoints that a visitor of a dashboard may request. It returns fault.NotFound if there is
// no such dashboard, or if there are no such kinds. In the latter case the Offer has the dashboard.
func (s *Endpoints) Offer(ctx context.Context, at topic.PublicAddress) (Offer, error) {
	dashboard, err := s.Services.PublicDashboard(ctx, at)
	if err != nil {
		return Offer{}, link.NoOfferIfMissing(err)
	}
	return s.offer(ctx, dashboard.Organization, dashboard.DashboardRecord)
}

// offer returns the kinds that a visitor of the dashboard may request. It returns fault.NotFound if there are none.
func (s *Endpoints) offer(ctx context.Context, organization string, dashboard topic.DashboardRecord) (Offer, error) {
	offer := Offer{Organization: organization, Dashboard: dashboard.Visible()}
	included, err := s.Services.HasIntegrations(ctx, organization)
	if err != nil {
		return Offer{}, link.NoOfferIfMissing(err)
	}
	for _, kind := range s.Kinds {
		if included && slices.Contains(dashboard.Channels, kind.Channel) {
			offer.Kinds = append(offer.Kinds, kind)
		}
	}
	if len(offer.Kinds) == 0 {
		return offer, link.NoOffer(nil)
	}
	return offer, nil
}

// Kind returns the kind of a channel, or fault.NotFound if the dashboard does not offer the kind.
func (o Offer) Kind(channel string) (Kind, error) {
	for _, kind := range o.Kinds {
		if string(kind.Channel) == channel {
			return kind, nil
		}
	}
	return Kind{}, link.NoOffer(nil)
}

// Subscribe stores the endpoint that a visitor requests, not verified yet, and sends a link to the management address.
// A verified endpoint with the URL is not changed. If its management address equals the visitor's, this address gets
// the link to manage the endpoint, otherwise nothing is sent. If the endpoint is locked, or too much mail was sent to the
// address, nothing is stored or sent. Neither the result of Subscribe nor its duration depends on this, so a visitor
// does not learn which URLs and addresses are known. If requests from ip have caused too much mail, Subscribe returns
// fault.Throttled.
func (s *Endpoints) Subscribe(ctx context.Context, offer Offer, kind Kind, wish Wish, ip string) error {
	wanted, address, err := s.requested(offer, kind, wish)
	if err != nil {
		return err
	}
	if wait := s.Quota.MailFrom(ctx, ip); wait > 0 {
		return fault.Throttled{Wait: wait}
	}
	_, err = timing.Run(ctx, func() (struct{}, error) {
		if s.Quota.MailTo(ctx, wish.ManagementEmail) > 0 {
			return struct{}{}, nil
		}
		return struct{}{}, s.request(ctx, wanted, address)
	})
	return err
}

// request stores the endpoint that a visitor requests, by repeatRequest if the dashboard has an endpoint with the URL, and
// otherwise by addRequest.
func (s *Endpoints) request(ctx context.Context, wanted Endpoint, address Address) error {
	for range maxTries {
		known, err := s.one(ctx, wanted.OrganizationID, wanted.Channel, Target{DashboardID: wanted.DashboardID, URLHash: wanted.URLHash})
		switch {
		case err == nil:
			err = s.repeatRequest(ctx, known.ID, wanted)
		case fault.Is(err, fault.NotFound):
			err = s.addRequest(ctx, wanted, address)
		}
		// Conflict and NotFound mean that another writer has added or deleted the endpoint meanwhile.
		if !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return fault.New(fault.Unavailable, "Others are changing the endpoint. Try again shortly.")
}

// requested checks the visitor's input. It returns the endpoint that the visitor requests, and its URL.
func (s *Endpoints) requested(offer Offer, kind Kind, wish Wish) (Endpoint, Address, error) {
	now := s.Now()
	e := Endpoint{
		OrganizationID: offer.Organization, Channel: kind.Channel, DashboardID: offer.Dashboard.ID, DashboardName: offer.Dashboard.Name,
		ManagementEmail: wish.ManagementEmail, Version: 1, CreatedAt: now, UpdatedAt: now,
		Request: &Request{ID: rand.Text(), ExpiresAt: now.Add(s.ConfirmWithin)},
	}
	address, err := s.addressOf(kind, wish.URL)
	if err != nil {
		return e, address, err
	}
	if wish.ComponentIDs == nil {
		wish.ComponentIDs = find.Values(offer.Dashboard.Components, func(c topic.ComponentRecord) string { return c.ID })
	}
	if e.ComponentIDs, err = componentSet(wish.ComponentIDs); err != nil {
		return e, address, err
	}
	if err := onDashboard(offer.Dashboard, e.ComponentIDs); err != nil {
		return e, address, err
	}
	e.URLHash, e.URLDisplay = address.Hash(), address.Display()
	return e, address, CheckEmail(wish.ManagementEmail)
}

// addRequest stores the first request for a URL on a dashboard.
func (s *Endpoints) addRequest(ctx context.Context, wanted Endpoint, address Address) (err error) {
	wanted.ID = topic.NewID()
	s.setURL(&wanted, address)
	if wanted.LegacyID, err = s.Store.Next(ctx, "endpoint"); err != nil {
		return err
	}
	messages := audit.Entry(audit.From(ctx), "endpoint.subscribe", wanted.CreatedAt, nil, &wanted)
	return s.Store.Endpoints.Insert(ctx, wanted, append(messages, s.mail(wanted, topic.EndpointVerify))...)
}

// repeatRequest replaces the request of an endpoint that is not verified. For a verified endpoint with the same management
// address, it only mails the link to manage the endpoint. It changes nothing for a locked endpoint.
func (s *Endpoints) repeatRequest(ctx context.Context, id string, wanted Endpoint) error {
	_, err := s.Store.Endpoints.Update(ctx, id, func(e *Endpoint) ([]topic.Message, error) {
		switch {
		case e.URLHash != wanted.URLHash:
			return nil, missing()
		case e.Locked:
			return nil, fault.ErrUnchanged
		case e.VerifiedAt != nil && !strings.EqualFold(e.ManagementEmail, wanted.ManagementEmail):
			return nil, fault.ErrUnchanged
		case e.VerifiedAt != nil:
			return []topic.Message{s.mail(*e, topic.EndpointManage)}, nil
		}
		before := *e
		e.ManagementEmail, e.ComponentIDs, e.Request = wanted.ManagementEmail, wanted.ComponentIDs, wanted.Request
		e.DashboardName, e.Version, e.UpdatedAt = wanted.DashboardName, e.Version+1, wanted.UpdatedAt
		messages := audit.Entry(audit.From(ctx), "endpoint.subscribe", e.UpdatedAt, &before, e)
		return append(messages, s.mail(*e, topic.EndpointVerify)), nil
	})
	return err
}

// mail returns the notice for a mail to the management address. Delivery requests the address and the link when it
// sends the mail.
func (s *Endpoints) mail(e Endpoint, kind topic.Kind) topic.Message {
	return alert(kind, topic.NewID(), e, s.Now(), topic.EndpointReport{Channel: e.Channel, URLDisplay: e.URLDisplay})
}

// withLinks adds the links to the destination of mail about the endpoint. The destination of a mail that responds to a
// visitor's request is RecipientGone, so that the mail is not sent, if the endpoint is locked, if it is already
// verified or its request has expired and the mail is to verify it, or if it is not verified and the mail is to manage it.
func (s *Endpoints) withLinks(d topic.Destination, e Endpoint, kind topic.Kind) topic.Destination {
	answers := kind == topic.EndpointVerify || kind == topic.EndpointManage
	switch {
	case answers && (e.Locked || e.expired(s.Now()) || (kind == topic.EndpointVerify) != (e.VerifiedAt == nil)):
		return topic.Destination{ID: e.ID, State: topic.RecipientGone, Components: []string{}}
	case kind == topic.EndpointVerify:
		d.Link = s.Links.URL(ToVerify, e)
	case kind == topic.EndpointManage:
		d.Link, d.Unsubscribe = s.Links.URL(ToManage, e), s.Links.URL(ToUnsubscribe, e)
	case !e.Locked:
		d.Link = s.Links.URL(ToManage, e)
	}
	return d
}

// dropRequest deletes an endpoint that a visitor has requested and not verified, so that an admin can give the same URL
// to an endpoint of the dashboard.
func (s *Endpoints) dropRequest(ctx context.Context, organization string, channel topic.Channel, dashboardID, urlHash string) error {
	e, err := s.one(ctx, organization, channel, Target{DashboardID: dashboardID, URLHash: urlHash})
	if err != nil || e.VerifiedAt != nil {
		return fault.UnlessMissing(err)
	}
	return fault.UnlessMissing(s.deleteRequest(ctx, e.ID, func(e *Endpoint) bool { return e.VerifiedAt == nil }))
}
