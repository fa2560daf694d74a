package audience

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Concerned returns one page of the subscribers that a change of the components concerns. These have a confirmed entry for
// one of the components while their dashboard shows it, or for all components of a dashboard that shows one of them. A change
// of an event without components concerns the subscribers of its dashboards that have any confirmed entry. Paused
// subscribers are omitted. Suppressed subscribers are included; Resolve returns that they are suppressed.
func (a *Audience) Concerned(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientPage, error) {
	page := topic.RecipientPage{Recipients: []topic.Recipient{}}
	values, err := a.concerning(ctx, organization, query)
	if err != nil || len(values) == 0 {
		return page, err
	}
	concerned := find.Has(FieldConcerned, distinct(slices.Concat(values...))...)
	rows, next, err := find.KeyPage(ctx, a.Store.Subscribers, find.Query{Where: of(organization, query.Channel, concerned), Limit: query.Limit, After: query.After, Scan: IndexConcerned}, FieldAddress)
	return topic.RecipientPage{Next: next, Recipients: find.Values(rows, func(row find.Row) topic.Recipient {
		address, _ := row.Values[0].(string)
		return topic.Recipient{ID: row.Key, Destination: digest(query.Channel, address)}
	})}, err
}

// Count returns the number of subscribers that Concerned returns and that are not suppressed, up to query.Limit.
// Resolve returns that all of them are active, so a message is sent to each. Count reads only the index. No subscriber
// has two of the values of one component, or two of the values of dashboards. So Count adds the numbers of subscribers
// with each of these values. This takes a quarter of the time of a query for all values, which must count each
// subscriber only once. Count needs that query only for several components of which none alone has more than
// query.Limit.
func (a *Audience) Count(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientCount, error) {
	byComponent, err := a.concerning(ctx, organization, query)
	if err != nil {
		return topic.RecipientCount{}, err
	}
	count := func(counted int, values ...string) (int, error) {
		n, err := a.Store.Subscribers.Count(ctx, find.Query{
			Where: of(organization, query.Channel, find.Has(FieldConcerned, values...), find.Eq(FieldBlocked, false)), Limit: query.Limit + 1 - counted,
		})
		return counted + int(n), err
	}
	n := 0
	for _, values := range byComponent {
		n = 0
		for _, value := range values {
			if n, err = count(n, value); err != nil {
				return topic.RecipientCount{}, err
			}
			if n > query.Limit {
				return topic.RecipientCount{Recipients: query.Limit, More: true}, nil
			}
		}
	}
	if len(byComponent) > 1 {
		n, err = count(0, distinct(slices.Concat(byComponent...))...)
	}
	return topic.RecipientCount{Recipients: min(n, query.Limit), More: n > query.Limit}, err
}

// concerning returns the values of FieldConcerned for each component of a change, or those of all dashboards of an event
// without components. There are none if the change concerns nobody.
func (a *Audience) concerning(ctx context.Context, organization string, query topic.RecipientQuery) ([][]string, error) {
	switch {
	case query.Channel.RecipientService() != topic.Subscribers:
		return nil, nil
	case len(query.AllOf) > 0:
		var values []string
		for _, dashboard := range distinct(query.AllOf) {
			values = append(values, allOf(dashboard), anyOf(dashboard))
		}
		return [][]string{values}, nil
	case len(query.Components) == 0:
		return nil, nil
	}
	dashboards := query.Dashboards
	if dashboards == nil {
		found, err := a.Events.ComponentsByID(ctx, organization, query.Components)
		if err != nil {
			return nil, err
		}
		dashboards = make(map[string][]string, len(found))
		for id, component := range found {
			dashboards[id] = component.Dashboards
		}
	}
	var all [][]string
	for _, component := range distinct(query.Components) {
		values := []string{shownOn(component, "")}
		for _, dashboard := range dashboards[component] {
			values = append(values, shownOn(component, dashboard), allOf(dashboard))
		}
		all = append(all, values)
	}
	return all, nil
}

// distinct returns the texts sorted and without duplicates.
func distinct(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }

