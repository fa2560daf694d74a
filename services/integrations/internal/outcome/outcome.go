// Package outcome counts the results of deliveries to endpoints: the failures since the last success, and the time of
// the last success.
//
// Failures and successes have different records, because nearly all results are successes. Counters have the
// failures of one endpoint. LastSuccesses have the times of the last successes of many endpoints: those in a part of
// one bucket of delivery. So one write counts the successes of a whole batch. A time of a last success only increases,
// so a repeated outcome of a success changes nothing. A failure is marked in the Counters, so that a repeated outcome
// is not counted again.
//
// A success also ends a series of failures. An index finds the Counters with failures by their groups. So a batch of
// successes of endpoints without failures needs one read and one write of LastSuccesses, and one query that finds
// nothing. An endpoint is added to LastSuccesses only after its Counters have the group. Before that, its Counters are
// read by the id of the endpoint.
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

// FieldFailing is a field of Counters. Its values are Counters.Groups if there are failures. It is absent if there are
// none.
const FieldFailing = "failing"

// Store stores the results of deliveries.
type Store struct {
	Counters  find.Collection[Counters]
	Successes find.Collection[LastSuccesses]
}

// Of returns the Counters of endpoints, by id of the endpoint. It sets LastSuccessAt to the time in LastSuccesses if this time
// is later.
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

// Failing returns the ids of the organization's endpoints that have failed since their last success, in ascending order.
// The index has the groups of Counters, so it is read at each group that the organization can have.
func (s Store) Failing(ctx context.Context, organization string) ([]string, error) {
	groups := make([]string, 0, topic.Buckets*parts)
	for bucket := range topic.Buckets {
		for part := range parts {
			groups = append(groups, groupKey(organization, bucket, part))
		}
	}
	rows, err := s.Counters.Keys(ctx, find.Query{Where: []find.Condition{find.Has(FieldFailing, groups...)}})
	ids := find.Values(rows, func(row find.Row) string { return row.Key })
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// Ensure stores empty Counters of an endpoint if there are none.
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

// Delete deletes the Counters of an endpoint and its times in LastSuccesses. It deletes the times first, because
// without the Counters a repeated call would not find them. It deletes them again at the end, because Place may have
// added a time meanwhile.
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
