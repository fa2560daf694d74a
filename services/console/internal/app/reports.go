package app

import (
	"context"
	"net/url"
	"time"
)

// UptimeResult is the uptime of components in a month.
type UptimeResult struct {
	Report UptimeReport `json:"report"`
}

// UptimeReport is the uptime of components in a month. A percentage is nil if nothing but maintenance was measured.
type UptimeReport struct {
	Month                string            `json:"month"`
	Timezone             string            `json:"timezone"`
	RangeStart           time.Time         `json:"rangeStart"`
	RangeEnd             time.Time         `json:"rangeEnd"`
	Partial              bool              `json:"partial"`
	OverallUptimePercent *float64          `json:"overallUptimePercent"`
	Components           []ComponentUptime `json:"components"`
	PartialOutageWeight  float64           `json:"partialOutageWeight"`
	Formula              string            `json:"formula"`
}

// ComponentUptime is the uptime of one component.
type ComponentUptime struct {
	ComponentID   string   `json:"componentId"`
	Name          string   `json:"name"`
	UptimePercent *float64 `json:"uptimePercent"`
	Seconds
	Days     []DayUptime `json:"days"`
	EventIDs []string    `json:"eventIds"`
}

// Seconds is how long a component had each state. Downtime is the sum of Major and Partial.
type Seconds struct {
	Downtime    int64 `json:"downtimeSeconds"`
	Major       int64 `json:"majorOutageSeconds"`
	Partial     int64 `json:"partialOutageSeconds"`
	Degraded    int64 `json:"degradedSeconds"`
	Maintenance int64 `json:"maintenanceSeconds"`
	Measured    int64 `json:"measuredSeconds"`
}

// DayUptime is the uptime of a day. WorstStatus is empty if nothing was measured.
type DayUptime struct {
	Date          string   `json:"date"`
	UptimePercent *float64 `json:"uptimePercent"`
	WorstStatus   string   `json:"worstStatus"`
}

// Uptime returns the uptime in a month: of the component, or of the dashboard if component is empty.
func (c *Caller) Uptime(ctx context.Context, month, dashboard, component string) (UptimeResult, error) {
	query := url.Values{"month": {month}, "componentId": {component}}
	if component == "" {
		query = url.Values{"month": {month}, "dashboardId": {dashboard}}
	}
	return call[UptimeResult](ctx, c, request{service: events, method: "GET", path: "/app/reports/uptime", query: query})
}
