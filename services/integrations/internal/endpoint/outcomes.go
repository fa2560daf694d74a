package endpoint

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Count adds the outcomes of deliveries to the counters, and suppresses URLs that failed too often. A
// repeated outcome counts once.
func (s *Endpoints) Count(ctx context.Context, outcomes []topic.Outcome) error {
	var ids, needed []string // needed: endpoints that must be read
	counted := outcomes[:0:0]
	for _, o := range outcomes {
		if o.Channel.Keeper() != topic.Integrations || o.Result != topic.Delivered && o.Result != topic.Failed {
			continue
		}
		counted, ids = append(counted, o), append(ids, o.Recipient)
		if o.Result == topic.Failed {
			needed = append(needed, o.Recipient)
		}
	}
	counters, err := s.countersOf(ctx, distinct(ids))
	if err != nil {
		return err
	}
	// A success after a success needs no endpoint. So a large event without failures costs one read and
	// one write of counters.
	for id, c := range counters {
		if c.ConsecutiveFailures > 0 {
			needed = append(needed, id)
		}
	}
	endpoints, err := byKey(ctx, s.Store.Endpoints, distinct(needed), func(e Endpoint) string { return e.ID })
	if err != nil {
		return err
	}
	due := map[string]Suppression{}
	for _, o := range counted {
		c, found := counters[o.Recipient]
		if !found || !c.remember(o.DeliveryID) {
			continue // the endpoint was deleted, or the outcome was counted before
		}
		e, found := endpoints[o.Recipient]
		switch {
		case o.Result == topic.Delivered:
			c.succeed(e, o)
		case found:
			s.fail(&c, e, o, due)
		}
		counters[o.Recipient] = c
	}
	// Suppressions are stored first. After a crash before the counters are stored, the repeated outcomes
	// lead to the same suppressions.
	if err := s.suppress(ctx, due); err != nil {
		return err
	}
	changed := make([]Counters, 0, len(counters))
	for _, c := range counters {
		changed = append(changed, c)
	}
	return s.Store.Counters.UpsertMany(ctx, changed)
}

// fail counts one failure, and adds a suppression to due if the failure leads to one.
func (s *Endpoints) fail(c *Counters, e Endpoint, o topic.Outcome, due map[string]Suppression) {
	if !c.fail(e, o) {
		return
	}
	_, isDue := due[e.suppressionKey()]
	switch {
	case o.Gone:
		due[e.suppressionKey()] = newSuppression(e, *c, ReasonGone, s.Now())
	case c.ConsecutiveFailures >= s.SuppressAfter && !isDue:
		due[e.suppressionKey()] = newSuppression(e, *c, ReasonFailures, s.Now())
	}
}

// suppress stores suppressions of URLs that are not suppressed yet. The last endpoint of the URL may be
// deleted or moved at the same time. That request reads the suppression after it wrote the endpoint, and
// reconcile reads the endpoints after the suppression was stored, so one of the two deletes it.
func (s *Endpoints) suppress(ctx context.Context, due map[string]Suppression) error {
	for _, suppression := range due {
		err := s.Store.Suppressions.Insert(ctx, suppression)
		if fault.Is(err, fault.Conflict) {
			continue
		}
		if err == nil {
			err = s.reconcile(ctx, suppression.OrganizationID, suppression.Channel, suppression.URLHash)
		}
		if err != nil {
			return err
		}
		s.Log.InfoContext(ctx, "endpoint suppressed", "organization", suppression.OrganizationID, "channel", suppression.Channel,
			"url_hash", suppression.URLHash, "reason", suppression.Reason, "failures", suppression.ConsecutiveFailures)
	}
	return nil
}
