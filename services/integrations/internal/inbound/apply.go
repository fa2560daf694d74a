package inbound

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	maxSources = 50  // number of sources that a problem keeps
	maxDue     = 200 // problems that Complete reads at once
	// applyTries is how often apply tries if other requests change the problem meanwhile.
	applyTries = 10
)

// apply applies a message that was read. It sends an update to the events service at once. A trigger or a resolve
// changes the problem first, and the state of the problem decides whether the event gets the message now, later or
// never. at is the date of the message; nil: unknown.
func (s *Inbound) apply(ctx context.Context, key Key, m heldMessage, at *time.Time) (outcome, error) {
	if m.Message.Action == "update" {
		return s.pass(ctx, key, m)
	}
	for range applyTries {
		var what effect
		id := problemID(key.ID, m.Message.ExternalID)
		at, err := s.admit(ctx, key, m, at, id)
		if err != nil {
			return outcome{}, err
		}
		problem, err := s.Store.Problems.Upsert(ctx, id, func(p *Problem, exists bool) (_ []topic.Message, err error) {
			what, err = s.change(p, exists, key, m, at)
			return nil, err
		})
		if err != nil {
			return outcome{}, err
		}
		switch what {
		case effectIgnore:
			return ignored(problem.EventID, problem.ignores(m, key)), nil
		case effectWait:
			return problem.waits(key), nil
		case effectPass:
			return s.pass(ctx, key, m)
		}
		done, result, err := s.complete(ctx, problem)
		if what == effectBegin || done.Message.ID == m.Message.ID && m.Message.ID != "" || retryable(err) {
			return result, err
		}
	}
	return outcome{}, fault.New(fault.Unavailable, "The problem changed at the same time. Send the message again.")
}

// pass sends the message to the events service now.
func (s *Inbound) pass(ctx context.Context, key Key, m heldMessage) (outcome, error) {
	if m.Message.ID == "" {
		m.Message.ID = topic.NewID()
	}
	result, err := s.Services.Ingest(ctx, key.OrganizationID, m.Message)
	return m.outcome(result, err)
}

// outcome returns the outcome of a message from the response of the events service. If err is NotFound for an update or a
// resolve in a format, it returns the result resultIgnored and no error, because a monitoring tool without ids of messages
// would repeat the message after an error.
func (m heldMessage) outcome(result topic.InboundResult, err error) (outcome, error) {
	if fault.Is(err, fault.NotFound) && m.Format != "" && m.Message.Action != "trigger" {
		return ignored("", "There is no event with this externalId."), nil
	}
	return outcome{result, ""}, err
}

// outcome is the result of a message. reason says why the message waits or is ignored.
type outcome struct {
	topic.InboundResult
	reason string
}

func ignored(eventID, reason string) outcome {
	return outcome{topic.InboundResult{Result: resultIgnored, EventID: eventID}, reason}
}

// waits returns the outcome of a message after which the problem waits.
func (p Problem) waits(key Key) outcome {
	reason := fmt.Sprintf("%d of %d sources report the problem.", len(p.Reporting()), key.minSources())
	switch {
	case p.State == Closing:
		reason = "The event is resolved at " + p.DueAt.Format(time.RFC3339) + " unless the problem is back."
	case p.DueAt != nil:
		reason = "The event opens at " + p.DueAt.Format(time.RFC3339) + " unless the problem is over."
	}
	return outcome{topic.InboundResult{Result: resultWaiting, EventID: p.EventID}, reason}
}

// ignores returns why the problem ignores the message.
func (p Problem) ignores(m heldMessage, key Key) string {
	switch {
	case m.Message.Action == "trigger":
		return "The trigger is older than the last resolve of its source."
	case p.State == Quiet:
		return "The problem is over before an event opened."
	}
	return fmt.Sprintf("%d of %d sources report the problem.", len(p.Reporting()), key.minSources())
}

