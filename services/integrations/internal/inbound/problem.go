package inbound

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	maxProblems = 10_000 // number of problems that a key may have
	// countShare limits the use of a count of a key's problems: a process counts again after new problems have used up
	// 1/countShare of the number that was free at the count.
	countShare = 8
	// countLife is the longest time for which a count is used.
	countLife = 10 * time.Second
	// maxCounted is the maximum number of keys whose counts are cached. At this number all counts are dropped.
	maxCounted = 10_000
	// DefaultSource is the source of messages that name none.
	DefaultSource = "default"

	keepQuiet = 24 * time.Hour
	// keepProblem is how long a problem that is not quiet is kept without a message. A later message starts a new problem.
	keepProblem = 30 * 24 * time.Hour
	// touchEvery is the age of TouchedAt after which a message that does not change the state sets TouchedAt again.
	touchEvery = time.Hour
	// completeAfter is the time after which Complete completes a step that another call has begun and not ended, because the
	// process was killed or the events service could not be reached.
	completeAfter = 10 * time.Second
)

// State is the state of a Problem.
type State string

const (
	Quiet   State = "quiet"   // no source reports the problem
	Waiting State = "waiting" // too few sources report the problem, or enough sources for too short a time
	Open    State = "open"    // the event exists
	Closing State = "closing" // the event exists; too few sources report the problem, but for too short a time to resolve the event
)

// The results of messages that have changed no event.
const (
	resultIgnored = "ignored"
	resultWaiting = "waiting"
)

// Problem is what the sources with one key report about one externalId.
type Problem struct {
	ID             string    `json:"id"`
	OrganizationID string    `json:"organizationId"`
	KeyID          string    `json:"keyId"`
	ExternalID     string    `json:"externalId"`
	EventID        string    `json:"eventId"`
	State          State     `json:"state"`
	Since          time.Time `json:"since"` // when State began
	TouchedAt      time.Time `json:"touchedAt"`
	// Sources has each source that reports the problem, or that has sent a dated resolve.
	Sources map[string]Source `json:"sources"`
	// Step counts the steps of the problem. A step opens the event (Waiting) or resolves it (Closing). Step starts at
	// the milliseconds since 1970, because the ids of messages derive from it: a problem that returns after its record
	// was deleted must not repeat the id of a message that its former event has stored.
	Step int64 `json:"step"`
	// DueAt is when Complete completes the step. It is nil if there is no step, or if too few sources report a waiting problem.
	DueAt *time.Time `json:"dueAt"`
	Begun bool       `json:"begun"` // the message of the step is being applied
	Held  string     `json:"held"`  // sealed heldMessage of the step
}

// Source is a source of a Problem.
type Source struct {
	Since      *time.Time `json:"since"`      // start of the source's report; nil: the source does not report the problem
	ResolvedAt *time.Time `json:"resolvedAt"` // latest date of a resolve of the source; nil: no resolve had a date
}

// heldMessage is the message of a step.
type heldMessage struct {
	Message topic.InboundMessage `json:"message"` // without an ID if the step was not due when the message arrived
	Format  string               `json:"format"`
	Source  string               `json:"source"` // empty: the message was signed as Standard Webhooks require
}

// source returns the source of the message.
func (m heldMessage) source() string { return cmp.Or(m.Source, DefaultSource) }

// problemID returns the id of the problem. The id has a digest of externalID, because an externalId can be long.
func problemID(keyID, externalID string) string {
	sum := sha256.Sum256([]byte(externalID))
	return keyID + "-" + hex.EncodeToString(sum[:16])
}

// ExpiresAt returns when the problem is deleted.
func (p Problem) ExpiresAt() time.Time {
	if p.State == Quiet {
		return p.TouchedAt.Add(keepQuiet)
	}
	return p.TouchedAt.Add(keepProblem)
}

