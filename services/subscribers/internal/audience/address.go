package audience

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Address is a mail address or a phone number of somebody who may subscribe.
type Address struct {
	ID             string        `json:"id"`
	OrganizationID string        `json:"organizationId"`
	Channel        topic.Channel `json:"channel"` // one of topic.Subscribers
	LegacyID       int64         `json:"legacyId"`
	Text           string        `json:"text"`                  // as given
	Normal         string        `json:"normal"`                // as compared: mail addresses regardless of case
	Blocked        bool          `json:"blocked"`               // nothing is sent to it: it refused for good, or is nobody's
	RewrittenAt    *time.Time    `json:"rewrittenAt,omitempty"` // when it last became another one
	Removed        bool          `json:"removed"`
	CreatedAt      time.Time     `json:"createdAt"`
}

// write checks text and stores it in the address. If the address becomes another one, write unblocks it:
// only the previous one was blocked.
func (a *Address) write(text string, now time.Time) error {
	kind := kindOf(a.Channel)
	normal, ok := kind.normal(text)
	if !ok {
		return fault.Field(kind.field, "%s", kind.needed)
	}
	if a.Normal != "" && a.Normal != normal {
		a.Blocked, a.RewrittenAt = false, &now
	}
	a.Text, a.Normal = text, normal
	return nil
}

// Edition tells what the address is now from what it was before it was rewritten: the time of
// that in milliseconds, 0 when it never was.
func (a Address) Edition() int64 {
	if a.RewrittenAt == nil {
		return 0
	}
	return a.RewrittenAt.UnixMilli()
}

// Addresses finds addresses of a channel, and how many there are before the
// query's limit and offset.
func (a *Audience) Addresses(ctx context.Context, organization string, channel topic.Channel, q find.Query) ([]Address, int64, error) {
	q.Where = of(organization, channel, q.Where...)
	page, err := a.store.FindAddresses(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	total, err := a.store.CountAddresses(ctx, find.Query{Where: q.Where, Scan: q.Scan})
	return page.Items, total, err
}

// Address finds one by its legacy id, or fault.NotFound.
func (a *Audience) Address(ctx context.Context, organization string, channel topic.Channel, legacyID int64) (Address, error) {
	page, err := a.store.FindAddresses(ctx, find.Query{Where: of(organization, channel, find.Eq(FieldLegacyID, legacyID)), Limit: 1})
	if err != nil {
		return Address{}, err
	}
	if len(page.Items) == 0 {
		return Address{}, fault.New(fault.NotFound, "There is no such address.")
	}
	return page.Items[0], nil
}

// MatchAddresses finds the ids of the addresses for which all conditions hold.
func (a *Audience) MatchAddresses(ctx context.Context, organization string, channel topic.Channel, where []find.Condition) ([]string, error) {
	within := IndexLegacy
	if slices.ContainsFunc(where, func(c find.Condition) bool { return c.Field == FieldText && c.Op == find.OpEq }) {
		within = IndexText
	}
	page, err := a.store.FindAddresses(ctx, find.Query{Where: of(organization, channel, where...), Scan: within})
	ids := make([]string, len(page.Items))
	for i, address := range page.Items {
		ids[i] = address.ID
	}
	return ids, err
}

// AddAddress stores a new one; fault.Conflict when the organization has it.
func (a *Audience) AddAddress(ctx context.Context, organization string, channel topic.Channel, text string) (Address, error) {
	address := Address{ID: newID(), OrganizationID: organization, Channel: channel, CreatedAt: a.now()}
	if err := address.write(text, a.now()); err != nil {
		return Address{}, err
	}
	var err error
	if address.LegacyID, err = a.store.NextLegacyID(ctx, channel, "address"); err != nil {
		return Address{}, err
	}
	return address, kindOf(channel).taken(a.store.AddAddress(ctx, address))
}

// ensureAddress finds the address, or stores it, and says whether it did.
func (a *Audience) ensureAddress(ctx context.Context, organization string, channel topic.Channel, text string) (address Address, made bool, err error) {
	wanted := Address{Channel: channel}
	if err := wanted.write(text, a.now()); err != nil {
		return Address{}, false, err
	}
	for {
		page, err := a.store.FindAddresses(ctx, find.Query{Where: of(organization, channel, find.Eq(FieldNormal, wanted.Normal)), Limit: 1})
		if err != nil || len(page.Items) == 1 {
			return first(page.Items), false, err
		}
		added, err := a.AddAddress(ctx, organization, channel, text)
		if !fault.Is(err, fault.Conflict) || ctx.Err() != nil {
			return added, err == nil, err
		} // somebody else stored it in between: it is found now
	}
}

// ChangeAddress writes another text to an address; nil keeps it.
func (a *Audience) ChangeAddress(ctx context.Context, organization string, channel topic.Channel, legacyID int64, text *string) (Address, error) {
	found, err := a.Address(ctx, organization, channel, legacyID)
	if err != nil || text == nil {
		return found, err
	}
	changed, err := a.store.ChangeAddress(ctx, found.ID, func(address *Address) error {
		if address.Removed {
			return fault.New(fault.NotFound, "There is no such address.")
		}
		return address.write(*text, a.now())
	})
	return changed, kindOf(channel).taken(err)
}

// RemoveAddress removes an address and its subscriptions.
func (a *Audience) RemoveAddress(ctx context.Context, organization string, channel topic.Channel, legacyID int64) error {
	found, err := a.Address(ctx, organization, channel, legacyID)
	if err != nil {
		return err
	}
	if err := a.mark(ctx, found.ID, true); err != nil {
		return err
	}
	return a.clear(context.WithoutCancel(ctx), found) // it is decided, even if the client is gone
}

// mark marks an address as removed, or takes the mark back; fault.NotFound when it is as asked.
func (a *Audience) mark(ctx context.Context, id string, removed bool) error {
	_, err := a.store.ChangeAddress(ctx, id, func(address *Address) error {
		if address.Removed == removed {
			return fault.New(fault.NotFound, "There is no such address.")
		}
		address.Removed = removed
		return nil
	})
	return err
}

// clear deletes what is left of a removed address.
func (a *Audience) clear(ctx context.Context, address Address) error {
	err := a.store.DeleteSubscriptions(ctx, find.Query{
		Where: of(address.OrganizationID, address.Channel, find.Eq(FieldAddress, address.ID)), Scan: IndexAddress,
	})
	if err != nil {
		return err
	}
	if err := a.store.DeleteAddress(ctx, address.ID); !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}

// Sweep finishes the removals that a killed process left behind.
func (a *Audience) Sweep(ctx context.Context) error {
	page, err := a.store.FindAddresses(ctx, find.Query{Where: []find.Condition{find.Eq(FieldRemoved, true)}})
	if err != nil {
		return err
	}
	for _, address := range page.Items {
		if err := a.clear(ctx, address); err != nil {
			return err
		}
	}
	return nil
}

func first[T any](items []T) T {
	if len(items) == 0 {
		var none T
		return none
	}
	return items[0]
}
