package audience

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"reflect"
	"slices"
	"time"

	"golang.org/x/text/language"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	maxLocale = 35  // maximum length of a language tag, in characters
	maxChosen = 500 // maximum number of components in a request
)

// Draft is the input of Create. If ComponentIDs is nil, the subscriber subscribes to all components.
type Draft struct {
	DashboardID  string
	Address      string
	ComponentIDs []string
	Confirmed    bool
	Paused       bool
	Locked       bool
	Locale       optional.Value[string] // null: the dashboard's
}

// SubscriberPatch is the input of ChangeSubscriber. A field that is nil or absent does not change the stored value.
type SubscriberPatch struct {
	ComponentIDs optional.Value[[]string] // null: all components
	Confirmed    *bool
	ConfirmedAt  *time.Time // time of the confirmation by Confirmed; nil: the present time
	Paused       *bool
	Locked       *bool
	Locale       optional.Value[string] // null: the dashboard's
	Clear        bool                   // ends the suppression of the address
}

// Subscriber returns one subscriber, or fault.NotFound.
func (a *Audience) Subscriber(ctx context.Context, organization string, channel topic.Channel, id string) (Subscriber, error) {
	s, err := a.subscriber(ctx, organization, channel, id)
	if err != nil {
		return s, err
	}
	return s, a.limit(ctx, organization, &s)
}

// subscriber is like Subscriber, but does not mark entries as Deleted (see limit).
func (a *Audience) subscriber(ctx context.Context, organization string, channel topic.Channel, id string) (Subscriber, error) {
	s, err := a.Store.Subscribers.Get(ctx, id)
	if err == nil && (s.OrganizationID != organization || s.Channel != channel || s.Gone() || s.Address.Removed) {
		err = noSubscriber()
	}
	return s, fault.IfMissing(err, noSubscriber())
}

// Create stores a subscriber. If the draft is not confirmed, the owner of the address is asked for a confirmation.
// Create returns fault.Conflict if the dashboard already has a subscriber with the address.
func (a *Audience) Create(ctx context.Context, organization string, channel topic.Channel, draft Draft) (Subscriber, error) {
	text, err := strictText(channel, draft.Address)
	if err != nil {
		return Subscriber{}, err
	}
	locale, err := chosenLocale(draft.Locale)
	if err != nil {
		return Subscriber{}, err
	}
	dashboard, err := a.dashboard(ctx, organization, draft.DashboardID)
	if err != nil {
		return Subscriber{}, err
	}
	entries, err := a.entries(ctx, channel, dashboard, draft.ComponentIDs, draft.Confirmed)
	if err != nil {
		return Subscriber{}, err
	}
	address, made, err := a.ensureAddress(ctx, organization, channel, text, false)
	if err != nil {
		return Subscriber{}, err
	}
	wanted := newSubscriber(address, draft.DashboardID, FromApp, a.Now())
	wanted.Entries, wanted.Paused, wanted.Locked, wanted.Locale = entries, draft.Paused, draft.Locked, locale
	created, err := a.create(ctx, wanted, !draft.Confirmed)
	if err != nil {
		err = cmp.Or(a.unmake(ctx, made), err)
	}
	return created, err
}

// create stores a new subscriber. If asks is true, the owner of the address is asked for a confirmation.
func (a *Audience) create(ctx context.Context, wanted Subscriber, asks bool) (Subscriber, error) {
	var notices []topic.Message
	if asks {
		notices = wanted.ask(nil, wanted.CreatedAt)
	}
	created, err := a.Store.Subscribers.Upsert(ctx, wanted.ID, func(s *Subscriber, exists bool) ([]topic.Message, error) {
		if exists && !s.Gone() {
			return nil, fault.New(fault.Conflict, "The dashboard already has a subscriber with this address.")
		}
		*s = wanted
		return append(subscriberEntry(ctx, "", s.CreatedAt, nil, s), notices...), nil
	})
	if err != nil {
		return Subscriber{}, err
	}
	return a.recheck(ctx, created)
}

