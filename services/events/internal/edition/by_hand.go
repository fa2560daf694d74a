package edition

import (
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// ShownOverride is the state that a member has set by hand for a component.
type ShownOverride struct {
	State catalog.Impact `json:"state"`
	Until *time.Time     `json:"until"` // nil: no end
}

// byHand sets ByHand and Counted of s from the component's record.
func (s *ShownComponent) byHand(component *catalog.Component) {
	s.ByHand, s.Counted = nil, []Span{}
	if o := component.Override; o != nil {
		s.ByHand = &ShownOverride{o.Status, o.Until}
	}
	for _, span := range component.CountedOverrides() {
		s.Counted = append(s.Counted, Span{component.ID, span.From, span.To, span.Status})
	}
}

// stateAt returns the state by hand if one is in force at the time and is worse than ofEvents, the state that the
// events cause. Otherwise it returns ofEvents.
func (s *ShownComponent) stateAt(at time.Time, ofEvents catalog.Impact) catalog.Impact {
	if hand := s.ByHand; hand != nil && (hand.Until == nil || at.Before(*hand.Until)) && hand.State.Worse(ofEvents) {
		return hand.State
	}
	return ofEvents
}

// spans returns ofEvents, the spans of the events on the component, together with the times in which states by hand
// count in its uptime.
func (s *ShownComponent) spans(ofEvents []uptime.Span) []uptime.Span {
	all := map[string][]uptime.Span{s.ID: slices.Clone(ofEvents)}
	collect(all, "", s.Counted)
	return all[s.ID]
}

// redoByHand adds to redo the days on which the counted states by hand of a component differ from those in the former
// state.
func (m *composition) redoByHand() {
	for i := range m.state.Snapshot.Components {
		component := &m.state.Snapshot.Components[i]
		former := m.was.Snapshot.Component(component.ID)
		if former == nil {
			continue
		}
		for _, s := range slices.Concat(missing(former.Counted, component.Counted), missing(component.Counted, former.Counted)) {
			for _, d := range m.calendar.Overlapping(s.From, s.To) {
				m.redo[d.Date] = true
			}
		}
	}
}

// nextEndByHand returns the first time after the snapshot's time at which a state by hand ends, or nil if there is
// none.
func (s *State) nextEndByHand() (next *time.Time) {
	for i := range s.Snapshot.Components {
		hand := s.Snapshot.Components[i].ByHand
		if hand != nil && hand.Until != nil && hand.Until.After(s.Snapshot.At) && (next == nil || hand.Until.Before(*next)) {
			next = hand.Until
		}
	}
	return next
}