// everythingOf returns the values of FieldSubscribed for all components of the dashboards that show one of the components.
func (a *Audience) everythingOf(ctx context.Context, organization string, components []string) ([]string, error) {
	found, err := a.Events.ComponentsByID(ctx, organization, components)
	var values []string
	for _, component := range found {
		for _, dashboard := range component.Dashboards {
			values = append(values, allOf(dashboard))
		}
	}
	return distinct(values), err
}

// digest returns the Destination of a Recipient. It is a hash of the address's id, so it is the same for the
// subscribers of one address on all dashboards.
func digest(channel topic.Channel, address string) string {
	sum := sha256.Sum256([]byte(string(channel) + ":" + address))
	return hex.EncodeToString(sum[:])
}

// Resolve returns the current destinations of the subscribers, in the order of query.IDs. The destination of a
// subscriber that does not exist has the state topic.RecipientGone.
func (a *Audience) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	found, err := a.Store.Subscribers.GetMany(ctx, distinct(query.IDs))
	if err != nil {
		return nil, err
	}
	known := make(map[string]*Subscriber, len(found))
	for i := range found {
		if s := &found[i]; s.OrganizationID == organization && !s.Gone() && !s.Address.Removed {
			known[s.ID] = s
		}
	}
	dashboards, outage, err := a.dashboardsOf(ctx, organization, known)
	if err != nil {
		return nil, err
	}
	shows, err := a.shows(ctx, organization, slices.Collect(maps.Values(known)), dashboards)
	if err != nil {
		return nil, err
	}
	out := make([]topic.Destination, len(query.IDs))
	for i, id := range query.IDs {
		out[i] = topic.Destination{ID: id, State: topic.RecipientGone, Components: []string{}}
		s := known[id]
		if s == nil {
			continue
		}
		if dashboard, exists := dashboards[s.DashboardID]; exists || outage {
			out[i] = a.destination(s, dashboard, shows, query.Kind)
			out[i].ID = id
		}
	}
	return out, nil
}

// dashboardsOf returns the dashboards of the subscribers. If the events service does not respond, it returns no
// dashboards, outage true and no error, because a message without the name of the dashboard is better than no message.
func (a *Audience) dashboardsOf(ctx context.Context, organization string, subscribers map[string]*Subscriber) (dashboards map[string]topic.DashboardRecord, outage bool, err error) {
	var ids []string
	for _, s := range subscribers {
		ids = append(ids, s.DashboardID)
	}
	dashboards, err = a.Events.DashboardsByID(ctx, organization, ids) // sends no request if there are no ids
	if fault.Is(err, fault.Unavailable) {
		return nil, true, nil
	}
	return dashboards, false, err
}

// destination returns the subscriber as a Destination. A destination that is not active does not show the address.
func (a *Audience) destination(s *Subscriber, dashboard topic.DashboardRecord, shows shows, kind topic.Kind) topic.Destination {
	d := topic.Destination{ID: s.ID, Channel: s.Channel, State: topic.RecipientGone, Components: []string{}}
	confirms, manages := kind == topic.SubscriberConfirm, kind == topic.SubscriberManage
	notice := confirms || manages
	components := s.confirmed(shows)
	any := slices.ContainsFunc(s.Entries, Entry.counts)
	switch {
	case !notice && !any && slices.ContainsFunc(s.Entries, func(e Entry) bool { return !e.Confirmed && shows(s, e) }):
		d.State, d.Dashboard.ID = topic.RecipientUnconfirmed, s.DashboardID
		return d
	case notice && s.Locked, confirms && s.Request == nil, manages && s.pending(), !notice && !any: // the link would not work, or no entry counts
		return d
	case s.Address.Suppression != nil && !(confirms && s.Address.Suppression.isOptOut()):
		d.State = topic.RecipientSuppressed
		return d
	case s.Paused && !notice:
		d.State = topic.RecipientPaused
		return d
	}
	d.State, d.Address, d.Locale = topic.RecipientActive, s.Address.Text, s.Locale
	d.Dashboard = dashboard.Reference()
	d.Dashboard.ID = s.DashboardID // even if the events service does not respond
	if confirms {
		d.Link, d.Code, d.Names = a.Links.URL(ToConfirm, *s), s.code(a.Links), names(dashboard, s.requestedComponents())
		return d
	}
	manage := a.Links.URL(ToManage, *s)
	d.Unsubscribe = a.Links.URL(ToUnsubscribe, *s)
	if manages {
		d.Link, d.Names = manage, names(dashboard, componentsOf(s.Entries, true))
	} else {
		d.Manage, d.Components = manage, components
	}
	return d
}

