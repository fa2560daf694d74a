// Package uptime measures how long events and states by hand affected components: in a month (Report), and on the days of
// a dashboard's bars (Calendar). Its functions are pure. The caller passes the spans in which a component is affected.
package uptime

import (
	"slices"
	"time"
)

// Impact is the effect of an event on a component, and the status of a component.
type Impact string

const (
	Operational      Impact = "operational"
	UnderMaintenance Impact = "under_maintenance"
	Degraded         Impact = "degraded_performance"
	PartialOutage    Impact = "partial_outage"
	MajorOutage      Impact = "major_outage"
)

// Worse reports whether the impact is worse than other. Every impact is worse than the empty impact.
func (i Impact) Worse(other Impact) bool {
	order := []Impact{Operational, UnderMaintenance, Degraded, PartialOutage, MajorOutage}
	return slices.Index(order, i) > slices.Index(order, other)
}

// Span is a time in which an event or a state by hand affects a component. It includes From and ends before To.
type Span struct {
	From, To time.Time
	Impact   Impact
	EventID  string // empty: a state by hand, not an event
}

// counted returns the part of the span between from and to, in whole seconds. lasts is false if this part is empty.
// Reports count whole seconds, so that the sums in a report agree exactly.
func (s Span) counted(from, to time.Time) (first, last time.Time, lasts bool) {
	first, last = Later(wholeSecond(s.From), from), Earlier(wholeSecond(s.To), to)
	return first, last, first.Before(last)
}

// wholeSecond drops the fraction of a second.
func wholeSecond(at time.Time) time.Time { return at.Truncate(time.Second) }

func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func Earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
