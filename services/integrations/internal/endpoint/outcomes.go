package endpoint

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Count adds the outcomes of deliveries to the counters, suppresses URLs that failed too often, and notifies the
// management addresses. A repeated outcome counts once. Successes of endpoints that do not fail are counted by groups.
func (s *Endpoints) Count(ctx context.Context, outcomes []topic.Outcome) error {
	batches, ids := counting(outcomes)
	others, err := s.countHealthy(ctx, batches, ids)
	if err != nil || len(others) == 0 {
		return err
	}
	b := batch{outcomes: batches, ids: others, left: map[string]membership{}, tried: map[string]bool{}}
	for {
		if b.joins, err = s.joinable(ctx, batches, others); err != nil {
			return err
		}
		err := s.count(ctx, &b)
		if !errors.Is(err, errMember) {
			return err
		}
		left, err := s.leave(ctx, b.members)
		if err != nil {
			return err
		}
		maps.Copy(b.left, left)
	}
}

// batch is the input and the state of count.
type batch struct {
	outcomes map[string][]topic.Outcome
	ids      []string
	joins    map[string]membership // that endpoints may begin
	left     map[string]membership // that were ended
	joining  map[string]membership // that endpoints began
	members  []string              // that have not left
	due      []due                 // suppressions that must be stored before the counters
	tried    map[string]bool       // due.id of the suppressions that were stored, or whose URL was suppressed already
	made     []due                 // suppressions that were stored
	void     []due                 // suppressions in made whose failure does not count
}

var (
	// errMember means that endpoints must leave their groups before their outcomes count.
	errMember = errors.New("an endpoint is a member of a group")
	// errDue means that suppressions must be stored before the counters that lead to them.
	errDue = errors.New("a suppression is due")
)

// count counts the outcomes of endpoints one by one. It returns errMember, and counts nothing more, if some are members
// of groups.
//
// Suppressions are stored first. After a crash before the counters are stored, the repeated outcomes lead to the same
// suppressions.
func (s *Endpoints) count(ctx context.Context, b *batch) error {
	for {
		err := s.Store.Counters.UpdateMany(ctx, b.ids, func(counters []*Counters) (map[string][]topic.Message, error) {
			return s.tally(ctx, b, counters)
		})
		if err == nil {
			break
		}
		if !errors.Is(err, errDue) {
			return err
		}
		for _, d := range b.due {
			stored, err := s.suppress(ctx, d)
			if err != nil {
				return err
			}
			if b.tried[d.id()] = true; stored {
				b.made = append(b.made, d)
			}
		}
	}
	for _, d := range b.void {
		if err := s.unsuppress(ctx, d.suppression); err != nil {
			return err
		}
	}
	return s.join(ctx, keysOf(byGroup(b.joins)), b.joining)
}

// tally adds the outcomes of the batch to the counters, and returns the messages of their writes. It returns errDue if a
// suppression must be stored before. It writes nothing, because it may run several times.
func (s *Endpoints) tally(ctx context.Context, b *batch, counters []*Counters) (map[string][]topic.Message, error) {
	if err := b.dissolve(counters); err != nil {
		return nil, err
	}
	messages, suppressions, err := s.apply(ctx, counters, b.outcomes)
	if err != nil {
		return nil, err
	}
	b.due = nil
	for _, d := range suppressions {
		if !b.tried[d.id()] {
			b.due = append(b.due, d)
		}
	}
	if len(b.due) > 0 {
		return nil, errDue
	}
	b.assign(counters)
	b.void = slices.DeleteFunc(slices.Clone(b.made), func(d due) bool { return d.counts(counters) })
	return messages, nil
}

// dissolve removes the memberships that were ended from the counters. It returns errMember if there are others.
func (b *batch) dissolve(counters []*Counters) error {
	b.members = nil
	for _, c := range counters {
		if c.Healthy != nil && *c.Healthy != b.left[c.ID] {
			b.members = append(b.members, c.ID)
		}
		c.Healthy = nil
	}
	if b.members != nil {
		return errMember
	}
	return nil
}

// assign begins the memberships of endpoints without failures.
func (b *batch) assign(counters []*Counters) {
	b.joining = map[string]membership{}
	for _, c := range counters {
		if m, may := b.joins[c.ID]; may && c.ConsecutiveFailures == 0 {
			c.Healthy, b.joining[c.ID] = &m, m
		}
	}
}

// counting returns the outcomes that count, by endpoint, and the ids of the endpoints. Mail and tests do not count.
func counting(outcomes []topic.Outcome) (batches map[string][]topic.Outcome, ids []string) {
	batches = map[string][]topic.Outcome{}
	for _, o := range topic.Each(outcomes) {
		if o.Channel.RecipientService() != topic.Integrations || o.EventKind == topic.EndpointTest ||
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

// id returns what distinguishes the suppression from those of other URLs and of other failures.
func (d due) id() string { return d.suppression.Key() + "/" + d.failure.DeliveryID }

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
