package catalog

import (
	"encoding/json"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// maxMessage is how many bytes of JSON a message about an event may have. Kafka accepts records of 1 MiB with their headers.
// A message that Kafka refuses would stay in the outbox of the event for ever, and stop all later messages of the event.
const maxMessage = 900_000

// fit shortens a change that is larger than maxMessage. It first names each dashboard only once. If that is not enough,
// it returns a Conflict for a refusable change. From any other change it removes the texts, and then the dashboards of
// the components.
func fit(change *topic.EventChange, refusable bool) error {
	steps := []func(*topic.EventChange){func(c *topic.EventChange) { c.Event = c.Event.Compact() }}
	if !refusable {
		steps = append(steps, removeTexts, removeDashboards)
	}
	for _, shorten := range steps {
		if fits(change) {
			return nil
		}
		shorten(change)
	}
	if refusable && !fits(change) {
		return fault.New(fault.Conflict, "The message about this change would have more than %d kB. Shorten the texts, name fewer components, or notify nobody.", maxMessage/1000)
	}
	return nil
}

func fits(change *topic.EventChange) bool {
	text, err := json.Marshal(change)
	return err != nil || len(text) <= maxMessage // the store returns the error
}

// removeTexts removes the texts of the event except the title. It also removes the text of the entry if the change
// notifies nobody.
func removeTexts(change *topic.EventChange) {
	e := &change.Event
	e.DescriptionText, e.DescriptionHTML, e.ImpactText, e.ImpactHTML, e.CoordinatorText, e.CoordinatorHTML = "", "", "", "", "", ""
	if change.Entry != nil && len(change.Notify) == 0 {
		change.Entry.Text, change.Entry.HTML = "", ""
	}
}

func removeDashboards(change *topic.EventChange) {
	change.Event.Places = nil
	for i := range change.Event.Components {
		change.Event.Components[i].PlacedOn = nil
	}
}
