package audience

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// AuditEntity implements audit.Record.
func (a Address) AuditEntity() audit.Entity {
	return audit.Entity{Organization: a.OrganizationID, Type: "subscriber", ID: a.ID, Name: a.Text}
}

// recorded is a subscriber as audit entries show it. The fields are those of the App interface.
type recorded struct {
	Subscriber       Subscriber
	ID               string           `audit:"id"`
	Channel          topic.Channel    `audit:"channel"`
	DashboardID      string           `audit:"dashboardId"`
	Email            string           `audit:"email,null"`
	Phone            string           `audit:"phone,null"`
	ComponentIDs     []string         `audit:"componentIds"`
	Confirmed        bool             `audit:"confirmed"`
	ConfirmedAt      *time.Time       `audit:"confirmedAt"`
	Entries          []Entry          `audit:"entries"`
	Paused           bool             `audit:"paused"`
	Locked           bool             `audit:"locked"`
	SuppressedReason SuppressedReason `audit:"suppressedReason,null"`
	Locale           string           `audit:"locale,null"`
	Source           SubscriberSource `audit:"source"`
	CreatedAt        time.Time        `audit:"createdAt"`
	UpdatedAt        time.Time        `audit:"updatedAt,quiet"`
}

// AuditEntity implements audit.Record.
func (r recorded) AuditEntity() audit.Entity {
	s := r.Subscriber
	return audit.Entity{Organization: s.OrganizationID, Type: "subscriber", ID: s.ID, Name: s.Address.Text}
}

// record returns the subscriber as audit entries show it. It returns nil for nil.
func record(s *Subscriber) *recorded {
	if s == nil {
		return nil
	}
	out := &recorded{
		Subscriber: *s, ID: s.ID, Channel: s.Channel, DashboardID: s.DashboardID, ComponentIDs: s.ComponentIDs(), Confirmed: s.Confirmed(), ConfirmedAt: s.ConfirmedAt(),
		Entries: s.Entries, Paused: s.Paused, Locked: s.Locked, Locale: s.Locale, Source: s.Source, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	if out.Phone = s.Address.Text; s.Channel == topic.Email {
		out.Email, out.Phone = s.Address.Text, ""
	}
	if s.Address.Suppression != nil {
		out.SuppressedReason = s.Address.Suppression.Reason
	}
	return out
}

// subscriberEntry returns the audit entry of a write of a subscriber. If action is "", the action is create, update or
// delete.
func subscriberEntry(ctx context.Context, action string, at time.Time, before, after *Subscriber) []topic.Message {
	return audit.Entry(audit.From(ctx), action, at, record(before), record(after))
}

// subscription is an Entry as audit entries show it, as a part of its subscriber.
type subscription struct {
	Subscriber   Subscriber
	ID           string        `audit:"id"`
	Channel      topic.Channel `audit:"channel"`
	LegacyID     int64         `audit:"legacyId"`
	SubscriberID string        `audit:"subscriberId"`
	ComponentID  string        `audit:"componentId"`
	Confirmed    bool          `audit:"confirmed"`
	CreatedAt    time.Time     `audit:"createdAt"`
	Address      string        `audit:"address"`
}

// AuditEntity implements audit.Record.
func (s subscription) AuditEntity() audit.Entity { return record(&s.Subscriber).AuditEntity() }

// subscribed returns the Entry as audit entries show it. It returns nil for nil.
func subscribed(s Subscriber, e *Entry) *subscription {
	if e == nil {
		return nil
	}
	return &subscription{s, e.ID, s.Channel, e.LegacyID, s.ID, e.ComponentID, e.Confirmed, e.CreatedAt, s.Address.Text}
}

// subscriptionEntry returns the audit entry of a write of one Entry. verb is create, update or delete.
func subscriptionEntry(ctx context.Context, verb string, at time.Time, s Subscriber, before, after *Entry) []topic.Message {
	return audit.Entry(audit.From(ctx), "subscriber.subscription."+verb, at, subscribed(s, before), subscribed(s, after))
}
