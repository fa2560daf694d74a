package account

import (
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
)

// Plan is the name of the plan that an organization has booked.
type Plan string

const (
	Free       Plan = "free"
	Team       Plan = "team" // the default
	Enterprise Plan = "enterprise"
)

// Limits are the limits of an organization.
type Limits struct {
	LegacyPerHour   int `json:"legacyPerHour"`   // legacy calls of one user that are accepted in any hour
	AppPerMinute    int `json:"appPerMinute"`    // App calls of the whole organization that are accepted in a minute
	UniqueEndpoints int `json:"uniqueEndpoints"` // different URLs of each kind of integration endpoint
	MaxDashboards   int `json:"maxDashboards"`
}

// Features are the optional parts of the platform. A plan includes some of them.
type Features struct {
	API           bool `json:"api"`
	Integrations  bool `json:"integrations"`
	UptimeReports bool `json:"uptimeReports"`
}

// Terms are the limits and features of an organization.
type Terms struct {
	Limits   Limits
	Features Features
}

// plans returns the terms of each plan. The rates of the default plan are parameters, because they are settings. Limits are
// written without the names of their members, so that a new limit is set for each plan: the limit 0 forbids everything.
func plans(legacyPerHour, appPerMinute int) map[Plan]Terms {
	all := Features{API: true, Integrations: true, UptimeReports: true}
	return map[Plan]Terms{
		Free:       {Limits{1000, 120, 5, 50}, Features{API: true}},
		Team:       {Limits{legacyPerHour, appPerMinute, 25, 50}, all},
		Enterprise: {Limits{10_000, 6_000, 250, 50}, all},
	}
}

func (a *Accounts) checkPlan(plan Plan) error {
	if _, known := a.plans[plan]; !known {
		return fault.Field("plan", "must be one of %s, %s, %s", Free, Team, Enterprise)
	}
	return nil
}

// Overrides replace terms of the plan for one organization. nil means that the value of the plan applies. A change of
// the plan does not change the overrides.
type Overrides struct {
	LegacyPerHour   *int  `json:"legacyPerHour" audit:"legacyPerHour"`
	AppPerMinute    *int  `json:"appPerMinute" audit:"appPerMinute"`
	UniqueEndpoints *int  `json:"uniqueEndpoints" audit:"uniqueEndpoints"`
	MaxDashboards   *int  `json:"maxDashboards" audit:"maxDashboards"`
	API             *bool `json:"api" audit:"api"`
	Integrations    *bool `json:"integrations" audit:"integrations"`
	UptimeReports   *bool `json:"uptimeReports" audit:"uptimeReports"`
}

// Terms returns the terms of the organization: the terms of its plan with its overrides.
func (a *Accounts) Terms(o Organization) Terms {
	terms := a.plans[o.Plan]
	optional.Assign(&terms.Limits.LegacyPerHour, o.Overrides.LegacyPerHour)
	optional.Assign(&terms.Limits.AppPerMinute, o.Overrides.AppPerMinute)
	optional.Assign(&terms.Limits.UniqueEndpoints, o.Overrides.UniqueEndpoints)
	optional.Assign(&terms.Limits.MaxDashboards, o.Overrides.MaxDashboards)
	optional.Assign(&terms.Features.API, o.Overrides.API)
	optional.Assign(&terms.Features.Integrations, o.Overrides.Integrations)
	optional.Assign(&terms.Features.UptimeReports, o.Overrides.UptimeReports)
	return terms
}
