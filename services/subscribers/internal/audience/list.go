package audience

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Filter selects subscribers. An empty field does not restrict the selection.
type Filter struct {
	DashboardID string
	ComponentID string // also selects subscribers of all components, on dashboards with the component
	Text        string // part of the address, in any case and form
	State       State
	Limit       int
	After       string
}

// List returns a page of the subscribers that match the filter, ordered by address.
func (a *Audience) List(ctx context.Context, organization string, channel topic.Channel, f Filter) (find.Page[Subscriber], error) {
	if len(f.Text) > maxEmail {
		return find.Page[Subscriber]{}, fault.Field("q", "must be at most %d characters", maxEmail)
	}
	query := find.Query{Where: of(organization, channel), Order: []find.Order{{Field: FieldNormal}}, Limit: f.Limit, After: f.After, Scan: f.index()}
	if f.DashboardID != "" {
		query.Where = append(query.Where, find.Eq(FieldDashboard, f.DashboardID))
	}
	if f.State != "" {
		query.Where = append(query.Where, find.Has(FieldStates, string(f.State)))
	}
	if f.ComponentID != "" {
		all, err := a.everythingOf(ctx, organization, []string{f.ComponentID})
		if err != nil {
			return find.Page[Subscriber]{}, err
		}
		query.Where = append(query.Where, find.Has(FieldSubscribed, append(all, f.ComponentID)...))
	}
	rows, next, err := a.search(ctx, organization, channel, query, f.Text)
	if err != nil {
		return find.Page[Subscriber]{}, err
	}
	found, err := a.Store.Subscribers.GetMany(ctx, find.Values(rows, func(row find.Row) string { return row.Key }))
	if err != nil {
		return find.Page[Subscriber]{}, err
	}
	shown := make([]*Subscriber, len(found))
	for i := range found {
		shown[i] = &found[i]
	}
	return find.Page[Subscriber]{Items: found, Next: next}, a.limit(ctx, organization, shown...)
}

// search returns the keys of a page of the subscribers that match the query and whose address contains the text. It uses the
// first form of the text that finds a subscriber. The position of the next page names this form, so that all pages use the same
// form.
func (a *Audience) search(ctx context.Context, organization string, channel topic.Channel, query find.Query, text string) ([]find.Row, string, error) {
	if text == "" {
		return find.KeyPage(ctx, a.Store.Subscribers, query)
	}
	kind := kindOf(channel)
	all := query.Where
	forms := append([]string{kind.searched(text)}, kind.others(text)...)
	first, position, _ := strings.Cut(query.After, " ")
	named, err := strconv.Atoi(first)
	if err != nil {
		named = -1 // the first page
	} else {
		query.After = position
	}
	for n, form := range forms {
		if named >= 0 && n != named || slices.Contains(forms[:n], form) || form == "" && n > 0 {
			continue
		}
		query.Where = append(slices.Clone(all), find.Text(FieldText, find.Substring, form, true))
		chosen, err := a.byParts(ctx, query, parts(organization, channel, form))
		if err != nil {
			return nil, "", err
		}
		rows, next, err := find.KeyPage(ctx, a.Store.Subscribers, chosen)
		if len(rows) > 0 || err != nil {
			if next != "" {
				next = strconv.Itoa(n) + " " + next
			}
			return rows, next, err
		}
	}
	return nil, "", nil
}

// If a text finds manyFound subscribers or more, a page is read faster by comparing all subscribers in order.
const manyFound = 500

// byParts returns the query with the index of parts, if this index finds fewer than manyFound subscribers. Otherwise it
// returns the query unchanged.
func (a *Audience) byParts(ctx context.Context, query find.Query, words []string) (find.Query, error) {
	if len(words) == 0 {
		return query, nil
	}
	few := query
	few.Where, few.Scan = append(slices.Clone(query.Where), find.All(FieldParts, words[:min(maxParts, len(words))])), IndexParts
	found, err := a.Store.Subscribers.Count(ctx, find.Query{Where: few.Where, Scan: few.Scan, Limit: manyFound})
	if found < manyFound {
		query = few
	}
	return query, err
}

// index returns the index with which the fewest subscribers must be read.
func (f Filter) index() string {
	switch {
	case f.ComponentID != "":
		return IndexSubscribed
	case f.DashboardID != "" && f.State != "":
		return IndexDashboardStates
	case f.DashboardID != "":
		return IndexDashboard
	case f.State != "":
		return IndexStates
	}
	return IndexNormal
}

// Counts are numbers of subscribers.
type Counts struct {
	Total int64
	In    map[State]int64
}

// Counts returns the numbers of subscribers of a channel, by state. If dashboard is not "", it counts only subscribers of this
// dashboard.
func (a *Audience) Counts(ctx context.Context, organization string, channel topic.Channel, dashboard string) (Counts, error) {
	where := of(organization, channel)
	if dashboard != "" {
		where = append(where, find.Eq(FieldDashboard, dashboard))
	}
	counts := Counts{In: map[State]int64{}}
	var err error
	if counts.Total, err = a.Store.Subscribers.Count(ctx, find.Query{Where: where}); err != nil {
		return counts, err
	}
	// Each subscriber is either Confirmed or Unconfirmed. Most are Confirmed, so the unconfirmed subscribers are
	// quicker to count.
	for _, state := range []State{Unconfirmed, Paused, Suppressed, Unsubscribed} {
		in := append(where[:len(where):len(where)], find.Has(FieldStates, string(state)))
		if counts.In[state], err = a.Store.Subscribers.Count(ctx, find.Query{Where: in}); err != nil {
			return counts, err
		}
	}
	counts.In[Confirmed] = max(0, counts.Total-counts.In[Unconfirmed]) // a write may come between the two counts
	return counts, nil
}
