package audience

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Address is a mail address or a phone number.
type Address struct {
	ID             string        `json:"id" audit:"id"`
	OrganizationID string        `json:"organizationId"`
	Channel        topic.Channel `json:"channel" audit:"channel"` // a channel of topic.Subscribers
	LegacyID       int64         `json:"legacyId" audit:"legacyId"`
	Text           string        `json:"text" audit:"address"` // as the user wrote it, or a phone number in E.164
	Normal         string        `json:"normal"`               // form in which addresses are compared
	Suppression    *Suppression  `json:"suppression,omitempty" audit:"suppression"`
	RewrittenAt    *time.Time    `json:"rewrittenAt,omitempty"` // time of the last change to another address
	ClearedAt      *time.Time    `json:"clearedAt,omitempty"`   // when a member, or the owner by a confirmation, last ended a suppression
	Made           bool          `json:"made,omitempty"`        // stored for a subscriber of a visitor or an import; deleted with its last subscriber
	Unclaimed      *time.Time    `json:"unclaimed,omitempty"`   // time since which a Made address may have no subscriber; Reclaim deletes the address or sets nil
	Removed        bool          `json:"removed"`
	CreatedAt      time.Time     `json:"createdAt" audit:"createdAt"`
}

func addressKey(a Address) string { return a.ID }

// write checks text and sets it as the text of the address. If Normal changes, write removes the suppression, which was
// about the former address, and sets RewrittenAt.
func (a *Address) write(text string, now time.Time) error {
	kind := kindOf(a.Channel)
	normal, ok := kind.normal(text)
	if !ok {
		return fault.Field(FieldText, "%s", kind.needed)
	}
	if a.Normal != "" && a.Normal != normal {
		a.Suppression, a.RewrittenAt = nil, &now
	}
	a.Text, a.Normal = text, normal
	return nil
}

// Edition returns a number that changes when the record gets another address: the time of the last such change in
// milliseconds since 1970, or 0 if there was none.
func (a Address) Edition() int64 {
	if a.RewrittenAt == nil {
		return 0
	}
	return a.RewrittenAt.UnixMilli()
}

// Addresses returns the addresses of a channel that match q, and the number of matches without q.Limit and q.Offset.
func (a *Audience) Addresses(ctx context.Context, organization string, channel topic.Channel, q find.Query) ([]Address, int64, error) {
	return list(ctx, a.Store.Addresses, organization, channel, q)
}

// AddressIDs returns the ids of the addresses that match all conditions.
func (a *Audience) AddressIDs(ctx context.Context, organization string, channel topic.Channel, where []find.Condition) ([]string, error) {
	within := IndexLegacy
	if slices.ContainsFunc(where, func(c find.Condition) bool { return c.Field == FieldNormal }) {
		within = IndexSame
	}
	page, err := a.Store.Addresses.Find(ctx, find.Query{Where: of(organization, channel, where...), Scan: within})
	return find.Values(page.Items, addressKey), err
}

// AddAddress stores a new address. It returns fault.Conflict if the organization already has the address.
func (a *Audience) AddAddress(ctx context.Context, organization string, channel topic.Channel, text string) (Address, error) {
	return a.addAddress(ctx, Address{OrganizationID: organization, Channel: channel}, text)
}

func (a *Audience) addAddress(ctx context.Context, address Address, text string) (Address, error) {
	address.ID, address.CreatedAt = topic.NewID(), a.Now()
	if err := address.write(text, a.Now()); err != nil {
		return Address{}, err
	}
	var err error
	if address.LegacyID, err = a.Store.Next(ctx, addressCounter(address.Channel), 1); err != nil {
		return Address{}, err
	}
	entry := audit.Entry(audit.From(ctx), "", address.CreatedAt, nil, &address)
	return address, taken(a.Store.Addresses.Insert(ctx, address, entry...), FieldText, isStored)
}

func addressCounter(channel topic.Channel) string { return string(channel) + "-address" }

const isStored = "is already stored"

// taken adds the field and the message to a Conflict. It returns every other error unchanged.
func taken(err error, field, message string) error {
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	return &fault.Error{Kind: fault.Conflict, Field: field, Message: message, Err: err}
}

// ensureAddress returns the stored address whose Normal is that of text. If there is none, ensureAddress stores a new
// address and also returns it as made. If byVisitor is true, Made and Unclaimed of the new address are set. The write
// has no audit entry, because the audit entry of the subscriber shows the address.
func (a *Audience) ensureAddress(ctx context.Context, organization string, channel topic.Channel, text string, byVisitor bool) (address Address, made *Address, err error) {
	normal := Address{Channel: channel}
	if err := normal.write(text, a.Now()); err != nil {
		return Address{}, nil, err
	}
	ctx = audit.With(ctx, audit.Origin{})
	for {
		page, err := a.Store.Addresses.Find(ctx, find.Query{Where: of(organization, channel, find.Eq(FieldNormal, normal.Normal)), Limit: 1})
		if err != nil {
			return Address{}, nil, err
		}
		if len(page.Items) == 1 {
			return page.Items[0], nil, nil
		}
		wanted := Address{OrganizationID: organization, Channel: channel, Made: byVisitor}
		if byVisitor {
			wanted.Unclaimed = new(a.Now())
		}
		added, err := a.addAddress(ctx, wanted, text)
		if err == nil {
			return added, &added, nil
		}
		if !fault.Is(err, fault.Conflict) || ctx.Err() != nil {
			return Address{}, nil, err
		} // another request has stored it, so the next Find returns it
	}
}