// Reporting returns the names of the sources that report the problem, in order.
func (p Problem) Reporting() []string {
	names := []string{}
	for name, source := range p.Sources {
		if source.Since != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (p *Problem) turn(state State, now time.Time) {
	p.State, p.Since, p.DueAt, p.Begun, p.Held = state, now, nil, false, ""
	if state == Waiting || state == Closing {
		p.Step++
	}
}

// hold sets the message of the step. If required is true, the step is due after wait, or keeps its DueAt. If required is
// false, because too few sources report the problem, hold sets DueAt to nil. If the step is due now, hold begins the step and
// returns effectBegin. Otherwise it returns effectWait.
func (p *Problem) hold(seal func(heldMessage) string, held heldMessage, required bool, wait Wait, now time.Time) effect {
	switch {
	case !required:
		p.DueAt = nil
	case p.DueAt == nil:
		due := now.Add(time.Duration(wait))
		p.DueAt = &due
	}
	if required && !p.DueAt.After(now) {
		due := now.Add(completeAfter)
		p.DueAt, p.Begun, p.Held = &due, true, seal(held)
		return effectBegin
	}
	held.Message.ID = "" // complete derives the id from the problem and the step
	p.Held = seal(held)
	return effectWait
}

// effect says what apply must do with a message.
type effect int

const (
	effectIgnore   effect = iota
	effectWait            // the message waits
	effectPass            // the event gets the message
	effectBegin           // the step of the message begins
	effectComplete        // a step that has begun must be completed before the message
)

// report applies a trigger or a resolve to the problem. If a step has begun, report changes nothing and returns
// effectComplete.
func (p *Problem) report(key Key, m heldMessage, at *time.Time, seal func(heldMessage) string, now time.Time) effect {
	if p.Begun {
		return effectComplete
	}
	source := p.Sources[m.source()]
	if m.Message.Action == "resolve" {
		return p.resolve(key, m, at, seal, now)
	}
	if at != nil && source.ResolvedAt != nil && at.Before(*source.ResolvedAt) {
		return effectIgnore
	}
	if source.Since == nil {
		source.Since = &now
		p.Sources[m.source()] = source
	}
	enough := len(p.Reporting()) >= key.minSources()
	switch {
	case p.State == Closing && !enough:
		return effectWait
	case p.State == Closing:
		p.turn(Open, now)
		return effectPass
	case p.State == Open:
		return effectPass
	case p.State == Quiet:
		p.turn(Waiting, now)
	}
	return p.hold(seal, m, enough, key.OpenAfter, now)
}

func (p *Problem) resolve(key Key, m heldMessage, at *time.Time, seal func(heldMessage) string, now time.Time) effect {
	source := p.Sources[m.source()]
	source.Since = nil
	if at != nil && (source.ResolvedAt == nil || at.After(*source.ResolvedAt)) {
		source.ResolvedAt = at
	}
	if source.ResolvedAt == nil {
		delete(p.Sources, m.source())
	} else {
		p.Sources[m.source()] = source
	}
	reporting := p.Reporting()
	enough := len(reporting) >= key.minSources()
	switch {
	case p.State == Quiet:
		return effectPass
	case p.State == Waiting:
		if len(reporting) == 0 {
			p.turn(Quiet, now)
		} else if !enough {
			p.DueAt = nil
		}
		return effectIgnore
	case enough:
		return effectIgnore
	case p.State == Open:
		p.turn(Closing, now)
	}
	return p.hold(seal, m, true, key.ResolveAfter, now)
}

// finish ends the step. If failed is true, because no event can accept the message or the key is revoked, the problem becomes quiet.
func (p *Problem) finish(eventID string, failed bool, now time.Time) {
	switch {
	case failed:
		p.Sources = maps.Clone(p.Sources)
		for name, source := range p.Sources {
			source.Since = nil
			p.Sources[name] = source
		}
		p.turn(Quiet, now)
	case p.State == Waiting:
		p.EventID = eventID
		p.turn(Open, now)
	case len(p.Reporting()) > 0:
		p.turn(Waiting, now)
	default:
		p.turn(Quiet, now)
	}
}

// Problems returns a page of the organization's problems, ordered by Since, newest first.
func (s *Inbound) Problems(ctx context.Context, organization string, limit int, after string) (find.Page[Problem], error) {
	return s.Store.Problems.Find(ctx, find.Query{
		Where: []find.Condition{find.Eq(FieldOrganization, organization)}, Order: []find.Order{{Field: FieldSince, Descending: true}},
		Limit: limit, After: after,
	})
}

// room returns a Conflict fault if the key has maxProblems. It does not count for each new problem, because a count
// reads an index entry of each problem: a count is valid for several new problems (see countShare).
func (s *Inbound) room(ctx context.Context, key Key) error {
	if s.counted.take(key.ID, s.Now()) {
		return nil
	}
	n, err := s.Store.Problems.Count(ctx, find.Query{
		Where: []find.Condition{find.Eq(FieldOrganization, key.OrganizationID), find.Eq(FieldKey, key.ID)}, Limit: maxProblems,
	})
	if err != nil {
		return err
	}
	if n >= maxProblems {
		return fault.New(fault.Conflict, "The key already has %d problems. Problems that are over are deleted after 24 h.", maxProblems)
	}
	s.counted.put(key.ID, allowance{(maxProblems - n) / countShare, s.Now().Add(countLife)})
	return nil
}

// counted has the allowance of each key, by id.
type counted struct {
	mu   sync.Mutex
	left map[string]allowance
}

// allowance is the number of new problems that this process may store for a key before the time until, without another count.
// It is only a part of the free number (see countShare), because other processes store problems of the key, too.
type allowance struct {
	problems int64
	until    time.Time
}

func (c *counted) take(keyID string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.left[keyID]
	if of.problems == 0 || now.After(of.until) {
		return false
	}
	of.problems--
	c.left[keyID] = of
	return true
}

func (c *counted) put(keyID string, of allowance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == nil || len(c.left) >= maxCounted {
		c.left = map[string]allowance{}
	}
	c.left[keyID] = of
}
