package audience

import (
	"context"
	"errors"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Subscription is a copy of an Entry that has a component, for the lists of the legacy interface.
type Subscription struct {
	ID             string        `json:"id"`
	OrganizationID string        `json:"organizationId"`
	Channel        topic.Channel `json:"channel"`
	LegacyID       int64         `json:"legacyId"`
	AddressID      string        `json:"addressId"`
	ComponentID    string        `json:"componentId"`
	Confirmed      bool          `json:"confirmed"`
	CreatedAt      time.Time     `json:"createdAt"`
	SubscriberID   string        `json:"subscriberId"`
}

// Detail is a subscription with its address and its component.
type Detail struct {
	Subscription
	Address   Address
	Component topic.ComponentRecord
}

// SubscriptionPatch is the input of Subscribe and ChangeSubscription. A field that is nil does not change the stored
// value.
type SubscriptionPatch struct {
	AddressID   *string
	AddressText *string // instead of AddressID: text of the address, which is stored if it does not exist
	ComponentID *string
	Confirmed   *bool
}

const isSubscribed = "already has a subscription of this address"

func subscriptionCounter(channel topic.Channel) string { return string(channel) + "-subscription" }

// Subscriptions returns the subscriptions of a channel that match q, and the number of matches without q.Limit and
// q.Offset.
func (a *Audience) Subscriptions(ctx context.Context, organization string, channel topic.Channel, q find.Query) ([]Detail, int64, error) {
	found, total, err := list(ctx, a.Store.Subscriptions, organization, channel, q)
	if err != nil {
		return nil, 0, err
	}
	details, err := a.details(ctx, organization, found)
	return details, total, err
}

// SubscriptionID returns the id of the subscription that matches the conditions, or fault.NotFound.
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

// details returns the subscriptions with their addresses and components. It omits a subscription whose address or
// component was removed, because the subscription will also be deleted.
func (a *Audience) details(ctx context.Context, organization string, subscriptions []Subscription) ([]Detail, error) {
	if len(subscriptions) == 0 {
		return nil, nil
	}
	addresses, err := find.ByKey(ctx, a.Store.Addresses, find.Values(subscriptions, func(s Subscription) string { return s.AddressID }), addressKey)
	if err != nil {
		return nil, err
	}
	components, err := a.Events.ComponentsByID(ctx, organization, find.Values(subscriptions, func(s Subscription) string { return s.ComponentID }))
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

// Subscribe adds an entry to the subscriber of an address on the organization's first dashboard. It returns
// fault.Conflict if the address is already subscribed to the component. If Subscribe returns an error, it has removed
// the entry, and the address if the address was stored for the entry.
func (a *Audience) Subscribe(ctx context.Context, organization string, channel topic.Channel, patch SubscriptionPatch) (Detail, error) {
	first, err := a.Events.FirstDashboard(ctx, organization)
	if err != nil {
		return Detail{}, err
	}
	address, made, err := a.wanted(ctx, organization, channel, patch)
	if err != nil {
		return Detail{}, err
	}
	entry := Entry{ID: topic.NewID(), ComponentID: *patch.ComponentID, CreatedAt: a.Now(), Anywhere: true}
	entry.confirm(patch.Confirmed != nil && *patch.Confirmed, entry.CreatedAt)
	detail, err := a.subscribe(ctx, address, first.ID, entry)
	if err != nil {
		return Detail{}, errors.Join(err, a.unmake(ctx, made))
	}
	return detail, nil
}

// wanted returns the address that the patch names. If the patch has an AddressText and no such address is stored,
// wanted stores the address and also returns it as made. Otherwise made is nil.
func (a *Audience) wanted(ctx context.Context, organization string, channel topic.Channel, patch SubscriptionPatch) (address Address, made *Address, err error) {
	if patch.AddressText != nil {
		return a.ensureAddress(ctx, organization, channel, *patch.AddressText, false)
	}
	address, err = a.Store.Addresses.Get(ctx, *patch.AddressID)
	if err == nil && address.Removed {
		err = deletedMeanwhile()
	}
	return address, nil, fault.IfMissing(err, deletedMeanwhile())
}

func (a *Audience) subscribe(ctx context.Context, address Address, dashboard string, entry Entry) (Detail, error) {
	var err error
	if entry.LegacyID, err = a.Store.Next(ctx, subscriptionCounter(address.Channel), 1); err != nil {
		return Detail{}, err
	}
	stored, err := a.Store.Subscribers.Upsert(ctx, SubscriberID(dashboard, address.ID), func(s *Subscriber, exists bool) ([]topic.Message, error) {
		if !exists || s.Gone() {
			*s = newSubscriber(address, dashboard, FromLegacy, entry.CreatedAt)
		}
		if s.All() || s.entry(entry.ComponentID) >= 0 {
			return nil, fault.New(fault.Conflict, "The address is already subscribed to the component.")
		}
		s.drop(func(e Entry) bool { return e.Deleted })
		s.Entries, s.UpdatedAt = append(s.Entries, entry), entry.CreatedAt
		return subscriptionEntry(ctx, "create", entry.CreatedAt, *s, nil, &entry), nil
	})
	if err != nil {
		return Detail{}, taken(err, FieldComponent, isSubscribed)
	}
	detail, err := a.confirm(ctx, rowOf(stored, entry))
	if err != nil {
		err = errors.Join(err, a.drop(ctx, stored, entry.ID))
	}
	return detail, err
}

// newSubscriber returns a subscriber without entries.
func newSubscriber(address Address, dashboard string, source SubscriberSource, now time.Time) Subscriber {
	return Subscriber{
		ID: SubscriberID(dashboard, address.ID), OrganizationID: address.OrganizationID, Channel: address.Channel, DashboardID: dashboard,
		AddressID: address.ID, Address: copyOf(address), Source: source, CreatedAt: now, UpdatedAt: now,
	}
}

// confirm returns the details of a stored subscription. It reads the address and the component after the
// write. If one of them was deleted during the write, the deletion could not find the subscription. Then
// confirm returns an error.
func (a *Audience) confirm(ctx context.Context, s Subscription) (Detail, error) {
	details, err := a.details(ctx, s.OrganizationID, []Subscription{s})
	if err != nil {
		return Detail{}, err
	}
	if len(details) == 0 {
		return Detail{}, deletedMeanwhile()
	}
	return details[0], nil
}

func deletedMeanwhile() error {
	return fault.New(fault.Invalid, "The address or the component was deleted during the request. Choose another one.")
}

// drop removes the entry from the subscriber after the request that has added the entry has failed.
func (a *Audience) drop(ctx context.Context, s Subscriber, entry string) error {
	return fault.UnlessMissing(a.dropEntry(context.WithoutCancel(ctx), s.OrganizationID, s.ID, entry))
}

// errMoving means that an entry has a Move that is not done yet.
var errMoving = errors.New("the entry is about to move")

// ChangeSubscription changes a subscription. If the patch has another address, the entry moves to another subscriber.
func (a *Audience) ChangeSubscription(ctx context.Context, organization string, channel topic.Channel, id string, patch SubscriptionPatch) (Detail, error) {
	var made *Address
	if patch.AddressText != nil || patch.AddressID != nil {
		address, stored, err := a.wanted(ctx, organization, channel, patch)
		if err != nil {
			return Detail{}, err
		}
		made, patch.AddressID = stored, &address.ID
	}
	row, err := a.settled(ctx, organization, channel, id, func(row Subscription) error { return a.changeEntry(ctx, row, patch) })
	if err != nil {
		return Detail{}, errors.Join(taken(err, FieldComponent, isSubscribed), a.unmake(ctx, made))
	}
	detail, err := a.confirm(ctx, row)
	if fault.Is(err, fault.Invalid) {
		err = errors.Join(err, fault.UnlessMissing(a.dropEntry(context.WithoutCancel(ctx), organization, row.SubscriberID, id)), a.unmake(ctx, made))
	}
	return detail, err
}

// moveTime is how long a request waits for the move of an entry.
const moveTime = 5 * time.Second

// settled calls change with the row of an entry, and repeats this while change returns errMoving, for at most moveTime.
// It returns the row after the change.
func (a *Audience) settled(ctx context.Context, organization string, channel topic.Channel, id string, change func(Subscription) error) (Subscription, error) {
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		row, err := a.row(ctx, organization, id)
		if err == nil && row.Channel != channel {
			err = noSubscription()
		}
		if err == nil {
			err = change(row)
		}
		if err == nil {
			return a.row(ctx, organization, id)
		}
		if !errors.Is(err, errMoving) {
			return Subscription{}, err
		}
		select {
		case <-ctx.Done():
			return Subscription{}, fault.New(fault.Unavailable, "The subscription is being moved to another address. Try again shortly.")
		case <-time.After(pause):
		}
	}
}

// changeEntry changes the entry of a row. If the patch has another address, changeEntry only sets the Move of the
// entry. SubscriberWritten then moves the entry. changeEntry returns errMoving until the entry has moved.
func (a *Audience) changeEntry(ctx context.Context, row Subscription, patch SubscriptionPatch) error {
	now := a.Now()
	moves := patch.AddressID != nil && *patch.AddressID != row.AddressID
	_, err := a.edit(ctx, row.OrganizationID, row.SubscriberID, func(s *Subscriber) ([]topic.Message, error) {
		at := s.entryWithID(row.ID)
		if at < 0 || s.Entries[at].Move != nil {
			return nil, errMoving // the entry has a Move, or has moved since the row was read
		}
		before, after := s.Entries[at], s.Entries[at]
		optional.Assign(&after.ComponentID, patch.ComponentID)
		if patch.Confirmed != nil {
			after.confirm(*patch.Confirmed, now)
		}
		if moves {
			after = before
			after.Move = &Move{AddressID: *patch.AddressID, ComponentID: patch.ComponentID, Confirmed: patch.Confirmed, At: now, Origin: audit.From(ctx)}
		} else if other := s.entry(after.ComponentID); other >= 0 && other != at {
			return nil, fault.New(fault.Conflict, "The address is already subscribed to the component.")
		} else if after == before {
			return nil, fault.ErrUnchanged
		}
		s.Entries[at], s.UpdatedAt = after, now
		if moves {
			return nil, nil
		}
		return subscriptionEntry(ctx, "update", now, *s, &before, &after), nil
	})
	if err != nil || !moves {
		return fault.IfMissing(err, errMoving)
	}
	return a.moved(ctx, row, *patch.AddressID)
}

// Unsubscribe deletes a subscription.
func (a *Audience) Unsubscribe(ctx context.Context, organization, id string) error {
	row, err := a.row(ctx, organization, id)
	if err != nil {
		return err
	}
	s, err := a.Store.Subscribers.Get(ctx, row.SubscriberID)
	if err == nil {
		err = a.rememberDeletion(ctx, s)
	}
	if fault.UnlessMissing(err) != nil {
		return err
	}
	return a.dropEntry(ctx, organization, row.SubscriberID, id)
}

// row returns the subscription of an organization with the id, or fault.NotFound.
func (a *Audience) row(ctx context.Context, organization, id string) (Subscription, error) {
	row, err := a.Store.Subscriptions.Get(ctx, id)
	if err == nil && row.OrganizationID != organization {
		err = noSubscription()
	}
	return row, fault.IfMissing(err, noSubscription())
}

func (a *Audience) dropEntry(ctx context.Context, organization, subscriber, id string) error {
	_, err := a.edit(ctx, organization, subscriber, func(s *Subscriber) ([]topic.Message, error) {
		at := s.entryWithID(id)
		if at < 0 {
			return nil, noSubscription()
		}
		gone := s.Entries[at]
		if gone.Move != nil {
			return nil, fault.New(fault.Unavailable, "The subscription is being moved to another address. Try again shortly.")
		}
		s.drop(func(e Entry) bool { return e.ID == id })
		s.UpdatedAt = a.Now()
		return subscriptionEntry(ctx, "delete", s.UpdatedAt, *s, &gone, nil), nil
	})
	return fault.IfMissing(err, noSubscription())
}

// edit changes a subscriber. It returns fault.NotFound if the organization has no such subscriber.
func (a *Audience) edit(ctx context.Context, organization, id string, change func(*Subscriber) ([]topic.Message, error)) (Subscriber, error) {
	return a.Store.Subscribers.Update(ctx, id, func(s *Subscriber) ([]topic.Message, error) {
		if s.OrganizationID != organization || s.Gone() {
			return nil, noSubscriber()
		}
		return change(s)
	})
}

// ComponentIDs returns the ids of the organization's components that match all conditions.
func (a *Audience) ComponentIDs(ctx context.Context, organization string, where []find.Condition) ([]string, error) {
	found, err := a.Events.ComponentsWhere(ctx, organization, where)
	return find.Values(found, func(c topic.ComponentRecord) string { return c.ID }), err
}

func noSubscription() error { return fault.New(fault.NotFound, "There is no such subscription.") }
