package account

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/google/uuid"
)

// State of an organization.
type State string

const (
	Pending State = "pending" // its dashboard is not known to exist yet; visible to nobody
	Ready   State = "ready"
)

// Organization is a tenant.
type Organization struct {
	ID            string    `json:"id"` // uuid v7
	Name          string    `json:"name"`
	Plan          Plan      `json:"plan"`
	Overrides     Overrides `json:"overrides"`
	State         State     `json:"state"`
	DashboardID   string    `json:"dashboardId"` // of the dashboard it was born with
	DashboardSlug string    `json:"dashboardSlug"`
	CreatedAt     time.Time `json:"createdAt"`
	// Unsettled is since when gateways may hold what its users' keys said before; nil when they do not.
	Unsettled *time.Time `json:"unsettled"`
}

// NewOrganization is what it takes to make one.
type NewOrganization struct {
	Name string
	Plan *Plan // nil: Team
}

// AddOrganization makes an organization and its dashboard.
func (d *Directory) AddOrganization(ctx context.Context, in NewOrganization) (Organization, error) {
	o := Organization{
		ID: newID(), Name: in.Name, Plan: Team, State: Pending, DashboardID: newID(), CreatedAt: d.now(),
	}
	if in.Plan != nil {
		o.Plan = *in.Plan
	}
	if err := checkLine("name", o.Name, 1, maxOrganizationName); err != nil {
		return Organization{}, err
	}
	if err := d.checkPlan(o.Plan); err != nil {
		return Organization{}, err
	}
	ctx, cancel := finish(ctx)
	defer cancel()
	if err := d.store.AddOrganization(ctx, o); err != nil {
		return Organization{}, err
	}
	o, err := d.complete(ctx, o)
	if err != nil {
		return Organization{}, fault.Wrap(fault.Unavailable, err,
			"The organization is stored, but its dashboard cannot be made now. It will appear once it can; look for it before sending this again.")
	}
	return o, nil
}

// complete brings a pending organization from wherever it is to ready.
func (d *Directory) complete(ctx context.Context, o Organization) (Organization, error) {
	slug, err := d.dashboard(ctx, o.ID, o.DashboardID, o.Name)
	if err != nil {
		return Organization{}, err
	}
	return d.store.ChangeOrganization(ctx, o.ID, func(o *Organization) error {
		if o.State == Ready {
			return fault.ErrUnchanged
		}
		o.State, o.DashboardSlug = Ready, slug
		return nil
	})
}

// Organization finds one.
func (d *Directory) Organization(ctx context.Context, id string) (Organization, error) {
	o, err := d.store.Organization(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && o.State != Ready {
		return Organization{}, noOrganization()
	}
	return o, err
}

// Organizations lists them by age, the oldest first.
func (d *Directory) Organizations(ctx context.Context, limit int, after string) (find.Page[Organization], error) {
	return d.store.Organizations(ctx, find.Query{
		Where: []find.Condition{find.Eq("state", Ready)}, Limit: limit, After: after,
	})
}

// OrganizationPatch is a change of an organization. An override that is null goes
// back to the plan's.
type OrganizationPatch struct {
	Name            optional.Value[string]
	Plan            optional.Value[Plan]
	LegacyPerHour   optional.Value[int]
	AppPerMinute    optional.Value[int]
	UniqueEndpoints optional.Value[int]
	API             optional.Value[bool]
	Integrations    optional.Value[bool]
	UptimeReports   optional.Value[bool]
}

// concernsKeys reports whether the change alters what the users' keys say.
func (p OrganizationPatch) concernsKeys() bool {
	return p.Plan.Sent || p.LegacyPerHour.Sent || p.AppPerMinute.Sent || p.UniqueEndpoints.Sent ||
		p.API.Sent || p.Integrations.Sent || p.UptimeReports.Sent
}

func (d *Directory) checkOrganizationPatch(p OrganizationPatch) error {
	if !p.concernsKeys() && !p.Name.Sent {
		return fault.New(fault.Invalid, "Send at least one of name, plan, limits, enabledFeatures, capabilities with something in it.")
	}
	if p.Name.Sent {
		if err := checkLine("name", p.Name.Value, 1, maxOrganizationName); err != nil {
			return err
		}
	}
	if p.Plan.Sent {
		if err := d.checkPlan(p.Plan.Value); err != nil {
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
	} {
		if n := limit.sent.Pointer(); n != nil && (*n < limit.least || *n > maxLimit) {
			return fault.Field(limit.field, "must be a whole number from %d to %d", limit.least, maxLimit)
		}
	}
	return nil
}

// ChangeOrganization changes an organization; it holds for its users' next requests.
func (d *Directory) ChangeOrganization(ctx context.Context, id string, p OrganizationPatch) (Organization, error) {
	if err := d.checkOrganizationPatch(p); err != nil {
		return Organization{}, err
	}
	if _, err := d.Organization(ctx, id); err != nil {
		return Organization{}, err
	}
	apply := func(o *Organization) error {
		p.apply(o)
		return nil
	}
	if p.concernsKeys() {
		return d.changeTerms(ctx, id, apply)
	}
	return d.store.ChangeOrganization(ctx, id, apply)
}

func (p OrganizationPatch) apply(o *Organization) {
	override(&o.Name, p.Name.Pointer())
	override(&o.Plan, p.Plan.Pointer())
	p.LegacyPerHour.SetNullable(&o.Overrides.LegacyPerHour)
	p.AppPerMinute.SetNullable(&o.Overrides.AppPerMinute)
	p.UniqueEndpoints.SetNullable(&o.Overrides.UniqueEndpoints)
	p.API.SetNullable(&o.Overrides.API)
	p.Integrations.SetNullable(&o.Overrides.Integrations)
	p.UptimeReports.SetNullable(&o.Overrides.UptimeReports)
}

func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		panic(err) // only without a source of randomness, which Go itself does not survive
	}
	return id.String()
}