// admit returns a fault for a trigger that the problem must not store: because the key has too many problems or the
// problem too many sources, or because no event could accept the trigger. A resolve is refused only if no event could
// accept it. With too many problems or sources, a resolve is applied without its date, so that it is not stored for an
// unknown problem or source. admit returns the date with which the message must be applied: at or nil.
func (s *Inbound) admit(ctx context.Context, key Key, m heldMessage, at *time.Time, id string) (*time.Time, error) {
	resolve := m.Message.Action == "resolve"
	if resolve && (m.Format == "" || m.Format == "generic") && !m.isBare() { // the resolve of a tool has no field that can be wrong
		if err := s.check(ctx, key, m); err != nil {
			return nil, err
		}
	}
	if resolve && at == nil {
		return nil, nil
	}
	known, err := s.Store.Problems.Get(ctx, id)
	if fault.Is(err, fault.NotFound) {
		err = s.room(ctx, key)
	}
	source, is := known.Sources[m.source()]
	if err == nil && !is && len(known.Sources) >= maxSources {
		err = fault.New(fault.Conflict, "The problem already has %d sources.", maxSources)
	}
	if fault.Is(err, fault.Conflict) && resolve {
		return nil, nil
	}
	if err != nil || resolve || known.State == Open && source.Since != nil {
		return at, err
	}
	return at, s.check(ctx, key, m)
}

// isBare reports whether a resolve has only an externalId, which any event can accept. The events service would find
// nothing wrong with such a resolve, so admit does not check it.
func (m heldMessage) isBare() bool {
	in := m.Message
	return in.Message == nil && in.Status == "" && len(in.Components) == 0 && in.Timestamp == nil &&
		!richtext.IsBlank(in.ExternalID) && utf8.RuneCountInString(in.ExternalID) <= maxExternalID
}

// check returns a fault if no event can accept the message. If the error is retryable, only a trigger that would wait
// is refused: any other message is stored, so that Complete can apply it later.
func (s *Inbound) check(ctx context.Context, key Key, m heldMessage) error {
	check := m.Message
	check.Check = true
	_, err := s.Services.Ingest(ctx, key.OrganizationID, check)
	if retryable(err) && (check.Action == "resolve" || key.OpenAfter == 0 && key.minSources() == 1) {
		return nil
	}
	return err
}

// change applies a trigger or a resolve to its problem p. A resolve of an unknown problem is stored only if it has a date.
func (s *Inbound) change(p *Problem, exists bool, key Key, m heldMessage, at *time.Time) (effect, error) {
	now := s.Now()
	if !exists {
		if m.Message.Action == "resolve" && at == nil {
			return effectPass, fault.ErrUnchanged
		}
		*p = Problem{
			ID: problemID(key.ID, m.Message.ExternalID), OrganizationID: key.OrganizationID, KeyID: key.ID, ExternalID: m.Message.ExternalID,
			State: Quiet, Since: now, TouchedAt: now, Sources: map[string]Source{}, Step: now.UnixMilli(),
		}
	}
	before := *p
	before.Sources = maps.Clone(p.Sources)
	what := p.report(key, m, at, func(m heldMessage) string { return s.seal(p.ID, m, before.Held) }, now)
	if p.TouchedAt.Add(touchEvery).Before(now) || p.State != before.State {
		p.TouchedAt = now
	}
	if exists && reflect.DeepEqual(before, *p) {
		return what, fault.ErrUnchanged
	}
	return what, nil
}

