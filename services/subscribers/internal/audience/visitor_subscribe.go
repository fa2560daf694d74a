package audience

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/timing"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Wish is the input of Subscribe.
type Wish struct {
	Address      string   // mail address or phone number
	ComponentIDs []string // nil: all components, also future ones
	Locale       string   // BCP 47; empty: the dashboard's
}

// validWish is a Wish that was checked.
type validWish struct {
	organization, dashboard string
	channel                 topic.Channel
	address, locale         string
	components              []string // nil: all
	entries                 []Entry  // unconfirmed entries of the components
	at                      time.Time
}

// Subscribe stores what a visitor requests, and sends a message with the link to confirm it to the address. If the
// subscriber already has all requested components, the message has the link to manage the subscription instead. So an
// owner who has lost this link gets it again. If the subscriber is locked, the address is suppressed (unless the owner
// unsubscribed on a former page), or too many messages were sent to it, nothing is stored or sent. If the IP address
// has requested too many messages, Subscribe returns fault.Throttled.
func (v *Visitors) Subscribe(ctx context.Context, offer Offer, channel topic.Channel, wish Wish, ip string) error {
	want, err := v.check(offer, channel, wish)
	if err != nil {
		return err
	}
	from, to := v.Quota.MailFrom, v.Quota.MailTo
	if channel != topic.Email {
		from, to = v.Quota.TextFrom, v.Quota.TextTo
	}
	if wait := from(ctx, ip); wait > 0 {
		return fault.Throttled{Wait: wait}
	}
	_, err = timing.Run(ctx, func() (struct{}, error) {
		normal, _ := kindOf(channel).normal(want.address)
		if to(ctx, normal) > 0 {
			return struct{}{}, nil
		}
		return struct{}{}, v.request(ctx, want)
	})
	return err
}

// check checks a Wish and returns its valid form.
func (v *Visitors) check(offer Offer, channel topic.Channel, wish Wish) (want validWish, err error) {
	want = validWish{organization: offer.Organization, dashboard: offer.Dashboard.ID, channel: channel, at: v.Audience.Now()}
	if want.address, err = strictText(channel, wish.Address); err != nil {
		return want, err
	}
	if want.components, err = choice(offer.Dashboard, wish.ComponentIDs); err != nil {
		return want, err
	}
	want.locale, err = canonicalLocale(wish.Locale)
	return want, err
}

// request stores the wish of a visitor, together with the message to the owner of the address.
func (v *Visitors) request(ctx context.Context, want validWish) error {
	people := v.Audience
	address, made, err := people.ensureAddress(ctx, want.organization, want.channel, want.address, true)
	if err != nil || address.Suppression.refusesOwner() {
		return err
	}
	first, err := people.Store.Next(ctx, subscriptionCounter(want.channel), int64(max(1, len(want.components))))
	if err != nil {
		return errors.Join(err, people.unmake(ctx, made))
	}
	want.entries = newEntries(want.components, first, false, want.at)
	_, err = people.Store.Subscribers.Upsert(ctx, SubscriberID(want.dashboard, address.ID), func(s *Subscriber, exists bool) ([]topic.Message, error) {
		if !exists || s.Gone() {
			*s = newSubscriber(address, want.dashboard, FromPublic, want.at)
			notices := want.replace(s)
			return append(subscriberEntry(ctx, actionSubscribe, want.at, nil, s), notices...), nil
		}
		before := *s
		notices, err := want.add(s)
		return append(subscriberEntry(ctx, actionSubscribe, want.at, &before, s), notices...), err
	})
	if err != nil {
		err = errors.Join(err, people.unmake(ctx, made))
	}
	return err
}

const actionSubscribe = "subscriber.subscribe"

// add adds the wish to a subscriber that exists, and returns the message to the owner of the address. It only sets the
// Request, which the owner must confirm. But if a visitor created the subscriber and nothing of it is confirmed
// (pending), add replaces its entries and locale.
func (want validWish) add(s *Subscriber) ([]topic.Message, error) {
	switch {
	case s.Locked || s.Address.Suppression.refusesOwner() || s.Address.Removed:
		return nil, fault.ErrUnchanged
	case s.pending():
		return want.replace(s), nil
	}
	missing := slices.DeleteFunc(slices.Clone(want.entries), func(e Entry) bool { return s.has(e.ComponentID) })
	if len(missing) == 0 {
		return []topic.Message{s.notice(topic.SubscriberManage, want.at)}, nil
	}
	s.UpdatedAt = want.at
	return s.askByWish(missing, want.at), nil
}

// replace sets the entries and the locale of the wish in the subscriber. It returns the message that asks for a
// confirmation.
func (want validWish) replace(s *Subscriber) []topic.Message {
	s.Entries, s.Locale, s.UpdatedAt = want.entries, want.locale, want.at
	return s.askByWish(nil, want.at)
}

// has reports whether the subscriber has a confirmed entry for the component or for all components. "" stands for all
// components.
func (s Subscriber) has(component string) bool {
	return slices.ContainsFunc(s.Entries, func(e Entry) bool {
		return e.Confirmed && (e.ComponentID == component || e.ComponentID == "")
	})
}

// pending reports whether a visitor created the subscriber, and none of its entries is confirmed or has a Move.
func (s Subscriber) pending() bool {
	return s.Source == FromPublic && !slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.Confirmed || e.Move != nil })
}
