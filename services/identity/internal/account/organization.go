package account

import (
	"context"
	"reflect"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// State is the state of an organization.
type State string

const (
	Pending State = "pending" // no operation finds it: its dashboard may not exist yet
	Ready   State = "ready"
)

// Organization is a tenant.
type Organization struct {
	ID            string    `json:"id" audit:"id"` // uuid v7
	Name          string    `json:"name" audit:"name"`
	Plan          Plan      `json:"plan" audit:"plan"`
	Overrides     Overrides `json:"overrides" audit:"overrides"`
	State         State     `json:"state"`
	DashboardID   string    `json:"dashboardId" audit:"dashboardId"` // id of the first dashboard
	DashboardSlug string    `json:"dashboardSlug"`
	CreatedAt     time.Time `json:"createdAt" audit:"createdAt"`
	// RequireTwoFactor: a session without a second factor has no roles.
	RequireTwoFactor bool    `json:"requireTwoFactor" audit:"requireTwoFactor"`
	SignOn           *SignOn `json:"signOn" audit:"signOn"` // nil: the organization has no single sign-on
	Version          int64   `json:"version"`               // 1 for a new organization; raised by editedOrganization
	// Leaving are admins who are about to lose their role, their record or their way to sign in. See keepAdmin.
	Leaving []Leaving `json:"leaving"`
	// StaleSince is set while gateways may still cache former rights of the users' keys, or events has a former plan.
	StaleSince *time.Time `json:"staleSince"`
}

// NewOrganization is the input of AddOrganization.
type NewOrganization struct {
	Name string
	Plan *Plan // nil: Team
}

// AddOrganization creates an organization and its dashboard.
func (a *Accounts) AddOrganization(ctx context.Context, in NewOrganization) (Organization, error) {
	o := Organization{
		ID: topic.NewID(), Name: in.Name, Plan: Team, State: Pending, DashboardID: topic.NewID(), CreatedAt: a.Now(), Version: 1,
	}
	if in.Plan != nil {
		o.Plan = *in.Plan
	}
	if err := checkLine("name", o.Name, true, maxOrganizationName); err != nil {
		return Organization{}, err
	}
	if err := a.checkPlan(o.Plan); err != nil {
		return Organization{}, err
	}
	ctx, cancel := finish(ctx)
	defer cancel()
	if err := a.Store.Organizations.Insert(ctx, o, audit.Entry(audit.From(ctx), "", o.CreatedAt, nil, &o)...); err != nil {
		return Organization{}, err
	}
	o, err := a.complete(ctx, o)
	if err != nil {
		return Organization{}, fault.Wrap(fault.Unavailable, err,
			"The organization is stored, but its dashboard cannot be created now. The platform retries. Look for the organization before you send the request again.")
	}
	return o, nil
}

// complete creates the dashboard of a pending organization, sends the plan to events and sets the state Ready.
func (a *Accounts) complete(ctx context.Context, o Organization) (Organization, error) {
	slug, err := a.Dashboard(ctx, o.ID, o.DashboardID, o.Name)
	if err == nil {
		err = a.Plan(ctx, o.ID, a.Terms(o).Features)
	}
	if err != nil {
		return Organization{}, err
	}
	return a.Store.Organizations.Change(ctx, o.ID, func(o *Organization) error {
		if o.State == Ready {
			return fault.ErrUnchanged
		}
		o.State, o.DashboardSlug = Ready, slug
		return nil
	})
}

// Organization returns the organization with the id. It returns fault.NotFound if there is none or it is pending.
func (a *Accounts) Organization(ctx context.Context, id string) (Organization, error) {
	o, err := a.Store.Organizations.Get(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && o.State != Ready {
		return Organization{}, noOrganization()
	}
	return o, err
}

// Organizations returns a page of organizations, oldest first. Before the first page it completes the pending
// organizations, and returns an error if it cannot. Otherwise the list would lack an organization whose creation got no
// response, and the operator would create it again.
func (a *Accounts) Organizations(ctx context.Context, limit int, after string) (find.Page[Organization], error) {
	if after == "" {
		if err := a.completePending(ctx, a.Now()); err != nil {
			return find.Page[Organization]{}, fault.Wrap(fault.Unavailable, err,
				"The dashboard of a new organization cannot be created now. Try again shortly.")
		}
	}
	return a.Store.Organizations.Find(ctx, find.Query{
		Where: []find.Condition{find.Eq(FieldState, Ready)}, Limit: limit, After: after,
	})
}

// OrganizationPatch is the input of ChangeOrganization. A null value removes an override, so that the value of the plan
// applies.
type OrganizationPatch struct {
	Name             optional.Value[string]
	RequireTwoFactor optional.Value[bool]
	Plan             optional.Value[Plan]
	LegacyPerHour    optional.Value[int]
	AppPerMinute     optional.Value[int]
	UniqueEndpoints  optional.Value[int]
	MaxDashboards    optional.Value[int]
	API              optional.Value[bool]
	Integrations     optional.Value[bool]
	UptimeReports    optional.Value[bool]
}

// concernsKeys reports whether the patch changes the rights of the users' keys.
func (p OrganizationPatch) concernsKeys() bool {
	p.Name = optional.Value[string]{}
	return p != OrganizationPatch{}
}

func (a *Accounts) checkOrganizationPatch(p OrganizationPatch) error {
	if p == (OrganizationPatch{}) {
		return fault.New(fault.Invalid, "Send at least one field to change.")
	}
	if p.Name.Sent {
		if err := checkLine("name", p.Name.Value, true, maxOrganizationName); err != nil {
			return err
		}
	}
	if p.Plan.Sent {
		if err := a.checkPlan(p.Plan.Value); err != nil {
			return err
		}
	}
	for _, limit := range []struct {
		field string
		sent  optional.Value[int]
		least int
	}{
		{"limits.legacyPerHour", p.LegacyPerHour, 1},
		{"limits.appPerMinute", p.AppPerMinute, 1},
		{"limits.uniqueEndpoints", p.UniqueEndpoints, 0},
		{"limits.maxDashboards", p.MaxDashboards, 1},
	} {
		if n := limit.sent.Pointer(); n != nil && (*n < limit.least || *n > maxLimit) {
			return fault.Field(limit.field, "must be a whole number from %d to %d", limit.least, maxLimit)
		}
	}
	return nil
}

// ChangeOrganization changes an organization. The change takes effect for the next request of each of its users.
func (a *Accounts) ChangeOrganization(ctx context.Context, id string, p OrganizationPatch) (Organization, error) {
	return a.patchOrganization(ctx, id, p, func(Organization) error { return nil })
}

// patchOrganization is ChangeOrganization, but changes nothing if allow returns an error for the stored organization.
func (a *Accounts) patchOrganization(ctx context.Context, id string, p OrganizationPatch, allow func(Organization) error) (Organization, error) {
	if err := a.checkOrganizationPatch(p); err != nil {
		return Organization{}, err
	}
	if _, err := a.Organization(ctx, id); err != nil {
		return Organization{}, err
	}
	if p.concernsKeys() {
		return a.changeTerms(ctx, id, allow, p.apply)
	}
	return a.Store.Organizations.Update(ctx, id, func(o *Organization) ([]topic.Message, error) {
		if err := allow(*o); err != nil {
			return nil, err
		}
		before := *o
		p.apply(o)
		return editedOrganization(ctx, a.Now(), &before, o), nil
	})
}

// editedOrganization raises the version of a changed organization, and returns the audit entry of the change. If
// nothing has changed, it does neither.
func editedOrganization(ctx context.Context, now time.Time, before, after *Organization) []topic.Message {
	messages := changed(ctx, now, before, after)
	if len(messages) > 0 || !reflect.DeepEqual(before, after) {
		after.Version++
	}
	return messages
}

func (p OrganizationPatch) apply(o *Organization) {
	optional.Assign(&o.Name, p.Name.Pointer())
	optional.Assign(&o.Plan, p.Plan.Pointer())
	optional.Assign(&o.RequireTwoFactor, p.RequireTwoFactor.Pointer())
	p.LegacyPerHour.SetNullable(&o.Overrides.LegacyPerHour)
	p.AppPerMinute.SetNullable(&o.Overrides.AppPerMinute)
	p.UniqueEndpoints.SetNullable(&o.Overrides.UniqueEndpoints)
	p.MaxDashboards.SetNullable(&o.Overrides.MaxDashboards)
	p.API.SetNullable(&o.Overrides.API)
	p.Integrations.SetNullable(&o.Overrides.Integrations)
	p.UptimeReports.SetNullable(&o.Overrides.UptimeReports)
}
