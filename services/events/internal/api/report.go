package api

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

type reportView struct {
	Month                string                `json:"month"`
	Timezone             string                `json:"timezone"`
	RangeStart           web.Time              `json:"rangeStart"`
	RangeEnd             web.Time              `json:"rangeEnd"`
	Partial              bool                  `json:"partial"`
	OverallUptimePercent *float64              `json:"overallUptimePercent"`
	Components           []componentUptimeView `json:"components"`
	Formula              string                `json:"formula"`
}

// componentUptimeView has seconds as numbers that are exact to the millisecond.
type componentUptimeView struct {
	ComponentID          string          `json:"componentId"`
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
	Date          string          `json:"date"`
	UptimePercent *float64        `json:"uptimePercent"`
	WorstStatus   *catalog.Impact `json:"worstStatus"` // null: nothing is measured
}

// appUptime is GET /app/reports/uptime.
func (a api) appUptime(c *gin.Context) error {
	asked, err := uptimeAsked(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	report, err := a.catalog.Uptime(c.Request.Context(), web.Caller(c).Organization, asked)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, gin.H{"report": viewReport(report)})
	return nil
}

// uptimeAsked reads the query, in which everything is needed once and nothing else is known.
func uptimeAsked(query string) (catalog.UptimeAsked, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return catalog.UptimeAsked{}, fault.New(fault.Invalid, "The query is malformed.")
	}
	asked := catalog.UptimeAsked{}
	fields := map[string]*string{"month": &asked.Month, "dashboardId": &asked.DashboardID, "componentId": &asked.ComponentID}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		field, known := fields[name]
		if !known {
			return asked, fault.Field(name, "There is no such parameter.")
		}
		if len(values[name]) > 1 {
			return asked, fault.Field(name, "It is needed once.")
		}
		*field = values[name][0]
		if name == "month" {
			continue
		}
		if id, err := uuid.Parse(*field); err != nil || id.String() != *field {
			return asked, fault.Field(name, "A UUID is needed.")
		}
	}
	if (asked.DashboardID == "") == (asked.ComponentID == "") {
		return asked, fault.Field("dashboardId", "Exactly one of dashboardId and componentId is needed.")
	}
	return asked, nil
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
