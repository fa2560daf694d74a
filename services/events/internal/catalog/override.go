package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// Override is a state of a component that a member has set by hand. The component has the worst of this state and of
// the impacts of its active events. A stored Override never changes; a write replaces the pointer.
type Override struct {
	Status        Impact     `json:"status" audit:"status"`               // not Operational
	Until         *time.Time `json:"until" audit:"until"`                 // nil: no end
	CountInUptime bool       `json:"countInUptime" audit:"countInUptime"` // the uptime counts the state like the impact of an incident
	Since         time.Time  `json:"since" audit:"since"`
	SetBy         Author     `json:"setBy" audit:"setBy"`
}

// OverrideSpan is a time in which a state by hand counts in the uptime. It includes From and ends before To.
type OverrideSpan struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Status Impact    `json:"status"`
}

const (
	maxOverride = 366 * 24 * time.Hour
	// maxOverrideSpans bounds the size of a component.
	maxOverrideSpans = 500
)

// OverrideAt returns the override, or nil if the component has none or if it has ended by the time at.
func (c *Component) OverrideAt(at time.Time) *Override {
	if o := c.Override; o != nil && (o.Until == nil || at.Before(*o.Until)) {
		return o
	}
	return nil
}

// Overridden reports whether the component has an override, also if its Until is past. It returns false for a component
// that is leaving.
func (c *Component) Overridden() bool { return c.Override != nil && !c.Leaving }

// OverrideDueAt returns the time at which the scheduler must end the override. It returns nil if there is no override or
// if the override has no end.
func (c *Component) OverrideDueAt() *time.Time {
	if !c.Overridden() {
		return nil
	}
	return c.Override.Until
}

// CountedOverrides returns the times in which states by hand count in the uptime, the earliest first. The last time may
// end in the future.
func (c *Component) CountedOverrides() []OverrideSpan {
	spans := append([]OverrideSpan{}, c.OverrideSpans...)
	if o := c.Override; o != nil && o.CountInUptime {
		to := Endless()
		if o.Until != nil {
			to = *o.Until
		}
		spans = append(spans, OverrideSpan{o.Since, to, o.Status})
	}
	return spans
}

// endOverride ends the override at a time, or at its Until if Until is earlier. It adds an OverrideSpan if the override
// counts in the uptime.
func (c *Component) endOverride(at time.Time) {
	o := c.Override
	if o == nil {
		return
	}
	if o.Until != nil {
		at = uptime.Earlier(at, *o.Until)
	}
	if o.CountInUptime && o.Since.Before(at) {
		c.OverrideSpans = append(slices.Clone(c.OverrideSpans), OverrideSpan{o.Since, at, o.Status})
	}
	c.Override = nil
}

// settleOverride completes a write that has replaced the override former. It checks the new override, sets its Since and
// SetBy, and ends former. If former is active and has the same status, former is not ended: the new override gets its Since
// from former, or is dropped if it does not differ from former. If the new override is nil or has the status Operational,
// settleOverride only ends former.
func (c *Component) settleOverride(former *Override, author Author, now time.Time) error {
	wanted := c.Override
	if wanted == former {
		return nil
	}
	c.Override = former
	if wanted == nil || wanted.Status == Operational {
		c.endOverride(now)
		return nil
	}
	if wanted.Until != nil && (!wanted.Until.After(now) || wanted.Until.After(now.Add(maxOverride))) {
		return fault.Field("statusOverride.until", "must be in the future, and at most 366 days ahead")
	}
	wanted.Since, wanted.SetBy = now, author
	if active := c.OverrideAt(now); active != nil && active.Status == wanted.Status {
		if active.CountInUptime == wanted.CountInUptime && sameTime(active.Until, wanted.Until) {
			return nil
		}
		wanted.Since = active.Since
	} else {
		c.endOverride(now)
	}
	if wanted.CountInUptime && len(c.OverrideSpans) >= maxOverrideSpans {
		return fault.New(fault.Conflict, "statusOverride.countInUptime: %d states by hand of the component count in the uptime already. Report an incident instead.", maxOverrideSpans)
	}
	c.Override = wanted
	return nil
}

