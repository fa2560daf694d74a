package catalog

import (
	"cmp"
	"context"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// CreateDashboard stores a dashboard of an organization, with every component, or returns the dashboard that an earlier
// try stored. The identity service calls it for the first dashboard, which every plan includes.
func (c *Catalog) CreateDashboard(ctx context.Context, organization, id, name string) (Dashboard, error) {
	if made, err := c.Dashboard(ctx, organization, id); !fault.Is(err, fault.NotFound) {
		return made, err
	}
	components, err := c.ComponentsWhere(ctx, organization, nil)
	if err != nil {
		return Dashboard{}, err
	}
	dashboard := c.newDashboard(organization, id)
	dashboard.Name = strings.TrimSpace(name)
	for i, component := range components {
		dashboard.Components = append(dashboard.Components, Placement{ComponentID: component.ID, Position: int64(i)})
	}
	if err := dashboard.check(c.platform); err != nil {
		return Dashboard{}, err
	}
	if made, err := c.insertDashboard(ctx, dashboard, math.MaxInt); !fault.Is(err, fault.Conflict) {
		return made, err
	}
	return c.Dashboard(ctx, organization, id) // an earlier try has stored it meanwhile, or it is another organization's
}

// AddDashboard stores a dashboard as fill makes it. It derives an empty slug from the name.
func (c *Catalog) AddDashboard(ctx context.Context, command Command, fill func(*Dashboard) error) (Dashboard, error) {
	dashboard := c.newDashboard(command.Organization, topic.NewID())
	if err := cmp.Or(fill(&dashboard), dashboard.check(c.platform)); err != nil {
		return Dashboard{}, err
	}
	dashboard.Access.stamp(Access{}, dashboard.CreatedAt)
	limit, err := c.others.MaxDashboards(ctx, command.Organization)
	if err != nil {
		return Dashboard{}, err
	}
	return c.insertDashboard(ctx, dashboard, limit)
}

func (c *Catalog) newDashboard(organization, id string) Dashboard {
	now := c.now()
	return Dashboard{
		ID: id, OrganizationID: organization, Enabled: true, Timezone: defaultTimezone, Locale: defaultLocale,
		CustomDomains: []string{}, Branding: Branding{Theme: defaultTheme}, Links: Links{Navigation: []NavigationLink{}},
		Subscriptions: Subscriptions{Email: true}, SearchIndexing: true, Access: Access{Mode: AccessPublic, AllowedIPs: []string{}},
		Content: newContent(), Components: []Placement{}, CreatedAt: now, UpdatedAt: now, Version: 1,
	}
}

// insertDashboard stores a new dashboard of an organization that may have limit dashboards. A slug that it derives from the
// name gets a number if it is taken.
func (c *Catalog) insertDashboard(ctx context.Context, dashboard Dashboard, limit int) (_ Dashboard, err error) {
	derived := dashboard.Slug == ""
	base := cmp.Or(dashboard.Slug, slugOf(dashboard.Name))
	dashboard.Slug = base
	if dashboard.Place, err = c.freePlace(ctx, dashboard.OrganizationID, limit); err != nil {
		return Dashboard{}, err
	}
	if dashboard.LegacyID, err = c.store.Next(ctx, dashboardIDs, 1); err != nil {
		return Dashboard{}, err
	}
	for numbers := int64(0); ; {
		entry := audit.Entry(audit.From(ctx), "", dashboard.CreatedAt, nil, &dashboard)
		err = c.store.Dashboards.Insert(ctx, dashboard, entry...)
		if !fault.Is(err, fault.Conflict) {
			return dashboard, err
		}
		slug, err := c.slugTaken(ctx, &dashboard)
		if err != nil {
			return Dashboard{}, err
		}
		host, err := c.another(ctx, &dashboard, find.Has(FieldHosts, dashboard.CustomDomains...))
		switch {
		case err != nil:
			return Dashboard{}, err
		case slug && derived:
			numbers++
			number := numbers + 1
			if numbers > lowNumbers {
				number += dashboard.LegacyID // far from the numbers of the other dashboards of this name
			}
			dashboard.Slug = numbered(base, number)
		case slug || host:
			return Dashboard{}, dashboardConflict(slug)
		default: // another dashboard has the place, or the id
			if _, err = c.store.Dashboards.Get(ctx, dashboard.ID); !fault.Is(err, fault.NotFound) {
				return Dashboard{}, cmp.Or(err, dashboardConflict(false))
			}
			if dashboard.Place, err = c.freePlace(ctx, dashboard.OrganizationID, limit); err != nil {
				return Dashboard{}, err
			}
		}
	}
}

// slugTaken reports whether another dashboard of the installation has the slug.
func (c *Catalog) slugTaken(ctx context.Context, d *Dashboard) (bool, error) {
	return c.another(ctx, d, find.Eq(FieldSlug, d.Slug))
}

// another reports whether the condition, on a unique field, matches another dashboard.
func (c *Catalog) another(ctx context.Context, d *Dashboard, condition find.Condition) (bool, error) {
	found, err := c.store.Dashboards.Find(ctx, find.Query{Where: []find.Condition{condition}, Limit: 1})
	return len(found.Items) > 0 && found.Items[0].ID != d.ID, err
}

// dashboardConflict returns the fault of a write that violates a unique index: that of slugs or that of hosts.
func dashboardConflict(slugTaken bool) error {
	if slugTaken {
		return fault.New(fault.Conflict, "slug: Another dashboard has this slug. Choose another one.")
	}
	return fault.New(fault.Conflict, "customDomains: A host belongs to another dashboard. Remove it there first.")
}

// ChangeDashboard stores what change makes of a dashboard. It stores nothing if the dashboard stays as it is.
func (c *Catalog) ChangeDashboard(ctx context.Context, command Command, id string, change func(*Dashboard) error) (Dashboard, error) {
	var wanted Dashboard
	changed, err := c.store.Dashboards.Update(ctx, id, func(d *Dashboard) ([]topic.Message, error) {
		if d.OrganizationID != command.Organization {
			return nil, NoDashboard()
		}
		if err := command.checkVersion(d.Version); err != nil {
			return nil, err
		}
		before := *d
		if err := cmp.Or(change(d), d.check(c.platform)); err != nil {
			return nil, err
		}
		if reflect.DeepEqual(before, *d) {
			return nil, fault.ErrUnchanged
		}
		d.touch(c.now())
		d.Access.stamp(before.Access, d.UpdatedAt)
		wanted = *d
		return audit.Entry(audit.From(ctx), command.Action, d.UpdatedAt, &before, d), nil
	})
	switch {
	case fault.Is(err, fault.NotFound):
		err = NoDashboard()
	case fault.Is(err, fault.Conflict) && wanted.ID != "":
		taken, failed := c.slugTaken(ctx, &wanted)
		err = cmp.Or(failed, dashboardConflict(taken))
	}
	return changed, err
}

// SetIntegrations makes the dashboards of an organization follow its plan.
func (c *Catalog) SetIntegrations(ctx context.Context, organization string, included bool) error {
	for after := ""; ; {
		page, err := c.PageOfDashboards(ctx, organization, dashboardsPage, after)
		if err != nil {
			return err
		}
		for _, dashboard := range page.Items {
			_, err := c.store.Dashboards.Update(ctx, dashboard.ID, func(d *Dashboard) ([]topic.Message, error) {
				if d.NoIntegrations == !included {
					return nil, fault.ErrUnchanged
				}
				d.NoIntegrations = !included
				return nil, nil
			})
			if fault.UnlessMissing(err) != nil {
				return err
			}
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

func slugOf(name string) string {
	text := strings.Trim(notInSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
	text = strings.Trim(text[:min(len(text), maxSlug)], "-")
	switch {
	case text == "":
		return "status"
	case len(text) < minSlug:
		return text + "-status"
	}
	return text
}

var notInSlug = regexp.MustCompile("[^a-z0-9]+")

// numbered returns a slug with a number at its end.
func numbered(base string, number int64) string {
	suffix := "-" + strconv.FormatInt(number, 10)
	return strings.TrimRight(base[:min(len(base), maxSlug-len(suffix))], "-") + suffix
}

// DashboardWritten updates what visitors of a dashboard see. current is nil for a deleted dashboard.
func (c *Catalog) DashboardWritten(ctx context.Context, id string, current *Dashboard) error {
	if current == nil {
		return c.published.Withdraw(ctx, id)
	}
	return c.published.Follow(ctx, []string{id}, Written{Dashboard: true})
}
