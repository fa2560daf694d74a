package audience

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// ask adds a Request for the entries to the subscriber, or for all its entries if there are none. It returns the message that
// asks the owner of the address to confirm the Request. It returns no message if the address is suppressed, or if the
// subscriber is locked, because its owner cannot confirm it.
func (s *Subscriber) ask(entries []Entry, now time.Time) []topic.Message {
	s.Request = &Request{Nonce: rand.Text(), At: now, Entries: entries}
	if s.Address.Suppression != nil || s.Locked {
		return nil
	}
	return []topic.Message{s.notice(topic.SubscriberConfirm, now)}
}

func (s *Subscriber) notice(kind topic.Kind, now time.Time) topic.Notice {
	return topic.Notice{
		ID: newID(), Kind: kind, Organization: s.OrganizationID, OccurredAt: now,
		Channel: s.Channel, Service: topic.Subscribers, Recipient: s.ID, Destination: digest(s.Channel, s.AddressID),
	}
}

// Resend sends the message that asks for the confirmation again, with a new link. It returns the id of the delivery.
func (a *Audience) Resend(ctx context.Context, organization string, channel topic.Channel, id string) (string, error) {
	if _, err := a.subscriber(ctx, organization, channel, id); err != nil {
		return "", err
	}
	var notice topic.Notice
	_, err := a.edit(ctx, organization, id, func(s *Subscriber) ([]topic.Message, error) {
		switch {
		case s.Confirmed():
			return nil, fault.New(fault.Conflict, "The subscriber is confirmed already.")
		case s.Locked:
			return nil, fault.New(fault.Conflict, "The subscriber is locked: its owner cannot confirm it. Unlock it first.")
		case s.Address.Suppression != nil:
			return nil, fault.New(fault.Conflict, "The address is suppressed: nothing is sent to it. Clear the suppression first.")
		}
		before, now := *s, a.Now()
		s.Request = &Request{Nonce: rand.Text(), At: now}
		notice = s.notice(topic.SubscriberConfirm, now)
		return append(subscriberEntry(ctx, "subscriber.resend_confirmation", now, &before, s), notice), nil
	})
	return topic.DeliveryID(notice.ID, id), err
}

// actionUnsubscribe is the action of an owner who deletes a subscriber.
const actionUnsubscribe = "subscriber.unsubscribe"
