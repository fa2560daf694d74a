package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"golang.org/x/sync/errgroup"
)

// stepsAtOnce is how many steps run at the same time. Concurrent steps of events on the same page share one edition, so
// that visitors soon see the steps even if many are due at once.
const stepsAtOnce = 16

// RunDue starts maintenances with AutoStart, ends maintenances with AutoEnd, sends the reminders of maintenances, and
// ends states by hand whose Until is past. It notifies the channels in Event.Announced. Several processes may call it at
// once.
func (c *Catalog) RunDue(ctx context.Context) error {
	return errors.Join(c.takeSteps(ctx), c.endDueOverrides(ctx))
}

// takeSteps takes every step of an event that is due. If a step fails, the other steps are still taken.
func (c *Catalog) takeSteps(ctx context.Context) error {
	type owned struct{ organization, id string }
	var due []owned
	err := c.store.Events.Each(ctx, find.Query{
		Where: []find.Condition{find.Lte(FieldDueAt, c.now())}, Order: []find.Order{{Field: FieldDueAt}},
	}, func(event Event) error {
		due = append(due, owned{event.OrganizationID, event.ID})
		return nil
	})
	return errors.Join(err, AtOnce(ctx, due, func(event owned) error {
		command := Command{Organization: event.organization, Source: SourceScheduler}
		_, err := c.ChangeEvent(audit.WithScheduler(ctx), command, event.id, (*EventEdit).runStep)
		if fault.UnlessMissing(err) != nil {
			return fmt.Errorf("event %s: %w", event.id, err)
		}
		return nil
	}))
}

// AtOnce calls step for each of the items, at most stepsAtOnce at the same time. It makes no further calls after ctx
// ends. It joins the errors. A panic of step becomes an error.
func AtOnce[T any](ctx context.Context, items []T, step func(T) error) error {
	errs := make([]error, len(items))
	var group errgroup.Group
	group.SetLimit(stepsAtOnce)
	for i, item := range items {
		group.Go(func() error {
			if ctx.Err() == nil {
				errs[i] = fault.Recovered(func() error { return step(item) })
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), errors.Join(errs...))
}

// DueAt returns the time at which the scheduler must next start or end the event, or send a reminder. It returns nil if
// there is no such step.
func (e *Event) DueAt() *time.Time {
	switch {
	case e.Type != Maintenance || !e.Published || e.ScheduledStartAt == nil:
		return nil
	case e.Status == Planning:
		due := e.nextReminder()
		if start := e.autoStartAt(); start != nil && (due == nil || start.Before(*due)) {
			due = start
		}
		return due
	case e.AutoEnd && e.Status.Underway() && !sameTime(e.EndedFor, e.ScheduledEndAt):
		return e.ScheduledEndAt
	}
	return nil
}

// autoStartAt returns the time at which the scheduler starts the event, or nil if it does not start the event.
func (e *Event) autoStartAt() *time.Time {
	if !e.AutoStart || sameTime(e.StartedFor, e.ScheduledStartAt) {
		return nil
	}
	return e.ScheduledStartAt
}

// nextReminder returns the time of the first reminder after RemindedTo. It returns nil if there is no such reminder or if
// RemindedTo is nil.
func (e *Event) nextReminder() (next *time.Time) {
	for _, minutes := range e.ReminderMinutes {
		at := e.ScheduledStartAt.Add(-time.Duration(minutes) * time.Minute)
		if e.RemindedTo != nil && at.After(*e.RemindedTo) && (next == nil || at.Before(*next)) {
			next = &at
		}
	}
	return next
}

// sequence returns the number of the last message about the event. Reminders are counted in addition to versions,
// because a reminder does not change Version.
func (e *Event) sequence() int64 { return e.Version + e.RemindersSent }

// runStep takes the step of the scheduler that is due, if there is one. If several reminders are due, only one is sent.
func (d *EventEdit) runStep() error {
	due := d.DueAt()
	if due == nil || due.After(d.Now) {
		return nil
	}
	if d.Status != Planning {
		return d.moveTo(Completed, *due, "Completed as scheduled.")
	}
	if start := d.autoStartAt(); start != nil && !start.After(d.Now) {
		return d.moveTo(Started, *start, "Started as scheduled.")
	}
	d.reminds = true
	return nil
}

// moveTo changes the status as of the planned time at, and appends a timeline entry. It appends no entry if the timeline
// is full, if the texts of the event would be too large, or if the event was created on the legacy interface, where a
// change of status makes no update.
func (d *EventEdit) moveTo(status Status, at time.Time, message string) error {
	err := d.Move(Advance, status, at)
	if err != nil || d.Source == SourceLegacy || len(d.Timeline) >= maxEntries || d.textSize()+len(message) > maxEventText {
		return err
	}
	return d.AppendEntry(Entry{Status: status, Message: Rich{message, richtext.Plain}, Timestamp: at})
}

// arm records, at the end of a write, which starts, ends and reminders the scheduler does not have to do any more
// (StartedFor, EndedFor and RemindedTo).
func (d *EventEdit) arm() {
	if d.Type != Maintenance {
		return
	}
	late := d.ScheduledEndAt != nil && !d.ScheduledEndAt.After(d.Now)
	if d.Status != Planning {
		d.StartedFor = d.ScheduledStartAt
	} else {
		d.EndedFor = nil // a maintenance in planning has not ended
	}
	// If a person starts an event after its planned end, the scheduler does not end it.
	if d.Status.Closed() || late && d.source != SourceScheduler && d.Status.Underway() && !d.before.Status.Underway() {
		d.EndedFor = d.ScheduledEndAt
	}
	rearmed := d.IsNew() || d.published() || d.Status != d.before.Status || !sameTime(d.ScheduledStartAt, d.before.ScheduledStartAt) ||
		!slices.Equal(d.ReminderMinutes, d.before.ReminderMinutes)
	if d.reminds || rearmed && len(d.ReminderMinutes) > 0 {
		d.RemindedTo = new(d.Now)
	}
}
