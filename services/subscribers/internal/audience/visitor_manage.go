package audience

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/link"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Settings are what the owner of an address can set on the page that manages the subscription.
type Settings struct {
	Components *Chosen // nil: as before
	Paused     bool
	Locale     *string // BCP 47; empty: the dashboard's; nil: as before
}

// Chosen is the choice among the components that the dashboard shows. Unless All is true, components of the subscriber
// that the dashboard does not show do not change.
type Chosen struct {
	All bool // all components, also future components
	IDs []string
}

// Manage stores the settings of a subscriber. The components that the owner chooses here need no confirmation.
func (v *Visitors) Manage(ctx context.Context, token string, settings Settings) (Visit, error) {
	s, allow, err := v.linked(ctx, ToManage, token)
	if err != nil {
		return refused(s), err
	}
	dashboard, err := v.dashboard(ctx, s)
	if err != nil {
		return Visit{}, err
	}
	entries, err := v.chosen(ctx, s.Channel, dashboard, settings.Components)
	if err != nil {
		return Visit{}, err
	}
	if settings.Locale != nil {
		locale, err := canonicalLocale(*settings.Locale)
		if err != nil {
			return Visit{}, err
		}
		settings.Locale = &locale
	}
	s, err = v.change(ctx, s.ID, "subscriber.manage", func(s *Subscriber) error {
		if err := allow(*s); err != nil {
			return err
		}
		before := *s
		if settings.Components != nil {
			s.choose(entries, dashboard)
		}
		s.Paused = settings.Paused
		optional.Assign(&s.Locale, settings.Locale)
		if reflect.DeepEqual(before, *s) {
			return fault.ErrUnchanged
		}
		return nil
	})
	return v.visit(s, dashboard), err
}

// chosen returns confirmed entries for the chosen components.
func (v *Visitors) chosen(ctx context.Context, channel topic.Channel, dashboard topic.DashboardRecord, chosen *Chosen) ([]Entry, error) {
	if chosen == nil {
		return nil, nil
	}
	if chosen.All {
		return newEntries(nil, 0, true, v.Audience.Now()), nil
	}
	ids, err := choice(dashboard.Visible(), append([]string{}, chosen.IDs...))
	if err != nil {
		return nil, err
	}
	first, err := v.Audience.Store.Next(ctx, subscriptionCounter(channel), int64(len(ids)))
	return newEntries(ids, first, true, v.Audience.Now()), err
}

// choose replaces those entries of the subscriber whose components the page of the dashboard shows. The entry for all
// components replaces all other entries. An entry that the subscriber already has for a chosen component is kept and
// confirmed.
func (s *Subscriber) choose(entries []Entry, dashboard topic.DashboardRecord) {
	shown := dashboard.Visible()
	var kept []Entry
	for _, old := range s.Entries {
		if old.Deleted {
			continue
		}
		at := slices.IndexFunc(entries, func(e Entry) bool { return e.ComponentID == old.ComponentID })
		hidden := old.ComponentID != "" && !shown.Has(old.ComponentID)
		if at >= 0 && !old.Confirmed {
			old.confirm(true, entries[at].CreatedAt)
		}
		if at >= 0 || hidden && entries[0].ComponentID != "" {
			kept = append(kept, old)
		}
	}
	for _, e := range entries {
		if !slices.ContainsFunc(kept, func(old Entry) bool { return old.ComponentID == e.ComponentID }) {
			kept = append(kept, e)
		}
	}
	s.Entries = kept
}

// Unsubscribe returns a function that deletes the subscriber of a link with the purpose. With a link to unsubscribe, it
// also deletes a locked subscriber. The Visit is about the deleted subscriber. The function also works if the events
// service does not respond, because nobody must have to wait to unsubscribe.
func (v *Visitors) Unsubscribe(purpose string) func(ctx context.Context, token string) (Visit, error) {
	return func(ctx context.Context, token string) (Visit, error) { return v.unsubscribe(ctx, purpose, token) }
}

func (v *Visitors) unsubscribe(ctx context.Context, purpose, token string) (Visit, error) {
	s, allow, err := v.linked(ctx, purpose, token)
	if err != nil {
		return refused(s), err
	}
	dashboard, err := v.dashboard(ctx, s)
	if err != nil && !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.Gone) {
		return Visit{}, err
	}
	if err := cmp.Or(v.Audience.rememberDeletion(ctx, s), v.Audience.unclaim(ctx, s.AddressID)); err != nil {
		return Visit{}, err
	}
	err = v.Audience.remove(ctx, s.ID, actionUnsubscribe, func(s *Subscriber) error { return allow(*s) })
	if err != nil {
		return Visit{}, link.EndedIfMissing(err)
	}
	return v.visit(s, dashboard), v.Audience.forgetAddress(ctx, s, false)
}
