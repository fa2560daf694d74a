package endpoint

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/outcome"
)

// Count adds the outcomes of deliveries to the counters, suppresses URLs that failed too often or no longer exist, and
// publishes the notices for mail to the management addresses. If an outcome of a failure is repeated, the failure still
// counts once.
func (s *Endpoints) Count(ctx context.Context, outcomes []topic.Outcome) error {
	b := batch{outcomes: counting(outcomes), tried: map[string]bool{}}
	if len(b.outcomes) == 0 {
		return nil
	}
	ids, absent, err := s.Store.Results.CountSuccesses(ctx, b.outcomes)
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := s.count(ctx, &b, ids); err != nil {
		return err
	}
	return s.Store.Results.Place(ctx, absent, b.counters)
}

// batch is the input and the state of count.
type batch struct {
	outcomes map[string][]topic.Outcome // outcomes by endpoint id
	counters []*outcome.Counters        // stored counters of the endpoints
	due      []due                      // suppressions that must be stored before the counters
	tried    map[string]bool            // has due.id of each suppression for which suppress was called
	made     []due                      // suppressions that were stored
	void     []due                      // those of made whose failure is not counted; they must be deleted
}

// errDue means that suppressions must be stored before the counters from which they follow.
var errDue = errors.New("a suppression is due")

// count adds the outcomes of the endpoints to their counters. Before it stores the counters, it stores the suppressions
// that the failures cause. If the process is killed in between, the outcomes are repeated and lead to the same
// suppressions.
func (s *Endpoints) count(ctx context.Context, b *batch, ids []string) error {
	for {
		err := s.Store.Results.Counters.UpdateMany(ctx, ids, func(counters []*outcome.Counters) (map[string][]topic.Message, error) {
			return s.countInto(ctx, b, counters)
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
	return nil
}

// countInto adds the outcomes of the batch to the counters, and returns the messages to publish with the write. It
// returns errDue if a suppression must be stored first. It stores nothing itself, because it may be called several
// times.
func (s *Endpoints) countInto(ctx context.Context, b *batch, counters []*outcome.Counters) (map[string][]topic.Message, error) {
	messages, suppressions, err := s.apply(ctx, counters, b.outcomes)
	if err != nil {
		return nil, err
	}
	b.due, b.counters = nil, counters
	for _, d := range suppressions {
		if !b.tried[d.id()] {
			b.due = append(b.due, d)
		}
	}
	if len(b.due) > 0 {
		return nil, errDue
	}
	b.void = slices.DeleteFunc(slices.Clone(b.made), func(d due) bool { return d.counts(counters) })
	return messages, nil
}

// counting returns the outcomes that count, by endpoint: Delivered and Failed, except those of mail, of tests and of
// recipients that are no UUID.
func counting(outcomes []topic.Outcome) map[string][]topic.Outcome {
	batches := map[string][]topic.Outcome{}
	for _, o := range topic.Each(outcomes) {
		if o.Channel.RecipientService() != topic.Integrations || o.EventKind == topic.EndpointTest || uuid.Validate(o.Recipient) != nil ||
			o.Result != topic.Delivered && o.Result != topic.Failed {
			continue
		}
		batches[o.Recipient] = append(batches[o.Recipient], o)
	}
	return batches
}

// due is a suppression that follows from a failure of an endpoint.
type due struct {
	suppression Suppression
	cause       Endpoint
	failure     topic.Outcome
}

// id returns a text that identifies the URL and the failure.
func (d due) id() string { return d.suppression.Key() + "/" + d.failure.DeliveryID }

// counts reports whether the failure is marked in the counters. It is not if the counters were reset or deleted after count
// read them first.
func (d due) counts(counters []*outcome.Counters) bool {
	return slices.ContainsFunc(counters, func(c *outcome.Counters) bool { return c.ID == d.cause.ID && c.Has(d.failure) })
}

// apply adds the outcomes to the counters. It returns the notices to publish, by endpoint, and the suppressions that
// the failures cause, by key.
func (s *Endpoints) apply(ctx context.Context, counters []*outcome.Counters, batches map[string][]topic.Outcome) (map[string][]topic.Message, map[string]due, error) {
	endpoints, err := s.neededFor(ctx, counters, batches)
	if err != nil {
		return nil, nil, err
	}
	messages, suppressions := map[string][]topic.Message{}, map[string]due{}
	for _, c := range counters {
		e, found := endpoints[c.ID]
		for _, o := range batches[c.ID] {
			if !found && o.Result == topic.Failed || !c.Count(e.URLHash, o) {
				continue
			}
			// There is mail about a suppression, so the failure that causes the suppression makes no alert.
			if reason := s.judge(*c, o); reason != "" {
				if _, isDue := suppressions[e.suppressionKey()]; !isDue || reason == ReasonGone {
					suppressions[e.suppressionKey()] = due{newSuppression(e, *c, reason, s.Now()), e, o}
				}
			} else if c.ConsecutiveFailures == s.AlertAfter {
				messages[c.ID] = append(messages[c.ID], failing(e, *c, o, s.Now()))
			}
		}
	}
	return messages, suppressions, nil
}

// neededFor returns the endpoints that are needed to count the outcomes: those with failures in their counters or
// outcomes. So for a large event without failures no endpoint is read.
func (s *Endpoints) neededFor(ctx context.Context, counters []*outcome.Counters, batches map[string][]topic.Outcome) (map[string]Endpoint, error) {
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
	return find.ByKey(ctx, s.Store.Endpoints, ids, endpointKey)
}

// judge returns the reason for which the failure o, which was counted last, suppresses the URL. It returns "" if o does
// not suppress the URL. The delivery service decides which HTTP status means Gone: CodeOf in its dispatch/policy.go.
func (s *Endpoints) judge(c outcome.Counters, o topic.Outcome) Reason {
	switch {
	case o.Gone:
		return ReasonGone
	case c.ConsecutiveFailures >= s.SuppressAfter:
		return ReasonFailures
	}
	return ""
}

// suppress stores a suppression if the URL is not suppressed already. It returns true if it stored the suppression. The
// notices to all verified endpoints with the URL are published with this write, so each endpoint gets one notice. If
// the endpoint that caused the suppression was deleted or got another URL meanwhile, suppress deletes the suppression
// and returns false. If the endpoint is deleted or gets another URL after this check, reconcile finds the suppression.
func (s *Endpoints) suppress(ctx context.Context, d due) (bool, error) {
	suppression := d.suppression
	page, err := s.Store.Endpoints.Find(ctx, find.Query{Where: ofURL(suppression.OrganizationID, suppression.Channel, suppression.URLHash)})
	if err != nil {
		return false, err
	}
	notices := find.Values(page.Items, func(e Endpoint) topic.Message { return suppression.suppressed(e) })
	err = s.Store.Suppressions.Insert(ctx, suppression, notices...)
	if fault.Is(err, fault.Conflict) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.Log.InfoContext(ctx, "endpoint suppressed", "organization", suppression.OrganizationID, "channel", suppression.Channel,
		"url_hash", suppression.URLHash, "reason", suppression.Reason, "failures", suppression.ConsecutiveFailures)
	present, err := s.Store.Endpoints.GetMany(ctx, []string{d.cause.ID})
	if err == nil && (len(present) == 0 || present[0].URLHash != suppression.URLHash) {
		return false, s.unsuppress(ctx, suppression)
	}
	return true, err
}