// recheck reads the address, the dashboard and the components again after a subscriber was stored. If one of them was
// deleted during the write, the deletion may not have found the subscriber. So recheck deletes the subscriber or its
// entries.
func (a *Audience) recheck(ctx context.Context, s Subscriber) (Subscriber, error) {
	dashboard, err := a.Events.Dashboard(ctx, s.OrganizationID, s.DashboardID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return s, nil // no error: a deletion of the dashboard is also published as a message
	}
	addresses, unread := a.Store.Addresses.GetMany(ctx, []string{s.AddressID})
	if unread != nil {
		return s, unread
	}
	if err == nil && len(addresses) > 0 && !addresses[0].Removed {
		return a.dropDeleted(ctx, s, dashboard)
	}
	ctx = audit.With(context.WithoutCancel(ctx), audit.Origin{})
	if err := fault.UnlessMissing(a.Store.Subscribers.Delete(ctx, s.ID, nil)); err != nil {
		return s, err
	}
	return s, fault.New(fault.Invalid, "The address or the dashboard was deleted during the request. Choose another one.")
}

// dropDeleted removes the entries for components that were deleted. It requests only those components from the events
// service that the dashboard does not have.
func (a *Audience) dropDeleted(ctx context.Context, s Subscriber, dashboard topic.DashboardRecord) (Subscriber, error) {
	var elsewhere []string
	for _, id := range s.ComponentIDs() {
		if !dashboard.Has(id) {
			elsewhere = append(elsewhere, id)
		}
	}
	if len(elsewhere) == 0 {
		return s, nil
	}
	exist, err := a.Events.ComponentsByID(ctx, s.OrganizationID, elsewhere)
	if err != nil {
		return s, nil // no error: a deletion of a component is also published as a message
	}
	changed, err := a.Store.Subscribers.Change(ctx, s.ID, func(s *Subscriber) error {
		deleted := func(e Entry) bool {
			_, exists := exist[e.ComponentID]
			return slices.Contains(elsewhere, e.ComponentID) && !exists
		}
		if !s.drop(deleted) {
			return fault.ErrUnchanged
		}
		return nil
	})
	if err == nil && changed.Gone() {
		err = fault.Field("componentIds", "must be components that exist")
	}
	return changed, err
}

// ChangeSubscriber changes a subscriber. After it has found the subscriber, it calls read, which returns the input.
// Entries for new components are confirmed if the subscriber is confirmed.
func (a *Audience) ChangeSubscriber(ctx context.Context, organization string, channel topic.Channel, id string, read func() (SubscriberPatch, error)) (Subscriber, error) {
	s, err := a.subscriber(ctx, organization, channel, id)
	if err != nil {
		return Subscriber{}, err
	}
	patch, err := read()
	if err != nil {
		return Subscriber{}, err
	}
	if patch.Locale.Value, err = chosenLocale(patch.Locale); err != nil {
		return Subscriber{}, err
	}
	var entries []Entry
	if patch.ComponentIDs.Sent {
		dashboard, err := a.dashboard(ctx, organization, s.DashboardID)
		if err != nil {
			return Subscriber{}, err
		}
		// The patch may contain components of the subscriber that are no longer on the dashboard.
		for _, e := range s.Entries {
			if e.ComponentID != "" && !e.Deleted {
				dashboard.Components = append(dashboard.Components, topic.ComponentRecord{ID: e.ComponentID})
			}
		}
		if entries, err = a.entries(ctx, channel, dashboard, patch.ComponentIDs.Value, false); err != nil {
			return Subscriber{}, err
		}
	}
	changed, err := a.edit(ctx, organization, id, func(s *Subscriber) ([]topic.Message, error) {
		before, now := *s, a.Now()
		if err := s.apply(patch, entries, now); err != nil {
			return nil, err
		}
		if reflect.DeepEqual(before, *s) {
			return nil, fault.ErrUnchanged
		}
		s.UpdatedAt = now
		return subscriberEntry(ctx, "", now, &before, s), nil
	})
	if err == nil && patch.ComponentIDs.Sent {
		changed, err = a.recheck(ctx, changed)
	}
	if err == nil && patch.Clear && changed.Address.Suppression != nil {
		changed, err = a.clear(ctx, changed)
	}
	if err != nil {
		return changed, err
	}
	return changed, a.limit(ctx, organization, &changed)
}