// ChangeAddress changes the text of an address. It returns fault.Conflict if the organization has another address with
// the same Normal.
func (a *Audience) ChangeAddress(ctx context.Context, organization, id, text string) (Address, error) {
	changed, err := a.Store.Addresses.Update(ctx, id, func(address *Address) ([]topic.Message, error) {
		if address.Removed || address.OrganizationID != organization {
			return nil, noAddress()
		}
		before, now := *address, a.Now()
		if err := address.write(text, now); err != nil {
			return nil, err
		}
		if *address == before {
			return nil, fault.ErrUnchanged
		}
		address.Made, address.Unclaimed = false, nil // the member manages the address now
		return audit.Entry(audit.From(ctx), "", now, &before, address), nil
	})
	return changed, taken(err, FieldText, isStored)
}

// RemoveAddress deletes an address and its subscribers.
func (a *Audience) RemoveAddress(ctx context.Context, organization, id string) error {
	err := each(ctx, a.Store.Subscribers, []find.Condition{find.Eq(FieldAddress, id)}, func(s Subscriber) error {
		if s.OrganizationID != organization {
			return noAddress()
		}
		return a.rememberDeletion(ctx, s)
	})
	if err != nil {
		return err
	}
	address, err := a.mark(ctx, organization, id, true)
	if err != nil {
		return err
	}
	return a.purge(context.WithoutCancel(ctx), address) // after the mark, even if the client disconnects
}

// mark sets Removed of an address. It returns fault.NotFound if Removed has this value already. The audit log shows the
// write as the deletion of the address. No query of an organization finds a removed address, and no message is sent to
// it.
func (a *Audience) mark(ctx context.Context, organization, id string, removed bool) (Address, error) {
	return a.Store.Addresses.Update(ctx, id, func(address *Address) ([]topic.Message, error) {
		if address.Removed == removed || address.OrganizationID != organization {
			return nil, noAddress()
		}
		address.Removed = removed
		return audit.Entry(audit.From(ctx), "", a.Now(), address, nil), nil
	})
}

// purge deletes the record of a removed address. AddressWritten then deletes its subscribers.
func (a *Audience) purge(ctx context.Context, address Address) error {
	return fault.UnlessMissing(a.Store.Addresses.Delete(ctx, address.ID, nil))
}

// Sweep deletes the records of removed addresses that a killed process did not delete. It runs at the start, before
// requests are served.
func (a *Audience) Sweep(ctx context.Context) error {
	page, err := a.Store.Addresses.Find(ctx, find.Query{Where: []find.Condition{find.Eq(FieldRemoved, true)}})
	for _, address := range page.Items {
		if err := a.purge(ctx, address); err != nil {
			return err
		}
	}
	return err
}

// unmake deletes an address that was stored for a subscriber, after the subscriber was deleted or could not be stored.
// It does not delete an address that has subscribers. It sets Removed before it counts the subscribers a second time.
// So a subscriber that is stored before is counted, and the write of a later subscriber finds Removed set.
func (a *Audience) unmake(ctx context.Context, made *Address) error {
	if made == nil {
		return nil
	}
	ctx = audit.With(context.WithoutCancel(ctx), audit.Origin{}) // no audit entry
	if n, err := a.subscribersOf(ctx, made.ID); err != nil || n > 0 {
		return err
	}
	if _, err := a.mark(ctx, made.OrganizationID, made.ID, true); err != nil {
		return fault.UnlessMissing(err)
	}
	n, err := a.subscribersOf(ctx, made.ID)
	if err == nil && n == 0 {
		return a.purge(ctx, *made)
	}
	if _, unmarked := a.mark(ctx, made.OrganizationID, made.ID, false); unmarked != nil {
		return unmarked
	}
	return err
}

// unclaim sets Unclaimed of a Made address before one of its subscribers is deleted, so that Reclaim finds the address if the
// process dies before it deletes the address too.
func (a *Audience) unclaim(ctx context.Context, id string) error {
	_, err := a.Store.Addresses.Change(ctx, id, func(address *Address) error {
		if !address.Made || address.Removed || address.Unclaimed != nil {
			return fault.ErrUnchanged
		}
		address.Unclaimed = new(a.Now())
		return nil
	})
	return fault.UnlessMissing(err)
}

// unclaimedTime is the time after which Reclaim checks an Unclaimed address. It is longer than a request that stores an
// address and then its subscriber, or deletes both.
const unclaimedTime = 10 * time.Minute

// Reclaim deletes the addresses with Unclaimed that a killed process has left without subscribers. It keeps an address that has
// subscribers or is suppressed, and removes its Unclaimed. An import stores its addresses without Unclaimed, because its
// subscribers may come later than unclaimedTime, if the service is down meanwhile. If the import is not accepted, a repetition
// uses the addresses.
func (a *Audience) Reclaim(ctx context.Context) error {
	until := a.Now().Add(-unclaimedTime)
	return find.EachUntil(ctx, a.Store.Addresses, FieldUnclaimed, until, func(address Address) error {
		n, err := a.subscribersOf(ctx, address.ID)
		if err != nil {
			return err
		}
		if n == 0 && address.Suppression == nil {
			return a.unmake(ctx, &address)
		}
		_, err = a.Store.Addresses.Change(ctx, address.ID, func(address *Address) error {
			if address.Unclaimed == nil || address.Unclaimed.After(until) {
				return fault.ErrUnchanged
			}
			address.Unclaimed = nil
			return nil
		})
		return fault.UnlessMissing(err)
	})
}

func (a *Audience) subscribersOf(ctx context.Context, address string) (int64, error) {
	return a.Store.Subscribers.Count(ctx, find.Query{Where: []find.Condition{find.Eq(FieldAddress, address)}})
}

func noAddress() error { return fault.New(fault.NotFound, "There is no such address.") }
