package endpoint

import (
	"cmp"
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// State is a state in which messages may not reach an endpoint. An endpoint may be in several states.
type State string

const (
	Failing    State = "failing"    // there are failures since the last success
	Paused     State = "paused"     // an operator or a visitor has paused the endpoint
	Suppressed State = "suppressed" // the URL is suppressed
)

// StateCounts are the numbers of the endpoints of a kind in each State.
type StateCounts struct{ Failing, Paused, Suppressed int }

// stateChunk is the number of endpoints or URLs in one query.
const stateChunk = 100

// Counts returns the numbers of the organization's endpoints in each state, by kind. It reads the whole records of failing
// endpoints only.
func (s *Endpoints) Counts(ctx context.Context, organization string) (map[topic.Channel]StateCounts, error) {
	counts := make(map[topic.Channel]StateCounts)
	for _, kind := range s.Kinds {
		paused, err := s.inState(ctx, organization, kind.Channel, Paused)
		if err != nil {
			return nil, err
		}
		suppressed, err := s.inState(ctx, organization, kind.Channel, Suppressed)
		if err != nil {
			return nil, err
		}
		counts[kind.Channel] = StateCounts{Paused: len(paused), Suppressed: len(suppressed)}
	}
	failing, err := s.Store.Results.Failing(ctx, organization)
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(failing, stateChunk) {
		found, err := s.Store.Endpoints.GetMany(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			of := counts[e.Channel]
			of.Failing++
			counts[e.Channel] = of
		}
	}
	return counts, nil
}

// inState returns the ids of the organization's endpoints of the kind in the state, in ascending order, which is
// the order of their creation. For Failing, it returns the ids of endpoints of all kinds. Each state has an index that selects
// its endpoints, which are few.
func (s *Endpoints) inState(ctx context.Context, organization string, channel topic.Channel, state State) ([]string, error) {
	var rows []find.Row
	var err error
	switch state {
	case Failing:
		return s.Store.Results.Failing(ctx, organization)
	case Suppressed:
		var hashes []string
		err = s.Store.Suppressions.Each(ctx, find.Query{Where: ofKind(organization, channel), Order: []find.Order{{Field: FieldSuppressedAt}}}, func(one Suppression) error {
			hashes = append(hashes, one.URLHash)
			return nil
		})
		for some := range slices.Chunk(hashes, stateChunk) {
			var found []find.Row
			if err == nil {
				found, err = s.Store.Endpoints.Keys(ctx, find.Query{Where: ofKind(organization, channel, find.In(FieldSlot, some...))})
			}
			rows = append(rows, found...)
		}
	default:
		rows, err = s.Store.Endpoints.Keys(ctx, find.Query{Where: ofKind(organization, channel, find.Eq(FieldPaused, true))})
	}
	ids := find.Values(rows, func(row find.Row) string { return row.Key })
	slices.Sort(ids)
	return ids, err
}

// listState returns a page of the endpoints in filter.State. page.Next is the id of the last endpoint of the page.
func (s *Endpoints) listState(ctx context.Context, organization string, channel topic.Channel, filter Filter) (page find.Page[Endpoint], err error) {
	ids, err := s.inState(ctx, organization, channel, filter.State)
	if err != nil {
		return page, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id <= filter.After })
	for some := range slices.Chunk(ids, stateChunk) {
		found, err := s.Store.Endpoints.GetMany(ctx, some)
		if err != nil {
			return page, err
		}
		slices.SortFunc(found, func(a, b Endpoint) int { return cmp.Compare(a.ID, b.ID) })
		for _, e := range found {
			if e.OrganizationID != organization || e.Channel != channel || filter.DashboardID != "" && e.DashboardID != filter.DashboardID ||
				filter.URLHash != "" && e.URLHash != filter.URLHash {
				continue
			}
			if len(page.Items) == filter.Limit {
				page.Next = page.Items[filter.Limit-1].ID
				return page, nil
			}
			page.Items = append(page.Items, e)
		}
	}
	return page, nil
}