// apply applies the patch to the subscriber. entries are new entries for patch.ComponentIDs. If the subscriber already
// has an entry for one of these components, that entry is used unchanged.
func (s *Subscriber) apply(patch SubscriberPatch, entries []Entry, now time.Time) error {
	if patch.ComponentIDs.Sent || patch.Confirmed != nil {
		if err := s.moving(); err != nil {
			return fault.Wrap(fault.Unavailable, err, "A component of the subscriber is being moved to another address. Try again shortly.")
		}
	}
	if patch.ComponentIDs.Sent {
		confirmed := s.Confirmed()
		entries = slices.Clone(entries)
		for i := range entries {
			if at := s.entry(entries[i].ComponentID); at >= 0 {
				entries[i] = s.Entries[at]
			} else {
				entries[i].confirm(confirmed, now)
			}
		}
		s.Entries = entries
	}
	if patch.Confirmed != nil {
		at := now
		optional.Assign(&at, patch.ConfirmedAt)
		s.confirm(*patch.Confirmed, at)
	}
	if s.Confirmed() && s.Request != nil && len(s.Request.Entries) == 0 {
		s.Request = nil // there is nothing to confirm any more
	}
	optional.Assign(&s.Paused, patch.Paused)
	optional.Assign(&s.Locked, patch.Locked)
	if patch.Locale.Sent {
		s.Locale = patch.Locale.Value
	}
	return nil
}

// clear ends the suppression of a subscriber's address, on all dashboards.
func (a *Audience) clear(ctx context.Context, s Subscriber) (Subscriber, error) {
	after, now := s, a.Now()
	after.Address.Suppression = nil
	_, err := a.Store.Addresses.Update(ctx, s.AddressID, func(address *Address) ([]topic.Message, error) {
		if address.Suppression == nil {
			return nil, fault.ErrUnchanged
		}
		address.Suppression, address.ClearedAt = nil, &now
		return subscriberEntry(ctx, "", now, &s, &after), nil
	})
	return after, fault.IfMissing(err, noSubscriber())
}

// RemoveSubscriber deletes a subscriber, and its address under the conditions of forgetAddress. Without undo, only a forced
// import creates the subscriber again. undo undoes the import of the subscriber: a later import may create the subscriber
// again. With undo, RemoveSubscriber returns fault.Conflict if no import has created the subscriber.
func (a *Audience) RemoveSubscriber(ctx context.Context, organization string, channel topic.Channel, id string, undo bool) error {
	removed, err := a.subscriber(ctx, organization, channel, id)
	if err == nil && !undo {
		err = a.rememberDeletion(ctx, removed)
	}
	if err != nil {
		return err
	}
	if err := a.unclaim(ctx, removed.AddressID); err != nil {
		return err
	}
	if undo && removed.Source == FromImport { // before the subscriber is deleted, so that an interrupted undo can be repeated
		if err := a.endOfImport(ctx, removed); err != nil {
			return err
		}
	}
	err = a.remove(ctx, id, "", func(s *Subscriber) error {
		if s.OrganizationID != organization || s.Channel != channel || s.Gone() {
			return noSubscriber()
		}
		if undo && s.Source != FromImport {
			return fault.New(fault.Conflict, "No import has created the subscriber.")
		}
		removed = *s
		return nil
	})
	if err != nil {
		return err
	}
	return a.forgetAddress(ctx, removed, undo)
}

