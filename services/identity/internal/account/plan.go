package account

import "github.com/bellbuoy/bellbuoy/libs/fault"

// Plan is what an organization has booked.
type Plan string

const (
	Free       Plan = "free"
	Team       Plan = "team" // the default
	Enterprise Plan = "enterprise"
)

// Limits of an organization.
type Limits struct {
	LegacyPerHour   int `json:"legacyPerHour"`   // let-through legacy calls of one user in any hour
	AppPerMinute    int `json:"appPerMinute"`    // App calls of the whole organization
	UniqueEndpoints int `json:"uniqueEndpoints"` // unique URLs of each kind of integration endpoint
}

// Features are what a plan opens (enabledFeatures and capabilities).
type Features struct {
	API           bool `json:"api"`
	Integrations  bool `json:"integrations"`
	UptimeReports bool `json:"uptimeReports"`
}

// Terms are what a plan gives.
type Terms struct {
	Limits   Limits
	Features Features
}

// plans is the one table of them. The rates of the default plan are settings.
func plans(legacyPerHour, appPerMinute int) map[Plan]Terms {
	all := Features{API: true, Integrations: true, UptimeReports: true}
	return map[Plan]Terms{
		Free:       {Limits{LegacyPerHour: 1000, AppPerMinute: 120, UniqueEndpoints: 5}, Features{API: true}},
		Team:       {Limits{LegacyPerHour: legacyPerHour, AppPerMinute: appPerMinute, UniqueEndpoints: 25}, all},
		Enterprise: {Limits{LegacyPerHour: 10_000, AppPerMinute: 6_000, UniqueEndpoints: 250}, all},
	}
}

func (d *Directory) checkPlan(plan Plan) error {
	if _, known := d.plans[plan]; !known {
		return fault.Field("plan", "must be one of %s, %s, %s", Free, Team, Enterprise)
	}
	return nil
}

// Overrides are what an organization has instead of its plan's terms; nil is the
// plan's. They outlast a change of the plan: they were made for this organization.
type Overrides struct {
	LegacyPerHour   *int  `json:"legacyPerHour"`
	AppPerMinute    *int  `json:"appPerMinute"`
	UniqueEndpoints *int  `json:"uniqueEndpoints"`
	API             *bool `json:"api"`
	Integrations    *bool `json:"integrations"`
	UptimeReports   *bool `json:"uptimeReports"`
}

// Terms are what holds for the organization: its plan's, but for what is overridden.
func (d *Directory) Terms(o Organization) Terms {
	terms := d.plans[o.Plan]
	override(&terms.Limits.LegacyPerHour, o.Overrides.LegacyPerHour)
	override(&terms.Limits.AppPerMinute, o.Overrides.AppPerMinute)
	override(&terms.Limits.UniqueEndpoints, o.Overrides.UniqueEndpoints)
	override(&terms.Features.API, o.Overrides.API)
	override(&terms.Features.Integrations, o.Overrides.Integrations)
	override(&terms.Features.UptimeReports, o.Overrides.UptimeReports)
	return terms
}

func override[T any](term *T, by *T) {
	if by != nil {
		*term = *by
	}
}
