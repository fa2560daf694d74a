package catalog

import (
	"context"
	"math"
)

// Published updates what visitors see of the records.
type Published interface {
	// Follow updates what visitors of the dashboards see, after the records in written were written.
	Follow(ctx context.Context, dashboards []string, written ...Written) error
	// Withdraw removes what visitors see of a deleted dashboard.
	Withdraw(ctx context.Context, dashboard string) error
	// Differ reports whether visitors of any dashboard see a difference between two states of an event.
	Differ(before, after *Event) bool
}

// Written names a record that was written. Exactly one of Dashboard, Aliases, Component and Event is set.
type Written struct {
	Dashboard bool
	Aliases   int64       // version of the dashboard's AliasSet whose aliases are stored
	Component string      // id
	Event     string      // id
	Current   *Event      // nil: the event was deleted
	Former    *EventFacts // the event before the write; nil if the event was new, or had neither components nor dashboards
}

// First reports whether the event was imported and has its first version. Pages do not record this version: no older
// version can be rendered late, and a run imports thousands of events.
func (w Written) First() bool {
	return w.Current != nil && w.Current.Version == 1 && w.Current.Import != nil
}

// Version returns the version of the event. A deleted event has the highest version, because no other version follows.
func (w Written) Version() int64 {
	if w.Current == nil {
		return math.MaxInt64
	}
	return w.Current.Version
}
