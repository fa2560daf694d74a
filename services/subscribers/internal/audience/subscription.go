package audience

import (
	"context"
	"errors"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Subscription is an address's wish to be told of one component.
type Subscription struct {
	ID             string        `json:"id"`
	OrganizationID string        `json:"organizationId"`
	Channel        topic.Channel `json:"channel"`
	LegacyID       int64         `json:"legacyId"`
	AddressID      string        `json:"addressId"`
	ComponentID    string        `json:"componentId"`
	Confirmed      bool          `json:"confirmed"` // an unconfirmed one is told nothing
	CreatedAt      time.Time     `json:"createdAt"`
}

// Detail is a subscription with what it joins.
type Detail struct {
	Subscription
	Address   Address
	Component Component
}

// SubscriptionPatch is what a write says; nil keeps.
type SubscriptionPatch struct {
	AddressID   *string
	AddressText *string // instead of AddressID: found, or stored
	ComponentID *string
	Confirmed   *bool
}

// Subscriptions finds subscriptions of a channel, and how many there are before the
// query's limit and offset.
func (a *Audience) Subscriptions(ctx context.Context, organization string, channel topic.Channel, q find.Query) ([]Detail, int64, error) {
	q.Where = of(organization, channel, q.Where...)
	page, err := a.store.FindSubscriptions(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	total, err := a.store.CountSubscriptions(ctx, find.Query{Where: q.Where, Scan: q.Scan})
	if err != nil {
		return nil, 0, err
	}
	details, err := a.details(ctx, organization, page.Items)
	return details, total, err
}

// details joins subscriptions with their addresses and components. One whose
// address or component is being removed at this moment is left out.
func (a *Audience) details(ctx context.Context, organization string, subscriptions []Subscription) ([]Detail, error) {
	if len(subscriptions) == 0 {
		return nil, nil
	}
	addressIDs, componentIDs := make([]string, len(subscriptions)), make([]string, len(subscriptions))
	for i, s := range subscriptions {
		addressIDs[i], componentIDs[i] = s.AddressID, s.ComponentID
	}
	found, err := a.store.AddressesByID(ctx, addressIDs)
	if err != nil {
		return nil, err
	}
	addresses := make(map[string]Address, len(found))
	for _, address := range found {
		addresses[address.ID] = address
	}
	components, err := a.components.ByID(ctx, organization, componentIDs)
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

// Subscribe stores a new subscription; fault.Conflict when the address has the component.
func (a *Audience) Subscribe(ctx context.Context, organization string, channel topic.Channel, patch SubscriptionPatch) (Detail, error) {
	s := Subscription{ID: newID(), OrganizationID: organization, Channel: channel, CreatedAt: a.now()}
	made, err := a.apply(ctx, &s, patch)
	if err != nil {
		return Detail{}, err
	}
	detail, err := a.add(ctx, s)
	if err != nil { // refused altogether: nothing of it stays
		return Detail{}, errors.Join(err, a.drop(ctx, s), a.unmake(ctx, made))
	}
	return detail, nil
}

func (a *Audience) add(ctx context.Context, s Subscription) (Detail, error) {
	var err error
	if s.LegacyID, err = a.store.NextLegacyID(ctx, s.Channel, "subscription"); err != nil {
		return Detail{}, err
	}
	if err := a.store.AddSubscription(ctx, s); err != nil {
		return Detail{}, subscribed(err)
	}
	return a.joined(ctx, s)
}

// unmake removes an address that was stored for a subscription that failed, unless
// somebody else subscribed it meanwhile. It is marked before that is known for good: who
// comes later sees the mark (joined), and who came before is seen here.
func (a *Audience) unmake(ctx context.Context, made *Address) error {
	if made == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if others, err := a.subscriptionsOf(ctx, *made); err != nil || others > 0 {
		return err
	}
	if err := a.mark(ctx, made.ID, true); err != nil {
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		return err
	}
	if others, err := a.subscriptionsOf(ctx, *made); err != nil || others > 0 {
		return errors.Join(err, a.mark(ctx, made.ID, false))
	}
	return a.clear(ctx, *made)
}

func (a *Audience) subscriptionsOf(ctx context.Context, address Address) (int64, error) {
	return a.store.CountSubscriptions(ctx, find.Query{
		Where: of(address.OrganizationID, address.Channel, find.Eq(FieldAddress, address.ID)), Scan: IndexAddress,
	})
}

// joined is what a written subscription joins. Looking it up after the write also finds
// what was deleted during the write, whose deletion could not have seen it: then the
// subscription goes too.
func (a *Audience) joined(ctx context.Context, s Subscription) (Detail, error) {
	details, err := a.details(ctx, s.OrganizationID, []Subscription{s})
	if err == nil && len(details) == 0 {
		if err = a.drop(ctx, s); err == nil {
			err = fault.New(fault.Invalid, "The address or the service was deleted meanwhile.")
		}
	}
	return first(details), err
}

// drop deletes a subscription, if it is still there.
func (a *Audience) drop(ctx context.Context, s Subscription) error {
	if err := a.store.DeleteSubscription(context.WithoutCancel(ctx), s.ID); !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}

// apply writes the patch into s. It returns the address that it stored for that, if any.
func (a *Audience) apply(ctx context.Context, s *Subscription, patch SubscriptionPatch) (made *Address, err error) {
	if patch.AddressText != nil {
		address, isNew, err := a.ensureAddress(ctx, s.OrganizationID, s.Channel, *patch.AddressText)
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

// Subscription finds one by its legacy id, or fault.NotFound.
func (a *Audience) Subscription(ctx context.Context, organization string, channel topic.Channel, legacyID int64) (Subscription, error) {
	page, err := a.store.FindSubscriptions(ctx, find.Query{Where: of(organization, channel, find.Eq(FieldLegacyID, legacyID)), Limit: 1})
	if err != nil {
		return Subscription{}, err
	}
	if len(page.Items) == 0 {
		return Subscription{}, fault.New(fault.NotFound, "There is no such subscription.")
	}
	return page.Items[0], nil
}

// ChangeSubscription changes what the patch says.
func (a *Audience) ChangeSubscription(ctx context.Context, organization string, channel topic.Channel, legacyID int64, patch SubscriptionPatch) (Detail, error) {
	found, err := a.Subscription(ctx, organization, channel, legacyID)
	if err != nil {
		return Detail{}, err
	}
	made, err := a.apply(ctx, &found, patch)
	if err != nil {
		return Detail{}, err
	}
	changed, err := a.store.ChangeSubscription(ctx, found.ID, func(s *Subscription) error {
		if patch.AddressID != nil || patch.AddressText != nil {
			s.AddressID = found.AddressID
		}
		set(&s.ComponentID, patch.ComponentID)
		set(&s.Confirmed, patch.Confirmed)
		return nil
	})
	if err != nil {
		return Detail{}, errors.Join(subscribed(err), a.unmake(ctx, made))
	}
	detail, err := a.joined(ctx, changed)
	if fault.Is(err, fault.Invalid) { // it is dropped
		err = errors.Join(err, a.unmake(ctx, made))
	}
	return detail, err
}

// Unsubscribe removes a subscription.
func (a *Audience) Unsubscribe(ctx context.Context, organization string, channel topic.Channel, legacyID int64) error {
	found, err := a.Subscription(ctx, organization, channel, legacyID)
	if err != nil {
		return err
	}
	return a.store.DeleteSubscription(ctx, found.ID)
}

// ForgetComponent removes the subscriptions to a deleted component. It may be told
// so more than once.
func (a *Audience) ForgetComponent(ctx context.Context, organization, component string) error {
	for _, channel := range topic.ChannelsOf(topic.Subscribers) {
		err := a.store.DeleteSubscriptions(ctx, find.Query{
			Where: of(organization, channel, find.Eq(FieldComponent, component)), Scan: IndexComponent,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func subscribed(err error) error {
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	return &fault.Error{Kind: fault.Conflict, Field: "service", Message: "This address is subscribed to this service already.", Err: err}
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Component finds the id of the component with the legacy id, or fault.NotFound.
func (a *Audience) Component(ctx context.Context, organization string, legacyID int64) (string, error) {
	component, err := a.components.ByLegacyID(ctx, organization, legacyID)
	return component.ID, err
}

// MatchComponents finds the ids of the components for which all conditions hold.
func (a *Audience) MatchComponents(ctx context.Context, organization string, where []find.Condition) ([]string, error) {
	components, err := a.components.Where(ctx, organization, where)
	ids := make([]string, len(components))
	for i, component := range components {
		ids[i] = component.ID
	}
	return ids, err
}
