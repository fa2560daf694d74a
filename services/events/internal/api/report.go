package api

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

type reportView struct {
	Month                string                `json:"month"`
	Timezone             string                `json:"timezone"`
	RangeStart           web.Time              `json:"rangeStart"`
	RangeEnd             web.Time              `json:"rangeEnd"`
	Partial              bool                  `json:"partial"`
	OverallUptimePercent *float64              `json:"overallUptimePercent" minimum:"0" maximum:"100" description:"Null if nothing but maintenance was measured."`
	Components           []componentUptimeView `json:"components"`
	Formula              string                `json:"formula"`
}

// componentUptimeView has seconds as numbers that are exact to the millisecond.
type componentUptimeView struct {
	ComponentID          string          `json:"componentId" format:"uuid"`
	Name                 string          `json:"name"`
	UptimePercent        *float64        `json:"uptimePercent"`
	DowntimeSeconds      float64         `json:"downtimeSeconds"`
	MajorOutageSeconds   float64         `json:"majorOutageSeconds"`
	PartialOutageSeconds float64         `json:"partialOutageSeconds"`
	DegradedSeconds      float64         `json:"degradedSeconds"`
	MaintenanceSeconds   float64         `json:"maintenanceSeconds"`
	MeasuredSeconds      float64         `json:"measuredSeconds"`
	Days                 []dayUptimeView `json:"days"`
	EventIDs             []string        `json:"eventIds"`
}

type dayUptimeView struct {
	Date          string          `json:"date" format:"date"`
	UptimePercent *float64        `json:"uptimePercent"`
	WorstStatus   *catalog.Impact `json:"worstStatus" enum:"operational,under_maintenance,degraded_performance,partial_outage,major_outage" description:"Null if nothing was measured."`
}

type oneReportView struct {
	Report reportView `json:"report"`
}

type uptimeParameters struct {
	Month       string  `query:"month" required:"true" pattern:"^[0-9]{4}-[0-9]{2}$" description:"YYYY-MM, not in the future."`
	DashboardID *string `query:"dashboardId" format:"uuid"`
	ComponentID *string `query:"componentId" format:"uuid"`
}

func (a api) uptime(c *web.Call[uptimeParameters, web.None]) (oneReportView, error) {
	asked := c.Parameters
	if (asked.DashboardID == nil) == (asked.ComponentID == nil) {
		return oneReportView{}, fault.Field("dashboardId", "must be sent, or componentId, and not both")
	}
	report, err := a.catalog.Uptime(c, c.Caller.Organization, catalog.UptimeAsked{
		Month: asked.Month, DashboardID: given(asked.DashboardID), ComponentID: given(asked.ComponentID),
	})
	return oneReportView{viewReport(report)}, err
}

func viewReport(r catalog.UptimeReport) reportView {
	view := reportView{
		Month: r.Month, Timezone: r.Timezone, RangeStart: web.Time(r.From), RangeEnd: web.Time(r.To), Partial: r.Partial,
		OverallUptimePercent: r.Total.Uptime(), Components: make([]componentUptimeView, len(r.Components)), Formula: r.Formula,
	}
	for i := range r.Components {
		view.Components[i] = viewComponentUptime(&r.Components[i])
	}
	return view
}

func viewComponentUptime(part *catalog.ComponentUptime) componentUptimeView {
	seconds := func(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 } // one division: Duration.Seconds adds two parts and shows it
	view := componentUptimeView{
		ComponentID: part.ComponentID, Name: part.Name, UptimePercent: part.Uptime(),
		DowntimeSeconds: seconds(part.Downtime()), MajorOutageSeconds: seconds(part.Major), PartialOutageSeconds: seconds(part.Partial),
		DegradedSeconds: seconds(part.Degraded), MaintenanceSeconds: seconds(part.Maintenance), MeasuredSeconds: seconds(part.Measured),
		Days: make([]dayUptimeView, len(part.Days)), EventIDs: part.EventIDs,
	}
	for i := range part.Days {
		day := &part.Days[i]
		view.Days[i] = dayUptimeView{Date: day.Date, UptimePercent: day.Uptime()}
		if day.Worst != "" {
			view.Days[i].WorstStatus = &day.Worst
		}
	}
	return view
}
