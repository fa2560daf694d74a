package endpoint

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Count takes outcomes of deliveries into the tallies and suppresses the URLs whose
// time has come; it returns the new suppressions. The same outcomes may be told again:
// they count once.
func (s *Endpoints) Count(ctx context.Context, outcomes []topic.Outcome) ([]Suppression, error) {
	var all, asked unique
	counted := outcomes[:0:0]
	for _, o := range outcomes {
		if o.Channel.Keeper() != topic.Integrations || o.Result != topic.Delivered && o.Result != topic.Failed {
			continue
		}
		counted = append(counted, o)
		all.add(o.Recipient)
		if o.Result == topic.Failed {
			asked.add(o.Recipient)
		}
	}
	tallies, err := s.store.Tallies(ctx, all.list)
	if err != nil {
		return nil, err
	}
	// What was delivered where all went well before needs nothing of the endpoint, so that a
	// large event that goes well costs one read and one write of tallies.
	for id, t := range tallies {
		if t.ConsecutiveFailures > 0 {
			asked.add(id)
		}
	}
	known, err := s.byID(ctx, asked.list)
	if err != nil {
		return nil, err
	}
	due := map[string]Suppression{}
	for _, o := range counted {
		t, found := tallies[o.Recipient]
		if !found || !t.remember(o.DeliveryID) {
			continue // deleted meanwhile, or counted already
		}
		e, found := known[o.Recipient]
		switch {
		case o.Result == topic.Delivered:
			t.succeed(e, o)
		case found:
			s.fail(&t, e, o, due)
		}
		tallies[o.Recipient] = t
	}
	// Suppressions are stored first: told again after a crash in between, the outcomes
	// that are not in the tallies yet lead to them once more.
	added, err := s.suppress(ctx, due)
	if err != nil {
		return nil, err
	}
	changed := make([]Tally, 0, len(tallies))
	for _, id := range all.list {
		if t, found := tallies[id]; found {
			changed = append(changed, t)
		}
	}
	return added, s.store.SaveTallies(ctx, changed)
}

// fail counts one failure and notes the suppression that follows.
func (s *Endpoints) fail(t *Tally, e Endpoint, o topic.Outcome, due map[string]Suppression) {
	if !t.fail(e, o) {
		return
	}
	_, noted := due[e.suppression()]
	switch {
	case o.Gone:
		due[e.suppression()] = suppress(e, *t, ReasonGone, s.now())
	case t.ConsecutiveFailures >= s.policy.SuppressAfter && !noted:
		due[e.suppression()] = suppress(e, *t, ReasonFailures, s.now())
	}
}

// suppress stores suppressions. One whose last endpoint was deleted or got another URL at the
// same time is taken back: that looks for it after the endpoint is gone, this looks for an
// endpoint after the suppression is there, so one of the two sees the other.
func (s *Endpoints) suppress(ctx context.Context, due map[string]Suppression) ([]Suppression, error) {
	var added []Suppression
	for _, suppression := range due {
		isNew, err := s.store.AddSuppression(ctx, suppression)
		if err != nil {
			return nil, err
		}
		if !isNew {
			continue
		}
		if err := s.settle(ctx, suppression.OrganizationID, suppression.Channel, suppression.URLHash); err != nil {
			return nil, err
		}
		added = append(added, suppression)
	}
	return added, nil
}

func (s *Endpoints) byID(ctx context.Context, ids []string) (map[string]Endpoint, error) {
	found, err := s.store.Some(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Endpoint, len(found))
	for _, e := range found {
		byID[e.ID] = e
	}
	return byID, nil
}

// ForgetComponent takes a deleted component out of the organization's endpoints.
func (s *Endpoints) ForgetComponent(ctx context.Context, organization, component string) error {
	query := find.Query{
		Where: []find.Condition{find.Eq(FieldOrganization, organization), find.Has(FieldComponents, component)},
		Limit: 500,
	}
	for {
		page, err := s.store.Find(ctx, query)
		if err != nil {
			return err
		}
		for _, e := range page.Items {
			if err := s.forget(ctx, e.ID, component); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		query.After = page.Next
	}
}

func (s *Endpoints) forget(ctx context.Context, id, component string) error {
	_, err := s.store.Change(ctx, id, func(e *Endpoint) error {
		if !e.drop(component) {
			return fault.ErrUnchanged
		}
		e.UpdatedAt = s.now()
		return nil
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