// seal returns the sealed message. If former is the sealed form of the same message in another request, seal returns former,
// so that the repetition of a message that waits changes nothing.
func (s *Inbound) seal(id string, m heldMessage, former string) string {
	if known, err := s.open(id, former); err == nil {
		known.Message.IP, known.Message.RequestID = m.Message.IP, m.Message.RequestID
		if reflect.DeepEqual(known, m) {
			return former
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // a message contains only texts, times and truth values
	}
	return s.Box.Seal(string(text), id)
}

// open is the reverse of seal.
func (s *Inbound) open(id, sealed string) (m heldMessage, err error) {
	text, err := s.Box.Open(sealed, id)
	if err == nil {
		err = json.Unmarshal([]byte(text), &m)
	}
	return m, err
}

// complete sends the message of the step that has begun to the events service, and ends the step unless the error is
// retryable. The message has an id, so the events service applies it once, however often complete sends it.
func (s *Inbound) complete(ctx context.Context, p Problem) (heldMessage, outcome, error) {
	held, err := s.open(p.ID, p.Held)
	if err != nil {
		return held, outcome{}, fault.Wrap(fault.Internal, err, "The message of the problem cannot be read.")
	}
	if held.Message.ID == "" {
		held.Message.ID = fmt.Sprintf("%s-%d", p.ID, p.Step)
	}
	if held.Message.Timestamp != nil && s.Now().Sub(p.Since) >= completeAfter { // only if needed: an events service of an older version refuses receivedAt
		held.Message.ReceivedAt = new(p.Since)
	}
	result, err := s.Services.Ingest(ctx, p.OrganizationID, held.Message)
	if refused := fault.As(err); refused != nil && refused.Field == "receivedAt" { // sent again without the field
		held.Message.ReceivedAt = nil
		result, err = s.Services.Ingest(ctx, p.OrganizationID, held.Message)
	}
	if retryable(err) {
		return held, outcome{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), completeWithin)
	defer cancel()
	applied, err := held.outcome(result, s.end(ctx, p, result, err))
	return held, applied, err
}

// end ends the step of p. failure is the error of the events service, or nil. end returns the error of its write, or failure
// if the write succeeds.
func (s *Inbound) end(ctx context.Context, p Problem, outcome topic.InboundResult, failure error) error {
	_, err := s.Store.Problems.Change(ctx, p.ID, func(now *Problem) error {
		if now.Step != p.Step || !now.Begun {
			return fault.ErrUnchanged // another process has ended the step
		}
		now.finish(outcome.EventID, failure != nil, s.Now())
		now.TouchedAt = s.Now()
		return nil
	})
	if err = fault.UnlessMissing(err); err != nil {
		return err
	}
	return failure
}

// retryable reports whether the events service may accept the message later.
func retryable(err error) bool {
	return err != nil && !slices.ContainsFunc([]fault.Kind{fault.Invalid, fault.NotFound, fault.Conflict}, func(kind fault.Kind) bool { return fault.Is(err, kind) })
}

// Complete completes the steps that are due, and those that were begun and not ended within completeAfter. Several processes may call it.
func (s *Inbound) Complete(ctx context.Context) error {
	for {
		due, err := s.Store.Problems.Find(ctx, find.Query{Where: []find.Condition{find.Lte(FieldDueAt, s.Now())}, Order: []find.Order{{Field: FieldDueAt}}, Limit: maxDue})
		if err != nil {
			return err
		}
		for _, p := range due.Items {
			if err := s.take(ctx, p); err != nil {
				return err
			}
		}
		if len(due.Items) < maxDue {
			return nil
		}
	}
}

// take begins the due step of a problem, completes the step and stores its log. No other process takes the step before
// completeAfter. If the step is not due any more, take does nothing. If the key is revoked, take only ends the step.
func (s *Inbound) take(ctx context.Context, p Problem) error {
	key, err := s.Store.Keys.Get(ctx, p.KeyID)
	if err != nil {
		return err
	}
	mine := false
	p, err = s.Store.Problems.Change(ctx, p.ID, func(p *Problem) error {
		now := s.Now()
		if mine = p.DueAt != nil && !p.DueAt.After(now); !mine {
			return fault.ErrUnchanged
		}
		if key.RevokedAt != nil {
			p.finish("", true, now)
			mine = false
			return nil
		}
		due := now.Add(completeAfter)
		p.DueAt, p.Begun = &due, true
		return nil
	})
	if err != nil || !mine {
		return fault.UnlessMissing(err)
	}
	held, outcome, err := s.complete(ctx, p)
	if retryable(err) {
		return err
	}
	row := s.newLog(key, Request{ID: held.Message.ID, IP: held.Message.IP, Format: held.Format, Source: held.Source})
	row.Action, row.ExternalID = held.Message.Action, held.Message.ExternalID
	if err != nil {
		s.fail(ctx, row, err)
		return nil
	}
	row.EventID, row.Result, row.HTTPStatus, row.Error = outcome.EventID, outcome.Result, 200, outcome.reason
	_, err = s.keep(ctx, row)
	return err
}
