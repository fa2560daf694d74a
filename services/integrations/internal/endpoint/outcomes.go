package endpoint

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Count adds the outcomes of deliveries to the counters, suppresses URLs that failed too often, and notifies the
// management addresses. A repeated outcome counts once.
func (s *Endpoints) Count(ctx context.Context, outcomes []topic.Outcome) error {
	batches, ids := counting(outcomes)
	var made, void []due // suppressions that this call stored, and those of them whose cause does not count
	err := s.Store.Counters.UpdateMany(ctx, ids, func(counters []*Counters) (map[string][]topic.Message, error) {
		messages, suppressions, err := s.apply(ctx, counters, batches)
		if err != nil {
			return nil, err
		}
		void = slices.DeleteFunc(slices.Clone(made), func(d due) bool { return d.counts(counters) })
		// Suppressions are stored first. After a crash before the counters are stored, the repeated outcomes lead to
		// the same suppressions.
		for _, d := range suppressions {
			stored, err := s.suppress(ctx, d)
			if err != nil {
				return nil, err
			}
			if stored {
				made = append(made, d)
			}
		}
		return messages, nil
	})
	if err != nil {
		return err
	}
	for _, d := range void {
		if err := s.unsuppress(ctx, d.suppression); err != nil {
			return err
		}
	}
	return nil
}

// counting returns the outcomes that count, by endpoint, and the ids of the endpoints. Mail and tests do not count.
func counting(outcomes []topic.Outcome) (batches map[string][]topic.Outcome, ids []string) {
	batches = map[string][]topic.Outcome{}
	for _, o := range outcomes {
		if o.Channel.Keeper() != topic.Integrations || o.EventKind == topic.EndpointTest ||
			o.Result != topic.Delivered && o.Result != topic.Failed {
			continue
		}
		if batches[o.Recipient] == nil {
			ids = append(ids, o.Recipient)
		}
		batches[o.Recipient] = append(batches[o.Recipient], o)
	}
	return batches, ids
}

// due is a suppression that follows from a failure of an endpoint.
type due struct {
	suppression Suppression
	cause       Endpoint
	failure     topic.Outcome
}

// counts reports whether the failure is counted. It returns false if the counters were reset or deleted after they were
// read.
func (d due) counts(counters []*Counters) bool {
	return slices.ContainsFunc(counters, func(c *Counters) bool { return c.ID == d.cause.ID && c.Counted.has(markOf(d.failure)) })
}

// apply adds the outcomes to the counters. It returns the notices of the counters' writes by endpoint, and the
// suppressions that follow by their keys.
func (s *Endpoints) apply(ctx context.Context, counters []*Counters, batches map[string][]topic.Outcome) (map[string][]topic.Message, map[string]due, error) {
	endpoints, err := s.neededFor(ctx, counters, batches)
	if err != nil {
		return nil, nil, err
	}
	messages, suppressions := map[string][]topic.Message{}, map[string]due{}
	for _, c := range counters {
		e, found := endpoints[c.ID]
		for _, o := range batches[c.ID] {
			if !c.remember(o) {
				continue
			}
			switch {
			case o.Result == topic.Delivered:
				c.succeed(e, o)
			case found && c.fail(e, o):
				if s.alerts(*c, o) {
					messages[c.ID] = append(messages[c.ID], failing(e, *c, o, s.Now()))
				}
				s.judge(*c, e, o, suppressions)
			}
		}
	}
	return messages, suppressions, nil
}

// neededFor returns the endpoints that counting needs. A success after a success needs none. So a large event without
// failures costs one read and one write of counters.
func (s *Endpoints) neededFor(ctx context.Context, counters []*Counters, batches map[string][]topic.Outcome) (map[string]Endpoint, error) {
	var ids []string
	for _, c := range counters {
		failed := c.ConsecutiveFailures > 0
		for _, o := range batches[c.ID] {
			failed = failed || o.Result == topic.Failed
		}
		if failed {
			ids = append(ids, c.ID)
		}
	}
	return byKey(ctx, s.Store.Endpoints, ids, func(e Endpoint) string { return e.ID })
}

// judge adds the suppression to which a counted failure leads, if any.
func (s *Endpoints) judge(c Counters, e Endpoint, o topic.Outcome, suppressions map[string]due) {
	key := e.suppressionKey()
	_, isDue := suppressions[key]
	switch {
	case o.Gone:
		suppressions[key] = due{newSuppression(e, c, ReasonGone, s.Now()), e, o}
	case c.ConsecutiveFailures >= s.SuppressAfter && !isDue:
		suppressions[key] = due{newSuppression(e, c, ReasonFailures, s.Now()), e, o}
	}
}
