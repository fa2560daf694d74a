package pages

import (
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

// deliveriesPart is what the page of an event, and the script, show of its messages.
type deliveriesPart struct {
	app.Counts
	Event    string
	Missing  bool // the counts cannot be read
	Channels []channelCounts
	Moving   bool // the counts may change soon
}

type channelCounts struct {
	app.Counts
	Label, Kind string
}

// deliveriesOf returns the counts of the messages about an event.
func (v *visit) deliveriesOf(e app.Event) *deliveriesPart {
	out := &deliveriesPart{Event: e.ID}
	found, err := v.app.EventDeliveries(v.Request.Context(), e.ID)
	if err != nil {
		out.Missing = true
		return out
	}
	out.Counts = found.Deliveries.Counts
	for _, channel := range channels() {
		if counts := found.Deliveries.Channels[channel.Value]; counts.Planned > 0 {
			out.Channels = append(out.Channels, channelCounts{counts, channel.Label, channel.Value})
		}
	}
	out.Moving = out.Waiting() > 0 || v.pages.Process.Now().Sub(e.UpdatedAt).Seconds() < 30
	return out
}

// eventDeliveries is the part of the event page that the script repeats.
func (p *pages) eventDeliveries(v *visit) error {
	found, err := v.app.Event(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	return v.renderPart("part-deliveries", v.deliveriesOf(found.Event.Event))
}
