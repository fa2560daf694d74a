package api

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

type overrideView struct {
	Status        catalog.Impact `json:"status" enum:"degraded_performance,partial_outage,major_outage,under_maintenance"`
	Until         *web.Time      `json:"until" description:"Null: no end."`
	CountInUptime bool           `json:"countInUptime"`
	Since         web.Time       `json:"since"`
	SetBy         authorView     `json:"setBy"`
}

func viewOverride(o *catalog.Override) *overrideView {
	if o == nil {
		return nil
	}
	return &overrideView{o.Status, web.TimeOf(o.Until), o.CountInUptime, web.Time(o.Since), viewAuthor(o.SetBy)}
}

type overrideBody struct {
	Status        optional.Value[catalog.Impact] `json:"status" required:"true" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance"`
	Until         optional.Value[time.Time]      `json:"until" nullable:"true" description:"At most 366 days ahead. Null or absent: no end."`
	CountInUptime optional.Value[bool]           `json:"countInUptime" default:"false" description:"The state counts in the uptime like that of an incident."`
}

// apply replaces the state by hand of a component if the member was sent. null removes the state.
func (b overrideBody) apply(c *catalog.Component, sent bool) {
	switch {
	case !sent:
	case !b.Status.Sent:
		c.Override = nil
	default:
		c.Override = &catalog.Override{Status: b.Status.Value, Until: b.Until.Pointer(), CountInUptime: b.CountInUptime.Value}
	}
}
