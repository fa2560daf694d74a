package api

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

func (a api) reportOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/reports/uptime", ID: "getUptimeReport", Tag: "reports", Summary: "Report the uptime of a month",
			Description: "Exactly one of dashboardId and componentId is required. Overlapping events count once, at the worst impact. " +
				"Events that are hidden from the dashboard or from uptime reports, drafts, and maintenances that never started do not count. " +
				"Times count in whole seconds: a fraction of a second is dropped from each time. The time in which a reopened event was closed does not count.",
			Roles: []string{passport.RoleAdmin}, Entitlement: web.UptimeReports, Status: 200, Errors: []int{404},
			Example: web.Example{Response: `{"report": {"month": "2026-01", "timezone": "UTC", "rangeStart": "2026-01-01T00:00:00.000Z",
				"rangeEnd": "2026-02-01T00:00:00.000Z", "partial": false, "overallUptimePercent": 99.993729, "components": [
				{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061", "name": "Checkout", "uptimePercent": 99.993729, "downtimeSeconds": 168,
				"majorOutageSeconds": 168, "partialOutageSeconds": 0, "degradedSeconds": 0, "maintenanceSeconds": 0, "measuredSeconds": 2678400,
				"days": [{"date": "2026-01-01", "uptimePercent": null, "worstStatus": null},
				{"date": "2026-01-02", "uptimePercent": 100, "worstStatus": "operational"}], "eventIds": ["01890a5d-ac96-774b-bcce-b302099a8062"]}],
				"partialOutageWeight": 0.3, "formula": "uptime = 1 - (major + 0.3 * partial) / (measured - maintenance)"}}`},
		}, a.uptime),
	}
}

type reportView struct {
	Month                string                `json:"month"`
	Timezone             string                `json:"timezone"`
	RangeStart           web.Time              `json:"rangeStart"`
	RangeEnd             web.Time              `json:"rangeEnd"`
	Partial              bool                  `json:"partial"`
	OverallUptimePercent *float64              `json:"overallUptimePercent" minimum:"0" maximum:"100" description:"Null if nothing but maintenance was measured."`
	Components           []componentUptimeView `json:"components"`
	PartialOutageWeight  float64               `json:"partialOutageWeight" minimum:"0" maximum:"1" description:"Weight of a partial outage in the formula. A major outage has the weight 1."`
	Formula              string                `json:"formula"`
}

type componentUptimeView struct {
	ComponentID          string          `json:"componentId" format:"uuid"`
	Name                 string          `json:"name"`
	UptimePercent        *float64        `json:"uptimePercent"`
	DowntimeSeconds      int64           `json:"downtimeSeconds"`
	MajorOutageSeconds   int64           `json:"majorOutageSeconds"`
	PartialOutageSeconds int64           `json:"partialOutageSeconds"`
	DegradedSeconds      int64           `json:"degradedSeconds"`
	MaintenanceSeconds   int64           `json:"maintenanceSeconds"`
	MeasuredSeconds      int64           `json:"measuredSeconds"`
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
	report, err := a.catalog.Uptime(c, c.Caller.Organization, asked.Month, optional.OrZero(asked.DashboardID), optional.OrZero(asked.ComponentID))
	return oneReportView{viewReport(report)}, err
}

func viewReport(r uptime.Report) reportView {
	return reportView{
		Month: r.Month, Timezone: r.Timezone, RangeStart: web.Time(r.From), RangeEnd: web.Time(r.To), Partial: r.Partial,
		OverallUptimePercent: r.Total.Uptime(r.Weight), PartialOutageWeight: r.Weight, Formula: r.Formula,
		Components: find.Values(r.Components, func(part uptime.ComponentUptime) componentUptimeView { return viewComponentUptime(&part, r.Weight) }),
	}
}

func viewComponentUptime(part *uptime.ComponentUptime, weight float64) componentUptimeView {
	seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
	view := componentUptimeView{
		ComponentID: part.ComponentID, Name: part.Name, UptimePercent: part.Uptime(weight),
		DowntimeSeconds: seconds(part.Downtime()), MajorOutageSeconds: seconds(part.Major), PartialOutageSeconds: seconds(part.Partial),
		DegradedSeconds: seconds(part.Degraded), MaintenanceSeconds: seconds(part.Maintenance), MeasuredSeconds: seconds(part.Measured),
		Days: make([]dayUptimeView, len(part.Days)), EventIDs: part.EventIDs,
	}
	for i := range part.Days {
		day := &part.Days[i]
		view.Days[i] = dayUptimeView{Date: day.Date, UptimePercent: day.Uptime(weight)}
		if day.Worst != "" {
			view.Days[i].WorstStatus = &day.Worst
		}
	}
	return view
}
