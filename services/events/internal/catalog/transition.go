package catalog

import (
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// Move is a way to change the status of an event.
type Move string

const (
	Advance Move = "a timeline entry" // or a step of the scheduler
	Reopen  Move = "a reopen"
)

// transitions returns, for each move and each status, the statuses to which the move can change this status. The first
// one is the default of a reopen. The legacy interface does not use the table: it can set any status of the type.
func transitions() map[Move]map[Status][]Status {
	return map[Move]map[Status][]Status{
		Advance: {
			Investigating: {Identified, Monitoring, Resolved},
			Identified:    {Investigating, Monitoring, Resolved},
			Monitoring:    {Investigating, Identified, Resolved},

			Planning:   {Started, InProgress, Completed},
			Started:    {InProgress, Verifying, Completed},
			InProgress: {Verifying, Completed},
			Verifying:  {InProgress, Completed},
		},
		Reopen: {
			Resolved:  {Investigating, Identified, Monitoring},
			Completed: {InProgress},
		},
	}
}

// Move changes the status as of the time at, or returns a Conflict if transitions does not have the change. at becomes the
// start of a maintenance that leaves planning or whose start is after at. It also becomes the end of an event that closes.
// If the start of this event is later, the start becomes the end. A maintenance that changes from planning to completed
// gets the same start and end, so reports do not count it.
func (d *EventEdit) Move(by Move, to Status, at time.Time) error {
	from := d.Status
	if allowed := transitions()[by][from]; !slices.Contains(allowed, to) {
		return refuseMove(by, from, to)
	}
	d.SetStatus(to)
	if d.Type == Maintenance && (from == Planning || d.StartAt.After(at)) {
		d.StartAt = at
	}
	if to.Closed() {
		d.EndAt = new(uptime.Later(at, d.StartAt))
	}
	return nil
}

func refuseMove(by Move, from, to Status) error {
	table := transitions()
	if by == Reopen && len(table[by][from]) == 0 {
		return fault.New(fault.Conflict, "Only a resolved or completed event can be reopened. This event is %s.", from)
	}
	hint := ""
	if len(table[by][from]) == 0 {
		by, hint = Reopen, " Use POST /app/events/{id}/reopen."
	}
	return fault.New(fault.Conflict, "The status cannot change from %s to %s. From %s, %s can change it to %s.%s",
		from, to, from, by, choice(table[by][from]), hint)
}

// choice returns statuses as "a, b or c".
func choice(statuses []Status) string {
	names := find.Values(statuses, func(s Status) string { return string(s) })
	last := len(names) - 1
	if last <= 0 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