// remove deletes a subscriber if check returns no error. action is the action in the audit entry.
func (a *Audience) remove(ctx context.Context, id, action string, check func(*Subscriber) error) error {
	err := a.Store.Subscribers.Delete(ctx, id, func(s *Subscriber) ([]topic.Message, error) {
		if err := check(s); err != nil {
			return nil, err
		}
		return subscriberEntry(ctx, action, a.Now(), s, nil), nil
	})
	return fault.IfMissing(err, noSubscriber())
}

// dashboard returns the dashboard that a request names.
func (a *Audience) dashboard(ctx context.Context, organization, id string) (topic.DashboardRecord, error) {
	dashboard, err := a.Events.Dashboard(ctx, organization, id)
	return dashboard, fault.IfMissing(err, noDashboard())
}

func noDashboard() error {
	return fault.Field("dashboardId", "must be a dashboard of your organization")
}

// entries returns an entry for each component. The components must be on the dashboard. If components is nil, entries
// returns the entry for all components.
func (a *Audience) entries(ctx context.Context, channel topic.Channel, dashboard topic.DashboardRecord, components []string, confirmed bool) ([]Entry, error) {
	if components, err := choice(dashboard, components); err != nil {
		return nil, err
	} else if components != nil {
		first, err := a.Store.Next(ctx, subscriptionCounter(channel), int64(len(components)))
		return newEntries(components, first, confirmed, a.Now()), err
	}
	return newEntries(nil, 0, confirmed, a.Now()), nil
}

// choice returns the components without duplicates, or nil for nil. It returns an error if there are none or more than
// maxChosen, or if one of them is not on the dashboard.
func choice(dashboard topic.DashboardRecord, components []string) ([]string, error) {
	if components == nil {
		return nil, nil
	}
	if len(components) == 0 {
		return nil, fault.Field("componentIds", "must name at least one component, or be null for all components")
	}
	if len(components) > maxChosen {
		return nil, fault.Field("componentIds", "must name at most %d components", maxChosen)
	}
	var chosen []string
	for i, id := range components {
		switch {
		case !dashboard.Has(id):
			return nil, fault.Field(fmt.Sprintf("componentIds[%d]", i), "must be the id of a component of the dashboard, not '%s'", id)
		case !slices.Contains(chosen, id):
			chosen = append(chosen, id)
		}
	}
	return chosen, nil
}

// newEntries returns entries for the components, with legacy ids that start at first. Without components it returns the
// entry for all components.
func newEntries(components []string, first int64, confirmed bool, now time.Time) []Entry {
	if components == nil {
		all := Entry{ID: topic.NewID(), CreatedAt: now}
		all.confirm(confirmed, now)
		return []Entry{all}
	}
	entries := make([]Entry, len(components))
	for i, id := range components {
		entries[i] = Entry{ID: topic.NewID(), LegacyID: first + int64(i), ComponentID: id, CreatedAt: now}
		entries[i].confirm(confirmed, now)
	}
	return entries
}

// strictText returns the text to store for an address. It returns an error if the text is no address.
func strictText(channel topic.Channel, text string) (string, error) {
	kind := kindOf(channel)
	strict, ok := kind.strict(text)
	if !ok {
		return "", fault.Field(kind.field, "%s", kind.wanted)
	}
	return strict, nil
}

// chosenLocale returns the canonical tag in the field. null means the dashboard's locale. An empty text is an error.
func chosenLocale(field optional.Value[string]) (string, error) {
	if field.Sent && !field.Null && field.Value == "" {
		return "", wrongLocale()
	}
	return canonicalLocale(field.Value)
}

// canonicalLocale returns the language tag in its canonical form, and an empty text for an empty text.
func canonicalLocale(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	tag, err := language.Parse(text)
	if err != nil || len(text) > maxLocale {
		return "", wrongLocale()
	}
	return tag.String(), nil
}

func wrongLocale() error {
	return fault.Field("locale", "must be a language tag as in BCP 47, such as en or de-AT")
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
