package audience

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// SuppressedReason is the reason why no message is sent to an address.
type SuppressedReason string

const (
	Bounce    SuppressedReason = "bounce"    // the mail server permanently refuses messages to the address
	Complaint SuppressedReason = "complaint" // the owner asked the provider to send nothing more
	Unusable  SuppressedReason = "invalid"   // delivery reports that the receiver is gone
	// OptedOut is set by an import: the owner unsubscribed on the page from which the subscribers come. The owner's own
	// confirmation ends the suppression.
	OptedOut SuppressedReason = "unsubscribed"
)

// isOptOut reports whether the owner of the address can end the suppression by a confirmation.
func (s *Suppression) isOptOut() bool { return s != nil && s.Reason == OptedOut }

// refusesOwner reports whether no message is sent to the address, not even a message that its owner requests.
func (s *Suppression) refusesOwner() bool { return s != nil && !s.isOptOut() }

// endOptOut ends the suppression of an address whose owner confirms a subscription, if the reason is OptedOut.
func (a *Audience) endOptOut(ctx context.Context, id string) error {
	_, err := a.Store.Addresses.Change(ctx, id, func(address *Address) error {
		if !address.Suppression.isOptOut() {
			return fault.ErrUnchanged
		}
		address.Suppression, address.ClearedAt = nil, new(a.Now())
		return nil
	})
	return err
}

// endOfImport ends the suppression of the address of a subscriber if the import of the subscriber has suppressed the address. A later
// import may suppress the address again.
func (a *Audience) endOfImport(ctx context.Context, s Subscriber) error {
	_, err := a.Store.Addresses.Change(ctx, s.AddressID, func(address *Address) error {
		if address.Suppression == nil || s.ImportID == "" || address.Suppression.ImportID != s.ImportID {
			return fault.ErrUnchanged
		}
		address.Suppression = nil
		return nil
	})
	return fault.UnlessMissing(err)
}

// Suppression stops all messages to an address, on all dashboards of the organization.
type Suppression struct {
	Reason SuppressedReason `json:"reason" audit:"reason"`
	At     time.Time        `json:"at" audit:"at"`
	// ImportID is the id of the Import that has suppressed an address that was stored before. The undo of the subscriber of
	// this Import ends the suppression.
	ImportID string `json:"importId,omitempty"`
}

// Outcome is the part of a topic.Outcome that can suppress an address. It has no Successes, because decoding them for all
// webhooks, only to ignore them, would take 4 % of the processor time of a fan-out.
type Outcome struct {
	Organization string        `json:"organization"`
	Channel      topic.Channel `json:"channel"`
	Recipient    string        `json:"recipient"`
	Result       topic.Result  `json:"result"`
	ErrorCode    string        `json:"errorCode"`
	Gone         bool          `json:"gone"`
	At           time.Time     `json:"at"`
}

// reasonOf returns the reason for the error code of the outcome. final is false if the outcome must not suppress the
// address.
func reasonOf(o Outcome) (reason SuppressedReason, final bool) {
	switch o.ErrorCode {
	case "opted_out":
		return Complaint, true
	case "bounce":
		return Bounce, true
	}
	return Unusable, o.Gone
}

// underWay is the maximum time of an attempt plus one second. If an attempt ended at most this time after a change of
// the address, it may have used the former address. Its outcome does not suppress the new address. If the new address
// is also gone, the next delivery reports that.
const underWay = 15 * time.Second

// Suppress suppresses the addresses of the outcomes for which reasonOf returns final. A repeated or late outcome has no
// effect.
func (a *Audience) Suppress(ctx context.Context, outcomes []Outcome) error {
	for _, o := range outcomes {
		reason, final := reasonOf(o)
		if !final || o.Result == topic.Delivered || o.Channel.RecipientService() != topic.Subscribers {
			continue
		}
		s, err := a.Store.Subscribers.Get(ctx, o.Recipient)
		if err == nil {
			err = a.suppress(ctx, s.AddressID, reason, o)
		}
		if fault.UnlessMissing(err) != nil {
			return err
		}
	}
	return nil
}

func (a *Audience) suppress(ctx context.Context, id string, reason SuppressedReason, o Outcome) error {
	suppressed := false
	_, err := a.Store.Addresses.Change(ctx, id, func(address *Address) error {
		if suppressed = address.concernedBy(o); !suppressed {
			return fault.ErrUnchanged
		}
		address.Suppression = &Suppression{Reason: reason, At: o.At}
		return nil
	})
	if suppressed && err == nil {
		a.Log.InfoContext(ctx, "address suppressed", "organization", o.Organization, "channel", o.Channel, "address", id, "subscriber", o.Recipient, "reason", reason)
	}
	return err
}

// concernedBy reports whether the outcome suppresses the address. The outcome must have the organization and the
// channel of the address. It must not be about a former address, or about a delivery from before a suppression was last
// ended. The address must not be suppressed already or removed.
func (a Address) concernedBy(o Outcome) bool {
	after := func(t *time.Time) bool { return t == nil || o.At.After(t.Add(underWay)) }
	return a.OrganizationID == o.Organization && a.Channel == o.Channel && a.Suppression == nil && !a.Removed &&
		after(a.RewrittenAt) && after(a.ClearedAt)
}
