package catalog

import "time"

// Open reports whether the event is neither resolved nor completed.
func (e *Event) Open() bool { return !e.Status.closed() }

// Visible reports whether people outside the organization may learn of the event at all.
func (e *Event) Visible() bool { return e.Published }

// Shown reports whether dashboards show the event.
func (e *Event) Shown() bool { return e.Visible() && !e.HiddenFromDashboard }

// Active reports whether the event is going on at a time: it is visible, has reached its start, and is under way
// by its status.
func (e *Event) Active(now time.Time) bool {
	return e.Visible() && e.Status.underway() && !e.StartAt.After(now)
}

// Alerts reports whether dashboards show the components of the event as affected, from StartAt on.
func (e *Event) Alerts() bool { return e.Shown() && e.Status.underway() }

// shown is what dashboards show of an event, from StartAt on.
type shown struct {
	Type       EventType
	StartAt    time.Time
	Components []string
}

// shown returns the zero value for an event that no dashboard shows.
func (e *Event) shown() shown {
	if !e.Alerts() {
		return shown{}
	}
	return shown{e.Type, e.StartAt, e.ComponentIDs()}
}

// Measured returns the time of an event that uptime reports count, and whether they count it: from the start to
// the end, or until now (nil) for an open event without an actual end. A closed event without any end is not
// counted, because its length is unknown.
func (e *Event) Measured() (from time.Time, to *time.Time, counts bool) {
	if !e.Shown() || e.HiddenFromUptimeReports || e.Status == Planning {
		return time.Time{}, nil, false
	}
	if e.Open() {
		to = e.EndAt
		return e.StartAt, to, to == nil || e.StartAt.Before(*to)
	}
	to = e.End()
	return e.StartAt, to, to != nil && e.StartAt.Before(*to)
}
