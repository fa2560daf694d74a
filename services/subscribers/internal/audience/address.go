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
	Channel        topic.Channel `json:"channel" audit:"channel"` // one of topic.Subscribers
	LegacyID       int64         `json:"legacyId" audit:"legacyId"`
	Text           string        `json:"text" audit:"address"`       // as given
	Normal         string        `json:"normal"`                     // as compared: a mail address in lower case
	Blocked        bool          `json:"blocked" audit:"suppressed"` // no message is sent to it, because the provider reported it as gone
	RewrittenAt    *time.Time    `json:"rewrittenAt,omitempty"`      // the last change to another address
	Removed        bool          `json:"removed"`
	LeftAt         *time.Time    `json:"leftAt,omitempty" audit:"unsubscribedAt"` // the owner's last deletion of all subscriptions
	CreatedAt      time.Time     `json:"createdAt" audit:"createdAt"`
}

// write checks text and stores it in the address. If the address becomes another one, write unblocks it:
// only the previous one was blocked.
func (a *Address) write(text string, now time.Time) error {
	kind := kindOf(a.Channel)
	normal, ok := kind.normal(text)
	if !ok {
		return fault.Field(FieldText, "%s", kind.needed)
	}
	if a.Normal != "" && a.Normal != normal {
		a.Blocked, a.RewrittenAt = false, &now
	}
	a.Text, a.Normal = text, normal
	return nil
}

// Edition returns a number that differs for each address that the record has had: the time of the last
// change to another address in milliseconds, 0 if there was none.
func (a Address) Edition() int64 {
	if a.RewrittenAt == nil {
		return 0
	}
	return a.RewrittenAt.UnixMilli()
}

// Addresses returns the addresses of a channel that q finds, and their number before q.Limit and q.Offset.
func (a *Audience) Addresses(ctx context.Context, organization string, channel topic.Channel, q find.Query) ([]Address, int64, error) {
	return list(ctx, a.Store.Addresses, organization, channel, q)
}

// AddressIDs returns the ids of the addresses that fulfil all conditions.
func (a *Audience) AddressIDs(ctx context.Context, organization string, channel topic.Channel, where []find.Condition) ([]string, error) {
	within := IndexLegacy
	if slices.ContainsFunc(where, func(c find.Condition) bool { return c.Field == FieldText && c.Op == find.OpEq }) {
		within = IndexText
	}
	page, err := a.Store.Addresses.Find(ctx, find.Query{Where: of(organization, channel, where...), Scan: within})
	ids := make([]string, len(page.Items))
	for i, address := range page.Items {
		ids[i] = address.ID
	}
	return ids, err
}

// AddAddress stores a new address. It returns fault.Conflict if the organization already has the address.
func (a *Audience) AddAddress(ctx context.Context, organization string, channel topic.Channel, text string) (Address, error) {
	address := Address{ID: newID(), OrganizationID: organization, Channel: channel, CreatedAt: a.Now()}
	if err := address.write(text, a.Now()); err != nil {
		return Address{}, err
	}
	var err error
	if address.LegacyID, err = a.Store.Next(ctx, string(channel)+"-address"); err != nil {
		return Address{}, err
	}
	entry := audit.Entry(audit.From(ctx), "", address.CreatedAt, nil, &address)
	return address, taken(a.Store.Addresses.Insert(ctx, address, entry...), FieldText, isStored)
}

const isStored = "is already stored"

// taken adds the field and the message to a Conflict.
func taken(err error, field, message string) error {
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	return &fault.Error{Kind: fault.Conflict, Field: field, Message: message, Err: err}
}

// ensureAddress returns the address with the text. It stores the address if it does not exist, and
// then returns made true.
func (a *Audience) ensureAddress(ctx context.Context, organization string, channel topic.Channel, text string) (address Address, made bool, err error) {
	wanted := Address{Channel: channel}
	if err := wanted.write(text, a.Now()); err != nil {
		return Address{}, false, err
	}
	for {
		page, err := a.Store.Addresses.Find(ctx, find.Query{Where: of(organization, channel, find.Eq(FieldNormal, wanted.Normal)), Limit: 1})
		if err != nil {
			return Address{}, false, err
		}
		if len(page.Items) == 1 {
			return page.Items[0], false, nil
		}
		added, err := a.AddAddress(ctx, organization, channel, text)
		if !fault.Is(err, fault.Conflict) || ctx.Err() != nil {
			return added, err == nil, err
		} // another request stored it in between, so the next Find returns it
	}
}

// ChangeAddress changes the text of an address.
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
		return audit.Entry(audit.From(ctx), "", now, &before, address), nil
	})
	return changed, taken(err, FieldText, isStored)
}

// RemoveAddress removes an address and its subscriptions.
func (a *Audience) RemoveAddress(ctx context.Context, organization, id string) error {
	address, err := a.mark(ctx, organization, id, true)
	if err != nil {
		return err
	}
	return a.purge(context.WithoutCancel(ctx), address) // after the mark, even if the client disconnects
}

// mark marks an address as removed, or removes the mark. It returns fault.NotFound if the address is in
// that state already. The mark is the deletion for the audit log.
func (a *Audience) mark(ctx context.Context, organization, id string, removed bool) (Address, error) {
	return a.Store.Addresses.Update(ctx, id, func(address *Address) ([]topic.Message, error) {
		if address.Removed == removed || address.OrganizationID != organization {
			return nil, noAddress()
		}
		address.Removed = removed
		return audit.Entry(audit.From(ctx), "", a.Now(), address, nil), nil
	})
}

// purge deletes a removed address and its subscriptions.
func (a *Audience) purge(ctx context.Context, address Address) error {
	if err := a.unsubscribeAll(ctx, address); err != nil {
		return err
	}
	return unlessMissing(a.Store.Addresses.Delete(ctx, address.ID, nil))
}

func (a *Audience) unsubscribeAll(ctx context.Context, address Address) error {
	_, err := a.Store.Subscriptions.DeleteMany(ctx, find.Query{
		Where: of(address.OrganizationID, address.Channel, find.Eq(FieldAddress, address.ID)), Scan: IndexAddress,
	})
	return err
}

// Leave deletes all subscriptions of an address, but not the address, so that its organization can see
// which address it must not subscribe again by mistake. It returns nil without a change if the address
// does not exist or has another edition.
func (a *Audience) Leave(ctx context.Context, organization, id string, edition int64) error {
	found, err := a.Store.Addresses.GetMany(ctx, []string{id})
	if err != nil || len(found) == 0 || found[0].OrganizationID != organization || found[0].Edition() != edition {
		return err
	}
	if n, err := a.subscriptionsOf(ctx, found[0]); err != nil || n == 0 {
		return err
	}
	// The entry is stored before the deletion, so that a kill in between cannot lose it.
	now := a.Now()
	address, err := a.Store.Addresses.Update(ctx, id, func(address *Address) ([]topic.Message, error) {
		before := *address
		address.LeftAt = &now
		return audit.Entry(audit.From(ctx), actionUnsubscribe, now, &before, address), nil
	})
	if err != nil {
		return unlessMissing(err)
	}
	return a.unsubscribeAll(ctx, address)
}

// Sweep completes the removals that a killed process did not complete.
func (a *Audience) Sweep(ctx context.Context) error {
	page, err := a.Store.Addresses.Find(ctx, find.Query{Where: []find.Condition{find.Eq(FieldRemoved, true)}})
	if err != nil {
		return err
	}
	for _, address := range page.Items {
		if err := a.purge(ctx, address); err != nil {
			return err
		}
	}
	return nil
}

func noAddress() error { return fault.New(fault.NotFound, "There is no such address.") }