// shows reports whether messages may be sent about the component of a subscriber's entry, and whether lists may show
// it.
type shows func(*Subscriber, Entry) bool

// shows returns a function that returns false for an entry whose component was deleted or is not on the dashboard of
// the subscriber. dashboards may be outdated or nil. So shows requests those components from the events service that
// the dashboards do not have. If the events service does not respond, the function returns true for all entries that
// are not Deleted.
func (a *Audience) shows(ctx context.Context, organization string, subscribers []*Subscriber, dashboards map[string]topic.DashboardRecord) (shows, error) {
	known := func(s *Subscriber, e Entry) bool {
		return e.ComponentID == "" || e.Anywhere || dashboards[s.DashboardID].Has(e.ComponentID)
	}
	var unknown []string
	for _, s := range subscribers {
		for _, e := range s.Entries {
			if !e.Deleted && !known(s, e) {
				unknown = append(unknown, e.ComponentID)
			}
		}
	}
	found, err := a.Events.ComponentsByID(ctx, organization, distinct(unknown))
	outage := fault.Is(err, fault.Unavailable)
	if err != nil && !outage {
		return nil, err
	}
	return func(s *Subscriber, e Entry) bool {
		return !e.Deleted && (outage || known(s, e) || slices.Contains(found[e.ComponentID].Dashboards, s.DashboardID))
	}, nil
}

// limit prepares subscribers for a response to a member. It marks those entries as Deleted that must not be shown.
func (a *Audience) limit(ctx context.Context, organization string, subscribers ...*Subscriber) error {
	shows, err := a.shows(ctx, organization, subscribers, nil)
	if err != nil {
		return err
	}
	for _, s := range subscribers {
		s.Entries = slices.Clone(s.Entries)
		for i, e := range s.Entries {
			s.Entries[i].Deleted = !shows(s, e)
		}
	}
	return nil
}

// confirmed returns the components of the confirmed entries for which shows returns true. nil means all components. The
// result is empty if these components have left the dashboard. Then the subscriber is still notified of the events of the
// dashboard that have no components.
func (s *Subscriber) confirmed(shows shows) []string {
	components := []string{}
	for _, e := range s.Entries {
		switch {
		case !e.Confirmed || !shows(s, e):
		case e.ComponentID == "":
			return nil
		default:
			components = append(components, e.ComponentID)
		}
	}
	return components
}

// requestedComponents returns the components of the Request, or nil for all components.
func (s *Subscriber) requestedComponents() []string {
	entries := s.Request.Entries
	if len(entries) == 0 {
		entries = s.Entries
	}
	return componentsOf(entries, false)
}

// componentsOf returns the components of those entries that are not Deleted and whose Confirmed has the value
// confirmed. It returns nil, which means all components, if there is an entry for all components and this entry is
// confirmed or confirmed is false.
func componentsOf(entries []Entry, confirmed bool) []string {
	ids := make([]string, 0, len(entries))
	for _, e := range entries {
		switch {
		case e.ComponentID == "" && (e.Confirmed || !confirmed):
			return nil
		case e.ComponentID != "" && e.Confirmed == confirmed && !e.Deleted:
			ids = append(ids, e.ComponentID)
		}
	}
	return ids
}

// unnamed is shown instead of names if no name of the components may be shown.
const unnamed = "…"

// names returns the names of those components that the page of the dashboard shows, in the order of the page. If the
// page shows none of them, it returns unnamed. If ids is nil, which means all components, it returns nil.
func names(dashboard topic.DashboardRecord, ids []string) []string {
	var names []string
	for _, c := range dashboard.Visible().Components {
		if slices.Contains(ids, c.ID) {
			names = append(names, c.Name)
		}
	}
	if ids != nil && names == nil {
		return []string{unnamed}
	}
	return names
}
