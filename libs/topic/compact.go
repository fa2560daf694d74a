package topic

import (
	"encoding/json"
	"slices"
)

// Compact returns the event in a form with the same content whose JSON names each dashboard of the components only once.
// Services of an earlier version do not know this form, so a publisher uses it only if the other form is too large for Kafka.
func (e Event) Compact() Event {
	places := make(map[string]int)
	e.Components = slices.Clone(e.Components)
	for i := range e.Components {
		component := &e.Components[i]
		component.PlacedOn = []int{}
		for _, id := range component.Dashboards {
			at, known := places[id]
			if !known {
				at = len(e.Places)
				places[id] = at
				e.Places = append(e.Places, id)
			}
			component.PlacedOn = append(component.PlacedOn, at)
		}
		component.Dashboards = nil
	}
	return e
}

// UnmarshalJSON reads both forms of an event. It fills Dashboards of the components and clears Places.
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event
	if err := json.Unmarshal(text, (*plain)(e)); err != nil {
		return err
	}
	for i := range e.Components {
		component := &e.Components[i]
		for _, at := range component.PlacedOn {
			if at >= 0 && at < len(e.Places) {
				component.Dashboards = append(component.Dashboards, e.Places[at])
			}
		}
		component.PlacedOn = nil
	}
	e.Places = nil
	return nil
}