// endOverridesBy ends those overrides of a published event's components that were set before the event closed. The event may
// have closed in an earlier write. The ends leave no audit entry, because the write of the event has an entry.
func (c *Catalog) endOverridesBy(ctx context.Context, event *Event) error {
	if event == nil || event.ClosedAt == nil || !event.Published {
		return nil
	}
	rows, err := c.store.Components.Keys(ctx, owned(event.OrganizationID, find.Query{Where: []find.Condition{find.Eq(FieldOverridden, true)}}))
	if err != nil {
		return err
	}
	ctx = audit.With(ctx, audit.Origin{})
	affected := event.ComponentIDs()
	for _, row := range rows {
		if !slices.Contains(affected, row.Key) {
			continue
		}
		err := c.endOverrideOf(ctx, row.Key, *event.ClosedAt, func(o *Override) bool { return o.Since.Before(*event.ClosedAt) })
		if err != nil {
			return err
		}
	}
	return nil
}

// endDueOverrides ends the overrides whose Until is past. If it cannot end an override, it still ends the others.
func (c *Catalog) endDueOverrides(ctx context.Context) error {
	now := c.now()
	rows, err := c.store.Components.Keys(ctx, find.Query{Where: []find.Condition{find.Lte(FieldDueAt, now)}, Order: []find.Order{{Field: FieldDueAt}}})
	return errors.Join(err, AtOnce(ctx, rows, func(row find.Row) error {
		over := func(o *Override) bool { return o.Until != nil && !o.Until.After(now) }
		if err := c.endOverrideOf(audit.WithScheduler(ctx), row.Key, now, over); err != nil {
			return fmt.Errorf("component %s: %w", row.Key, err)
		}
		return nil
	}))
}

// endOverrideOf ends the override of a component at a time, if the component has an override for which ends returns true.
func (c *Catalog) endOverrideOf(ctx context.Context, id string, at time.Time, ends func(*Override) bool) error {
	_, err := c.store.Components.Update(ctx, id, func(component *Component) ([]topic.Message, error) {
		if !component.Overridden() || !ends(component.Override) {
			return nil, fault.ErrUnchanged
		}
		before := component.clone()
		component.endOverride(at)
		component.touch(c.now())
		return audit.Entry(audit.From(ctx), "", component.UpdatedAt, before, component), nil
	})
	return fault.UnlessMissing(err)
}

// addOverrides sets Status in healths for each component whose state by hand is worse than the impacts of its active
// events.
func (c *Catalog) addOverrides(ctx context.Context, organization string, healths map[string]Health) error {
	found, err := c.store.Components.Find(ctx, owned(organization, find.Query{Where: []find.Condition{find.Eq(FieldOverridden, true)}}))
	now := c.now()
	for i := range found.Items {
		component := &found.Items[i]
		health := healths[component.ID]
		if o := component.OverrideAt(now); o != nil && o.Status.Worse(cmp.Or(health.Status, Operational)) {
			health.Status = o.Status
			healths[component.ID] = health
		}
	}
	return err
}

// spansBetween returns the times in which states by hand count in the uptime and that overlap the time between from and to.
// They end at to at the latest, but may begin before from.
func (c *Component) spansBetween(from, to time.Time) []uptime.Span {
	var spans []uptime.Span
	for _, s := range c.CountedOverrides() {
		if s.From.Before(to) && from.Before(s.To) {
			spans = append(spans, uptime.Span{From: s.From, To: uptime.Earlier(s.To, to), Impact: s.Status})
		}
	}
	return spans
}

// OverrideOf returns the state by hand that the component has now, or nil.
func (c *Catalog) OverrideOf(component *Component) *Override { return component.OverrideAt(c.now()) }
