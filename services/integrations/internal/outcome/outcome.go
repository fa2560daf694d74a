// Package outcome counts the results of deliveries to endpoints: the failures since the last success, and the time of
// the last success.
//
// Failures and successes have different records, because nearly all results are successes. Counters hold the failures of
// one endpoint. LastSuccesses hold the times of the last successes of the endpoints of one bucket, as delivery forms
// them, so one write counts the successes of a whole batch. A time only increases, so a repeated success changes nothing,
// and needs no mark. A failure is marked in the Counters, and so counts once.
//
// A success also ends a series of failures. An index of the Counters with failures finds them: a batch of successes of
// endpoints that do not fail costs one read and one write of LastSuccesses, and one query that finds nothing. The index
// has the groups of the Counters. So an endpoint gets its place in LastSuccesses after its Counters have the group.
// Before that, the Counters are read by the id of the endpoint.
//
// The delivery service decides which HTTP status is a failure and which means gone: CodeOf in its dispatch/policy.go.
package outcome

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// FieldFailing is a field of Counters: the groups of an endpoint with failures; else absent. It is multi-valued.
const FieldFailing = "failing"

// Store stores the results of deliveries.
type Store struct {
	Counters  find.Collection[Counters]
	Successes find.Collection[LastSuccesses]
}

// Of returns the counters of endpoints by the endpoints' ids, with the times of their last successes.
func (s Store) Of(ctx context.Context, ids []string) (map[string]Counters, error) {
	counters, err := s.countersOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, c := range counters {
		keys = append(keys, c.Groups...)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	groups, err := find.ByKey(ctx, s.Successes, keys, func(g LastSuccesses) string { return g.ID })
	for id, c := range counters {
		for _, key := range c.Groups {
			if at, found := groups[key].Times.of(id); found {
				c.succeededAt(at)
			}
		}
		counters[id] = c
	}
	return counters, err
}

func (s Store) countersOf(ctx context.Context, ids []string) (map[string]Counters, error) {
	return find.ByKey(ctx, s.Counters, ids, func(c Counters) string { return c.ID })
}

// Ensure stores the counters of an endpoint if there are none.
func (s Store) Ensure(ctx context.Context, id string) error {
	_, err := s.Counters.Upsert(ctx, id, func(c *Counters, exists bool) ([]topic.Message, error) {
		if exists {
			return nil, fault.ErrUnchanged
		}
		c.ID = id
		return nil, nil
	})
	return err
}

// Delete deletes the counters of an endpoint and its places in LastSuccesses. The places go first, because without the
// counters a repeated call would not find them, and again at the end, because Place may have added one meanwhile.
func (s Store) Delete(ctx context.Context, id string) error {
	found, err := s.Counters.GetMany(ctx, []string{id})
	if err != nil || len(found) == 0 {
		return err
	}
	if err := s.leave(ctx, id, found[0].Groups); err != nil {
		return err
	}
	var groups []string
	err = s.Counters.Delete(ctx, id, func(c *Counters) ([]topic.Message, error) {
		groups = c.Groups
		return nil, nil
	})
	if err != nil {
		return fault.UnlessMissing(err)
	}
	return s.leave(ctx, id, groups)
}
