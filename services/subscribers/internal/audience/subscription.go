package audience

import (
	"context"
	"errors"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Subscription is the request of an address to be notified about one component.
type Subscription struct {
	ID             string        `json:"id" audit:"id"`
	OrganizationID string        `json:"organizationId"`
	Channel        topic.Channel `json:"channel" audit:"channel"`
	LegacyID       int64         `json:"legacyId" audit:"legacyId"`
	AddressID      string        `json:"addressId" audit:"subscriberId"`
	ComponentID    string        `json:"componentId" audit:"componentId"`
	Confirmed      bool          `json:"confirmed" audit:"confirmed"` // no message is sent for an unconfirmed subscription
	CreatedAt      time.Time     `json:"createdAt" audit:"createdAt"`
}

// Detail is a subscription with its address and its component.
type Detail struct {
	Subscription
	Address   Address
	Component Component
}

// SubscriptionPatch is the input of Subscribe and ChangeSubscription. A nil field keeps the stored value.
type SubscriptionPatch struct {
	AddressID   *string
	AddressText *string // instead of AddressID: the address with this text, which is stored if it does not exist
	ComponentID *string
	Confirmed   *bool
}

const isSubscribed = "already has a subscription of this address"

// Subscriptions returns the subscriptions of a channel that q finds, and their number before q.Limit and q.Offset.
func (a *Audience) Subscriptions(ctx context.Context, organization string, channel topic.Channel, q find.Query) ([]Detail, int64, error) {
	found, total, err := list(ctx, a.Store.Subscriptions, organization, channel, q)
	if err != nil {
		return nil, 0, err
	}
	details, err := a.details(ctx, organization, found)
	return details, total, err
}

// SubscriptionID returns the id of the subscription that fulfils the conditions, or fault.NotFound.
func (a *Audience) SubscriptionID(ctx context.Context, organization string, channel topic.Channel, where ...find.Condition) (string, error) {
	page, err := a.Store.Subscriptions.Find(ctx, find.Query{Where: of(organization, channel, where...), Limit: 1})
	if err != nil {
		return "", err
	}
	if len(page.Items) == 0 {
		return "", noSubscription()
	}
	return page.Items[0].ID, nil
}

// details adds to subscriptions their addresses and components. It leaves out a subscription whose address
// or component was removed, because the subscription will be deleted too.
func (a *Audience) details(ctx context.Context, organization string, subscriptions []Subscription) ([]Detail, error) {
	if len(subscriptions) == 0 {
		return nil, nil
	}
	addressIDs, componentIDs := make([]string, len(subscriptions)), make([]string, len(subscriptions))
	for i, s := range subscriptions {
		addressIDs[i], componentIDs[i] = s.AddressID, s.ComponentID
	}
	found, err := a.Store.Addresses.GetMany(ctx, addressIDs)
	if err != nil {
		return nil, err
	}
	addresses := make(map[string]Address, len(found))
	for _, address := range found {
		addresses[address.ID] = address
	}
	components, err := a.Events.ComponentsByID(ctx, organization, componentIDs)
	if err != nil {
		return nil, err
	}
	details := make([]Detail, 0, len(subscriptions))
	for _, s := range subscriptions {
		address, hasAddress := addresses[s.AddressID]
		component, hasComponent := components[s.ComponentID]
		if hasAddress && hasComponent && !address.Removed {
			details = append(details, Detail{Subscription: s, Address: address, Component: component})
		}
	}
	return details, nil
}

// Subscribe stores a new subscription. It returns fault.Conflict if the address is already subscribed to
// the component. After an error neither the subscription nor an address that was stored for it remains.
func (a *Audience) Subscribe(ctx context.Context, organization string, channel topic.Channel, patch SubscriptionPatch) (Detail, error) {
	s := Subscription{ID: newID(), OrganizationID: organization, Channel: channel, CreatedAt: a.Now()}
	made, err := a.apply(ctx, &s, patch)
	if err != nil {
		return Detail{}, err
	}
	detail, err := a.insert(ctx, s)
	if err != nil {
		return Detail{}, errors.Join(err, a.drop(ctx, s), a.unmake(ctx, made))
	}
	return detail, nil
}

func (a *Audience) insert(ctx context.Context, s Subscription) (Detail, error) {
	var err error
	if s.LegacyID, err = a.Store.Next(ctx, string(s.Channel)+"-subscription"); err != nil {
		return Detail{}, err
	}
	entry, err := a.subscriptionEntry(ctx, "create", s.CreatedAt, nil, &s)
	if err != nil {
		return Detail{}, err
	}
	if err := a.Store.Subscriptions.Insert(ctx, s, entry...); err != nil {
		return Detail{}, taken(err, FieldComponent, isSubscribed)
	}
	return a.confirm(ctx, s)
}

// apply stores the patch in s. It returns the address that it stored for s, or nil.
func (a *Audience) apply(ctx context.Context, s *Subscription, patch SubscriptionPatch) (made *Address, err error) {
	if patch.AddressText != nil {
		// The entry of the subscription shows the address too.
		address, isNew, err := a.ensureAddress(audit.With(ctx, audit.Origin{}), s.OrganizationID, s.Channel, *patch.AddressText)
		if err != nil {
			return nil, err
		}
		if isNew {
			made = &address
		}
		s.AddressID = address.ID
	}
	set(&s.AddressID, patch.AddressID)
	set(&s.ComponentID, patch.ComponentID)
	set(&s.Confirmed, patch.Confirmed)
	return made, nil
}

// confirm returns the details of a stored subscription. It reads the address and the component after the
// write. If one of them was deleted during the write, the deletion could not find the subscription. Then
// confirm deletes the subscription and returns an error.
func (a *Audience) confirm(ctx context.Context, s Subscription) (Detail, error) {
	details, err := a.details(ctx, s.OrganizationID, []Subscription{s})
	if err != nil {
		return Detail{}, err
	}
	if len(details) == 1 {
		return details[0], nil
	}
	if err := a.drop(ctx, s); err != nil {
		return Detail{}, err
	}
	return Detail{}, fault.New(fault.Invalid, "The address or the component was deleted during the request. Choose another one.")
}

// drop deletes a subscription if it exists.
func (a *Audience) drop(ctx context.Context, s Subscription) error {
	return unlessMissing(a.Unsubscribe(context.WithoutCancel(ctx), s.OrganizationID, s.ID))
}

// unmake removes an address that was stored for a subscription that failed, unless the address has other
// subscriptions by now. It marks the address before the second count: a subscription that is stored later
// reads the mark in confirm, and a subscription that was stored earlier is counted.
func (a *Audience) unmake(ctx context.Context, made *Address) error {
	if made == nil {
		return nil
	}
	ctx = audit.With(context.WithoutCancel(ctx), audit.Origin{}) // no entry reports that the address was stored
	if n, err := a.subscriptionsOf(ctx, *made); err != nil || n > 0 {
		return err
	}
	if _, err := a.mark(ctx, made.OrganizationID, made.ID, true); err != nil {
		return unlessMissing(err)
	}
	if n, err := a.subscriptionsOf(ctx, *made); err != nil || n > 0 {
		_, unmarked := a.mark(ctx, made.OrganizationID, made.ID, false)
		return errors.Join(err, unmarked)
	}
	return a.purge(ctx, *made)
}

func (a *Audience) subscriptionsOf(ctx context.Context, address Address) (int64, error) {
	return a.Store.Subscriptions.Count(ctx, find.Query{
		Where: of(address.OrganizationID, address.Channel, find.Eq(FieldAddress, address.ID)), Scan: IndexAddress,
	})
}

// ChangeSubscription changes a subscription.
func (a *Audience) ChangeSubscription(ctx context.Context, organization string, channel topic.Channel, id string, patch SubscriptionPatch) (Detail, error) {
	wanted := Subscription{ID: id, OrganizationID: organization, Channel: channel}
	made, err := a.apply(ctx, &wanted, patch)
	if err != nil {
		return Detail{}, err
	}
	changed, err := a.Store.Subscriptions.Update(ctx, id, func(s *Subscription) ([]topic.Message, error) {
		if s.OrganizationID != organization || s.Channel != channel {
			return nil, noSubscription()
		}
		before := *s
		if wanted.AddressID != "" {
			s.AddressID = wanted.AddressID
		}
		set(&s.ComponentID, patch.ComponentID)
		set(&s.Confirmed, patch.Confirmed)
		if *s == before {
			return nil, fault.ErrUnchanged
		}
		return a.subscriptionEntry(ctx, "update", a.Now(), &before, s)
	})
	if err != nil {
		return Detail{}, errors.Join(taken(err, FieldComponent, isSubscribed), a.unmake(ctx, made))
	}
	detail, err := a.confirm(ctx, changed)
	if fault.Is(err, fault.Invalid) { // confirm has deleted the subscription
		err = errors.Join(err, a.unmake(ctx, made))
	}
	return detail, err
}

// Unsubscribe deletes a subscription.
func (a *Audience) Unsubscribe(ctx context.Context, organization, id string) error {
	return a.Store.Subscriptions.Delete(ctx, id, func(s *Subscription) ([]topic.Message, error) {
		if s.OrganizationID != organization {
			return nil, noSubscription()
		}
		return a.subscriptionEntry(ctx, "delete", a.Now(), s, nil)
	})
}

// ForgetComponent deletes the subscriptions to a deleted component. A repeated call has no effect.
func (a *Audience) ForgetComponent(ctx context.Context, organization, component string) error {
	for _, channel := range topic.ChannelsOf(topic.Subscribers) {
		_, err := a.Store.Subscriptions.DeleteMany(ctx, find.Query{
			Where: of(organization, channel, find.Eq(FieldComponent, component)), Scan: IndexComponent,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ComponentIDs returns the ids of the organization's components that fulfil all conditions.
func (a *Audience) ComponentIDs(ctx context.Context, organization string, where []find.Condition) ([]string, error) {
	return a.Events.ComponentIDs(ctx, organization, where)
}

func noSubscription() error { return fault.New(fault.NotFound, "There is no such subscription.") }

// set stores *value in *field if value is not nil.
func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}
